//! The outcome of a suite: what every reporter is made from, and what `--report json` prints.

use mcprove_score::gate::RunTargets;

use super::ServerCoverage;
use crate::prelude::*;

/// The name of the format.
pub const SUITE_REPORT_FORMAT: &str = "suite-report.v1";

/// The outcome of all tests that were chosen. A replay of a recording gives the same, byte for byte.
#[sparse]
#[data(open)]
#[schemars(title = "suite-report.v1")]
pub struct SuiteReport {
    /// The format, `suite-report.v1`.
    pub schema: String,
    /// Whether every test that was chosen passed, or was skipped on purpose.
    pub passed: bool,
    /// The tests, in the order of the files.
    pub tests: Vec<TestReport>,
    /// Which tools of the servers were called.
    #[sparse]
    pub coverage: Vec<ServerCoverage>,
    /// Whether the run was broken off, so that tests are missing.
    #[sparse]
    pub partial: bool,
    /// Why no test was run: what is wrong with the suites, or with what was asked for.
    #[sparse]
    pub problems: Vec<SuiteProblem>,
}

/// Something that keeps all tests from being run.
#[sparse]
#[data(Eq)]
pub struct SuiteProblem {
    /// The file; none where it is about no file.
    pub file: Option<String>,
    /// The line, from one; none when the whole file is meant.
    pub line: Option<usize>,
    /// The character in the line, from one.
    pub column: Option<usize>,
    /// What is wrong.
    pub message: Message,
    /// What to try.
    pub hint: Option<Message>,
}

impl From<&ConfigError> for SuiteProblem {
    fn from(error: &ConfigError) -> Self {
        let (message, hint) = error.messages();
        Self {
            file: Some(error.file.clone()),
            line: error.place.map(|place| place.line),
            column: error.place.map(|place| place.column),
            message,
            hint,
        }
    }
}

/// What kind of test it is.
#[choice(Copy, Default, Eq, PartialOrd, Ord)]
pub enum TestKind {
    /// A call of a tool.
    #[default]
    Tool,
    /// A task for an agent.
    Agent,
    /// A load.
    Load,
    /// Whether enough tools of a server were called.
    Check,
}

/// The outcome of a test.
#[choice(Copy, Default, Eq)]
pub enum TestOutcome {
    /// Everything held.
    Passed,
    /// Something that must hold does not: a finding.
    Failed,
    /// It could not be done, or not be judged: nothing is proven.
    #[default]
    Error,
    /// It was not to be run.
    Skipped,
}

/// How a test did that was run more than once. It passes only if it always did.
#[data(Copy, Eq)]
pub struct Repeated {
    /// How often it was run.
    pub times: u32,
    /// How often it passed.
    pub passed: u32,
    /// Whether it passed sometimes, but not always.
    pub flaky: bool,
}

/// The outcome of one test.
#[sparse]
#[data(Default)]
pub struct TestReport {
    /// Its name.
    pub name: String,
    /// What kind it is.
    pub kind: TestKind,
    /// The file of its suite.
    pub file: String,
    /// Its line in the file.
    pub line: usize,
    /// Its outcome.
    pub outcome: TestOutcome,
    /// Why it was skipped.
    pub skipped: Option<String>,
    /// How often it was run, where that is more than once.
    pub repeated: Option<Repeated>,
    /// How long it took. On replay, how long it took when it was recorded.
    pub duration_ms: f64,
    /// The values that can be gated: over all runs, or of the worst.
    pub targets: BTreeMap<String, Value>,
    /// The values of each run.
    pub runs: Vec<RunTargets>,
    /// What does not hold.
    pub failures: Vec<GateFailure>,
    /// What could not be done or judged, and what to try.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<ScoreError>,
    /// What a reader should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Message>,
    /// Files of it that are not complete. They do not change its outcome.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub losses: Vec<Loss>,
    /// Where more of it was written: the directory of a load; the trace of an agent, seen from the folder of
    /// results, so that it does not depend on where that is.
    pub details: Option<String>,
}

/// How many tests came to what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Everything held.
    pub passed: usize,
    /// Something did not hold.
    pub failed: usize,
    /// It could not be done or judged.
    pub errors: usize,
    /// It was not run.
    pub skipped: usize,
}

impl SuiteReport {
    /// Of these tests, which are in the order of the files.
    pub fn new(tests: Vec<TestReport>, partial: bool) -> Self {
        let is_good =
            |test: &TestReport| matches!(test.outcome, TestOutcome::Passed | TestOutcome::Skipped);
        Self {
            schema: SUITE_REPORT_FORMAT.to_owned(),
            passed: !partial && tests.iter().all(is_good),
            tests,
            coverage: Vec::new(),
            partial,
            problems: Vec::new(),
        }
    }

    /// Of suites of which no test could be run.
    pub fn unrun(problems: Vec<SuiteProblem>) -> Self {
        Self {
            passed: false,
            problems,
            ..Self::new(Vec::new(), false)
        }
    }

    /// The files of its tests that are not complete.
    pub fn losses(&self) -> impl Iterator<Item = &Loss> {
        self.tests.iter().flat_map(|test| &test.losses)
    }

    /// How many tests came to what.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for test in &self.tests {
            counts.add(test.outcome);
        }
        counts
    }
}

impl Counts {
    pub const fn add(&mut self, outcome: TestOutcome) {
        *match outcome {
            TestOutcome::Passed => &mut self.passed,
            TestOutcome::Failed => &mut self.failed,
            TestOutcome::Error => &mut self.errors,
            TestOutcome::Skipped => &mut self.skipped,
        } += 1;
    }
}

impl TestKind {
    /// The name in files and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Agent => "agent",
            Self::Load => "load",
            Self::Check => "check",
        }
    }
}

impl TestOutcome {
    /// The name in files and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Error => "error",
            Self::Skipped => "skipped",
        }
    }
}

impl TestReport {
    /// Of a test of which nothing is known yet: an error until it is judged.
    pub fn new(kind: TestKind, head: &TestHead, plan: &SuitePlan) -> Self {
        Self {
            name: head.name.clone(),
            kind,
            file: plan.file.clone(),
            line: head.place.line,
            ..Self::default()
        }
    }

    /// The same of a test that is not run, for this reason.
    pub fn not_run(mut self, reason: impl Into<String>) -> Self {
        self.outcome = TestOutcome::Skipped;
        self.skipped = Some(reason.into());
        self
    }

    /// Adds that something does not hold.
    pub fn fail(
        &mut self,
        target: &str,
        expected: impl Into<Value>,
        actual: impl Into<Value>,
        what: impl Into<Diagnostic>,
    ) {
        let failure = gate_failure(target, expected, actual, what);
        self.failures.push(failure);
    }

    /// Adds a file that is not complete, and a note for people.
    pub fn lose(&mut self, loss: Loss) {
        self.notes.push(loss.to_string().into());
        self.losses.push(loss);
    }

    /// The same, with its outcome: what could not be judged outweighs what does not hold.
    pub fn judged(mut self) -> Self {
        self.outcome = if !self.errors.is_empty() {
            TestOutcome::Error
        } else if !self.failures.is_empty() {
            TestOutcome::Failed
        } else {
            TestOutcome::Passed
        };
        self
    }
}

/// That something does not hold.
pub fn gate_failure(
    target: &str,
    expected: impl Into<Value>,
    actual: impl Into<Value>,
    what: impl Into<Diagnostic>,
) -> GateFailure {
    let what = what.into();
    GateFailure {
        target: target.to_owned(),
        expected: expected.into(),
        actual: actual.into(),
        message: what.sentence(),
        hint: what.hint,
        ..GateFailure::default()
    }
}
