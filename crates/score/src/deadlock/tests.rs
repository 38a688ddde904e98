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
                duration_ms: if outcome == CallOutcome::Deadlock {
                    15e3
                } else {
                    1.0
                },
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
fn calls_that_a_rate_limit_refused_say_nothing() {
    let mut refused = calls(0, 0, 0, 20);
    for call in &mut refused {
        call.message = Some("too many concurrent requests (code -32000)".to_owned());
    }
    let report = probe(refused.clone(), None);
    assert_eq!(report.severity, ProbeSeverity::Inconclusive);
    let found = verdict(&report);
    assert_eq!(
        (found.detector.as_str(), found.outcome),
        ("success", Outcome::Inconclusive)
    );
    // One that failed for another reason is none.
    refused[3].message = Some("disk quota exceeded".to_owned());
    assert!(verdict(&probe(refused.clone(), None)).is_failure());
    refused.truncate(3);
    let down = probe(refused, Some(DeadlockKind::ProcessDead));
    assert!(verdict(&down).is_failure());
}

#[test]
fn sentences_say_what_is_stuck() {
    let cases = [
        (
            probe(calls(0, 0, 20, 0), Some(DeadlockKind::ToolStuck)),
            "DEADLOCK DETECTED: 20 of 20 concurrent calls to `search` got no answer within 15 s; the server is otherwise alive: it answers other requests.",
        ),
        (
            probe(calls(19, 0, 1, 0), Some(DeadlockKind::LoopDead)),
            "DEADLOCK DETECTED: 1 of 20 concurrent calls to `search` got no answer within 15 s; nothing answers any more.",
        ),
        (
            probe(calls(0, 0, 2, 0), Some(DeadlockKind::ProcessDead)),
            "DEADLOCK DETECTED: 2 of 2 concurrent calls to `search` got no answer within 15 s; the server process has ended.",
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

fn timed(outcome: CallOutcome, duration_ms: f64) -> ProbedCall {
    ProbedCall {
        outcome,
        duration_ms,
        message: None,
    }
}

/// Calls of 1.3 s each, so many at a time; those after 5 s are slow.
fn in_a_row(count: u32, at_once: u32) -> Vec<ProbedCall> {
    (0..count)
        .map(|number| 1_300.0 * f64::from(number / at_once + 1))
        .map(|time| {
            let is_slow = time > 5_000.0;
            let outcome = if is_slow {
                CallOutcome::Slow
            } else {
                CallOutcome::Success
            };
            timed(outcome, time)
        })
        .collect()
}

#[test]
fn slow_calls_that_are_no_queue_say_nothing_of_one() {
    let slow = |time| timed(CallOutcome::Slow, time);
    let mut tail: Vec<_> = (0..18).map(|_| timed(CallOutcome::Success, 1.0)).collect();
    tail.extend([slow(6_000.0), slow(6_010.0)]);
    let tail = probe(tail, None);
    assert_eq!((tail.capacity, tail.severity), (None, ProbeSeverity::Pass));
    let all = (0..20).map(|number| slow(6_000.0 + f64::from(number)));
    assert_eq!(
        verdict(&probe(all.collect(), None)).sentence,
        "20 of 20 concurrent calls to `search` took longer than the hang threshold, each about as long."
    );
}

#[test]
fn calls_in_a_row_say_how_many_the_server_handles() {
    let one = probe(in_a_row(20, 1), None);
    assert_eq!(one.severity, ProbeSeverity::Warning);
    assert_eq!(
        verdict(&one).sentence,
        "Concurrency degrades latency: 17 of 20 concurrent calls to `search` took longer than the hang threshold; the server handles one call at a time (1.30 s each)."
    );
    assert_eq!(verdict(&one).numbers["service_time_ms"], 1_300.0);
    let four = probe(in_a_row(40, 4), None);
    assert!(
        verdict(&four)
            .sentence
            .rendered()
            .ends_with("the server handles about 4 calls at a time (1.30 s each)."),
        "{:?}",
        verdict(&four)
    );
    // All at once, or too few to tell.
    for calls in [in_a_row(20, 20), in_a_row(4, 1)] {
        assert_eq!(probe(calls, None).capacity, None);
    }
}

#[test]
fn queued_calls_are_inconclusive_unless_others_are_stuck() {
    let mut calls = in_a_row(20, 1);
    calls.push(timed(CallOutcome::Queued, 120e3));
    let report = probe(calls.clone(), None);
    assert_eq!(report.severity, ProbeSeverity::Inconclusive);
    let queued = verdict(&report);
    assert_eq!(queued.outcome, Outcome::Inconclusive);
    assert_eq!(
        queued.sentence,
        "1 of 21 concurrent calls to `search` had no answer after 120 s, while others were answered: queued or stuck, it is not known which; the server handles one call at a time (1.30 s each)."
    );
    calls.push(timed(CallOutcome::Deadlock, 15e3));
    assert!(verdict(&probe(calls, Some(DeadlockKind::ToolStuck))).is_failure());
    let load = LoadCalls {
        queued: 2,
        late: 5,
        ..CALLS
    };
    assert_eq!(load_verdict(&load, &[], &[]).outcome, Outcome::Inconclusive);
}

#[test]
fn a_call_that_was_given_up_before_it_was_judged_is_inconclusive() {
    let load = LoadCalls {
        timed_out: 1,
        late: 5,
        ..CALLS
    };
    let verdict = load_verdict(&load, &["search".to_owned()], &[]);
    assert_eq!(verdict.outcome, Outcome::Inconclusive);
    let said = verdict.sentence.rendered();
    assert!(
        said.starts_with("1 call to `search` had no answer within"),
        "{said}"
    );
    let hint = verdict.hint.unwrap().rendered();
    assert!(hint.contains("call_timeout"), "{hint}");
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
        "DEADLOCK DETECTED: 3 calls to `search` and `fetch` got no answer within 15 s; nothing answers any more."
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
        "DEADLOCK DETECTED: 1 call got no answer within 15 s."
    );
    assert_eq!(load_verdict(&CALLS, &[], &[]).outcome, Outcome::Pass);
}

const CALLS: LoadCalls = LoadCalls {
    overtaken: 0,
    sent: 100,
    deadlocks: 0,
    queued: 0,
    timed_out: 0,
    late: 0,
    unanswered: 0,
    hung: 0,
    limits: HangLimits {
        threshold: Duration::from_secs(5),
        grace: Duration::from_secs(10),
        max_wait: Duration::from_mins(2),
    },
};

#[test]
fn calls_without_an_answer_at_an_interruption_are_no_pass() {
    let tools = ["search".to_owned()];
    let cases = [
        ((0, 0, 0, 0), "No call was made, so none could hang."),
        (
            (9, 0, 1, 0),
            "1 call to `search` had no answer when the run was interrupted: slow or stuck, it is not known which.",
        ),
        (
            (9, 0, 5, 3),
            "5 calls to `search` had no answer when the run was interrupted, 3 of them past the hang threshold: slow or stuck, it is not known which.",
        ),
        (
            (9, 2, 5, 5),
            "5 calls to `search` had no answer when the run was interrupted, past the hang threshold: slow or stuck, it is not known which; 2 others answered late.",
        ),
    ];
    for ((sent, late, unanswered, hung), sentence) in cases {
        let calls = LoadCalls {
            sent,
            late,
            unanswered,
            hung,
            ..CALLS
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

#[test]
fn a_call_that_hangs_alone_is_a_warning_where_its_tool_is_fast_under_load() {
    let limits = HangLimits::default();
    let hung = |calls, seconds| HungAlone {
        tool: "echo".to_owned(),
        calls,
        slowest_in_load: Duration::from_secs(seconds),
    };
    assert_eq!(alone_verdict(&[hung(0, 0)], &limits), None);
    // A tool that is slow anyway has that for a reason.
    assert_eq!(alone_verdict(&[hung(1, 3)], &limits), None);
    let verdict = alone_verdict(&[hung(2, 1), hung(1, 3)], &limits).unwrap();
    assert_eq!(verdict.severity, Severity::Warning);
    assert_eq!(verdict.numbers["calls"], 2);
}
