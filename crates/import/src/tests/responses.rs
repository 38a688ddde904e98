use serde_json::json;

use super::*;

fn items() -> Value {
    json!([
        {"type": "message", "role": "user",
         "content": [{"type": "input_text", "text": "Roll and search."}]},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "roll",
         "arguments": "{\"dice\": \"2d4\"}", "status": "completed"},
        {"type": "function_call", "id": "fc_2", "call_id": "call_2", "name": "roll",
         "arguments": "{\"dice\": \"1d6\"}", "status": "completed"},
        {"type": "function_call_output", "call_id": "call_2", "output": "6"},
        {"type": "function_call_output", "call_id": "call_1", "output": "5"},
    ])
}

fn output() -> Value {
    json!([
        {"type": "web_search_call", "id": "ws_1", "status": "completed",
         "action": {"type": "search", "query": "dice"}},
        {"type": "mcp_call", "id": "mcp_1", "server_label": "dmcp", "name": "roll",
         "arguments": "{}", "output": "4", "error": null},
        {"type": "mcp_call", "id": "mcp_2", "server_label": "dmcp", "name": "dmcp__reset",
         "arguments": "{}", "output": null, "error": "no such game"},
        {"type": "message", "id": "msg_1", "role": "assistant",
         "content": [{"type": "output_text", "text": "You rolled 5, 6 and 4.", "annotations": []}]},
    ])
}

#[test]
fn items_are_read() {
    let mut all = items();
    all.as_array_mut()
        .unwrap()
        .extend(output().as_array().unwrap().iter().cloned());
    let (run, notes) = import_value(&all, Format::OpenAi);
    assert!(notes.is_empty(), "{notes:?}");
    assert_eq!(
        called(&run),
        ["roll", "roll", "web_search", "dmcp/roll", "dmcp/reset"]
    );
    assert_eq!(run.tool_calls[0].args.value(), json!({"dice": "2d4"}));
    assert_eq!(run.tool_calls[2].args.value()["query"], "dice");
    assert_eq!(
        answered(&run),
        [(0, None), (1, None), (3, Some(false)), (4, Some(true))]
    );
    assert_eq!(run.tool_results[0].result.value(), "5");
    assert_eq!(run.prompt.as_deref(), Some("Roll and search."));
    assert_eq!(
        run.final_response.as_deref(),
        Some("You rolled 5, 6 and 4.")
    );
    assert_eq!(
        said(&run),
        [
            ("user", Some("Roll and search.")),
            ("assistant", None),
            ("tool", None),
            ("tool", None),
            ("assistant", Some("You rolled 5, 6 and 4.")),
        ]
    );
}

fn response(status: &str, output: Value) -> Value {
    json!({"id": "resp_1", "object": "response", "model": "gpt-5", "status": status,
           "instructions": "Be brief.", "incomplete_details": {"reason": "max_output_tokens"},
           "output": output, "input": "Hello?",
           "usage": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}})
}

#[test]
fn a_response_tells_how_it_ended() {
    let said = json!([{"type": "message", "role": "assistant",
                       "content": [{"type": "output_text", "text": "Hello!"}]}]);
    let asks = json!([{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}]);
    for (status, output, expected) in [
        ("completed", &said, Some(StopReason::Completed)),
        ("completed", &asks, None),
        ("incomplete", &said, Some(StopReason::TokenBudget)),
        ("failed", &said, Some(StopReason::Error)),
        ("in_progress", &said, None),
    ] {
        let (run, _) = import_value(&response(status, output.clone()), Format::OpenAi);
        assert_eq!(run.stop_reason(), expected, "{status}");
        assert_eq!(run.prompt.as_deref(), Some("Hello?"));
        assert_eq!(run.model.as_deref(), Some("gpt-5"));
        assert_eq!(tokens(&run), some_tokens(10, 5));
    }
    let error = import(&json!([{"type": "function_call", "call_id": "c"}]).to_string());
    assert_eq!(
        error.unwrap_err().to_string(),
        "[0]: the `function_call` item has no `name`"
    );
}

#[test]
fn tools_of_the_provider_keep_what_they_were_to_do() {
    let items = json!([
        {"type": "code_interpreter_call", "id": "ci", "code": "print()", "container_id": "c",
         "outputs": [{"type": "logs", "logs": "1"}], "status": "completed"},
        {"type": "file_search_call", "id": "fs", "queries": ["a"], "status": "failed", "results": null},
        {"type": "image_generation_call", "id": "ig", "status": "in_progress", "result": null},
        {"type": "function_call", "call_id": "f", "name": "f", "arguments": "", "status": "incomplete"},
        {"type": "custom_tool_call", "call_id": "ct", "name": "code", "input": "42"},
        {"type": "mcp_call", "id": "m", "name": "ask", "status": "failed", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "f", "output": "x", "status": "failed"},
    ]);
    let (run, notes) = import_value(&items, Format::OpenAi);
    let args: Vec<Value> = run
        .tool_calls
        .iter()
        .map(|call| call.args.value())
        .collect();
    assert_eq!(
        args,
        [
            json!({"code": "print()"}),
            json!({"queries": ["a"]}),
            Value::Null,
            json!({}),
            json!("42"),
            json!({}),
        ]
    );
    assert_eq!(
        answered(&run),
        [
            (0, Some(false)),
            (1, Some(true)),
            (3, Some(true)),
            (5, Some(true))
        ]
    );
    assert_eq!(notes, ["1 call that its provider calls incomplete: `f`"]);
}

#[test]
fn a_response_that_failed_is_a_run() {
    let failed = json!({"id": "resp_1", "object": "response", "status": "failed", "output": [],
                        "error": {"code": "server_error", "message": "no luck"}, "model": "gpt-5"});
    let (run, notes) = import_value(&failed, Format::OpenAi);
    assert_eq!(run.stop_reason(), Some(StopReason::Error));
    assert_eq!(run.model.as_deref(), Some("gpt-5"));
    assert!(run.tool_calls.is_empty() && run.final_response.is_none());
    assert_eq!(notes, ["the provider reported an error: no luck"]);
}

/// Responses that name the one before them are one conversation.
#[test]
fn a_chain_of_responses_is_one_run() {
    let usage = json!({"input_tokens": 10, "output_tokens": 5, "total_tokens": 15});
    let first = json!({"id": "resp_1", "object": "response", "status": "completed", "model": "gpt-5",
        "instructions": "Be brief.", "usage": usage, "output": [
            {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}]});
    let result = json!({"type": "function_call_output", "call_id": "c1", "output": "rain"});
    let second = json!({"id": "resp_2", "object": "response", "previous_response_id": "resp_1",
        "instructions": "Be brief.", "status": "completed", "model": "gpt-5", "usage": usage, "output": [
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Rain."}]}]});
    let other = json!({"id": "resp_3", "object": "response", "status": "completed", "output": [
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi."}]}]});
    let input = json!({"model": "gpt-5", "previous_response_id": "resp_1", "input": [result]});
    let ask = json!({"model": "gpt-5", "input": "Weather?"});
    for (text, count) in [
        (lines(&[first.clone(), result.clone(), second.clone()]), 1),
        // Another conversation in between.
        (
            json!([{"request": ask, "response": first}, {"request": ask, "response": other},
                   {"request": input, "response": second}])
            .to_string(),
            2,
        ),
    ] {
        let imported = import(&text).unwrap();
        assert_eq!(imported.format, Format::OpenAi);
        assert_eq!(imported.trace.runs.len(), count, "{text}");
        let run = &imported.trace.runs[0];
        assert_eq!(called(run), ["f"]);
        assert_eq!(answered(run), [(0, None)]);
        assert_eq!(run.final_response.as_deref(), Some("Rain."));
        assert_eq!(run.stop_reason(), Some(StopReason::Completed));
        assert_eq!(tokens(run), some_tokens(20, 10));
    }
}
