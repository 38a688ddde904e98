use serde_json::json;

use super::*;

fn call(id: &str, name: &str, arguments: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

/// Two calls at once, then a reply.
fn messages() -> Value {
    json!([
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Close issue 7 and tell Ann."}]},
        {"role": "assistant", "content": null, "tool_calls": [
            call("call_1", "github__close_issue", "{\"number\": 7}"),
            call("call_2", "send_message", "{\"to\": \"Ann\", \"text\": \"closed\"}")]},
        {"role": "tool", "tool_call_id": "call_2", "content": "sent"},
        {"role": "tool", "tool_call_id": "call_1",
         "content": "{\"content\":[{\"type\":\"text\",\"text\":\"no such issue\"}],\"isError\":true}"},
    ])
}

fn response(finish_reason: &str, message: Value) -> Value {
    json!({"id": "chatcmpl-1", "object": "chat.completion", "model": "gpt-5-mini",
           "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
           "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}})
}

fn reply(text: &str) -> Value {
    json!({"role": "assistant", "content": text, "refusal": null})
}

#[test]
fn parallel_calls_have_one_result_each() {
    let mut whole = messages();
    whole.as_array_mut().unwrap().push(reply("I closed it."));
    for value in [
        whole.clone(),
        json!({"model": "gpt-5-mini", "messages": whole}),
    ] {
        let (run, notes) = import_value(&value, Format::OpenAi);
        assert!(notes.is_empty(), "{notes:?}");
        assert_eq!(called(&run), ["github/close_issue", "send_message"]);
        assert_eq!(run.tool_calls[0].args.value(), json!({"number": 7}));
        assert_eq!(run.tool_calls[1].args.value()["to"], "Ann");
        // Only the result of an MCP tool tells whether it is an error.
        assert_eq!(answered(&run), [(0, Some(true)), (1, None)]);
        assert_eq!(run.tool_results[0].result.value()["isError"], true);
        assert_eq!(run.tool_results[1].result.value(), "sent");
        assert_eq!(run.prompt.as_deref(), Some("Close issue 7 and tell Ann."));
        assert_eq!(run.final_response.as_deref(), Some("I closed it."));
        assert_eq!(run.stop_reason(), None);
        assert_eq!(tokens(&run), None);
        assert_eq!(
            said(&run),
            [
                ("system", Some("Be brief.")),
                ("user", Some("Close issue 7 and tell Ann.")),
                ("assistant", None),
                ("tool", None),
                ("tool", None),
                ("assistant", Some("I closed it.")),
            ]
        );
    }
}

#[test]
fn a_response_ends_the_transcript() {
    let asked = json!([{"role": "user", "content": "Hello?"}]);
    let response = response("stop", reply("Hello!"));
    let mut merged = response.clone();
    merged["messages"] = asked.clone();
    for text in [
        json!({"messages": asked, "response": response}).to_string(),
        json!([asked[0], response]).to_string(),
        lines(&[json!({"messages": asked}), response.clone()]),
        merged.to_string(),
    ] {
        let (run, notes) = import_one(&text, Format::OpenAi);
        assert!(notes.is_empty(), "{notes:?}");
        assert_eq!(run.model.as_deref(), Some("gpt-5-mini"), "{text}");
        assert_eq!(run.prompt.as_deref(), Some("Hello?"), "{text}");
        assert_eq!(run.final_response.as_deref(), Some("Hello!"), "{text}");
        assert_eq!(run.stop_reason(), Some(StopReason::Completed), "{text}");
        assert_eq!(tokens(&run), some_tokens(100, 20), "{text}");
    }
    let (run, _) = import_value(&response, Format::OpenAi);
    assert_eq!(run.final_response.as_deref(), Some("Hello!"));
}

#[test]
fn the_usage_of_the_last_reply_is_not_that_of_the_run() {
    let value = json!({"messages": messages(), "response": response("stop", reply("Done."))});
    let (run, notes) = import_value(&value, Format::OpenAi);
    assert_eq!(tokens(&run), None);
    assert_eq!(
        notes,
        ["1 of 2 replies do not report their tokens, so those of the run are unknown"]
    );
}

#[test]
fn reasons_to_stop() {
    let asks = json!({"role": "assistant", "tool_calls": [call("c", "search", "{}")]});
    for (reason, message, expected, final_response, notes) in [
        (
            "stop",
            reply("So"),
            Some(StopReason::Completed),
            Some("So"),
            0,
        ),
        ("stop", reply(""), Some(StopReason::Completed), Some(""), 0),
        (
            "length",
            reply("So"),
            Some(StopReason::TokenBudget),
            Some("So"),
            0,
        ),
        ("tool_calls", asks, None, None, 0),
        ("content_filter", reply(""), None, None, 1),
        (
            "stop",
            json!({"role": "assistant", "content": null, "refusal": "I can't."}),
            Some(StopReason::Completed),
            Some("I can't."),
            0,
        ),
    ] {
        let (run, told) = import_value(&response(reason, message), Format::OpenAi);
        assert_eq!(run.stop_reason(), expected, "{reason}");
        assert_eq!(run.final_response.as_deref(), final_response, "{reason}");
        assert_eq!(told.len(), notes, "{reason}: {told:?}");
    }
}

#[test]
fn arguments_are_json_or_a_text() {
    let calls = [
        call("1", "a", "{\"x\": 1}"),
        call("2", "b", "{\"x\": 1"),
        call("3", "c", ""),
        json!({"id": "4", "function": {"name": "d", "arguments": {"x": 1}}}),
        json!({"id": "5", "type": "custom", "custom": {"name": "e", "input": "[1]"}}),
        json!({"id": "6", "function": {"name": "f"}}),
        json!({"id": "7", "type": "custom", "custom": {"name": "g", "input": "42"}}),
        json!({"id": "8", "type": "custom", "custom": {"name": "h", "input": "print(1)"}}),
        call("9", "i", "null"),
    ];
    let value = json!([{"role": "assistant", "tool_calls": calls}]);
    let (run, notes) = import_value(&value, Format::OpenAi);
    let args: Vec<Value> = run
        .tool_calls
        .into_iter()
        .map(|call| call.args.value())
        .collect();
    assert_eq!(
        args,
        [
            json!({"x": 1}),
            json!("{\"x\": 1"),
            json!({}),
            json!({"x": 1}),
            json!("[1]"),
            json!({}),
            json!("42"),
            json!("print(1)"),
            json!({}),
        ]
    );
    assert_eq!(
        notes,
        ["1 call with arguments that are not JSON, kept as a text: `b`"]
    );
}

#[test]
fn the_older_functions_are_read() {
    let value = json!([
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": null,
         "function_call": {"name": "get_weather", "arguments": "{\"city\": \"Paris\"}"}},
        {"role": "function", "name": "get_weather", "content": "rain"},
        {"role": "assistant", "content": null,
         "function_call": {"name": "get_weather", "arguments": "{\"city\": \"Rome\"}"}},
        {"role": "function", "name": "get_weather", "content": "sun"},
        {"role": "function", "name": "other", "content": "?"},
        {"role": "assistant", "content": "Sun in Rome."},
    ]);
    let (run, notes) = import_value(&value, Format::OpenAi);
    assert_eq!(called(&run), ["get_weather", "get_weather"]);
    let results: Vec<_> = run
        .tool_results
        .iter()
        .map(|one| one.result.value())
        .collect();
    assert_eq!(results, ["rain", "sun"]);
    assert_eq!(notes, ["1 result without a call, left out: `other`"]);
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let with = |message: Value| json!({"messages": [{"role": "tool"}, message]});
    for (value, path, message) in [
        (
            with(json!({"content": "x"})),
            "messages[1]",
            "the message has no `role`",
        ),
        (
            with(json!({"role": "user", "content": 5})),
            "messages[1].content",
            "this is neither a text nor a list of parts",
        ),
        (
            with(json!({"role": "assistant", "tool_calls": 5})),
            "messages[1].tool_calls",
            "this is the number 5, and must be a list",
        ),
        (
            with(json!({"role": "assistant", "tool_calls": [{"id": "1"}]})),
            "messages[1].tool_calls[0]",
            "the call has no `function`",
        ),
        (
            with(json!({"role": "assistant", "function_call": {}})),
            "messages[1].function_call",
            "the key `name` is missing",
        ),
        (
            json!({"choices": [{"delta": {"content": "x"}}]}),
            "choices[0]",
            "the choice has no `message`",
        ),
        (
            json!({"choices": 1}),
            "choices",
            "this is the number 1, and must be a list",
        ),
    ] {
        let error = import(&value.to_string()).unwrap_err();
        assert_eq!(error.path.as_deref(), Some(path), "{value}");
        assert_eq!(error.message, message, "{value}");
        assert!(!error.hint.is_empty());
    }
    let many = json!({"choices": [
        {"message": reply("a")}, {"message": reply("b")}, {"message": reply("c")}]});
    let (run, notes) = import_value(&many, Format::OpenAi);
    assert_eq!(run.final_response.as_deref(), Some("a"));
    assert_eq!(notes, ["the response has 2 other choices, left out"]);
}

#[test]
fn roles_are_told_in_one_way() {
    let value = json!([{"role": "User", "content": "x"}, {"role": "developer", "content": "y"},
                       {"role": "model", "content": "z"}, {"role": "tool", "content": "?"}]);
    let (run, _) = import_value(&value, Format::OpenAi);
    let roles: Vec<&str> = said(&run).into_iter().map(|(role, _)| role).collect();
    assert_eq!(roles, ["user", "system", "assistant", "tool"]);
    let value = json!([{"role": "tool"}, {"role": "critic", "content": "x"}]);
    let error = import(&value.to_string()).unwrap_err();
    assert_eq!(error.to_string(), "[1].role: no role is called `critic`");
}

#[test]
fn an_error_in_the_place_of_a_reply_ends_the_run() {
    let value = json!({"messages": [{"role": "developer", "content": "x"}, {"role": "user", "content": "y"}],
                       "response": {"error": {"message": "overloaded", "type": "server_error"}}});
    let (run, notes) = import_value(&value, Format::OpenAi);
    assert_eq!(run.stop_reason(), Some(StopReason::Error));
    assert_eq!(notes, ["the provider reported an error: overloaded"]);
}
