//! Clients that leave, and recordings that break off.

use mcprove_trace::FaultMark;

use super::recording_faults::Happens::{
    Broken, Cancelled, Done, EndCancelled, Failed, Fetch, Left, Search, Struck,
};
use super::recording_faults::{Happens, line, recording};
use super::*;

/// The mark of the first call, which hangs from 1,000 ms on.
fn hung(rest: &[(u64, u64, Happens)]) -> FaultMark {
    let start = [(1_000, 1, Search), (1_000, 1, Struck("hang"))];
    let (run, _) = recording(&[&start, rest].concat());
    run.faults[0].clone()
}

fn times(mark: &FaultMark) -> (Option<i64>, Option<i64>, Option<u64>) {
    (mark.detected_ms, mark.recovered_ms, mark.left_ms)
}

/// Whatever waits ends when its client has left, and that is no cancellation.
const GONE: [(u64, u64, Happens); 3] = [
    (9_000, 1, Left),
    (9_500, 1, Cancelled),
    (9_500, 1, EndCancelled),
];

#[test]
fn a_client_that_falls_back_and_leaves_without_a_word_has_recovered() {
    let elsewhere = [(4_000, 2, Fetch), (4_050, 2, Done)];
    let mark = hung(&[&elsewhere[..], &GONE].concat());
    assert_eq!(times(&mark), (Some(3_000), Some(3_050), Some(8_000)));
    let failed = [(4_000, 2, Fetch), (4_050, 2, Failed)];
    let mark = hung(&[&failed[..], &GONE].concat());
    assert_eq!(times(&mark), (Some(3_000), None, Some(8_000)));
    assert_eq!(mark.went_on, Some(true));
}

#[test]
fn leaving_alone_is_no_sign_of_when_a_client_noticed() {
    let mark = hung(&GONE);
    assert_eq!(times(&mark), (None, None, Some(8_000)));
    // A client that goes on in a later session left for this.
    let again = [(9_800, 101, Search), (9_900, 101, Done)];
    let mark = hung(&[&GONE[..], &again].concat());
    assert_eq!(times(&mark), (Some(8_000), Some(8_900), Some(8_000)));
    let in_vain = [(9_800, 101, Search), (9_900, 101, Failed)];
    let mark = hung(&[&GONE[..], &in_vain].concat());
    assert_eq!(times(&mark), (Some(8_000), None, Some(8_000)));
    assert_eq!(mark.went_on, Some(true));
}

#[test]
fn a_cancellation_before_leaving_counts() {
    let cancelled = [
        (4_000, 1, Cancelled),
        (4_000, 1, EndCancelled),
        (9_000, 1, Left),
    ];
    let mark = hung(&cancelled);
    assert_eq!(times(&mark), (Some(3_000), None, Some(8_000)));
    assert_eq!(mark.went_on, Some(false));
    // Said a moment before, noted a moment after.
    let mut script: Vec<Value> = [(0, 1, Search), (0, 1, Struck("hang"))]
        .map(|(at, id, what)| line(at, id, what))
        .into();
    script.push(serde_json::json!({"ts": 3.0, "kind": "scenario_event", "name": "notification", "message": "",
        "data": {"session": 0, "from": "client", "method": "notifications/cancelled"}}));
    script.extend([line(3_001, 1, Left), line(3_002, 1, Cancelled)]);
    let (run, _) = import_one(&lines(&script), Format::Recording);
    assert_eq!(times(&run.faults[0]), (Some(3_000), None, Some(3_001)));
}

#[test]
fn a_reply_that_nobody_could_read_is_left_too_and_one_that_came_is_not() {
    let start = [(0, 1, Search), (0, 1, Struck("malformed")), (1, 1, Broken)];
    let (run, _) = recording(&[&start[..], &[(700, 1, Left)]].concat());
    assert_eq!(times(&run.faults[0]), (None, None, Some(700)));
    // Who only closes its end of the pipe still reads.
    let slow = [
        (0, 1, Search),
        (0, 1, Struck("slow")),
        (1, 1, Left),
        (90, 1, Done),
    ];
    let (run, _) = recording(&slow);
    assert_eq!(times(&run.faults[0]), (Some(90), Some(90), None));
}

/// Idempotency keys may stand beside the arguments.
#[test]
fn a_write_that_is_made_again_with_the_key_in_its_meta_is_protected() {
    use mcprove_score::agent::duplicate_writes::{DuplicateWritesBlock, find_duplicate_writes};
    let write = |at: u64, id: u64, name: &str, key: &str| {
        let mut call = line(at, id, Search);
        call["params"] = serde_json::json!({"name": "create_issue", "arguments": {"t": "x"},
            "_meta": {"progressToken": id, name: key}});
        call
    };
    let report = |name: &str, keys: [&str; 2]| {
        let text = lines(&[
            write(0, 1, name, keys[0]),
            line(0, 1, Struck("lose_reply")),
            write(900, 2, name, keys[1]),
            line(910, 2, Done),
        ]);
        let (run, _) = import_one(&text, Format::Recording);
        let report = find_duplicate_writes(&run, &DuplicateWritesBlock::default());
        (report.count(), report.protected)
    };
    for name in ["idempotencyKey", "com.example/idempotency-key"] {
        assert_eq!(report(name, ["k", "k"]), (0, 1), "{name}");
        assert_eq!(report(name, ["k", "other"]), (1, 0), "{name}");
    }
    assert_eq!(report("com.example/trace", ["k", "k"]), (1, 0));
}

#[test]
fn a_last_line_that_is_not_whole_is_left_out_and_told() {
    let script = [line(0, 1, Search), line(5, 1, Done), line(9, 2, Fetch)];
    let whole = lines(&script);
    let whole = whole.trim_end();
    let last = whole.rfind('\n').unwrap() + 1;
    for cut in [last + 1, last + 9, whole.len() - 1] {
        let imported = import(&whole[..cut]).unwrap();
        assert_eq!(imported.format, Format::Recording);
        assert_eq!(called(&imported.trace.runs[0]), ["search"]);
        assert_eq!(
            imported.notes,
            ["the last line is not whole, left out: the recording was broken off"]
        );
    }
    assert!(
        import(whole).unwrap().notes.len() == 1,
        "a call without an end"
    );
    // Anything else that is wrong is an error as before, a broken line with lines after it too.
    assert!(import(&format!("{}\n", &whole[..whole.len() - 1])).is_err());
    assert!(import(&format!("{whole}}}")).is_err());
}
