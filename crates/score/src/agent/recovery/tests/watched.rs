//! Runs that a real clock watched: nobody tells how they ended, and the marks tell by themselves.

use super::*;

/// The mark of a call that a recording watched for ten seconds.
fn live(index: usize, kind: &str, detected: Option<u64>, recovered: Option<u64>) -> Value {
    json!({ "call_index": index, "fault": kind, "kind": kind, "detected_ms": detected,
            "recovered_ms": recovered, "watched_ms": 10_000 })
}

fn watched(faults: &[Value]) -> AgentRun {
    run(None, None, &json!(faults))
}

#[test]
fn marks_alone_pass_and_fail() {
    let recovered = watched(&[live(0, "hang", Some(2_900), Some(3_100))]);
    let card = gated(vec![recovered], Some(block())).unwrap();
    assert!(
        card.found.errors.is_empty()
            && card.found.failures.is_empty()
            && card.found.notes.is_empty()
    );
    assert_eq!(card.run_value(0, RECOVERED), Some(&json!(1)));
    assert_eq!(card.run_value(0, DETECTION), Some(&json!(2_900)));
    assert_eq!(card.run_value(0, RECOVERY), Some(&json!(3_100)));
    let cases = [
        (
            live(0, "hang", Some(2_900), None),
            RECOVERED,
            "the agent did not recover: call 0 (`search`) met the fault hang, and no call that it made after it noticed succeeded; look at what it does after that call; if it reported the failure to its user, score its own trace, which has the reply",
        ),
        (
            live(1, "wedged", Some(9_000), Some(9_100)),
            RECOVERY,
            "the agent took 9,100 ms to recover, and 5,000 ms are allowed: call 1 (`fetch`) met the fault wedged, by the clock of the run; look at whether it calls a dead tool again",
        ),
        (
            live(0, "hang", Some(3_004), Some(3_100)),
            CLEAN_TIMEOUT,
            "the agent noticed only after 3,004 ms that call 0 (`search`) met the fault hang, and its timeout budget is 3,000 ms; look at its timeout: the budget must be a little longer, because a message takes time too",
        ),
    ];
    for (fault, target, message) in cases {
        let card = gated(vec![watched(&[fault])], Some(block())).unwrap();
        assert!(card.found.errors.is_empty(), "{:?}", card.found.errors);
        let failure = &card.found.failures[0];
        assert_eq!(
            (failure.target.as_str(), failure.with_hint().as_str()),
            (target, message)
        );
    }
}

/// The agent may have told its user of the failure, which is right, and which no traffic shows.
#[test]
fn a_client_that_gave_up_and_called_nothing_more_may_have_recovered() {
    let mut given_up = live(3, "hang", Some(2_900), None);
    given_up["went_on"] = json!(false);
    let card = gated(vec![watched(&[given_up.clone()])], Some(block())).unwrap();
    assert!(card.found.failures.is_empty(), "{:?}", card.found.failures);
    let [error] = card.found.errors.as_slice() else {
        panic!("{:?}", card.found.errors);
    };
    assert_eq!(
        error.message,
        "call 3 (`search`) met the fault hang: the agent gave up and called nothing more, and a recording does not say whether it told its user of the failure"
    );
    assert!(error.hint.rendered().contains("trace of the agent itself"));
    assert_eq!(card.run_value(0, RECOVERED), Some(&Value::Null));
    assert!(!card.has_never_happened(0, RECOVERY), "nobody knows");
    assert_eq!(card.run_value(0, CLEAN_TIMEOUT), Some(&json!(1)));
    assert_eq!(
        card.runs[0].found,
        [
            "Call 3 (`search`) met the fault hang: noticed after 2,900 ms, and nothing was called any more, as far as can be seen."
        ]
    );
    // What it tried after that failed.
    given_up["went_on"] = json!(true);
    let card = gated(vec![watched(&[given_up])], Some(block())).unwrap();
    assert!(card.found.errors.is_empty());
    assert_eq!(card.found.failures[0].target, RECOVERED);
}

/// A client that leaves may have noticed long before: only that it was not later is known.
#[test]
fn leaving_is_the_latest_moment_at_which_a_client_noticed() {
    let left = |after: u64| {
        let mut mark = live(0, "hang", None, None);
        mark["left_ms"] = json!(after);
        gated(vec![watched(&[mark])], Some(block())).unwrap()
    };
    let late = left(3_001);
    assert!(late.found.failures.is_empty(), "{:?}", late.found.failures);
    assert_eq!(
        late.found.errors[0].message,
        "call 0 (`search`) met the fault hang, and the client gave no sign that it noticed until it left 3,001 ms after the call began, when the timeout budget was used up"
    );
    assert_eq!(late.run_value(0, CLEAN_TIMEOUT), Some(&Value::Null));
    let in_time = left(3_000);
    assert!(
        in_time.found.failures.is_empty(),
        "{:?}",
        in_time.found.failures
    );
    assert_eq!(in_time.found.errors.len(), 1, "whether it told its user");
    assert_eq!(in_time.run_value(0, CLEAN_TIMEOUT), Some(&json!(1)));
    for card in [late, in_time] {
        for target in [DETECTION, HANG, RECOVERED] {
            assert_eq!(card.run_value(0, target), Some(&Value::Null), "{target}");
            assert!(!card.has_never_happened(0, target), "{target}");
        }
    }
}

#[test]
fn never_noticed_is_a_failure_once_the_budget_is_used_up() {
    let ignored = watched(&[live(0, "hang", None, None)]);
    let card = gated(vec![ignored], Some(block())).unwrap();
    assert!(card.found.errors.is_empty());
    let targets: Vec<&str> = card
        .found
        .failures
        .iter()
        .map(|it| it.target.as_str())
        .collect();
    assert_eq!(targets, [RECOVERED, CLEAN_TIMEOUT]);
    assert!(card.has_never_happened(0, DETECTION) && card.has_never_happened(0, RECOVERY));
    assert_eq!(card.run_value(0, HANG), Some(&json!(3_000)), "the budget");
    // Where the recording ends before that, nobody knows.
    let mut cut = live(0, "hang", None, None);
    cut["watched_ms"] = json!(2_999);
    let card = gated(vec![watched(&[cut])], Some(block())).unwrap();
    assert!(card.found.failures.is_empty(), "{:?}", card.found.failures);
    let [error] = card.found.errors.as_slice() else {
        panic!("{:?}", card.found.errors);
    };
    assert_eq!(
        error.message,
        "call 0 (`search`) met the fault hang, and the recording ends 2,999 ms after the call began, before the timeout budget is used up"
    );
}

#[test]
fn whether_an_altered_reply_was_noticed_shows_only_when_it_is_asked_for_again() {
    for kind in ["corrupt", "empty", "oversized"] {
        let silent = || watched(&[live(0, kind, Some(4), None)]);
        let card = gated(vec![silent()], Some(block())).unwrap();
        assert!(card.found.failures.is_empty(), "{kind}");
        let [error] = card.found.errors.as_slice() else {
            panic!("{kind}: {:?}", card.found.errors);
        };
        assert_eq!(
            error.message.rendered(),
            format!(
                "call 0 (`search`) met the fault {kind}: the reply was altered, it was not asked for again, and a recording does not say whether the agent noticed"
            )
        );
        let card = gated(vec![silent()], None).unwrap();
        assert_eq!(card.run_value(0, RECOVERED), Some(&Value::Null));
        assert_eq!(card.found.notes.len(), 1);
        // A known end settles it.
        let mut told = silent();
        told.conversation = completed(&json!([])).conversation;
        told.final_response = Some("The index is broken.".into());
        assert_eq!(observe_run(&told, 3_000).recovered, Some(false));
        let again = watched(&[live(0, kind, Some(4), Some(9))]);
        let card = gated(vec![again], Some(block())).unwrap();
        assert!(
            card.found.errors.is_empty() && card.found.failures.is_empty(),
            "{kind}"
        );
    }
}

#[test]
fn each_call_is_told_in_a_sentence_the_worst_first() {
    // Calls 0, 2 and 3 are the same.
    let faults = [
        live(0, "lose_reply", Some(3_001), Some(3_040)),
        live(1, "slow", Some(1_002), Some(1_002)),
        live(2, "hang", None, None),
        live(3, "corrupt", Some(4), None),
    ];
    let recorded = watched(&faults);
    let card = gated(vec![recorded.clone()], Some(block())).unwrap();
    assert_eq!(
        card.runs[0].found,
        [
            "Call 2 (`search`) met the fault hang: never noticed in the 10,000 ms until the recording ended, made again by call 3, not recovered.",
            "Call 3 (`search`) met the fault corrupt: an altered reply came after 4 ms, taken as it was, as far as can be seen.",
            "Call 0 (`search`) met the fault lose_reply: noticed after 3,001 ms, made again by call 2, recovered after 3,040 ms.",
            "Call 1 (`fetch`) met the fault slow: it was waited for, and answered after 1,002 ms.",
        ]
    );
    let calls = &card.runs[0].details["recovery"]["calls"];
    assert_eq!(
        (&calls[0]["repeated_by"], &calls[0]["watched_ms"]),
        (&json!(2), &json!(10_000))
    );
    assert_eq!(calls[1].get("repeated_by"), None);
    // The default budget is longer than the recording.
    let card = gated(vec![recorded], None).unwrap();
    assert_eq!(
        card.runs[0].found[0],
        "Call 2 (`search`) met the fault hang: not noticed in the 10,000 ms until the recording ended."
    );
    assert_eq!(card.run_value(0, DETECTION), Some(&Value::Null));
    assert!(!card.has_never_happened(0, DETECTION), "nobody knows");
}
