//! Files as the runs of one agent.

use super::*;

const RUN: &[u8] = br#"{"tool_calls":[{"name":"search"}],"final_response":"Found it."}"#;
const RUNS: &[u8] = br#"{"schema":"agent-trace.v1","runs":[{"tool_calls":[]},{"tool_calls":[]}]}"#;

#[test]
fn every_run_has_its_file() {
    let mut traces = Traces::default();
    traces.add(Some("two.json"), RUNS, None).unwrap();
    traces.add(None, RUN, Some(Format::AgentTrace)).unwrap();
    traces.add(Some("one.json"), RUN, None).unwrap();
    traces.note(Some("one.json"), "is small");
    let report = traces.score(&Gates::default());
    let files: Vec<Option<&str>> = report.runs.iter().map(|run| run.file.as_deref()).collect();
    assert_eq!(
        files,
        [Some("two.json"), Some("two.json"), None, Some("one.json")]
    );
    assert_eq!(report.notes[0], "one.json: is small");
}

#[test]
fn what_cannot_be_read_adds_nothing() {
    let mut traces = Traces::default();
    for (bytes, format, start) in [
        (&b"\xff"[..], None, "error: x:1:1: is not UTF-8"),
        (b"{\n 5", None, "error: x:2:2: "),
        (RUN, Some(Format::Otlp), "error: x: "),
    ] {
        let error = traces.add(Some("x"), bytes, format).unwrap_err();
        assert!(error.to_string().starts_with(start), "{error}");
        assert!(error.to_string().contains("\nhint: "), "{error}");
    }
    traces.add(Some("y"), RUN, None).unwrap();
    traces.note(Some("y"), "alone");
    let report = traces.score(&Gates::default());
    assert_eq!(report.runs.len(), 1);
    assert_eq!(report.notes[0], "alone", "one file needs no name");
}
