//! What the numbers rest on: whose replies were whose, which tools were called, and whether the
//! load generator itself was in the way.

use crate::report::histogram::histogram;
use crate::report::prelude::*;

/// Whether replies reached the calls they belong to.
pub fn isolation(report: &Report) -> Section {
    let isolation = &report.isolation;
    let is_checked = isolation.checked + isolation.crossed + isolation.lost + isolation.unchecked;
    if is_checked == 0 && report.control_calls == 0 {
        return Section::default();
    }
    let counts = format!(
        "Own token: {} · Another call's token: {} · Lost: {} · Without a token: {}",
        count(isolation.checked),
        count(isolation.crossed),
        count(isolation.lost),
        count(isolation.unchecked)
    );
    let mut rest = Vec::new();
    if isolation.compared + isolation.altered > 0 {
        rest.push(format!(
            "Compared with what the same call gets alone: {} the same · {} not",
            count(isolation.compared),
            count(isolation.altered)
        ));
    }
    if isolation.unproven > 0 {
        rest.push(format!(
            "Another call's token that proves nothing: {}",
            count(isolation.unproven)
        ));
    }
    if report.control_calls > 0 {
        rest.push(format!(
            "Control calls, made alone before and after the load and not counted: {}",
            count(report.control_calls)
        ));
    }
    let examples = isolation.examples.iter().map(Line::plain);
    Section::new("Isolation")
        .paragraph(counts)
        .list(rest)
        .list(examples)
        .detail()
}

/// Bars of a histogram of starts.
const START_ROWS: usize = 8;

/// What was planned to be started and what really was, and how long it took.
pub fn starts(report: &Report) -> Section {
    let mut lines = Vec::new();
    let mut has_failed = false;
    if let Some(starts) = &report.starts {
        let (noun, opened) = match starts.unit {
            StartUnit::Session => ("Sessions", "open when the load ended"),
            StartUnit::Start => ("Fresh starts", "reached the list of tools"),
        };
        let mut parts = vec![
            format!("{noun} planned: {}", count(starts.planned)),
            format!("{opened}: {}", count(starts.opened)),
        ];
        let others = [
            ("opened only on a retry", starts.opened_late),
            ("failed", starts.failed),
            ("still opening", starts.still_opening),
            ("not begun", starts.not_begun),
        ];
        let others = others.into_iter().filter(|(_, number)| *number > 0);
        parts.extend(others.map(|(what, number)| format!("{what}: {}", count(number))));
        lines.push(parts.join(" · "));
        has_failed = starts.opened < starts.planned || starts.failed > 0;
    }
    let startup = report.startup_ms.map(milliseconds);
    lines.extend(startup.map(|median| format!("Time to a finished handshake: {median} (median)")));
    let section = Section::new("Starts").list(lines).detail_if(!has_failed);
    let Some(handshake) = report.handshake.as_ref().filter(|it| it.count > 1) else {
        return section;
    };
    let bars = Block::Bars(histogram(&handshake.histogram, START_ROWS));
    section.with(
        Section::default()
            .paragraph("Time to a finished handshake:")
            .block(bars)
            .detail(),
    )
}

/// Which tools were exercised.
pub fn coverage(report: &Report) -> Section {
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
pub fn generator(report: &Report) -> Section {
    let generator = &report.generator;
    let mut limit = Section::new("Generator");
    let mut lines = vec![headline::model(report.model).1.to_owned()];
    let [cpu, late, missed] = [
        generator.cpu_share,
        generator.late_share,
        generator.missed_share,
    ]
    .map(|it| it.map(rough_percent));
    let drivers = generator.drivers;
    let facts: Vec<String> = [
        cpu.map(|share| format!("its busiest driver of {drivers} used {share} of a core")),
        late.map(|share| format!("{share} of the calls were sent late")),
        missed.map(|share| format!("{share} of the rate was missed")),
        generator.calibration_per_s.map(|per_s| {
            format!(
                "against a built-in echo it reached {} calls per second",
                rate(per_s)
            )
        }),
    ]
    .into_iter()
    .flatten()
    .collect();
    if !facts.is_empty() {
        lines.push(format!("The generator: {}.", facts.join("; ")));
    }
    if generator.limited {
        let was_limit = Line::toned(Tone::Unclear, "The generator was the limit");
        limit = limit.paragraph(was_limit.and(Line::of(&sentence!(
            ": {}. The server may be faster than these numbers. To find out: {}.",
            generator.reasons.join(" and "),
            report.generator_advice()
        ))));
    }
    limit.with(Section::default().list(lines).detail())
}

/// Where the events are.
pub fn trace(report: &Report) -> Section {
    let section = Section::new("Trace");
    if report.trace_path.as_os_str().is_empty() {
        return section.paragraph("No trace was written.").detail();
    }
    let name = report
        .trace_path
        .file_name()
        .unwrap_or("trace.jsonl".as_ref());
    let mut line = Line::plain("Full trace: ").and_code(format!("./{}", name.to_string_lossy()));
    if let Some(trace) = &report.trace {
        let (events, size) = (counted(trace.events, "event"), figure::bytes(trace.bytes));
        line = line.and(format!(" ({events}, {size})"));
    }
    let section = section.paragraph(line).detail();
    match report.trace_loss() {
        Some(loss) => section.paragraph(Line::strong("Incomplete").and(format!(": {loss}."))),
        None => section,
    }
}
