//! What the numbers rest on: whose replies were whose, which tools were called, and whether the
//! load generator itself was in the way.

use mcprove_document::block::{Line, Section, Tone};
use mcprove_document::figure::{self, count, counted};

use crate::report::headline;
use crate::run::Report;

/// Whether replies reached the calls they belong to.
pub(super) fn isolation(report: &Report) -> Section {
    let isolation = &report.isolation;
    let is_checked = isolation.checked + isolation.crossed + isolation.lost + isolation.unchecked;
    if is_checked == 0 {
        return Section::default();
    }
    let counts = format!(
        "Own token: {} · Another call's token: {} · Lost: {} · Without a token: {}",
        count(isolation.checked),
        count(isolation.crossed),
        count(isolation.lost),
        count(isolation.unchecked)
    );
    let examples = isolation.examples.iter().map(Line::sentence);
    Section::new("Isolation")
        .paragraph(counts)
        .list(examples)
        .detail()
}

/// Which tools were exercised.
pub(super) fn coverage(report: &Report) -> Section {
    let coverage = &report.coverage;
    if coverage.registered.is_empty() {
        return Section::default();
    }
    let mut section = Section::new("Coverage").paragraph(format!(
        "{} of {} tools succeeded at least once ({:.0}%).",
        coverage.exercised.len(),
        coverage.registered.len(),
        coverage.share * 100.0
    ));
    if !coverage.missing.is_empty() {
        let names = coverage.missing.iter().take(NAMES_MAX).map(Line::code);
        let mut line = Line::plain("Not exercised: ").and(Line::join(names, ", "));
        if let Some(more) = coverage.missing.len().checked_sub(NAMES_MAX + 1) {
            line = line.and(format!(" and {} more", more + 1));
        }
        section = section.paragraph(line);
    }
    section.detail()
}

/// Names listed before the rest is only counted.
const NAMES_MAX: usize = 20;

/// How the load was made, and whether the generator was the limit.
pub(super) fn generator(report: &Report) -> Section {
    let generator = &report.generator;
    let mut limit = Section::new("Generator");
    let mut lines = vec![mcprove_settings::phrase::sentence(headline::model(
        report.model,
    ))];
    let mut facts = Vec::new();
    if let Some(share) = generator.cpu_share {
        facts.push(format!(
            "its busiest driver of {} used {} of a core",
            generator.drivers,
            figure::rough_percent(share)
        ));
    }
    if let Some(share) = generator.late_share {
        facts.push(format!(
            "{} of the calls were sent late",
            figure::rough_percent(share)
        ));
    }
    if let Some(share) = generator.missed_share {
        facts.push(format!(
            "{} of the rate was missed",
            figure::rough_percent(share)
        ));
    }
    if let Some(rate) = generator.calibration_per_s {
        facts.push(format!(
            "against a built-in echo it reached {} calls per second",
            figure::rate(rate)
        ));
    }
    if !facts.is_empty() {
        lines.push(format!("The generator: {}.", facts.join("; ")));
    }
    if generator.limited {
        let advice = generator
            .advice
            .clone()
            .unwrap_or_else(|| "lower the load".into())
            .text();
        let was_limit = Line::toned(Tone::Unclear, "The generator was the limit");
        limit = limit.paragraph(was_limit.and(format!(
            ": {}. The server may be faster than these numbers. To find out: {advice}.",
            generator.reasons.join(" and ")
        )));
    }
    limit.with(Section::default().list(lines).detail())
}

/// Where the events are.
pub(super) fn trace(report: &Report) -> Section {
    let section = Section::new("Trace");
    if report.trace_path.as_os_str().is_empty() {
        return section.paragraph("No trace was written.").detail();
    }
    let name = report.trace_path.file_name().map_or_else(
        || "trace.jsonl".to_owned(),
        |name| name.to_string_lossy().into_owned(),
    );
    let line = Line::plain("Full trace: ").and_code(format!("./{name}"));
    let section = section.paragraph(match &report.trace {
        Some(trace) => line.and(format!(
            " ({}, {})",
            counted(trace.events, "event"),
            figure::bytes(trace.bytes)
        )),
        None => line,
    });
    match report.trace_loss() {
        Some(loss) => {
            let missing = Line::strong("Incomplete").and(format!(": {loss}."));
            section.detail().paragraph(missing)
        }
        None => section.detail(),
    }
}
