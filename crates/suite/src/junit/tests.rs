//! `JUnit`: a suite per run, a case per gate, and names that do not depend on how it ended.

use mcprove_score::gate::{RunTargets, ScoreReport};
use serde_json::json;

use mcprove_settings::error::ConfigError;

use super::*;
use crate::gates::parse_yaml;

const GATES: &str = "narrative: {}
stability: { expect: [{ target: stability.score, matcher: { schema: { minimum: 0.7 } } }] }
expect: [{ target: \"tool_calls[0].name\", matcher: { exact: \"a&b\" } }]
";

fn junit(failures: Vec<GateFailure>, errors: Vec<ScoreError>) -> String {
    let run = |file: &str| RunTargets {
        file: Some(file.to_owned()),
        ..RunTargets::default()
    };
    let report = ScoreReport {
        passed: failures.is_empty(),
        runs: vec![run("a.json"), run("<b>.json")],
        failures,
        errors,
        ..ScoreReport::default()
    };
    let gates = parse_yaml(GATES, "gates.yml").unwrap();
    score_junit(&Scored {
        report: &report,
        gates: Some(&gates),
    })
}

/// The names of the suites and cases.
fn names(xml: &str) -> Vec<String> {
    let starts = xml
        .split('<')
        .filter(|part| part.starts_with("testcase ") || part.starts_with("testsuite "));
    let name = |part: &str| {
        let mut quoted = part.split('"');
        let class = quoted.clone().nth(3).unwrap_or_default().to_owned();
        format!("{} {class}", quoted.nth(1).unwrap_or_default())
    };
    let is_suite = |part: &str| part.starts_with("testsuite ");
    starts
        .map(|part| {
            if is_suite(part) {
                part.split('"').nth(1).unwrap().to_owned()
            } else {
                name(part)
            }
        })
        .collect()
}

#[test]
fn what_holds() {
    let expected = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="mcprove score" tests="5" skipped="0" failures="0" errors="0">
    <testsuite name="all runs" tests="1" skipped="0" errors="0" failures="0">
        <testcase name="stability.score" classname="stability"/>
    </testsuite>
    <testsuite name="run 0 (a.json)" tests="2" skipped="0" errors="0" failures="0">
        <testcase name="default gate" classname="narrative"/>
        <testcase name="tool_calls[0].name" classname="expect"/>
    </testsuite>
    <testsuite name="run 1 (&lt;b&gt;.json)" tests="2" skipped="0" errors="0" failures="0">
        <testcase name="default gate" classname="narrative"/>
        <testcase name="tool_calls[0].name" classname="expect"/>
    </testsuite>
</testsuites>
"#;
    assert_eq!(junit(Vec::new(), Vec::new()), expected);
}

#[test]
fn what_does_not() {
    let failure = |target: &str, run: Option<usize>, message: &str| GateFailure {
        place: (run == Some(0)).then(|| format!("{target}.inside")),
        target: target.to_owned(),
        expected: json!("a&b"),
        actual: json!(["<x>"]),
        message: message.to_owned().into(),
        run,
        ..GateFailure::default()
    };
    let text = junit(
        vec![
            failure(
                "narrative.gate_passed",
                Some(1),
                "claims \"create\" & more\u{1b}[2J",
            ),
            failure("stability.score", None, "too low"),
            failure("tool_calls[0].name", Some(0), "another"),
            // What no gate is about has a case of its own.
            failure("loops.detected", Some(0), "beyond"),
        ],
        Vec::new(),
    );
    for part in [
        r#"<testsuites name="mcprove score" tests="7" skipped="0" failures="4" errors="0">"#,
        r#"<testcase name="stability.score" classname="stability">
            <failure message="too low" type="stability.score">stability.score: too low
expected: &quot;a&amp;b&quot;
actual: [&quot;&lt;x&gt;&quot;]</failure>
        </testcase>"#,
        r#"<testcase name="default gate" classname="narrative">
            <failure message="claims &quot;create&quot; &amp; more" type="narrative.gate_passed">"#,
        r#"<testcase name="loops.detected" classname="loops">"#,
        "tool_calls[0].name: another\nat: tool_calls[0].name.inside\nexpected: ",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(!text.contains('\u{1b}'), "{text:?}");
}

#[test]
fn what_could_not_be_judged() {
    let error = |target: &str| ScoreError::new(target, "unknown", "record it");
    let whole = names(&junit(Vec::new(), Vec::new()));
    for (errors, count) in [
        (vec![error("tool_calls[0].name").of_run(1)], 1),
        // Nothing is promised of the runs behind.
        (vec![error("tool_calls[0].name").of_run(0)], 2),
        (vec![error("stability")], 1),
        (vec![error("narrative.gate_passed").of_run(1)], 1),
        (vec![error("narrative.gate_passed")], 2),
    ] {
        let text = junit(Vec::new(), errors);
        assert_eq!(names(&text), whole, "{text}");
        let summary = format!("skipped=\"0\" failures=\"0\" errors=\"{count}\">");
        assert!(text.contains(&summary), "{summary}: {text}");
        assert!(text.contains("type=\"inconclusive\">"), "{text}");
        assert!(text.contains("hint: record it</error>"), "{text}");
    }
    // What is about no gate has a case of its own.
    let text = junit(Vec::new(), vec![error("reliability").of_run(1)]);
    assert_eq!(names(&text).len(), whole.len() + 1, "{text}");
    let case = "<testcase name=\"reliability\" classname=\"score\">";
    assert!(text.contains(case), "{text}");
}

#[test]
fn files_that_cannot_be_used() {
    let error = |file: &str| ConfigError::of_file(file, "cannot be read", "look");
    let errors = ConfigErrors(vec![error("a"), error("b"), error("a")]);
    let text = unread_junit(&errors.0);
    assert!(text.contains("tests=\"2\" skipped=\"0\" failures=\"0\" errors=\"2\">"));
    assert_eq!(names(&text), ["a", "input score", "b", "input score"]);
    assert!(
        text.contains("error: a: cannot be read\nhint: look"),
        "{text}"
    );
}

/// Whatever a trace or a file name holds, what is written can be read.
#[test]
fn every_text_is_well_formed() {
    let odd: String = ('\u{0}'..='\u{2fff}')
        .chain('\u{fdd0}'..='\u{10010}')
        .collect();
    for part in odd.chars().collect::<Vec<char>>().chunks(1000) {
        let text: String = part.iter().collect();
        let failure = GateFailure {
            target: text.clone(),
            message: text.clone().into(),
            run: Some(0),
            ..GateFailure::default()
        };
        let written = junit(
            vec![failure],
            vec![ScoreError::new(text.clone(), text, "x")],
        );
        for character in written.chars() {
            let is_allowed = matches!(
                character,
                '\n' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..
            );
            assert!(is_allowed, "{:x}", u32::from(character));
        }
    }
}

#[test]
fn without_gates_there_is_nothing_to_tell() {
    let report = ScoreReport::default();
    let text = score_junit(&Scored {
        report: &report,
        gates: None,
    });
    assert_eq!(text.lines().count(), 3, "{text}");
}
