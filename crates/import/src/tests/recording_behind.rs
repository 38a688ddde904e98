//! What recordings tell of writes whose answer a fault kept back: whether they were executed, by whom they
//! were made again, and when the client gave them up.

use mcprove_score::agent::duplicate_writes::{
    DuplicateWritesBlock, DuplicateWritesReport, find_duplicate_writes,
};
use mcprove_trace::{AgentRun, RealAnswer};

use super::*;

const STARTED: &str = r#"{"ts":0,"kind":"scenario_event","name":"recording_started","message":"","data":{"by":"proxy","server":"api","started_at_ms":0},"schema":"trace.v1"}"#;

fn asked(ts: f64, session: u32, request: u32, tool: &str) -> String {
    format!(
        r#"{{"ts":{ts},"kind":"request","session":{session},"request_id":{request},"client_id":"id-{request}","method":"tools/call","tool":"{tool}","params":{{"name":"{tool}","arguments":{{"n":1}}}}}}"#
    )
}

fn done(ts: f64, session: u32, request: u32, tool: &str) -> String {
    format!(
        r#"{{"ts":{ts},"kind":"response","session":{session},"request_id":{request},"method":"tools/call","tool":"{tool}","duration_ms":1,"result":{{"content":[]}}}}"#
    )
}

fn struck(ts: f64, request: u32, kind: &str) -> String {
    format!(
        r#"{{"ts":{ts},"kind":"scenario_event","name":"fault","message":"","data":{{"session":0,"request_id":{request},"fault":"f","kind":"{kind}","server":"api","tool":"create","keeps_answer":true}}}}"#
    )
}

fn behind(ts: f64, request: u32, answer: &str) -> String {
    format!(
        r#"{{"ts":{ts},"kind":"scenario_event","name":"behind","message":"","data":{{"session":0,"request_id":{request},"answer":"{answer}"}}}}"#
    )
}

fn listed(annotations: &str) -> String {
    format!(
        r#"{{"ts":0.1,"kind":"response","session":0,"request_id":90,"method":"tools/list","duration_ms":1,"result":{{"tools":[{{"name":"create","inputSchema":{{}},"annotations":{annotations}}},{{"name":"order","inputSchema":{{}},"annotations":{annotations}}}]}}}}"#
    )
}

fn run_of(lines: &[String]) -> AgentRun {
    let text = [&[STARTED.to_owned()], lines].concat().join("\n") + "\n";
    let mut imported = import(&text).unwrap();
    imported.trace.runs.remove(0)
}

fn writes_of(lines: &[String]) -> DuplicateWritesReport {
    find_duplicate_writes(&run_of(lines), &DuplicateWritesBlock::default())
}

/// A write whose answer is kept back, and its retry.
fn retried(tool: &str, between: &[String]) -> Vec<String> {
    let mut lines = vec![asked(1.0, 0, 1, tool), struck(1.0, 1, "lose_reply")];
    lines.extend_from_slice(between);
    lines.extend([asked(5.0, 0, 2, tool), done(5.1, 0, 2, tool)]);
    lines
}

#[test]
fn what_the_server_answered_decides_whether_a_write_was_executed() {
    let counts = |report: &DuplicateWritesReport| (report.at_risk, report.confirmed);
    let report = writes_of(&retried("create", &[behind(1.2, 1, "success")]));
    assert_eq!(counts(&report), (0, 1));
    let report = writes_of(&retried("create", &[behind(1.2, 1, "error")]));
    assert_eq!(counts(&report), (0, 0));
    // Cancelled, or the server died: nobody knows.
    let run = run_of(&retried("create", &[]));
    assert_eq!(run.faults[0].real_answer, Some(RealAnswer::Nothing));
    let report = writes_of(&retried("create", &[]));
    assert_eq!(counts(&report), (1, 0));
    assert!(report.writes[0].reason.contains("had not answered"));
}

#[test]
fn annotations_tell_what_a_write_is_before_names_do() {
    let count = |tool: &str, annotations: &str| {
        let executed = [listed(annotations), behind(1.2, 1, "success")];
        let report = writes_of(&retried(tool, &executed));
        (report.confirmed, report.protected)
    };
    assert_eq!(count("order", r#"{"readOnlyHint":false}"#), (1, 0));
    assert_eq!(count("create", r#"{"readOnlyHint":true}"#), (0, 0));
    assert_eq!(count("create", r#"{"title":"Create"}"#), (1, 0));
    assert_eq!(count("create", r#"{"idempotentHint":true}"#).0, 0);
}

#[test]
fn a_write_of_another_client_is_no_repetition() {
    let both = |second_began: f64| {
        let mut lines = vec![
            asked(1.0, 0, 1, "create"),
            struck(1.0, 1, "lose_reply"),
            behind(1.1, 1, "success"),
            asked(second_began, 1, 7, "fetch"),
            done(second_began, 1, 7, "fetch"),
            asked(2.0, 1, 8, "create"),
            done(2.1, 1, 8, "create"),
        ];
        lines.sort_by(|one, other| one.split(',').next().cmp(&other.split(',').next()));
        writes_of(&lines).confirmed
    };
    assert_eq!(both(0.5), 0, "its session began before");
    assert_eq!(both(1.5), 1, "a client that connects again");
}

#[test]
fn a_cancellation_is_found_by_the_id_that_the_client_gave() {
    let malformed = r#"{"ts":1.1,"kind":"error","session":0,"request_id":1,"method":"tools/call","tool":"create","duration_ms":100,"error":{"category":"Malformed","message":"not JSON"}}"#;
    let said = r#"{"ts":1.4,"kind":"scenario_event","name":"notification","message":"","data":{"session":0,"from":"client","method":"notifications/cancelled","params":{"requestId":"id-1"}}}"#;
    let run = run_of(&[
        asked(1.0, 0, 1, "create"),
        struck(1.0, 1, "malformed"),
        malformed.to_owned(),
        said.to_owned(),
        asked(2.6, 0, 2, "create"),
        done(2.7, 0, 2, "create"),
    ]);
    let mark = &run.faults[0];
    assert_eq!(
        (mark.detected_ms, mark.recovered_ms),
        (Some(400), Some(1_700))
    );
}
