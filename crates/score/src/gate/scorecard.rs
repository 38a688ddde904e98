//! Where metrics put their numbers, and gates their failures.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What came of scoring a trace: what `mcprove score --json` prints (format `score.v1`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScoreReport {
    /// Whether every gate could be judged, and held.
    pub passed: bool,
    /// The value of each target: over all runs, or of the worst run. Null is unknown, or never.
    pub targets: BTreeMap<String, Value>,
    /// The values of each run.
    pub runs: Vec<RunTargets>,
    /// The gates that did not hold.
    pub failures: Vec<GateFailure>,
    /// What could not be judged. Where there is any, nothing is proven.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<ScoreError>,
    /// What a reader should know of the numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// The values of one run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunTargets {
    /// The file that the run is from, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The value of each target.
    pub targets: BTreeMap<String, Value>,
    /// What was found, each a sentence: mismatches, divergences, loops.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub found: Vec<String>,
    /// The same for programs, by metric.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub details: BTreeMap<String, Value>,
}

/// A gate that did not hold.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateFailure {
    /// What was gated.
    pub target: String,
    /// Where inside the target the first difference is, where it is not the whole:
    /// `tool_calls[0].args.city`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// What it must be, at that place.
    pub expected: Value,
    /// What it is, at that place.
    pub actual: Value,
    /// Both in plain words, and what to look at.
    pub message: String,
    /// The place of the run, where it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<usize>,
}

/// Why a trace could not be judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScoreError {
    /// What was to be judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The place of the run, where it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<usize>,
    /// What is wrong.
    pub message: String,
    /// What to try.
    pub hint: String,
}

impl std::fmt::Display for ScoreError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(target) = &self.target {
            write!(formatter, "{target}")?;
            if let Some(run) = self.run {
                write!(formatter, " of run {run}")?;
            }
            formatter.write_str(": ")?;
        }
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for ScoreError {}

impl ScoreError {
    /// Whether the evidence is not enough, rather than something wrong: the message begins with that word.
    pub fn is_inconclusive(&self) -> bool {
        self.message.starts_with("inconclusive")
    }

    /// An error about `target`.
    pub fn new(
        target: impl Into<String>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self {
            target: Some(target.into()),
            run: None,
            message: message.into(),
            hint: hint.into(),
        }
    }

    /// The same, about one run.
    #[must_use]
    pub fn of_run(mut self, run: usize) -> Self {
        self.run = Some(run);
        self
    }
}

/// What the metrics found so far.
#[derive(Debug, Clone, Default)]
pub struct Scorecard {
    /// Values over all runs.
    pub(crate) overall: BTreeMap<String, Value>,
    /// Values of each run.
    pub runs: Vec<RunTargets>,
    /// Gates that did not hold.
    pub failures: Vec<GateFailure>,
    /// What could not be judged.
    pub errors: Vec<ScoreError>,
    /// What a reader should know.
    pub notes: Vec<String>,
    /// The runs, by target, in which something never happened that the target is the time of.
    nevers: BTreeSet<(String, usize)>,
    /// The runs, by target, that gave no occasion for what the target is about.
    no_occasions: BTreeSet<(String, usize)>,
}

/// What is told of one run, before the rest is only counted.
const FOUND_MAX: usize = 20;

impl Scorecard {
    /// An empty card for so many runs.
    pub fn new(runs: usize) -> Self {
        Self {
            runs: vec![RunTargets::default(); runs],
            ..Self::default()
        }
    }

    /// Notes the value of a target over all runs.
    pub fn set(&mut self, target: &str, value: impl Into<Value>) {
        self.overall.insert(target.into(), value.into());
    }

    /// Notes the value of a target of one run.
    pub fn set_run(&mut self, run: usize, target: &str, value: impl Into<Value>) {
        if let Some(targets) = self.runs.get_mut(run) {
            targets.targets.insert(target.into(), value.into());
        }
    }

    /// Notes that what a target is the time of never happened in one run: its value is null, and no
    /// gate on it holds.
    pub fn set_never(&mut self, run: usize, target: &str) {
        self.set_run(run, target, Value::Null);
        self.nevers.insert((target.into(), run));
    }

    /// Whether what a target is the time of never happened in one run.
    pub fn is_never(&self, run: usize, target: &str) -> bool {
        self.nevers.contains(&(target.to_owned(), run))
    }

    /// Notes that one run gave no occasion for what a target is about: its value is null, and neither
    /// gates nor the worst of the runs look at it.
    pub fn set_no_occasion(&mut self, run: usize, target: &str) {
        self.set_run(run, target, Value::Null);
        self.no_occasions.insert((target.into(), run));
    }

    /// Whether one run gave an occasion for what a target is about.
    pub fn has_occasion(&self, run: usize, target: &str) -> bool {
        !self.no_occasions.contains(&(target.to_owned(), run))
    }

    /// Tells what was found in one run, in a whole sentence that names the call; nothing is gated on
    /// it. Only the first few are kept.
    pub fn found(&mut self, run: usize, sentence: impl Into<String>) {
        if let Some(targets) = self.runs.get_mut(run) {
            match targets.found.len() {
                length if length < FOUND_MAX => targets.found.push(sentence.into()),
                FOUND_MAX => targets.found.push("and more of this kind".into()),
                _ => {}
            }
        }
    }

    /// Notes what was found in one run, for programs; nothing is gated on it.
    pub fn detail(&mut self, run: usize, name: &str, value: impl Serialize) {
        if let Some(targets) = self.runs.get_mut(run)
            && let Ok(value) = serde_json::to_value(value)
        {
            targets.details.insert(name.into(), value);
        }
    }

    /// Notes that a gate did not hold.
    pub fn fail(&mut self, failure: GateFailure) {
        self.failures.push(failure);
    }

    /// Notes that something could not be judged.
    pub fn error(&mut self, error: ScoreError) {
        if !self.errors.contains(&error) {
            self.errors.push(error);
        }
    }

    /// Tells the reader something about the numbers, once.
    pub fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// What came of it all.
    pub(super) fn into_report(self) -> ScoreReport {
        ScoreReport {
            passed: self.failures.is_empty() && self.errors.is_empty(),
            targets: self.overall,
            runs: self.runs,
            failures: self.failures,
            errors: self.errors,
            notes: self.notes,
        }
    }

    /// The value of a target over all runs.
    pub fn value(&self, target: &str) -> Option<&Value> {
        self.overall.get(target)
    }

    /// The value of a target of one run.
    pub fn run_value(&self, run: usize, target: &str) -> Option<&Value> {
        self.runs.get(run)?.targets.get(target)
    }
}
