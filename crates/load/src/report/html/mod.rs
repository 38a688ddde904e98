//! `report.html`: the report as one file that needs nothing else, not even a script.

mod charts;

use std::fmt::Write as _;

use mcprove_document::block::{Block, Line, Section};
use mcprove_document::figure::{self, count};
use mcprove_document::html::{PAGE_END, draw_block, draw_line, escape, page_top};
use mcprove_settings::printable::escape_hidden;

use super::{headline, sections};
use crate::run::Report;
use crate::run::report::RunOutcome;

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
        ("p50", headline::quantile(latency, 0.5), false),
        ("p95", headline::quantile(latency, 0.95), false),
        ("p99", headline::quantile(latency, 0.99), false),
        ("p999", headline::quantile(latency, 0.999), false),
        ("Slowest", headline::slowest(latency), false),
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

#[cfg(test)]
mod browser;
