//! What a recording amounts to, for people.

use std::fmt::Write as _;

use mcprove_document::table::lay_out;
use mcprove_settings::printable::printable;

use crate::run::{CallReport, RecordingReport};

/// How much of a name is shown.
const NAME_CHARACTERS: usize = 60;

/// The report on a recording, at most `width` columns wide.
pub fn recording_text(report: &RecordingReport, width: usize) -> String {
    let mut text = String::new();
    // Writing to a text cannot fail.
    let _ = write_text(&mut text, report, width);
    text
}

fn write_text(text: &mut String, report: &RecordingReport, width: usize) -> std::fmt::Result {
    let total = &report.total;
    writeln!(
        text,
        "RECORDED  {}: {} ok, {} failed, {} without an end, in {:.1}s",
        count(total.calls, "call"),
        total.succeeded,
        total.errors.values().sum::<u64>(),
        total.unanswered,
        report.duration_secs
    )?;
    if let Some(origin) = &report.origin {
        let by = printable(&origin.by, NAME_CHARACTERS);
        let target = printable(&origin.target, 200);
        writeln!(text, "by mcprove {by}, of {target}")?;
    }
    let heads = ["", "calls", "ok", "p50", "p95", "p99", "max", "errors"];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    let named = report.tools.iter().chain(&report.methods);
    rows.extend(named.map(|(name, calls)| row(name, calls)));
    writeln!(text, "\n{}", lay_out(&rows, width).trim_end())?;
    if !report.faults.is_empty() || report.cancelled > 0 || report.crashes > 0 {
        writeln!(text)?;
    }
    for fault in &report.faults {
        let name = printable(&fault.fault, NAME_CHARACTERS);
        let tool = printable(&fault.tool, NAME_CHARACTERS);
        writeln!(
            text,
            "fault {name} struck {} of {tool}",
            count(fault.calls, "call")
        )?;
    }
    if report.cancelled > 0 {
        writeln!(
            text,
            "the client cancelled {}",
            count(report.cancelled, "request")
        )?;
    }
    if report.crashes > 0 {
        let times = count(report.crashes, "time");
        writeln!(text, "the server crashed {times}")?;
    }
    Ok(())
}

fn row(name: &str, calls: &CallReport) -> Vec<String> {
    let latency = &calls.latency_ms;
    let time = |time: Option<f64>| time.map_or("–".to_owned(), |ms| format!("{ms:.1}ms"));
    let errors = calls.errors.iter();
    let errors: Vec<String> = errors
        .map(|(category, count)| format!("{count} {category}"))
        .collect();
    vec![
        printable(name, NAME_CHARACTERS),
        calls.calls.to_string(),
        calls.succeeded.to_string(),
        time(latency.p50),
        time(latency.p95),
        time(latency.p99),
        time(latency.max),
        errors.join(", "),
    ]
}

/// `1 call`, `2 calls`.
fn count(number: u64, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}
