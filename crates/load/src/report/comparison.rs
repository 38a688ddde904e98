//! What `mcprove compare` prints: two sets of runs, metric by metric, and what that comes to.

use mcprove_score::compare::{Change, Comparison};

use crate::report::prelude::*;

/// How many servers of a side are named.
const SERVERS_MAX: usize = 3;

/// A comparison with whose runs they were, and what is odd about comparing them.
pub fn comparison_document(report: &ComparisonReport) -> Document {
    let sides = [&report.baseline, &report.current].map(|runs| servers(runs));
    let mut document = compared(&report.comparison, sides);
    let run = report.current.first();
    document
        .subject
        .extend(run.and_then(|run| run.scenario.clone()));
    let warnings = report.failing_warnings();
    if warnings > 0 && report.change() != Change::Regressed {
        let was = document.verdict.map_or("", |verdict| verdict.word);
        let warnings = counted(mcprove_settings::number::count(warnings), "warning");
        let why = format!("{warnings}; {}", was.to_lowercase());
        document.verdict = Some(Verdict::new(Tone::Bad, "FAIL", why));
    }
    let failed = report.failed_runs.iter().map(failed_run);
    let warnings = report.warnings.iter().map(Line::plain).chain(failed);
    document.push(Section::new("Warnings").list(warnings));
    document.push(skipped_section(&report.skipped_tools));
    if report.partial {
        let partial = "interrupted: only completed runs are compared";
        document.push(Section::default().paragraph(partial));
    }
    document
}

/// A run that could not be made at once.
fn failed_run(run: &FailedRun) -> Line {
    let (number, side, reason) = (run.number, run.side.name(), run.reason.clone());
    let outcome = if run.is_made_up {
        "a second try succeeded, and counts"
    } else {
        "it is missing in the comparison"
    };
    Line::of(&sentence!(
        "run {number} on the {side} server failed: {reason}; {outcome}"
    ))
}

/// Whose runs.
fn servers(runs: &[ComparedRun]) -> Vec<String> {
    let servers: BTreeSet<String> = runs.iter().map(|run| run.server.clone()).collect();
    servers.into_iter().collect()
}

/// Baseline and current runs, compared. The sides are the names of their servers, the baseline's first.
fn compared(comparison: &Comparison, [baseline, current]: [Vec<String>; 2]) -> Document {
    let rows = rows(comparison);
    let names: Vec<&str> = rows
        .iter()
        .filter(|row| row.change == comparison.change)
        .map(|row| row.cells[0].as_str())
        .collect();
    let names = names.join(", ");
    let (tone, word, why) = match comparison.change {
        Change::Regressed => (Tone::Bad, "REGRESSED", format!("worse: {names}")),
        Change::Improved => (Tone::Good, "IMPROVED", format!("better: {names}")),
        Change::Unchanged => (
            Tone::Good,
            "UNCHANGED",
            "no difference that matters".to_owned(),
        ),
        Change::Inconclusive if comparison.unlike => (
            Tone::Unclear,
            "INCONCLUSIVE",
            "not like for like".to_owned(),
        ),
        Change::Inconclusive => (
            Tone::Unclear,
            "INCONCLUSIVE",
            format!("not enough runs for {names}"),
        ),
    };
    let single = if comparison.single_run {
        " (single run)"
    } else {
        ""
    };
    let notes = rows
        .iter()
        .filter(|row| row.change != Change::Unchanged && !comparison.unlike)
        .map(|row| Line::plain(row.sentence));
    let advice = comparison.advice.iter();
    let mut document = Document {
        title: "Comparison".to_owned(),
        verdict: Some(Verdict::new(tone, word, why + single)),
        facts: vec![
            ("Baseline", side(&baseline, comparison.runs.0)),
            ("Current", side(&current, comparison.runs.1)),
        ],
        sections: vec![
            Section::default().table(table(&rows)),
            Section::default().list(notes),
        ],
        subject: baseline.into_iter().chain(current).collect(),
        ..Document::default()
    };
    document.next_steps(advice.map(Line::of).collect());
    document
}

fn side(servers: &[String], runs: usize) -> Line {
    let more = servers.len().saturating_sub(SERVERS_MAX);
    let names = servers.iter().take(SERVERS_MAX).map(Line::code);
    let more = (more > 0).then(|| format!("{more} more").into());
    let runs = counted(mcprove_settings::number::count(runs), "run");
    Line::join(names.chain(more), ", ").and(format!(" ({runs})"))
}

/// What was compared: its name, baseline, current value, ratio and interval.
struct Row<'a> {
    change: Change,
    sentence: &'a str,
    cells: [String; 5],
}

fn rows(comparison: &Comparison) -> Vec<Row<'_>> {
    let metrics = comparison.metrics.iter().map(|metric| {
        let value = |median: Option<f64>| match median {
            Some(median) if metric.is_rate() => format!("{}/s", rate(median)),
            median => maybe_milliseconds(median),
        };
        let interval = metric
            .ratio_low
            .zip(metric.ratio_high)
            .map(|(low, high)| format!("{low:.3} to {high:.3}"));
        Row {
            change: metric.change,
            sentence: &metric.sentence,
            cells: [
                metric.label(),
                value(metric.baseline_median),
                value(metric.current_median),
                maybe_fixed(metric.ratio, 3),
                interval.unwrap_or_default(),
            ],
        }
    });
    let errors = &comparison.errors;
    let [before, now] = [errors.baseline, errors.current]
        .map(|estimate| known(estimate, |estimate| percent(estimate.value)));
    let points = errors.difference.map_or(String::new(), |it| {
        format!("{:+.2} to {:+.2} points", it.low * 100.0, it.high * 100.0)
    });
    let unknown = figure::UNKNOWN;
    let errors = Row {
        change: errors.change,
        sentence: &errors.sentence,
        cells: ["errors".to_owned(), before, now, unknown.to_owned(), points],
    };
    let counts = [
        ("deadlocks", &comparison.deadlocks),
        ("hangs", &comparison.hangs),
    ];
    let counts = counts.map(|(name, counts)| Row {
        change: counts.change,
        sentence: &counts.sentence,
        cells: [
            name,
            &count(counts.baseline),
            &count(counts.current),
            unknown,
            "",
        ]
        .map(str::to_owned),
    });
    metrics.chain([errors]).chain(counts).collect()
}

/// What it comes to, in a sentence.
fn table(rows: &[Row<'_>]) -> Table {
    let header = ["", "baseline", "current", "ratio", "change", "95 %"];
    Table::new(header)
        .numbers(1..4)
        .rows(rows.iter().map(|row| {
            let [name, baseline, current, ratio, interval] = row.cells.clone().map(Line::plain);
            let change = match row.change {
                Change::Regressed => Line::toned(Tone::Bad, "REGRESSED"),
                Change::Improved => "improved".into(),
                Change::Unchanged => "unchanged".into(),
                Change::Inconclusive => "inconclusive".into(),
            };
            [name, baseline, current, ratio, change, interval]
        }))
}

#[cfg(test)]
mod tests {
    use mcprove_document::style::Style;
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
                    startup_ms: None,
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
        let sides = ["python -m server_a", "python -m server_b"];
        let document = compared(&comparison, sides.map(|name| vec![name.to_owned()]));
        document.terminal(Style::plain(80))
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
