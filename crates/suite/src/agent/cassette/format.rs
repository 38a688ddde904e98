//! The format `cassette.v1`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::inputs::CassetteInputs;
use crate::prelude::*;

/// The name of the format.
pub const CASSETTE_FORMAT: &str = "cassette.v1";
/// The most runs of a cassette.
pub const RUNS_MAX: usize = 100_000;
/// The most exchanges of one run, with the model or with tools.
pub const EXCHANGES_MAX: usize = 100_000;
/// The longest time that anything recorded took.
pub(super) const DURATION_MAX: Duration = Duration::from_hours(7 * 24);

/// All runs of an agent test, recorded (format `cassette.v1`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(
    title = "cassette.v1",
    description = "All runs of an agent test, recorded."
)]
pub struct Cassette {
    /// The format, `cassette.v1`.
    pub schema: String,
    /// The name of the test.
    pub agent: String,
    /// The file of the suite that it is of.
    pub suite: String,
    /// What it is a recording of: a test that differs in any of it cannot be replayed.
    pub fits: CassetteInputs,
    /// The seed of the recording, by which faults choose their calls.
    pub seed: u64,
    /// The variables of the environment that were used. Null is a secret.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, Option<String>>,
    /// What came of the test when it was recorded.
    pub verdict: Verdict,
    /// The runs.
    pub runs: Vec<RecordedRun>,
}

/// What came of a test when it was recorded. A replay is judged anew.
#[sparse(lists)]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// What came of it.
    pub outcome: RecordedOutcome,
    /// The targets that failed.
    pub failures: Vec<String>,
}

/// What came of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecordedOutcome {
    /// Everything held.
    Passed,
    /// Something did not hold.
    Failed,
    /// Something could not be judged.
    Error,
}

/// One run.
#[sparse(lists)]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordedRun {
    /// What the model was asked and answered, in order.
    pub model: Vec<ModelExchange>,
    /// The calls of tools and what came back, in the order in which they were made.
    pub tools: Vec<ToolExchange>,
    /// What an agent did that is a process.
    pub trace: Option<AgentRun>,
    /// What a reader should know of the run.
    pub notes: Vec<String>,
}

/// A body of HTTP: a text, or base64 where it is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    /// As it is.
    Text(String),
    /// Bytes that are no UTF-8, in base64.
    Base64(String),
}

impl Body {
    /// The body of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Base64(STANDARD.encode(bytes)),
        }
    }

    /// The bytes; `None` if it is no base64.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        match self {
            Self::Text(text) => Some(text.as_bytes().to_vec()),
            Self::Base64(text) => STANDARD.decode(text).ok(),
        }
    }
}

/// A request to the model, and its answer or why there is none.
#[sparse(lists)]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelExchange {
    /// The address behind the base.
    pub path: String,
    /// The request, as it was sent.
    pub request: Body,
    /// The HTTP status of the answer.
    pub status: Option<u16>,
    /// How long the provider asked to wait before another try.
    pub retry_after_ms: Option<u64>,
    /// The answer, byte for byte.
    pub response: Option<Body>,
    /// Why there was no answer.
    pub failure: Option<WireFailure>,
    /// How long it took, in microseconds.
    pub duration_us: u64,
    /// Where `<redacted>` stands for a secret: paths into `request` and `response`.
    pub redacted: Vec<String>,
}

/// Why there was no answer from the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WireFailure {
    /// The provider could not be reached, or broke off.
    Unreachable(String),
    /// The answer did not come in time.
    Timeout,
}

/// A call of a tool, and what came back.
#[sparse(lists)]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolExchange {
    /// The server.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// The arguments.
    pub args: Json,
    /// The result, as it came.
    pub result: Json,
    /// Whether it was an error.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// How long it took, in microseconds.
    pub duration_us: u64,
    /// Where `<redacted>` stands for a secret: paths into `args` and `result`.
    pub redacted: Vec<String>,
}

/// A duration as a cassette has it: whole microseconds. What is recorded is told the same, so that a replay has
/// the same numbers.
pub(super) fn microseconds(duration: Duration) -> u64 {
    let micros = duration.min(DURATION_MAX).as_micros();
    micros.try_into().unwrap_or_default()
}

/// A duration in whole milliseconds.
pub(super) fn milliseconds(duration: Duration) -> u64 {
    duration.as_millis().try_into().unwrap_or(u64::MAX)
}
