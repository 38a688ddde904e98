use serde_json::json;

use super::*;

#[test]
fn calls_come_from_a_run_or_from_the_first_of_runs() {
    let calls = json!([{"name": "api__search", "server": "api", "args": {"q": "x"}},
                       {"name": "open", "caller": {"type": "code_execution_20250825"}}]);
    for envelope in [
        json!({"model": "m", "tool_calls": calls}),
        json!({"runs": [{"tool_calls": calls}, {"tool_calls": []}]}),
    ] {
        let read = tool_calls_from_envelope(&envelope);
        let names: Vec<&str> = read.iter().map(|call| call.name.as_str()).collect();
        assert_eq!(names, ["search", "open"]);
        assert_eq!(read[0].args.value(), json!({"q": "x"}));
        assert_eq!(read[1].args.value(), json!({}));
        assert!(read[0].caller.is_none() && read[1].caller.is_some());
    }
}

#[test]
fn what_is_no_run_has_no_calls_and_no_call_is_overlooked() {
    for envelope in [
        json!(null),
        json!([]),
        json!({}),
        json!({"runs": []}),
        json!({"runs": {}}),
        json!({"tool_calls": "none"}),
        json!({"runs": [5]}),
    ] {
        assert!(tool_calls_from_envelope(&envelope).is_empty(), "{envelope}");
    }
    let strange = json!({"tool_calls": [5, {"args": 1}]});
    assert_eq!(tool_calls_from_envelope(&strange).len(), 2);
}
