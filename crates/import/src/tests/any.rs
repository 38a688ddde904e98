//! What holds for every file, whatever its format.

use proptest::prelude::*;
use serde_json::json;

use super::*;

#[test]
fn what_is_no_trace_is_refused_with_the_formats() {
    for (text, message) in [
        ("", "it is empty"),
        (" \n\t\n", "it is empty"),
        ("[]", "no trace: an empty list"),
        ("5", "not a known trace format"),
        ("\"text\"", "not a known trace format"),
        ("1\n2\n", "not a known trace format"),
        (
            r#"{"cost": 5, "b": 1}"#,
            "not a known trace format: JSON with `b` and `cost`",
        ),
    ] {
        let error = import(text).unwrap_err();
        assert_eq!(error.message, message, "{text:?}");
        assert_eq!(detect(text), None, "{text:?}");
    }
    let hint = import("5").unwrap_err().hint;
    for format in Format::ALL {
        assert!(hint.rendered().contains(format.name()), "{hint:?}");
        assert!(hint.rendered().contains(format.explanation()), "{hint:?}");
        assert_eq!(format.to_string(), format.name());
    }
}

#[test]
fn what_is_no_json_is_told_with_its_place() {
    for (text, line, column, message) in [
        (
            "name: suite\nagents: []\n",
            1,
            2,
            "this is not JSON: a word that JSON does not have",
        ),
        (
            "{\"runs\": [\n  {]\n",
            2,
            4,
            "this is not JSON: a key in double quotes is missing here",
        ),
        ("{\"runs\": [", 1, 10, "the JSON ends too early"),
        (
            "{\"a\": 1}\n{\"b\": }\n",
            2,
            7,
            "this is not JSON: a value is missing here",
        ),
        (
            "{\"ts\":1,\"kind\":\"crash\"}\n\n{\"ts\": 2,\n",
            3,
            9,
            "the JSON ends too early",
        ),
        (
            "{\"runs\": []} {}",
            1,
            14,
            "this is not JSON: something comes after the end",
        ),
        (
            "\u{feff}{\"runs\": [}",
            1,
            11,
            "this is not JSON: a value is missing here",
        ),
    ] {
        let error = import(text).unwrap_err();
        assert_eq!(
            (error.line, error.column, error.message.rendered().as_str()),
            (Some(line), Some(column), message),
            "{text:?}"
        );
        assert!(!error.hint.is_empty());
    }
}

#[test]
fn deep_json_is_an_error_and_not_the_end() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let message = "the JSON is nested too deeply";
    for text in [
        format!(r#"{{"tool_calls": [{{"name": "a", "args": {deep}}}]}}"#),
        format!(
            r#"{{"messages": [{{"role": "user", "stop_reason": "x", "content": {deep}}}], "system": ""}}"#
        ),
        format!(r#"[{{"role": "tool"}}, {{"role": "user", "content": {deep}}}]"#),
        format!("{{\"type\": \"user\", \"uuid\": \"1\", \"message\": {deep}}}\n{{}}\n"),
        format!(
            r#"{{"resourceSpans": [{{"scopeSpans": [{{"spans": [{{"attributes": {deep}}}]}}]}}]}}"#
        ),
        format!("{{\"ts\": 1, \"kind\": \"request\", \"params\": {deep}}}\n{{}}\n"),
    ] {
        let error = import(&text).unwrap_err();
        assert_eq!(error.message, message, "{}", &text[..80]);
        assert_eq!(error.line, Some(1));
    }
    for text in [
        deep.clone(),
        "[".repeat(1_000_000),
        format!("{deep}\n{deep}\n"),
    ] {
        assert!(import(&text).is_err());
    }
}

#[test]
fn arguments_that_are_deep_json_inside_a_text_stay_a_text() {
    let deep = "[".repeat(1000) + &"]".repeat(1000);
    let calls = json!([{"id": "1", "function": {"name": "a", "arguments": deep}}]);
    let value = json!([{"role": "assistant", "tool_calls": calls}]);
    let (run, notes) = import_value(&value, Format::OpenAi);
    assert_eq!(run.tool_calls[0].args.value(), deep);
    assert_eq!(notes.len(), 1);
}

/// A file of each format, small enough to be broken everywhere.
fn samples() -> Vec<String> {
    vec![
        json!({"schema": "agent-trace.v1", "runs": [
            {"tool_calls": [{"name": "a", "args": {"x": 1}}], "tool_results": [{"call_index": 0}],
             "faults": [{"call_index": 0, "kind": "slow", "delay_ms": 5}]}]})
        .to_string(),
        json!({"model": "m", "system": "s", "messages": [
            {"role": "user", "content": "x"},
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "1", "name": "a__b", "input": {}}], "stop_reason": "tool_use"},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "1", "content": [], "is_error": true}]}]})
        .to_string(),
        json!({"model": "m", "messages": [
            {"role": "assistant", "tool_calls": [
                {"id": "1", "function": {"name": "a", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "1", "content": "{\"isError\": true}"}],
            "choices": [{"message": {"role": "assistant", "content": "x"}, "finish_reason": "stop"}]})
        .to_string(),
        json!([{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "x"}]},
               {"type": "mcp_call", "id": "1", "name": "a", "server_label": "s", "output": "x"}])
        .to_string(),
        lines(&[
            json!({"type": "user", "uuid": "1", "timestamp": "2026-01-23T17:19:55Z",
                   "message": {"role": "user", "content": "x"}}),
            json!({"type": "assistant", "uuid": "2", "timestamp": "2026-01-23T17:19:56Z",
                   "message": {"id": "m", "content": [{"type": "text", "text": "y"}],
                               "usage": {"input_tokens": 1, "output_tokens": 2}}}),
        ]),
        json!({"resourceSpans": [{"scopeSpans": [{"spans": [
            {"traceId": "t", "spanId": "1", "startTimeUnixNano": "5", "endTimeUnixNano": "9",
             "attributes": [{"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
                            {"key": "gen_ai.usage.input_tokens", "value": {"intValue": "5"}}]},
            {"traceId": "t", "spanId": "2", "parentSpanId": "1", "name": "tools/call a",
             "attributes": [{"key": "mcp.method.name", "value": {"stringValue": "tools/call"}}],
             "status": {"code": 2}}]}]}]})
        .to_string(),
        lines(&[
            json!({"ts": 0.1, "kind": "request", "session": 0, "request_id": 1,
                   "method": "tools/call", "tool": "a", "params": {"arguments": {}}}),
            json!({"ts": 0.2, "kind": "response", "session": 0, "request_id": 1,
                   "method": "tools/call", "tool": "a", "result": {}}),
        ]),
    ]
}

/// Nothing that is imported breaks the promises of the type.
fn check(text: &str) {
    let detected = detect(text);
    let Ok(imported) = import(text) else {
        return;
    };
    assert_eq!(detected, Some(imported.format));
    assert!(!imported.trace.runs.is_empty());
    for run in &imported.trace.runs {
        for result in &run.tool_results {
            assert!(result.call_index < run.tool_calls.len());
        }
        let duration = run.conversation.as_ref().and_then(|all| all.duration_ms);
        assert!(duration.is_none_or(f64::is_finite));
    }
    assert_eq!(import(text).unwrap(), imported);
}

#[test]
fn every_sample_is_read() {
    let expected = [
        Format::AgentTrace,
        Format::Anthropic,
        Format::OpenAi,
        Format::OpenAi,
        Format::ClaudeCode,
        Format::Otlp,
        Format::Recording,
    ];
    for (sample, format) in samples().iter().zip(expected) {
        let (run, _) = import_one(sample, format);
        assert_eq!(
            run.tool_calls.is_empty(),
            format == Format::ClaudeCode,
            "{sample}"
        );
        check(sample);
    }
}

/// What is imported can be written and read again.
#[test]
fn every_sample_is_a_trace_of_our_own_afterwards() {
    for sample in samples() {
        let trace = import(&sample).unwrap().trace;
        let again = import(&serde_json::to_string(&trace).unwrap()).unwrap();
        assert_eq!(again.trace, trace);
        assert_eq!(again.format, Format::AgentTrace);
    }
}

#[test]
fn plain_talk_is_a_transcript() {
    let talk =
        |role: &str| json!([{"role": role, "content": "a"}, {"role": "user", "content": "b"}]);
    assert_eq!(detect(&talk("user").to_string()), Some(Format::Anthropic));
    assert_eq!(detect(&talk("system").to_string()), Some(Format::OpenAi));
    let messages = json!({"messages": talk("system")}).to_string();
    assert_eq!(detect(&messages), Some(Format::OpenAi));
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        check(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn any_text_of_json_signs_is_read_or_refused(text in "[\\[\\]{}\":,0-9a-e \n\\\\]{0,60}") {
        check(&text);
    }

    #[test]
    fn broken_samples_are_read_or_refused(
        sample in 0..7_usize,
        from in any::<prop::sample::Index>(),
        length in 0..20_usize,
        instead in prop::sample::select(vec![
            "", "null", "[]", "{}", "5", "-1", "\"x\"", "{\"x\":", "]", "\n", ",", "1e999", "\\ud800",
        ]),
    ) {
        let sample = &samples()[sample];
        let from = from.index(sample.len() + 1);
        let to = (from + length).min(sample.len());
        check(&format!("{}{instead}{}", &sample[..from], &sample[to..]));
    }

    /// Every value in every place: whatever the shape, there is no panic.
    #[test]
    fn strange_shapes_are_read_or_refused(
        sample in 0..7_usize,
        place in any::<prop::sample::Index>(),
        instead in prop::sample::select(vec![
            json!(null), json!(true), json!(0), json!(-1), json!(1e300), json!(""), json!("x"),
            json!([]), json!([null]), json!([[]]), json!({}), json!({"type": "text"}), json!(u64::MAX),
        ]),
    ) {
        let sample = &samples()[sample];
        let changed: Vec<Value> = sample
            .lines()
            .map(|line| {
                let mut value: Value = serde_json::from_str(line).unwrap();
                let mut left = place.index(count(&value));
                replace(&mut value, &mut left, &instead);
                value
            })
            .collect();
        check(&lines(&changed));
    }
}

/// How many values are in a value.
fn count(value: &Value) -> usize {
    let inside: usize = match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(map) => map.values().map(count).sum(),
        _ => 0,
    };
    inside + 1
}

/// Puts another value into one place.
fn replace(value: &mut Value, left: &mut usize, instead: &Value) {
    if *left == 0 {
        *value = instead.clone();
        *left = usize::MAX;
        return;
    }
    *left = left.saturating_sub(1);
    let inside: Vec<&mut Value> = match value {
        Value::Array(items) => items.iter_mut().collect(),
        Value::Object(map) => map.values_mut().collect(),
        _ => Vec::new(),
    };
    for value in inside {
        if *left < usize::MAX / 2 {
            replace(value, left, instead);
        }
    }
}
