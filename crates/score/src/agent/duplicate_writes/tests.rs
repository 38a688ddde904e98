use crate::gate::Gates;
use mcprove_trace::{AgentRun, AgentTrace, FaultKind, FaultMark, ToolCall, ToolResult};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::testing;

/// What became of an attempt.
#[derive(Debug, Clone)]
enum Became {
    Ok,
    Error(Value),
    Unflagged(Value),
    Nothing,
    Fault(FaultKind),
    FaultThenError(FaultKind),
    FaultThenOk(FaultKind),
}

use Became::{Error, Fault, FaultThenError, FaultThenOk, Nothing, Ok as Done, Unflagged};

fn run(attempts: &[(&str, Value, Became)]) -> AgentRun {
    let mut run = AgentRun::default();
    for (call_index, (name, args, became)) in attempts.iter().enumerate() {
        run.tool_calls.push(ToolCall {
            name: (*name).into(),
            args: args.into(),
            ..ToolCall::default()
        });
        let (is_error, result) = match became {
            Done | FaultThenOk(_) => (Some(false), json!({"content": []})),
            Error(result) => (Some(true), result.clone()),
            FaultThenError(_) => (Some(true), json!("it failed")),
            Unflagged(result) => (None, result.clone()),
            Nothing | Fault(_) => (None, Value::Null),
        };
        if !matches!(became, Nothing | Fault(_)) {
            run.tool_results.push(ToolResult {
                call_index,
                is_error,
                result: result.into(),
            });
        }
        if let Fault(kind) | FaultThenError(kind) | FaultThenOk(kind) = became {
            run.faults.push(FaultMark {
                call_index,
                kind: *kind,
                ..FaultMark::default()
            });
        }
    }
    run
}

fn found(attempts: &[(&str, Value, Became)]) -> (u64, u64) {
    let report = find_duplicate_writes(&run(attempts), &DuplicateWritesBlock::default());
    (report.confirmed, report.at_risk)
}

/// A write that is tried again after this became of it.
fn retried(became: Became) -> (u64, u64) {
    let args = json!({"title": "x"});
    found(&[
        ("create_issue", args.clone(), became),
        ("create_issue", args, Done),
    ])
}

#[test]
fn what_became_of_the_first_attempt_decides() {
    let cases = [
        (Done, (1, 0)),
        (Nothing, (0, 1)),
        (
            Error(json!({"content": [{"text": "no such repository"}], "isError": true})),
            (0, 0),
        ),
        (
            Error(json!({"code": -32602, "message": "title is missing"})),
            (0, 0),
        ),
        (Error(json!("invalid argument: timeout")), (0, 0)),
        (Error(json!("Request timed out")), (0, 1)),
        (
            Error(json!({"code": -32001, "message": "too late"})),
            (0, 1),
        ),
        (Error(json!("ECONNRESET: connection reset by peer")), (0, 1)),
        (Unflagged(json!("created")), (0, 1)),
        (Unflagged(Value::Null), (0, 1)),
        (Unflagged(json!({"isError": true})), (0, 1)),
        (
            Unflagged(json!({"error": {"code": -32602, "message": "no"}})),
            (0, 0),
        ),
        (
            Unflagged(json!({"error": {"code": -32000, "message": "no"}})),
            (0, 1),
        ),
        (Error(json!("socket hang up")), (0, 1)),
        (Error(json!("ETIMEDOUT")), (0, 1)),
        (Error(json!("HTTP 502")), (0, 1)),
        (Error(json!("HTTP 404")), (0, 0)),
        (Error(json!("The operation was aborted")), (0, 1)),
        (Error(json!("")), (0, 1)),
        (Error(Value::Null), (0, 1)),
        (Fault(FaultKind::LoseRequest), (0, 0)),
        (FaultThenError(FaultKind::LoseRequest), (0, 0)),
        (Fault(FaultKind::Hang), (0, 0)),
        (FaultThenError(FaultKind::Hang), (0, 0)),
        (Fault(FaultKind::Wedged), (0, 0)),
        (Fault(FaultKind::Slow), (0, 1)),
        // What the tool says is heard, though late.
        (FaultThenError(FaultKind::Slow), (0, 0)),
        (FaultThenOk(FaultKind::Slow), (1, 0)),
        (Fault(FaultKind::Jitter), (0, 1)),
        (Fault(FaultKind::ReplyAfterCancel), (0, 1)),
        (FaultThenOk(FaultKind::ReplyAfterCancel), (1, 0)),
        (Fault(FaultKind::RecoverAfter), (0, 0)),
        (FaultThenOk(FaultKind::RecoverAfter), (1, 0)),
        (Fault(FaultKind::LoseReply), (1, 0)),
        (FaultThenError(FaultKind::LoseReply), (1, 0)),
        (FaultThenError(FaultKind::Disconnect), (0, 0)),
        (FaultThenError(FaultKind::Crash), (0, 0)),
        (FaultThenError(FaultKind::Malformed), (1, 0)),
        (Fault(FaultKind::Truncated), (1, 0)),
        (Fault(FaultKind::WrongId), (1, 0)),
        (Fault(FaultKind::Duplicate), (1, 0)),
        (FaultThenError(FaultKind::Noise), (0, 0)),
        (FaultThenOk(FaultKind::Corrupt), (1, 0)),
        (FaultThenError(FaultKind::Corrupt), (0, 0)),
        (Fault(FaultKind::ProgressForever), (0, 0)),
        (FaultThenError(FaultKind::ToolError), (0, 0)),
        (Fault(FaultKind::Error), (0, 0)),
        (Fault(FaultKind::Vanish), (0, 0)),
        (FaultThenError(FaultKind::Flaky), (0, 0)),
        (Fault(FaultKind::Flaky), (0, 0)),
        (FaultThenError(FaultKind::HttpStatus), (0, 0)),
        (Fault(FaultKind::HttpStatus), (0, 0)),
        (Fault(FaultKind::None), (0, 1)),
    ];
    for (became, expected) in cases {
        assert_eq!(retried(became.clone()), expected, "{became:?}");
    }
}

/// What is lost and what is protected, with the places of what is lost.
fn kept(attempts: &[(&str, Value, Became)], block: &DuplicateWritesBlock) -> (Vec<usize>, u64) {
    let report = find_duplicate_writes(&run(attempts), block);
    let lost: Vec<usize> = report.lost_writes.iter().map(|it| it.call_index).collect();
    assert_eq!(report.lost, Some(lost.len() as u64), "{attempts:?}");
    (lost, report.protected)
}

#[test]
fn a_write_that_a_fault_kept_off_is_lost_unless_it_is_made_again() {
    let send = |became| ("send", json!({"to": "a"}), became);
    let lost = || send(Fault(FaultKind::LoseRequest));
    let refused = || Error(json!("not allowed"));
    let cases = [
        (vec![lost()], vec![0]),
        (vec![send(Fault(FaultKind::Hang))], vec![0]),
        (vec![send(FaultThenError(FaultKind::Error))], vec![0]),
        (vec![lost(), send(Done)], vec![]),
        (vec![send(Done), lost()], vec![]),
        (vec![lost(), send(Nothing)], vec![]),
        (vec![lost(), send(Fault(FaultKind::LoseReply))], vec![]),
        // The last attempt is told, once.
        (vec![lost(), lost()], vec![1]),
        (vec![lost(), send(refused())], vec![0]),
        // Another write is not this one; what was turned down is not lost.
        (vec![lost(), ("send", json!({"to": "b"}), Done)], vec![0]),
        (vec![send(refused())], vec![]),
        (vec![send(Fault(FaultKind::LoseReply))], vec![]),
        (vec![send(Fault(FaultKind::Slow))], vec![]),
        (vec![("get", json!({}), Fault(FaultKind::Hang))], vec![]),
    ];
    for (attempts, expected) in cases {
        let (lost, protected) = kept(&attempts, &DuplicateWritesBlock::default());
        assert_eq!((lost, protected), (expected, 0), "{attempts:?}");
    }
    // Also of a tool that may be called twice without harm.
    let idempotent = DuplicateWritesBlock {
        idempotent_tools: vec!["send".into()],
        ..DuplicateWritesBlock::default()
    };
    assert_eq!(kept(&[lost()], &idempotent), (vec![0], 0));
    assert_eq!(kept(&[lost(), send(Done)], &idempotent), (vec![], 0));
    // Nobody can tell whether the one with unknown arguments is the same.
    let unsure = run(&[lost(), ("send", Value::Null, Done)]);
    let report = find_duplicate_writes(&unsure, &DuplicateWritesBlock::default());
    assert_eq!(report.lost, None);
    let card = scored(vec![unsure], Some(DuplicateWritesBlock::default()));
    assert_eq!(card.run_value(0, LOST), Some(&Value::Null));
    let card = scored(vec![run(&[lost()])], Some(DuplicateWritesBlock::default()));
    assert_eq!(card.run_value(0, LOST), Some(&json!(1)));
    assert!(
        card.found.failures.is_empty(),
        "it is told, and not gated by default"
    );
    assert_eq!(
        card.runs[0].found,
        [
            "Call 0, `send`, met the fault lose_request and was never executed, nor was it made again with success."
        ]
    );
    assert_eq!(
        card.runs[0].details["duplicate_writes"]["lost_writes"][0]["fault"],
        "lose_request"
    );
}

/// What is executed after a delay is not, where its client cancels it before.
#[test]
fn a_late_write_depends_on_when_it_was_given_up() {
    let cancelled = || Error(json!({"category": "Cancelled", "message": "no"}));
    // Kind, what became of it, when it was given up and how long it was watched; what a retry is.
    let cases = [
        (FaultKind::Slow, cancelled(), 600, 2_000, (0, 0)),
        (FaultKind::Jitter, cancelled(), 600, 2_000, (0, 0)),
        (FaultKind::Slow, cancelled(), 900, 2_000, (0, 1)),
        // Given up without a word to the server: it may go on.
        (FaultKind::Slow, Nothing, 600, 2_000, (0, 1)),
        (FaultKind::ReplyAfterCancel, cancelled(), 600, 2_000, (1, 0)),
        (FaultKind::ReplyAfterCancel, Nothing, 600, 900, (1, 0)),
        (FaultKind::ReplyAfterCancel, cancelled(), 600, 899, (0, 1)),
    ];
    for (kind, became, given_up, watched, expected) in cases {
        let mut made = run(&[("send", json!({}), became), ("send", json!({}), Done)]);
        made.faults.push(FaultMark {
            kind,
            delay_ms: Some(900),
            detected_ms: Some(given_up),
            watched_ms: Some(watched),
            ..FaultMark::default()
        });
        let report = find_duplicate_writes(&made, &DuplicateWritesBlock::default());
        let found = (report.confirmed, report.at_risk);
        assert_eq!(found, expected, "{kind:?} {given_up} {watched}");
        assert_eq!(report.lost, Some(0));
        // Without the retry.
        made.tool_calls.pop();
        made.tool_results.pop();
        let report = find_duplicate_writes(&made, &DuplicateWritesBlock::default());
        let is_lost = expected == (0, 0);
        assert_eq!(report.lost, Some(u64::from(is_lost)), "{kind:?} {given_up}");
    }
}

#[test]
fn what_a_fault_keeps_off_repeats_nothing() {
    let send = |became| ("send", json!({}), became);
    let lost = || send(Fault(FaultKind::LoseReply));
    let kept_off = || send(Fault(FaultKind::LoseRequest));
    assert_eq!(found(&[lost(), kept_off()]), (0, 0));
    assert_eq!(found(&[lost(), kept_off(), send(Done)]), (1, 0));
    assert_eq!(found(&[lost(), lost(), lost()]), (2, 0));
    // What is certain tells more than what is not, whichever came first.
    assert_eq!(found(&[send(Nothing), lost(), send(Done)]), (1, 1));
}

#[test]
fn a_repetition_without_harm_is_protected() {
    let with = |key: &str| json!({"to": "a", "idempotency_key": key});
    let lost = || Fault(FaultKind::LoseReply);
    let block = DuplicateWritesBlock::default();
    for first in [lost(), Done, Nothing] {
        let attempts = [("send", with("1"), first), ("send", with("1"), Done)];
        assert_eq!(kept(&attempts, &block), (vec![], 1), "{attempts:?}");
        assert_eq!(found(&attempts), (0, 0), "{attempts:?}");
    }
    // Another key, or none, after a reply that was lost is the same write once more, for certain.
    for second in [with("2"), json!({"to": "a"})] {
        let attempts = [("send", with("1"), lost()), ("send", second, Done)];
        assert_eq!(found(&attempts), (1, 0), "{attempts:?}");
        assert_eq!(kept(&attempts, &block), (vec![], 0), "{attempts:?}");
    }
    // Nothing to be protected from.
    let refused = Fault(FaultKind::LoseRequest);
    let attempts = [("send", with("1"), refused), ("send", with("1"), Done)];
    assert_eq!(kept(&attempts, &block), (vec![], 0));
    let idempotent = DuplicateWritesBlock {
        idempotent_tools: vec!["send".into()],
        ..block
    };
    let attempts = [("send", json!({}), lost()), ("send", json!({}), Done)];
    assert_eq!(kept(&attempts, &idempotent), (vec![], 1));
}

#[test]
fn only_the_same_write_is_a_duplicate() {
    let cases = [
        (
            ("create_issue", json!({"a": 1, "b": 2})),
            ("create_issue", json!({"b": 2.0, "a": 1})),
            1,
        ),
        (
            ("create_issue", json!({"a": 1})),
            ("create_issue", json!({"a": 2})),
            0,
        ),
        (("create_issue", json!({})), ("create_issue", json!({})), 1),
        (
            ("transfer_funds", json!({"to": "x"})),
            ("transfer_funds", json!({"to": "x"})),
            1,
        ),
        (("get_transfer", json!({})), ("get_transfer", json!({})), 0),
        (("create_issue", json!({})), ("create_label", json!({})), 0),
        (("createIssue", json!({})), ("createIssue", json!({})), 1),
        (("get_issue", json!({})), ("get_issue", json!({})), 0),
        (("get_settings", json!({})), ("get_settings", json!({})), 0),
    ];
    for ((first, one), (second, other), confirmed) in cases {
        let attempts = [(first, one, Done), (second, other, Done)];
        assert_eq!(found(&attempts), (confirmed, 0), "{attempts:?}");
    }
    let mut elsewhere = run(&[("send", json!({}), Done), ("send", json!({}), Done)]);
    elsewhere.tool_calls[1].server = Some("other".into());
    let report = find_duplicate_writes(&elsewhere, &DuplicateWritesBlock::default());
    assert_eq!(report.count(), 0);
}

#[test]
fn every_repetition_counts_once() {
    let send = |became| ("send", json!({}), became);
    assert_eq!(found(&[send(Done), send(Done), send(Done)]), (2, 0));
    assert_eq!(found(&[send(Nothing), send(Done), send(Done)]), (1, 1));
    assert_eq!(
        found(&[send(Nothing), send(Nothing), send(Nothing)]),
        (0, 2)
    );
    let refused = || send(Error(json!("no")));
    assert_eq!(found(&[refused(), refused(), send(Done)]), (0, 0));
    assert_eq!(found(&[refused(), send(Done), refused()]), (1, 0));
    // What is done in between changes nothing.
    assert_eq!(
        found(&[send(Nothing), ("get", json!({}), Done), send(Done)]),
        (0, 1)
    );
}

#[test]
fn an_idempotency_key_makes_it_safe() {
    for name in [
        "idempotency_key",
        "idempotencyKey",
        "Idempotency-Key",
        "request_id",
        "requestId",
        "client_token",
        "clientToken",
    ] {
        let with = |key: &str| json!({"to": "a", name: key});
        for became in [Done, Nothing] {
            let attempts = [
                ("pay", with("1"), became.clone()),
                ("send", with("1"), became),
                ("send", with("1"), Done),
            ];
            assert_eq!(found(&attempts), (0, 0), "{attempts:?}");
        }
        // A new key after an attempt that may have been executed does not help.
        let attempts = [("send", with("1"), Nothing), ("send", with("2"), Done)];
        assert_eq!(found(&attempts), (0, 1), "{name}");
        let attempts = [
            ("send", with("1"), Nothing),
            ("send", with("2"), Nothing),
            ("send", with("1"), Done),
        ];
        assert_eq!(found(&attempts), (0, 2), "{name}");
        // After a success it says that another write is meant.
        let attempts = [("send", with("1"), Done), ("send", with("2"), Done)];
        assert_eq!(found(&attempts), (0, 0), "{name}");
        // Without a key it is the same write once more, whatever key had succeeded.
        let attempts = [
            ("send", with("1"), Done),
            ("send", json!({"to": "a"}), Done),
        ];
        assert_eq!(found(&attempts), (1, 0), "{name}");
        // An empty key is none.
        let attempts = [("send", with(""), Done), ("send", with(""), Done)];
        assert_eq!(found(&attempts), (1, 0), "{name}");
        let null = json!({"to": "a", name: null});
        assert_eq!(
            found(&[("send", null.clone(), Done), ("send", null, Done)]),
            (1, 0)
        );
    }
    let other = json!({"key": "1"});
    assert_eq!(
        found(&[("send", other.clone(), Done), ("send", other, Done)]),
        (1, 0)
    );
}

#[test]
fn settings_say_what_writes() {
    let twice = |name: &str| run(&[(name, json!({}), Done), (name, json!({}), Done)]);
    let list = |name: &str| vec![name.to_owned()];
    let block = DuplicateWritesBlock {
        mutating_tools: list("run_job"),
        readonly_tools: list("post_search"),
        idempotent_tools: list("set_status"),
    };
    for (name, plain, with_block) in [
        ("run_job", 0, 1),
        ("post_search", 1, 0),
        ("set_status", 1, 0),
        ("send", 1, 1),
    ] {
        let defaults = DuplicateWritesBlock::default();
        assert_eq!(
            find_duplicate_writes(&twice(name), &defaults).count(),
            plain,
            "{name}"
        );
        assert_eq!(
            find_duplicate_writes(&twice(name), &block).count(),
            with_block,
            "{name}"
        );
    }
}

#[test]
fn lists_take_stars_and_servers() {
    let twice = |name: &str| {
        let mut made = run(&[(name, json!({}), Done), (name, json!({}), Done)]);
        for call in &mut made.tool_calls {
            call.server = Some("jobs".into());
        }
        made
    };
    let list = |name: &str| vec![name.to_owned()];
    for listed in [
        "run_job",
        "run_*",
        "jobs__run_job",
        "mcp__jobs__run_job",
        "jobs__*",
    ] {
        let block = DuplicateWritesBlock {
            mutating_tools: list(listed),
            ..DuplicateWritesBlock::default()
        };
        assert_eq!(
            find_duplicate_writes(&twice("run_job"), &block).count(),
            1,
            "{listed}"
        );
    }
    for listed in ["send_*", "jobs__send_it", "mcp__jobs__*"] {
        for block in [
            DuplicateWritesBlock {
                readonly_tools: list(listed),
                ..DuplicateWritesBlock::default()
            },
            DuplicateWritesBlock {
                idempotent_tools: list(listed),
                ..DuplicateWritesBlock::default()
            },
        ] {
            assert_eq!(
                find_duplicate_writes(&twice("send_it"), &block).count(),
                0,
                "{listed}"
            );
        }
    }
    let block = DuplicateWritesBlock {
        mutating_tools: vec!["run_job".into(), "rnu_job".into()],
        readonly_tools: list("other__run_job"),
        ..DuplicateWritesBlock::default()
    };
    let card = scored(vec![twice("run_job")], Some(block.clone()));
    assert_eq!(
        card.found.notes,
        [
            "`rnu_job` in mutating_tools of duplicate_writes names no call of any run; is it spelt right?",
            "`other__run_job` in readonly_tools of duplicate_writes names no call of any run; is it spelt right?",
        ]
    );
    // Without a server nobody knows which tool it is.
    let unknown = run(&[("run_job", json!({}), Done)]);
    let card = scored(vec![unknown], Some(block));
    assert_eq!(
        (card.found.errors.len(), card.run_value(0, COUNT)),
        (1, None)
    );
}

#[test]
fn unknown_arguments_are_not_guessed() {
    let unknown = |became| ("send", Value::Null, became);
    let known = |became| ("send", json!({"to": "a"}), became);
    let refused = || Error(json!("not found"));
    // Attempts; whether it is undecided, and what is certain.
    let cases = [
        (vec![unknown(Done)], false, 0),
        (vec![unknown(Done), unknown(Done)], true, 0),
        (vec![unknown(Done), known(Done)], true, 0),
        (vec![known(Nothing), unknown(Done)], true, 0),
        (vec![known(Done), known(Done), unknown(Done)], true, 1),
        // What was turned down cannot be repeated.
        (vec![unknown(refused()), unknown(Done)], false, 0),
        (vec![known(refused()), unknown(Done)], false, 0),
        (vec![unknown(Done), ("get", Value::Null, Done)], false, 0),
        (vec![unknown(Done), ("create", Value::Null, Done)], false, 0),
    ];
    for (attempts, is_undecided, certain) in cases {
        let recorded = run(&attempts);
        let report = find_duplicate_writes(&recorded, &DuplicateWritesBlock::default());
        assert_eq!(report.undecided.is_some(), is_undecided, "{attempts:?}");
        assert_eq!(report.count(), certain, "{attempts:?}");
        let card = scored(vec![recorded], Some(DuplicateWritesBlock::default()));
        let is_error = is_undecided && certain == 0;
        assert_eq!(
            card.found.errors.len(),
            usize::from(is_error),
            "{attempts:?}"
        );
        assert_eq!(card.found.failures.len() as u64, certain, "{attempts:?}");
        assert_eq!(card.run_value(0, COUNT) == Some(&Value::Null), is_undecided);
        assert_eq!(card.run_value(0, PASSED) == Some(&Value::Null), is_error);
        assert_eq!(card.found.notes.len(), usize::from(is_undecided));
    }
    let card = scored(
        vec![run(&[unknown(Done), known(Done)])],
        Some(DuplicateWritesBlock::default()),
    );
    assert_eq!(
        card.found.errors[0].message,
        "whether call 1, `send`, repeats call 0 cannot be judged: the trace does not have the arguments of both"
    );
}

fn scored(runs: Vec<AgentRun>, block: Option<DuplicateWritesBlock>) -> Scorecard {
    let trace = AgentTrace::new(runs);
    let gates = block.map_or_else(Gates::default, |block| {
        Gates::default().with(&DuplicateWrites, block)
    });
    testing::gated(&DuplicateWrites, &trace, &gates).unwrap()
}

#[test]
fn a_failure_names_the_calls() {
    let good = run(&[("create_issue", json!({}), Done)]);
    let bad = run(&[
        ("send", json!({}), Nothing),
        ("create_issue", json!({}), Done),
        ("send", json!({}), Done),
        ("create_issue", json!({}), Done),
    ]);
    let card = scored(
        vec![good.clone(), bad.clone()],
        Some(DuplicateWritesBlock::default()),
    );
    for (target, values) in [
        (AT_RISK, [0, 1]),
        (CONFIRMED, [0, 1]),
        (COUNT, [0, 2]),
        (PASSED, [1, 0]),
    ] {
        for (run, value) in values.into_iter().enumerate() {
            assert_eq!(
                card.run_value(run, target),
                Some(&json!(value)),
                "{target} {run}"
            );
        }
    }
    assert_eq!(card.found.failures.len(), 1);
    let failure = &card.found.failures[0];
    assert_eq!((failure.run, failure.target.as_str()), (Some(1), COUNT));
    assert_eq!(
        failure.message,
        "1 write certainly made twice, 1 perhaps: call 2, `send`, repeats call 0, which has no \
         result and may have been executed; call 3, `create_issue`, repeats call 1, which had \
         succeeded; before trying again, an agent should look whether the write was made, or send \
         an idempotency key"
    );
    assert_eq!(
        card.runs[1].details["duplicate_writes"]["writes"][0]["repeats"],
        0
    );
    assert_eq!(
        card.runs[1].found[1],
        "Call 3, `create_issue`, repeats call 1, which had succeeded."
    );
    let told = scored(vec![bad], None);
    assert_eq!(told.run_value(0, COUNT), Some(&json!(2)));
    assert!(
        told.found.failures.is_empty(),
        "nothing is gated without the block"
    );
}

#[test]
fn many_duplicates_are_counted() {
    let attempts = vec![("send", json!({"to": "a"}), Done); 20_000];
    let card = scored(vec![run(&attempts)], Some(DuplicateWritesBlock::default()));
    assert_eq!(card.run_value(0, CONFIRMED), Some(&json!(19_999)));
    let message = &card.found.failures[0].message;
    assert!(
        message.rendered().contains("; and 19,979 more; before"),
        "{message:?}"
    );
}

fn any_outcome() -> impl Strategy<Value = Became> {
    let kinds: Vec<FaultKind> = FaultKind::ALL.into_iter().map(|(_, kind)| kind).collect();
    let kind = || prop::sample::select(kinds.clone());
    prop_oneof![
        Just(Done),
        Just(Nothing),
        Just(Error(json!("no"))),
        Just(Error(json!("timed out"))),
        Just(Unflagged(json!(1))),
        kind().prop_map(Fault),
        kind().prop_map(FaultThenError),
        kind().prop_map(FaultThenOk),
    ]
}

proptest! {
    #[test]
    fn no_run_panics(
        attempts in prop::collection::vec((prop::sample::select(vec!["send", "get", "create"]), 0_u8..2, any_outcome()), 0..12),
        stray in any::<usize>(),
    ) {
        let attempts: Vec<_> = attempts.into_iter().map(|(name, args, became)| (name, json!({"a": args}), became)).collect();
        let mut made = run(&attempts);
        made.faults.push(FaultMark { call_index: stray, ..FaultMark::default() });
        let report = find_duplicate_writes(&made, &DuplicateWritesBlock::default());
        let writes = attempts.iter().filter(|(name, _, _)| *name != "get").count() as u64;
        prop_assert!(report.count() <= writes.saturating_sub(1));
        prop_assert_eq!(report.writes.len() as u64, report.count());
        prop_assert!(report.count() + report.protected + report.lost.unwrap_or(0) <= writes);
        for write in &report.writes {
            prop_assert!(write.repeats < write.call_index);
            prop_assert_eq!(&made.tool_calls[write.repeats], &made.tool_calls[write.call_index]);
        }
    }

    #[test]
    fn one_more_call_never_takes_a_duplicate_away(
        outcomes in prop::collection::vec(any_outcome(), 1..8),
    ) {
        let attempts: Vec<_> = outcomes.into_iter().map(|became| ("send", json!({}), became)).collect();
        let (confirmed, at_risk) = found(&attempts[..attempts.len() - 1]);
        let (more_confirmed, more_at_risk) = found(&attempts);
        prop_assert!(confirmed <= more_confirmed && at_risk <= more_at_risk);
    }
}
