//! Reads our own `trace.jsonl`: each `tools/call` that was sent is a call, and the line that ends
//! it, found by session and request id, its result. What the agent said is not in a recording.
//!
//! Each thread writes its lines in one piece, so lines of several threads are not in order: calls
//! are put in the order of their time, then of their line. The time taken is that from the first line
//! to the last.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::document::Document;
use super::few::{Few, HAS_ONE_ALREADY, many};
use super::names::{self, mcp_result, take_text};
use super::{ImportError, ImportedRun};
use crate::number::finite;
use crate::phrase;
use crate::trace::{AgentRun, Conversation, Json, ToolCall, ToolResult, TraceRecord};

/// The version of the format.
const TRACE_FORMAT: &str = "trace.v1";

/// Names a request.
type Key = (Option<u32>, Option<u64>);

/// What was read so far.
#[derive(Default)]
struct Recording {
    calls: Vec<(f64, Key, ToolCall)>,
    /// How each request ended.
    ends: BTreeMap<Key, End>,
    cut_arguments: Few,
    cut_results: Few,
    /// Ends of requests that ended already.
    repeated: Few,
    /// The first and the last time, in seconds.
    times: Option<(f64, f64)>,
}

/// How a request ended.
struct End {
    is_error: bool,
    result: Value,
    tool: String,
}

/// Reads a recording.
pub(super) fn read(document: &Document<'_>) -> Result<ImportedRun, ImportError> {
    let mut recording = Recording::default();
    for element in &document.elements {
        let record = document.parse(element.json);
        record
            .and_then(|record| recording.add(record))
            .map_err(|error| element.locate(error))?;
    }
    Ok(recording.finish())
}

impl Recording {
    fn add(&mut self, record: TraceRecord) -> Result<(), ImportError> {
        if let Some(schema) = &record.schema
            && schema != TRACE_FORMAT
        {
            let error = ImportError::shape(
                format!("the schema is {}, not {TRACE_FORMAT}", phrase::name(schema)),
                "use a version of mcprove that knows this schema",
            );
            return Err(error.within("schema"));
        }
        let (first, last) = self.times.unwrap_or((record.ts, record.ts));
        self.times = Some((first.min(record.ts), last.max(record.ts)));
        if record.method.as_deref() != Some("tools/call") {
            return Ok(());
        }
        match record.kind.as_str() {
            "request" => self.add_call(record),
            "response" | "error" => self.add_end(record),
            _ => {}
        }
        Ok(())
    }

    fn add_call(&mut self, record: TraceRecord) {
        let has_params = record.params.is_some();
        let mut params = match record.params {
            Some(Value::Object(params)) => params,
            _ => Map::new(),
        };
        let name = record.tool.or_else(|| take_text(&mut params, "name"));
        let name = name.unwrap_or_default();
        let args = match record.cut {
            // A part of them would be taken for the whole.
            Some(_) => {
                self.cut_arguments.push(&name);
                Json::default()
            }
            None if !has_params => Json::default(),
            None => names::arguments(params.remove("arguments")),
        };
        let call = ToolCall {
            name,
            args,
            ..ToolCall::default()
        };
        let key = (record.session, record.request_id);
        self.calls.push((record.ts, key, call));
    }

    fn add_end(&mut self, record: TraceRecord) {
        let tool = record.tool.unwrap_or_default();
        let (is_error, result) = match (record.error, record.cut) {
            (Some(error), _) => (true, serde_json::to_value(error).unwrap_or_default()),
            // A result with `isError` is recorded as an error, whole or not.
            (None, Some(cut)) => {
                self.cut_results.push(&tool);
                (record.kind == "error", Value::String(cut))
            }
            (None, None) => {
                let (is_error, result) = mcp_result(record.result.unwrap_or_default());
                (is_error.unwrap_or(record.kind == "error"), result)
            }
        };
        let key = (record.session, record.request_id);
        let end = End {
            is_error,
            result,
            tool,
        };
        if let Some(before) = self.ends.insert(key, end) {
            self.repeated.push(&before.tool);
        }
    }

    fn finish(mut self) -> ImportedRun {
        self.calls
            .sort_by(|(left, ..), (right, ..)| left.total_cmp(right));
        let mut run = AgentRun {
            conversation: duration_ms(self.times).map(|duration_ms| Conversation {
                duration_ms: Some(duration_ms),
                ..Conversation::default()
            }),
            ..AgentRun::default()
        };
        let mut unanswered = Few::default();
        for (call_index, (_, key, call)) in self.calls.into_iter().enumerate() {
            match self.ends.remove(&key) {
                Some(end) => run.tool_results.push(ToolResult {
                    call_index,
                    is_error: Some(end.is_error),
                    result: end.result.into(),
                }),
                None => unanswered.push(&call.name),
            }
            run.tool_calls.push(call);
        }
        let mut orphans = Few::default();
        for end in self.ends.values() {
            orphans.push(&end.tool);
        }
        let told = [
            self.cut_arguments
                .note("call", "with arguments that were cut, so they are unknown"),
            self.cut_results
                .note("result", "cut, kept in part as a text"),
            unanswered.note(
                "call",
                "without an end in the recording, the result is unknown",
            ),
            orphans.note("result", "without a call in the recording, left out"),
            self.repeated.note("result", HAS_ONE_ALREADY),
        ];
        let mut notes: Vec<String> = told.into_iter().flatten().collect();
        if run.tool_calls.is_empty() {
            notes.push(format!("the recording has {}", many(0, "tool call")));
        }
        ImportedRun { run, notes }
    }
}

/// From the first time to the last, in milliseconds, to the microsecond in which times are written.
fn duration_ms(times: Option<(f64, f64)>) -> Option<f64> {
    let (first, last) = times?;
    let microseconds = ((last - first) * 1e6).round();
    // One moment is no duration.
    finite(microseconds / 1e3).filter(|duration| *duration > 0.0)
}
