//! The same scenario on several servers, a column each.

use super::sections::{found, violation};
use crate::report::prelude::*;

/// The longest name of a server that stands above a column whole.
const NAME_MAX: usize = 22;

/// What `runs` came to, each under its name.
pub fn side_by_side_document(runs: &[ServerRun]) -> Document {
    let mut sections = vec![Section::default().table(table(runs)), findings(runs)];
    if runs.len() > 1 {
        // What to know before one run each is taken for a difference.
        let note = Line::plain("One run each: small differences may be chance. ")
            .and_code("mcprove compare")
            .and(" with two of the servers shows which are real.");
        sections.push(Section::default().paragraph(note));
    }
    let reports = runs.iter().map(|run| run.report.as_ref());
    let scenario = reports
        .clone()
        .flatten()
        .next()
        .map_or_else(String::new, headline::scenario);
    let ends = reports.map(|report| report.map_or((Tone::Bad, "ERROR"), headline::outcome));
    let worst = ends.max_by_key(|(tone, _)| *tone);
    let servers = runs.iter().map(|run| run.server.clone());
    Document {
        title: "Side by side".to_owned(),
        subject: servers.chain([scenario.clone()]).collect(),
        verdict: worst.map(|(tone, word)| Verdict::new(tone, word, scenario)),
        sections,
        ..Document::default()
    }
}

/// The end of a name, where servers differ: their beginnings are often the same program.
fn short_name(name: &str) -> String {
    let shown = printable(name, usize::MAX);
    let length = shown.chars().count();
    if length <= NAME_MAX {
        return shown;
    }
    let rest: String = shown.chars().skip(length + 1 - NAME_MAX).collect();
    format!("…{rest}")
}

/// The row that says how a run ended.
const OUTCOME: &str = "outcome";

type Read = fn(&Report) -> String;

const ROWS: &[(&str, Read)] = &[
    (OUTCOME, |report| headline::outcome(report).1.to_owned()),
    ("grade", |report| {
        known(report.grades.overall, |grade| format!("{grade:?}"))
    }),
    ("requests", |report| count(report.throughput.total_requests)),
    ("requests/s", |report| {
        rate(report.throughput.requests_per_sec)
    }),
    ("error rate", headline::error_rate),
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

fn table(runs: &[ServerRun]) -> Table {
    let mut table = Table::new([""]);
    table
        .header
        .extend(runs.iter().map(|run| short_name(&run.server).into()));
    for (label, read) in ROWS {
        let mut row = vec![Line::plain(label)];
        row.extend(runs.iter().map(|run| match &run.report {
            Some(report) => read(report).into(),
            None if *label == OUTCOME => "not run".into(),
            None => figure::UNKNOWN.into(),
        }));
        table.rows.push(row);
    }
    table
}

/// What was violated and found, or why there was no run, server by server.
fn findings(runs: &[ServerRun]) -> Section {
    let mut findings = Vec::new();
    for run in runs {
        let name = Line::code(&run.server);
        let Some(report) = &run.report else {
            let error = run.error.as_deref().unwrap_or_default();
            findings.push(Finding::new(Tone::Bad, "not run", name).line(error));
            continue;
        };
        let violations = report
            .threshold_violations
            .iter()
            .map(|it| Finding::new(Tone::Bad, "violated", name.clone()).line(violation(it)));
        let found = report.findings().into_iter().map(|verdict| Finding {
            name: name.clone().and(format!(": {}", verdict.detector)),
            hint: None,
            ..found(verdict)
        });
        findings.extend(violations.chain(found));
    }
    Section::default().findings(findings)
}

#[cfg(test)]
mod tests {
    use mcprove_document::style::Style;

    use super::*;
    use crate::report::samples;

    fn made(server: &str, report: Report) -> ServerRun {
        ServerRun::made(server.to_owned(), report, None)
    }

    #[test]
    fn three_servers_and_one_that_was_not_run() {
        // Reports are too large for a stack.
        let runs = vec![
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
        let document = side_by_side_document(&runs);
        insta::assert_snapshot!("side_by_side_80", document.terminal(Style::plain(80)));
        let narrow = document.terminal(Style::plain(40));
        insta::assert_snapshot!("side_by_side_40", narrow);
    }
}
