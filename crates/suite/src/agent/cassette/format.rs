//! The format `cassette.v1`, and what a cassette is held to beyond its types, when it is read and before it is written.
//! The traces of a process are held to the same as files of traces, and to more: a recording is written by nobody but
//! us, so that there is no reason for anything odd in it. What is wrong comes back in words.

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
pub const DURATION_MAX: Duration = Duration::from_hours(7 * 24);

/// All runs of an agent test, recorded (format `cassette.v1`).
#[data]
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
    /// The outcome of the test when it was recorded.
    pub verdict: RecordedVerdict,
    /// The runs.
    pub runs: Vec<RecordedRun>,
}

/// The outcome of a test when it was recorded. A replay is judged again.
#[sparse(lists)]
#[data(Eq)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Verdict")]
pub struct RecordedVerdict {
    /// Its outcome.
    pub outcome: RecordedOutcome,
    /// The targets that failed.
    pub failures: Vec<String>,
}

/// The outcome of a test.
#[choice(Copy, Eq)]
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
#[data(Default)]
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
#[choice(Eq)]
pub enum Body {
    /// As it is.
    Text(String),
    /// Bytes that are not UTF-8, in base64.
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
#[data(Eq)]
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
#[choice(Eq)]
pub enum WireFailure {
    /// The provider could not be reached, or broke off.
    Unreachable(String),
    /// The answer did not come in time.
    Timeout,
}

/// A call of a tool, and what came back.
#[sparse(lists)]
#[data]
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
pub fn microseconds(duration: Duration) -> u64 {
    duration
        .min(DURATION_MAX)
        .as_micros()
        .try_into()
        .unwrap_or_default()
}

/// A duration in whole milliseconds.
pub fn milliseconds(duration: Duration) -> u64 {
    duration.as_millis().try_into().unwrap_or(u64::MAX)
}

/// Checks a cassette; `text` is what it was read from.
pub fn check(cassette: &Cassette, text: &str) -> Result<(), String> {
    if cassette.schema != CASSETTE_FORMAT {
        return Err(other_format(&cassette.schema));
    }
    let runs = cassette.runs.len();
    if runs > RUNS_MAX {
        return Err(format!(
            "it has {runs} runs, and at most {RUNS_MAX} are allowed"
        ));
    }
    let told = cassette.fits.runs;
    if runs != told as usize {
        let runs = phrase::count(runs as u64, "run");
        return Err(format!("it has {runs}, but its header says {told}"));
    }
    let is_command = cassette.fits.is_command();
    for (index, run) in cassette.runs.iter().enumerate() {
        check_run(run, is_command).map_err(|what| format!("runs[{index}]: {what}"))?;
    }
    if !is_command {
        return Ok(());
    }
    let outline: Outline<'_> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    for (index, run) in outline.runs.iter().enumerate() {
        check_process(run).map_err(|what| format!("runs[{index}]{what}"))?;
    }
    Ok(())
}

/// That a file is of another version.
pub fn other_format(schema: &str) -> String {
    format!("the schema is {schema:?}, not {CASSETTE_FORMAT:?}")
}

fn check_run(run: &RecordedRun, is_command: bool) -> Result<(), String> {
    if run.model.len() > EXCHANGES_MAX || run.tools.len() > EXCHANGES_MAX {
        return Err(format!("it has more than {EXCHANGES_MAX} exchanges"));
    }
    if is_command != run.trace.is_some() {
        return Err("the trace of a process belongs to a command, and to nothing else".into());
    }
    let of_model = run.model.iter().flat_map(|exchange| {
        let wait = exchange.retry_after_ms.unwrap_or_default();
        [exchange.duration_us, wait.saturating_mul(1_000)]
    });
    let of_tools = run.tools.iter().map(|exchange| exchange.duration_us);
    let is_too_long = |time| Duration::from_micros(time) > DURATION_MAX;
    if of_model.chain(of_tools).any(is_too_long) {
        return Err(format!("something took longer than {DURATION_MAX:?}"));
    }
    for (index, exchange) in run.model.iter().enumerate() {
        let mut bodies = std::iter::once(&exchange.request).chain(&exchange.response);
        let has_answer = exchange.status.is_some() && exchange.response.is_some();
        let wrong = if bodies.any(|body: &Body| body.bytes().is_none()) {
            "a body is not valid base64"
        } else if has_answer == exchange.failure.is_some() {
            "it needs a status and a response, or else a failure"
        } else {
            continue;
        };
        return Err(format!("model[{index}]: {wrong}"));
    }
    Ok(())
}

/// A cassette, with its runs as they are written.
#[derive(Deserialize)]
struct Outline<'a> {
    #[serde(borrow)]
    runs: Vec<BTreeMap<String, &'a RawValue>>,
}

/// Checks the run of a process. What is wrong begins with its path in the run.
fn check_process(run: &BTreeMap<String, &RawValue>) -> Result<(), String> {
    if run.contains_key("model") || run.contains_key("tools") {
        let what = ": a run has `trace`, or else `model` and `tools`, but not both";
        return Err(what.to_owned());
    }
    let trace = run.get("trace").map_or("null", |trace| trace.get());
    let imported = import_as(trace, Format::AgentTrace).map_err(|error| {
        let path = error.path.map(|path| format!(".{path}"));
        let message = error.message.rendered();
        format!(".trace{}: {message}", path.unwrap_or_default())
    })?;
    // A file of somebody else may have more than we know; what we wrote has not.
    if let Some(note) = imported.notes.first() {
        return Err(format!(".trace: {note}"));
    }
    match imported.trace.runs.as_slice() {
        [run] => check_times(run).map_err(|what| format!(".trace{what}")),
        runs => Err(format!(".trace: it has {} runs, not one", runs.len())),
    }
}

fn check_times(run: &AgentRun) -> Result<(), String> {
    let longest = DURATION_MAX.as_secs_f64() * 1e3;
    let duration = run.conversation.as_ref().and_then(|it| it.duration_ms);
    if let Some(duration) = duration
        && !(0.0..=longest).contains(&duration)
    {
        return Err(format!(
            ".conversation.duration_ms: it is {duration}, and not between 0 and {longest}"
        ));
    }
    for (index, mark) in run.faults.iter().enumerate() {
        check_mark(mark).map_err(|what| format!(".faults[{index}]{what}"))?;
    }
    Ok(())
}

fn check_mark(mark: &FaultMark) -> Result<(), String> {
    let times = [
        ("delay_ms", mark.delay_ms.map(i128::from)),
        ("detected_ms", mark.detected_ms.map(i128::from)),
        ("recovered_ms", mark.recovered_ms.map(i128::from)),
        ("watched_ms", mark.watched_ms.map(i128::from)),
        ("left_ms", mark.left_ms.map(i128::from)),
    ];
    let longest = DURATION_MAX.as_millis().cast_signed();
    for (key, time) in times {
        if time.is_some_and(|time| !(0..=longest).contains(&time)) {
            return Err(format!(".{key}: it is not between 0 and {longest}"));
        }
    }
    match mark.detected_ms.zip(mark.recovered_ms) {
        Some((detected, recovered)) if detected > recovered => Err(format!(
            ".recovered_ms: it is {recovered}, before detected_ms, which is {detected}"
        )),
        _ => Ok(()),
    }
}
