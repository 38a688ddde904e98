//! Where metrics put their numbers, and gates their failures.

use crate::prelude::*;

/// The outcome of scoring a trace: what `mcprove score --json` prints (format `score.v1`).
#[sparse]
#[data(Default)]
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
    #[sparse]
    pub errors: Vec<ScoreError>,
    /// What a reader should know of the numbers.
    #[sparse]
    pub notes: Vec<Message>,
}

/// The values of one run.
#[sparse]
#[data(Default)]
pub struct RunTargets {
    /// The file that the run is from, where there is one.
    pub file: Option<String>,
    /// The value of each target.
    pub targets: BTreeMap<String, Value>,
    /// What was found, each a sentence: mismatches, divergences, loops.
    #[sparse]
    pub found: Vec<Message>,
    /// The same for programs, by metric.
    #[sparse]
    pub details: BTreeMap<String, Value>,
}

/// A gate that did not hold.
#[sparse]
#[data(Default)]
pub struct GateFailure {
    /// What was gated.
    pub target: String,
    /// Where inside the target the first difference is, where it is not the whole:
    /// `tool_calls[0].args.city`.
    pub place: Option<String>,
    /// What it must be, at that place.
    pub expected: Value,
    /// What it is, at that place.
    pub actual: Value,
    /// Both in plain words.
    pub message: Message,
    /// What to look at.
    #[serde(default, skip_serializing_if = "Message::is_empty")]
    pub hint: Message,
    /// The place of the run, where it is about one.
    pub run: Option<usize>,
    /// Which gate it is of, where it is one over agent traces; no part of the JSON.
    #[serde(skip)]
    pub gate: Option<GateId>,
}

/// What identifies a gate.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum GateId {
    /// The default gate of a block.
    Default(&'static str),
    /// An expectation of a target, or a limit on one.
    Target(String),
}

impl GateFailure {
    /// What happened, and after it what to look at.
    #[cfg(test)]
    pub fn with_hint(&self) -> String {
        format!("{}; {}", self.message.rendered(), self.hint.rendered())
    }

    /// That the target of one run is not what it must be.
    pub fn of_run(
        run: usize,
        target: &str,
        expected: impl Into<Value>,
        actual: impl Into<Value>,
        what: impl Into<Diagnostic>,
    ) -> Self {
        let what = what.into();
        Self {
            target: target.to_owned(),
            expected: expected.into(),
            actual: actual.into(),
            message: what.sentence(),
            hint: what.hint,
            run: Some(run),
            ..Self::default()
        }
    }
}

/// What a metric or a gate comes to, unless it cannot be judged.
pub type ScoreResult<T = ()> = Result<T, ScoreError>;

/// Why a trace could not be judged.
#[sparse]
#[data(Eq, Default)]
pub struct ScoreError {
    /// What was to be judged.
    pub target: Option<String>,
    /// The place of the run, where it is about one.
    pub run: Option<usize>,
    /// Whether the evidence is not enough, rather than something wrong.
    #[sparse]
    pub inconclusive: bool,
    /// What is wrong.
    pub message: Message,
    /// What to try.
    pub hint: Message,
}

impl std::fmt::Display for ScoreError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.target, self.run) {
            (Some(target), Some(run)) => write!(formatter, "{target} of run {run}: ")?,
            (Some(target), None) => write!(formatter, "{target}: ")?,
            (None, Some(run)) => write!(formatter, "run {run}: ")?,
            (None, None) => {}
        }
        formatter.write_str(&self.message.rendered())
    }
}

impl std::error::Error for ScoreError {}

impl UserError for ScoreError {
    fn hint(&self) -> Message {
        self.hint.clone()
    }
}

impl From<Diagnostic> for ScoreError {
    fn from(error: Diagnostic) -> Self {
        Self {
            message: error.sentence(),
            hint: error.hint,
            ..Self::default()
        }
    }
}

impl ScoreError {
    /// An error about `target`.
    pub fn new(
        target: impl Into<String>,
        message: impl Into<Message>,
        hint: impl Into<Message>,
    ) -> Self {
        Self {
            target: Some(target.into()),
            ..Diagnostic::new(message, hint).into()
        }
    }

    /// The same, because the evidence is not enough.
    pub fn inconclusive(self) -> Self {
        Self {
            inconclusive: true,
            message: sentence!("inconclusive: {}", self.message),
            ..self
        }
    }

    /// The same, about one run.
    pub fn of_run(mut self, run: usize) -> Self {
        self.run = Some(run);
        self
    }
}

/// What the metrics found so far.
#[derive(Debug, Clone, Default)]
pub struct Scorecard {
    /// Values over all runs.
    pub overall: BTreeMap<String, Value>,
    /// Values of each run.
    pub runs: Vec<RunTargets>,
    /// What holds for certain.
    pub found: Findings,
    /// What the default gate of the metric finds: it counts where the metric has a block without
    /// expectations of its own.
    pub default_gate: Findings,
    /// What other limits of the metric's block find: it counts where there is a block.
    pub limits: Findings,
    /// What a reader should know of some runs: how it begins and ends, and the runs.
    pub run_notes: Vec<([&'static str; 2], Vec<usize>)>,
    /// Why targets have no value in a run, where that is known.
    pub absent: BTreeMap<(String, usize), Absence>,
}

/// Why a target has no value in a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Absence {
    /// What it is the time of never happened: no gate on it holds.
    Never,
    /// What it is about could not come up: neither gates nor the worst of the runs look at it.
    NotApplicable,
}

/// The targets of a metric that are fields of a report, with their values; what is true or false is 1 or 0.
pub fn targets_in(about: &'static About, report: &impl Serialize) -> Vec<(&'static str, Value)> {
    let report = serde_json::to_value(report).unwrap_or_default();
    let value = |target: &'static Target| {
        let field = target.name.rsplit('.').next()?;
        let value = match report.get(field)? {
            Value::Bool(is_true) => u8::from(*is_true).into(),
            other => other.clone(),
        };
        Some((target.name, value))
    };
    about.targets.iter().filter_map(value).collect()
}

/// What gates found.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    /// Gates that did not hold.
    pub failures: Vec<GateFailure>,
    /// What could not be judged.
    pub errors: Vec<ScoreError>,
    /// What a reader should know.
    pub notes: Vec<Message>,
}

impl Findings {
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
    pub fn note(&mut self, note: impl Into<Message>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Adds what others found of a gate.
    pub fn adopt(&mut self, other: Self, gate: impl Fn(&GateFailure) -> GateId) {
        for failure in other.failures {
            let gate = Some(gate(&failure));
            self.fail(GateFailure { gate, ..failure });
        }
        other.errors.into_iter().for_each(|error| self.error(error));
        other.notes.into_iter().for_each(|note| self.note(note));
    }
}

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

    /// Notes the targets of a metric over all runs that are fields of a report.
    pub fn put(&mut self, about: &'static About, report: &impl Serialize) {
        for (target, value) in targets_in(about, report) {
            self.set(target, value);
        }
    }

    /// Whether what a target is the time of never happened in one run.
    pub fn has_never_happened(&self, run: usize, target: &str) -> bool {
        self.absent.get(&(target.to_owned(), run)) == Some(&Absence::Never)
    }

    /// Whether what a target is about could come up in one run.
    pub fn is_applicable(&self, run: usize, target: &str) -> bool {
        self.absent.get(&(target.to_owned(), run)) != Some(&Absence::NotApplicable)
    }

    /// Notes that something could not be judged.
    pub fn error(&mut self, error: ScoreError) {
        self.found.error(error);
    }

    /// Tells the reader something about the numbers, once.
    pub fn note(&mut self, note: impl Into<Message>) {
        self.found.note(note);
    }

    /// Tells the reader what was noted of some runs.
    pub fn note_runs(&mut self) {
        for ([begin, end], runs) in std::mem::take(&mut self.run_notes) {
            self.note(format!("{begin}{}{end}", named_places("run", &runs)));
        }
    }

    /// Its outcome all.
    pub fn into_report(self) -> ScoreReport {
        ScoreReport {
            passed: self.found.failures.is_empty() && self.found.errors.is_empty(),
            targets: self.overall,
            runs: self.runs,
            failures: self.found.failures,
            errors: self.found.errors,
            notes: self.found.notes,
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
