//! What stands at the top of every report: how the run ended, and what was run.

use mcprove_document::figure::{self, counted};
use mcprove_score::deadlock::ProbeSeverity;
use mcprove_score::verdict::{Outcome, Severity};

use crate::drive::ScenarioKind;
use crate::run::Report;
use crate::run::report::{LatencyStats, Model, RunOutcome};

/// How a run ended, in one word. A deadlock probe has a severity between passed and failed.
pub(super) fn word(report: &Report) -> &'static str {
    let probe = report.deadlock.as_ref();
    let is_warning = probe.is_some_and(|probe| probe.severity == ProbeSeverity::Warning);
    match report.outcome() {
        RunOutcome::Passed if is_warning => "WARN",
        RunOutcome::Passed => "PASS",
        RunOutcome::Failed => "FAIL",
        RunOutcome::Inconclusive => "INCONCLUSIVE",
    }
}

/// How a run ended, as a picture.
pub(super) fn picture(report: &Report) -> &'static str {
    match word(report) {
        "PASS" => "✅",
        "FAIL" => "❌",
        _ => "⚠️",
    }
}

/// Why it ended so: `1 threshold violation, 2 findings`; empty when there is nothing to say.
pub(super) fn reasons(report: &Report) -> String {
    let count = |outcome, is_wanted: fn(Severity) -> bool| {
        let found = report
            .verdicts
            .iter()
            .filter(|verdict| verdict.outcome == outcome && is_wanted(verdict.severity));
        u64::try_from(found.count()).unwrap_or(u64::MAX)
    };
    let violations = u64::try_from(report.threshold_violations.len()).unwrap_or(u64::MAX);
    let unclear = |is_limit: bool| {
        let gates = report.inconclusive_gates();
        let gates = gates.filter(|gate| gate.detector.starts_with("threshold:") == is_limit);
        u64::try_from(gates.count()).unwrap_or(u64::MAX)
    };
    let counts = [
        (violations, "threshold violation"),
        (
            count(Outcome::Finding, |severity| severity == Severity::Critical),
            "finding",
        ),
        (
            count(Outcome::Finding, |severity| severity < Severity::Critical),
            "warning",
        ),
        (unclear(true), "unjudged limit"),
        (unclear(false), "unjudged check"),
    ];
    let parts: Vec<String> = counts
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, noun)| counted(number, noun))
        .collect();
    parts.join(", ")
}

/// What was run: `Sustained, closed, 50 concurrent, 60s`.
pub(super) fn scenario(report: &Report) -> String {
    let mut parts = vec![title(&report.scenario_kind)];
    if report.scenario_kind.duration().is_some() {
        parts.push(model_word(report.model).to_owned());
    }
    match report.rate {
        Some(rate) => parts.extend(paced_knobs(&report.scenario_kind, rate)),
        None => parts.extend(knobs(&report.scenario_kind, report.model)),
    }
    if report.sessions > 1 {
        parts.push(format!("{} sessions", report.sessions));
    }
    parts.join(", ")
}

/// The name of a scenario for people: `Cold start`.
pub(super) fn title(kind: &ScenarioKind) -> String {
    let name = kind.name().replace('_', " ");
    let mut letters = name.chars();
    letters
        .next()
        .map(|first| first.to_uppercase().chain(letters).collect())
        .unwrap_or_default()
}

/// The same in the open model: a spike and a ramp are of calls per second, and not of clients.
fn paced_knobs(kind: &ScenarioKind, rate: f64) -> Vec<String> {
    let per_second = |concurrent: u32, first: u32| {
        let rate = rate * f64::from(concurrent) / f64::from(first.max(1));
        format!("{}/s", figure::decimal(rate, 2))
    };
    match kind {
        ScenarioKind::Spike {
            baseline_concurrent,
            spike_concurrent,
            baseline_duration,
            spike_at,
            spike_duration,
        } => vec![
            format!("{} on a schedule", per_second(1, 1)),
            format!(
                "{} from {} for {}",
                per_second(*spike_concurrent, *baseline_concurrent),
                figure::duration(*spike_at),
                figure::duration(*spike_duration)
            ),
            figure::duration(*baseline_duration),
        ],
        ScenarioKind::Ramp {
            from_concurrent,
            to_concurrent,
            step_increment,
            duration,
        } => vec![
            format!(
                "{} to {} on a schedule by {}",
                per_second(1, 1),
                per_second(*to_concurrent, *from_concurrent),
                per_second(*step_increment, *from_concurrent)
            ),
            figure::duration(*duration),
        ],
        kind => {
            let mut parts = vec![format!("{} on a schedule", per_second(1, 1))];
            parts.extend(knobs(kind, Model::Open));
            parts
        }
    }
}

fn knobs(kind: &ScenarioKind, model: Model) -> Vec<String> {
    let concurrent = || format!("{} concurrent", kind.concurrent());
    // On a schedule there are as many calls in flight as it takes.
    let clients = || match model {
        Model::Closed => vec![concurrent()],
        Model::Open => Vec::new(),
    };
    match kind {
        ScenarioKind::ColdStart { iterations, .. } => {
            vec![counted((*iterations).into(), "fresh start")]
        }
        ScenarioKind::Sustained {
            duration,
            rate_limit,
            ..
        } => {
            let mut knobs = clients();
            knobs.push(figure::duration(*duration));
            knobs.extend(rate_limit.map(|limit| format!("at most {limit}/s")));
            knobs
        }
        ScenarioKind::Soak { duration, .. }
        | ScenarioKind::Pattern { duration, .. }
        | ScenarioKind::SlowMix { duration, .. } => {
            let mut knobs = clients();
            knobs.push(figure::duration(*duration));
            knobs
        }
        ScenarioKind::Spike {
            baseline_concurrent,
            spike_concurrent,
            baseline_duration,
            spike_at,
            spike_duration,
        } => vec![
            format!("{baseline_concurrent} concurrent"),
            format!(
                "{spike_concurrent} from {} for {}",
                figure::duration(*spike_at),
                figure::duration(*spike_duration)
            ),
            figure::duration(*baseline_duration),
        ],
        ScenarioKind::Ramp {
            from_concurrent,
            to_concurrent,
            step_increment,
            duration,
        } => vec![
            format!("{from_concurrent} to {to_concurrent} concurrent by {step_increment}"),
            figure::duration(*duration),
        ],
        ScenarioKind::DeadlockProbe {
            hang_threshold,
            grace_period,
            ..
        } => vec![
            format!("{} concurrent", kind.concurrent()),
            format!(
                "hang after {}, lost after {} more",
                figure::duration(*hang_threshold),
                figure::duration(*grace_period)
            ),
        ],
        ScenarioKind::RaceCheck { rounds, .. } => {
            vec![concurrent(), counted((*rounds).into(), "round")]
        }
        ScenarioKind::Fuzzer {
            iterations,
            payloads,
            ..
        } => {
            let which = if payloads.is_empty() {
                "all payloads".to_owned()
            } else {
                let count = u64::try_from(payloads.len()).unwrap_or(u64::MAX);
                counted(count, "payload")
            };
            vec![which, counted((*iterations).into(), "time")]
        }
        ScenarioKind::Reconnect { iterations, .. } => {
            vec![counted((*iterations).into(), "drop"), concurrent()]
        }
        ScenarioKind::Churn { sessions, .. } => {
            vec![counted((*sessions).into(), "session"), concurrent()]
        }
        ScenarioKind::EarlyCall { iterations } | ScenarioKind::InterruptedCall { iterations } => {
            vec![counted((*iterations).into(), "time")]
        }
    }
}

/// What the model is called.
const fn model_word(model: Model) -> &'static str {
    match model {
        Model::Closed => "closed",
        Model::Open => "open",
    }
}

/// What the model is called, and what follows from it.
pub(super) const fn model(model: Model) -> &'static str {
    match model {
        Model::Closed => {
            "closed model: each call waits for an answer before the next, so stalls are under-counted"
        }
        Model::Open => {
            "open model: calls follow a schedule, and latency counts from the intended start"
        }
    }
}

/// What the server calls itself, and how it was spoken to: `name 1.0, 2025-11-25 over stdio`.
pub(super) fn server(report: &Report) -> String {
    let info = &report.server_info;
    let name = [info.name.as_str(), info.version.as_str()]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ");
    let spoken = [info.protocol.as_str(), info.transport.as_str()]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" over ");
    [name, spoken]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(", ")
}

/// The latency at a quantile such as 0.99, if enough samples are beyond it.
pub(super) fn quantile(stats: &LatencyStats, quantile: f64) -> String {
    stats
        .supported(quantile)
        .map_or_else(|| figure::UNKNOWN.to_owned(), figure::latency)
}

/// The slowest call, if there was any.
pub(super) fn slowest(stats: &LatencyStats) -> String {
    stats
        .slowest()
        .map_or_else(|| figure::UNKNOWN.to_owned(), figure::latency)
}

#[cfg(test)]
mod tests {
    use mcprove_trace::ErrorCategory;
    use serde_json::json;

    use super::*;
    use crate::drive::Scenario;
    use crate::run::sample::Sample;

    /// A deadlock probe of four calls, of which so many were late.
    fn probe(slow: u32) -> Report {
        let mut sample = Sample::new(Scenario::deadlock_probe().concurrent(4), &["echo"]);
        sample.phase(1, "probe", 4, (0.0, 8.0));
        let severity = if slow > 2 { "WARNING" } else { "PASS" };
        let calls: Vec<_> = (0..4)
            .map(|index| {
                let outcome = if index < slow { "SLOW" } else { "SUCCESS" };
                json!({ "outcome": outcome, "duration_ms": 10.0 })
            })
            .collect();
        let data = json!({
            "outcome": "COMPLETED", "severity": severity, "tool": "echo", "calls": calls,
            "success": 4 - slow, "slow": slow, "deadlock": 0, "error": 0, "kind": null,
        });
        sample.note("deadlock_probe", "", &data);
        for index in 0..4 {
            if index < slow {
                let late = (ErrorCategory::Hang, "answered after 7 s");
                sample.fail(1, "echo", 7.0, 7000.0, late);
            } else {
                sample.call(1, "echo", 1.0, 10.0);
            }
        }
        sample.report(8.0)
    }

    #[test]
    fn a_probe_that_warns_neither_passes_nor_fails_unless_nothing_was_in_time() {
        let cases = [
            (0, "PASS", RunOutcome::Passed),
            (2, "PASS", RunOutcome::Passed),
            (3, "WARN", RunOutcome::Passed),
            (4, "FAIL", RunOutcome::Failed),
        ];
        for (slow, expected, outcome) in cases {
            let report = probe(slow);
            assert_eq!(
                (word(&report), report.outcome()),
                (expected, outcome),
                "{slow} late"
            );
        }
    }
}
