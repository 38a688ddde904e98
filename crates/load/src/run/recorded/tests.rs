use super::*;
use mcprove_recording::Recording;

#[test]
fn a_recording_that_was_gone_on_with_is_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.jsonl");
    let params = r#"{"name":"search","arguments":{}}"#;
    for times in 1..=3 {
        let origin = Origin::new("mock", "api");
        let recording = Recording::append(
            &path,
            &origin,
            &mcprove_settings::secret::Redactor::default(),
        )
        .unwrap();
        let session = recording.session();
        session.request("1", "tools/call", params).result("{}");
        recording.finish();
        let report = read_recording(&path).unwrap();
        assert_eq!((report.total.calls, report.is_whole), (times, true));
    }
    // One that was killed in the middle of a line.
    let text = std::fs::read_to_string(&path).unwrap();
    let ended = text.rfind(r#"{"ts""#).unwrap();
    std::fs::write(&path, &text[..ended + 20]).unwrap();
    let report = read_recording(&path).unwrap();
    assert_eq!((report.total.calls, report.is_whole), (3, false));
}

#[test]
fn a_note_without_its_form_is_an_error_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.jsonl");
    let whole = include_str!("../../../../../examples/score/recorded.jsonl");
    std::fs::write(&path, whole).unwrap();
    assert!(!read_recording(&path).unwrap().faults.is_empty());
    for note in [STARTED, StrikeFact::NAME] {
        let is_it = |line: &str| line.contains(&format!("\"name\":\"{note}\""));
        let at = whole.lines().position(is_it).unwrap();
        let changed = |(index, line): (usize, &str)| {
            let mut line: Value = serde_json::from_str(line).unwrap();
            if index == at {
                line["data"] = json!([1]);
            }
            format!("{line}\n")
        };
        let text: String = whole.lines().enumerate().map(changed).collect();
        std::fs::write(&path, text).unwrap();
        let error = read_recording(&path).unwrap_err().to_string();
        assert!(
            error.contains(&format!("calls.jsonl:{}: ", at + 1)),
            "{error}"
        );
    }
}
