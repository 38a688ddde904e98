//! Expectations against what was measured: the target of an expectation is the name of a metric's
//! target, with a path into it where it is a list, or a path into each run. What leads nowhere, is
//! unknown or was not computed is an error, under `not` too.

use mcprove_settings::phrase;
use mcprove_settings::registry::nearest;
use mcprove_trace::AgentTrace;
use serde_json::{Value, json};

use super::document::document;
use super::judge::{as_asked, compare};
use super::{Expectation, GateFailure, GateId, Path, PathError, ScoreError, Scorecard};
use crate::agent::{About, AnyMetric, Scope, Target};

/// Applies expectations to a trace; those that do not hold become failures on the card, those that
/// cannot be judged errors.
pub fn apply(
    trace: &AgentTrace,
    expectations: &[Expectation],
    metrics: &[&dyn AnyMetric],
    card: &mut Scorecard,
) {
    for expectation in expectations {
        match Named::find(&expectation.target, metrics) {
            Some(named) => apply_to_target(expectation, &named, card),
            None => apply_to_path(trace, expectation, metrics, card),
        }
    }
}

/// Keeps an error, and goes on: another run may fail for certain.
fn keep(judged: Result<(), ScoreError>, run: Option<usize>, card: &mut Scorecard) {
    if let Err(error) = judged {
        card.error(match run {
            Some(run) => error.of_run(run),
            None => error,
        });
    }
}

/// Applies an expectation to each run. One run at a time becomes a document, and only the part that the
/// path begins with: all of them would not fit into memory.
fn apply_to_path(
    trace: &AgentTrace,
    expectation: &Expectation,
    metrics: &[&dyn AnyMetric],
    card: &mut Scorecard,
) {
    let name = &expectation.target;
    let path = match Path::parse(name) {
        Ok(path) => path,
        Err(error) => {
            card.error(ScoreError::new(name, error.to_string(), error.hint()));
            return;
        }
    };
    for (index, run) in trace.runs.iter().enumerate() {
        let judged = match document(run, &path) {
            Some(document) => path
                .resolve(&document)
                .map_err(|error| {
                    ScoreError::new(name, error.to_string(), hint(name, &error, metrics))
                })
                .and_then(|value| check(expectation, &value, Some(index), card)),
            None => Err(unknown(name)),
        };
        keep(judged, Some(index), card);
    }
}

/// A target that an expectation names, and the way into its value.
struct Named {
    metric: &'static About,
    target: &'static Target,
    /// What follows the name: `[1]`, `.length`, or nothing.
    rest: String,
}

impl Named {
    /// Finds a target by its name, in either spelling, with or without a path into it.
    fn find(name: &str, metrics: &[&dyn AnyMetric]) -> Option<Self> {
        let end = name.find('[').unwrap_or(name.len());
        let (written, rest) = name.split_at(end);
        let spelt = written.replace('-', "_");
        let (spelt, length) = match spelt.strip_suffix(".length") {
            Some(spelt) => (spelt, ".length"),
            None => (spelt.as_str(), ""),
        };
        metrics.iter().find_map(|metric| {
            let metric = metric.about();
            let target = metric.targets.iter().find(|target| target.name == spelt)?;
            Some(Self {
                metric,
                target,
                rest: format!("{length}{rest}"),
            })
        })
    }

    /// What the path leads to inside the target's value.
    fn follow(&self, value: &Value) -> Result<Value, ScoreError> {
        if self.rest.is_empty() {
            return Ok(value.clone());
        }
        // The value stands under a key of its own, so that the way begins with one.
        let found = Path::parse(&format!("value{}", self.rest))
            .and_then(|path| path.resolve(&json!({ "value": value })));
        found.map_err(|error| ScoreError::new(self.target.name, error.to_string(), error.hint()))
    }
}

fn apply_to_target(expectation: &Expectation, named: &Named, card: &mut Scorecard) {
    let name = named.target.name;
    if named.target.scope == Scope::Overall {
        let judged = apply_to_all(expectation, named, card);
        keep(judged, None, card);
        return;
    }
    let runs = 0..card.runs.len();
    if runs.clone().all(|run| !card.is_applicable(run, name)) {
        card.error(not_applicable(name));
        return;
    }
    if runs.clone().all(|run| card.run_value(run, name).is_none()) {
        let judged = not_computed(named, card);
        keep(judged, None, card);
        return;
    }
    for run in runs
        .filter(|run| card.is_applicable(*run, name))
        .collect::<Vec<_>>()
    {
        let judged = match card.run_value(run, name) {
            None => not_computed(named, card),
            Some(Value::Null) if card.has_never_happened(run, name) => {
                card.found.fail(never(expectation, run));
                Ok(())
            }
            Some(Value::Null) if has_error(named.metric, Some(run), card) => Ok(()),
            Some(Value::Null) => Err(unknown(name)),
            Some(value) => named.follow(value).and_then(|value| {
                check(expectation, &as_asked(expectation, value), Some(run), card)
            }),
        };
        keep(judged, Some(run), card);
    }
}

fn apply_to_all(
    expectation: &Expectation,
    named: &Named,
    card: &mut Scorecard,
) -> Result<(), ScoreError> {
    let (name, runs_min) = (named.target.name, named.metric.runs_min);
    let runs = card.runs.len();
    match card.value(name) {
        _ if runs < runs_min && !has_error(named.metric, None, card) => {
            Err(too_few_runs(name, runs, runs_min))
        }
        None => not_computed(named, card),
        Some(Value::Null) => Err(unknown(name)),
        Some(value) => {
            let value = as_asked(expectation, named.follow(value)?);
            check(expectation, &value, None, card)
        }
    }
}

/// Whether it was said already why a metric has no numbers, of this run or of any.
fn has_error(metric: &About, run: Option<usize>, card: &Scorecard) -> bool {
    let is_of_run = |error: &&ScoreError| run.is_none() || error.run.is_none() || error.run == run;
    let errors = card.found.errors.iter().filter(is_of_run);
    let mut targets = errors.filter_map(|error| error.target.as_deref());
    targets.any(|target| target.split('.').next() == Some(metric.name))
}

/// Holds a value against an expectation.
fn check(
    expectation: &Expectation,
    value: &Value,
    run: Option<usize>,
    card: &mut Scorecard,
) -> Result<(), ScoreError> {
    if let Some(failure) = compare(expectation, value)? {
        let gate = Some(GateId::Target(expectation.target.clone()));
        card.found.fail(GateFailure {
            run,
            gate,
            ..failure
        });
    }
    Ok(())
}

fn never(expectation: &Expectation, run: usize) -> GateFailure {
    let matcher = &expectation.matcher;
    let message = format!("expected {}, but it never happened", matcher.describe());
    GateFailure {
        gate: Some(GateId::Target(expectation.target.clone())),
        ..GateFailure::of_run(
            run,
            &expectation.target,
            matcher.to_value(),
            Value::Null,
            message,
        )
    }
}

fn unknown(name: &str) -> ScoreError {
    ScoreError::new(
        name,
        "its value is not known, so that it cannot be judged",
        "the trace does not tell it; record it, or gate something else",
    )
}

fn not_applicable(name: &str) -> ScoreError {
    ScoreError::new(
        name,
        "no run gave an occasion for it, so that it cannot be judged",
        "check that the traces are those of the case that you mean",
    )
}

fn too_few_runs(name: &str, runs: usize, wanted: usize) -> ScoreError {
    let count = |runs: usize| phrase::count(u64::try_from(runs).unwrap_or(u64::MAX), "run");
    ScoreError::new(
        name,
        format!("it takes {}, and there is {}", count(wanted), count(runs)),
        "give more traces, or gate a target of each run, which stands under `runs` in the JSON",
    )
}

/// An error about what was not computed, unless it was said already why.
fn not_computed(named: &Named, card: &Scorecard) -> Result<(), ScoreError> {
    if has_error(named.metric, None, card) {
        return Ok(());
    }
    let block = named.metric.name;
    Err(ScoreError::new(
        named.target.name,
        "it was not computed for this trace",
        format!(
            "it needs a `{block}` block in the gates, and a trace that has what the block asks about"
        ),
    ))
}

/// What to try when a path leads nowhere: perhaps a target was meant.
fn hint(name: &str, error: &PathError, metrics: &[&dyn AnyMetric]) -> String {
    let known = metrics.iter().flat_map(|metric| metric.about().targets);
    match nearest(known.map(|target| target.name), name) {
        Some(close) => format!("did you mean {close:?}?"),
        None => error.hint().to_owned(),
    }
}

#[cfg(test)]
mod tests;
