//! Logged traffic: each request has everything that was said before.

use serde_json::json;

use super::*;

fn asked() -> Value {
    json!({"role": "user", "content": "hi"})
}

fn call(id: &str) -> Value {
    json!([{"type": "tool_use", "id": id, "name": "a", "input": {}}])
}

fn answer(id: &str) -> Value {
    json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": "ok"}]})
}

fn request(messages: &[Value]) -> Value {
    json!({"model": "claude-x", "system": "Be nice.", "messages": messages})
}

fn response(stop_reason: &str, content: Value) -> Value {
    json!({"id": "m", "type": "message", "role": "assistant", "model": "claude-x",
           "content": content, "stop_reason": stop_reason,
           "usage": {"input_tokens": 10, "output_tokens": 5}})
}

/// A request that is answered with a call, and one that has its result.
fn requests(id: &str) -> [(Value, Value); 2] {
    let reply = json!({"role": "assistant", "content": call(id)});
    [
        (request(&[asked()]), response("tool_use", call(id))),
        (
            request(&[asked(), reply, answer(id)]),
            response("end_turn", json!([{"type": "text", "text": "Done"}])),
        ),
    ]
}

fn check(text: &str, runs: usize, repeated: &str) {
    let imported = import(text).unwrap();
    assert_eq!(imported.format, Format::Anthropic, "{text}");
    assert_eq!(imported.trace.runs.len(), runs, "{text}");
    for run in &imported.trace.runs {
        assert_eq!(called(run), ["a"], "{text}");
        assert_eq!(answered(run), [(0, Some(false))]);
        assert_eq!(run.final_response.as_deref(), Some("Done"));
        assert_eq!(run.stop_reason(), Some(StopReason::Completed));
        // Those of the first reply stand in its own response only.
        assert_eq!(tokens(run), some_tokens(20, 10));
    }
    let note =
        format!("{repeated} that a later one repeats and goes on from, read as one run with it");
    assert_eq!(imported.notes, [note]);
}

#[test]
fn requests_that_grow_are_one_run() {
    let [(one, reply), (two, last)] = requests("t1");
    let with = |mut request: Value, response: &Value| {
        request["response"] = response.clone();
        request
    };
    let pair =
        |request: &Value, response: &Value| json!({"request": request, "response": response});
    let body = |value: &Value| json!({"method": "POST", "body": value});
    for text in [
        lines(&[one.clone(), reply.clone(), two.clone(), last.clone()]),
        json!([with(one.clone(), &reply), with(two.clone(), &last)]).to_string(),
        json!([pair(&one, &reply), pair(&two, &last)]).to_string(),
        lines(&[pair(&one, &reply), pair(&two, &last)]),
        json!([
            pair(&body(&one), &body(&reply)),
            pair(&body(&two), &body(&last))
        ])
        .to_string(),
    ] {
        check(&text, 1, "1 request");
    }
    // A request that was not answered was sent again.
    let error = json!({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}});
    let text = lines(&[pair(&one, &error), pair(&one, &reply), pair(&two, &last)]);
    check(&text, 1, "2 requests");
}

#[test]
fn conversations_that_take_turns_stay_apart() {
    let pair =
        |(request, response): &(Value, Value)| json!({"request": request, "response": response});
    let [one, two] = requests("t1");
    let [other_one, other_two] = requests("t2");
    let text = lines(&[pair(&one), pair(&other_one), pair(&two), pair(&other_two)]);
    check(&text, 2, "2 requests");
}

#[test]
fn runs_that_are_the_same_are_two() {
    let [_, (two, last)] = requests("t1");
    let mut run = two;
    run["response"] = last;
    let imported = import(&json!([run, run]).to_string()).unwrap();
    assert_eq!(imported.trace.runs.len(), 2);
    // Nor is one that went another way.
    let [_, (mut other, _)] = requests("t9");
    other["response"] = response("end_turn", json!([{"type": "text", "text": "Or not"}]));
    let imported = import(&json!([run, other]).to_string()).unwrap();
    assert_eq!(imported.trace.runs.len(), 2);
}

#[test]
fn chat_completions_grow_too() {
    let calls = json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "a", "arguments": "{}"}}]});
    let response = |finish_reason: &str, message: &Value| {
        json!({"object": "chat.completion", "model": "gpt-5",
               "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
               "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}})
    };
    let result = json!({"role": "tool", "tool_call_id": "c1", "content": "ok"});
    let done = json!({"role": "assistant", "content": "Done"});
    let text = json!([
        {"request": {"messages": [asked()]}, "response": response("tool_calls", &calls)},
        {"request": {"messages": [asked(), calls, result]}, "response": response("stop", &done)}]);
    let (run, notes) = import_value(&text, Format::OpenAi);
    assert_eq!(called(&run), ["a"]);
    assert_eq!(run.final_response.as_deref(), Some("Done"));
    assert_eq!(tokens(&run), some_tokens(20, 10));
    assert_eq!(notes.len(), 1);
}
