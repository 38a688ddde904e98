//! What a probe found, as it is printed and written.

use crate::prelude::*;

/// How much of each is kept.
const LINE_CHARACTERS: usize = 500;

/// What `mcprove probe` found (format `probe.v1`).
#[sparse]
#[data(open, Default)]
#[serde(remote = "Self")]
pub struct ProbeReport {
    /// Who the server says it is.
    pub server: ServerName,
    /// The revision in force.
    pub protocol: String,
    /// `handshake` or `stateless`.
    pub era: String,
    /// `stdio`, `http`, `sse` or `ws`.
    pub transport: String,
    /// From starting or reaching the server to the agreement on a revision.
    pub startup_ms: f64,
    /// Every tool, in the order of the list.
    pub tools: Vec<ToolHealth>,
    /// Prompts that were got, of a server without tools.
    #[sparse]
    pub prompts: Vec<ToolHealth>,
    /// Resources that were read, of a server without tools.
    #[sparse]
    pub resources: Vec<ToolHealth>,
    /// How many tools there are and how many were called.
    pub coverage: Coverage,
    /// What the server did that the protocol does not allow.
    pub violations: Vec<ProbeFinding>,
    /// What is odd, but no failure.
    pub warnings: Vec<String>,
    /// The last lines of the server's stderr, where a tool hung or broke something.
    #[sparse]
    pub stderr: Vec<String>,
    /// Which findings make the probe fail; left out where only critical ones do.
    #[serde(default, skip_serializing_if = "FailOn::is_default")]
    pub fail_on: FailOn,
    /// Whether the probe was interrupted before its end.
    pub partial: bool,
    /// What the probe comes to.
    #[serde(default)]
    pub outcome: HealthOutcome,
    /// Whether a call succeeded, no tool hung and the protocol was kept.
    // False but in the copy that is written.
    pub(super) passed: bool,
}

impl Serialize for ProbeReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let passed = self.passed();
        Self::serialize(
            &Self {
                passed,
                ..self.clone()
            },
            serializer,
        )
    }
}

impl<'de> Deserialize<'de> for ProbeReport {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let report = Self::deserialize(deserializer)?;
        Ok(Self {
            passed: false,
            ..report
        })
    }
}

/// What a probe comes to.
#[choice(Copy, Default, Eq)]
pub enum HealthOutcome {
    /// A call succeeded, and nothing is wrong.
    Passed,
    /// A tool hung, the server died or broke the protocol.
    Failed,
    /// No call succeeded, so nothing shows that the server works.
    #[default]
    Inconclusive,
    /// It was interrupted.
    Interrupted,
}

/// Who a server says it is.
#[data(open, Default, Eq)]
pub struct ServerName {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// How many tools there are and how many were called.
#[data(open, Copy, Default, Eq)]
pub struct Coverage {
    /// Tools in the server's list.
    pub registered: usize,
    /// Tools that were called.
    pub exercised: usize,
}

/// A violation of the protocol.
#[sparse(marked)]
#[data(open, Eq)]
#[schemars(rename = "Finding")]
pub struct ProbeFinding {
    /// What kind, in `snake_case`.
    pub kind: String,
    /// What exactly.
    pub message: Message,
    /// Whether it is only a warning: every call was answered all the same.
    #[sparse]
    pub is_warning: bool,
}

/// How one tool fared.
#[sparse(marked)]
#[data(open)]
pub struct ToolHealth {
    /// The tool's name.
    pub name: String,
    /// The outcome of the call.
    pub outcome: ToolOutcome,
    /// How long it took; null when it was not called.
    pub duration_ms: Option<f64>,
    /// Why it is not `ok`.
    pub message: Option<Message>,
    /// The category of the failure.
    #[sparse]
    pub category: Option<ErrorCategory>,
    /// Whether it was not called because it may write.
    #[sparse]
    pub may_write: bool,
}

/// The outcome of calling a tool.
#[choice(open, Copy, Eq)]
pub enum ToolOutcome {
    /// It answered with a result.
    Ok,
    /// It answered with `isError: true`.
    ToolError,
    /// The call failed in any other way but a hang.
    Error,
    /// It did not answer in time.
    Hang,
    /// It was not called.
    Skipped,
}

impl ProbeReport {
    /// What it comes to, by everything else in it.
    pub fn judge(&self) -> HealthOutcome {
        let mut called = self.called();
        let has_failed = called.clone().any(ToolHealth::is_failure);
        let has_succeeded = called.any(|health| health.outcome == ToolOutcome::Ok);
        if self.partial {
            HealthOutcome::Interrupted
        } else if has_failed
            || self.violations.iter().any(|found| !found.is_warning)
            || self.fail_on == FailOn::Warning && self.warning_count() > 0
        {
            HealthOutcome::Failed
        } else if has_succeeded {
            HealthOutcome::Passed
        } else {
            HealthOutcome::Inconclusive
        }
    }

    /// How much is odd, but no failure by itself.
    pub fn warning_count(&self) -> usize {
        let harmless = self.violations.iter().filter(|found| found.is_warning);
        self.warnings.len() + harmless.count()
    }

    /// Whether a call succeeded, no tool hung and the protocol was kept.
    pub fn passed(&self) -> bool {
        self.outcome == HealthOutcome::Passed
    }

    /// Everything that was called, or was to be.
    pub fn called(&self) -> impl Iterator<Item = &ToolHealth> + Clone {
        self.tools.iter().chain(self.others())
    }

    /// What was asked of a server without tools: its prompts and resources.
    pub fn others(&self) -> impl Iterator<Item = &ToolHealth> + Clone {
        self.prompts.iter().chain(&self.resources)
    }

    /// Keeps the end of the server's stderr.
    pub fn note_stderr(&mut self, tail: &str) {
        let mut last = crate::last_lines(tail).peekable();
        if last.peek().is_some() {
            self.stderr = last.map(|line| shorten(line, LINE_CHARACTERS)).collect();
        }
    }
}

impl ProbeFinding {
    pub fn new(kind: &str, message: impl Into<Message>) -> Self {
        Self {
            kind: kind.to_owned(),
            message: message.into(),
            is_warning: false,
        }
    }
}

impl ToolHealth {
    pub fn new(name: impl Into<String>, outcome: ToolOutcome, took: Option<Duration>) -> Self {
        Self {
            name: name.into(),
            outcome,
            // Whole microseconds.
            duration_ms: took.map(|took| (took.as_secs_f64() * 1e6).round() / 1e3),
            message: None,
            category: None,
            may_write: false,
        }
    }

    pub fn skipped(name: impl Into<String>, reason: impl Into<Message>) -> Self {
        Self {
            message: Some(reason.into()),
            ..Self::new(name, ToolOutcome::Skipped, None)
        }
    }

    /// Whether this alone makes the server fail: it hung, died, or broke the protocol.
    pub fn is_failure(&self) -> bool {
        // An error that the server chose to answer with is its right.
        let is_answer = matches!(
            self.category,
            Some(ErrorCategory::ServerError | ErrorCategory::ProtocolError)
        );
        match self.outcome {
            ToolOutcome::Hang => true,
            ToolOutcome::Error => !is_answer,
            ToolOutcome::Ok | ToolOutcome::ToolError | ToolOutcome::Skipped => false,
        }
    }
}
