//! `report.html`: the report as one file that needs nothing else, not even a script.
//!
//! Everything is escaped where it is drawn ([`escape`]); on top of that the page forbids itself
//! scripts and the network, so that whatever a server calls itself stays a text.

mod axis;
mod chart;
mod charts;

use std::fmt::Write as _;

use super::document::{Block, Line, Section, Span, Table};
use super::figure::{self, count};
use super::{escape_hidden, headline, sections};
use crate::run::Report;
use crate::run::report::RunOutcome;

const CSS: &str = include_str!("style.css");

/// What the page may do: show itself.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// A table with a longer cell than this is shown as cards on a narrow screen.
const CELL_MAX: usize = 40;

/// The text of `report.html`.
pub fn html(report: &Report) -> String {
    let word = headline::word(report);
    let title = format!("{word}: {} · {}", headline::scenario(report), report.run_id);
    let mut page = page_top(&title);
    top(report, &mut page);
    let mut all = sections::all(report);
    all.retain(|section| section.title != "Summary");
    // Limits that were violated are what a reader must see first, and none need no section.
    if let Some(place) = all
        .iter()
        .position(|section| section.title == "Threshold violations")
    {
        let violations = all.remove(place);
        if !report.threshold_violations.is_empty() {
            all.insert(0, violations);
        }
    }
    for section in &all {
        draw_section(report, section, &mut page);
        if section.title == "Latency" {
            page.push_str(&charts::over_time(report));
        }
    }
    page.push_str(PAGE_END);
    escape_hidden(&page).into_owned()
}

/// The end of every page.
pub(super) const PAGE_END: &str = "</main>\n</body>\n</html>\n";

/// The beginning of every page, up to where its contents start.
pub(super) fn page_top(title: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{}</title>\n<style>\n{CSS}</style>\n</head>\n<body>\n<main>\n",
        escape(title)
    )
}

/// How it ended, what was run, and the numbers that are looked for first.
fn top(report: &Report, page: &mut String) {
    let outcome = report.outcome();
    let class = match outcome {
        RunOutcome::Passed => "pass",
        RunOutcome::Failed => "fail",
        RunOutcome::Inconclusive => "unclear",
    };
    let reasons = headline::reasons(report);
    let _ = write!(
        page,
        "<header>\n<p class=\"status {class}\"><strong>{}</strong>{}</p>\n<h1>Run {}</h1>\n<dl class=\"about\">\n",
        headline::word(report),
        if reasons.is_empty() {
            String::new()
        } else {
            format!(" {}", escape(&reasons))
        },
        draw_line(&Line::plain(&report.run_id)),
    );
    let known = headline::server(report);
    let mut server = Line::code(&report.server_info.target);
    if !known.is_empty() {
        server = server.and(format!(" ({known})"));
    }
    for (name, line) in [
        ("Server", server),
        ("Scenario", Line::plain(headline::scenario(report))),
        ("Started", Line::plain(figure::time(report.started_at))),
        ("Model", Line::plain(headline::model(report.model))),
    ] {
        let _ = writeln!(page, "<dt>{name}</dt><dd>{}</dd>", draw_line(&line));
    }
    page.push_str("</dl>\n<dl class=\"tiles\">\n");
    for (name, value, is_bad) in tiles(report) {
        let class = if is_bad { " class=\"bad\"" } else { "" };
        let _ = writeln!(
            page,
            "<div{class}><dt>{name}</dt><dd>{}</dd></div>",
            escape(&value)
        );
    }
    page.push_str("</dl>\n</header>\n");
}

/// The numbers that are looked for first, and whether each is bad news.
fn tiles(report: &Report) -> Vec<(&'static str, String, bool)> {
    let latency = &report.latency;
    let error_rate = report
        .error_rate()
        .map_or_else(|| figure::UNKNOWN.to_owned(), figure::percent);
    let mut tiles = vec![
        (
            "Requests",
            count(report.throughput.total_requests),
            report.throughput.successful_requests == 0,
        ),
        (
            "Requests/s",
            figure::rate(report.throughput.requests_per_sec),
            false,
        ),
        ("Error rate", error_rate, report.errors.total > 0),
        ("p50", figure::quantile(latency, 0.5), false),
        ("p95", figure::quantile(latency, 0.95), false),
        ("p99", figure::quantile(latency, 0.99), false),
        ("p999", figure::quantile(latency, 0.999), false),
        ("Slowest", figure::slowest(latency), false),
    ];
    if !report.process.samples.is_empty() {
        let peak = figure::megabytes(report.process.peak_rss_mb);
        tiles.push(("Peak memory", peak, false));
    }
    if let Some(grade) = report.grades.overall {
        tiles.push(("Grade", format!("{grade:?}"), false));
    }
    let counts = [
        ("Deadlocks", u64::from(report.deadlock_count), true),
        ("Hangs", u64::from(report.hang_count), true),
        ("Crashes", u64::from(report.crash_count), true),
        ("New sessions", u64::from(report.reconnect_count), true),
        ("Dropped", report.dropped, true),
        ("In flight at the end", report.in_flight_at_end, false),
        ("Out of range", report.out_of_range, true),
    ];
    tiles.extend(
        counts
            .into_iter()
            .filter(|(_, number, _)| *number > 0)
            .map(|(name, number, is_bad)| (name, count(number), is_bad)),
    );
    if report.partial {
        tiles.push(("Partial", "ended early".to_owned(), true));
    }
    tiles
}

fn draw_section(report: &Report, section: &Section, page: &mut String) {
    let _ = write!(page, "<section>\n<h2>{}</h2>\n", escape(section.title));
    for block in &section.blocks {
        match block {
            // What is drawn with characters elsewhere is drawn with lines here.
            Block::Drawing(_) => page.push_str(&charts::histogram(&report.latency.histogram)),
            block => draw_block(block, page),
        }
    }
    match section.title {
        "Phases" => page.push_str(&charts::by_concurrency(report)),
        "Process" => page.push_str(&charts::process(report)),
        _ => {}
    }
    page.push_str("</section>\n");
}

/// A section without pictures.
pub(super) fn draw_plain_section(section: &Section, page: &mut String) {
    let _ = write!(page, "<section>\n<h2>{}</h2>\n", escape(section.title));
    for block in &section.blocks {
        draw_block(block, page);
    }
    page.push_str("</section>\n");
}

fn draw_block(block: &Block, page: &mut String) {
    match block {
        Block::Paragraph(line) => {
            let _ = writeln!(page, "<p>{}</p>", draw_line(line));
        }
        Block::List(lines) => {
            page.push_str("<ul>\n");
            for line in lines {
                let _ = writeln!(page, "<li>{}</li>", draw_line(line));
            }
            page.push_str("</ul>\n");
        }
        Block::Table(table) => draw_table(table, page),
        Block::Drawing(drawing) => {
            let _ = writeln!(page, "<pre>{}</pre>", escape(drawing));
        }
    }
}

fn draw_table(table: &Table, page: &mut String) {
    let mut cells = table.rows.iter().flatten();
    let is_wordy = cells.any(|cell| cell.text().chars().count() > CELL_MAX);
    let class = if is_wordy { " class=\"cards\"" } else { "" };
    let _ = write!(page, "<div class=\"scroll\"><table{class}>\n<thead><tr>");
    let alignment = |column| {
        if table.is_numeric(column) {
            " class=\"number\""
        } else {
            ""
        }
    };
    for (column, name) in table.header.iter().enumerate() {
        let _ = write!(
            page,
            "<th scope=\"col\"{}>{}</th>",
            alignment(column),
            escape(name)
        );
    }
    page.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        page.push_str("<tr>");
        for (column, (cell, name)) in row.iter().zip(&table.header).enumerate() {
            let _ = write!(
                page,
                "<td data-label=\"{}\"{}>{}</td>",
                escape(name),
                alignment(column),
                draw_line(cell)
            );
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody>\n</table></div>\n");
}

fn draw_line(line: &Line) -> String {
    let mut text = String::new();
    for span in &line.0 {
        let _ = match span {
            Span::Plain(plain) => write!(text, "{}", escape(plain)),
            Span::Code(code) => write!(text, "<code>{}</code>", escape(code)),
            Span::Strong(strong) => write!(text, "<strong>{}</strong>", escape(strong)),
        };
    }
    text
}

/// A text in which HTML finds nothing to do, between tags and within quotes.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod browser;
