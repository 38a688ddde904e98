//! Realistic files of every format, and files that are broken in every way.

#![expect(
    clippy::needless_pass_by_value,
    reason = "values are written where they are used"
)]

mod anthropic;
mod any;
mod claude_code;
mod envelope;
mod large;
mod names;
mod native;
mod native_keys;
mod openai;
mod otlp;
mod otlp_messages;
mod recording;
mod recording_behind;
mod recording_faults;
mod recording_left;
mod responses;
mod traffic;

use mcprove_trace::{AgentRun, StopReason, Tokens};
use serde_json::Value;

use super::*;

/// The one run of a text, its format, and the notes.
fn import_one(text: &str, format: Format) -> (AgentRun, Vec<String>) {
    let imported = import(text).unwrap();
    assert_eq!(imported.format, format);
    assert_eq!(detect(text), Some(format));
    assert_eq!(imported.trace.runs.len(), 1);
    (
        imported.trace.runs.into_iter().next().unwrap(),
        imported.notes,
    )
}

fn import_value(value: &Value, format: Format) -> (AgentRun, Vec<String>) {
    import_one(&value.to_string(), format)
}

fn lines(values: &[Value]) -> String {
    let lines: Vec<String> = values.iter().map(Value::to_string).collect();
    lines.join("\n") + "\n"
}

/// The calls, as `server/name`.
fn called(run: &AgentRun) -> Vec<String> {
    run.tool_calls
        .iter()
        .map(|call| match &call.server {
            Some(server) => format!("{server}/{}", call.name),
            None => call.name.clone(),
        })
        .collect()
}

/// The place of the call of each result, and whether it is an error.
fn answered(run: &AgentRun) -> Vec<(usize, Option<bool>)> {
    run.tool_results
        .iter()
        .map(|result| (result.call_index, result.is_error))
        .collect()
}

/// The roles of the turns, with their texts.
fn said(run: &AgentRun) -> Vec<(&str, Option<&str>)> {
    run.turns()
        .unwrap()
        .iter()
        .map(|turn| (turn.role.as_str(), turn.text.as_deref()))
        .collect()
}

fn tokens(run: &AgentRun) -> Option<Tokens> {
    run.conversation.as_ref()?.tokens
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "it is compared with what may be unknown"
)]
fn some_tokens(prompt: u64, completion: u64) -> Option<Tokens> {
    Some(Tokens {
        prompt: Some(prompt),
        completion: Some(completion),
        total: Some(prompt + completion),
    })
}
