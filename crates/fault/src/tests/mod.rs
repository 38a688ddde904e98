mod choices;

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use mcprove_settings::message::UserError as _;
use mcprove_trace::{BoxFuture, ClientView, Execution};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// A call of which everything that is said is kept.
#[derive(Default)]
struct Spoken {
    said: Mutex<Vec<(&'static str, String)>>,
    is_executed: AtomicBool,
    ignores_cancellation: AtomicBool,
    token: Option<Value>,
    is_stateless: bool,
    /// What the tool answers, where it is not [`REPLY`].
    reply: Option<&'static str>,
}

const REPLY: &str = r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"abc"}],"structuredContent":{"n":1,"ok":true}}}"#;

impl Spoken {
    fn say(&self, how: &'static str, bytes: &[u8]) -> BoxFuture<'_, ()> {
        let text = String::from_utf8_lossy(bytes).into_owned();
        self.said.lock().unwrap().push((how, text));
        Box::pin(async {})
    }

    fn said(&self) -> Vec<(&'static str, String)> {
        self.said.lock().unwrap().clone()
    }

    fn only(&self) -> Value {
        let said = self.said();
        assert_eq!(said.len(), 1, "{said:?}");
        assert_eq!(said[0].0, "reply");
        serde_json::from_str(&said[0].1).unwrap()
    }
}

impl FaultedCall for Spoken {
    fn id(&self) -> &'static str {
        "7"
    }
    fn tool(&self) -> &'static str {
        "search"
    }
    fn progress_token(&self) -> Option<&Value> {
        self.token.as_ref()
    }
    fn is_stateless(&self) -> bool {
        self.is_stateless
    }
    fn execute(&self) -> BoxFuture<'_, Option<Bytes>> {
        self.is_executed.store(true, Ordering::SeqCst);
        let reply = self.reply.unwrap_or(REPLY);
        Box::pin(async move { Some(Bytes::from_static(reply.as_bytes())) })
    }
    fn reply(&self, message: Bytes) -> BoxFuture<'_, ()> {
        self.say("reply", &message)
    }
    fn send(&self, message: Bytes) -> BoxFuture<'_, ()> {
        self.say("send", &message)
    }
    fn reply_cut(&self, beginning: Bytes) -> BoxFuture<'_, ()> {
        self.say("cut", &beginning)
    }
    fn disconnect(&self) -> BoxFuture<'_, ()> {
        self.say("disconnect", b"")
    }
    fn crash(&self) -> BoxFuture<'_, ()> {
        self.say("crash", b"")
    }
    fn refuse(&self, status: u16, retry_after_s: u64) -> BoxFuture<'_, ()> {
        self.say("refuse", format!("{status} {retry_after_s}").as_bytes())
    }
    fn ignore_cancellation(&self) {
        self.ignores_cancellation.store(true, Ordering::SeqCst);
    }
}

fn injector(texts: &[&str], seed: u64) -> Injector {
    let specs = texts.iter().map(|text| text.parse().unwrap()).collect();
    Injector::new(specs, seed)
}

fn site<'a>(tool: &'a str, arguments: &'a str) -> CallSite<'a> {
    CallSite {
        server: "api",
        tool,
        arguments,
    }
}

/// What the fault does to a call, for at most this long in virtual time.
async fn spoken_within(fault: &str, call: Spoken, limit: Duration) -> Spoken {
    let injector = injector(&[fault], 1);
    let injection = injector.strike(site("search", "{}")).expect("strikes");
    let _ = tokio::time::timeout(limit, injection.apply(&call)).await;
    call
}

async fn spoken(fault: &str) -> Spoken {
    spoken_within(fault, Spoken::default(), Duration::from_hours(1)).await
}

#[tokio::test(start_paused = true)]
async fn hanging_kinds_say_nothing_for_ten_minutes_and_then_that_it_was_a_fault() {
    for kind in [
        "hang",
        "wedged",
        "recover-after:1",
        "lose-request",
        "lose-reply",
    ] {
        let almost = Duration::from_millis(599_999);
        let call = spoken_within(kind, Spoken::default(), almost).await;
        assert_eq!(call.said(), [], "{kind}");
        let is_executed = call.is_executed.load(Ordering::SeqCst);
        assert_eq!(is_executed, kind == "lose-reply", "{kind}");
        let released = spoken(kind).await.only();
        assert_eq!(released["error"]["code"], -32_001);
        let message = &released["error"]["message"];
        assert_eq!(message, "mcprove: injected hang released");
        let name = kind.split(':').next().unwrap().replace('-', "_");
        assert_eq!(released["error"]["data"], json!({ "fault": name }));
        assert_eq!(released["id"], 7);
    }
}

#[tokio::test(start_paused = true)]
async fn delays_are_as_long_as_they_say() {
    for (fault, least, most) in [
        ("slow:1500", 1_500, 1_501),
        ("jitter:200-300", 200, 301),
        ("reply-after-cancel:40", 40, 41),
    ] {
        let start = tokio::time::Instant::now();
        let call = spoken(fault).await;
        let took = start.elapsed().as_millis();
        assert!((least..=most).contains(&took), "{fault} took {took}");
        assert_eq!(call.only(), serde_json::from_str::<Value>(REPLY).unwrap());
        let ignores = call.ignores_cancellation.load(Ordering::SeqCst);
        assert_eq!(ignores, fault.starts_with("reply"));
    }
}

#[tokio::test(start_paused = true)]
async fn failures_are_not_executed() {
    let call = spoken("error:-32050").await;
    assert_eq!(call.only()["error"]["code"], -32_050);
    assert!(!call.is_executed.load(Ordering::SeqCst));
    let call = spoken("tool-error").await;
    assert_eq!(call.only()["result"]["isError"], true);
    assert!(!call.is_executed.load(Ordering::SeqCst));
    let call = spoken("flaky:1").await;
    assert_eq!(call.only()["error"]["code"], -32_000);
    let call = spoken("http-status:429").await;
    assert_eq!(call.said(), [("refuse", "429 1".to_owned())]);
    let call = spoken("http-status:503-30").await;
    assert_eq!(call.said(), [("refuse", "503 30".to_owned())]);
    let call = spoken("vanish").await;
    assert_eq!(call.only()["error"]["message"], "Unknown tool: search");
    assert_eq!(spoken("disconnect").await.said()[0].0, "disconnect");
    assert_eq!(spoken("crash").await.said()[0].0, "crash");
}

/// Scores rest on what each kind says of itself.
#[tokio::test(start_paused = true)]
async fn every_kind_executes_when_it_says_so() {
    const DELAY: Duration = Duration::from_millis(200);
    for (name, kind) in FaultKind::ALL {
        let fault = match kind {
            FaultKind::None => continue,
            FaultKind::Slow | FaultKind::ReplyAfterCancel => format!("{name}:200"),
            FaultKind::Jitter => format!("{name}:200-250"),
            FaultKind::Flaky => format!("{name}:1"),
            _ => name.to_owned(),
        };
        let mut executed = Vec::new();
        for limit in [DELAY / 2, Duration::from_hours(1)] {
            let call = spoken_within(&fault, Spoken::default(), limit).await;
            executed.push(call.is_executed.load(Ordering::SeqCst));
        }
        let expected = match kind.executes() {
            Execution::Never => [false, false],
            Execution::Always => [true, true],
            Execution::Late => [false, true],
        };
        assert_eq!(executed, expected, "{fault}: at once, and in the end");
    }
}

/// What the client hears of each kind is what recordings are read by.
#[tokio::test(start_paused = true)]
async fn every_kind_says_what_it_says_that_the_client_hears() {
    for (name, kind) in FaultKind::ALL {
        let fault = match kind {
            FaultKind::None => continue,
            FaultKind::Flaky => format!("{name}:1"),
            _ => name.to_owned(),
        };
        // Before a hang is released.
        let limit = Duration::from_secs(599);
        let said = spoken_within(&fault, Spoken::default(), limit).await.said();
        let last = said.last().map(|(how, text)| (*how, text.as_str()));
        let reply = match last {
            Some(("reply", text)) => serde_json::from_str::<Value>(text).ok(),
            _ => None,
        };
        // What has another id is heard by nobody.
        let reply = reply.filter(|reply| reply["id"] == 7);
        let heard = match (&reply, last) {
            (Some(reply), _) if reply.get("error").is_some() => ClientView::Failure,
            (Some(reply), _) if reply["result"]["isError"] == true => ClientView::Failure,
            (Some(_), Some((_, REPLY))) => ClientView::Right,
            (Some(_), _) => ClientView::Altered,
            (None, Some(("disconnect" | "crash" | "refuse", _))) => ClientView::Failure,
            (None, _) => ClientView::Nothing,
        };
        assert_eq!(heard, kind.client_view(), "{name}: {said:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn results_of_the_stateless_era_say_their_type() {
    let call = Spoken {
        is_stateless: true,
        ..Spoken::default()
    };
    let call = spoken_within("tool-error", call, Duration::from_secs(1)).await;
    assert_eq!(call.only()["result"]["resultType"], "complete");
}

#[tokio::test(start_paused = true)]
async fn replies_are_broken_in_their_own_ways() {
    let call = spoken("malformed").await;
    assert!(serde_json::from_str::<Value>(&call.said()[0].1).is_err());
    let call = spoken("truncated").await;
    assert_eq!(call.said(), [("cut", REPLY[..REPLY.len() / 2].to_owned())]);
    let corrupt = spoken("corrupt").await.only();
    assert_eq!(corrupt["id"], 7);
    assert_eq!(
        corrupt["result"],
        json!({ "content": [{ "type": "text", "text": "cba" }], "structuredContent": { "n": 2, "ok": false } })
    );
    let empty = spoken("empty").await.only();
    assert_eq!(empty["result"], json!({ "content": [] }));
    let huge = spoken("oversized:5000").await.only();
    let text = huge["result"]["content"][0]["text"].as_str().unwrap();
    assert_eq!(text.len(), 5_000);
    assert_eq!(huge["result"].get("structuredContent"), None);
    let twice = spoken("duplicate").await.said();
    assert_eq!(twice, [("send", REPLY.into()), ("reply", REPLY.into())]);
    let wrong = spoken("wrong-id").await.only();
    assert_ne!(wrong["id"], 7);
    assert_eq!(wrong["result"]["content"][0]["text"], "abc");
    let noise = spoken("noise").await.said();
    let (last, junk) = noise.split_last().unwrap();
    assert_eq!(last.1, REPLY);
    assert!(!junk.is_empty());
    for (how, line) in junk {
        assert_eq!(*how, "send");
        assert!(serde_json::from_str::<Value>(line).is_err());
    }
}

#[tokio::test(start_paused = true)]
async fn progress_goes_on_for_ever_for_those_who_want_it() {
    let call = Spoken {
        token: Some(json!("t")),
        ..Spoken::default()
    };
    let call = spoken_within("progress-forever:100", call, Duration::from_millis(950)).await;
    let said = call.said();
    assert_eq!(said.len(), 10);
    let last: Value = serde_json::from_str(&said[9].1).unwrap();
    assert_eq!(
        last["params"],
        json!({ "progressToken": "t", "progress": 10 })
    );
    let unwanted = spoken_within(
        "progress-forever",
        Spoken::default(),
        Duration::from_secs(9),
    )
    .await;
    assert_eq!(unwanted.said(), []);
}

#[tokio::test(start_paused = true)]
async fn the_second_of_two_is_answered_first() {
    let injector = injector(&["reorder"], 1);
    let first = injector.strike(site("search", "{}")).unwrap();
    let second = injector.strike(site("search", "{}")).unwrap();
    let order = Mutex::new(Vec::new());
    let (one, two) = (Spoken::default(), Spoken::default());
    tokio::join!(
        async {
            first.apply(&one).await;
            order.lock().unwrap().push(1);
        },
        async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            second.apply(&two).await;
            order.lock().unwrap().push(2);
        },
    );
    assert_eq!(*order.lock().unwrap(), [2, 1]);
}

#[test]
fn corrupt_media_can_still_be_decoded() {
    let reply = r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"image","data":"AAEC","mimeType":"image/png"},
        {"type":"resource","resource":{"uri":"a://b","text":"abc"}},{"type":"resource","resource":{"uri":"a://c","blob":"/w=="}}]}}"#;
    let call = Spoken {
        reply: Some(reply),
        ..Spoken::default()
    };
    let injector = injector(&["corrupt"], 1);
    let injection = injector.strike(site("search", "{}")).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(injection.apply(&call));
    let content = call.only()["result"]["content"].clone();
    assert_eq!(content[0]["data"], "BAEC");
    assert_eq!(content[1]["resource"]["text"], "cba");
    assert_eq!(content[1]["resource"]["uri"], "a://b");
    assert_eq!(content[2]["resource"]["blob"], "Aw==");
}

#[test]
fn faults_have_a_text_that_is_read_back_and_clear_errors() {
    for text in [
        "hang",
        "slow:1000,tool=search,calls=1-3,7",
        "error:-32050,name=gone,server=api",
        "flaky:0.25,seed=9",
        "jitter:10-50",
        "http-status:503-2",
        "corrupt,rate=0.5",
        "recover-after:2",
    ] {
        let spec: FaultSpec = text.parse().unwrap();
        assert_eq!(spec.to_string(), text);
    }
    for (text, expected) in [
        (
            "hnag",
            r#"no fault is called "hnag" | did you mean "hang"?"#,
        ),
        (
            "recover-aftr:1",
            r#"no fault is called "recover-aftr" | did you mean "recover_after"?"#,
        ),
        ("", r#"no fault is called """#),
        ("hang:5", "hang takes nothing after a colon"),
        (
            "slow:1s",
            r#"`delay_ms` must be a whole number from 0 to 86400000, not "1s" | use 0 or more, without a fraction"#,
        ),
        (
            "slow:-5",
            "`delay_ms` must be a whole number from 0 to 86400000, not -5 | use 0 or more, without a fraction",
        ),
        (
            "slow:99999999999",
            "`delay_ms` must be a whole number from 0 to 86400000, not 99999999999 | use at most 86400000",
        ),
        (
            "flaky:1.5",
            "`rate` must be a share from 0 to 1 (0.01 is 1 %), not 1.5 | give a number in this range",
        ),
        (
            "flaky:NaN",
            "`rate` must be a share from 0 to 1 (0.01 is 1 %), not NaN | give a number in this range",
        ),
        (
            "http-status:200",
            "`status` must be a whole number from 400 to 599, not 200 | use 400 or more, without a fraction",
        ),
        ("hang,calls=1,calls=2", "calls is given twice"),
        ("flaky:0.3,rate=0.9", "rate is given twice"),
        (
            "oversized:10MB",
            r#"`bytes` must be a whole number from 0 to 1073741824, not "10MB" | use 0 or more, without a fraction"#,
        ),
        (
            "oversized:2000000000",
            "`bytes` must be a whole number from 0 to 1073741824, not 2000000000 | use at most 1073741824",
        ),
        (
            "jitter:50-10",
            "min_ms must not be above max_ms, which is 10",
        ),
        (
            "hang,calls=0",
            r#"`calls` must be ordinals from 1 and ranges of them, not "0" | write "1-3,7" for the first three and the seventh, "5-" from the fifth on"#,
        ),
        (
            "hang,calls=3-1",
            r#"`calls` must be ordinals from 1 and ranges of them, not "3-1" | write "1-3,7" for the first three and the seventh, "5-" from the fifth on"#,
        ),
        (
            "hang,search",
            r#""search" is not key=value | for instance tool=search, calls=1-3, rate=0.2, seed=7"#,
        ),
        (
            "hang,tol=x",
            r#"a fault of kind hang has no "tol" | did you mean "tool"?"#,
        ),
        (
            "hang,tool=",
            r#"`tool` must be a text that is not empty, not "" | write something between the quotes, or leave it out"#,
        ),
    ] {
        let error = text.parse::<FaultSpec>().unwrap_err();
        let told = match error.hint().rendered() {
            hint if hint.is_empty() => error.to_string(),
            hint => format!("{error} | {hint}"),
        };
        assert_eq!(told, expected, "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn errors_of_the_tool_are_altered_emptied_and_swollen_too() {
    const FAILED: &str = r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"no such tool","data":{"n":1}}}"#;
    let error_of = async |fault: &str| {
        let call = Spoken {
            reply: Some(FAILED),
            ..Spoken::default()
        };
        let call = spoken_within(fault, call, Duration::from_secs(1)).await;
        call.only()["error"].clone()
    };
    assert_eq!(
        error_of("corrupt").await,
        json!({ "code": -32_602, "message": "loot hcus on", "data": { "n": 2 } })
    );
    assert_eq!(
        error_of("empty").await,
        json!({ "code": -32_602, "message": "" })
    );
    let huge = error_of("oversized:5000").await;
    assert_eq!(huge["code"], -32_602);
    assert_eq!(huge["message"].as_str().unwrap().len(), 5_000);
    assert_eq!(huge.get("data"), None);
}
