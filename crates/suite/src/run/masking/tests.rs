use mcprove_score::gate::{GateFailure, ScoreError};
use serde_json::{Value, json};

use super::*;
use crate::run::report::{TestKind, TestOutcome};

#[test]
fn nothing_that_a_report_quotes_has_a_secret_in_it() {
    let report = TestReport {
        name: "t".into(),
        kind: TestKind::Tool,
        file: "f".into(),
        line: 1,
        outcome: TestOutcome::Failed,
        skipped: None,
        repeated: None,
        duration_ms: 0.0,
        targets: [("t".to_owned(), Value::from("hunter22"))].into(),
        runs: Vec::new(),
        failures: vec![GateFailure {
            expected: json!({ "hunter22": ["a hunter22 b"] }),
            actual: json!("hunter22longer"),
            message: "got \"line\\none\" and hunter22".into(),
            ..GateFailure::default()
        }],
        errors: vec![ScoreError::new("x", "hunter22", "hunter22")],
        notes: vec!["abc hunter22".into()],
        losses: Vec::new(),
        details: None,
    };
    let secrets = ["hunter22", "hunter22longer", "line\none", "abc"];
    let secrets = Redactor::new(secrets.map(str::to_owned));
    let masked = masked(report, &secrets);
    let text = serde_json::to_string(&masked).unwrap();
    assert!(
        !text.contains("hunter22") && !text.contains("none"),
        "{text}"
    );
    assert_eq!(masked.failures[0].actual, "<redacted>");
    // What is too short to be a secret stays.
    assert_eq!(masked.notes, ["abc <redacted>"]);
}
