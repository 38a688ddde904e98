//! Scoring a trace: every metric, then every gate.

use mcprove_trace::AgentTrace;
use serde_json::Value;

use super::evaluate;
use super::{Expectation, Gates, ScoreError, ScoreReport, Scorecard};
use crate::agent::{Case, Expected, METRICS, Metric, Scope};

/// Computes every metric that has what it needs, and applies the gates. What cannot be judged is
/// among the errors of the report; everything else is judged all the same.
///
/// ```
/// use mcprove_score::gate::{Gates, score};
/// use mcprove_import::import;
///
/// let text = r#"{"tool_calls":[],"final_response":"I created the issue."}"#;
/// let trace = import(text).unwrap().trace;
/// let report = score(&trace, &Gates::default());
/// assert_eq!(report.targets["narrative.claimed_but_absent"], 1);
/// assert!(report.passed, "nothing is gated");
/// ```
pub fn score(trace: &AgentTrace, gates: &Gates) -> ScoreReport {
    score_telling(trace, gates, &|_| true)
}

/// The same for those who look at what is gated, and not at every number: the notes are only about
/// metrics that the gates look at.
///
/// ```
/// use mcprove_score::gate::{Gates, score, score_gated};
/// use mcprove_import::import;
///
/// let text = r#"{"tool_calls":[{"name":"search"}],"final_response":"Found it."}"#;
/// let trace = import(text).unwrap().trace;
/// let gates = Gates::default();
/// assert!(!score(&trace, &gates).notes.is_empty());
/// assert!(score_gated(&trace, &gates).notes.is_empty());
/// ```
pub fn score_gated(trace: &AgentTrace, gates: &Gates) -> ScoreReport {
    score_telling(trace, gates, &|metric| is_gated(metric, gates))
}

/// Whether a gate looks at the metric: its block, or an expectation of a target of it.
fn is_gated(metric: &Metric, gates: &Gates) -> bool {
    let is_own = |expectation: &Expectation| {
        let rest = expectation.target.strip_prefix(metric.name);
        rest.is_some_and(|rest| rest.starts_with('.'))
    };
    let in_blocks = METRICS
        .iter()
        .filter_map(|other| match (other.expectations)(gates) {
            Some(Expected::Own(expectations)) => Some(expectations),
            _ => None,
        });
    (metric.expectations)(gates).is_some()
        || gates.expect.iter().any(is_own)
        || in_blocks.flatten().any(is_own)
}

fn score_telling(
    trace: &AgentTrace,
    gates: &Gates,
    is_told: &dyn Fn(&Metric) -> bool,
) -> ScoreReport {
    let case = Case { trace, gates };
    let mut card = Scorecard::new(trace.runs.len());
    if trace.runs.is_empty() {
        card.error(no_runs());
        return card.into_report();
    }
    for metric in METRICS {
        let notes = card.notes.len();
        let scored = (metric.score)(&case, &mut card);
        keep(scored, &mut card);
        if !is_told(metric) {
            card.notes.truncate(notes);
        }
        tell_worst(metric, &mut card);
    }
    for metric in METRICS {
        let judged = match (metric.expectations)(gates) {
            None => continue,
            Some(Expected::Own(expectations)) => {
                evaluate::apply(trace, expectations, &mut card);
                Ok(())
            }
            Some(Expected::ByDefault) => match metric.default_gate {
                Some(gate) => gate(&case, &mut card),
                None => Ok(()),
            },
        };
        keep(judged, &mut card);
        let judged = (metric.other_gates)(&case, &mut card);
        keep(judged, &mut card);
    }
    evaluate::apply(trace, &gates.expect, &mut card);
    card.into_report()
}

fn keep(judged: Result<(), ScoreError>, card: &mut Scorecard) {
    if let Err(error) = judged {
        card.error(error);
    }
}

fn no_runs() -> ScoreError {
    ScoreError {
        target: None,
        run: None,
        message: "the trace has no runs".into(),
        hint: "record at least one run, or check that the file is the one you mean".into(),
    }
}

/// Puts the worst run's value of each target among those over all runs. What is null in one run is
/// null: unknown, or never, is worse than any number.
fn tell_worst(metric: &Metric, card: &mut Scorecard) {
    for target in metric.targets {
        let is_lowest = match target.scope {
            Scope::Overall => continue,
            Scope::RunLowest => true,
            Scope::RunHighest => false,
        };
        // A metric may sum up its runs itself.
        if card.overall.contains_key(target.name) {
            continue;
        }
        if let Some(worst) = worst(card, target.name, is_lowest) {
            card.overall.insert(target.name.to_owned(), worst);
        }
    }
}

/// The worst value of a target over the runs that gave an occasion for it, null where none did;
/// `None` where the target was not computed.
fn worst(card: &Scorecard, target: &str, is_lowest: bool) -> Option<Value> {
    let runs = card.runs.iter().enumerate();
    let values = runs.filter_map(|(index, run)| Some((index, run.targets.get(target)?)));
    let mut worst: Option<(f64, &Value)> = None;
    let mut is_computed = false;
    for (index, value) in values {
        is_computed = true;
        if !card.has_occasion(index, target) {
            continue;
        }
        let Some(number) = value.as_f64() else {
            return Some(Value::Null);
        };
        let is_worse = worst.is_none_or(|(known, _)| {
            if is_lowest {
                number < known
            } else {
                number > known
            }
        });
        if is_worse {
            worst = Some((number, value));
        }
    }
    is_computed.then(|| worst.map_or(Value::Null, |(_, value)| value.clone()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_worst_run_is_told() {
        let target = "recovery.time_to_recovery_ms";
        // An empty text stands for a run without an occasion.
        let scored = |values: &[Option<Value>]| {
            let mut card = Scorecard::new(values.len());
            for (run, value) in values.iter().enumerate() {
                match value {
                    Some(Value::String(_)) => card.set_no_occasion(run, target),
                    Some(value) => card.set_run(run, target, value.clone()),
                    None => {}
                }
            }
            card
        };
        let null = || Some(Value::Null);
        for (values, lowest, highest) in [
            (
                vec![Some(json!(1)), Some(json!(2.5))],
                Some(json!(1)),
                Some(json!(2.5)),
            ),
            (
                vec![Some(json!(2)), Some(json!(""))],
                Some(json!(2)),
                Some(json!(2)),
            ),
            (vec![Some(json!("")), Some(json!(""))], null(), null()),
            (vec![Some(json!(2)), null()], null(), null()),
            (vec![None, None], None, None),
        ] {
            let card = scored(&values);
            assert_eq!(worst(&card, target, true), lowest, "{values:?}");
            assert_eq!(worst(&card, target, false), highest, "{values:?}");
        }
    }
}
