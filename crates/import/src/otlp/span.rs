//! One span: what it says of a call or of a reply.

use super::messages::{Message, Time};
use super::value::{arguments, attributes, list, structured, text, unsigned};
use crate::prelude::*;

/// The beginning of names of arguments, before there was one attribute for all.
const ARGUMENT_PREFIX: &str = "mcp.request.argument.";

/// What stands on a span, by its name.
type Details = BTreeMap<String, Value>;

#[derive(Deserialize)]
#[serde(from = "Written")]
pub struct Span {
    pub trace: String,
    pub id: String,
    pub parent: String,
    /// Nanoseconds on the clock of whoever wrote it.
    pub start: Option<u64>,
    pub end: Option<u64>,
    /// The place among the spans of the file.
    pub place: usize,
    pub kind: Kind,
}

/// What a span is about.
pub enum Kind {
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
#[derive(Default)]
pub struct ToolSpan {
    /// When the call began.
    pub time: Time,
    pub call: ToolCall,
    pub id: Option<String>,
    /// Whether it is told by an MCP client or server.
    pub is_mcp: bool,
    pub has_arguments: bool,
    pub is_error: Option<bool>,
    pub result: Option<Value>,
}

/// What a span says of a reply.
pub struct ModelSpan {
    pub model: Option<String>,
    pub tokens: Option<Tokens>,
    pub has_failed: bool,
    pub finish_reason: Option<String>,
    pub input: Vec<Message>,
    pub output: Vec<Message>,
}

/// A span as it is written.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Written {
    #[serde(alias = "trace_id")]
    trace_id: Text,
    #[serde(alias = "span_id")]
    span_id: Text,
    #[serde(alias = "parent_span_id")]
    parent_span_id: Text,
    #[serde(alias = "start_time_unix_nano")]
    start_time_unix_nano: Value,
    #[serde(alias = "end_time_unix_nano")]
    end_time_unix_nano: Value,
    name: Text,
    attributes: Value,
    events: Value,
    status: Maybe<Status>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    code: Value,
    message: Text,
}

/// Messages can stand in an event of the span instead of on it.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Event {
    attributes: Value,
}

impl Span {
    /// Whether another span of the same id is the same one, exported again.
    pub fn is_same(&self, other: &Self) -> bool {
        let is_same_kind =
            std::mem::discriminant(&self.kind) == std::mem::discriminant(&other.kind);
        is_same_kind && self.start == other.start && self.parent == other.parent
    }

    /// Adds what the same span says when it is exported again.
    pub fn add(&mut self, again: Self) {
        self.end = self.end.or(again.end);
        self.kind.add(again.kind);
    }

    /// Whether it is about a tool, a model or an agent.
    pub fn is_of_agent(&self) -> bool {
        !matches!(self.kind, Kind::Other)
    }
}

impl From<Written> for Span {
    fn from(written: Written) -> Self {
        let time = |time: &Value| unsigned(time).filter(|time| *time > 0);
        let mut details = attributes(written.attributes);
        for event in list::<Event>(written.events) {
            for (key, value) in attributes(event.attributes) {
                if key.starts_with("gen_ai.") {
                    details.entry(key).or_insert(value);
                }
            }
        }
        let failure = failure(written.status.0.unwrap_or_default(), &details);
        Self {
            trace: written.trace_id.0.unwrap_or_default(),
            id: written.span_id.0.unwrap_or_default(),
            parent: written.parent_span_id.0.unwrap_or_default(),
            start: time(&written.start_time_unix_nano),
            end: time(&written.end_time_unix_nano),
            place: 0,
            kind: read_kind(details, written.name.or_empty(), failure),
        }
    }
}

fn read_kind(mut details: Details, name: &str, failure: Option<String>) -> Kind {
    let operation = take(&mut details, &["gen_ai.operation.name"], text);
    let method = take(&mut details, &["mcp.method.name"], text);
    match operation.as_deref().unwrap_or_default() {
        _ if method.as_deref() == Some("tools/call") => {
            Kind::Tool(read_tool(details, name, failure, true))
        }
        "execute_tool" => Kind::Tool(read_tool(details, name, failure, false)),
        "chat" | "generate_content" | "text_completion" => {
            Kind::Model(read_model(details, failure.is_some()))
        }
        "invoke_agent" | "invoke_workflow" => Kind::Agent(read_model(details, failure.is_some())),
        _ => Kind::Other,
    }
}

/// What went wrong, where something did.
fn failure(status: Status, details: &Details) -> Option<String> {
    let is_error = status.code == 2 || status.code == "2" || status.code == "STATUS_CODE_ERROR";
    let kind = match details.get("error.type") {
        None | Some(Value::Null) => None,
        Some(other) => Some(text(other.clone()).unwrap_or_else(|| other.to_string())),
    };
    let message = status.message.0.filter(|message| !message.is_empty());
    let has_failed = is_error || kind.is_some();
    has_failed.then(|| message.or(kind).unwrap_or_else(|| "error".to_owned()))
}

fn read_tool(
    mut details: Details,
    span_name: &str,
    failure: Option<String>,
    is_mcp: bool,
) -> ToolSpan {
    // The parameters of the request, where an instrumentation keeps them whole.
    let keys = ["mcp.request.params", "mcp.params", "params"];
    let params = take(&mut details, &keys, |params| match structured(params) {
        Value::Object(params) => Some(params),
        _ => None,
    });
    let has_params = params.is_some();
    let mut params = params.unwrap_or_default();
    let server = take(&mut details, &["mcp.server.name"], text);
    // The span is named after its tool: `tools/call NAME`, `execute_tool NAME`.
    let target = || Some(span_name.split_once(' ')?.1.trim().to_owned());
    let name = take(&mut details, &["gen_ai.tool.name", "mcp.tool.name"], text)
        .or_else(|| text(params.remove("name")?))
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
            ..ToolCall::default()
        }
    } else {
        tool_call(&name, server.as_deref(), args)
    };
    let keys = ["gen_ai.tool.call.result", "mcp.tool.result"];
    let result = take(&mut details, &keys, Some).map(|result| mcp_result(structured(result)));
    let (is_error, result) = match (failure, result) {
        (Some(failure), None) => (Some(true), Some(failure.into())),
        (Some(_), Some((_, result))) => (Some(true), Some(result)),
        (None, Some((told, result))) => (Some(told.unwrap_or(false)), Some(result)),
        (None, None) => (None, None),
    };
    ToolSpan {
        time: Time::default(),
        call,
        id: take(&mut details, &["gen_ai.tool.call.id"], text),
        is_mcp,
        has_arguments,
        is_error,
        result,
    }
}

fn take_arguments(details: &mut Details) -> Option<Value> {
    take(details, &["gen_ai.tool.call.arguments"], Some).or_else(|| {
        let each: Map<String, Value> = details
            .iter()
            .filter_map(|(key, value)| {
                let key = key.strip_prefix(ARGUMENT_PREFIX)?;
                Some((key.to_owned(), structured(value.clone())))
            })
            .collect();
        (!each.is_empty()).then_some(Value::Object(each))
    })
}

fn read_model(mut details: Details, has_failed: bool) -> ModelSpan {
    let mut count = |keys: [&str; 2]| take(&mut details, &keys, |count| unsigned(&count));
    let input = count(["gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"]);
    let output = count([
        "gen_ai.usage.output_tokens",
        "gen_ai.usage.completion_tokens",
    ]);
    let mut value = |key: &str| structured(take(&mut details, &[key], Some).unwrap_or_default());
    let reason = match value("gen_ai.response.finish_reasons") {
        Value::Array(reasons) => reasons.into_iter().next(),
        other => Some(other),
    };
    let [input_messages, output_messages] =
        ["gen_ai.input.messages", "gen_ai.output.messages"].map(|key| list(value(key)));
    ModelSpan {
        model: take(
            &mut details,
            &["gen_ai.response.model", "gen_ai.request.model"],
            text,
        ),
        tokens: tokens::tokens(input, output, None),
        has_failed,
        finish_reason: reason.and_then(text),
        input: input_messages,
        output: output_messages,
    }
}

/// The first value under one of these keys that can be read, taken out.
fn take<Read>(
    details: &mut Details,
    keys: &[&str],
    read: impl Fn(Value) -> Option<Read>,
) -> Option<Read> {
    keys.iter().find_map(|key| read(details.remove(*key)?))
}
