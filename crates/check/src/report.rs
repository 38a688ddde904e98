//! The health table of `mcprove probe`.

use std::collections::BTreeSet;

use mcprove_document::style::Style;
use mcprove_document::table::{lay_out, section, wrap};
use mcprove_load::report::skipped::skipped_text;
use mcprove_settings::printable::printable;
use mcprove_trace::ErrorCategory;

use crate::health::{Coverage, ProbeOutcome, ProbeReport, ToolOutcome};

/// The longest name that is shown whole.
const NAME_MAX: usize = 60;
/// The longest message that is shown whole.
const LINE_MAX: usize = 600;

const GREEN: &str = "32";
const RED: &str = "31";
const YELLOW: &str = "33";

/// The report for people.
pub fn probe_text(report: &ProbeReport, style: Style) -> String {
    let mut text = headline(report);
    text.push('\n');
    let called = report.tools.iter().filter(|tool| !tool.may_write);
    let others = report.prompts.iter().chain(&report.resources);
    let rows: Vec<Vec<String>> = called
        .chain(others)
        .map(|tool| {
            let duration = tool
                .duration_ms
                .map(|milliseconds| format!("{milliseconds:.1} ms"))
                .unwrap_or_default();
            let message = printable(tool.message.as_deref().unwrap_or_default(), LINE_MAX);
            vec![
                printable(&tool.name, NAME_MAX),
                outcome_name(tool.outcome).to_owned(),
                duration,
                message,
            ]
        })
        .collect();
    if report.coverage.registered == 0 {
        text.push_str("  the server offers no tools\n");
    }
    if !rows.is_empty() {
        text.push_str(&lay_out(&rows, style.width));
    }
    let skipped = report.tools.iter().filter(|tool| tool.may_write);
    let skipped: Vec<(&str, &str)> = skipped
        .map(|tool| {
            (
                tool.name.as_str(),
                tool.message.as_deref().unwrap_or_default(),
            )
        })
        .collect();
    text.push_str(&skipped_text(&skipped, style.width));
    for (title, lines) in [
        (
            "protocol violations",
            report
                .violations
                .iter()
                .map(|finding| finding.message.clone())
                .collect(),
        ),
        ("warnings", report.warnings.clone()),
        ("the server's stderr ends with", report.stderr.clone()),
    ] {
        text.push_str(&section(title, &lines, style.width));
    }
    text.push('\n');
    text.push_str(&verdict(report, style.width));
    if style.color { paint(&text) } else { text }
}

fn headline(report: &ProbeReport) -> String {
    let name = if report.server.name.is_empty() {
        "unnamed server"
    } else {
        &report.server.name
    };
    format!(
        "{} {}\n{}, {} era, over {}, ready in {:.0} ms\n",
        printable(name, NAME_MAX),
        printable(&report.server.version, NAME_MAX),
        report.protocol,
        report.era,
        report.transport,
        report.startup_ms
    )
}

fn verdict(report: &ProbeReport, width: usize) -> String {
    let count = |outcome| {
        report
            .tools
            .iter()
            .filter(|tool| tool.outcome == outcome)
            .count()
    };
    let mut parts = vec![format!("{} ok", count(ToolOutcome::Ok))];
    for (outcome, name) in [
        (ToolOutcome::ToolError, "tool error"),
        (ToolOutcome::Error, "error"),
        (ToolOutcome::Hang, "hang"),
        (ToolOutcome::Skipped, "skipped"),
    ] {
        if count(outcome) > 0 {
            parts.push(format!("{} {name}", count(outcome)));
        }
    }
    let status = match report.outcome {
        ProbeOutcome::Passed => "PASSED",
        ProbeOutcome::Failed => "FAILED",
        ProbeOutcome::Inconclusive => "INCONCLUSIVE",
        ProbeOutcome::Interrupted => "INTERRUPTED",
    };
    let Coverage {
        registered,
        exercised,
    } = report.coverage;
    let mut text = format!(
        "{status}  {exercised} of {registered} tools called: {}\n",
        parts.join(", ")
    );
    let others = report.prompts.len() + report.resources.len();
    if others > 0 {
        let all = report.prompts.iter().chain(&report.resources);
        let ok = all.filter(|other| other.outcome == ToolOutcome::Ok).count();
        text = format!("{status}  {ok} of {others} prompts and resources answered\n");
    }
    for hint in hints(report) {
        text.push_str(&wrap(&format!("hint: {hint}"), width).join("\n      "));
        text.push('\n');
    }
    text
}

/// What to do next: one line for each kind of trouble.
fn hints(report: &ProbeReport) -> Vec<&'static str> {
    let mut hints = Vec::new();
    let has = |outcome| report.tools.iter().any(|tool| tool.outcome == outcome);
    if has(ToolOutcome::Hang) {
        hints.push(
            "a tool that is only slow passes with a larger --call-timeout; otherwise look for \
             blocking work inside its handler",
        );
    }
    let failed = report
        .tools
        .iter()
        .filter(|tool| tool.outcome == ToolOutcome::Error);
    let categories: BTreeSet<ErrorCategory> = failed.filter_map(|tool| tool.category).collect();
    hints.extend(categories.into_iter().map(ErrorCategory::hint));
    let has_run = has(ToolOutcome::ToolError);
    if has_run && !has(ToolOutcome::Ok) && hints.is_empty() {
        hints.push(
            "no tool succeeded with generated arguments: the server answers, but nothing shows that \
             its tools work",
        );
    }
    if report.coverage.exercised == 0 && report.coverage.registered > 0 && !report.partial {
        hints.push("no tool was called, so nothing shows that they work");
    }
    let has_others = !report.prompts.is_empty() || !report.resources.is_empty();
    if report.coverage.registered == 0
        && !has_others
        && report.outcome == ProbeOutcome::Inconclusive
    {
        hints.push("the server offers nothing to call, so nothing shows that it works");
    }
    let kinds: BTreeSet<&str> = report
        .violations
        .iter()
        .map(|finding| finding.kind.as_str())
        .collect();
    let violation_hints: BTreeSet<&str> = kinds.into_iter().map(violation_hint).collect();
    hints.extend(violation_hints);
    hints
}

fn violation_hint(kind: &str) -> &'static str {
    match kind {
        "noise" => "write logs to stderr: stdout carries messages only",
        "unresponsive" => "look for what the last call leaves behind: a lock held, a loop, a panic",
        "tools_not_listed" => "answer tools/list, or do not declare the capability `tools`",
        "invalid_tool" => "correct the tool's definition",
        "oversized" => "raise --max-frame if such large messages are meant",
        _ => "answer every request once, with its own id, as one JSON-RPC message",
    }
}

fn outcome_name(outcome: ToolOutcome) -> &'static str {
    match outcome {
        ToolOutcome::Ok => "ok",
        ToolOutcome::ToolError => "tool error",
        ToolOutcome::Error => "error",
        ToolOutcome::Hang => "hang",
        ToolOutcome::Skipped => "skipped",
    }
}

/// Colours the outcome words; done last, so that the layout need not know of escape codes.
fn paint(text: &str) -> String {
    let mut painted = String::with_capacity(text.len() + 128);
    for line in text.split_inclusive('\n') {
        let colored = [
            ("  ok  ", GREEN),
            ("  hang  ", RED),
            ("  error  ", RED),
            ("  tool error  ", YELLOW),
            ("  skipped  ", YELLOW),
        ]
        .into_iter()
        .find(|(word, _)| line.starts_with("  ") && line.contains(word));
        let status = [
            ("PASSED", GREEN),
            ("FAILED", RED),
            ("INCONCLUSIVE", YELLOW),
            ("INTERRUPTED", YELLOW),
        ]
        .into_iter()
        .find(|(word, _)| line.starts_with(word));
        match colored.or(status) {
            Some((word, color)) => {
                let inner = word.trim();
                let replacement = word.replace(inner, &format!("\u{1b}[{color}m{inner}\u{1b}[0m"));
                painted.push_str(&line.replacen(word, &replacement, 1));
            }
            None => painted.push_str(line),
        }
    }
    painted
}
