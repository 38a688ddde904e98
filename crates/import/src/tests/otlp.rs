use serde_json::json;

use super::*;

/// A value in the form of OTLP.
fn any(value: &Value) -> Value {
    match value {
        Value::String(text) => json!({"stringValue": text}),
        Value::Bool(flag) => json!({"boolValue": flag}),
        Value::Number(number) if number.is_f64() => json!({"doubleValue": number}),
        Value::Number(number) => json!({"intValue": number.to_string()}),
        Value::Array(items) => {
            json!({"arrayValue": {"values": items.iter().map(any).collect::<Vec<_>>()}})
        }
        Value::Object(_) => json!({"kvlistValue": {"values": pairs(value)}}),
        Value::Null => json!({}),
    }
}

fn pairs(object: &Value) -> Vec<Value> {
    let object = object.as_object().unwrap();
    object
        .iter()
        .map(|(key, value)| json!({"key": key, "value": any(value)}))
        .collect()
}

/// A span of the trace `t1`, from one millisecond to another.
pub(super) fn span(
    id: &str,
    parent: &str,
    name: &str,
    (from, to): (u64, u64),
    attributes: &Value,
) -> Value {
    let time = |ms: u64| (1_700_000_000_000_000_000 + ms * 1_000_000).to_string();
    json!({"traceId": "t1", "spanId": id, "parentSpanId": parent, "name": name, "kind": 1,
           "startTimeUnixNano": time(from), "endTimeUnixNano": time(to),
           "attributes": pairs(attributes), "status": {}})
}

pub(super) fn export(spans: &[Value]) -> Value {
    json!({"resourceSpans": [{
        "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "agent"}}]},
        "scopeSpans": [{"scope": {"name": "test"}, "spans": spans}]}]})
}

fn with(mut span: Value, key: &str, value: Value) -> Value {
    span[key] = value;
    span
}

/// An agent that asks for the weather in two cities at once, as conventions 1.41 write it.
pub(super) fn agent() -> Vec<Value> {
    let input = json!([{"role": "user", "parts": [{"type": "text", "content": "Paris or Rome?"}]}]);
    let asks = json!([{"role": "assistant", "finish_reason": "tool_call", "parts": [
        {"type": "tool_call", "id": "call_1", "name": "get_weather", "arguments": {"city": "Paris"}}]}]);
    let says = json!([{"role": "assistant", "finish_reason": "stop", "parts": [
        {"type": "text", "content": "Rome is warmer."}]}]);
    vec![
        span(
            "chat2",
            "agent",
            "chat gpt-5",
            (60, 90),
            &json!({
            "gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-5",
            "gen_ai.usage.input_tokens": 200, "gen_ai.usage.output_tokens": 20,
            "gen_ai.response.finish_reasons": ["stop"], "gen_ai.output.messages": says}),
        ),
        span(
            "agent",
            "",
            "invoke_agent weather",
            (0, 100),
            &json!({
            "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "weather",
            "gen_ai.usage.input_tokens": 300, "gen_ai.usage.output_tokens": 30}),
        ),
        span(
            "chat1",
            "agent",
            "chat gpt-5",
            (1, 20),
            &json!({
            "gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-5",
            "gen_ai.response.model": "gpt-5-2026", "gen_ai.usage.input_tokens": 100,
            "gen_ai.usage.output_tokens": 10, "gen_ai.response.finish_reasons": ["tool_calls"],
            "gen_ai.input.messages": input.to_string(), "gen_ai.output.messages": asks.to_string()}),
        ),
        with(
            span(
                "tool2",
                "agent",
                "execute_tool get_weather",
                (31, 50),
                &json!({
            "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "weather__get_weather",
            "gen_ai.tool.call.arguments": "{\"city\": \"Rome\"}", "error.type": "timeout"}),
            ),
            "status",
            json!({"code": 2, "message": "no answer"}),
        ),
        span(
            "tool1",
            "agent",
            "execute_tool get_weather",
            (30, 40),
            &json!({
            "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "weather__get_weather",
            "gen_ai.tool.call.id": "call_1", "gen_ai.tool.call.arguments": {"city": "Paris"},
            "gen_ai.tool.call.result": {"degrees": 14.5}}),
        ),
        span(
            "http",
            "tool1",
            "POST",
            (32, 38),
            &json!({"http.request.method": "POST"}),
        ),
    ]
}

#[test]
fn an_agent_is_one_run() {
    let spans = agent();
    let (one, two) = spans.split_at(2);
    for text in [
        export(&spans).to_string(),
        lines(&[export(one), export(two)]),
        json!([export(one), export(two)]).to_string(),
    ] {
        let (run, notes) = import_one(&text, Format::Otlp);
        assert!(notes.is_empty(), "{notes:?}");
        assert_eq!(called(&run), ["weather/get_weather", "weather/get_weather"]);
        assert_eq!(run.tool_calls[0].args.value(), json!({"city": "Paris"}));
        assert_eq!(run.tool_calls[1].args.value(), json!({"city": "Rome"}));
        assert_eq!(answered(&run), [(0, Some(false)), (1, Some(true))]);
        assert_eq!(run.tool_results[0].result.value(), json!({"degrees": 14.5}));
        assert_eq!(run.tool_results[1].result.value(), "no answer");
        assert_eq!(run.model.as_deref(), Some("gpt-5-2026"));
        assert_eq!(run.prompt.as_deref(), Some("Paris or Rome?"));
        assert_eq!(run.final_response.as_deref(), Some("Rome is warmer."));
        assert_eq!(run.stop_reason(), Some(StopReason::Completed));
        // The agent sums up what its replies took; it does not take it again.
        assert_eq!(tokens(&run), some_tokens(300, 30));
        assert_eq!(run.conversation.as_ref().unwrap().duration_ms, Some(100.0));
        assert_eq!(
            said(&run),
            [
                ("user", Some("Paris or Rome?")),
                ("assistant", None),
                ("assistant", Some("Rome is warmer.")),
            ]
        );
    }
}

/// The agent's span, its client's and the server's, and between them one of HTTP: one call.
#[test]
fn one_call_that_is_told_three_times_is_one_call() {
    let mcp = json!({"mcp.method.name": "tools/call", "gen_ai.operation.name": "execute_tool",
                     "gen_ai.tool.name": "search"});
    let mut failed = mcp.clone();
    failed["error.type"] = json!("tool_error");
    failed["mcp.server.name"] = json!("docs");
    let mut with_arguments = mcp.clone();
    with_arguments["gen_ai.tool.call.arguments"] = json!({"q": "x"});
    let outer = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search",
                       "gen_ai.tool.call.result": "error: no index"});
    let spans = vec![
        span("a", "", "execute_tool search", (10, 50), &outer),
        span("b", "a", "tools/call search", (11, 49), &failed),
        span("h", "b", "POST", (12, 48), &json!({})),
        span("c", "h", "tools/call search", (13, 47), &with_arguments),
    ];
    let (run, notes) = import_value(&export(&spans), Format::Otlp);
    assert_eq!(
        notes,
        ["2 spans of a call or reply that another span has too, counted once"]
    );
    assert_eq!(called(&run), ["docs/search"]);
    assert_eq!(run.tool_calls[0].args.value(), json!({"q": "x"}));
    assert_eq!(answered(&run), [(0, Some(true))]);
    assert_eq!(run.tool_results[0].result.value(), "error: no index");

    // A second request inside is a call that was made again; so is one of another tool, or with
    // other arguments, or of an agent in between.
    let mut other_arguments = with_arguments.clone();
    other_arguments["gen_ai.tool.call.arguments"] = json!({"q": "y"});
    let mut other_tool = mcp.clone();
    other_tool["gen_ai.tool.name"] = json!("delete");
    let agent = json!({"gen_ai.operation.name": "invoke_agent"});
    for (inside, expected) in [
        (vec![span("d", "a", "tools/call search", (20, 30), &mcp)], 2),
        (
            vec![span(
                "d",
                "c",
                "tools/call search",
                (20, 30),
                &other_arguments,
            )],
            2,
        ),
        (
            vec![span("d", "b", "tools/call delete", (20, 30), &other_tool)],
            2,
        ),
        (
            vec![
                span("d", "c", "invoke_agent", (20, 30), &agent),
                span("e", "d", "tools/call search", (21, 29), &mcp),
            ],
            2,
        ),
        (
            vec![span("d", "nobody", "tools/call search", (20, 30), &mcp)],
            2,
        ),
        (
            vec![span("d", "c", "execute_tool search", (20, 30), &outer)],
            1,
        ),
    ] {
        let all: Vec<Value> = spans.iter().cloned().chain(inside).collect();
        let (run, _) = import_value(&export(&all), Format::Otlp);
        assert_eq!(run.tool_calls.len(), expected, "{all:?}");
    }
}

#[test]
fn what_a_span_says_of_the_result() {
    let call = |result: Value, status: Value, error: Value| {
        let mut attributes = json!({"mcp.method.name": "tools/call", "mcp.tool.name": "get__x"});
        if !result.is_null() {
            attributes["gen_ai.tool.call.result"] = result;
        }
        if !error.is_null() {
            attributes["error.type"] = error;
        }
        let span = span("a", "", "tools/call get__x", (1, 2), &attributes);
        let (run, notes) = import_value(&export(&[with(span, "status", status)]), Format::Otlp);
        // The name that the server gave stays whole; the arguments are not recorded.
        assert_eq!(called(&run), ["get__x"]);
        assert_eq!(notes.len(), 1, "{notes:?}");
        answered(&run)
            .first()
            .copied()
            .map(|(_, is_error)| is_error)
    };
    let none = || Value::Null;
    for (result, status, error, expected) in [
        (none(), json!({}), none(), None),
        (none(), json!({"code": 1}), none(), None),
        (none(), json!({"code": "STATUS_CODE_OK"}), none(), None),
        (json!("x"), none(), none(), Some(Some(false))),
        (json!("x"), json!({"code": 1}), none(), Some(Some(false))),
        (json!("x"), json!({"code": 2}), none(), Some(Some(true))),
        (
            none(),
            json!({"code": "STATUS_CODE_ERROR"}),
            none(),
            Some(Some(true)),
        ),
        (none(), json!({}), json!("tool_error"), Some(Some(true))),
        (none(), json!({}), json!(-32602), Some(Some(true))),
        (
            json!({"isError": true, "content": []}),
            json!({}),
            none(),
            Some(Some(true)),
        ),
        (
            json!("{\"isError\": true}"),
            json!({}),
            none(),
            Some(Some(true)),
        ),
    ] {
        let told = call(result.clone(), status.clone(), error.clone());
        assert_eq!(told, expected, "{result} {status} {error}");
    }
}

#[test]
fn older_attributes_are_read() {
    let attributes = json!({"mcp.method.name": "tools/call",
                            "mcp.request.argument.city": "\"Paris\"", "mcp.request.argument.days": 3});
    let one = span("a", "", "tools/call get_weather", (1, 2), &attributes);
    let params = json!({"mcp.method.name": "tools/call",
                        "mcp.request.params": "{\"name\": \"add\", \"arguments\": {\"a\": 1}}"});
    let two = span("b", "", "tools/call", (3, 4), &params);
    let chat = span(
        "c",
        "",
        "chat",
        (5, 6),
        &json!({"gen_ai.operation.name": "chat",
        "gen_ai.usage.prompt_tokens": 7, "gen_ai.usage.completion_tokens": "8"}),
    );
    let event = json!([{"name": "gen_ai.client.inference.operation.details", "attributes": pairs(&json!({
        "gen_ai.output.messages": [{"role": "assistant", "content": "Sun."}]}))}]);
    let spans = [one, two, with(chat, "events", event)];
    let (run, notes) = import_value(&export(&spans), Format::Otlp);
    assert!(notes.is_empty(), "{notes:?}");
    assert_eq!(called(&run), ["get_weather", "add"]);
    assert_eq!(
        run.tool_calls[0].args.value(),
        json!({"city": "Paris", "days": 3})
    );
    assert_eq!(run.tool_calls[1].args.value(), json!({"a": 1}));
    assert_eq!(tokens(&run), some_tokens(7, 8));
    assert_eq!(run.final_response.as_deref(), Some("Sun."));
}

#[test]
fn what_was_not_recorded_is_unknown() {
    let chat = |id: &str, times, attributes: Value| {
        let mut all = json!({"gen_ai.operation.name": "chat"});
        all.as_object_mut()
            .unwrap()
            .extend(attributes.as_object().unwrap().clone());
        span(id, "", "chat", times, &all)
    };
    let spans = [
        chat(
            "a",
            (1, 2),
            json!({"gen_ai.usage.input_tokens": 5, "gen_ai.usage.output_tokens": 5}),
        ),
        chat(
            "b",
            (3, 4),
            json!({"gen_ai.response.finish_reasons": ["content_filter"]}),
        ),
    ];
    let (run, notes) = import_value(&export(&spans), Format::Otlp);
    assert_eq!(run.turns(), None);
    assert_eq!(run.final_response, None);
    assert_eq!(run.stop_reason(), None);
    assert_eq!(tokens(&run), None);
    assert_eq!(notes.len(), 2, "{notes:?}");

    let failed = with(chat("c", (5, 6), json!({})), "status", json!({"code": 2}));
    let (run, _) = import_value(&export(&[failed]), Format::Otlp);
    assert_eq!(run.stop_reason(), Some(StopReason::Error));
    // Without replies, the agent as a whole tells.
    let agent = json!({"gen_ai.operation.name": "invoke_agent", "gen_ai.request.model": "m",
        "gen_ai.usage.input_tokens": 5, "gen_ai.usage.output_tokens": 6,
        "gen_ai.output.messages": [{"role": "assistant", "finish_reason": "length",
            "parts": [{"type": "text", "content": "Well"}, {"type": "text", "content": "then"}]}]});
    let (run, _) = import_value(
        &export(&[span("d", "", "invoke_agent", (1, 9), &agent)]),
        Format::Otlp,
    );
    assert_eq!(run.final_response.as_deref(), Some("Well\nthen"));
    assert_eq!(run.stop_reason(), Some(StopReason::TokenBudget));
    assert_eq!(tokens(&run), some_tokens(5, 6));
    assert_eq!(run.turns(), None);
}

/// The replies of a sub-agent take tokens, but they are not what the agent says in the end.
#[test]
fn a_sub_agent_does_not_speak_for_the_agent() {
    let chat = |id: &str, parent: &str, times, text: &str| {
        span(
            id,
            parent,
            "chat",
            times,
            &json!({"gen_ai.operation.name": "chat",
            "gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 1,
            "gen_ai.response.finish_reasons": ["stop"],
            "gen_ai.output.messages": [{"role": "assistant", "parts": [
                {"type": "text", "content": text}]}]}),
        )
    };
    let tool = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "ask_expert"});
    let agent = json!({"gen_ai.operation.name": "invoke_agent"});
    let read = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "read"});
    let spans = [
        chat("a", "", (1, 2), "I ask."),
        span("b", "", "execute_tool ask_expert", (3, 20), &tool),
        span("c", "b", "invoke_agent", (4, 19), &agent),
        span("d", "c", "execute_tool read", (5, 6), &read),
        chat("e", "c", (7, 18), "I am the expert."),
        // The span of the library inside that of the framework.
        chat("f", "e", (8, 17), "I am the expert."),
    ];
    let (run, _) = import_value(&export(&spans), Format::Otlp);
    assert_eq!(called(&run), ["ask_expert", "read"]);
    assert_eq!(run.final_response.as_deref(), Some("I ask."));
    assert_eq!(tokens(&run), some_tokens(20, 2));
    assert_eq!(said(&run), [("assistant", Some("I ask."))]);
}

#[test]
fn one_run_per_trace_in_the_order_of_their_start() {
    let call = |trace: &str, at: u64, name: &str| {
        let attributes = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name});
        with(
            span(name, "", "", (at, at + 1), &attributes),
            "traceId",
            json!(trace),
        )
    };
    let noise = with(
        span("n", "", "GET /", (0, 1), &json!({})),
        "traceId",
        json!("noise"),
    );
    let spans = [
        call("a", 50, "late"),
        noise.clone(),
        call("z", 10, "early"),
        call("a", 40, "between"),
    ];
    let imported = import(&export(&spans).to_string()).unwrap();
    let names: Vec<_> = imported.trace.runs.iter().map(called).collect();
    assert_eq!(names, [vec!["early"], vec!["between", "late"]]);
    assert_eq!(
        imported.notes,
        [
            "run 0: 1 call without recorded arguments, which are unknown: `early`",
            "run 1: 2 calls without recorded arguments, which are unknown: `between` and `late`",
        ]
    );
    let error = import(&export(&[noise]).to_string()).unwrap_err();
    assert_eq!(
        error.message,
        "1 span in it, and none is about a model or a tool"
    );
    let error = import(&export(&[json!(5)]).to_string()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 1, column 151, resourceSpans[0].scopeSpans[0].spans[0]: this is the number 5, and must be an object"
    );
}
