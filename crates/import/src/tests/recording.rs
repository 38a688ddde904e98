use serde_json::json;

use super::*;

#[test]
fn the_example_of_the_documentation_is_read() {
    let text = r#"{"schema":"trace.v1","ts":0.1,"kind":"request","session":0,"request_id":1,"method":"initialize","params":{}}
{"ts":0.12,"kind":"response","session":0,"request_id":1,"method":"initialize","duration_ms":1.0,"result":{}}
{"ts":0.150817,"kind":"request","session":0,"request_id":4,"method":"tools/call","tool":"greet","params":{"name":"greet","arguments":{"name":"text"}}}
{"ts":0.151186,"kind":"response","session":0,"request_id":4,"method":"tools/call","tool":"greet","duration_ms":0.369067,"result":{"content":[{"type":"text","text":"Hello, text!"}]}}
{"ts":0.15155,"kind":"request","session":0,"request_id":5,"method":"tools/call","tool":"add","params":{"name":"add","arguments":{"a":1,"b":1}}}
{"ts":0.151731,"kind":"response","session":0,"request_id":5,"method":"tools/call","tool":"add","duration_ms":0.180868,"result":{"content":[{"type":"text","text":"2"}]}}
"#;
    let (run, notes) = import_one(text, Format::Recording);
    assert!(notes.is_empty(), "{notes:?}");
    assert_eq!(called(&run), ["greet", "add"]);
    assert_eq!(run.tool_calls[1].args.value(), json!({"a": 1, "b": 1}));
    assert_eq!(answered(&run), [(0, Some(false)), (1, Some(false))]);
    assert_eq!(
        run.tool_results[1].result.value()["content"][0]["text"],
        "2"
    );
    // The agent is not in it.
    assert_eq!(run.final_response, None);
    // From 0.1 to 0.151731 seconds.
    let conversation = run.conversation.unwrap();
    assert_eq!(conversation.duration_ms, Some(51.731));
    assert_eq!(conversation.turns, None);
    let one = text.lines().next().unwrap();
    let (run, notes) = import_one(one, Format::Recording);
    assert!(run.tool_calls.is_empty());
    assert_eq!(run.conversation, None);
    assert_eq!(notes, ["the recording has 0 tool calls"]);
}

fn request(ts: f64, session: u32, id: u64, tool: &str) -> Value {
    json!({"ts": ts, "kind": "request", "session": session, "request_id": id,
           "method": "tools/call", "tool": tool, "params": {"name": tool, "arguments": {"n": id}}})
}

fn end(kind: &str, session: u32, id: u64, tool: &str) -> Value {
    json!({"ts": 9.0, "kind": kind, "session": session, "request_id": id,
           "method": "tools/call", "tool": tool, "duration_ms": 1.0})
}

#[test]
fn ends_find_their_calls_across_threads_and_sessions() {
    let with = |mut line: Value, key: &str, value: Value| {
        line[key] = value;
        line
    };
    let error = json!({"category": "ToolError", "message": "no such index"});
    let mut cut = with(request(0.4, 0, 9, "write"), "cut", json!("{\"name\":\"wri"));
    cut.as_object_mut().unwrap().remove("params");
    let text = lines(&[
        with(end("response", 1, 1, "b"), "result", json!({"content": []})),
        request(0.3, 1, 1, "b"),
        request(0.1, 0, 1, "a"),
        request(0.2, 0, 2, "a"),
        json!({"ts": 5.0, "kind": "hang", "session": 0, "request_id": 1, "duration_ms": 4900.0}),
        with(end("error", 0, 1, "a"), "error", error),
        cut,
        with(
            end("response", 1, 1, "b"),
            "result",
            json!({"content": [1]}),
        ),
        with(
            with(end("response", 0, 9, "write"), "cut", json!("{\"co")),
            "cut_bytes",
            json!(5000),
        ),
        end("response", 7, 7, "c"),
        json!({"ts": 9.5, "kind": "crash", "message": "signal 11"}),
    ]);
    let (run, notes) = import_one(&text, Format::Recording);
    assert_eq!(called(&run), ["a", "a", "b", "write"]);
    assert_eq!(
        answered(&run),
        [(0, Some(true)), (2, Some(false)), (3, Some(false))]
    );
    assert_eq!(
        run.tool_results[0].result.value()["message"],
        "no such index"
    );
    // The first part of them would be taken for the whole.
    assert!(run.tool_calls[3].args.is_null());
    assert_eq!(run.tool_results[1].result.value(), json!({"content": [1]}));
    assert_eq!(run.tool_results[2].result.value(), "{\"co");
    assert_eq!(
        notes,
        [
            "1 call with arguments that were cut, so they are unknown: `write`",
            "1 result cut, kept in part as a text: `write`",
            "1 call without an end in the recording, the result is unknown: `a`",
            "1 result without a call in the recording, left out: `c`",
            "1 result for a call that has one already, the last holds: `b`",
        ]
    );
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    let first = request(0.1, 0, 1, "a");
    let mut newer = first.clone();
    newer["schema"] = json!("trace.v2");
    let error = import(&lines(&[newer, first.clone()])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 1, schema: the schema is `trace.v2`, not trace.v1"
    );
    let error = import(&lines(&[first, json!({"ts": 0.5})])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 2, column 10: the key `kind` is missing"
    );
}

#[test]
fn a_call_without_arguments_has_none() {
    let mut without = request(0.1, 0, 1, "a");
    without["params"]
        .as_object_mut()
        .unwrap()
        .remove("arguments");
    let mut null = request(0.2, 0, 2, "b");
    null["params"]["arguments"] = Value::Null;
    let mut unknown = request(0.3, 0, 3, "c");
    unknown.as_object_mut().unwrap().remove("params");
    let (run, _) = import_one(&lines(&[without, null, unknown]), Format::Recording);
    let args: Vec<Value> = run
        .tool_calls
        .iter()
        .map(|call| call.args.value())
        .collect();
    assert_eq!(args, [json!({}), json!({}), Value::Null]);
}
