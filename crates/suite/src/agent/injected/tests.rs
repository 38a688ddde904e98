use std::sync::atomic::{AtomicUsize, Ordering};

use mcprove_trace::{BoxFuture, FaultKind};

use super::*;
use crate::agent::toolbox::OfferedTool;

const DETECTION: Duration = Duration::from_secs(3);
const REAL: Duration = Duration::from_millis(7);

/// A tool that answers, and counts its calls.
struct Counting {
    calls: AtomicUsize,
    result: Value,
    is_error: bool,
}

impl Counting {
    fn new(result: Value, is_error: bool) -> Self {
        Self {
            calls: AtomicUsize::new(0),
            result,
            is_error,
        }
    }

    fn healthy() -> Self {
        let content = json!([{ "type": "text", "text": "abc" }]);
        Self::new(
            json!({ "content": content, "structuredContent": { "n": 1 } }),
            false,
        )
    }
}

impl Toolbox for Counting {
    fn tools(&self) -> &[OfferedTool] {
        &[]
    }

    fn call<'a>(&'a self, _: ToolRequest<'a>) -> BoxFuture<'a, Result<ToolAnswer, Diagnostic>> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let answer = ToolAnswer {
            result: (&self.result).into(),
            is_error: self.is_error,
            duration: REAL,
        };
        Box::pin(std::future::ready(Ok(answer)))
    }
}

async fn meet(fault: &str, toolbox: &Counting) -> MetCall {
    let faults = InjectedFaults::new(vec![fault.parse().unwrap()], 1, DETECTION);
    let args = json!({ "q": 1 });
    let call = ToolRequest {
        server: "api",
        tool: "search",
        args: &args,
        timeout: Duration::from_secs(10),
    };
    let injection = faults.strike("api", "search", &Json::from(&args));
    let before = tokio::time::Instant::now();
    let met = faults
        .carry_out(injection.as_ref(), toolbox, call)
        .await
        .unwrap();
    // The clock of the test is stopped: it only goes on when something sleeps.
    assert_eq!(before.elapsed(), Duration::ZERO, "{fault} sleeps");
    met
}

/// The fault of a kind, so that it strikes every call.
fn always(kind: FaultKind) -> String {
    match kind {
        FaultKind::Flaky => "flaky:1".to_owned(),
        FaultKind::Slow | FaultKind::ReplyAfterCancel => format!("{}:1000", kind.name()),
        _ => kind.name().to_owned(),
    }
}

#[tokio::test(start_paused = true)]
async fn every_kind_does_what_it_says_and_never_sleeps() {
    for (name, kind) in FaultKind::ALL {
        let toolbox = Counting::healthy();
        let met = meet(&always(kind), &toolbox).await;
        let executed = toolbox.calls.load(Ordering::SeqCst);
        let expected = usize::from(kind.executes() != Execution::Never);
        assert_eq!(executed, expected, "{name}");
        if kind == FaultKind::None {
            assert_eq!(met.mark, None);
            continue;
        }
        let mark = met.mark.unwrap();
        assert_eq!(mark.kind, kind, "{name}");
        let is_right = met.answer.result == Json::from(&toolbox.result);
        match kind.client_view() {
            ClientView::Right => assert!(is_right && !met.answer.is_error, "{name}"),
            ClientView::Altered => assert!(!is_right && !met.answer.is_error, "{name}"),
            ClientView::Failure | ClientView::Nothing => assert!(met.answer.is_error, "{name}"),
        }
        let keeps_back =
            kind.executes() == Execution::Always && kind.client_view() == ClientView::Nothing;
        let told = keeps_back.then_some(RealAnswer::Success);
        assert_eq!(mark.real_answer, told, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn timeouts_take_the_detection_and_delays_their_time() {
    for (fault, took, executed) in [
        ("hang", DETECTION, 0),
        ("lose_reply", DETECTION, 1),
        ("slow:2999", REAL + Duration::from_millis(2_999), 1),
        ("slow:3000", DETECTION, 0),
        // It does not heed that it was given up.
        ("reply_after_cancel:3000", DETECTION, 1),
        ("error", Duration::ZERO, 0),
        ("corrupt", REAL, 1),
        ("malformed", REAL, 1),
    ] {
        let toolbox = Counting::healthy();
        let met = meet(fault, &toolbox).await;
        assert_eq!(met.answer.duration, took, "{fault}");
        assert_eq!(toolbox.calls.load(Ordering::SeqCst), executed, "{fault}");
    }
}

#[tokio::test(start_paused = true)]
async fn answers_are_altered_as_live_ones_are() {
    let text = |met: &MetCall| met.answer.result.text().to_owned();
    let toolbox = Counting::healthy();
    assert!(text(&meet("corrupt", &toolbox).await).contains("cba"));
    assert_eq!(text(&meet("empty", &toolbox).await), r#"{"content":[]}"#);
    assert!(text(&meet("oversized:5000", &toolbox).await).len() > 5000);
    let met = meet("oversized:1000000000", &toolbox).await;
    assert!(met.answer.is_error && text(&met).contains("larger than"));
    assert!(text(&meet("http_status:429", &toolbox).await).contains("429"));
    assert!(text(&meet("vanish", &toolbox).await).contains("Unknown tool: search"));
    assert!(text(&meet("error:-32005", &toolbox).await).contains("-32005"));
}

#[tokio::test(start_paused = true)]
async fn what_the_server_said_behind_a_fault_is_noted() {
    for (result, is_error, expected) in [
        (json!({ "content": [] }), false, RealAnswer::Success),
        (
            json!({ "content": [], "isError": true }),
            true,
            RealAnswer::Error,
        ),
        (
            json!({ "error": { "code": -32602, "message": "no" } }),
            true,
            RealAnswer::Error,
        ),
        (
            json!({ "error": { "message": "timed out" } }),
            true,
            RealAnswer::Nothing,
        ),
    ] {
        let toolbox = Counting::new(result, is_error);
        let met = meet("lose_reply", &toolbox).await;
        assert_eq!(met.mark.unwrap().real_answer, Some(expected));
        assert!(met.answer.result.text().contains("timed out"));
    }
}

#[tokio::test(start_paused = true)]
async fn settings_that_the_scoring_needs_are_marked() {
    let toolbox = Counting::healthy();
    let mark = |met: MetCall| met.mark.unwrap();
    assert_eq!(mark(meet("slow:250", &toolbox).await).delay_ms, Some(250));
    let jitter = mark(meet("jitter:10-20", &toolbox).await).delay_ms;
    assert!((10..=20).contains(&jitter.unwrap()));
    assert_eq!(
        mark(meet("recover_after:2", &toolbox).await).failures,
        Some(2)
    );
}

#[test]
fn a_recovering_server_counts_over_all_tools() {
    let faults = InjectedFaults::new(vec!["recover_after:2".parse().unwrap()], 1, DETECTION);
    let args = Json::empty();
    let strikes = ["a", "b", "c", "a"].map(|tool| faults.strike("api", tool, &args).is_some());
    assert_eq!(strikes, [true, true, false, false]);
}
