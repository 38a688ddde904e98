//! What `mcprove probe` and `mcprove doctor` report, as documents.

use mcprove_document::prelude::*;
use mcprove_load::report::not_called;
use mcprove_settings::printable::printable;

use crate::diagnosis::Item;
use crate::health::{Coverage, HealthOutcome, ProbeReport, ToolOutcome};
use crate::prelude::*;

/// The longest line of the server's stderr that is shown whole.
const LINE_MAX: usize = 600;

/// The health of a server.
pub fn probe_document(report: &ProbeReport) -> Document {
    let server = &report.server;
    let name = match server.name.as_str() {
        "" => "unnamed server",
        name => name,
    };
    let (skipped, called): (Vec<_>, Vec<_>) = report.tools.iter().partition(|tool| tool.may_write);
    let called = called.into_iter().chain(report.others());
    let table = Table::new(["", "", "", ""])
        .numbers(2..3)
        .rows(called.map(|tool| {
            let (tone, word) = outcome(tool.outcome);
            let duration = tool.duration_ms.map(|time| format!("{time:.1} ms"));
            cells![
                Line::code(&tool.name),
                Line::toned(tone, word),
                duration.unwrap_or_default(),
                tool.message.as_ref().map(Line::of).unwrap_or_default(),
            ]
        }));
    let mut first = Section::default();
    if report.coverage.registered == 0 {
        first = first.paragraph("the server offers no tools");
    }
    let skipped = skipped.into_iter().map(|tool| {
        let reason = tool.message.as_ref().map(Line::of).unwrap_or_default();
        (tool.name.as_str(), reason)
    });

    let (harmless, violations): (Vec<_>, Vec<_>) =
        report.violations.iter().partition(|it| it.is_warning);
    let violations = violations.into_iter().map(|it| Line::of(&it.message));
    let harmless = harmless.into_iter().map(|it| Line::of(&it.message));
    let warnings = report.warnings.iter().map(Line::from).chain(harmless);
    let stderr = report.stderr.iter().map(|line| printable(line, LINE_MAX));
    let mut document = Document {
        title: format!("Probe of {name}"),
        subject: vec![name.to_owned(), "probe".to_owned()],
        verdict: Some(verdict(report)),
        ends_with_verdict: true,
        facts: vec![
            ("Server", format!("{name} {}", server.version).into()),
            (
                "Protocol",
                format!(
                    "{}, {} era, over {}, ready in {:.0} ms",
                    report.protocol, report.era, report.transport, report.startup_ms
                )
                .into(),
            ),
        ],
        sections: vec![
            first.table(table),
            not_called(skipped),
            Section::new("Protocol violations").list(violations),
            Section::new("Warnings").list(warnings),
            Section::new("The server's stderr ends with").excerpt(stderr),
        ],
        ..Document::default()
    };
    document.next_steps(hints(report).iter().map(Line::of).collect());
    document
}

fn outcome(outcome: ToolOutcome) -> (Tone, &'static str) {
    match outcome {
        ToolOutcome::Ok => (Tone::Good, "ok"),
        ToolOutcome::ToolError => (Tone::Unclear, "tool error"),
        ToolOutcome::Error => (Tone::Bad, "error"),
        ToolOutcome::Hang => (Tone::Bad, "hang"),
        ToolOutcome::Skipped => (Tone::Unclear, "skipped"),
    }
}

fn verdict(report: &ProbeReport) -> Verdict {
    let (tone, word) = match report.outcome {
        HealthOutcome::Passed => (Tone::Good, "PASS"),
        HealthOutcome::Failed => (Tone::Bad, "FAIL"),
        HealthOutcome::Inconclusive => (Tone::Unclear, "INCONCLUSIVE"),
        HealthOutcome::Interrupted => (Tone::Unclear, "INTERRUPTED"),
    };
    let mut why = Line::plain(called(report));
    let mut violations = report.violations.iter().filter(|it| !it.is_warning);
    if let Some(first) = violations.next() {
        why = why.and("; ").and(Line::of(&first.message));
        if let more @ 1.. = violations.count() {
            why = why.and(format!(" (and {more} more)"));
        }
    }
    let warnings = report.warning_count();
    if report.fail_on == FailOn::Warning && warnings > 0 {
        let warnings = counted(mcprove_settings::number::count(warnings), "warning");
        why = why.and(format!("; {warnings}"));
    }
    Verdict::new(tone, word, why)
}

/// What was called, and how it went.
fn called(report: &ProbeReport) -> String {
    let others = report.others().count();
    if others > 0 {
        let answered = report.others().filter(|it| it.outcome == ToolOutcome::Ok);
        let ok = answered.count();
        return format!("{ok} of {others} prompts and resources answered");
    }
    let Coverage {
        registered,
        exercised,
    } = report.coverage;
    let parts = [
        ToolOutcome::Ok,
        ToolOutcome::ToolError,
        ToolOutcome::Error,
        ToolOutcome::Hang,
        ToolOutcome::Skipped,
    ]
    .into_iter()
    .filter_map(|kind| {
        let count = report
            .tools
            .iter()
            .filter(|tool| tool.outcome == kind)
            .count();
        (count > 0 || kind == ToolOutcome::Ok).then(|| format!("{count} {}", outcome(kind).1))
    })
    .collect::<Vec<String>>()
    .join(", ");
    format!("{exercised} of {registered} tools called: {parts}")
}

/// What to do next: one line for each kind of trouble.
fn hints(report: &ProbeReport) -> Vec<Message> {
    let mut hints: Vec<Message> = Vec::new();
    let has = |outcome| report.tools.iter().any(|tool| tool.outcome == outcome);
    if has(ToolOutcome::Hang) {
        hints.push(sentence!("a tool that is only slow passes with a larger {}; otherwise look for blocking work inside its handler", setting("call_timeout")));
    }
    let tools = report.tools.iter();
    let categories: BTreeSet<ErrorCategory> = tools
        .filter(|tool| tool.outcome == ToolOutcome::Error)
        .filter_map(|tool| tool.category)
        .collect();
    hints.extend(categories.into_iter().map(ErrorCategory::hint));
    let has_run = has(ToolOutcome::ToolError);
    if has_run && !has(ToolOutcome::Ok) && hints.is_empty() {
        hints.push(
            "no tool succeeded with generated arguments: the server answers, but nothing shows that \
             its tools work"
                .into(),
        );
    }
    if report.coverage.exercised == 0 && report.coverage.registered > 0 && !report.partial {
        hints.push("no tool was called, so nothing shows that they work".into());
    }
    if report.called().next().is_none()
        && report.coverage.registered == 0
        && report.outcome == HealthOutcome::Inconclusive
    {
        hints.push("the server offers nothing to call, so nothing shows that it works".into());
    }
    for finding in &report.violations {
        let hint = violation_hint(&finding.kind);
        if !hints.contains(&hint) {
            hints.push(hint);
        }
    }
    hints
}

fn violation_hint(kind: &str) -> Message {
    match kind {
        "noise" => "write logs to stderr: stdout carries messages only".into(),
        "garbled_reply" => {
            "write logs to stderr, and each message with its line break in one write".into()
        }
        "unresponsive" => {
            "look for what the last call leaves behind: a lock held, a loop, a panic".into()
        }
        "ping_unanswered" => {
            "answer `ping` with an empty result: clients ask it to know whether the server lives"
                .into()
        }
        "tools_not_listed" => {
            sentence!("answer tools/list, or do not declare the capability `tools`")
        }
        "invalid_tool" => "correct the tool's definition".into(),
        "oversized" => sentence!(
            "raise {} if such large messages are meant",
            setting("max_frame")
        ),
        _ => "answer every request once, with its own id, as one JSON-RPC message".into(),
    }
}

/// The checklist of this machine, and of a server.
pub fn doctor_document(items: &[Item], server: Option<&str>) -> Document {
    let failed = items.iter().filter(|item| !item.passed && !item.optional);
    let failed = mcprove_settings::number::count(failed.count());
    let verdict = if items.iter().any(|item| item.ran_out) {
        let why = "mcprove itself ran out of a resource";
        Verdict::new(Tone::Unclear, "INCONCLUSIVE", why)
    } else if failed == 0 {
        Verdict::new(Tone::Good, "PASS", "all checks passed")
    } else {
        let why = format!("{} failed", counted(failed, "item"));
        Verdict::new(Tone::Bad, "FAIL", why)
    };
    let sections = items.iter().map(|item| {
        let (tone, mark) = match (item.passed, item.optional) {
            (true, _) => (Tone::Neutral, "✅"),
            (false, true) => (Tone::Unclear, "❌"),
            (false, false) => (Tone::Bad, "❌"),
        };
        let finding = Finding::new(tone, mark, &item.name).line(&item.found);
        Section::default()
            .findings([finding.hint(item.fix.as_ref())])
            .excerpt(&item.evidence)
    });
    Document {
        title: "Doctor".to_owned(),
        subject: vec![
            server.unwrap_or("this machine").to_owned(),
            "doctor".to_owned(),
        ],
        verdict: Some(verdict),
        ends_with_verdict: true,
        sections: sections.collect(),
        ..Document::default()
    }
}
