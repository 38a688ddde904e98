use mcprove_settings::json_schema::{Remote, compile};
use mcprove_trace::{AgentTraceFile, FaultKind};
use serde_json::json;

use super::*;

#[test]
fn the_example_of_the_design_is_read_whole() {
    let text = r#"{"schema":"agent-trace.v1","runs":[
        { "model": "m", "prompt": "find x", "final_response": "found",
          "tool_calls":   [ {"name":"search","server":"api","args":{"q":"x"},"caller":null} ],
          "tool_results": [ {"call_index":0,"is_error":false,"result":{"content":[]}} ],
          "conversation": { "stop_reason":"completed", "duration_ms":1200,
                            "tokens":{"prompt":10,"completion":5,"total":15},
                            "turns":[ {"role":"user","text":"find x"}, {"role":"assistant","text":"found"} ] },
          "faults": [ {"call_index":0,"fault":"hung-search","kind":"hang"} ],
          "passed": true }]}"#;
    let (run, notes) = import_one(text, Format::AgentTrace);
    assert!(notes.is_empty(), "{notes:?}");
    assert_eq!(called(&run), ["api/search"]);
    assert_eq!(run.tool_calls[0].caller, None);
    assert_eq!(answered(&run), [(0, Some(false))]);
    assert_eq!(run.stop_reason(), Some(StopReason::Completed));
    assert_eq!(tokens(&run), some_tokens(10, 5));
    assert_eq!(run.faults[0].kind, FaultKind::Hang);
    assert_eq!(run.passed, Some(true));
}

#[test]
fn one_run_is_a_trace_and_so_are_lines_of_runs() {
    for run in [
        json!({"tool_calls": []}),
        json!({"schema": "agent-trace.v1", "tool_calls": []}),
        json!({"tool_calls": [], "tool_results": null, "faults": null, "model": null}),
    ] {
        let (read, notes) = import_value(&run, Format::AgentTrace);
        assert_eq!(read, AgentRun::default());
        assert!(notes.is_empty());
    }
    let text = lines(&[
        json!({"tool_calls": [{"name": "a"}]}),
        json!({"schema": "agent-trace.v1", "runs": [{"tool_calls": [{"name": "b"}]}]}),
    ]);
    let imported = import(&text).unwrap();
    let names: Vec<_> = imported.trace.runs.iter().flat_map(called).collect();
    assert_eq!(names, ["a", "b"]);
}

#[test]
fn names_lose_the_prefix_of_their_own_server() {
    let trace = json!({"tool_calls": [
        {"name": "api__search", "server": "api"},
        {"name": "api__search"},
        {"name": "other__search", "server": "api"},
        {"name": "search", "caller": {"type": "direct"}},
        {"name": "search", "caller": {"type": "code_execution_20250825", "tool_id": "s1"}},
    ]});
    let (run, _) = import_value(&trace, Format::AgentTrace);
    let expected = [
        "api/search",
        "api__search",
        "api/other__search",
        "search",
        "search",
    ];
    assert_eq!(called(&run), expected);
    assert_eq!(run.tool_calls[3].caller, None);
    assert_eq!(run.tool_calls[4].caller.as_ref().unwrap()["tool_id"], "s1");
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let run = |run: Value| json!({"runs": [{"tool_calls": []}, run]}).to_string();
    for (text, path, message) in [
        (
            json!({"schema": "agent-trace.v2", "runs": []}).to_string(),
            Some("schema"),
            "the schema is `agent-trace.v2`, not agent-trace.v1",
        ),
        (
            json!({"schema": "other", "tool_calls": []}).to_string(),
            Some("schema"),
            "the schema is `other`, not agent-trace.v1",
        ),
        (
            json!({"schema": "agent-trace.v1"}).to_string(),
            None,
            "the key `tool_calls` is missing",
        ),
        (
            run(json!({"model": "m"})),
            Some("runs[1]"),
            "the key `tool_calls` is missing",
        ),
        (
            run(json!({"tool_calls": [{"name": "a"}, {"args": {}}]})),
            Some("runs[1].tool_calls[1]"),
            "the key `name` is missing",
        ),
        (
            run(json!({"tool_calls": {}})),
            Some("runs[1].tool_calls"),
            "this is an object, and must be a list",
        ),
        (
            run(json!({"tool_calls": [], "passed": "yes"})),
            Some("runs[1].passed"),
            "this is the text \"yes\", and must be true or false",
        ),
        (
            run(json!({"tool_calls": [{"name": "a"}], "tool_results": [{"call_index": 1}]})),
            Some("runs[1].tool_results[0].call_index"),
            "there is no call 1: the only call is call 0",
        ),
        (
            run(json!({"tool_calls": [], "faults": [{"call_index": 0, "kind": "hang"}]})),
            Some("runs[1].faults[0].call_index"),
            "there is no call 0: the run has no calls",
        ),
        (
            run(
                json!({"tool_calls": [{"name": "a"}], "faults": [{"call_index": 0, "kind": "hnag"}]}),
            ),
            Some("runs[1].faults[0].kind"),
            "no fault is called \"hnag\"; did you mean \"hang\"?",
        ),
        (
            json!({"runs": []}).to_string(),
            None,
            "there is no run in it",
        ),
        (
            json!({"runs": [], "tool_calls": []}).to_string(),
            None,
            "both `runs` and `tool_calls` are given",
        ),
    ] {
        let error = import(&text).unwrap_err();
        assert_eq!(error.path.as_deref(), path, "{text}");
        assert_eq!(error.message, message, "{text}");
        assert!(!error.hint.is_empty(), "{text}");
    }
}

#[test]
fn a_wrong_value_is_told_in_plain_words() {
    let run = |run: Value| json!({"runs": [{"tool_calls": []}, run]}).to_string();
    for (text, path, message) in [
        (
            run(json!({"tool_calls": [{"name": null}]})),
            "runs[1].tool_calls[0].name",
            "this is null, and must be a text",
        ),
        (
            run(json!({"tool_calls": ["search"]})),
            "runs[1].tool_calls[0]",
            "this is the text \"search\", and must be an object",
        ),
        (
            run(json!({"tool_calls": [], "conversation": {"tokens": {"total": -1}}})),
            "runs[1].conversation.tokens.total",
            "this is the number -1, and must be a whole number from 0 up",
        ),
        (
            run(json!({"tool_calls": [], "conversation": {"tokens": {"total": 1.5}}})),
            "runs[1].conversation.tokens.total",
            "this is the number 1.5, and must be a whole number from 0 up",
        ),
        (
            run(json!({"tool_calls": [], "conversation": {"stop_reason": "complete"}})),
            "runs[1].conversation.stop_reason",
            "`complete` is not known here; did you mean `completed`?",
        ),
        (
            run(json!({"tool_calls": [], "conversation": {"duration_ms": -5}})),
            "runs[1].conversation.duration_ms",
            "the duration is -5, and none is less than 0",
        ),
        (
            run(json!({"tool_calls": [], "conversation": {"turns": [{"text": "x"}]}})),
            "runs[1].conversation.turns[0]",
            "the key `role` is missing",
        ),
        (
            run(json!({"tool_calls": [{"name": "a"}], "faults": [
                {"call_index": 0, "kind": "hang", "detected_ms": 1.5}]})),
            "runs[1].faults[0].detected_ms",
            "this is the number 1.5, and must be a whole number",
        ),
    ] {
        let error = import(&text).unwrap_err();
        assert_eq!(error.path.as_deref(), Some(path), "{text}");
        assert_eq!(error.message, message, "{text}");
        assert!(!error.hint.is_empty(), "{text}");
    }
}

#[test]
fn what_no_value_has_is_refused() {
    let long = "9".repeat(400);
    for (args, message) in [
        ("{\"n\": 1e999}", "the number here is out of range"),
        (long.as_str(), "the number here is out of range"),
        (
            r#""\ud800""#,
            "half a character is written here, such as \\ud83d without its other half",
        ),
        (
            r#"{"x": "\ud83dx"}"#,
            "half a character is written here, such as \\ud83d without its other half",
        ),
    ] {
        let text =
            format!(r#"{{"tool_calls": [{{"name": "a"}}, {{"name": "b", "args": {args}}}]}}"#);
        let error = import(&text).unwrap_err();
        assert_eq!(error.path.as_deref(), Some("tool_calls[1].args"), "{args}");
        assert_eq!(error.message, message, "{args}");
        assert!(!error.hint.rendered().contains("JSON"), "{:?}", error.hint);
        let result = format!(r#"{{"call_index": 0, "result": [{args}]}}"#);
        let text = format!(r#"{{"tool_calls": [{{"name": "a"}}], "tool_results": [{result}]}}"#);
        let error = import(&text).unwrap_err();
        assert_eq!(error.path.as_deref(), Some("tool_results[0].result"));
    }
    let error = import(r#"{"tool_calls": [{"name": "\ud800"}]}"#).unwrap_err();
    assert_eq!(error.path.as_deref(), Some("tool_calls[0].name"));
    assert!(
        error.hint.rendered().contains("\\ufffd"),
        "{:?}",
        error.hint
    );
    for args in ["1e300", "1E-999", r#""\ud83d\ude00""#, "\"2e9999\""] {
        let text = format!(r#"{{"tool_calls": [{{"name": "a", "args": {args}}}]}}"#);
        assert!(import(&text).is_ok(), "{args}");
    }
}

#[test]
fn a_wrong_type_has_a_line_and_a_column_too() {
    let text = "{\"runs\": [\n  {\"tool_calls\": []},\n  {\"tool_calls\": [\n    {\"name\": 5}]}]}";
    let error = import(text).unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 4, column 14, runs[1].tool_calls[0].name: this is the number 5, and must be a text"
    );
}

#[test]
fn marks_before_the_call_and_whole_floats_are_read() {
    let trace = json!({"tool_calls": [{"name": "a"}], "faults": [
        {"call_index": 0.0, "kind": "hang", "detected_ms": 3200.0, "recovered_ms": -5}]});
    let (run, notes) = import_value(&trace, Format::AgentTrace);
    assert!(notes.is_empty(), "{notes:?}");
    assert_eq!(run.faults[0].detected_ms, Some(3200));
    assert_eq!(run.faults[0].recovered_ms, Some(-5));
}

#[test]
fn several_results_for_one_call_are_told() {
    let trace = json!({"tool_calls": [{"name": "a"}, {"name": "b"}], "tool_results": [
        {"call_index": 1, "is_error": true}, {"call_index": 0},
        {"call_index": 1, "is_error": false}]});
    let (run, notes) = import_value(&trace, Format::AgentTrace);
    assert_eq!(
        notes,
        ["1 result for a call that has one already, the last holds: `b`"]
    );
    assert_eq!(run.results()[1].unwrap().is_error, Some(false));
}

#[test]
fn absent_arguments_are_none_and_null_is_unknown() {
    let trace = json!({"tool_calls": [{"name": "a"}, {"name": "b", "args": null}]});
    let (run, _) = import_value(&trace, Format::AgentTrace);
    assert_eq!(run.tool_calls[0].args.value(), json!({}));
    assert!(run.tool_calls[1].args.is_null());
}

/// The published schema takes what is read: a trace, and one run alone.
#[test]
fn the_schema_accepts_what_is_read() {
    let schema =
        serde_json::to_value(mcprove_settings::schemars::schema_for!(AgentTraceFile)).unwrap();
    let validator = compile(&schema, None, Remote::Refused).unwrap();
    let run = json!({"tool_calls": [{"name": "a"}], "faults": [
        {"call_index": 0, "kind": "hang", "detected_ms": -5, "recovered_ms": 3200.0}]});
    for accepted in [
        run.clone(),
        json!({"schema": "agent-trace.v1", "tool_calls": []}),
        json!({"schema": "agent-trace.v1", "runs": [run, {"tool_calls": []}]}),
    ] {
        assert!(validator.is_valid(&accepted), "{accepted}");
        assert!(import(&accepted.to_string()).is_ok());
    }
    for refused in [
        json!({}),
        json!({"runs": [{"tool_calls": [{}]}]}),
        json!([]),
    ] {
        assert!(!validator.is_valid(&refused), "{refused}");
        assert!(import(&refused.to_string()).is_err());
    }
}
