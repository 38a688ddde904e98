//! Recordings with faults: what each kind of fault and each reaction of a client comes to on the clock.

use mcprove_trace::{FaultKind, FaultMark};
use proptest::prelude::*;
use serde_json::json;

use super::*;

/// What happens at a moment, in milliseconds, to a call, by its id. Ids of 100 and more are of
/// session 1, of 200 and more of session 2.
#[derive(Debug, Clone, Copy)]
pub(super) enum Happens {
    /// A call of `search` with the same arguments each time.
    Search,
    /// A call of `search` with other arguments.
    SearchOther,
    /// A call of another tool.
    Fetch,
    /// Its result, which is no error.
    Done,
    /// Its error.
    Failed,
    /// What is sent for its reply cannot be read.
    Broken,
    /// The client cancels it.
    Cancelled,
    /// The client of its session leaves.
    Left,
    /// The same, as the end of the call.
    EndCancelled,
    /// A fault strikes it.
    Struck(&'static str),
}

use Happens::{
    Broken, Cancelled, Done, EndCancelled, Failed, Fetch, Left, Search, SearchOther, Struck,
};

pub(super) fn line(milliseconds: u64, id: u64, happens: Happens) -> Value {
    let ts = f64::from(u32::try_from(milliseconds).unwrap()) / 1e3;
    let session = id / 100;
    let about = |kind: &str| json!({"ts": ts, "kind": kind, "session": session, "request_id": id, "method": "tools/call"});
    let call = |tool: &str, query: &str| {
        let mut line = about("request");
        line["params"] = json!({"name": tool, "arguments": {"q": query}});
        line
    };
    let error = |category: &str| {
        let mut line = about("error");
        line["error"] = json!({"category": category, "message": "no"});
        line
    };
    let note = |name: &str, data: Value| json!({"ts": ts, "kind": "scenario_event", "name": name, "message": "", "data": data});
    match happens {
        Search => call("search", "x"),
        SearchOther => call("search", "y"),
        Fetch => call("fetch", "x"),
        Done => {
            let mut line = about("response");
            line["result"] = json!({"content": []});
            line
        }
        Failed => error("ServerError"),
        Broken => error("Malformed"),
        EndCancelled => error("Cancelled"),
        Cancelled => note("cancelled", json!({"session": session, "request_id": id})),
        Left => note("left", json!({"session": session})),
        Struck(kind) => note(
            "fault",
            json!({"session": session, "request_id": id, "fault": "f", "kind": kind,
                   "server": "api", "tool": "search", "delay_ms": 7, "failures": 2}),
        ),
    }
}

pub(super) fn recording(script: &[(u64, u64, Happens)]) -> (AgentRun, Vec<String>) {
    let script: Vec<Value> = script
        .iter()
        .map(|(at, id, what)| line(*at, *id, *what))
        .collect();
    import_one(&lines(&script), Format::Recording)
}

/// When the fault of the first call was noticed, and when the client had recovered.
fn marked(script: &[(u64, u64, Happens)]) -> (Option<i64>, Option<i64>) {
    let (run, _) = recording(script);
    let mark = &run.faults[0];
    assert_eq!(mark.call_index, 0, "{script:?}");
    // Recorders end a call that is cancelled, besides the note.
    let ended = script.iter().flat_map(|(at, id, what)| match what {
        Cancelled => vec![(*at, *id, Cancelled), (*at, *id, EndCancelled)],
        what => vec![(*at, *id, *what)],
    });
    let (ended, _) = recording(&ended.collect::<Vec<_>>());
    assert_eq!(ended.faults, run.faults, "{script:?}");
    (mark.detected_ms, mark.recovered_ms)
}

/// Kinds of which the client hears nothing.
const NOTHING: [&str; 9] = [
    "hang",
    "wedged",
    "recover_after",
    "progress_forever",
    "lose_request",
    "lose_reply",
    "malformed",
    "truncated",
    "wrong_id",
];
/// Kinds that leave the answer as it is.
const RIGHT: [&str; 6] = [
    "slow",
    "jitter",
    "reply_after_cancel",
    "duplicate",
    "reorder",
    "noise",
];
const ALTERED: [&str; 3] = ["corrupt", "empty", "oversized"];
const FAILING: [&str; 5] = ["error", "tool_error", "flaky", "http_status", "vanish"];
const BREAKING: [&str; 2] = ["disconnect", "crash"];

#[test]
fn every_kind_has_its_rules() {
    let mut all: Vec<&str> = [&NOTHING[..], &RIGHT, &ALTERED, &FAILING, &BREAKING].concat();
    all.push("none");
    all.sort_unstable();
    let mut known: Vec<&str> = FaultKind::ALL.iter().map(|(name, _)| *name).collect();
    known.sort_unstable();
    assert_eq!(all, known);
}

#[test]
fn of_a_call_that_never_answers_the_client_notices_when_it_gives_up() {
    for kind in NOTHING {
        let start = [(1_000, 1, Search), (1_000, 1, Struck(kind))];
        let then = |rest: &[(u64, u64, Happens)]| marked(&[&start, rest].concat());
        // Cancelled, then the same again, or another tool in its place.
        let cancelled = (4_001, 1, Cancelled);
        let retried = [cancelled, (4_010, 2, Search), (4_050, 2, Done)];
        assert_eq!(then(&retried), (Some(3_001), Some(3_050)), "{kind}");
        let elsewhere = [cancelled, (4_010, 2, Fetch), (4_050, 2, Done)];
        assert_eq!(then(&elsewhere), (Some(3_001), Some(3_050)), "{kind}");
        let failed = [cancelled, (4_010, 2, Search), (4_050, 2, Failed)];
        assert_eq!(then(&failed), (Some(3_001), None), "{kind}");
        assert_eq!(then(&[cancelled]), (Some(3_001), None), "{kind}");
        // Made again without a cancellation, also before one.
        let again = [(3_000, 2, Search), (3_030, 2, Done)];
        assert_eq!(then(&again), (Some(2_000), Some(2_030)), "{kind}");
        let hedged = [(3_000, 2, Search), (3_030, 2, Done), (3_031, 1, Cancelled)];
        assert_eq!(then(&hedged), (Some(2_000), Some(2_030)), "{kind}");
        // The error that ends it after all.
        let released = [
            (601_000, 1, Failed),
            (601_500, 2, Search),
            (601_600, 2, Done),
        ];
        assert_eq!(then(&released), (Some(600_000), Some(600_600)), "{kind}");
        // Nothing at all; and a result that the client could not read.
        assert_eq!(then(&[]), (None, None), "{kind}");
        assert_eq!(then(&[(1_001, 1, Done)]), (None, None), "{kind}");
    }
}

/// Whether a client notices a reply that it cannot read depends on the client and the transport.
#[test]
fn a_reply_that_cannot_be_read_is_noticed_when_the_client_says_so() {
    for kind in ["malformed", "truncated", "wrong_id"] {
        let start = [(0, 1, Search), (0, 1, Struck(kind)), (1, 1, Broken)];
        let then = |rest: &[(u64, u64, Happens)]| marked(&[&start, rest].concat());
        assert_eq!(then(&[]), (None, None), "{kind}");
        // At once, or after a timeout.
        for at in [1, 5, 30_000] {
            let expected = (i64::try_from(at).ok(), i64::try_from(at + 7).ok());
            for what in [Search, Fetch] {
                assert_eq!(
                    then(&[(at, 2, what), (at + 7, 2, Done)]),
                    expected,
                    "{kind}"
                );
            }
        }
        let cancelled = [(3_000, 1, Cancelled), (3_100, 2, Search), (3_200, 2, Done)];
        assert_eq!(then(&cancelled), (Some(3_000), Some(3_200)), "{kind}");
    }
    let at_once = [(0, 1, Search), (0, 1, Struck("malformed")), (0, 1, Broken)];
    assert_eq!(marked(&at_once), (None, None), "not made again by itself");
}

#[test]
fn another_call_is_a_sign_only_of_a_client_that_makes_one_at_a_time() {
    let hung = [(1_000, 1, Search), (1_000, 1, Struck("hang"))];
    let then = |rest: &[(u64, u64, Happens)]| marked(&[&hung, rest].concat());
    let next = [(9_000, 2, Fetch), (9_100, 2, Done)];
    assert_eq!(then(&next), (Some(8_000), Some(8_100)));
    let other = [(9_000, 2, SearchOther), (9_100, 2, Done)];
    assert_eq!(then(&other), (Some(8_000), Some(8_100)));
    // Made together with it, or while another one waits.
    let together = [
        (1_040, 2, Fetch),
        (1_100, 2, Done),
        (9_000, 3, Fetch),
        (9_100, 3, Done),
    ];
    assert_eq!(then(&together), (None, None));
    let parallel = [
        (9_000, 2, Fetch),
        (9_050, 3, Fetch),
        (9_100, 2, Done),
        (9_110, 3, Done),
    ];
    assert_eq!(then(&parallel), (None, None));
    // The same calls made together say nothing of one another.
    let twice = [
        (1_010, 2, Search),
        (1_010, 2, Struck("hang")),
        (4_000, 1, Cancelled),
        (4_000, 2, Cancelled),
    ];
    assert_eq!(then(&twice), (Some(3_000), None));
    // A call that is cancelled was waited for until then.
    let meanwhile = [(2_000, 2, Fetch), (2_100, 2, Done), (4_000, 1, Cancelled)];
    assert_eq!(then(&meanwhile), (Some(3_000), None));
}

#[test]
fn an_answer_that_is_right_ends_it_unless_the_client_gave_up() {
    for kind in RIGHT {
        let start = [(0, 1, Search), (0, 1, Struck(kind))];
        let then = |rest: &[(u64, u64, Happens)]| marked(&[&start, rest].concat());
        assert_eq!(
            then(&[(1_500, 1, Done)]),
            (Some(1_500), Some(1_500)),
            "{kind}"
        );
        // An error of the tool itself is what it says.
        assert_eq!(
            then(&[(1_500, 1, Failed)]),
            (Some(1_500), Some(1_500)),
            "{kind}"
        );
        let given_up = [(1_000, 1, Cancelled), (1_500, 1, Done)];
        assert_eq!(then(&given_up), (Some(1_000), None), "{kind}");
        let retried = [(1_000, 2, Search), (1_100, 2, Done), (1_500, 1, Done)];
        assert_eq!(then(&retried), (Some(1_000), Some(1_100)), "{kind}");
        let twice = [(1_500, 1, Done), (1_501, 1, Done)];
        assert_eq!(then(&twice), (Some(1_500), Some(1_500)), "{kind}");
        assert_eq!(then(&[]), (None, None), "{kind}");
    }
}

#[test]
fn an_altered_reply_ends_the_wait_and_only_asking_again_shows_that_it_was_noticed() {
    for kind in ALTERED {
        let start = [(0, 1, Search), (0, 1, Struck(kind)), (5, 1, Done)];
        let then = |rest: &[(u64, u64, Happens)]| marked(&[&start, rest].concat());
        assert_eq!(then(&[]), (Some(5), None), "{kind}");
        let went_on = [(100, 2, Fetch), (110, 2, Done)];
        assert_eq!(then(&went_on), (Some(5), None), "{kind}");
        let again = [(20, 2, Search), (30, 2, Done)];
        assert_eq!(then(&again), (Some(5), Some(30)), "{kind}");
        // Altered once more.
        let worse = [(20, 2, Search), (20, 2, Struck(kind)), (30, 2, Done)];
        assert_eq!(then(&worse), (Some(5), None), "{kind}");
    }
}

#[test]
fn a_failure_is_noticed_when_it_arrives() {
    for kind in FAILING {
        let start = [(0, 1, Search), (0, 1, Struck(kind)), (3, 1, Failed)];
        let then = |rest: &[(u64, u64, Happens)]| marked(&[&start, rest].concat());
        assert_eq!(then(&[]), (Some(3), None), "{kind}");
        let retried = [(4, 2, Search), (9, 2, Done)];
        assert_eq!(then(&retried), (Some(3), Some(9)), "{kind}");
        let twice = [
            (4, 2, Search),
            (4, 2, Struck(kind)),
            (5, 2, Failed),
            (6, 3, Search),
            (9, 3, Done),
        ];
        assert_eq!(then(&twice), (Some(3), Some(9)), "{kind}");
        let elsewhere = [(4, 2, Fetch), (9, 2, Done)];
        assert_eq!(then(&elsewhere), (Some(3), Some(9)), "{kind}");
    }
}

#[test]
fn a_broken_connection_is_noticed_at_once_and_the_next_session_goes_on() {
    for kind in BREAKING {
        let start = [(0, 1, Search), (2, 1, Struck(kind))];
        let then = |rest: &[(u64, u64, Happens)]| marked(&[&start, rest].concat());
        assert_eq!(then(&[]), (Some(2), None), "{kind}");
        assert_eq!(then(&[(5, 1, Failed)]), (Some(5), None), "{kind}");
        let connected_again = [(500, 101, Search), (510, 101, Done)];
        assert_eq!(then(&connected_again), (Some(2), Some(510)), "{kind}");
    }
}

#[test]
fn other_clients_say_nothing() {
    let script = [
        (0, 101, Search),
        (5, 101, Done),
        (10, 1, Search),
        (10, 1, Struck("hang")),
        // Session 1 was there before: another client.
        (400, 102, Search),
        (410, 102, Done),
        (5_000, 1, Cancelled),
        (5_100, 103, Fetch),
        (5_110, 103, Done),
    ];
    let (run, _) = recording(&script);
    let mark = &run.faults[0];
    assert_eq!(
        (mark.call_index, mark.detected_ms, mark.recovered_ms),
        (1, Some(4_990), None)
    );
    // A session that begins later is of a client that connects again.
    let later = [(5_200, 201, Search), (5_250, 201, Done)];
    let (run, _) = recording(&[&script[..], &later].concat());
    assert_eq!(run.faults[0].recovered_ms, Some(5_240));
    assert_eq!(run.tool_calls.len(), 5, "one run");
}

#[test]
fn marks_have_what_the_notes_tell() {
    let (run, notes) = recording(&[
        (0, 1, Search),
        (0, 1, Struck("recover-after")),
        (4_000, 1, Cancelled),
        (4_100, 2, Search),
        (4_200, 2, Done),
        (6_500, 3, Fetch),
    ]);
    let expected = FaultMark {
        call_index: 0,
        fault: Some("f".into()),
        kind: FaultKind::RecoverAfter,
        delay_ms: Some(7),
        failures: Some(2),
        detected_ms: Some(4_000),
        recovered_ms: Some(4_200),
        watched_ms: Some(6_500),
        ..FaultMark::default()
    };
    assert_eq!(run.faults, [expected]);
    // A cancellation that ends the call is an error, and no answer.
    let (ended, _) = recording(&[(0, 1, Search), (9, 1, Cancelled), (9, 1, EndCancelled)]);
    assert_eq!(answered(&ended), [(0, Some(true))]);
    // Calls that met no fault are of the same server: the retry is the same call.
    assert_eq!(called(&run), ["api/search", "api/search", "api/fetch"]);
    assert_eq!(answered(&run), [(1, Some(false))], "the first is unknown");
    assert_eq!(
        notes,
        [
            "1 call without an end in the recording, the result is unknown: `fetch`",
            "1 call cancelled by the client, the result is unknown: `search`",
        ]
    );
    // The same, whatever the order of the lines.
    let (shuffled, _) = recording(&[
        (6_500, 3, Fetch),
        (4_200, 2, Done),
        (4_000, 1, Cancelled),
        (0, 1, Struck("recover-after")),
        (4_100, 2, Search),
        (0, 1, Search),
    ]);
    assert_eq!(shuffled, run);
}

#[test]
fn what_does_not_fit_is_told() {
    let (run, notes) = recording(&[
        (0, 1, Search),
        (1, 1, Struck("lose_reply")),
        (0, 1, Struck("wrong_id")),
        (3, 1, Done),
        (5, 9, Struck("hang")),
        (6, 8, Cancelled),
        (7, 1, Struck("none")),
    ]);
    assert_eq!(run.faults.len(), 1);
    assert_eq!(run.faults[0].kind, FaultKind::WrongId, "the first in time");
    assert!(run.tool_results.is_empty());
    assert_eq!(
        notes,
        [
            "1 result that the client could not get for its fault, left out: `search`",
            "1 fault without a tool call in the recording, left out: `search`",
            "1 fault of a call that met one already, the first counts: `search`",
        ]
    );
    // A note that is about no call is no note of ours.
    for data in [
        json!(null),
        json!({}),
        json!({"session": -1, "request_id": 1, "kind": "?"}),
        json!([]),
    ] {
        let mut note = line(0, 1, Struck("hang"));
        note["data"] = data;
        let (run, _) = import_one(&lines(&[line(0, 1, Search), note]), Format::Recording);
        assert!(run.faults.is_empty());
    }
    let mut unknown = line(0, 1, Struck("hang"));
    unknown["data"]["kind"] = json!("hnag");
    let error = import(&lines(&[line(0, 1, Search), unknown])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 2, data.kind: no fault is called \"hnag\"; did you mean \"hang\"?"
    );
}

#[test]
fn several_servers_are_told_apart_by_session() {
    let mut other = line(2, 101, Struck("hang"));
    other["data"]["server"] = json!("docs");
    let text = lines(&[
        line(0, 1, Search),
        line(0, 1, Struck("hang")),
        line(1, 2, Search),
        line(2, 101, Search),
        other,
        line(3, 201, Search),
    ]);
    let (run, _) = import_one(&text, Format::Recording);
    assert_eq!(
        called(&run),
        ["api/search", "api/search", "docs/search", "search"]
    );
}

/// Whoever works on a call notes its cancellation after the next call has come.
#[test]
fn a_cancellation_that_is_noted_late_is_not_overtaken() {
    let said = |ts: f64| {
        json!({"ts": ts, "kind": "scenario_event", "name": "notification", "message": "",
        "data": {"session": 0, "from": "client", "method": "notifications/cancelled", "params": {"requestId": "a"}}})
    };
    let times = |notified: Option<f64>, next: u64| {
        let mut script = vec![line(0, 1, Search), line(0, 1, Struck("lose_reply"))];
        script.extend(notified.map(said));
        script.extend([
            line(next, 2, Fetch),
            line(next + 5, 2, Done),
            line(3_100, 1, Cancelled),
        ]);
        script.push(line(3_100, 1, EndCancelled));
        let (run, _) = import_one(&lines(&script), Format::Recording);
        (run.faults[0].detected_ms, run.faults[0].recovered_ms)
    };
    // By what the client said, or, where it only hung up, by a little patience.
    assert_eq!(times(Some(3.0), 3_010), (Some(3_000), Some(3_015)));
    assert_eq!(times(None, 3_090), (Some(3_100), Some(3_100)));
    assert_eq!(times(None, 3_010), (Some(3_100), None));
    // What was said long before was about something else.
    assert_eq!(times(Some(1.0), 3_010), (Some(3_100), None));
}

#[test]
fn the_first_line_names_the_server() {
    let started = json!({"schema": "trace.v1", "ts": 0.0, "kind": "scenario_event", "name": "recording_started",
                         "message": "", "data": {"by": "proxy", "server": "api", "faults": []}});
    let text = lines(&[started, line(1, 1, Search), line(2, 1, Done)]);
    let (run, notes) = import_one(&text, Format::Recording);
    assert_eq!(
        (called(&run), run.faults.len(), notes.len()),
        (vec!["api/search".to_owned()], 0, 0)
    );
}

/// As many faults as calls, in as many sessions: each is looked at a fixed number of times.
#[test]
fn a_large_recording_with_faults() {
    const CALLS: u64 = 5_000;
    let mut script = Vec::new();
    for n in 0..CALLS {
        let id = n * 100;
        script.extend([(n * 200, id, Search), (n * 200, id, Struck("hang"))]);
        if n % 2 == 0 {
            script.push((n * 200 + 100, id, Cancelled));
        }
    }
    let (run, _) = recording(&script);
    assert_eq!(run.faults.len() as u64, CALLS);
    assert!(run.faults.iter().all(|mark| mark.recovered_ms.is_none()));
    assert_eq!(run.faults[0].detected_ms, Some(100));
    assert_eq!(run.faults[1].detected_ms, Some(200));
}

fn any_line() -> impl Strategy<Value = Value> {
    let kinds: Vec<&'static str> = FaultKind::ALL.into_iter().map(|(name, _)| name).collect();
    let happens = prop_oneof![
        3 => Just(Search),
        1 => Just(SearchOther),
        1 => Just(Fetch),
        3 => Just(Done),
        1 => Just(Failed),
        1 => Just(Cancelled),
        1 => Just(EndCancelled),
        1 => Just(Left),
        1 => Just(Broken),
        2 => prop::sample::select(kinds).prop_map(Struck),
    ];
    let id = prop_oneof![4 => 0_u64..8, 1 => 100_u64..104, 1 => 200_u64..202];
    let ts = prop_oneof![6 => 0.0_f64..10.0, 1 => any::<f64>().prop_filter("finite", |ts| ts.is_finite())];
    (ts, id, happens).prop_map(|(ts, id, happens)| {
        let mut made = line(0, id, happens);
        made["ts"] = json!(ts);
        made
    })
}

proptest! {
    #[test]
    fn no_mark_is_before_its_call_and_no_recovery_before_it_was_noticed(
        script in prop::collection::vec(any_line(), 2..40),
    ) {
        let imported = import(&lines(&script)).unwrap();
        let run = &imported.trace.runs[0];
        for mark in &run.faults {
            prop_assert!(mark.call_index < run.tool_calls.len());
            prop_assert!(mark.detected_ms.is_none_or(|time| time >= 0));
            match (mark.detected_ms, mark.recovered_ms) {
                (Some(detected), Some(recovered)) => prop_assert!(recovered >= detected),
                (None, recovered) => prop_assert_eq!(recovered, None),
                (Some(_), None) => {}
            }
            let latest = mark.recovered_ms.or(mark.detected_ms).unwrap_or(0);
            let watched = mark.watched_ms.map_or(i64::MAX, |time| i64::try_from(time).unwrap());
            prop_assert!(latest <= watched, "{:?}", mark);
        }
        // The order of the lines does not matter where no microsecond has two of them.
        // Plus zero, for there are two zeros.
        let microsecond = |line: &Value| (line["ts"].as_f64().unwrap() * 1e6).round() + 0.0;
        let mut ordered = script.clone();
        ordered.retain(|line| microsecond(line).abs() < 1e12);
        ordered.sort_by(|one, other| microsecond(one).total_cmp(&microsecond(other)));
        ordered.dedup_by_key(|line| microsecond(line).to_bits());
        let mut reversed = ordered.clone();
        reversed.reverse();
        if ordered.len() > 1 {
            let faults = |script: &[Value]| import(&lines(script)).unwrap().trace.runs[0].faults.clone();
            prop_assert_eq!(faults(&ordered), faults(&reversed));
        }
    }
}
