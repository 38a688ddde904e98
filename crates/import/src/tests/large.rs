//! Large files: whatever looks at each call more than a fixed number of times shows here.

use serde_json::json;

use super::*;

const CALLS: usize = 10_000;

/// The calls and the results that were read.
fn read(text: &str, format: Format) -> (usize, usize) {
    let (run, _) = import_one(text, format);
    (run.tool_calls.len(), run.tool_results.len())
}

fn each(value: impl Fn(usize) -> Value) -> Vec<Value> {
    (0..CALLS).map(value).collect()
}

#[test]
fn a_large_trace() {
    let calls = each(|n| json!({"name": "search", "server": "api", "args": {"n": n}}));
    let results = each(|n| json!({"call_index": n, "is_error": false}));
    let trace = json!({"runs": [{"tool_calls": calls, "tool_results": results}]});
    let text = trace.to_string();
    assert_eq!(read(&text, Format::AgentTrace), (CALLS, CALLS));
    // As many unknown keys, all of them different.
    let calls = each(|n| json!({"name": "search", format!("{n}"): n}));
    let text = json!({"runs": [{"tool_calls": calls}]}).to_string();
    assert_eq!(read(&text, Format::AgentTrace), (CALLS, 0));
}

#[test]
fn large_transcripts() {
    // All results in one message, without a partner for half of them.
    let calls =
        each(|n| json!({"type": "tool_use", "id": n.to_string(), "name": "a", "input": {}}));
    let results = each(|n| json!({"type": "tool_result", "tool_use_id": (n * 2).to_string()}));
    let messages = [
        json!({"role": "assistant", "content": calls}),
        json!({"role": "user", "content": results}),
    ];
    let read_from = read(&lines(&messages), Format::Anthropic);
    assert_eq!(read_from, (CALLS, CALLS / 2));
    // One id for all.
    let call = |n: usize| json!({"name": "a", "arguments": n.to_string()});
    let calls = each(|n| json!({"id": "call_0", "function": call(n)}));
    let mut messages = vec![json!({"role": "assistant", "tool_calls": calls})];
    messages.extend(each(
        |n| json!({"role": "tool", "tool_call_id": "call_0", "content": n.to_string()}),
    ));
    let read_from = read(&lines(&messages), Format::OpenAi);
    assert_eq!(read_from, (CALLS, CALLS));
}

#[test]
fn a_large_session() {
    // One reply in as many lines.
    let session = each(|n| {
        let block = json!({"type": "tool_use", "id": n.to_string(), "name": "a", "input": {}});
        json!({"type": "assistant", "uuid": n.to_string(), "timestamp": "2026-01-23T17:19:55Z",
               "message": {"id": "msg_1", "role": "assistant", "content": [block]}})
    });
    assert_eq!(read(&lines(&session), Format::ClaudeCode), (CALLS, 0));
}

#[test]
fn large_traces_of_spans() {
    // One span inside the other, all of them calls; or none, but the last.
    let tool = json!([{"key": "gen_ai.operation.name", "value": {"stringValue": "execute_tool"}},
                      {"key": "gen_ai.tool.name", "value": {"stringValue": "a"}}]);
    let spans = |is_tool: fn(usize) -> bool| {
        let spans = each(|n| {
            let attributes = if is_tool(n) { tool.clone() } else { json!([]) };
            json!({"traceId": "t", "spanId": (n + 1).to_string(), "parentSpanId": n.to_string(),
                   "startTimeUnixNano": (CALLS - n).to_string(), "attributes": attributes})
        });
        json!({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).to_string()
    };
    assert_eq!(read(&spans(|_| true), Format::Otlp), (CALLS, 0));
    assert_eq!(read(&spans(|n| n == CALLS - 1), Format::Otlp), (1, 0));
}

/// Calls of one tool that stand in messages and in spans, without an id.
#[test]
fn a_large_conversation_of_spans() {
    let parts = each(|n| json!({"type": "tool_call", "name": "a", "arguments": {"n": n}}));
    let said = json!([{"role": "assistant", "parts": parts}]).to_string();
    let text = |text: &str| json!({"stringValue": text});
    let chat = json!({"traceId": "t", "spanId": "c", "startTimeUnixNano": "1", "attributes": [
        {"key": "gen_ai.operation.name", "value": text("chat")},
        {"key": "gen_ai.output.messages", "value": text(&said)}]});
    // Every second one has a span; the last come first.
    let mut spans = each(|n| {
        let arguments = json!({"n": 2 * (CALLS - n)}).to_string();
        json!({"traceId": "t", "spanId": format!("s{n}"), "startTimeUnixNano": "2", "attributes": [
            {"key": "gen_ai.operation.name", "value": text("execute_tool")},
            {"key": "gen_ai.tool.name", "value": text("a")},
            {"key": "gen_ai.tool.call.arguments", "value": text(&arguments)}]})
    });
    spans.push(chat);
    let export = json!({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).to_string();
    // Those of the messages, and as many spans less the half that both tell of.
    let shared = CALLS / 2 - 1;
    assert_eq!(read(&export, Format::Otlp), (2 * CALLS - shared, 0));
}

/// Each request has all that was said before.
#[test]
fn traffic_that_grows() {
    const REQUESTS: usize = 300;
    let roles = ["user", "assistant"];
    let said = |n: usize| json!({"role": (roles[n % 2]), "content": n.to_string()});
    let requests: Vec<Value> = (0..REQUESTS)
        .map(|n| json!({"messages": (0..=2 * n).map(said).collect::<Vec<_>>()}))
        .collect();
    let (run, _) = import_one(&lines(&requests), Format::Anthropic);
    assert_eq!(run.turns().unwrap().len(), 2 * REQUESTS - 1);
}

#[test]
fn a_large_recording() {
    let mut records = each(|n| {
        json!({"ts": 1.0, "kind": "request", "session": 0, "request_id": n,
               "method": "tools/call", "tool": "a", "params": {"arguments": {"n": n}}})
    });
    records.extend(each(|n| {
        json!({"ts": 2.0, "kind": "response", "session": 0, "request_id": n,
               "method": "tools/call", "tool": "a", "result": {"content": []}})
    }));
    assert_eq!(read(&lines(&records), Format::Recording), (CALLS, CALLS));
}
