//! Calls in the messages of spans, spans that come twice, and arguments that were not recorded.

use serde_json::json;

use super::otlp::{agent, export, span};
use super::*;

fn chat(id: &str, times: (u64, u64), input: &Value, output: &Value) -> Value {
    span(
        id,
        "",
        "chat",
        times,
        &json!({"gen_ai.operation.name": "chat", "gen_ai.input.messages": input.to_string(),
                "gen_ai.output.messages": output.to_string()}),
    )
}

/// An agent that records its model and not its tools.
#[test]
fn calls_that_stand_in_messages_only_are_calls() {
    for has_ids in [true, false] {
        let part = |id: &str, name: &str, arguments: Value| {
            let mut part = json!({"type": "tool_call", "name": name, "arguments": arguments});
            if has_ids {
                part["id"] = json!(id);
            }
            part
        };
        let user = json!({"role": "user", "parts": [{"type": "text", "content": "Go."}]});
        let asks = json!({"role": "assistant", "parts": [
            part("c1", "docs__search", json!({"q": "x"})), part("c2", "search", json!("{\"q\": \"x\"}")),
            part("c3", "delete_all", Value::Null)]});
        let answers = json!({"role": "tool", "parts": [
            {"type": "tool_call_response", "id": "c1", "response": "found"},
            {"type": "tool_call_response", "id": "c3", "response": {"isError": true, "content": []}}]});
        let says = json!({"role": "assistant", "parts": [{"type": "text", "content": "Done."}]});
        let again =
            json!({"role": "assistant", "parts": [part("c4", "search", json!({"q": "x"}))]});
        let history = json!([user, asks, answers]);
        let spans = [
            chat("a", (1, 10), &json!([user]), &json!([asks])),
            chat("b", (40, 50), &history, &json!([again])),
            // The span of the second call, which has no id and began after it was asked for.
            span(
                "t",
                "",
                "tools/call search",
                (20, 30),
                &json!({
                "mcp.method.name": "tools/call", "gen_ai.tool.name": "search",
                "gen_ai.tool.call.arguments": {"q": "x"}, "gen_ai.tool.call.result": "span"}),
            ),
            chat(
                "c",
                (60, 70),
                &json!([user, asks, answers, again]),
                &json!([says]),
            ),
        ];
        let (run, notes) = import_value(&export(&spans), Format::Otlp);
        // The span tells of one of the first two; which one it is makes no difference.
        assert_eq!(
            called(&run),
            ["search", "delete_all", "docs/search", "search"]
        );
        assert_eq!(
            notes,
            ["3 calls without a span, read from the messages: `search`, `delete_all` and `search`"]
        );
        assert_eq!(run.tool_calls[1].args.value(), json!({}));
        let expected = if has_ids {
            vec![(1, Some(true)), (2, Some(false))]
        } else {
            vec![(2, Some(false))]
        };
        assert_eq!(answered(&run), expected);
        assert_eq!(run.final_response.as_deref(), Some("Done."));
    }
}

#[test]
fn calls_that_only_the_history_tells_of_are_calls() {
    let history = json!([
        {"role": "user", "parts": [{"type": "text", "content": "Go."}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "pay"}]},
        {"role": "model", "parts": [{"type": "tool_call", "name": "pay", "arguments": {"n": 1}},
                                    {"type": "tool_call", "name": "pay", "arguments": {"n": 1}}]}]);
    let says = json!([{"role": "assistant", "parts": [{"type": "text", "content": "Done."}]}]);
    let spans = [
        chat("a", (1, 2), &history, &says),
        chat("b", (3, 4), &history, &says),
    ];
    let (run, _) = import_value(&export(&spans), Format::Otlp);
    assert_eq!(called(&run), ["pay", "pay", "pay"]);
    // What was not recorded is unknown.
    assert!(run.tool_calls[0].args.is_null());
    let roles: Vec<&str> = said(&run).into_iter().map(|(role, _)| role).collect();
    assert_eq!(
        roles,
        ["user", "assistant", "assistant", "assistant", "assistant"]
    );
}

#[test]
fn a_span_that_is_exported_again_counts_once() {
    let spans = agent();
    let text = lines(&[export(&spans), export(&spans[2..5])]);
    let (run, notes) = import_one(&text, Format::Otlp);
    assert_eq!(called(&run), ["weather/get_weather", "weather/get_weather"]);
    assert_eq!(tokens(&run), some_tokens(300, 30));
    assert_eq!(notes, ["3 spans exported again, counted once"]);
    // One of zeros is no id, and another start another span.
    let tool = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "a"});
    let spans = [
        span("00", "", "execute_tool a", (1, 2), &tool),
        span("00", "", "execute_tool a", (1, 2), &tool),
        span("01", "", "execute_tool a", (1, 2), &tool),
        span("01", "", "execute_tool a", (3, 4), &tool),
    ];
    let (run, _) = import_value(&export(&spans), Format::Otlp);
    assert_eq!(run.tool_calls.len(), 4);
}

#[test]
fn arguments_are_unknown_only_where_they_are_not_recorded() {
    let call = |id: &str, at: u64, attributes: Value| {
        let mut all = json!({"mcp.method.name": "tools/call", "gen_ai.tool.name": id});
        all.as_object_mut()
            .unwrap()
            .extend(attributes.as_object().unwrap().clone());
        span(id, "", "tools/call", (at, at + 1), &all)
    };
    let spans = [
        call("a", 1, json!({})),
        call("b", 2, json!({"gen_ai.tool.call.arguments": ""})),
        call("c", 3, json!({"gen_ai.tool.call.arguments": "null"})),
        call("d", 4, json!({"mcp.request.params": "{\"name\": \"d\"}"})),
        call("e", 5, json!({"gen_ai.tool.call.arguments": {}})),
    ];
    let (run, notes) = import_value(&export(&spans), Format::Otlp);
    let args: Vec<Value> = run
        .tool_calls
        .iter()
        .map(|call| call.args.value())
        .collect();
    assert_eq!(
        args,
        [Value::Null, json!({}), json!({}), json!({}), json!({})]
    );
    assert_eq!(
        notes,
        ["1 call without recorded arguments, which are unknown: `a`"]
    );
}
