use proptest::prelude::*;

use super::*;
use crate::testing::floats;
use crate::verdict::Outcome;

fn calls(success: usize, slow: usize, deadlock: usize, error: usize) -> Vec<ProbedCall> {
    [
        (CallOutcome::Success, success),
        (CallOutcome::Slow, slow),
        (CallOutcome::Deadlock, deadlock),
        (CallOutcome::Error, error),
    ]
    .into_iter()
    .flat_map(|(outcome, count)| {
        let message = (outcome == CallOutcome::Error).then(|| "no such index".to_owned());
        std::iter::repeat_n(
            ProbedCall {
                outcome,
                duration_ms: 1.0,
                message,
            },
            count,
        )
    })
    .collect()
}

fn probe(calls: Vec<ProbedCall>, kind: Option<DeadlockKind>) -> DeadlockReport {
    judge("search", ProbeOutcome::Completed, calls, kind)
}

#[test]
fn calls_decide_the_severity() {
    use ProbeSeverity::{Critical, Pass, Warning};
    let cases = [
        (calls(20, 0, 0, 0), None, Pass, Outcome::Pass),
        (calls(10, 10, 0, 0), None, Pass, Outcome::Pass),
        (calls(9, 11, 0, 0), None, Warning, Outcome::Finding),
        (calls(19, 0, 1, 0), None, Critical, Outcome::Finding),
        (calls(0, 0, 0, 20), None, Critical, Outcome::Finding),
        (calls(1, 0, 0, 19), None, Pass, Outcome::Pass),
        (
            calls(1, 0, 0, 19),
            Some(DeadlockKind::ProcessDead),
            Critical,
            Outcome::Finding,
        ),
        (
            calls(20, 0, 0, 0),
            Some(DeadlockKind::LoopDead),
            Critical,
            Outcome::Finding,
        ),
        (
            calls(20, 0, 0, 0),
            Some(DeadlockKind::ToolStuck),
            Pass,
            Outcome::Pass,
        ),
        (vec![], None, Warning, Outcome::Inconclusive),
    ];
    for (calls, kind, severity, outcome) in cases {
        let report = probe(calls, kind);
        assert_eq!(report.severity, severity, "{report:?}");
        let verdict = verdict(&report);
        assert_eq!(verdict.outcome, outcome, "{verdict:?}");
        assert_eq!(verdict.is_failure(), severity == Critical, "{verdict:?}");
    }
}

#[test]
fn sentences_say_what_is_stuck() {
    let cases = [
        (
            probe(calls(0, 0, 20, 0), Some(DeadlockKind::ToolStuck)),
            "DEADLOCK DETECTED: 20 of 20 concurrent calls to `search` were never answered; the server is otherwise alive: it answers other requests.",
        ),
        (
            probe(calls(19, 0, 1, 0), Some(DeadlockKind::LoopDead)),
            "DEADLOCK DETECTED: 1 of 20 concurrent calls to `search` was never answered; nothing answers any more.",
        ),
        (
            probe(calls(0, 0, 2, 0), Some(DeadlockKind::ProcessDead)),
            "DEADLOCK DETECTED: 2 of 2 concurrent calls to `search` were never answered; the server process has ended.",
        ),
        (
            probe(calls(0, 0, 0, 20), None),
            "No call succeeded: all 20 concurrent calls to `search` failed: no such index.",
        ),
        (
            probe(calls(5, 15, 0, 0), None),
            "Concurrency degrades latency: 15 of 20 concurrent calls to `search` took longer than the hang threshold.",
        ),
        (
            probe(calls(17, 2, 0, 1), None),
            "All 20 concurrent calls to `search` were answered, 2 of them late, 1 of them with an error.",
        ),
        (
            probe(calls(2, 0, 0, 0), Some(DeadlockKind::LoopDead)),
            "After 2 concurrent calls to `search` nothing answers any more.",
        ),
    ];
    for (report, sentence) in cases {
        assert_eq!(verdict(&report).sentence, sentence);
    }
}

#[test]
fn a_server_that_never_came_up_is_a_finding() {
    for (outcome, name) in [
        (ProbeOutcome::ServerInitError, "SERVER_INIT_ERROR"),
        (ProbeOutcome::ToolsListHang, "TOOLS_LIST_HANG"),
    ] {
        let report = judge("search", outcome, vec![], None);
        assert_eq!(report.severity, ProbeSeverity::Critical);
        let verdict = verdict(&report);
        assert!(verdict.is_failure());
        assert!(
            verdict.sentence.rendered().starts_with(name),
            "{:?}",
            verdict.sentence
        );
        assert_eq!(
            serde_json::to_string(&outcome).unwrap(),
            format!("\"{name}\"")
        );
    }
}

#[test]
fn load_runs_have_the_same_words() {
    let tools = ["search".to_owned(), "fetch".to_owned()];
    let deadlocked = load_verdict(
        &LoadCalls {
            deadlocks: 3,
            late: 9,
            unanswered: 1,
            ..CALLS
        },
        &tools,
        &[DeadlockKind::ToolStuck, DeadlockKind::LoopDead],
    );
    assert!(deadlocked.is_failure());
    assert_eq!(
        deadlocked.sentence,
        "DEADLOCK DETECTED: 3 calls to `search` and `fetch` were never answered; nothing answers any more."
    );
    let hung = load_verdict(&LoadCalls { late: 1, ..CALLS }, &tools[..1], &[]);
    assert_eq!(
        (hung.outcome, hung.severity),
        (Outcome::Finding, Severity::Warning)
    );
    assert_eq!(
        hung.sentence,
        "1 call to `search` hung: answered, but only after the hang threshold."
    );
    let unnamed = load_verdict(
        &LoadCalls {
            deadlocks: 1,
            ..CALLS
        },
        &[],
        &[],
    );
    assert_eq!(
        unnamed.sentence,
        "DEADLOCK DETECTED: 1 call was never answered."
    );
    assert_eq!(load_verdict(&CALLS, &[], &[]).outcome, Outcome::Pass);
}

const CALLS: LoadCalls = LoadCalls {
    sent: 100,
    deadlocks: 0,
    late: 0,
    unanswered: 0,
    hung: 0,
};

#[test]
fn calls_without_an_answer_at_an_interruption_are_no_pass() {
    let tools = ["search".to_owned()];
    let cases = [
        ((0, 0, 0, 0), "No call was made, so none could hang."),
        (
            (9, 0, 1, 0),
            "1 call to `search` had no answer when the run was interrupted: slow or stuck, which is not known.",
        ),
        (
            (9, 0, 5, 3),
            "5 calls to `search` had no answer when the run was interrupted, 3 of them past the hang threshold: slow or stuck, which is not known.",
        ),
        (
            (9, 2, 5, 5),
            "5 calls to `search` had no answer when the run was interrupted, past the hang threshold: slow or stuck, which is not known; 2 others answered late.",
        ),
    ];
    for ((sent, late, unanswered, hung), sentence) in cases {
        let calls = LoadCalls {
            sent,
            deadlocks: 0,
            late,
            unanswered,
            hung,
        };
        let verdict = load_verdict(&calls, &tools, &[]);
        assert_eq!(verdict.outcome, Outcome::Inconclusive, "{calls:?}");
        assert_eq!(verdict.sentence, sentence);
        assert_eq!(verdict.numbers["hang"], late + hung);
    }
}

proptest! {
    #[test]
    fn every_report_round_trips(
        counts in prop::array::uniform4(0_usize..6),
        duration_ms in floats(),
        tool in any::<String>(),
    ) {
        let mut all = calls(counts[0], counts[1], counts[2], counts[3]);
        for call in &mut all {
            call.duration_ms = duration_ms;
        }
        let report = judge(tool, ProbeOutcome::Completed, all, None);
        prop_assert!(report.calls.iter().all(|call| call.duration_ms.is_finite()));
        let json = serde_json::to_string(&report).unwrap();
        let back = serde_json::from_str::<DeadlockReport>(&json).unwrap();
        prop_assert_eq!(back.calls.len(), report.calls.len());
        verdict(&report);
    }
}
