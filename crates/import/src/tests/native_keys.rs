//! Keys and words that a trace of our own has not.

use serde_json::json;

use super::*;

/// A key that is another one in other words would lose what stands there.
#[test]
fn slips_in_keys_are_refused() {
    let run = |key: &str, value: Value| json!({"runs": [{"tool_calls": []}, {"tool_calls": [{"name": "a"}, {"name": "b"}], key: value}]});
    let call = |call: Value| json!({"runs": [{"tool_calls": [call]}]});
    for (trace, path, meant) in [
        (
            call(json!({"name": "pay", "arguments": {"x": 1}})),
            "runs[0].tool_calls[0].arguments",
            "`arguments` is not a key of a call; did you mean `args`?",
        ),
        (
            call(json!({"name": "pay", "input": {}})),
            "runs[0].tool_calls[0].input",
            "`input` is not a key of a call; did you mean `args`?",
        ),
        (
            call(json!({"toolName": "pay"})),
            "runs[0].tool_calls[0].toolName",
            "`toolName` is not a key of a call; did you mean `name`?",
        ),
        (
            run(
                "tool_results",
                json!([{"call_index": 0}, {"call_index": 1, "isError": true}]),
            ),
            "runs[1].tool_results[1].isError",
            "`isError` is not a key of a result; did you mean `is_error`?",
        ),
        (
            run("tool_results", json!([{"callIndex": 0}])),
            "runs[1].tool_results[0].callIndex",
            "`callIndex` is not a key of a result; did you mean `call_index`?",
        ),
        (
            run("tool_results", json!([{"call_index": 0, "output": 5}])),
            "runs[1].tool_results[0].output",
            "`output` is not a key of a result; did you mean `result`?",
        ),
        (
            run(
                "faults",
                json!([{"call_index": 0, "kind": "slow", "delay": 5}]),
            ),
            "runs[1].faults[0].delay",
            "`delay` is not a key of a fault; did you mean `delay_ms`?",
        ),
        (
            run("conversation", json!({"stopReason": "completed"})),
            "runs[1].conversation.stopReason",
            "`stopReason` is not a key of a conversation; did you mean `stop_reason`?",
        ),
        (
            run("conversation", json!({"tokens": {"total_tokens": 5}})),
            "runs[1].conversation.tokens.total_tokens",
            "`total_tokens` is not a key of tokens; did you mean `total`?",
        ),
        (
            run(
                "conversation",
                json!({"turns": [{"role": "user", "content": "x"}]}),
            ),
            "runs[1].conversation.turns[0].content",
            "`content` is not a key of a turn; did you mean `text`?",
        ),
        (
            run("final_respone", json!("done")),
            "runs[1].final_respone",
            "`final_respone` is not a key of a run; did you mean `final_response`?",
        ),
        (
            run("fault", json!([])),
            "runs[1].fault",
            "`fault` is not a key of a run; did you mean `faults`?",
        ),
        (
            run("stop_reason", json!("completed")),
            "runs[1].stop_reason",
            "`stop_reason` is not a key of a run; did you mean `conversation.stop_reason`?",
        ),
    ] {
        let error = import(&trace.to_string()).unwrap_err();
        assert_eq!(error.path.as_deref(), Some(path), "{trace}");
        assert_eq!(error.message, meant, "{trace}");
        assert!(error.line.is_some() && error.column.is_some());
        assert!(
            error.hint.rendered().starts_with("the keys of "),
            "{:?}",
            error.hint
        );
    }
}

#[test]
fn other_unknown_keys_are_told_once_for_each_kind() {
    let call = json!({"name": "a", "id": "call_1", "type": "function"});
    let trace = json!({"note": "x", "runs": [
        {"tool_calls": []},
        {"tool_calls": [{"name": "a"}, call, call], "cost": 5, "a": 1, "b": 2, "c": 3, "d": 4, "e": 5,
         "conversation": {"turns": [{"role": "user", "at": 5}]}}]});
    let imported = import(&trace.to_string()).unwrap();
    let expected = [
        "`note` is not a key of a trace and was not read: at note",
        "`a`, `b`, `c`, `cost`, `d` and 1 more are not keys of a run and were not read: in 6 places, first at runs[1].a",
        "`at` is not a key of a turn and was not read: at runs[1].conversation.turns[0].at",
        "`id` and `type` are not keys of a call and were not read: in 4 places, first at runs[1].tool_calls[1].id",
    ];
    for note in expected {
        assert!(
            imported.notes.iter().any(|told| told == note),
            "{note}: {:?}",
            imported.notes
        );
    }
    assert_eq!(imported.notes.len(), expected.len());
    let text = lines(&[
        json!({"tool_calls": []}),
        json!({"tool_calls": [], "cost": 1}),
    ]);
    assert_eq!(
        import(&text).unwrap().notes,
        ["`cost` is not a key of a run and was not read: at line 2, cost"]
    );
}

#[test]
fn a_key_that_stands_twice_is_refused() {
    for (text, path, key) in [
        (
            r#"{"tool_calls": [{"name": "a"}], "tool_calls": []}"#,
            "tool_calls",
            "tool_calls",
        ),
        (
            r#"{"tool_calls": [{"name": "a", "name": "b"}]}"#,
            "tool_calls[0].name",
            "name",
        ),
        (
            r#"{"runs": [{"tool_calls": []}], "runs": []}"#,
            "runs",
            "runs",
        ),
    ] {
        let error = import(text).unwrap_err();
        assert_eq!(error.path.as_deref(), Some(path));
        assert_eq!(
            error.message.rendered(),
            format!("the key `{key}` is given twice")
        );
    }
}

#[test]
fn roles_are_known_ones() {
    let with = |role: &str| {
        json!({"tool_calls": [], "conversation": {"turns": [
            {"role": "user", "text": "x"}, {"role": role, "text": "y"}]}})
    };
    for (role, expected) in [
        ("assistant", "assistant"),
        ("tool", "tool"),
        ("system", "system"),
        ("developer", "system"),
        ("human", "user"),
    ] {
        let (run, _) = import_value(&with(role), Format::AgentTrace);
        assert_eq!(said(&run)[1].0, expected);
    }
    for role in ["Assistant", "model", "ai", "asistant"] {
        let error = import(&with(role).to_string()).unwrap_err();
        assert_eq!(error.path.as_deref(), Some("conversation.turns[1].role"));
        assert_eq!(
            error.message.rendered(),
            format!("no role is called `{role}`; did you mean `assistant`?")
        );
    }
}

/// A key that may stand in a trace is not told, nor is one taken for another that is there too.
#[test]
fn known_keys_and_namesakes_are_no_slips() {
    let hints = json!({"readOnlyHint": true, "destructiveHint": false, "title": "Search"});
    let call = json!({"name": "a", "tool": "b", "annotations": hints});
    let trace = json!({"$schema": "x", "schema": "agent-trace.v1", "runs": [
        {"schema": "agent-trace.v1", "tool_calls": [call, call]}]});
    assert_eq!(
        import(&trace.to_string()).unwrap().notes,
        [
            "`tool` is not a key of a call and was not read: in 2 places, first at runs[0].tool_calls[0].tool"
        ]
    );
}

#[test]
fn a_slip_has_its_own_place_and_a_fault_its_kinds() {
    let text = "{\"tool_calls\": [\n  {\"name\": \"a\",\n   \"arguments\": {}}]}";
    let error = import(text).unwrap_err();
    assert_eq!((error.line, error.column), (Some(3), Some(17)));
    let fault =
        json!({"tool_calls": [{"name": "a"}], "faults": [{"call_index": 0, "kind": "hnag"}]});
    let error = import(&fault.to_string()).unwrap_err();
    assert!(
        error.hint.rendered().contains("hang, wedged"),
        "{:?}",
        error.hint
    );
    assert!(error.line.is_some() && error.column.is_some());
}
