//! What a load came to, as a test: values that can be looked at, what does not hold, what could not be
//! judged.

use mcprove_client::permission::SkippedTool;
use mcprove_load::run::Report;
use mcprove_score::gate::{GateFailure, ScoreError};
use mcprove_score::threshold::ThresholdViolation;
use mcprove_score::verdict::Verdict;
use mcprove_settings::message::{Message, Spelling, sentence};
use mcprove_settings::quantity::as_milliseconds;
use mcprove_trace::stream::OWN_LIMIT;
use serde_json::{Value, json};

use crate::error::TestError;
use crate::run::report::{TestOutcome, TestReport, gate_failure};

/// A load that the user stopped: what it has is told, but proves nothing.
pub(super) fn broken_off() -> ScoreError {
    let message = "inconclusive: broken off, because the run was interrupted";
    let hint = "let it run to its end; the numbers are those up to then";
    TestError::new(message, hint).into()
}

/// The values of `metrics.json` that a test has as its targets, by their paths there.
const TARGETS: &str = "latency_ms.p50 latency_ms.p95 latency_ms.p99 latency_ms.p999 latency_ms.mean latency_ms.max \
                       throughput.total_requests throughput.successful_requests throughput.requests_per_sec \
                       errors.total deadlock_count hang_count crash_count dropped process.peak_rss_mb \
                       process.growth_mb isolation.crossed grades.overall";

/// How many tools that were not called are named.
const SKIPPED_MAX: usize = 10;

/// Puts what was found into the report of the test, and judges it.
pub(super) fn fill(report: &mut TestReport, found: &Report) {
    report.duration_ms = as_milliseconds(found.duration);
    let metrics = serde_json::to_value(found).unwrap_or_default();
    for path in TARGETS.split(' ') {
        let mut names = path.split('.');
        let value = names.try_fold(&metrics, |value, name| value.get(name));
        if let Some(value) = value {
            report.targets.insert(path.to_owned(), value.clone());
        }
    }
    let error_rate = json!(found.error_rate());
    report.targets.insert("error_rate".to_owned(), error_rate);
    let violations = found.threshold_violations.iter().map(violated);
    let findings = found.findings().into_iter();
    let (critical, others): (Vec<&Verdict>, Vec<&Verdict>) = findings
        .filter(|verdict| !verdict.detector.starts_with("threshold:"))
        .partition(|verdict| verdict.is_failure());
    report.failures = violations
        .chain(critical.iter().map(|it| finding(it)))
        .collect();
    report.errors = found.inconclusive_gates().map(unjudged).collect();
    let hints = critical.iter().filter_map(|it| it.hint.clone());
    report.notes = hints
        .map(|hint| sentence!("hint: {}", hint.fixed(Spelling::Yaml)))
        .chain(others.iter().map(|it| it.sentence.clone()))
        .chain(not_called(&found.skipped_tools))
        .chain(found.warnings.iter().cloned().map(Message::from))
        .collect();
    for loss in &found.losses {
        report.lose(loss.clone());
    }
    let is_cut_short = found.interrupted && report.failures.is_empty();
    if is_cut_short {
        // Half a load proves nothing.
        report.errors = vec![broken_off()];
    }
    report.judge();
    debug_assert!(is_cut_short || (report.outcome == TestOutcome::Passed) == found.passed());
}

/// Which tools were not called, and how to call them.
fn not_called(tools: &[SkippedTool]) -> Option<Message> {
    let mut listed: Vec<String> = tools
        .iter()
        .take(SKIPPED_MAX)
        .map(|tool| format!("{} ({})", tool.name, tool.reason))
        .collect();
    if tools.len() > SKIPPED_MAX {
        listed.push(format!("and {} more", tools.len() - SKIPPED_MAX));
    }
    (!tools.is_empty()).then(|| {
        let listed = listed.join(", ");
        sentence!("not called, as they may write (`allow_writes: true` calls them): {listed}")
    })
}

fn violated(violation: &ThresholdViolation) -> GateFailure {
    let metric = violation.metric.name();
    let (expected, actual) = (&violation.expected, &violation.actual);
    let (target, of_tool) = match &violation.tool {
        Some(tool) => (format!("tools.{tool}.{metric}"), format!(" of {tool}")),
        None => (metric.to_owned(), String::new()),
    };
    let message = format!("{metric}{of_tool} is {actual}, and must be {expected}");
    gate_failure(&target, json!(expected), json!(actual), message)
}

fn finding(verdict: &Verdict) -> GateFailure {
    let numbers = Value::Object(verdict.numbers.clone().into_iter().collect());
    let Verdict {
        detector, sentence, ..
    } = verdict;
    gate_failure(detector, "no critical finding", numbers, sentence)
}

fn unjudged(verdict: &Verdict) -> ScoreError {
    let detector = &verdict.detector;
    let target = detector.strip_prefix("threshold:").unwrap_or(detector);
    // An own limit is an error of ours.
    let message = if detector == OWN_LIMIT {
        verdict.sentence.clone()
    } else {
        sentence!("inconclusive: {}", verdict.sentence)
    };
    let hint = verdict.hint.as_ref().map_or_else(
        || "make the load longer".into(),
        |hint| hint.fixed(Spelling::Yaml),
    );
    ScoreError::new(target, message, hint)
}
