//! What `mcprove compare` prints: two sets of runs, metric by metric, and what that comes to.

use mcprove_document::block::{Line, Table};
use mcprove_document::figure;
use mcprove_document::style::{Color, Style};
use mcprove_document::table::{grid, lay_out, section};
use mcprove_score::compare::proportion::Estimate;
use mcprove_score::compare::{Change, Comparison, CountComparison, MetricComparison};
use mcprove_settings::printable::printable;

use super::skipped::{pairs, skipped_text};
use crate::run::{ComparedRun, ComparisonReport};

/// The longest name of a server that is shown whole.
const SERVER_MAX: usize = 120;
/// How many servers of a side are named.
const SERVERS_MAX: usize = 3;
/// The longest name of a side that is shown whole.
const NAME_MAX: usize = 400;

/// A comparison with whose runs they were, and what is odd about comparing them.
pub fn comparison_text(report: &ComparisonReport, style: Style) -> String {
    let names = (describe(&report.baseline), describe(&report.current));
    let mut text = compared_text(&report.comparison, (&names.0, &names.1), style);
    text.push_str(&section("warnings", &report.warnings, style.width));
    text.push_str(&skipped_text(&pairs(&report.skipped_tools), style.width));
    if report.partial {
        text.push_str("interrupted: only the runs that ended before are compared\n");
    }
    text
}

/// Whose runs.
fn describe(runs: &[ComparedRun]) -> String {
    let mut servers: Vec<&str> = runs.iter().map(|run| run.server.as_str()).collect();
    servers.sort_unstable();
    servers.dedup();
    let more = servers.len().saturating_sub(SERVERS_MAX);
    let mut names: Vec<String> = servers
        .iter()
        .take(SERVERS_MAX)
        .map(|server| printable(server, SERVER_MAX))
        .collect();
    if more > 0 {
        names.push(format!("{more} more"));
    }
    names.join(", ")
}

/// Baseline and current runs, compared. `names` are theirs, the baseline's first.
pub(super) fn compared_text(comparison: &Comparison, names: (&str, &str), style: Style) -> String {
    let (word, color) = match comparison.change {
        Change::Regressed => ("REGRESSED", Color::Red),
        Change::Improved => ("IMPROVED", Color::Green),
        Change::Unchanged => ("UNCHANGED", Color::Green),
        Change::Inconclusive => ("INCONCLUSIVE", Color::Yellow),
    };
    let mut text = format!("{}  {}\n", style.paint(word, color), summary(comparison));
    let sides = [
        vec!["baseline".to_owned(), side(names.0, comparison.runs.0)],
        vec!["current".to_owned(), side(names.1, comparison.runs.1)],
    ];
    text.push_str(&lay_out(&sides, style.width));
    text.push('\n');
    text.push_str(&grid(&table(comparison), style.width));
    let notes = notes(comparison);
    if !notes.is_empty() {
        text.push('\n');
        text.push_str(&lay_out(&notes, style.width));
    }
    text
}

fn side(name: &str, runs: usize) -> String {
    let runs = figure::counted(u64::try_from(runs).unwrap_or(u64::MAX), "run");
    format!("{} ({runs})", printable(name, NAME_MAX))
}

/// What it comes to, in a sentence.
fn summary(comparison: &Comparison) -> String {
    let changed = |wanted| {
        let metrics = comparison
            .metrics
            .iter()
            .filter(move |metric| metric.change == wanted)
            .map(|metric| short_name(&metric.metric));
        let others = [
            (comparison.errors.change, "errors"),
            (comparison.deadlocks.change, "deadlocks"),
            (comparison.hangs.change, "hangs"),
        ];
        let others = others
            .into_iter()
            .filter(move |(change, _)| *change == wanted)
            .map(|(_, name)| name);
        metrics.chain(others).collect::<Vec<_>>().join(", ")
    };
    let sentence = match comparison.change {
        Change::Regressed => format!("worse: {}", changed(Change::Regressed)),
        Change::Improved => format!("better: {}", changed(Change::Improved)),
        Change::Unchanged => "no difference that matters".to_owned(),
        Change::Inconclusive if comparison.unlike => "not like for like".to_owned(),
        Change::Inconclusive => {
            format!("not enough to tell: {}", changed(Change::Inconclusive))
        }
    };
    if comparison.single_run {
        format!("{sentence} (single run)")
    } else {
        sentence
    }
}

fn short_name(metric: &str) -> &str {
    match metric {
        "throughput_per_s" => "throughput",
        other => other.strip_suffix("_ms").unwrap_or(other),
    }
}

fn table(comparison: &Comparison) -> Table {
    // Where there is no room the last columns are left out.
    let mut table = Table::new(["", "baseline", "current", "ratio", "change", "95 %"]);
    for metric in &comparison.metrics {
        table.push(
            [
                short_name(&metric.metric).to_owned(),
                value(metric, metric.baseline_median),
                value(metric, metric.current_median),
                figure::maybe_fixed(metric.ratio, 3),
                change_word(metric.change).to_owned(),
                interval(metric),
            ]
            .map(Line::plain),
        );
    }
    let errors = &comparison.errors;
    let rate = |estimate: &Option<Estimate>| {
        let unknown = || figure::UNKNOWN.to_owned();
        estimate.map_or_else(unknown, |estimate| figure::percent(estimate.value))
    };
    let difference = errors.difference.map_or_else(String::new, |difference| {
        format!(
            "{:+.2} to {:+.2} points",
            difference.low * 100.0,
            difference.high * 100.0
        )
    });
    table.push(
        [
            "errors".to_owned(),
            rate(&errors.baseline),
            rate(&errors.current),
            figure::UNKNOWN.to_owned(),
            change_word(errors.change).to_owned(),
            difference,
        ]
        .map(Line::plain),
    );
    for (name, counts) in [
        ("deadlocks", &comparison.deadlocks),
        ("hangs", &comparison.hangs),
    ] {
        table.push(count_row(name, counts));
    }
    table
}

fn count_row(name: &str, counts: &CountComparison) -> [Line; 6] {
    [
        name.to_owned(),
        figure::count(counts.baseline),
        figure::count(counts.current),
        figure::UNKNOWN.to_owned(),
        change_word(counts.change).to_owned(),
        String::new(),
    ]
    .map(Line::plain)
}

fn value(metric: &MetricComparison, median: Option<f64>) -> String {
    match median {
        Some(median) if metric.metric == "throughput_per_s" => {
            format!("{}/s", figure::rate(median))
        }
        median => figure::maybe_milliseconds(median),
    }
}

fn interval(metric: &MetricComparison) -> String {
    match (metric.ratio_low, metric.ratio_high) {
        (Some(low), Some(high)) => format!("{low:.3} to {high:.3}"),
        _ => String::new(),
    }
}

const fn change_word(change: Change) -> &'static str {
    match change {
        Change::Regressed => "REGRESSED",
        Change::Improved => "improved",
        Change::Unchanged => "unchanged",
        Change::Inconclusive => "inconclusive",
    }
}

/// What each difference means, and what to do about what is not known.
fn notes(comparison: &Comparison) -> Vec<Vec<String>> {
    let metrics = comparison
        .metrics
        .iter()
        .map(|metric| (metric.change, metric.sentence.as_str()));
    let others = [
        (
            comparison.errors.change,
            comparison.errors.sentence.as_str(),
        ),
        (
            comparison.deadlocks.change,
            comparison.deadlocks.sentence.as_str(),
        ),
        (comparison.hangs.change, comparison.hangs.sentence.as_str()),
    ];
    let mut notes: Vec<Vec<String>> = metrics
        .chain(others)
        .filter(|(change, _)| *change != Change::Unchanged && !comparison.unlike)
        .map(|(_, sentence)| vec!["-".to_owned(), printable(sentence, 400)])
        .collect();
    if let Some(advice) = &comparison.advice {
        notes.push(vec!["try".to_owned(), printable(advice, 400)]);
    }
    notes
}

#[cfg(test)]
mod tests {
    use mcprove_score::compare::{CompareLimits, RunSample, compare};

    use super::*;

    fn runs(count: u32, factor: f64, failed: u64, deadlocks: u64) -> Vec<RunSample> {
        (0..count)
            .map(|index| {
                let noise = 1.0 + f64::from(index % 4) / 200.0;
                RunSample {
                    p50_ms: Some(10.0 * factor * noise),
                    p95_ms: Some(25.0 * factor * noise),
                    p99_ms: Some(60.0 * noise),
                    throughput_per_s: 1000.0 / factor / noise,
                    attempted: 10_000,
                    failed,
                    deadlocks,
                    hangs: 0,
                    generator_limited: false,
                }
            })
            .collect()
    }

    fn text(baseline: &[RunSample], current: &[RunSample]) -> String {
        let limits = CompareLimits::default();
        let comparison = compare(baseline, current, &limits);
        compared_text(
            &comparison,
            ("python -m server_a", "python -m server_b"),
            Style::plain(80),
        )
    }

    #[test]
    fn regressed() {
        let text = text(&runs(8, 1.0, 3, 0), &runs(8, 1.2, 400, 2));
        insta::assert_snapshot!("comparison_regressed", text);
    }

    #[test]
    fn unchanged() {
        let text = text(&runs(8, 1.0, 3, 0), &runs(8, 1.0, 3, 0));
        insta::assert_snapshot!("comparison_unchanged", text);
    }

    #[test]
    fn single_run() {
        let text = text(&runs(1, 1.0, 0, 0), &runs(1, 1.1, 0, 0));
        insta::assert_snapshot!("comparison_single", text);
    }

    #[test]
    fn nothing_to_compare() {
        let text = text(&[], &runs(1, 1.0, 0, 0));
        insta::assert_snapshot!("comparison_nothing", text);
    }
}
