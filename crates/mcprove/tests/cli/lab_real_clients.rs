//! The lab as real clients meet it: the npm SDK, and the Python SDK in both of its versions, over stdio
//! and over HTTP.

use std::path::Path;
use std::time::{Duration, Instant};

use mcprove_lab::audit::{AuditReader, AuditRow, Filter, Order};
use serde_json::{Value, json};

use crate::real_clients::{Client, PATIENCE_MS, Transport, observe, servers};
use crate::support::{Fixture, MCPROVE, mcprove};

const CLIENTS: [Client; 3] = [Client::Npm, Client::Python1, Client::Python2];
/// How long each of the calls that overlap sleeps.
const SLEEP_MS: u64 = 2_000;
/// After what time a client leaves in the middle of a call, and how long the call would take.
const LEAVES_MS: u64 = 700;
const LONG_MS: u64 = 60_000;

#[test]
fn the_npm_sdk_meets_every_failure_over_stdio() {
    check(Client::Npm, Transport::Stdio);
}

#[test]
fn the_npm_sdk_meets_every_failure_over_http() {
    check(Client::Npm, Transport::Http);
}

#[test]
fn the_python_sdk_1_meets_every_failure_over_stdio() {
    check(Client::Python1, Transport::Stdio);
}

#[test]
fn the_python_sdk_1_meets_every_failure_over_http() {
    check(Client::Python1, Transport::Http);
}

#[test]
fn the_python_sdk_2_meets_every_failure_over_stdio() {
    check(Client::Python2, Transport::Stdio);
}

#[test]
fn the_python_sdk_2_meets_every_failure_over_http() {
    check(Client::Python2, Transport::Http);
}

/// A lab with an audit, and the case of a client that does these steps with it.
fn case(transport: Transport, audit: &Path, steps: &Value) -> (Value, Option<Fixture>) {
    let audit = audit.display().to_string();
    let mut lab = vec!["lab", "--audit", &audit];
    let answers = json!({
        "elicitation": { "action": "accept", "content": { "name": "Ada" } },
        "sampling": {
            "role": "assistant", "model": "none", "content": { "type": "text", "text": "forty-two" },
        },
    });
    let mut case = json!({ "name": "lab", "answers": answers, "steps": steps });
    if transport == Transport::Http {
        lab.extend(["--http", "127.0.0.1:0"]);
        let server = Fixture::start_command(mcprove(&lab));
        case["url"] = server.url.clone().into();
        return (case, Some(server));
    }
    lab.insert(0, MCPROVE);
    case["command"] = json!(lab);
    (case, None)
}

fn call(tool: &str, args: &Value) -> Value {
    json!({ "do": "call", "tool": tool, "args": args, "timeout_ms": PATIENCE_MS })
}

/// Each step, and what has to come of it: members that the observation has, with these values.
fn steps(client: Client, transport: Transport) -> Vec<(Value, Value)> {
    let name = match client {
        Client::Npm => "npm-client",
        Client::Python1 | Client::Python2 => "mcp",
    };
    let revision = match client {
        Client::Npm | Client::Python1 => "2025-11-25",
        Client::Python2 => "2026-07-28",
    };
    let transport = match transport {
        Transport::Stdio => "stdio",
        Transport::Http => "http",
    };
    let failed = |code: i64| json!({ "kind": "error", "code": code });
    let answered =
        |structured: Value| json!({ "kind": "result", "isError": false, "structured": structured });
    let retried = json!({ "key": "k", "failures": 2 });
    let order = json!({ "key": "order", "idempotency_key": "order-1", "then_fail": true });
    let again = json!({ "key": "order", "idempotency_key": "order-1" });
    let flaky = |id: u64| json!({ "fail_rate": 0.5, "seed": "demo", "call_id": id });
    let naps: Vec<Value> = (0..5)
        .map(|_| json!({ "milliseconds": SLEEP_MS }))
        .collect();
    vec![
        (
            call("whoami", &json!({})),
            answered(
                json!({ "user": "anonymous", "transport": transport, "protocol_version": revision,
                             "client": { "name": name } }),
            ),
        ),
        (
            call(
                "error",
                &json!({ "message": "token expired", "category": "auth" }),
            ),
            failed(-32_003),
        ),
        (
            call("error", &json!({ "message": "no luck", "as_tool": true })),
            json!({ "kind": "result", "isError": true, "structured": { "triggered": true } }),
        ),
        (call("flaky", &flaky(0)), failed(-32_000)),
        (
            call("flaky", &flaky(1)),
            answered(json!({ "failed": false })),
        ),
        (call("fail_then_succeed", &retried), failed(-32_000)),
        (call("fail_then_succeed", &retried), failed(-32_000)),
        (
            call("fail_then_succeed", &retried),
            answered(json!({ "attempt": 3, "succeeded": true })),
        ),
        (call("write", &order), failed(-32_000)),
        (
            call("write", &again),
            answered(json!({ "applied": false, "count": 1 })),
        ),
        (
            call("count", &json!({ "key": "order" })),
            answered(json!({ "count": 1 })),
        ),
        (
            json!({ "do": "together", "tool": "slow", "args": naps, "timeout_ms": PATIENCE_MS }),
            json!({ "calls": [{ "kind": "result" }, { "kind": "result" }, { "kind": "result" },
                              { "kind": "result" }, { "kind": "result" }] }),
        ),
        (
            json!({ "do": "call", "tool": "progress", "args": { "steps": 4, "step_ms": 50 },
                    "timeout_ms": PATIENCE_MS, "progress": true }),
            json!({ "kind": "result", "isError": false }),
        ),
        (
            json!({ "do": "ask", "tool": "elicit", "args": {}, "timeout_ms": PATIENCE_MS }),
            answered(json!({ "action": "accept", "content": { "name": "Ada" } })),
        ),
        (
            json!({ "do": "ask", "tool": "sample", "args": { "prompt": "6 times 7" }, "timeout_ms": PATIENCE_MS }),
            answered(json!({ "text": "forty-two" })),
        ),
        // A wrong argument is no protocol error, and says what is wrong.
        (
            call("slow", &json!({})),
            json!({ "kind": "result", "isError": true }),
        ),
    ]
}

/// Whether a value has all that another one has.
fn has(found: &Value, wanted: &Value) -> bool {
    match (found, wanted) {
        (Value::Object(found), Value::Object(wanted)) => wanted
            .iter()
            .all(|(name, wanted)| found.get(name).is_some_and(|found| has(found, wanted))),
        (Value::Array(found), Value::Array(wanted)) => {
            found.len() == wanted.len() && found.iter().zip(wanted).all(|(f, w)| has(f, w))
        }
        (found, wanted) => found == wanted,
    }
}

fn check(client: Client, transport: Transport) {
    let Some(servers) = servers() else { return };
    let folder = tempfile::tempdir().unwrap();
    let audit = folder.path().join("lab.db");
    let wanted = steps(client, transport);
    let mut given: Vec<Value> = wanted.iter().map(|(step, _)| step.clone()).collect();
    given.push(
        json!({ "do": "leave", "tool": "slow", "args": { "milliseconds": LONG_MS },
                       "timeout_ms": PATIENCE_MS, "after_ms": LEAVES_MS }),
    );
    let (case, _server) = case(transport, &audit, &Value::Array(given));
    let observed = observe(&servers, client, &[case]).pop().unwrap();
    let mut problems = Vec::new();
    for (index, (step, wanted)) in wanted.iter().enumerate() {
        let found = &observed["steps"][index];
        if !has(found, wanted) {
            problems.push(format!("{step}\n  wanted {wanted}\n  found  {found}"));
        }
    }
    assert!(
        problems.is_empty(),
        "{client:?}\n{}\n{observed}",
        problems.join("\n")
    );
    let together = observed["steps"][11]["ms"].as_u64().unwrap();
    assert!(together < 4 * SLEEP_MS, "five calls overlap: {together} ms");
    // The npm SDK drops the last one where the answer comes at the same moment.
    let least = if client == Client::Npm { 3 } else { 4 };
    let progress = observed["progress"].as_u64().unwrap();
    assert!((least..=4).contains(&progress), "{observed}");
    check_rows(&audit, client, transport);
}

/// The rows of all that, when the last call has one.
fn check_rows(audit: &Path, client: Client, transport: Transport) {
    let deadline = Instant::now() + Duration::from_millis(PATIENCE_MS);
    let rows = loop {
        let rows = rows(audit);
        if rows.last().is_some_and(|row| row.cancelled) || Instant::now() > deadline {
            break rows;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let calls: Vec<&AuditRow> = rows.iter().filter(|row| row.tool_name.is_some()).collect();
    let left = calls.last().unwrap();
    assert_eq!(left.tool_name.as_deref(), Some("slow"));
    assert!(left.cancelled && !left.success, "{left:#?}");
    assert_eq!(left.error_category.as_deref(), Some("cancelled"));
    // Until the client left, not as long as was asked for; its process takes a while to start a call and to end.
    let least = Duration::from_millis(LEAVES_MS / 2).as_secs_f64() * 1_000.0;
    assert!(
        left.duration_ms > least && left.duration_ms < 30_000.0,
        "{left:#?}"
    );
    let named = |tool: &str| -> Vec<&&AuditRow> {
        let is_it = |row: &&&AuditRow| row.tool_name.as_deref() == Some(tool);
        calls.iter().filter(is_it).collect()
    };
    let errors = named("error");
    assert_eq!(errors[0].error_category.as_deref(), Some("auth"));
    assert_eq!(errors[0].error_code, Some(-32_003));
    assert_eq!(errors[1].error_category.as_deref(), Some("tool"));
    assert_eq!(errors[1].error_code, None);
    let attempts: Vec<bool> = named("fail_then_succeed")
        .iter()
        .map(|row| row.success)
        .collect();
    assert_eq!(attempts, [false, false, true]);
    let slept: Vec<_> = named("slow")
        .into_iter()
        .filter(|row| row.success)
        .collect();
    assert_eq!(slept.len(), 5);
    assert!(slept.iter().all(|row| row.duration_ms >= 1_995.0));
    let progress = named("progress")[0];
    assert_eq!(progress.notifications_sent, 4, "{progress:#?}");
    let way = match transport {
        Transport::Stdio => "stdio",
        Transport::Http => "http",
    };
    for row in &calls {
        assert_eq!(row.transport, way, "{row:#?}");
        let source = row.source.as_deref().unwrap_or_default();
        let expected = if client == Client::Npm {
            "npm-client/1.0.0"
        } else {
            "mcp/"
        };
        assert!(source.starts_with(expected), "{row:#?}");
    }
}

/// All rows, the oldest first.
fn rows(audit: &Path) -> Vec<AuditRow> {
    let reader = AuditReader::open(audit).unwrap();
    let filter = Filter {
        order: Order::OldestFirst,
        ..Filter::default()
    };
    reader.rows(filter).map(Result::unwrap).collect()
}

#[test]
fn a_bad_key_is_refused_at_once_and_a_good_one_is_not() {
    let Some(servers) = servers() else { return };
    let folder = tempfile::tempdir().unwrap();
    let audit = folder.path().join("lab.db");
    let file = audit.display().to_string();
    let lab = [
        "lab",
        "--http",
        "127.0.0.1:0",
        "--api-key",
        "ada=good-key",
        "--audit",
        &file,
    ];
    let server = Fixture::start_command(mcprove(&lab));
    let with = |name: &str, headers: Value| {
        json!({ "name": name, "url": server.url, "headers": headers,
                "steps": [call("whoami", &json!({}))] })
    };
    let cases = [
        with("none", json!({})),
        with("bad", json!({ "Authorization": "Bearer bad-key" })),
        with("good", json!({ "X-Api-Key": "good-key" })),
    ];
    for client in CLIENTS {
        let observed = observe(&servers, client, &cases);
        for found in &observed {
            let text = found.to_string();
            if found["name"] == "good" {
                let user = &found["steps"][0]["structured"]["user"];
                assert_eq!(user, "ada", "{client:?}: {found}");
                continue;
            }
            assert!(!text.contains("anonymous"), "{client:?}: {found}");
            // Version 2 of the Python SDK tells no status.
            let is_told = text.contains("401") || text.contains("nauthorized");
            assert!(is_told || client == Client::Python2, "{client:?}: {found}");
            assert!(
                found["ms"].as_u64().unwrap() < PATIENCE_MS / 2,
                "{client:?}: {found}"
            );
        }
    }
    let refused: Vec<AuditRow> = rows(&audit)
        .into_iter()
        .filter(|row| row.error_category.as_deref() == Some("auth"))
        .collect();
    assert!(refused.len() >= CLIENTS.len() * 2, "{refused:#?}");
    for row in refused {
        assert!(!row.success && row.user.is_none(), "{row:#?}");
        assert!(!format!("{row:?}").contains("bad-key"), "{row:#?}");
    }
}

#[test]
fn the_audit_in_memory_is_read_as_a_resource() {
    let Some(servers) = servers() else { return };
    let steps = [
        call("error", &json!({ "category": "timeout" })),
        json!({ "do": "read", "uri": "lab://audit" }),
    ];
    let case = json!({ "name": "lab", "command": [MCPROVE, "lab"], "steps": steps });
    for client in CLIENTS {
        let observed = observe(&servers, client, std::slice::from_ref(&case));
        let read = &observed[0]["steps"][1];
        assert_eq!(
            read["mimeType"], "application/json",
            "{client:?}: {observed:?}"
        );
        let audit: Value = serde_json::from_str(read["text"].as_str().unwrap()).unwrap();
        let rows = audit["rows"].as_array().unwrap();
        let row = rows.iter().find(|row| row["tool_name"] == "error");
        let row = row.unwrap_or_else(|| panic!("{client:?}: {audit}"));
        assert_eq!(row["error_category"], "timeout");
    }
}
