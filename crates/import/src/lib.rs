//! Reads agent traces: our own format, and those of other tools. The format is found by looking at
//! the text; what a source does not tell stays unknown.
//!
//! | format | what it is |
//! |---|---|
//! | [`Format::AgentTrace`] | `agent-trace.v1`: an object with `runs`, or one run |
//! | [`Format::Anthropic`] | messages of the Anthropic API, one transcript or several |
//! | [`Format::OpenAi`] | messages of chat completions, or items of the Responses API |
//! | [`Format::ClaudeCode`] | a session of Claude Code, one line per message |
//! | [`Format::Otlp`] | spans of OpenTelemetry with `gen_ai.*` and `mcp.*` attributes (OTLP JSON) |
//! | [`Format::Recording`] | our own `trace.jsonl`: the requests that a server got |
//!
//! `document` finds the values of a file, `detect` tells what they are, and one file per format
//! turns them into runs. Each value is looked at a fixed number of times, so
//! the time taken grows with the size of the text and no faster.

mod anthropic;
mod builder;
mod claude_code;
mod detect;
mod dialogue;
mod document;
mod error;
mod lenient;
mod named_count;
mod names;
mod native;
mod openai;
mod otlp;
mod prelude;
mod recording;
mod responses;
mod tokens;
mod words;

#[cfg(test)]
mod tests;

pub use error::ImportError;
pub use named_count::BEFORE_TOOL;
pub use native::tool_calls_from_envelope;
pub use recording::{import_records, read_records};
pub use tokens::{total as total_tokens, usage as usage_tokens};

use mcprove_trace::AgentTrace;

use crate::prelude::*;

/// A format that is understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Shown)]
#[shown(name)]
pub enum Format {
    /// `agent-trace.v1`.
    AgentTrace,
    /// Transcripts of the Anthropic Messages API.
    Anthropic,
    /// Transcripts of `OpenAI` chat completions or of the Responses API.
    OpenAi,
    /// A session of Claude Code.
    ClaudeCode,
    /// Spans of OpenTelemetry.
    Otlp,
    /// Our own `trace.jsonl`.
    Recording,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 6] = [
        Self::AgentTrace,
        Self::Anthropic,
        Self::OpenAi,
        Self::ClaudeCode,
        Self::Otlp,
        Self::Recording,
    ];

    /// The name.
    pub const fn name(self) -> &'static str {
        FORMATS[self as usize].0
    }

    /// What it is, in one line.
    pub const fn explanation(self) -> &'static str {
        FORMATS[self as usize].1
    }
}

/// The names of the formats, and what they are.
const FORMATS: [(&str, &str); Format::ALL.len()] = [
    (
        "agent-trace",
        "an agent trace (agent-trace.v1: `runs`, or one run with `tool_calls`)",
    ),
    ("anthropic", "a transcript of the Anthropic Messages API"),
    (
        "openai",
        "a transcript of OpenAI chat completions or of the Responses API",
    ),
    ("claude-code", "a Claude Code session (JSON lines)"),
    (
        "otlp",
        "OpenTelemetry spans with gen_ai.* or mcp.* attributes (OTLP JSON)",
    ),
    ("trace", "a recording of mcprove (trace.jsonl)"),
];

/// What was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// The format it was in.
    pub format: Format,
    /// The trace.
    pub trace: AgentTrace,
    /// What a reader should know of it: what was left out, what is not whole.
    pub notes: Vec<String>,
}

/// A run as a format gives it.
#[derive(Debug)]
struct ImportedRun {
    run: AgentRun,
    notes: Vec<String>,
}

/// The runs of a file, and what is to be said of the file as a whole.
type ImportedRuns = (Vec<ImportedRun>, Vec<String>);

/// Reads a trace, whatever its format.
///
/// ```
/// use mcprove_import::{Format, import};
///
/// let text = r#"{"model": "claude-sonnet-4-5", "messages": [
///     {"role": "user", "content": "What is the weather in Sacramento?"},
///     {"role": "assistant", "content": [
///         {"type": "tool_use", "id": "toolu_1", "name": "mcp__weather__get", "input": {"city": "Sacramento"}}]},
///     {"role": "user", "content": [
///         {"type": "tool_result", "tool_use_id": "toolu_1", "content": "sunny"}]},
///     {"role": "assistant", "content": "It is sunny."}]}"#;
/// let imported = import(text).unwrap();
/// assert_eq!(imported.format, Format::Anthropic);
/// let run = &imported.trace.runs[0];
/// assert_eq!(run.tool_calls[0].name, "get");
/// assert_eq!(run.tool_calls[0].server.as_deref(), Some("weather"));
/// assert_eq!(run.final_response.as_deref(), Some("It is sunny."));
/// assert_eq!(run.stop_reason(), None); // nobody says so
/// ```
pub fn import(text: &str) -> Result<Imported, ImportError> {
    let document = Document::read(text)?;
    match detect::format(&document) {
        Some(format) => read(&document, format),
        None => Err(unrecognised(&document)),
    }
}

/// Reads a trace of a known format, also where the text alone leaves room for doubt. A text that is
/// without doubt of another format is an error: most likely it is the wrong file.
///
/// ```
/// use mcprove_import::{Format, import_as};
///
/// // Talk without a call could be of either provider.
/// let text = r#"[{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hi."}]"#;
/// let imported = import_as(text, Format::OpenAi).unwrap();
/// assert_eq!(imported.format, Format::OpenAi);
/// assert_eq!(imported.trace.runs[0].final_response.as_deref(), Some("Hi."));
/// assert!(import_as(r#"{"resourceSpans": []}"#, Format::OpenAi).is_err());
/// ```
pub fn import_as(text: &str, format: Format) -> Result<Imported, ImportError> {
    let document = Document::read(text)?;
    match detect::certain_format(&document) {
        Some(other) if other != format => refuse(
            format!(
                "this is {}, not {}",
                other.explanation(),
                format.explanation()
            ),
            "check that it is the right file, or leave the format out to detect it",
        ),
        _ => read(&document, format),
    }
}

fn read(document: &Document<'_>, format: Format) -> Result<Imported, ImportError> {
    let (imported, mut notes) = match format {
        Format::AgentTrace => native::read(document)?,
        Format::Anthropic => dialogue::read::<anthropic::Anthropic>(document)?,
        Format::OpenAi => dialogue::read::<openai::OpenAi>(document)?,
        Format::ClaudeCode => (claude_code::read(document)?, Vec::new()),
        Format::Otlp => otlp::read(document)?,
        Format::Recording => (vec![recording::read(document)?], Vec::new()),
    };
    if imported.is_empty() {
        return refuse("there is no run in it", "a trace has one run at least");
    }
    let is_one = imported.len() == 1;
    let mut runs = Vec::with_capacity(imported.len());
    for (place, imported) in imported.into_iter().enumerate() {
        notes.extend(imported.notes.into_iter().map(|note| {
            if is_one {
                note
            } else {
                format!("run {place}: {note}")
            }
        }));
        runs.push(imported.run);
    }
    Ok(Imported {
        format,
        trace: AgentTrace::new(runs),
        notes,
    })
}

/// The format of a text, if it is one that is understood. The text may still have errors that
/// [`import`] tells.
///
/// ```
/// use mcprove_import::{Format, detect};
///
/// assert_eq!(detect(r#"{"tool_calls": []}"#), Some(Format::AgentTrace));
/// assert_eq!(detect(r#"{"resourceSpans": []}"#), Some(Format::Otlp));
/// assert_eq!(detect("name: a suite"), None);
/// ```
pub fn detect(text: &str) -> Option<Format> {
    detect::format(&Document::read(text).ok()?)
}

/// The error about a text that is JSON and no trace; or the line in it that is no JSON.
fn unrecognised(document: &Document<'_>) -> ImportError {
    for element in &document.elements {
        // As a value: half a character is JSON, but none.
        if let Err(error) = element.locate(document.parse::<Value>(element.json)) {
            return error;
        }
    }
    let first = document.elements.first();
    let keys: Vec<String> = first
        .and_then(|element| document.parse::<Outline>(element.json).ok())
        .unwrap_or_default()
        .into_keys()
        .collect();
    let message = match (keys.is_empty(), first) {
        (false, _) => sentence!(
            "not a known trace format: JSON with {}",
            mcprove_settings::message::names(&keys)
        ),
        (true, Some(_)) => "not a known trace format".into(),
        (true, None) => "no trace: an empty list".into(),
    };
    let formats: Vec<String> = Format::ALL
        .into_iter()
        .map(|format| format!("{format}: {}", format.explanation()))
        .collect();
    ImportError::shape(message, format!("known formats: {}", formats.join("; ")))
}
