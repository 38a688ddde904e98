//! Scoring a trace: every metric, then every gate.

use super::evaluate;
use crate::prelude::*;

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
/// assert!(report.passed, "no gates");
/// ```
pub fn score(trace: &AgentTrace, gates: &Gates) -> ScoreReport {
    score_with_notes(trace, gates, METRICS, &|_| true)
}

/// The same, with these metrics besides: see [`Metric`](crate::agent::Metric).
pub fn score_with(trace: &AgentTrace, gates: &Gates, own: &[&dyn AnyMetric]) -> ScoreReport {
    score_with_notes(trace, gates, &with_own(own), &|_| true)
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
    score_with_notes(trace, gates, METRICS, &|metric| is_gated(metric, gates))
}

/// Whether a gate looks at the metric: its block, or an expectation of a target of it.
fn is_gated(metric: &About, gates: &Gates) -> bool {
    let mut targets = gates.expectations().map(|expectation| &expectation.target);
    gates.get(metric.name).is_some() || targets.any(|target| metric.has_target(target))
}

/// Whether every gate holds; `None` where that cannot be judged. Metrics that no gate looks at are not
/// computed.
///
/// ```
/// use mcprove_score::agent::narrative::{Narrative, NarrativeBlock};
/// use mcprove_score::gate::{Gates, passes};
/// use mcprove_import::import;
///
/// let trace = import(r#"{"tool_calls":[],"final_response":"I created the issue."}"#).unwrap().trace;
/// assert_eq!(passes(&trace, &Gates::default()), Some(true));
/// let gates = Gates::default().with(&Narrative, NarrativeBlock::default());
/// assert_eq!(passes(&trace, &gates), Some(false));
/// ```
pub fn passes(trace: &AgentTrace, gates: &Gates) -> Option<bool> {
    let is_asked_for = |metric: &&dyn AnyMetric| is_gated(metric.about(), gates);
    let metrics: Vec<&dyn AnyMetric> = METRICS.iter().copied().filter(is_asked_for).collect();
    let report = score_with_notes(trace, gates, &metrics, &|_| true);
    report.errors.is_empty().then_some(report.passed)
}

fn score_with_notes(
    trace: &AgentTrace,
    gates: &Gates,
    metrics: &[&dyn AnyMetric],
    is_noted: &dyn Fn(&About) -> bool,
) -> ScoreReport {
    let mut card = Scorecard::new(trace.runs.len());
    if trace.runs.is_empty() {
        card.error(ScoreError {
            message: "the trace has no runs".into(),
            hint: "record at least one run, or check that it is the right file".into(),
            ..ScoreError::default()
        });
        return card.into_report();
    }
    for block in gates.blocks() {
        let name = block.about.name;
        if metrics.iter().all(|metric| metric.about().name != name) {
            // Its metric comes from elsewhere, and was not given.
            card.error(ScoreError::new(
                name,
                "the gates have a block of this metric, and it was not scored",
                "give the metric to score_with",
            ));
        }
    }
    let mut offered = Vec::new();
    for metric in metrics {
        let notes = card.found.notes.len();
        if let Err(error) = metric.score_under(gates, trace, &mut card) {
            card.error(error);
        }
        if !is_noted(metric.about()) {
            card.found.notes.truncate(notes);
        }
        aggregate_worst_run(metric.about(), &mut card);
        let default_gate = std::mem::take(&mut card.default_gate);
        offered.push((default_gate, std::mem::take(&mut card.limits)));
    }
    for (metric, (default_gate, limits)) in metrics.iter().zip(offered) {
        let Some(block) = gates.get(metric.about().name) else {
            continue;
        };
        if let Some(expectations) = &block.expect {
            evaluate::apply(trace, expectations, metrics, &mut card);
        } else if block.is_default() {
            let name = block.about.name;
            card.found.adopt(default_gate, |_| GateId::Default(name));
        }
        card.found
            .adopt(limits, |failure| GateId::Target(failure.target.clone()));
    }
    evaluate::apply(trace, &gates.expect, metrics, &mut card);
    card.into_report()
}

/// Puts the worst run's value of each target among those over all runs. What is null in one run is
/// null: unknown, or never, is worse than any number.
fn aggregate_worst_run(metric: &About, card: &mut Scorecard) {
    for target in metric.targets {
        // A metric may sum up its runs itself.
        if target.scope == Scope::Overall || card.overall.contains_key(target.name) {
            continue;
        }
        if let Some(worst) = worst(card, target) {
            card.set(target.name, worst);
        }
    }
}

/// The worst value of a target over the runs that gave an occasion for it, null where none did;
/// `None` where the target was not computed.
fn worst(card: &Scorecard, target: &Target) -> Option<Value> {
    let computed: Vec<(usize, &Value)> = card
        .runs
        .iter()
        .enumerate()
        .filter_map(|(run, targets)| Some((run, targets.targets.get(target.name)?)))
        .collect();
    let numbers: Option<Vec<(f64, &Value)>> = computed
        .iter()
        .filter(|(run, _)| card.is_applicable(*run, target.name))
        .map(|(_, value)| Some((value.as_f64()?, *value)))
        .collect();
    // The first of those that are equally bad.
    let worst = numbers.into_iter().flatten().reduce(|worst, other| {
        let is_worse = match target.scope {
            Scope::RunLowest => other.0 < worst.0,
            _ => other.0 > worst.0,
        };
        if is_worse { other } else { worst }
    });
    (!computed.is_empty()).then(|| worst.map_or(Value::Null, |(_, value)| value.clone()))
}

#[cfg(test)]
mod tests {
    use mcprove_trace::AgentRun;
    use serde_json::json;

    use super::*;
    use crate::agent::{Case, Metric, Target};
    use crate::gate::{Expectation, Matcher, RunCard};

    /// A metric from elsewhere: how many calls a run has.
    struct Calls;

    impl Metric for Calls {
        type Block = ();

        const ABOUT: About = About {
            name: "calls",
            explanation: "how many calls there are",
            targets: &[Target::highest("calls.count", "the calls of the run")],
            default_gate: "no calls",
            ..About::PLAIN
        };

        fn score_run(
            &self,
            run: &AgentRun,
            _case: &Case<'_, ()>,
            card: &mut RunCard<'_>,
        ) -> ScoreResult {
            let calls = run.tool_calls.len();
            card.set("calls.count", calls);
            if calls > 0 {
                card.fail("calls.count", 0, calls, "there are calls");
            }
            Ok(())
        }
    }

    #[test]
    fn a_metric_from_elsewhere_is_gated_like_the_others() {
        let run: AgentRun = serde_json::from_value(json!({"tool_calls": [{"name": "a"}]})).unwrap();
        let trace = AgentTrace::new(vec![run, AgentRun::default()]);
        let report = score_with(&trace, &Gates::default(), &[&Calls]);
        assert_eq!(
            (report.passed, &report.targets["calls.count"]),
            (true, &json!(1))
        );
        let gates = Gates::default().with(&Calls, ());
        let report = score_with(&trace, &gates, &[&Calls]);
        assert_eq!(report.failures.len(), 1);
        assert_eq!(report.failures[0].gate, Some(GateId::Default("calls")));
        assert_eq!(report.failures[0].run, Some(0));
        // Without the metric nobody can tell.
        let report = score(&trace, &gates);
        assert_eq!((report.passed, report.errors.len()), (false, 1));
        // An expectation replaces its default gate.
        let expect = vec![Expectation {
            target: "calls.count".into(),
            matcher: Matcher::from_value(&json!({ "one_of": [0, 1] })).unwrap(),
        }];
        let gates = Gates::default().expecting(&Calls, (), expect);
        assert!(score_with(&trace, &gates, &[&Calls]).passed);
    }

    #[test]
    fn the_worst_run_is_told() {
        let target = "recovery.time_to_recovery_ms";
        // An empty text stands for a run without an occasion.
        let scored = |values: &[Option<Value>]| {
            let mut card = Scorecard::new(values.len());
            for (run, value) in values.iter().enumerate() {
                match value {
                    Some(Value::String(_)) => {
                        card.run(&About::PLAIN, run).set_not_applicable(target);
                    }
                    Some(value) => card.run(&About::PLAIN, run).set(target, value.clone()),
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
            assert_eq!(
                worst(&card, &Target::lowest(target, "")),
                lowest,
                "{values:?}"
            );
            assert_eq!(
                worst(&card, &Target::highest(target, "")),
                highest,
                "{values:?}"
            );
        }
    }
}
