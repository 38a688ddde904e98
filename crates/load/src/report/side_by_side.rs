//! The same scenario on several servers, a column each.

use mcprove_document::block::{Line, Table};
use mcprove_document::figure;
use mcprove_document::style::Style;
use mcprove_document::table::{cut, grid, lay_out, wrap};
use mcprove_settings::printable::printable;

use super::headline;
use super::sections::outcome_name;
use crate::run::{Report, ServerRun};

/// The widest a column is, and the narrowest.
const COLUMN_MAX: usize = 28;
const COLUMN_MIN: usize = 14;
/// The column of the names of the rows.
const LABELS: usize = 14;

/// What to know before one run each is taken for a difference.
const NOTE: &str = "One run each: small differences may be chance. `mcprove compare` with two of \
                    the servers and --runs 8 tells which are real.";

/// What `runs` came to, each under its name.
pub fn side_by_side_text(runs: &[ServerRun], style: Style) -> String {
    let room = style.width.saturating_sub(LABELS + 2);
    let at_once = (room / (COLUMN_MIN + 2)).max(1);
    let mut text = String::new();
    for block in runs.chunks(at_once) {
        if !text.is_empty() {
            text.push('\n');
        }
        let share = (room / block.len().max(1)).saturating_sub(2);
        let column = share.clamp(COLUMN_MIN, COLUMN_MAX);
        text.push_str(&grid(&table(block, column), style.width));
    }
    let findings = findings(runs);
    if !findings.is_empty() {
        text.push('\n');
        text.push_str(&lay_out(&findings, style.width));
    }
    if runs.len() > 1 {
        text.push('\n');
        for line in wrap(NOTE, style.width) {
            text.push_str(&line);
            text.push('\n');
        }
    }
    text
}

/// The end of a name, where servers differ: their beginnings are often the same program.
fn short_name(name: &str, width: usize) -> String {
    let shown = printable(name, usize::MAX);
    let length = shown.chars().count();
    if length <= width {
        return shown;
    }
    let rest: String = shown.chars().skip(length + 1 - width).collect();
    cut(&format!("…{rest}"), width)
}

/// The row that says how a run ended.
const OUTCOME: &str = "outcome";

type Read = fn(&Report) -> String;

const ROWS: &[(&str, Read)] = &[
    (OUTCOME, |report| headline::word(report).to_owned()),
    ("grade", |report| {
        let grade = report.grades.overall;
        grade.map_or_else(|| figure::UNKNOWN.to_owned(), |grade| format!("{grade:?}"))
    }),
    ("requests", |report| {
        figure::count(report.throughput.total_requests)
    }),
    ("requests/s", |report| {
        figure::rate(report.throughput.requests_per_sec)
    }),
    ("error rate", |report| {
        let rate = report.error_rate();
        rate.map_or_else(|| figure::UNKNOWN.to_owned(), figure::percent)
    }),
    ("p50", |report| headline::quantile(&report.latency, 0.5)),
    ("p95", |report| headline::quantile(&report.latency, 0.95)),
    ("p99", |report| headline::quantile(&report.latency, 0.99)),
    ("p999", |report| headline::quantile(&report.latency, 0.999)),
    ("max", |report| headline::slowest(&report.latency)),
    ("deadlocks", |report| report.deadlock_count.to_string()),
    ("hangs", |report| report.hang_count.to_string()),
    ("crashes", |report| report.crash_count.to_string()),
    ("peak memory", |report| {
        used(report, report.process.peak_rss_mb, " MB")
    }),
    ("mean CPU", |report| {
        used(report, report.process.avg_cpu_pct, "%")
    }),
];

fn used(report: &Report, value: f64, unit: &str) -> String {
    if report.process.samples.is_empty() {
        figure::UNKNOWN.to_owned()
    } else {
        format!("{value:.1}{unit}")
    }
}

fn table(runs: &[ServerRun], column: usize) -> Table {
    let mut table = Table::new([""]);
    for run in runs {
        table.header.push(short_name(&run.server, column));
    }
    for (label, read) in ROWS {
        let mut row = vec![Line::plain(label)];
        row.extend(runs.iter().map(|run| match &run.report {
            Some(report) => Line::plain(read(report)),
            None if *label == OUTCOME => Line::plain("not run"),
            None => Line::plain(figure::UNKNOWN),
        }));
        table.rows.push(row);
    }
    table
}

/// What was violated and found, or why there was no run, server by server.
fn findings(runs: &[ServerRun]) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for run in runs {
        let name = short_name(&run.server, COLUMN_MAX);
        let Some(report) = &run.report else {
            let error = run.error.as_deref().unwrap_or_default();
            rows.push(vec![name, format!("not run: {}", printable(error, 300))]);
            continue;
        };
        let violations = report.threshold_violations.iter().map(|violation| {
            format!(
                "violated {}: expected {}, got {}",
                violation.metric,
                super::sections::expectation(&violation.expected),
                violation.actual
            )
        });
        let findings = report.findings().into_iter().map(|verdict| {
            format!(
                "{} {}: {}",
                outcome_name(verdict),
                verdict.detector,
                printable(&verdict.sentence, 300)
            )
        });
        for (index, text) in violations.chain(findings).enumerate() {
            let label = if index == 0 {
                name.clone()
            } else {
                String::new()
            };
            rows.push(vec![label, text]);
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;

    fn made(server: &str, report: Report) -> ServerRun {
        ServerRun::made(server.to_owned(), report, None)
    }

    #[test]
    fn three_servers_and_one_that_was_not_run() {
        let runs = [
            made("python -m healthy", samples::healthy()),
            made("python -m \u{1b}[31mfailing", samples::failing()),
            made(
                "node a/very/long/path/to/some/server.js --stdio",
                samples::interrupted(),
            ),
            ServerRun::failed(
                "python -m absent".to_owned(),
                "the server ended before it could be used".to_owned(),
            ),
        ];
        insta::assert_snapshot!(
            "side_by_side_80",
            side_by_side_text(&runs, Style::plain(80))
        );
        let narrow = side_by_side_text(&runs, Style::plain(40));
        insta::assert_snapshot!("side_by_side_40", narrow);
    }
}
