//! The numbers of a run, a line each: what every run has, and what only its scenario looks for.

use std::fmt::Write as _;

use mcprove_document::figure::{self, count, counted};
use mcprove_settings::printable::printable;

use crate::report::headline;
use crate::report::sections::{apart, breaking_way};
use crate::run::Report;
use crate::run::report::LatencyStats;

/// How many categories of errors have an example.
const EXAMPLES_MAX: usize = 2;
/// The longest message that is shown whole.
const MESSAGE_MAX: usize = 120;

/// Labels and what they are labels of.
pub(super) fn rows(report: &Report) -> Vec<Vec<String>> {
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut row = |label: &str, text: String| rows.push(vec![label.to_owned(), text]);
    for (label, text) in looked_for(report) {
        row(label, text);
    }
    let throughput = &report.throughput;
    row(
        "requests",
        format!(
            "{} in {}, {}/s",
            count(throughput.total_requests),
            seconds(report),
            figure::rate(throughput.requests_per_sec)
        ),
    );
    for (index, text) in errors(report).into_iter().enumerate() {
        row(if index == 0 { "errors" } else { "" }, text);
    }
    let latency = &report.latency;
    if latency.count > 0 {
        row("latency", percentiles(latency));
    }
    let stuck = counts(&[
        (report.deadlock_count.into(), "deadlock"),
        (report.hang_count.into(), "hang"),
        (report.crash_count.into(), "server exit"),
        (report.reconnect_count.into(), "new session"),
    ]);
    if !stuck.is_empty() {
        row("trouble", stuck);
    }
    let mut uncounted = Vec::new();
    for (number, what) in [
        (report.dropped, "could not start in time (dropped)"),
        (
            report.in_flight_at_end,
            "still in flight at the end, in the rate",
        ),
        (
            report.warmup.as_ref().map_or(0, |warmup| warmup.count),
            "in the warm-up",
        ),
        (report.out_of_range, "too long for the histogram"),
    ] {
        if number > 0 {
            uncounted.push(format!("{} {what}", count(number)));
        }
    }
    if !uncounted.is_empty() {
        row("not counted", uncounted.join(", "));
    }
    if let Some(faults) = &report.faults {
        row("faults", apart(faults));
    }
    if !report.process.samples.is_empty() {
        row("server", process(report));
    }
    if report.generator.limited {
        row(
            "generator",
            format!(
                "was the limit: {}; {}",
                report.generator.reasons.join(" and "),
                report
                    .generator
                    .advice
                    .as_deref()
                    .unwrap_or("lower the load")
            ),
        );
    }
    if let Some(grade) = grade(report) {
        row("grade", grade);
    }
    rows
}

/// The percentiles; with too few calls for any of them, only the slowest.
fn percentiles(latency: &LatencyStats) -> String {
    let slowest = headline::slowest(latency);
    if latency.supported(0.5).is_none() {
        return format!("at most {slowest}; too few calls for percentiles");
    }
    format!(
        "p50 {}, p95 {}, p99 {}, p999 {}, max {slowest}",
        headline::quantile(latency, 0.5),
        headline::quantile(latency, 0.95),
        headline::quantile(latency, 0.99),
        headline::quantile(latency, 0.999),
    )
}

fn seconds(report: &Report) -> String {
    format!("{:.1}s", report.duration.as_secs_f64())
}

/// The kinds of things that were counted, without those that there were none of.
fn counts(numbers: &[(u64, &str)]) -> String {
    numbers
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, noun)| counted(*number, noun))
        .collect::<Vec<_>>()
        .join(", ")
}

/// The error rate, then an example of the most frequent kinds.
fn errors(report: &Report) -> Vec<String> {
    let errors = &report.errors;
    let Some(rate) = report.error_rate() else {
        return Vec::new();
    };
    if errors.total == 0 {
        return vec!["none".to_owned()];
    }
    let mut categories: Vec<_> = errors.by_category.iter().collect();
    categories.sort_by_key(|(category, count)| (std::cmp::Reverse(**count), **category));
    let list: Vec<String> = categories
        .iter()
        .map(|(category, number)| format!("{} {category}", count(**number)))
        .collect();
    let mut lines = vec![format!(
        "{} ({}): {}",
        count(errors.total),
        figure::percent(rate),
        list.join(", ")
    )];
    for (category, _) in categories.into_iter().take(EXAMPLES_MAX) {
        if let Some(message) = errors.examples.get(category) {
            lines.push(format!("{category}: {}", printable(message, MESSAGE_MAX)));
        }
    }
    lines
}

fn process(report: &Report) -> String {
    let process = &report.process;
    let mut text = format!(
        "RSS {} at most, {} at the end; CPU {:.1}%",
        figure::megabytes(process.peak_rss_mb),
        figure::megabytes(process.final_rss_mb),
        process.avg_cpu_pct
    );
    if let Some(threads) = process.peak_threads {
        let _ = write!(text, "; {}", figure::counted(threads.into(), "thread"));
    }
    if let Some(descriptors) = process.peak_descriptors {
        let _ = write!(
            text,
            "; {}",
            figure::counted(descriptors.into(), "descriptor")
        );
    }
    text
}

fn grade(report: &Report) -> Option<String> {
    let grades = &report.grades;
    let overall = grades.overall?;
    let parts: Vec<String> = [
        ("latency", grades.latency),
        ("errors", grades.errors),
        ("concurrency", grades.concurrency),
    ]
    .into_iter()
    .filter_map(|(name, grade)| Some(format!("{name} {:?}", grade?)))
    .collect();
    let capped = grades.reasons.get("overall");
    let why = capped.map_or(String::new(), |reason| format!("; {reason}"));
    Some(format!("{overall:?} ({}{why})", parts.join(", ")))
}

/// What only the scenario of this run looks for.
fn looked_for(report: &Report) -> Vec<(&'static str, String)> {
    let mut rows = Vec::new();
    let latency = figure::maybe_milliseconds;
    if let Some(probe) = report
        .deadlock
        .as_ref()
        .filter(|probe| !probe.calls.is_empty())
    {
        rows.push((
            "calls",
            format!(
                "{} success, {} slow, {} deadlock, {} error",
                probe.success, probe.slow, probe.deadlock, probe.error
            ),
        ));
    }
    if let Some(start) = &report.cold_start {
        rows.push((
            "start",
            format!(
                "ready {}, first call {}, second call {} (medians of {})",
                latency(start.ready_ms),
                latency(start.first_call_ms),
                latency(start.second_call_ms),
                start.iterations
            ),
        ));
    }
    if let Some(fuzz) = &report.fuzz {
        rows.push((
            "payloads",
            format!(
                "{} rejected, {} accepted, {} unanswered, {} wedged, {} crashed",
                fuzz.rejected, fuzz.accepted, fuzz.unanswered, fuzz.wedged, fuzz.crashed
            ),
        ));
    }
    if let Some(mix) = &report.head_of_line {
        rows.push((
            "mix",
            format!(
                "fast calls {} alone, {} beside slow calls of {} (medians)",
                latency(mix.fast_alone_p50),
                latency(mix.fast_mixed_p50),
                latency(mix.slow_p50)
            ),
        ));
    }
    if let Some(ends) = &report.session_ends {
        rows.push((
            "sessions",
            format!(
                "{} opened, {} abandoned, {} could not be opened; processes left: {}",
                count(ends.opened),
                count(ends.abandoned),
                count(ends.failed_opens),
                count(ends.leftovers)
            ),
        ));
    }
    if let Some(leak) = &report.leak {
        rows.push((
            "memory",
            format!(
                "{} MB growth predicted over the run (R² {})",
                figure::maybe_decimal(leak.growth_mb, 1),
                figure::maybe_fixed(leak.r_squared, 2)
            ),
        ));
    }
    if let Some(drift) = &report.drift {
        rows.push((
            "drift",
            format!(
                "{} ms/s of mean latency (limit {}, R² {})",
                figure::maybe_decimal(drift.slope_ms_per_s, 4),
                figure::maybe_decimal(drift.limit_ms_per_s, 4),
                figure::maybe_fixed(drift.r_squared, 2)
            ),
        ));
    }
    if let Some(point) = &report.breaking_point {
        rows.push((
            "breaks",
            format!("at {}: {}", point.load(), breaking_way(point.kind)),
        ));
    }
    rows
}
