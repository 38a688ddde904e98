//! Reads `agent-trace.v1`: `{"schema":"agent-trace.v1","runs":[RUN,…]}`, or one RUN, or one of
//! them per line. It is parsed straight into its type, so a large trace is never held twice.
//! [`keys`] finds what nobody reads.

mod keys;

use mcprove_trace::{AGENT_TRACE_FORMAT, fault_names};

use self::keys::UnknownKeys;
use super::names::no_such_role;
use crate::prelude::*;

/// The runs of a file.
#[derive(Deserialize)]
struct Trace {
    runs: Vec<AgentRun>,
}

/// What tells a trace from a run.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Head {
    schema: Maybe<Value>,
    runs: Option<IgnoredAny>,
    tool_calls: Option<IgnoredAny>,
}

/// Reads every run.
pub fn read(document: &Document<'_>) -> Result<ImportedRuns> {
    let mut runs = Vec::new();
    let mut unknown = UnknownKeys::default();
    document.each(|element| read_value(document, element, &mut runs, &mut unknown))?;
    Ok((runs, unknown.notes()))
}

/// Reads a trace, or one run.
fn read_value<'a>(
    document: &Document<'a>,
    element: &Element<'a>,
    runs: &mut Vec<ImportedRun>,
    unknown: &mut UnknownKeys,
) -> Result {
    let head: Head = document.parse(element.json)?;
    if let Some(schema) = &*head.schema {
        check_schema(schema, AGENT_TRACE_FORMAT)?;
    }
    if head.runs.is_none() {
        runs.push(finish(parse(document, element, "runs", unknown)?)?);
        return Ok(());
    }
    if head.tool_calls.is_some() {
        return refuse(
            sentence!("both `runs` and `tool_calls` are given"),
            "a trace has its calls inside of its runs; one run stands alone, without `runs`",
        );
    }
    let trace: Trace = parse(document, element, "-", unknown)?;
    for (index, run) in trace.runs.into_iter().enumerate() {
        runs.push(finish(run).at(index).within("runs")?);
    }
    Ok(())
}

/// Parses a value, and looks at the keys of it that are not read.
fn parse<'a, Read: Deserialize<'a>>(
    document: &Document<'a>,
    element: &Element<'a>,
    root: &str,
    unknown: &mut UnknownKeys,
) -> Result<Read> {
    let mut parser = serde_json::Deserializer::from_str(element.json);
    let read = serde_ignored::deserialize(&mut parser, |path| {
        unknown.add(document, element, root, &path);
    });
    match unknown.slip.take() {
        Some(slip) => Err(slip),
        None => read.map_err(|error| {
            let mut error = document.explain::<Read>(element.json, &error);
            let path = error.path.as_deref();
            if path.is_some_and(|path| path.ends_with("].kind")) {
                let kinds = fault_names().collect::<Vec<_>>().join(", ");
                error.hint = format!("kinds of faults are {kinds}").into();
            }
            error
        }),
    }
}

/// Whether this version knows the schema that a file names.
pub fn check_schema(schema: &Value, known: &str) -> Result {
    if *schema == known {
        return Ok(());
    }
    let shown = schema
        .as_str()
        .map_or_else(|| schema.to_string(), str::to_owned);
    let refused = refuse(
        sentence!("the schema is {}, not {known}", name(&shown)),
        format!("this version reads {known}; look for one that knows this schema"),
    );
    refused.within("schema")
}

/// Checks what no type says.
fn finish(mut run: AgentRun) -> Result<ImportedRun> {
    run.tool_calls.iter_mut().for_each(normalise);
    // A list that grew has room to spare, which counts where there are millions of calls.
    run.tool_calls.shrink_to_fit();
    run.tool_results.shrink_to_fit();
    check_indices(&run)?;
    if let Some(conversation) = &mut run.conversation {
        check_conversation(conversation).within("conversation")?;
    }
    let notes = repeated_results(&run);
    Ok(ImportedRun { run, notes })
}

/// What was said has one of the known roles, and time does not run backwards.
fn check_conversation(conversation: &mut Conversation) -> Result {
    if let Some(duration) = conversation.duration_ms
        && duration < 0.0
    {
        let refused = refuse(
            format!("the duration is {duration}, and none is less than 0"),
            "leave `duration_ms` out where it is unknown",
        );
        return refused.within("duration_ms");
    }
    for (index, turn) in conversation.turns.iter_mut().flatten().enumerate() {
        match turn.role.as_str() {
            "user" | "assistant" | "tool" | "system" => {}
            "developer" => "system".clone_into(&mut turn.role),
            "human" => "user".clone_into(&mut turn.role),
            other => return Err(no_such_role(other).within("role").at(index).within("turns")),
        }
    }
    Ok(())
}

/// Several results for one call: the last holds, and whoever wrote them should know.
fn repeated_results(run: &AgentRun) -> Vec<String> {
    let mut has_result = vec![false; run.tool_calls.len()];
    let mut repeated = NamedCount::default();
    for result in &run.tool_results {
        if let Some(has_result) = has_result.get_mut(result.call_index)
            && std::mem::replace(has_result, true)
        {
            let call = run.tool_calls.get(result.call_index);
            repeated.push(call.map_or("", |call| &call.name));
        }
    }
    Vec::from_iter(repeated.note("result", HAS_ONE_ALREADY))
}

/// Takes the prefix of its server off a call, and a direct caller.
fn normalise(call: &mut ToolCall) {
    if let Some(server) = &call.server {
        let bare = names::without_prefix(&call.name, server);
        if bare.len() < call.name.len() {
            call.name = bare.to_owned();
        }
    }
    call.caller = call.caller.take().and_then(|caller| names::caller(*caller));
}

/// Every result and every fault belongs to a call.
fn check_indices(run: &AgentRun) -> Result {
    let results = run.tool_results.iter().map(|result| result.call_index);
    let faults = run.faults.iter().map(|fault| fault.call_index);
    let results = results.enumerate().map(|at| ("tool_results", at));
    let faults = faults.enumerate().map(|at| ("faults", at));
    let calls = run.tool_calls.len();
    let Some((key, (place, index))) = results.chain(faults).find(|(_, at)| at.1 >= calls) else {
        return Ok(());
    };
    let range = match calls {
        0 => "the run has no calls".to_owned(),
        1 => "the only call is call 0".to_owned(),
        _ => format!("the calls are numbered 0 to {}", calls - 1),
    };
    let refused = refuse(
        format!("there is no call {index}: {range}"),
        "`call_index` is the place in `tool_calls`, counted from 0",
    );
    refused.within("call_index").at(place).within(key)
}

/// The calls of a recorded run envelope: those of its `tool_calls`, or of the first run inside
/// `runs`. None of anything else. A call without a name has an empty one: it was made, and no
/// expectation may overlook it.
///
/// ```
/// use mcprove_import::tool_calls_from_envelope;
///
/// let envelope = serde_json::json!({"tool_calls": [{"name": "api__search", "server": "api", "args": {"q": "x"}}]});
/// let calls = tool_calls_from_envelope(&envelope);
/// assert_eq!(calls[0].name, "search");
/// assert_eq!(calls[0].args.value()["q"], "x");
/// ```
pub fn tool_calls_from_envelope(envelope: &Value) -> Vec<ToolCall> {
    let runs = envelope.get("runs").and_then(Value::as_array);
    let run = match envelope.get("tool_calls") {
        Some(_) => envelope,
        None => runs.and_then(|runs| runs.first()).unwrap_or(envelope),
    };
    let calls = run.get("tool_calls").and_then(Value::as_array);
    calls.into_iter().flatten().map(call).collect()
}

fn call(call: &Value) -> ToolCall {
    let text = |key: &str| Some(call.get(key)?.as_str()?.to_owned());
    let object = |key: &str| call.get(key).cloned().map(Box::new);
    let mut call = ToolCall {
        name: text("name").unwrap_or_default(),
        server: text("server"),
        args: call.get("args").map_or_else(Json::empty, Json::from),
        caller: object("caller"),
        meta: object("meta").filter(|meta| meta.is_object()),
        ..ToolCall::default()
    };
    normalise(&mut call);
    call
}
