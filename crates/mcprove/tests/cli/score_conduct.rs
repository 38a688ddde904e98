//! The metrics of how an agent behaves, and expectations of what was observed, by the command.

use serde_json::json;

use crate::score_metrics::{calls, check, trace};

#[test]
fn narratives() {
    let run = |text: &str, names: &[&str]| {
        let mut run = calls(names);
        run["final_response"] = json!(text);
        trace(&[run])
    };
    let claimed = "narrative.claimed_but_absent";
    let gates = "narrative: {}";
    check(
        &run("I created the issue.", &["create_issue"]),
        gates,
        0,
        &[(claimed, json!(0))],
    );
    check(
        &run("I created the issue.", &["get_issue"]),
        gates,
        1,
        &[(claimed, json!(1)), ("narrative.gate_passed", json!(0))],
    );
    check(
        &run("I did not create the issue.", &["get_issue"]),
        gates,
        0,
        &[(claimed, json!(0))],
    );
    check(
        &run("The issue was created.", &[]),
        gates,
        1,
        &[(claimed, json!(1))],
    );
    // A limit on the score holds besides expectations.
    let limited = "narrative: { max_divergence_score: 0.25, expect: [{ target: narrative.arg_mismatch, matcher: { exact: 0 } }] }";
    check(
        &run("All is well.", &["get_issue"]),
        limited,
        1,
        &[("narrative.divergence_score", json!(1.0))],
    );
    check(&run("I got the issue.", &["get_issue"]), limited, 0, &[]);
    // A model changes nothing about it.
    let assisted = "narrative: { llm_assisted: true }";
    check(
        &run("I created the issue.", &["get_issue"]),
        assisted,
        1,
        &[(claimed, json!(1))],
    );
}

#[test]
fn errors_and_what_became_of_them() {
    let run = |names: &[&str], errors: &[bool]| {
        let mut run = calls(names);
        run["tool_results"] = errors
            .iter()
            .enumerate()
            .map(|(index, is_error)| {
                let result = is_error.then_some("invalid title");
                json!({ "call_index": index, "is_error": is_error, "result": result })
            })
            .collect();
        trace(&[run])
    };
    let target = "orchestration.error_recovery";
    let gates = "orchestration: {}";
    check(
        &run(&["a", "a"], &[true, false]),
        gates,
        0,
        &[(target, json!(1.0))],
    );
    check(
        &run(&["a", "b"], &[true, false]),
        gates,
        1,
        &[(target, json!(0.0))],
    );
    check(&run(&["a"], &[false]), gates, 0, &[(target, json!(1.0))]);
    // A write that is made again after one that succeeded, or of which nobody knows.
    let writes = ["create_issue", "create_issue"];
    let gates = "duplicate_writes: {}";
    let confirmed = "duplicate_writes.confirmed";
    check(
        &run(&writes, &[false, false]),
        gates,
        1,
        &[(confirmed, json!(1))],
    );
    check(
        &run(&writes, &[true, false]),
        gates,
        0,
        &[(confirmed, json!(0))],
    );
    let at_risk = "duplicate_writes.at_risk";
    check(&run(&writes, &[]), gates, 1, &[(at_risk, json!(1))]);
    let idempotent = "duplicate_writes: { idempotent_tools: [create_issue] }";
    check(&run(&writes, &[false, false]), idempotent, 0, &[]);
}

#[test]
fn loops_permissions_and_limits() {
    let looped = trace(&[calls(&["search"; 8])]);
    check(&looped, "loops: {}", 1, &[]);
    check(
        &looped,
        "loops: { max_repeats: 100, max_cycle_repeats: 100, max_stagnation: 100 }",
        0,
        &[],
    );
    check(&trace(&[calls(&["a", "b", "c"])]), "loops: {}", 0, &[]);

    let writes = trace(&[json!({ "tool_calls": [
        { "name": "read_file", "args": { "path": "/etc/passwd" } },
        { "name": "write_file", "args": { "path": "/tmp/x" } },
    ] })]);
    for (gates, code) in [
        ("permissions: { allow: [read_*, write_*] }", 0),
        ("permissions: { allow: [read_*] }", 1),
        ("permissions: { allow: [] }", 1),
        ("permissions: { deny: [delete_*] }", 0),
        ("permissions: { deny: [write_*] }", 1),
        (
            "permissions: { allow: [\"*\"], deny: [{ tool: read_file, args: { path: { starts_with: /etc/ } } }] }",
            1,
        ),
        (
            "permissions: { allow: [read_file, { tool: write_file, args: { path: { starts_with: /tmp/ } } }] }",
            0,
        ),
        (
            "permissions: { allow: [read_file, { tool: write_file, args: { path: { starts_with: /srv/ } } }] }",
            1,
        ),
        ("call_limits: { total: 2 }", 0),
        ("call_limits: { total: 1 }", 1),
        (
            "call_limits: { tools: { write_file: { min: 1, max: 1 } } }",
            0,
        ),
        ("call_limits: { tools: { write_file: 0 } }", 1),
        ("call_limits: { tools: { fetch: { min: 1 } } }", 1),
    ] {
        check(&writes, gates, code, &[]);
    }
}

#[test]
fn expectations_of_what_was_observed() {
    let invoice = trace(&[json!({
        "tool_calls": [{ "name": "get_invoice", "args": { "id": 42 } }, { "name": "get_customer", "args": {} }],
        "tool_results": [
            { "call_index": 0, "is_error": false, "result": {} },
            { "call_index": 1, "is_error": false, "result": {} },
        ],
        "final_response": "Done, I issued the refund.",
    })]);
    for (target, matcher, code) in [
        ("tool_calls[0].name", "{ exact: get_invoice }", 0),
        ("tool_results[0].is_error", "{ exact: false }", 0),
        ("tool_calls[*].name", "{ not: { contains: refund } }", 0),
        ("tool_calls[*].name", "{ contains: invoice }", 0),
        ("tool_calls[*].name", "{ not: { contains: invoice } }", 1),
        ("tool_calls.length", "{ exact: 2 }", 0),
        ("tool_calls", "{ length: { max: 1 } }", 1),
        ("final_response", "{ regex: \"refund\" }", 0),
        ("tool_calls[0].args", "{ subset: { id: 42 } }", 0),
        ("tool_calls[0][\\\"args\\\"].id", "{ one_of: [1, 42] }", 0),
        (
            "tool_calls[0].name",
            "{ any_of: [{ starts_with: set }, { starts_with: get }] }",
            0,
        ),
        (
            "tool_calls[0].name",
            "{ all_of: [{ starts_with: get }, { exact: get }] }",
            1,
        ),
        ("faults[*].kind", "{ not: { contains: hang } }", 0),
    ] {
        let gates = format!("expect: [{{ target: \"{target}\", matcher: {matcher} }}]");
        check(&invoice, &gates, code, &[]);
    }
}
