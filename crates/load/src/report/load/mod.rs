//! The end of a load run on a terminal: the verdict first, and what to do about it; then the
//! numbers; then where to read on. Short enough for one screen.

mod numbers;
mod verdicts;

use std::fmt::Write as _;
use std::path::PathBuf;

use mcprove_document::block::Table;
use mcprove_document::figure;
use mcprove_document::style::{Color, Style};
use mcprove_document::table::{grid, lay_out, wrap};
use mcprove_settings::printable::printable;
use unicode_width::UnicodeWidthStr;

use super::headline;
use super::histogram::histogram_text;
use super::sections::{self, percentile_note};
use super::skipped::{pairs, skipped_text};
use crate::run::Report;
use crate::run::report::{PhaseReport, RunOutcome};

/// The longest name of a server that is shown whole.
const SERVER_MAX: usize = 200;
/// The longest sentence that is shown whole.
const SENTENCE_MAX: usize = 400;
/// Rows of the histogram.
const HISTOGRAM_ROWS: usize = 8;
/// Calls below which a histogram says nothing.
const HISTOGRAM_CALLS_MIN: u64 = 20;
/// Rows of each table; the rest is in the report.
const ROWS_MAX: usize = 10;
/// Sentences of "What this means"; the rest is in the report.
const SENTENCES_MAX: usize = 5;
/// How many of the slowest calls are shown.
const SLOWEST_MAX: usize = 3;

/// The files of a run, to be read on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Files {
    /// The directory.
    pub place: PathBuf,
    /// Those that there are.
    pub names: Vec<&'static str>,
}

/// What a load run comes to, for a terminal. `files` is what was written, if anything was.
pub fn load_text(report: &Report, style: Style, files: Option<&Files>) -> String {
    let more = Reference::of(files);
    let mut text = top(report, style);
    let mut parts = vec![
        verdicts::draw(report, style),
        lay_out(&numbers::rows(report), style.width),
        histogram(report, style),
    ];
    if report.tools.len() > 1 {
        parts.push(short_grid(
            &sections::tool_table(report),
            "tools",
            &more,
            style,
        ));
    }
    parts.push(phases(report, style));
    parts.push(skipped(report, style));
    if let Some(faults) = &report.faults {
        parts.push(grid(&sections::fault_table(faults), style.width));
    }
    parts.push(slowest(report, style));
    parts.push(meaning(report, &more, style));
    parts.push(list_files(report, style, files));
    for part in parts.iter().filter(|part| !part.is_empty()) {
        text.push('\n');
        text.push_str(part);
    }
    text
}

fn skipped(report: &Report, style: Style) -> String {
    skipped_text(&pairs(&report.skipped_tools), style.width)
        .trim_start()
        .to_owned()
}

/// How it ended, what was run, and on whom.
fn top(report: &Report, style: Style) -> String {
    let outcome = report.outcome();
    let word = headline::word(report);
    let color = match word {
        "PASS" => Color::Green,
        "FAIL" => Color::Red,
        _ => Color::Yellow,
    };
    let mut why = verdicts::lead(report).unwrap_or_else(|| headline::reasons(report));
    if why.is_empty() && outcome == RunOutcome::Passed {
        "no threshold violated, no finding".clone_into(&mut why);
    }
    if report.partial {
        let partial = "partial: the run ended before its time";
        why = if why.is_empty() {
            partial.to_owned()
        } else {
            format!("{}; {partial}", why.trim_end_matches('.'))
        };
    }
    let indent = word.len() + 2;
    let lines = wrap(&why, style.width.saturating_sub(indent).max(20));
    let mut text = style.paint(word, color);
    for (index, line) in lines.iter().enumerate() {
        if index > 0 {
            text.push('\n');
            text.push_str(&" ".repeat(indent));
        } else if !line.is_empty() {
            text.push_str("  ");
        }
        text.push_str(line);
    }
    text.push('\n');
    let target = printable(&report.server_info.target, SERVER_MAX);
    for line in [
        format!(
            "{}, seed {} on {target}",
            headline::scenario(report),
            report.seed
        ),
        printable(&headline::server(report), SERVER_MAX),
    ] {
        for part in wrap(&line, style.width)
            .iter()
            .filter(|part| !part.is_empty())
        {
            text.push_str(part);
            text.push('\n');
        }
    }
    text
}

fn histogram(report: &Report, style: Style) -> String {
    let stats = &report.latency;
    let mut text = String::new();
    if stats.count >= HISTOGRAM_CALLS_MIN {
        text = histogram_text(&stats.histogram, HISTOGRAM_ROWS, style);
    }
    if stats.supported(0.5).is_some()
        && let Some(note) = percentile_note(stats)
    {
        for line in wrap(&note, style.width.saturating_sub(2)) {
            text.push_str("  ");
            text.push_str(&line);
            text.push('\n');
        }
    }
    text
}

fn short_grid(table: &Table, noun: &str, more_in: &Reference, style: Style) -> String {
    let mut short = table.clone();
    let more = short.rows.len().saturating_sub(ROWS_MAX);
    short.rows.truncate(ROWS_MAX);
    let mut text = grid(&short, style.width);
    if more > 0 {
        let _ = writeln!(text, "  and {more} more {noun}{}", more_in.0);
    }
    text
}

fn phases(report: &Report, style: Style) -> String {
    let measured: Vec<&PhaseReport> = report
        .phases
        .iter()
        .filter(|phase| phase.measured)
        .collect();
    if measured.len() < 2 {
        return String::new();
    }
    // Of a long ramp every few steps, and the last.
    let every = measured.len().div_ceil(ROWS_MAX).max(1);
    let last = measured.len() - 1;
    let shown: Vec<&PhaseReport> = measured
        .into_iter()
        .enumerate()
        .filter(|(index, _)| (last - index).is_multiple_of(every))
        .map(|(_, phase)| phase)
        .collect();
    grid(&sections::phase_table(&shown), style.width)
}

fn slowest(report: &Report, style: Style) -> String {
    if report.slowest.is_empty() {
        return String::new();
    }
    let rows: Vec<Vec<String>> = report
        .slowest
        .iter()
        .take(SLOWEST_MAX)
        .enumerate()
        .map(|(index, call)| {
            let ended = call
                .category
                .map_or(String::new(), |category| format!(", {category}"));
            vec![
                if index == 0 { "slowest" } else { "" }.to_owned(),
                figure::latency(call.duration),
                format!(
                    "{}, session {} request {}, at {}{ended}",
                    printable(&call.tool, 40),
                    call.session,
                    call.request_id,
                    figure::duration(std::time::Duration::from_millis(
                        u64::try_from(call.at.as_millis()).unwrap_or(u64::MAX)
                    ))
                ),
            ]
        })
        .collect();
    lay_out(&rows, style.width)
}

fn meaning(report: &Report, more_in: &Reference, style: Style) -> String {
    if report.meaning.is_empty() {
        return String::new();
    }
    let mut text = String::from("What this means\n");
    for sentence in report.meaning.iter().take(SENTENCES_MAX) {
        let lines = wrap(
            &printable(sentence, SENTENCE_MAX),
            style.width.saturating_sub(4).max(20),
        );
        for (index, line) in lines.iter().enumerate() {
            text.push_str(if index == 0 { "  - " } else { "    " });
            text.push_str(line);
            text.push('\n');
        }
    }
    if report.meaning.len() > SENTENCES_MAX {
        let more = report.meaning.len() - SENTENCES_MAX;
        let _ = writeln!(text, "    and {more} more{}", more_in.0);
    }
    text
}

/// Where the rest of a list is, as the end of a line.
struct Reference(&'static str);

impl Reference {
    fn of(files: Option<&Files>) -> Self {
        let has = |name| files.is_some_and(|files| files.names.contains(&name));
        Self(if has("report.md") {
            " in report.md"
        } else if has("metrics.json") {
            " in metrics.json"
        } else {
            ""
        })
    }
}

fn list_files(report: &Report, style: Style, files: Option<&Files>) -> String {
    let Some(files) = files.filter(|files| !files.names.is_empty()) else {
        return String::new();
    };
    let place = printable(&files.place.display().to_string(), SERVER_MAX);
    let names: Vec<&str> = files
        .names
        .iter()
        .map(|name| match *name {
            "trace.jsonl" if report.trace_loss().is_some() => "trace.jsonl (incomplete)",
            "trace.jsonl" => "trace.jsonl (every call)",
            name => name,
        })
        .collect();
    let names = names.join(", ");
    let line = format!("Files in {place}: {names}");
    if line.width() <= style.width {
        return format!("{line}\n");
    }
    let mut text = String::new();
    for line in wrap(&format!("Files in {place}"), style.width) {
        text.push_str(&line);
        text.push('\n');
    }
    for line in wrap(&names, style.width.saturating_sub(2)) {
        text.push_str("  ");
        text.push_str(&line);
        text.push('\n');
    }
    text
}
