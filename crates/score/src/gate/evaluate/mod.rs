//! Expectations against what was measured: the target of an expectation is the name of a metric's
//! target, with a path into it where it is a list, or a path into each run. What leads nowhere, is
//! unknown or was not computed is an error, under `not` too.

use super::document::document;
use super::path::kind;
use crate::prelude::*;

/// The outcome of holding a value against an expectation.
type Judgement = ScoreResult<Option<GateFailure>>;

/// Applies expectations to a trace; those that do not hold become failures on the card, those that
/// cannot be judged errors.
pub fn apply(
    trace: &AgentTrace,
    expectations: &[Expectation],
    metrics: &[&dyn AnyMetric],
    card: &mut Scorecard,
) {
    for expectation in expectations {
        let judged = match Named::find(&expectation.target, metrics) {
            Some(named) => named.judge(expectation, card),
            None => judge_path(trace, expectation, metrics),
        };
        for (run, judged) in judged {
            match judged {
                Ok(None) => {}
                Ok(Some(failure)) => card.found.fail(GateFailure {
                    run,
                    gate: Some(GateId::Target(expectation.target.clone())),
                    ..failure
                }),
                // Kept, and gone on from: another run may fail for certain.
                Err(error) => card.error(ScoreError { run, ..error }),
            }
        }
    }
}

/// Applies an expectation to each run. One run at a time becomes a document, and only the part that the
/// path begins with: all of them would not fit into memory.
fn judge_path(
    trace: &AgentTrace,
    expectation: &Expectation,
    metrics: &[&dyn AnyMetric],
) -> Vec<(Option<usize>, Judgement)> {
    let name = &expectation.target;
    let path = match Path::parse(name) {
        Ok(path) => path,
        Err(error) => return vec![(None, Err(ScoreError::new(name, error.message, error.hint)))],
    };
    let judge = |(index, run): (usize, &AgentRun)| {
        let judged = document(run, &path)
            .ok_or_else(|| unknown(name))
            .and_then(|document| {
                let value = path.resolve(&document).map_err(|error| ScoreError {
                    hint: hint(name, &error, metrics),
                    ..ScoreError::new(name, error.message, error.hint)
                })?;
                compare(expectation, &value)
            });
        (Some(index), judged)
    };
    trace.runs.iter().enumerate().map(judge).collect()
}

/// A target that an expectation names, and the way into its value.
pub struct Named {
    metric: &'static About,
    pub target: &'static Target,
    /// What follows the name: `[1]`, `.length`, or nothing.
    pub rest: String,
}

impl Named {
    /// Finds a target by its name, in either spelling, with or without a path into it.
    pub fn find(name: &str, metrics: &[&dyn AnyMetric]) -> Option<Self> {
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
    fn follow(&self, value: &Value) -> ScoreResult<Value> {
        if self.rest.is_empty() {
            return Ok(value.clone());
        }
        // The value stands under a key of its own, so that the way begins with one.
        let found = Path::parse(&format!("value{}", self.rest))
            .and_then(|path| path.resolve(&json!({ "value": value })));
        found.map_err(|error| ScoreError::new(self.target.name, error.message, error.hint))
    }

    fn judge(
        &self,
        expectation: &Expectation,
        card: &Scorecard,
    ) -> Vec<(Option<usize>, Judgement)> {
        let name = self.target.name;
        if self.target.scope == Scope::Overall {
            return vec![(None, self.judge_all(expectation, card))];
        }
        let runs = 0..card.runs.len();
        if runs.clone().all(|run| !card.is_applicable(run, name)) {
            let error = ScoreError::new(
                name,
                "not applicable in any run, so it cannot be judged",
                "check that these are the right traces",
            );
            return vec![(None, Err(error))];
        }
        if runs.clone().all(|run| card.run_value(run, name).is_none()) {
            return vec![(None, self.not_computed(card))];
        }
        let judge = |run| match card.run_value(run, name) {
            None => self.not_computed(card),
            Some(Value::Null) if card.has_never_happened(run, name) => {
                let matcher = &expectation.matcher;
                Ok(Some(GateFailure {
                    target: expectation.target.clone(),
                    expected: matcher.to_value(),
                    message: sentence!("expected {}, but it never happened", matcher.describe()),
                    ..GateFailure::default()
                }))
            }
            Some(Value::Null) if has_error(self.metric, Some(run), card) => Ok(None),
            Some(value) => self.compare(expectation, value),
        };
        runs.filter(|run| card.is_applicable(*run, name))
            .map(|run| (Some(run), judge(run)))
            .collect()
    }

    fn judge_all(&self, expectation: &Expectation, card: &Scorecard) -> Judgement {
        let (name, runs_min) = (self.target.name, self.metric.runs_min);
        let runs = card.runs.len();
        match card.value(name) {
            _ if runs < runs_min && !has_error(self.metric, None, card) => {
                let [wanted, runs] = [runs_min, runs].map(|runs| counted(count(runs), "run"));
                Err(ScoreError::new(
                    name,
                    format!("needs {wanted}, got {runs}"),
                    sentence!(
                        "give more traces, or gate a target of each run, which is under `runs` in the JSON"
                    ),
                ))
            }
            None => self.not_computed(card),
            Some(value) => self.compare(expectation, value),
        }
    }

    fn compare(&self, expectation: &Expectation, value: &Value) -> Judgement {
        if value.is_null() {
            return Err(unknown(self.target.name));
        }
        compare(expectation, &as_asked(expectation, self.follow(value)?))
    }

    /// An error about what was not computed, unless it was said already why.
    fn not_computed(&self, card: &Scorecard) -> Judgement {
        if has_error(self.metric, None, card) {
            return Ok(None);
        }
        Err(ScoreError::new(
            self.target.name,
            "it was not computed for this trace",
            sentence!(
                "it needs a `{}` block in the gates, and a trace that has what the block asks about",
                self.metric.name
            ),
        ))
    }
}

/// Whether it was said already why a metric has no numbers, of this run or of any.
fn has_error(metric: &About, run: Option<usize>, card: &Scorecard) -> bool {
    let is_of_run = |error: &&ScoreError| run.is_none() || error.run.is_none() || error.run == run;
    card.found
        .errors
        .iter()
        .filter(is_of_run)
        .filter_map(|error| error.target.as_deref())
        .any(|target| target.split('.').next() == Some(metric.name))
}

fn unknown(name: &str) -> ScoreError {
    ScoreError::new(
        name,
        "its value is not known, so that it cannot be judged",
        "the trace does not have it; record it, or gate something else",
    )
}

/// What to try when a path leads nowhere: perhaps a target was meant.
fn hint(name: &str, error: &Diagnostic, metrics: &[&dyn AnyMetric]) -> Message {
    let known = metrics.iter().flat_map(|metric| metric.about().targets);
    let close = nearest(known.map(|target| target.name), name);
    meant(close, error.hint.clone())
}

// One expectation against one value.

/// Bytes of a value, as JSON, that a failure shows.
const SHOWN_BYTES_MAX: usize = 4096;

/// Holds what an expectation's target, a path, leads to in a document against the expectation: what does
/// not hold, or nothing. A path that leads nowhere is an error, under `not` too. `flags` are the
/// targets whose 1 and 0 may be asked for as `true` and `false`.
///
/// ```
/// use mcprove_score::gate::{Expectation, Matcher, judge};
/// use serde_json::json;
///
/// let expectation = |target: &str, matcher| Expectation {
///     target: target.into(),
///     matcher: Matcher::from_value(&matcher).unwrap(),
/// };
/// let document = json!({ "is_error": false, "result": { "content": [] } });
/// let held = judge(&expectation("is_error", json!({ "exact": false })), &document, &[]);
/// assert_eq!(held, Ok(None));
/// let failure = judge(&expectation("is_error", json!({ "exact": true })), &document, &[]);
/// assert_eq!(failure.unwrap().unwrap().message, "expected true, got false");
/// let nowhere = expectation("result.contents", json!({ "not": { "exact": 1 } }));
/// assert!(judge(&nowhere, &document, &[]).is_err());
/// ```
pub fn judge(
    expectation: &Expectation,
    document: &Value,
    flags: &[&str],
) -> ScoreResult<Option<GateFailure>> {
    let target = &expectation.target;
    let value = Path::parse(target)
        .and_then(|path| path.resolve(document))
        .map_err(|error| ScoreError::new(target, error.message, error.hint))?;
    if flags.contains(&target.as_str()) {
        compare(expectation, &as_asked(expectation, value))
    } else {
        compare(expectation, &value)
    }
}

/// Flags are 1 and 0, and who asks for `true` or `false` means just that.
fn as_asked(expectation: &Expectation, value: Value) -> Value {
    let asks_for_flag = asks_for_flag(&expectation.matcher.to_value());
    match value.as_u64() {
        Some(0) if asks_for_flag => Value::Bool(false),
        Some(1) if asks_for_flag => Value::Bool(true),
        _ => value,
    }
}

/// Whether a matcher compares with `true` or `false`.
fn asks_for_flag(matcher: &Value) -> bool {
    const COMPARING: &str = "exact one_of const enum not all_of any_of schema";
    match matcher {
        Value::Bool(_) => true,
        Value::Array(parts) => parts.iter().any(asks_for_flag),
        Value::Object(parts) => parts
            .iter()
            .any(|(name, part)| has_word(COMPARING, name) && asks_for_flag(part)),
        _ => false,
    }
}

/// Holds a value against an expectation: what does not hold, or nothing.
fn compare(expectation: &Expectation, value: &Value) -> ScoreResult<Option<GateFailure>> {
    let target = &expectation.target;
    let matcher = &expectation.matcher;
    match matcher.answer(value) {
        Answer::Yes => return Ok(None),
        Answer::No | Answer::NoByKind => {}
        Answer::Nothing => {
            return Err(ScoreError::new(
                target,
                sentence!(
                    "the value is {}, and the matcher ({}) is about another kind of value, so \
                     that it would prove nothing",
                    kind(value),
                    matcher.describe().edited(phrase::text)
                ),
                hint_for_kind(value),
            ));
        }
    }
    let Err(difference) = matcher.matches(value) else {
        return Ok(None);
    };
    Ok(Some(GateFailure {
        target: target.clone(),
        place: (!difference.path.is_empty()).then(|| format!("{target}{}", difference.path)),
        expected: shown(difference.expected),
        actual: shown(difference.actual),
        message: difference.message,
        ..GateFailure::default()
    }))
}

/// A value that is not too large to be shown, or how large it is and how it begins.
fn shown(value: Value) -> Value {
    let text = value.to_string();
    if text.len() <= SHOWN_BYTES_MAX {
        return value;
    }
    let size = whole(count(text.len()));
    Value::String(format!("{} ({size} bytes of JSON)", phrase::text(&text)))
}

fn hint_for_kind(value: &Value) -> Message {
    match value {
        Value::Array(_) => {
            sentence!(
                "of a list, `contains` asks for an element and `schema: {{ items: … }}` asks all of them"
            )
        }
        Value::Object(_) => {
            sentence!("of a map, `contains: {{ key: … }}` asks for some of its keys")
        }
        Value::Number(_) => {
            sentence!("of a number, `exact`, `one_of` and `schema: {{ minimum: … }}` say something")
        }
        _ => sentence!("of a text, `contains`, `regex` and `exact` say something"),
    }
}

#[cfg(test)]
mod tests;
