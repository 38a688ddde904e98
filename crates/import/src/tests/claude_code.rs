use serde_json::json;

use super::*;

/// A line as the session file has it.
fn line(kind: &str, uuid: &str, second: u32, message: Value) -> Value {
    json!({"parentUuid": null, "isSidechain": false, "userType": "external", "cwd": "/src/demo",
           "sessionId": "256ba646-2c15-437a-98e9-4171aafd030e", "version": "2.1.17",
           "gitBranch": "main", "type": kind, "message": message, "uuid": uuid,
           "timestamp": format!("2026-01-23T17:19:{second:02}.250Z")})
}

/// A piece of a reply: the same id and usage in every line.
fn piece(uuid: &str, second: u32, id: &str, stop: Option<&str>, block: Value) -> Value {
    line(
        "assistant",
        uuid,
        second,
        json!({"id": id, "type": "message", "role": "assistant", "model": "claude-opus-4-5",
               "content": [block], "stop_reason": stop, "stop_sequence": null,
               "usage": {"input_tokens": 3, "cache_creation_input_tokens": 7,
                         "cache_read_input_tokens": 90, "output_tokens": second}}),
    )
}

fn answer(uuid: &str, second: u32, id: &str, content: &str, is_error: Option<bool>) -> Value {
    let mut block = json!({"type": "tool_result", "tool_use_id": id, "content": content});
    if let Some(is_error) = is_error {
        block["is_error"] = json!(is_error);
    }
    let mut line = line(
        "user",
        uuid,
        second,
        json!({"role": "user", "content": [block]}),
    );
    line["toolUseResult"] = json!({"stdout": content});
    line
}

/// Two calls at once, whose second is written after the result of the first.
fn session() -> Vec<Value> {
    let with = |mut line: Value, key: &str| {
        line[key] = json!(true);
        line
    };
    let call = |id: &str, name: &str, input: Value| json!({"type": "tool_use", "id": id, "name": name, "input": input});
    vec![
        json!({"type": "summary", "summary": "Fix the tests", "leafUuid": "x"}),
        json!({"type": "file-history-snapshot", "messageId": "m", "snapshot": {}}),
        with(
            line(
                "user",
                "u0",
                0,
                json!({"role": "user", "content": "<local-command-caveat>"}),
            ),
            "isMeta",
        ),
        line(
            "user",
            "u1",
            1,
            json!({"role": "user", "content": "Run the tests."}),
        ),
        json!({"type": "system", "subtype": "informational", "uuid": "s1", "sessionId": "256"}),
        piece(
            "u2",
            2,
            "msg_1",
            None,
            json!({"type": "thinking", "thinking": "…"}),
        ),
        piece(
            "u3",
            3,
            "msg_1",
            None,
            json!({"type": "text", "text": "I run them."}),
        ),
        piece(
            "u4",
            4,
            "msg_1",
            None,
            call("toolu_1", "Bash", json!({"command": "cargo test"})),
        ),
        answer("u5", 5, "toolu_1", "1 failed", Some(true)),
        piece(
            "u6",
            6,
            "msg_1",
            Some("tool_use"),
            call("toolu_2", "mcp__ci__status", json!({})),
        ),
        // A session that was taken up again has lines twice, and pieces under new names.
        piece(
            "u6",
            6,
            "msg_1",
            Some("tool_use"),
            call("toolu_2", "mcp__ci__status", json!({})),
        ),
        piece(
            "u7",
            6,
            "msg_1",
            Some("tool_use"),
            call("toolu_2", "mcp__ci__status", json!({})),
        ),
        answer("u8", 7, "toolu_2", "red", None),
        with(
            piece(
                "u9",
                8,
                "msg_side",
                Some("tool_use"),
                call("toolu_s", "Read", json!({})),
            ),
            "isSidechain",
        ),
        with(answer("u10", 9, "toolu_s", "text", None), "isSidechain"),
        piece(
            "u11",
            10,
            "msg_2",
            None,
            json!({"type": "text", "text": "One test fails."}),
        ),
        piece(
            "u12",
            11,
            "msg_2",
            Some("end_turn"),
            json!({"type": "text", "text": "The CI is red too."}),
        ),
    ]
}

#[test]
fn a_session_is_one_run_and_nothing_counts_twice() {
    let (run, notes) = import_one(&lines(&session()), Format::ClaudeCode);
    assert_eq!(
        notes,
        ["1 call of sub-agents (sidechains), each with a `caller`"]
    );
    assert_eq!(run.model.as_deref(), Some("claude-opus-4-5"));
    assert_eq!(run.prompt.as_deref(), Some("Run the tests."));
    assert_eq!(called(&run), ["Bash", "ci/status", "Read"]);
    assert!(run.tool_calls[1].caller.is_none());
    let caller = json!({"type": "sidechain"});
    assert_eq!(run.tool_calls[2].caller.as_deref(), Some(&caller));
    assert_eq!(
        answered(&run),
        [(0, Some(true)), (1, Some(false)), (2, Some(false))]
    );
    assert_eq!(run.tool_results[0].result.value(), "1 failed");
    assert_eq!(
        run.final_response.as_deref(),
        Some("One test fails.\nThe CI is red too.")
    );
    assert_eq!(
        said(&run),
        [
            ("user", Some("Run the tests.")),
            ("assistant", Some("I run them.")),
            ("tool", None),
            ("tool", None),
            ("assistant", Some("One test fails.\nThe CI is red too.")),
        ]
    );
    assert_eq!(run.stop_reason(), Some(StopReason::Completed));
    // The largest of what each reply told: 100 in and 6, 100 in and 11, and 8 of the sub-agent.
    assert_eq!(tokens(&run), some_tokens(300, 25));
    assert_eq!(run.conversation.unwrap().duration_ms, Some(11_000.0));
}

#[test]
fn the_session_of_a_sub_agent_is_a_run_of_its_own() {
    let aside: Vec<Value> = session()
        .into_iter()
        .filter(|line| line["isSidechain"] == true)
        .collect();
    let (run, notes) = import_one(&lines(&aside), Format::ClaudeCode);
    assert_eq!(notes, ["this is the session of a sub-agent"]);
    assert_eq!(called(&run), ["Read"]);
    assert_eq!(run.stop_reason(), None);
    assert_eq!(run.final_response, None);
}

#[test]
fn a_run_that_is_cut_off_or_fails_says_so() {
    let (run, _) = import_one(&lines(&session()[..9]), Format::ClaudeCode);
    assert_eq!(run.stop_reason(), None);
    assert_eq!(run.final_response, None);
    assert_eq!(answered(&run), [(0, Some(true))]);

    let mut failed = session();
    let mut error = piece(
        "u13",
        12,
        "msg_3",
        Some("stop_sequence"),
        json!({"type": "text", "text": "API Error: 529"}),
    );
    error["isApiErrorMessage"] = json!(true);
    error["message"]["model"] = json!("<synthetic>");
    failed.push(error);
    let (run, _) = import_one(&lines(&failed), Format::ClaudeCode);
    assert_eq!(run.stop_reason(), Some(StopReason::Error));
    assert_eq!(tokens(&run), some_tokens(300, 25));
}

/// What `claude -p --output-format stream-json --verbose` prints.
fn printed(subtype: &str, is_error: bool) -> Vec<Value> {
    let message_of = |id: &str, content: Value| {
        json!({"id": id, "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
               "content": content, "stop_reason": null,
               "usage": {"input_tokens": 4, "output_tokens": 1}})
    };
    let line = |kind: &str, message: Value, parent: Value| json!({"type": kind, "message": message, "parent_tool_use_id": parent, "session_id": "s"});
    let call = json!([{"type": "tool_use", "id": "t1", "name": "Task", "input": {}}]);
    let read = json!([{"type": "tool_use", "id": "t2", "name": "Read", "input": {}}]);
    let result = json!({"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "t1", "content": "done"}]});
    vec![
        json!({"type": "system", "subtype": "init", "session_id": "s", "tools": ["Task"]}),
        line("assistant", message_of("msg_1", call), Value::Null),
        line("assistant", message_of("msg_2", read), json!("t1")),
        line("user", result, Value::Null),
        json!({"type": "result", "subtype": subtype, "is_error": is_error, "duration_ms": 5123,
               "num_turns": 2, "result": "All done.", "session_id": "s", "total_cost_usd": 0.01,
               "usage": {"input_tokens": 40, "cache_read_input_tokens": 60, "output_tokens": 30}}),
    ]
}

#[test]
fn what_is_printed_ends_with_the_outcome() {
    for (subtype, is_error, stop_reason, final_response, note) in [
        (
            "success",
            false,
            Some(StopReason::Completed),
            Some("All done."),
            None,
        ),
        ("success", true, Some(StopReason::Error), None, None),
        (
            "error_max_turns",
            true,
            Some(StopReason::TurnBudget),
            None,
            None,
        ),
        (
            "error_during_execution",
            true,
            Some(StopReason::Error),
            None,
            None,
        ),
        (
            "error_max_budget_usd",
            true,
            Some(StopReason::TokenBudget),
            None,
            Some("the run had no money left, which counts as `token_budget` here"),
        ),
        (
            "error_of_a_later_version",
            true,
            None,
            None,
            Some("the outcome `error_of_a_later_version` does not say how the run ended"),
        ),
    ] {
        let printed = printed(subtype, is_error);
        for text in [lines(&printed), Value::from(printed.clone()).to_string()] {
            let (run, notes) = import_one(&text, Format::ClaudeCode);
            let aside = "1 call of sub-agents (sidechains), each with a `caller`";
            let expected: Vec<&str> = note.into_iter().chain([aside]).collect();
            assert_eq!(notes, expected);
            assert_eq!(called(&run), ["Task", "Read"]);
            let caller = json!({"type": "sidechain", "tool_id": "t1"});
            assert_eq!(run.tool_calls[1].caller.as_deref(), Some(&caller));
            assert_eq!(run.stop_reason(), stop_reason, "{subtype}");
            assert_eq!(run.final_response.as_deref(), final_response, "{subtype}");
            assert_eq!(tokens(&run), some_tokens(100, 30));
            assert_eq!(run.conversation.unwrap().duration_ms, Some(5123.0));
        }
    }
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    let mut broken = session();
    broken[6]["message"]["content"][0] = json!({"type": "tool_use"});
    let error = import(&lines(&broken)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 7, message.content[0]: the `tool_use` block has no `name`"
    );
    broken[6] = json!({"type": "user", "uuid": "x"});
    let error = import(&lines(&broken)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 7: the line of type `user` has no `message`"
    );
    let text = lines(&session()[..5]) + "\n{\"type\":\"assistant\",\"mess";
    let error = import(&text).unwrap_err();
    assert_eq!((error.line, error.column), (Some(7), Some(25)));
    assert_eq!(error.message, "the JSON ends too early");
    let error = import(&lines(&session()[..2])).unwrap_err();
    assert_eq!(error.message, "the session has no messages");
}

#[test]
fn each_session_is_a_run() {
    let of = |id: &str, line: &Value| {
        let mut line = line.clone();
        line["sessionId"] = json!(id);
        if let Some(uuid) = line["uuid"].as_str() {
            line["uuid"] = json!(format!("{id}{uuid}"));
        }
        line
    };
    let two: Vec<Value> = ["A", "B"]
        .into_iter()
        .flat_map(|id| {
            session()
                .iter()
                .map(|line| of(id, line))
                .collect::<Vec<_>>()
        })
        .collect();
    let imported = import(&lines(&two)).unwrap();
    assert_eq!(imported.trace.runs.len(), 2);
    for run in &imported.trace.runs {
        assert_eq!(called(run), ["Bash", "ci/status", "Read"]);
        assert_eq!(tokens(run), some_tokens(300, 25));
    }
    // One that is taken up again under another id goes on from a line of the other.
    let mut again: Vec<Value> = session()[..9].to_vec();
    for line in &session()[9..] {
        let mut line = line.clone();
        line["sessionId"] = json!("B");
        line["parentUuid"] = json!("u5");
        again.push(line);
    }
    let (run, _) = import_one(&lines(&again), Format::ClaudeCode);
    assert_eq!(called(&run), ["Bash", "ci/status", "Read"]);
}

#[test]
fn what_is_said_twice_is_kept_and_what_is_written_twice_is_not() {
    let text = |text: &str| json!({"type": "text", "text": text});
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "a", "input": {}});
    let of = |uuid: &str, second: u32, blocks: &[Value]| {
        let mut line = piece(uuid, second, "msg_1", None, Value::Null);
        line["message"]["content"] = Value::from(blocks.to_vec());
        line
    };
    let ok = || text("ok");
    for (pieces, expected, calls) in [
        // Said again after a call, in a line of its own or in the same one.
        (
            vec![
                of("1", 1, &[ok()]),
                of("2", 2, &[call("a")]),
                of("3", 3, &[ok()]),
            ],
            "ok\nok",
            1,
        ),
        (vec![of("1", 1, &[ok(), call("a"), ok()])], "ok\nok", 1),
        (vec![of("1", 1, &[ok(), ok()])], "ok\nok", 0),
        // The same line again, and again from the beginning.
        (vec![of("1", 1, &[ok()]), of("2", 2, &[ok()])], "ok", 0),
        (
            vec![
                of("1", 1, &[ok()]),
                of("2", 2, &[ok(), call("a")]),
                of("3", 3, &[ok(), call("a"), text("so")]),
            ],
            "ok\nso",
            1,
        ),
        (
            vec![
                of("1", 1, &[ok()]),
                of("2", 2, &[call("a")]),
                of("3", 1, &[ok()]),
                of("4", 2, &[call("a")]),
            ],
            "ok",
            1,
        ),
    ] {
        let asked = line("user", "u", 0, json!({"role": "user", "content": "go"}));
        let all: Vec<Value> = [asked].into_iter().chain(pieces).collect();
        let (run, _) = import_one(&lines(&all), Format::ClaudeCode);
        assert_eq!(said(&run)[1], ("assistant", Some(expected)), "{all:?}");
        assert_eq!(run.tool_calls.len(), calls, "{all:?}");
    }
}
