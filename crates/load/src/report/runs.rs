//! The table of `mcprove runs`: what was run, when, and how it ended.

use std::path::Path;

use mcprove_document::block::{Line, Table};
use mcprove_document::figure;
use mcprove_document::table::{cut, grid};
use mcprove_settings::printable::printable;

use super::headline;
use crate::run::{Report, RunEntry};

/// The longest command or path that is shown whole.
const NAME_MAX: usize = 200;
/// The widest that the column of servers becomes.
const SERVER_WIDTH: usize = 40;
/// Where what has no room beside a row begins below it.
const INDENT: usize = 6;
/// The columns that come first; the server and the directory follow where there is room.
const FIRST_COLUMNS: usize = 6;

/// The runs, as they are given, a line each; in less than `width` columns, two lines each.
pub fn runs_text(runs: &[RunEntry], width: usize) -> String {
    let rows: Vec<Row> = runs
        .iter()
        .map(|run| match &run.report {
            Ok(report) => Row::of(run.directory.path(), report),
            Err(problem) => Row::unreadable(run.directory.path(), &problem.to_string()),
        })
        .collect();
    draw(&rows, width)
}

/// One run.
struct Row {
    cells: [String; FIRST_COLUMNS],
    server: String,
    directory: String,
}

impl Row {
    fn of(directory: &Path, report: &Report) -> Self {
        let error_rate = report
            .error_rate()
            .map_or_else(|| figure::UNKNOWN.to_owned(), figure::percent);
        let mut outcome = headline::word(report).to_owned();
        if report.partial {
            outcome.push('*');
        }
        Self {
            cells: [
                figure::time(report.started_at).chars().take(16).collect(),
                outcome,
                report.scenario_kind.name().to_owned(),
                figure::count(report.throughput.total_requests),
                headline::quantile(&report.latency, 0.99),
                error_rate,
            ],
            server: printable(&report.server_info.target, NAME_MAX),
            directory: shown(directory),
        }
    }

    fn unreadable(directory: &Path, problem: &str) -> Self {
        let unknown = || figure::UNKNOWN.to_owned();
        Self {
            cells: [
                unknown(),
                "unreadable".to_owned(),
                unknown(),
                unknown(),
                unknown(),
                unknown(),
            ],
            server: printable(problem, NAME_MAX),
            directory: shown(directory),
        }
    }

    fn is_partial(&self) -> bool {
        self.cells[1].ends_with('*')
    }
}

fn shown(directory: &Path) -> String {
    printable(&directory.display().to_string(), NAME_MAX)
}

fn draw(rows: &[Row], width: usize) -> String {
    if rows.is_empty() {
        return "No runs yet. `mcprove run` makes one.\n".to_owned();
    }
    let names = [
        "when (UTC)",
        "outcome",
        "scenario",
        "requests",
        "p99",
        "errors",
    ];
    let mut short = Table::new(names);
    for row in rows {
        short.push(row.cells.clone().map(Line::plain));
    }
    let mut long = short.clone();
    long.header
        .extend(["server", "directory"].map(str::to_owned));
    for (cells, row) in long.rows.iter_mut().zip(rows) {
        let server = cut(&row.server, SERVER_WIDTH);
        cells.extend([&server, &row.directory].map(Line::plain));
    }
    // Wide enough that nothing is cut.
    let full = grid(&long, usize::MAX);
    let widest = full
        .lines()
        .map(unicode_width::UnicodeWidthStr::width)
        .max();
    let mut text = if widest.is_some_and(|widest| widest <= width) {
        full
    } else {
        let table = grid(&short, width);
        let mut lines = table.lines();
        let mut text = lines.next().unwrap_or_default().to_owned();
        text.push('\n');
        for (line, row) in lines.zip(rows) {
            text.push_str(line);
            text.push('\n');
            let below = format!("{}  {}", row.directory, row.server);
            text.push_str(&" ".repeat(INDENT));
            text.push_str(&cut(&below, width.saturating_sub(INDENT)));
            text.push('\n');
        }
        text
    };
    if rows.iter().any(Row::is_partial) {
        text.push_str("  * ended before its time\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;

    fn rows() -> Vec<Row> {
        let place = |name: &str| Path::new("runs").join(name);
        vec![
            Row::of(&place("2026-05-10T07-30-00-ABCDEF"), &samples::healthy()),
            Row::of(&place("2026-05-10T07-30-00-BCDEFG"), &samples::failing()),
            Row::of(
                &place("2026-05-10T07-30-00-CDEFGH"),
                &samples::interrupted(),
            ),
            Row::unreadable(
                &place("2026-05-10T07-30-00-DEFGHI"),
                "metrics.json is no metrics.v1: expected value at line 1",
            ),
        ]
    }

    #[test]
    fn narrow() {
        insta::assert_snapshot!("runs_80", draw(&rows(), 80));
    }

    #[test]
    fn wide() {
        insta::assert_snapshot!("runs_200", draw(&rows(), 200));
    }

    #[test]
    fn nothing_yet() {
        assert!(runs_text(&[], 80).contains("mcprove run"));
    }
}
