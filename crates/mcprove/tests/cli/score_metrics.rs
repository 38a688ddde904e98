//! The metrics of calls and of runs by the command: the traces, gates and numbers of the
//! specification.

use serde_json::{Value, json};

use crate::score::{Place, report};

/// A run with calls of these names.
pub fn calls(names: &[&str]) -> Value {
    let calls = names.iter().map(|name| json!({ "name": name, "args": {} }));
    json!({ "tool_calls": calls.collect::<Vec<_>>(), "final_response": "Done." })
}

pub fn trace(runs: &[Value]) -> String {
    json!({ "schema": "agent-trace.v1", "runs": runs }).to_string()
}

/// Scores a trace, and compares how it ends and some targets.
#[track_caller]
pub fn check(trace: &str, gates: &str, code: i32, targets: &[(&str, Value)]) {
    let output = Place::new().score(trace, gates);
    assert_eq!(output.code, Some(code), "{gates}\n{output:?}");
    let report = report(&output);
    assert_eq!(report.passed, code == 0);
    assert_eq!(report.failures.is_empty(), report.passed, "{report:?}");
    for (name, value) in targets {
        assert_eq!(&report.targets[*name], value, "{name}: {report:?}");
    }
}

/// A run with everything that a run can have, and its printed form.
#[test]
fn a_trace_with_everything() {
    let text = r#"{ "model": "m", "prompt": "…", "final_response": "I created the issue.",
  "tool_calls":   [ {"name":"search","server":"api","args":{"q":"x"},"caller":null} ],
  "tool_results": [ {"call_index":0,"is_error":false,"result":{"content":[]}} ],
  "conversation": { "stop_reason":"completed", "duration_ms":1200,
                    "tokens":{"prompt":10,"completion":5,"total":15},
                    "turns":[ {"role":"user","text":"…"}, {"role":"assistant","text":"…"} ] },
  "faults": [ {"call_index":0,"fault":"hung-search","kind":"hang"} ],
  "passed": true }"#;
    let place = Place::new();
    let output = place.score(
        text,
        "narrative: {}\ngolden_path: { calls: [search, fetch] }\n",
    );
    assert_eq!(output.code, Some(1), "{output:?}");
    let value: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(value["passed"], false);
    assert_eq!(value["targets"]["narrative.claimed_but_absent"], 1);
    assert_eq!(value["runs"][0]["targets"]["narrative.gate_passed"], 0);
    let failed: Vec<&str> = value["failures"]
        .as_array()
        .unwrap()
        .iter()
        .map(|failure| failure["target"].as_str().unwrap())
        .collect();
    assert!(failed.contains(&"narrative.gate_passed"), "{failed:?}");
    assert!(failed.contains(&"golden_path.passed"), "{failed:?}");
    assert!(
        value["failures"][0]["message"]
            .as_str()
            .is_some_and(|text| text.len() > 20)
    );
    // The same as a whole trace, in a file of the same name.
    let whole = format!("{{\"schema\":\"agent-trace.v1\",\"runs\":[{text}]}}");
    let again = place.score(
        &whole,
        "narrative: {}\ngolden_path: { calls: [search, fetch] }\n",
    );
    assert_eq!(again.stdout, output.stdout);
}

#[test]
fn trajectories() {
    let weather = json!({ "tool_calls": [
        { "name": "authenticate", "args": {} },
        { "name": "get_weather", "args": { "city": "Sacramento", "unit": "C" } },
    ] });
    let one = trace(&[weather]);
    for (mode, code, mismatches) in [
        ("strict", 1, json!(1)),
        ("exact-sequence", 1, json!(1)),
        ("subsequence", 0, json!(0)),
        ("unordered", 0, json!(0)),
        ("superset", 0, json!(0)),
        ("subset", 1, json!(1)),
    ] {
        let gates = format!(
            "trajectory: {{ mode: {mode}, calls: [{{ name: get_weather, args: {{ subset: {{ city: Sacramento }} }} }}] }}"
        );
        let passed = i32::from(code == 0);
        let output = Place::new().score(&one, &gates);
        assert_eq!(output.code, Some(code), "{mode}: {output:?}");
        let report = report(&output);
        assert_eq!(report.targets["trajectory.passed"], passed, "{mode}");
        if mode != "strict" && mode != "exact-sequence" {
            assert_eq!(
                report.targets["trajectory.mismatch_count"], mismatches,
                "{mode}"
            );
        }
    }
    let wrong = "trajectory: { mode: subsequence, calls: [{ name: get_weather, args: { exact: { city: Paris } } }] }";
    check(&one, wrong, 1, &[("trajectory.passed", json!(0))]);
    // Without a reference everything passes but in subset mode.
    for (mode, code) in [
        ("strict", 0),
        ("subsequence", 0),
        ("unordered", 0),
        ("superset", 0),
        ("subset", 1),
    ] {
        check(
            &one,
            &format!("trajectory: {{ mode: {mode}, calls: [] }}"),
            code,
            &[],
        );
    }
    check(
        &trace(&[calls(&[])]),
        "trajectory: { mode: subset, calls: [] }",
        0,
        &[],
    );
}

#[test]
fn every_run_is_looked_at_and_the_worst_decides() {
    let runs = trace(&[calls(&["a", "b"]), calls(&["a"]), calls(&["a", "b"])]);
    let output = Place::new().score(&runs, "trajectory: { calls: [a, b] }");
    assert_eq!(output.code, Some(1));
    let report = report(&output);
    let passed: Vec<&Value> = report
        .runs
        .iter()
        .map(|run| &run.targets["trajectory.passed"])
        .collect();
    assert_eq!(passed, [&json!(1), &json!(0), &json!(1)]);
    assert_eq!(report.targets["trajectory.passed"], 0);
    let [failure] = &report.failures[..] else {
        panic!("{report:?}");
    };
    assert_eq!(failure.run, Some(1));
}

#[test]
fn axes() {
    let gates = "trajectory_axes:
  dependencies: [{ producer: search, consumer: fetch_page }]
  order: [{ first: authenticate, second: search }]
";
    let names = [
        "trajectory.dependency_satisfaction",
        "trajectory.order_satisfaction",
    ];
    let [dependency, order] = names;
    let right = trace(&[calls(&["authenticate", "search", "other", "fetch_page"])]);
    check(
        &right,
        gates,
        0,
        &[(dependency, json!(100)), (order, json!(100))],
    );
    let wrong = trace(&[calls(&["fetch_page", "search", "authenticate"])]);
    check(
        &wrong,
        gates,
        1,
        &[(dependency, json!(0)), (order, json!(0))],
    );
    // What is not asked for is satisfied.
    check(
        &wrong,
        "trajectory_axes: { order: [{ first: search, second: authenticate }] }",
        0,
        &[(dependency, json!(100)), (order, json!(100))],
    );
}

#[test]
fn golden_paths() {
    let gates = "golden_path: { calls: [a, b] }";
    let penalty = "golden_path.penalty";
    check(
        &trace(&[calls(&["a", "b"])]),
        gates,
        0,
        &[(penalty, json!(1.0))],
    );
    check(
        &trace(&[calls(&["a", "b", "a", "c", "a"])]),
        gates,
        1,
        &[
            ("golden_path.extra_steps", json!(3)),
            ("golden_path.backtracks", json!(2)),
        ],
    );
    check(
        &trace(&[calls(&["a", "a", "b"])]),
        gates,
        1,
        &[
            (penalty, json!(0.5)),
            ("golden_path.repeated_tools", json!(1)),
        ],
    );
    // A wrong path of the right length, and one that stops early.
    check(
        &trace(&[calls(&["x", "y"])]),
        gates,
        1,
        &[("golden_path.passed", json!(0))],
    );
    check(
        &trace(&[calls(&["a"])]),
        gates,
        1,
        &[("golden_path.passed", json!(0))],
    );
}

#[test]
fn stability_over_runs() {
    let same = trace(&vec![calls(&["a", "a", "b", "b"]); 3]);
    check(
        &same,
        "stability: {}",
        0,
        &[
            ("stability.tool_sequence_similarity", json!(1.0)),
            ("stability.argument_consistency", json!(1.0)),
            ("stability.early_divergence", json!(0)),
        ],
    );
    let split = trace(&[calls(&["a", "b"]), calls(&["b", "a"])]);
    let gates = "stability: { expect: [{ target: stability.tool_sequence_similarity, matcher: { schema: { minimum: 0.9 } } }] }";
    check(
        &split,
        gates,
        1,
        &[
            ("stability.tool_sequence_similarity", json!(0.5)),
            ("stability.early_divergence", json!(1)),
        ],
    );
}

#[test]
fn reliability_over_runs() {
    let runs: Vec<Value> = [true, true, true, false]
        .into_iter()
        .map(|passed| json!({ "tool_calls": [], "passed": passed }))
        .collect();
    let expected = [
        ("reliability.runs", json!(4)),
        ("reliability.pass_at_k", json!(100)),
        ("reliability.passhat_k", json!(0)),
        ("reliability.decay_curve", json!([100, 100, 100, 31])),
        ("reliability.variance_amplification", json!(87)),
        ("reliability.graceful_degradation", json!(60)),
    ];
    check(&trace(&runs), "reliability: {}", 0, &expected);
    let gates =
        "reliability: { expect: [{ target: reliability.passhat_k, matcher: { exact: 100 } }] }";
    check(&trace(&runs), gates, 1, &expected);
    let early: Vec<Value> = runs.iter().rev().cloned().collect();
    check(
        &trace(&early),
        "reliability: {}",
        0,
        &[("reliability.graceful_degradation", json!(90))],
    );
}

#[test]
fn recovery_in_virtual_time() {
    let hang = |calls: usize, stop: &str, reply: &str| {
        let indices = 0..calls;
        json!({
            "tool_calls": indices.clone().map(|_| json!({ "name": "search", "args": {} })).collect::<Vec<_>>(),
            "faults": indices.map(|index| json!({ "call_index": index, "fault": "hung-search", "kind": "hang" })).collect::<Vec<_>>(),
            "conversation": { "stop_reason": stop },
            "final_response": reply,
        })
    };
    let gates = "recovery:
  max_detection_ms: 3000
  max_recovery_ms: 5000
  require_clean_timeout: true
";
    check(
        &trace(&[hang(1, "completed", "The search is down.")]),
        gates,
        0,
        &[
            ("recovery.recovered", json!(1)),
            ("recovery.clean_timeout", json!(1)),
            ("recovery.time_to_detection_ms", json!(3000)),
            ("recovery.time_to_recovery_ms", json!(3000)),
            ("recovery.user_visible_hang_ms", json!(3000)),
        ],
    );
    // Two detections take 6000 of the 5000 allowed.
    check(
        &trace(&[hang(2, "completed", "The search is down.")]),
        gates,
        1,
        &[("recovery.time_to_recovery_ms", json!(6000))],
    );
    check(
        &trace(&[hang(4, "turn_budget", "")]),
        gates,
        1,
        &[
            ("recovery.recovered", json!(0)),
            ("recovery.time_to_recovery_ms", json!(null)),
        ],
    );
}
