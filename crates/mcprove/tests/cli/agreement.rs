//! Exit code, first and last line, outcome and grade of live runs agree, and the report fits a screen.

use serde_json::Value;

use crate::support::{MCPROVE, Output, run};

const LOAD: [&str; 5] = ["run", "--duration", "1s", "--concurrent", "4"];
const PROBE: [&str; 5] = [
    "deadlock-probe",
    "--hang-threshold",
    "1s",
    "--grace-period",
    "1s",
];

/// A command on a built-in server, and what it says in `metrics.json`.
fn measured(command: &[&str], server: &[&str]) -> (Output, Value) {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_str().unwrap();
    let server = [&["--out", place, "--", MCPROVE, "fixture"], server].concat();
    let output = run(&[command, &server].concat());
    let directory = std::fs::read_dir(place).unwrap().next().unwrap().unwrap();
    let text = std::fs::read_to_string(directory.path().join("metrics.json")).unwrap();
    (output, serde_json::from_str(&text).unwrap())
}

#[track_caller]
fn assert_agrees(output: &Output, metrics: &Value) {
    let outcome = metrics["outcome"].as_str().unwrap();
    let (code, words, grades): (i32, &[&str], &str) = match outcome {
        "passed" => (0, &["PASS", "WARN"], "ABCD"),
        "failed" => (1, &["FAIL"], "DF"),
        _ => (2, &["INCONCLUSIVE"], ""),
    };
    let first = output.stdout.lines().next().unwrap();
    let word = first.split(' ').next().unwrap();
    let grade = metrics["grades"]["overall"].as_str().unwrap_or_default();
    assert!(words.contains(&word), "{output:?}");
    assert_eq!(output.code, Some(code), "{output:?}");
    assert_eq!(metrics["passed"], outcome == "passed", "{output:?}");
    assert!(grades.contains(grade), "{grade}: {output:?}");
    let last = output.stdout.lines().rev().take(4).collect::<String>();
    assert!(last.contains("report.md"), "{output:?}");
    assert!(
        output.stdout.contains(&format!("\n{word}  Report: ")),
        "{output:?}"
    );
}

#[test]
fn live_runs_agree_with_themselves() {
    for (command, server) in [
        (&LOAD[..], &["normal"][..]),
        (&LOAD, &["crossed"]),
        (&LOAD, &["intermittent", "--set", "error_every=2"]),
        (&LOAD, &["intermittent", "--set", "quota=3"]),
        (&LOAD, &["slow"]),
        (&PROBE, &["normal"]),
        (&PROBE, &["lazy_init"]),
        (&PROBE, &["broken"]),
    ] {
        let (output, metrics) = measured(command, server);
        assert_agrees(&output, &metrics);
    }
}

#[test]
fn refusals_by_a_quota_are_a_warning_that_can_be_made_to_fail() {
    let server = ["intermittent", "--set", "quota=3"];
    for (more, code) in [
        (&[][..], 0),
        (&["--fail-on", "warning"][..], 1),
        (&["--error-rate", "0.01"], 1),
    ] {
        let (output, metrics) = measured(&[&LOAD, more].concat(), &server);
        assert_eq!(output.code, Some(code), "{output:?}");
        assert_agrees(&output, &metrics);
        let verdicts = metrics["verdicts"].as_array().unwrap();
        let is_named = verdicts.iter().any(|it| it["detector"] == "rate_limited");
        assert_eq!(is_named, !more.contains(&"--error-rate"), "{output:?}");
    }
}

#[test]
fn details_are_shown_where_they_are_asked_for() {
    let (output, _) = measured(&LOAD, &["normal"]);
    assert!(!output.stdout.contains("What this means"), "{output:?}");
    let (output, _) = measured(&[&LOAD[..], &["-v"]].concat(), &["normal"]);
    assert!(output.stdout.contains("What this means"), "{output:?}");
}
