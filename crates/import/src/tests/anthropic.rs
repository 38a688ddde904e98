use serde_json::json;

use super::*;

/// Two calls at once, one of them with an error; then a third one, and a reply.
fn transcript() -> Value {
    json!({
        "model": "claude-sonnet-4-5",
        "system": "You are a helpful assistant.",
        "tools": [{"name": "mcp__weather__get_forecast", "input_schema": {"type": "object"}}],
        "messages": [
            {"role": "user", "content": "Is it warmer in Sacramento or in Reykjavik?"},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "I need both.", "signature": "EqQB"},
                {"type": "text", "text": "I'll look up both cities."},
                {"type": "tool_use", "id": "toolu_01A", "name": "mcp__weather__get_forecast",
                 "input": {"city": "Sacramento"}},
                {"type": "tool_use", "id": "toolu_01B", "name": "mcp__weather__get_forecast",
                 "input": {"city": "Reykjavik"}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu_01B", "is_error": true,
                 "content": "timeout"},
                {"type": "tool_result", "tool_use_id": "toolu_01A",
                 "content": [{"type": "text", "text": "31 °C"}]}]},
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "toolu_01C", "name": "weather__get_forecast",
                 "input": {"city": "Reykjavik"}, "caller": {"type": "direct"}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu_01C", "content": "9 °C"}]},
            {"role": "assistant", "content": [
                {"type": "text", "text": "It is warmer in Sacramento."},
                {"type": "text", "text": "31 °C against 9 °C."}]},
        ]
    })
}

#[test]
fn parallel_calls_have_one_result_each() {
    let (run, notes) = import_value(&transcript(), Format::Anthropic);
    assert!(notes.is_empty(), "{notes:?}");
    assert_eq!(run.model.as_deref(), Some("claude-sonnet-4-5"));
    assert_eq!(
        run.prompt.as_deref(),
        Some("Is it warmer in Sacramento or in Reykjavik?")
    );
    assert_eq!(called(&run), ["weather/get_forecast"; 3]);
    assert_eq!(run.tool_calls[1].args.value(), json!({"city": "Reykjavik"}));
    assert!(run.tool_calls.iter().all(|call| call.caller.is_none()));
    assert_eq!(
        answered(&run),
        [(0, Some(false)), (1, Some(true)), (2, Some(false))]
    );
    assert_eq!(run.tool_results[1].result.value(), json!("timeout"));
    assert_eq!(
        run.tool_results[0].result.value(),
        json!([{"type": "text", "text": "31 °C"}])
    );
    assert_eq!(
        run.final_response.as_deref(),
        Some("It is warmer in Sacramento.\n31 °C against 9 °C.")
    );
    assert_eq!(
        said(&run),
        [
            ("system", Some("You are a helpful assistant.")),
            ("user", Some("Is it warmer in Sacramento or in Reykjavik?")),
            ("assistant", Some("I'll look up both cities.")),
            ("tool", None),
            ("assistant", None),
            ("tool", None),
            (
                "assistant",
                Some("It is warmer in Sacramento.\n31 °C against 9 °C.")
            ),
        ]
    );
    // Nobody told these.
    assert_eq!(run.stop_reason(), None);
    assert_eq!(tokens(&run), None);
    assert_eq!(run.conversation.unwrap().duration_ms, None);
    assert_eq!(run.passed, None);
}

#[test]
fn bare_messages_several_transcripts_and_lines_are_read() {
    let messages = transcript()["messages"].clone();
    let (whole, _) = import_value(&transcript(), Format::Anthropic);
    let (bare, _) = import_value(&messages, Format::Anthropic);
    assert_eq!(bare.tool_calls, whole.tool_calls);
    assert_eq!(bare.tool_results, whole.tool_results);
    assert_eq!(bare.model, None);
    let (by_line, _) = import_one(&lines(messages.as_array().unwrap()), Format::Anthropic);
    assert_eq!(by_line, bare);
    let several = [
        json!([transcript(), transcript()]).to_string(),
        json!([messages, messages]).to_string(),
        lines(&[transcript(), transcript()]),
        lines(&[messages.clone(), messages]),
    ];
    for text in several {
        let imported = import(&text).unwrap();
        assert_eq!(imported.format, Format::Anthropic, "{text}");
        assert_eq!(imported.trace.runs.len(), 2, "{text}");
        for run in imported.trace.runs {
            assert_eq!(run.tool_results, whole.tool_results);
        }
    }
}

fn response(stop_reason: &str, content: Value) -> Value {
    json!({"id": "msg_01", "type": "message", "role": "assistant", "model": "claude-opus-4-5",
           "content": content, "stop_reason": stop_reason, "stop_sequence": null,
           "usage": {"input_tokens": 100, "cache_read_input_tokens": 900,
                     "cache_creation_input_tokens": 0, "output_tokens": 20}})
}

#[test]
fn the_last_response_can_stand_anywhere() {
    let asked = json!({"role": "user", "content": "Hello?"});
    let response = response("end_turn", json!([{"type": "text", "text": "Hello!"}]));
    for text in [
        json!({"messages": [asked, response]}).to_string(),
        json!({"messages": [asked], "response": response}).to_string(),
        json!([asked, response]).to_string(),
        json!([{"messages": [asked]}, response]).to_string(),
        lines(&[json!({"messages": [asked]}), response.clone()]),
    ] {
        let (run, notes) = import_one(&text, Format::Anthropic);
        assert_eq!(run.final_response.as_deref(), Some("Hello!"), "{text}");
        assert_eq!(run.stop_reason(), Some(StopReason::Completed), "{text}");
        assert_eq!(tokens(&run), some_tokens(1000, 20), "{text}");
        assert_eq!(run.model.as_deref(), Some("claude-opus-4-5"), "{text}");
        assert_eq!(run.prompt.as_deref(), Some("Hello?"), "{text}");
        assert!(notes.is_empty(), "{notes:?}");
    }
    let (run, _) = import_value(&response, Format::Anthropic);
    assert_eq!(run.final_response.as_deref(), Some("Hello!"));
}

#[test]
fn reasons_to_stop() {
    let said = json!([{"type": "text", "text": "So"}]);
    let asks = json!([{"type": "tool_use", "id": "t", "name": "search", "input": {}}]);
    for (reason, content, expected, final_response, notes) in [
        (
            "end_turn",
            &said,
            Some(StopReason::Completed),
            Some("So"),
            0,
        ),
        (
            "end_turn",
            &json!([]),
            Some(StopReason::Completed),
            Some(""),
            0,
        ),
        (
            "stop_sequence",
            &said,
            Some(StopReason::Completed),
            Some("So"),
            0,
        ),
        (
            "max_tokens",
            &said,
            Some(StopReason::TokenBudget),
            Some("So"),
            0,
        ),
        (
            "model_context_window_exceeded",
            &json!([]),
            Some(StopReason::TokenBudget),
            None,
            0,
        ),
        ("tool_use", &asks, None, None, 0),
        ("pause_turn", &said, None, Some("So"), 0),
        ("refusal", &said, None, Some("So"), 1),
    ] {
        let (run, told) = import_value(&response(reason, content.clone()), Format::Anthropic);
        assert_eq!(run.stop_reason(), expected, "{reason}");
        assert_eq!(run.final_response.as_deref(), final_response, "{reason}");
        assert_eq!(told.len(), notes, "{reason}: {told:?}");
    }
    // A run that is not over has not stopped.
    let mut messages = vec![response("end_turn", said)];
    messages.push(json!({"role": "user", "content": "And then?"}));
    let (run, _) = import_value(&json!({"messages": messages}), Format::Anthropic);
    assert_eq!(run.stop_reason(), None);
}

#[test]
fn tokens_are_known_only_if_every_reply_tells() {
    let ask = response(
        "tool_use",
        json!([{"type": "tool_use", "id": "t", "name": "search", "input": {}}]),
    );
    let answer = json!({"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "t", "content": "x"}]});
    let last = response("end_turn", json!([{"type": "text", "text": "x"}]));
    let (run, notes) = import_value(&json!([ask, answer, last]), Format::Anthropic);
    assert_eq!(tokens(&run), some_tokens(2000, 40));
    assert!(notes.is_empty());

    let silent = json!({"role": "assistant", "content": ask["content"]});
    let (run, notes) = import_value(&json!([silent, answer, last]), Format::Anthropic);
    assert_eq!(tokens(&run), None);
    assert_eq!(notes.len(), 1, "{notes:?}");

    let whole = json!({"messages": [silent, answer, last],
                       "usage": {"input_tokens": 5, "output_tokens": 6}});
    let (run, notes) = import_value(&whole, Format::Anthropic);
    assert_eq!(tokens(&run), some_tokens(5, 6));
    assert!(notes.is_empty());
}

/// Code that the model wrote calls a tool twice; the code itself is a call too.
#[test]
fn calls_of_code_keep_their_caller() {
    let caller = json!({"type": "code_execution_20250825", "tool_id": "srvtoolu_1"});
    let transcript = json!({"messages": [
        {"role": "user", "content": "Which region sold most?"},
        {"role": "assistant", "content": [
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "code_execution",
             "input": {"code": "await query_database('West')"}},
            {"type": "tool_use", "id": "toolu_1", "name": "query_database",
             "input": {"region": "West"}, "caller": caller},
            {"type": "tool_use", "id": "toolu_2", "name": "delete_table",
             "input": {"table": "sales"}, "caller": caller}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": "[1, 2]"},
            {"type": "tool_result", "tool_use_id": "toolu_2", "content": "denied", "is_error": true}]},
        {"role": "assistant", "content": [
            {"type": "code_execution_tool_result", "tool_use_id": "srvtoolu_1", "content": {
                "type": "code_execution_result", "stdout": "3", "stderr": "", "return_code": 0}},
            {"type": "text", "text": "The West did."}]}]});
    let (run, notes) = import_value(&transcript, Format::Anthropic);
    assert!(notes.is_empty(), "{notes:?}");
    assert_eq!(
        called(&run),
        ["code_execution", "query_database", "delete_table"]
    );
    assert_eq!(run.tool_calls[0].caller, None);
    assert_eq!(run.tool_calls[1].caller.as_deref(), Some(&caller));
    assert_eq!(run.tool_calls[2].caller.as_deref(), Some(&caller));
    assert_eq!(
        answered(&run),
        [(0, Some(false)), (1, Some(false)), (2, Some(true))]
    );
    assert_eq!(run.final_response.as_deref(), Some("The West did."));
}

/// Tools of a server that Anthropic connects to, and of Anthropic itself, in one message.
#[test]
fn calls_and_results_in_one_message() {
    let message = response(
        "end_turn",
        json!([
            {"type": "text", "text": "Let me see."},
            {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "echo",
             "server_name": "example-mcp", "input": {"text": "hi"}},
            {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "is_error": false,
             "content": [{"type": "text", "text": "hi"}]},
            {"type": "server_tool_use", "id": "srvtoolu_2", "name": "web_search",
             "input": {"query": "hi"}},
            {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_2",
             "content": {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}},
            {"type": "text", "text": "The echo is ", "citations": []},
            {"type": "text", "text": "hi", "citations": [{"type": "web_search_result_location"}]},
            {"type": "text", "text": "."}]),
    );
    let (run, notes) = import_value(&message, Format::Anthropic);
    assert!(notes.is_empty(), "{notes:?}");
    assert_eq!(called(&run), ["example-mcp/echo", "web_search"]);
    assert_eq!(answered(&run), [(0, Some(false)), (1, Some(true))]);
    assert_eq!(run.final_response.as_deref(), Some("The echo is hi."));
    assert_eq!(
        said(&run),
        [("assistant", Some("Let me see.\nThe echo is hi."))]
    );
}

#[test]
fn what_finds_no_partner_is_told() {
    let (run, notes) = import_value(
        &json!([
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "a", "name": "search", "input": {}},
                {"type": "tool_use", "id": "b", "name": "search", "input": {}},
                {"type": "tool_use", "id": "b", "name": "search", "input": {}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "b", "content": "first"},
                {"type": "tool_result", "tool_use_id": "b", "content": "second"},
                {"type": "tool_result", "tool_use_id": "b", "content": "third"},
                {"type": "tool_result", "tool_use_id": "z", "content": "?"},
                {"type": "tool_result", "content": "?"}]}]),
        Format::Anthropic,
    );
    assert_eq!(answered(&run), [(1, Some(false)), (2, Some(false))]);
    assert_eq!(run.tool_results[1].result.value(), json!("third"));
    assert_eq!(
        notes,
        [
            "2 results without a call, left out: `z` and `without an id`",
            "1 result for a call that has one already, the last holds: `search`",
        ]
    );
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let with = |message: Value| {
        json!({"system": "s", "messages": [
        {"role": "user", "content": "x"}, message]})
    };
    for (value, path, message) in [
        (
            with(json!({"content": "x"})),
            "messages[1]",
            "the message has no `role`",
        ),
        (
            with(json!(5)),
            "messages[1]",
            "this is the number 5, and must be an object",
        ),
        (
            with(json!({"role": "user", "content": 5})),
            "messages[1].content",
            "this is the number 5, and must be a text or a list of blocks such as {\"type\": \"text\", \"text\": \"…\"}",
        ),
        (
            with(json!({"role": "user", "content": [{"text": "x"}]})),
            "messages[1].content[0]",
            "the block has no `type`",
        ),
        (
            with(json!({"role": "assistant", "content": [
                {"type": "text", "text": ""}, {"type": "tool_use", "id": "t"}]})),
            "messages[1].content[1]",
            "the `tool_use` block has no `name`",
        ),
        (
            json!([[{"role": "assistant", "content": [{"type": "tool_use"}]}]]),
            "[0][0].content[0]",
            "the `tool_use` block has no `name`",
        ),
    ] {
        let error = import(&value.to_string()).unwrap_err();
        assert_eq!(error.path.as_deref(), Some(path), "{value}");
        assert_eq!(error.message, message, "{value}");
        assert!(!error.hint.is_empty());
    }
    // What the model was told beforehand is no conversation.
    for text in [r#"{"messages": []}"#, r#"{"system": "s", "messages": []}"#] {
        let error = import(text).unwrap_err();
        assert_eq!(error.message, "the transcript has no messages");
    }
}
