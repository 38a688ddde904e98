//! One span: what it says of a call or of a reply.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::super::ImportError;
use super::super::names::{mcp_result, take_text, tool_call};
use super::super::tokens;
use super::value::{arguments, attributes, structured, unsigned};
use crate::trace::{Tokens, ToolCall};

/// The beginning of names of arguments, before there was one attribute for all.
const ARGUMENT_PREFIX: &str = "mcp.request.argument.";

/// One span.
#[derive(Debug)]
pub(super) struct Span {
    pub(super) id: String,
    pub(super) parent: String,
    /// Nanoseconds on the clock of whoever wrote it.
    pub(super) start: Option<u64>,
    pub(super) end: Option<u64>,
    /// The place among the spans of the file.
    pub(super) place: usize,
    pub(super) kind: Kind,
}

/// What a span is about.
#[derive(Debug)]
pub(super) enum Kind {
    /// A call of a tool.
    Tool(ToolSpan),
    /// A reply of a model.
    Model(ModelSpan),
    /// An agent as a whole.
    Agent(ModelSpan),
    /// Something else.
    Other,
}

/// What a span says of a call.
#[derive(Debug)]
pub(super) struct ToolSpan {
    pub(super) call: ToolCall,
    pub(super) id: Option<String>,
    /// Whether it is told by an MCP client or server.
    pub(super) is_mcp: bool,
    pub(super) has_arguments: bool,
    pub(super) is_error: Option<bool>,
    pub(super) result: Option<Value>,
}

/// What a span says of a reply.
#[derive(Debug)]
pub(super) struct ModelSpan {
    pub(super) model: Option<String>,
    pub(super) tokens: Option<Tokens>,
    pub(super) has_failed: bool,
    pub(super) finish_reason: Option<String>,
    pub(super) input: Option<Value>,
    pub(super) output: Option<Value>,
}

impl Span {
    /// Whether another span of the same id is the same one, exported again.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let is_same_kind =
            std::mem::discriminant(&self.kind) == std::mem::discriminant(&other.kind);
        is_same_kind && self.start == other.start && self.parent == other.parent
    }

    /// Adds what the same span says when it is exported again.
    pub(super) fn add(&mut self, again: Self) {
        self.end = self.end.or(again.end);
        self.kind.add(again.kind);
    }

    /// Whether it is about a tool, a model or an agent.
    pub(super) fn is_of_agent(&self) -> bool {
        !matches!(self.kind, Kind::Other)
    }
}

/// Reads a span; returns its trace too.
pub(super) fn read(span: Value) -> Result<(String, Span), ImportError> {
    let Value::Object(mut span) = span else {
        return Err(ImportError::shape(
            "a span must be an object",
            "OTLP JSON has spans in resourceSpans[].scopeSpans[].spans[]",
        ));
    };
    let mut either = |one: &str, other: &str| span.remove(one).or_else(|| span.remove(other));
    let mut text = |one: &str, other: &str| match either(one, other) {
        Some(Value::String(text)) => text,
        _ => String::new(),
    };
    let trace = text("traceId", "trace_id");
    let id = text("spanId", "span_id");
    let parent = text("parentSpanId", "parent_span_id");
    let start = either("startTimeUnixNano", "start_time_unix_nano");
    let end = either("endTimeUnixNano", "end_time_unix_nano");
    let kind = read_kind(&mut span);
    let read = Span {
        id,
        parent,
        start: start.as_ref().and_then(unsigned).filter(|start| *start > 0),
        end: end.as_ref().and_then(unsigned).filter(|end| *end > 0),
        place: 0,
        kind,
    };
    Ok((trace, read))
}

fn read_kind(span: &mut Map<String, Value>) -> Kind {
    let mut details = attributes(span.remove("attributes").unwrap_or_default());
    add_events(span, &mut details);
    let operation = take(&mut details, &["gen_ai.operation.name"]).unwrap_or_default();
    let method = take(&mut details, &["mcp.method.name"]).unwrap_or_default();
    let name = take_text(span, "name").unwrap_or_default();
    let failure = failure(span, &details);
    match (operation.as_str(), method.as_str()) {
        (_, "tools/call") => Kind::Tool(read_tool(details, &name, failure, true)),
        ("execute_tool", _) => Kind::Tool(read_tool(details, &name, failure, false)),
        ("chat" | "generate_content" | "text_completion", _) => {
            Kind::Model(read_model(details, failure.is_some()))
        }
        ("invoke_agent" | "invoke_workflow", _) => {
            Kind::Agent(read_model(details, failure.is_some()))
        }
        _ => Kind::Other,
    }
}

/// Messages can stand in an event of the span instead of on it.
fn add_events(span: &mut Map<String, Value>, details: &mut BTreeMap<String, Value>) {
    if let Some(Value::Array(events)) = span.remove("events") {
        for event in events {
            let Value::Object(mut event) = event else {
                continue;
            };
            let told = attributes(event.remove("attributes").unwrap_or_default());
            for (key, value) in told {
                if key.starts_with("gen_ai.") {
                    details.entry(key).or_insert(value);
                }
            }
        }
    }
}

/// What went wrong, where something did.
fn failure(span: &Map<String, Value>, details: &BTreeMap<String, Value>) -> Option<String> {
    let status = span.get("status");
    let code = status.and_then(|status| status.get("code"));
    let is_error = code.is_some_and(|code| {
        code.as_u64() == Some(2) || matches!(code.as_str(), Some("STATUS_CODE_ERROR" | "2"))
    });
    let message = status
        .and_then(|status| status.get("message"))
        .and_then(Value::as_str)
        .filter(|message| !message.is_empty());
    let kind = details.get("error.type").and_then(|kind| match kind {
        Value::String(kind) => Some(kind.clone()),
        Value::Null => None,
        other => Some(other.to_string()),
    });
    match (is_error, kind, message) {
        (false, None, _) => None,
        (_, _, Some(message)) => Some(message.to_owned()),
        (_, Some(kind), None) => Some(kind),
        (true, None, None) => Some("error".to_owned()),
    }
}

fn read_tool(
    mut details: BTreeMap<String, Value>,
    span_name: &str,
    failure: Option<String>,
    is_mcp: bool,
) -> ToolSpan {
    let params = take_params(&mut details);
    let has_params = params.is_some();
    let mut params = params.unwrap_or_default();
    let server = take(&mut details, &["mcp.server.name"]);
    // The span is named after its tool: `tools/call NAME`, `execute_tool NAME`.
    let target = || Some(span_name.split_once(' ')?.1.trim().to_owned());
    let name = take(&mut details, &["gen_ai.tool.name", "mcp.tool.name"])
        .or_else(|| take_text(&mut params, "name"))
        .or_else(target)
        .unwrap_or_default();
    // Parameters that were recorded without any arguments had none.
    let of_params = || has_params.then(|| params.remove("arguments").unwrap_or_default());
    let recorded = take_arguments(&mut details).or_else(of_params);
    let has_arguments = recorded.is_some();
    let args = recorded.map(arguments).unwrap_or_default();
    // What goes over the wire to a server is the name that the server gave.
    let call = if is_mcp {
        ToolCall {
            name,
            server,
            args,
            caller: None,
            meta: None,
            ..ToolCall::default()
        }
    } else {
        tool_call(&name, server.as_deref(), args)
    };
    let result = ["gen_ai.tool.call.result", "mcp.tool.result"]
        .into_iter()
        .find_map(|key| details.remove(key))
        .map(structured);
    let (is_error, result) = match (failure, result.map(mcp_result)) {
        (Some(failure), result) => {
            let result = result.map_or(Value::String(failure), |(_, result)| result);
            (Some(true), Some(result))
        }
        (None, Some((told, result))) => (Some(told.unwrap_or(false)), Some(result)),
        (None, None) => (None, None),
    };
    ToolSpan {
        call,
        id: take(&mut details, &["gen_ai.tool.call.id"]),
        is_mcp,
        has_arguments,
        is_error,
        result,
    }
}

/// The parameters of the request, where an instrumentation keeps them whole.
fn take_params(details: &mut BTreeMap<String, Value>) -> Option<Map<String, Value>> {
    let params = ["mcp.request.params", "mcp.params", "params"]
        .into_iter()
        .find_map(|key| details.remove(key));
    match structured(params?) {
        Value::Object(params) => Some(params),
        _ => None,
    }
}

fn take_arguments(details: &mut BTreeMap<String, Value>) -> Option<Value> {
    let whole = details.remove("gen_ai.tool.call.arguments");
    if whole.is_some() {
        return whole;
    }
    let each: Map<String, Value> = details
        .iter()
        .filter_map(|(key, value)| {
            let key = key.strip_prefix(ARGUMENT_PREFIX)?;
            Some((key.to_owned(), structured(value.clone())))
        })
        .collect();
    (!each.is_empty()).then_some(Value::Object(each))
}

fn read_model(mut details: BTreeMap<String, Value>, has_failed: bool) -> ModelSpan {
    let mut count = |keys: [&str; 2]| {
        let value = keys.into_iter().find_map(|key| details.remove(key));
        value.as_ref().and_then(unsigned)
    };
    let input = count(["gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"]);
    let output = count([
        "gen_ai.usage.output_tokens",
        "gen_ai.usage.completion_tokens",
    ]);
    let reasons = details.remove("gen_ai.response.finish_reasons");
    let reason = match reasons.map(structured) {
        Some(Value::Array(reasons)) => reasons.into_iter().next(),
        other => other,
    };
    let finish_reason = match reason {
        Some(Value::String(reason)) => Some(reason),
        _ => None,
    };
    ModelSpan {
        model: take(
            &mut details,
            &["gen_ai.response.model", "gen_ai.request.model"],
        ),
        tokens: tokens::tokens(input, output, None),
        has_failed,
        finish_reason,
        input: details.remove("gen_ai.input.messages").map(structured),
        output: details.remove("gen_ai.output.messages").map(structured),
    }
}

/// The first text under one of these keys, taken out.
fn take(details: &mut BTreeMap<String, Value>, keys: &[&str]) -> Option<String> {
    keys.iter().find_map(|key| match details.remove(*key) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    })
}
