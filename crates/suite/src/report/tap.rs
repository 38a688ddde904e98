//! The Test Anything Protocol, version 14: a line per test, and what is wrong with it as YAML.

use super::problems::{line, name, place, placed, problems, reason};
use crate::prelude::*;

/// The report as TAP.
pub fn render(report: &SuiteReport) -> String {
    let mut lines = "TAP version 14\n".to_owned();
    // `1..0` would say that all was skipped on purpose.
    if report.problems.is_empty() {
        let _ = writeln!(lines, "1..{}", report.tests.len());
    }
    for (place, test) in report.tests.iter().enumerate() {
        let is_ok = matches!(test.outcome, TestOutcome::Passed | TestOutcome::Skipped);
        let word = if is_ok { "ok" } else { "not ok" };
        let _ = write!(lines, "{word} {} - {}", place + 1, escape(&name(test)));
        if test.outcome == TestOutcome::Skipped {
            let _ = write!(lines, " # SKIP {}", escape(&reason(test)));
        }
        lines.push('\n');
        if is_ok {
            for note in &test.notes {
                let _ = writeln!(lines, "# {}", line(&note.rendered()));
            }
        } else {
            diagnose(test, &mut lines);
        }
    }
    for problem in &report.problems {
        let _ = writeln!(
            lines,
            "Bail out! {}",
            escape(&line(&placed(problem).rendered()))
        );
        if let Some(hint) = &problem.hint {
            let _ = writeln!(lines, "# hint: {}", line(&hint.rendered()));
        }
    }
    if report.partial {
        // What was not run counts as skipped, and so as good, for whoever reads no further.
        lines.push_str("Bail out! the run was interrupted\n");
    }
    lines
}

/// What is wrong, as YAML.
fn diagnose(test: &TestReport, lines: &mut String) {
    let problems = problems(test);
    let first = problems.first().map(|(first, _)| line(&first.to_string()));
    lines.push_str("  ---\n");
    put(lines, "  message", &first.unwrap_or_default());
    put(lines, "  severity", test.outcome.name());
    put(lines, "  kind", test.kind.name());
    put(lines, "  at", &place(test));
    let _ = writeln!(lines, "  duration_ms: {}", json!(test.duration_ms));
    lines.push_str("  problems:\n");
    for (what, values) in &problems {
        put(lines, "    - message", &line(&what.message.rendered()));
        if !what.place.is_empty() {
            put(lines, "      target", &what.place);
        }
        if let Some((expected, actual)) = values {
            put(lines, "      expected", expected);
            put(lines, "      actual", actual);
        }
        if !what.hint.is_empty() {
            put(lines, "      hint", &line(&what.hint.rendered()));
        }
    }
    if !test.notes.is_empty() {
        let notes: Vec<String> = test
            .notes
            .iter()
            .map(|note| line(&note.rendered()))
            .collect();
        let _ = writeln!(lines, "  notes: {}", yaml(&json!(notes)));
    }
    if let Some(details) = &test.details {
        put(lines, "  details", &line(details));
    }
    lines.push_str("  ...\n");
}

/// A name and a text.
fn put(lines: &mut String, name: &str, value: &str) {
    let _ = writeln!(lines, "{name}: {}", yaml(&json!(value)));
}

/// JSON is YAML too, but for two characters that YAML takes only when they are escaped.
fn yaml(value: &Value) -> String {
    let json = printable_json(&value.to_string());
    json.replace('\u{fffe}', "\\ufffe")
        .replace('\u{ffff}', "\\uffff")
}

/// A text in which no directive begins.
fn escape(words: &str) -> String {
    words.replace('\\', "\\\\").replace('#', "\\#")
}
