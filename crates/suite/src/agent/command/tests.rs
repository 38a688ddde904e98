use std::time::{Duration, UNIX_EPOCH};

use mcprove_score::agent::recovery::observe_run;
use mcprove_score::gate::Gates;
use mcprove_settings::error::SourcePlace;
use mcprove_trace::AgentRun;
use serde_json::json;

use super::finish;
use super::merge::merge_texts;
use super::process::{Ended, How, Output};
use crate::plan::{AgentTestPlan, Budget, CommandPlan, Driver, TestHead};

#[test]
fn last_words_are_a_text_or_an_object() {
    let read = |text: &str| Output::read(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(read(" Done.\n").final_response, "Done.");
    let output = read(
        r#"{"final_response":"Done.","tokens":{"prompt":3,"completion":4},"turns":[{"role":"user","text":"x"}]}"#,
    );
    assert_eq!(output.final_response, "Done.");
    assert_eq!(output.tokens.unwrap().sum(), Some(7));
    assert_eq!(output.turns.unwrap().len(), 1);
    for text in [r#"{"other":1}"#, r#"{"final_response":3"#, "{", ""] {
        assert_eq!(read(text).final_response, text, "as it is");
    }
    let nothing_more = read(r#"{"final_response":"x","tokens":null,"zz":1}"#);
    assert_eq!(nothing_more, Output::text("x"));
    // One that is ours and wrong is no text.
    for (text, place) in [
        (r#"{"final_response":3}"#, "final_response: "),
        (r#"{"final_response":null}"#, "final_response: "),
        (r#"{"tokens":{"total":3}}"#, "final_response: "),
        (
            r#"{"final_response":"x","tokens":{"prompt":-5}}"#,
            "tokens: ",
        ),
        (r#"{"final_response":"x","tokens":7}"#, "tokens: "),
        (r#"{"final_response":"x","model":7}"#, "model: "),
        (r#"{"final_response":"x","turns":"two"}"#, "turns: "),
        (
            r#"{"final_response":"x","turns":[{"role":"user"},{"text":"y"}]}"#,
            "turns[1]: ",
        ),
    ] {
        let error = Output::read(text).unwrap_err();
        assert!(error.starts_with(place), "{text}: {error}");
    }
}

/// A recording of one server: what happens at which millisecond.
fn recording(server: &str, started_at_ms: u64, lines: &[(u64, serde_json::Value)]) -> String {
    let first = json!({ "schema": "trace.v1", "ts": 0.0, "kind": "scenario_event", "name": "recording_started", "message": "",
        "data": { "by": "proxy", "server": server, "target": "", "started_at_ms": started_at_ms, "version": "1" } });
    let mut text = format!("{first}\n");
    for (at, line) in lines {
        let mut line = line.clone();
        line["ts"] = json!(f64::from(u32::try_from(*at).unwrap()) / 1e3);
        text.push_str(&line.to_string());
        text.push('\n');
    }
    text
}

fn call(id: u64, tool: &str) -> serde_json::Value {
    json!({ "kind": "request", "session": 0, "request_id": id, "client_id": id, "method": "tools/call", "tool": tool,
        "params": { "name": tool, "arguments": { "n": id } } })
}

fn answer(id: u64, tool: &str) -> serde_json::Value {
    json!({ "kind": "response", "session": 0, "request_id": id, "method": "tools/call", "tool": tool, "duration_ms": 1.0,
        "result": { "content": [{ "type": "text", "text": tool }] } })
}

#[test]
fn recordings_of_several_servers_become_one_run() {
    let listed = json!({ "kind": "response", "session": 0, "request_id": 1, "method": "tools/list",
        "result": { "tools": [{ "name": "get", "annotations": { "readOnlyHint": true } }] } });
    let fault = json!({ "kind": "scenario_event", "name": "fault", "message": "", "data": {
        "session": 0, "request_id": 2, "tool": "get", "fault": "dead", "kind": "hang", "server": "a" } });
    let left = json!({ "kind": "scenario_event", "name": "left", "message": "", "data": { "session": 0 } });
    let one = recording(
        "a",
        1_000,
        &[
            (10, listed),
            (20, call(2, "get")),
            (20, fault),
            (900, left.clone()),
        ],
    );
    let other = recording(
        "b",
        1_100,
        &[(400, call(2, "get")), (450, answer(2, "get")), (810, left)],
    );
    let texts = [("a", one.clone()), ("b", other)];
    let merged = merge_texts(&texts, None).unwrap_or_else(|error| panic!("{error}"));
    let run = merged.run;
    let told: Vec<_> = run
        .tool_calls
        .iter()
        .map(|call| (call.name.as_str(), call.server.as_deref()))
        .collect();
    assert_eq!(told, [("get", Some("a")), ("get", Some("b"))]);
    assert_eq!(
        run.tool_calls[0].annotations.unwrap().read_only_hint,
        Some(true)
    );
    assert_eq!(run.tool_calls[1].annotations, None, "of another server");
    assert!(
        run.tool_calls.iter().all(|call| call.client.is_none()),
        "one agent"
    );
    assert_eq!(run.tool_results.len(), 1);
    assert_eq!(run.tool_results[0].call_index, 1);
    // The clock goes across servers: the call that worked at 1100 + 450 - 1000.
    let mark = &run.faults[0];
    assert_eq!(
        (mark.detected_ms, mark.recovered_ms),
        (Some(480), Some(530))
    );

    let alone = merge_texts(&[("a", one)], None).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(alone.run.tool_calls[0].server.as_deref(), Some("a"));
    let none = merge_texts(&[], None).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(none.notes, ["the agent started none of its servers"]);
    let broken = merge_texts(&[("a", "no recording".to_owned())], None)
        .err()
        .unwrap();
    assert!(broken.to_string().contains("\"a\""), "{broken}");
}

/// A run as it is told of an agent whose only call hung, was cancelled after 500 ms, and which ended 700 ms after it began.
fn cancelled_run(stdout: &str, how: How) -> AgentRun {
    let cancelled = json!({ "kind": "scenario_event", "name": "cancelled", "message": "", "data": { "session": 0, "request_id": 2 } });
    run_after("hang", (520, cancelled), stdout, how)
}

/// The same of an agent whose only call met a fault of this kind, and then this happened.
fn run_after(kind: &str, then: (u64, serde_json::Value), stdout: &str, how: How) -> AgentRun {
    let fault = json!({ "kind": "scenario_event", "name": "fault", "message": "", "data": {
        "session": 0, "request_id": 2, "tool": "get", "fault": "dead", "kind": kind, "server": "a" } });
    let tape = recording("a", 1_000, &[(20, call(2, "get")), (20, fault), then]);
    let ended = Ended {
        how,
        stdout: stdout.to_owned(),
        is_cut: false,
        duration: Duration::from_millis(720),
        at: UNIX_EPOCH + Duration::from_millis(1_720),
    };
    let merged =
        merge_texts(&[("a", tape)], Some(&ended)).unwrap_or_else(|error| panic!("{error}"));
    let command = CommandPlan {
        program: "agent".to_owned(),
        args: Vec::new(),
        env: std::collections::BTreeMap::new(),
        working_dir: None,
        model: None,
    };
    let test = AgentTestPlan {
        head: TestHead {
            name: "t".to_owned(),
            place: SourcePlace { line: 1, column: 1 },
            tags: Vec::new(),
            skip: None,
        },
        driver: Driver::Command(command.clone()),
        servers: vec!["a".to_owned()],
        system: None,
        prompts: vec!["Get it.".to_owned()],
        budget: Budget {
            turns: 5,
            tokens: None,
            tool_calls: None,
            time: Duration::from_mins(1),
            call: Duration::from_secs(5),
        },
        runs: 1,
        inject: Vec::new(),
        gates: Gates::default(),
    };
    let told = finish(&test, &command, merged, &ended);
    told.unwrap_or_else(|error| panic!("{error}")).run
}

#[test]
fn an_agent_that_tells_of_a_dead_tool_has_recovered() {
    let run = cancelled_run("Get does not answer.", How::Done);
    let mark = &run.faults[0];
    assert_eq!(
        (mark.detected_ms, mark.recovered_ms),
        (Some(500), Some(700)),
        "{run:?}"
    );
    let recovery = observe_run(&run, 1_000);
    assert_eq!(
        (recovery.recovered, recovery.clean_timeout),
        (Some(true), Some(true))
    );
    // Nothing said, or broken off, is not recovered.
    for run in [
        cancelled_run("", How::Done),
        cancelled_run("Get…", How::TimedOut),
    ] {
        assert_eq!(run.faults[0].recovered_ms, None);
        assert_eq!(observe_run(&run, 1_000).recovered, Some(false));
    }
}

#[test]
fn a_reply_that_cannot_be_read_was_noticed_before_the_agent_ended() {
    // Over HTTP nothing tells that a client gave such a call up, nor that it left.
    let unreadable = || {
        let line = json!({ "kind": "error", "session": 0, "request_id": 2, "method": "tools/call", "tool": "get",
            "error": { "category": "Malformed", "message": "no JSON" }, "duration_ms": 5.0 });
        (25, line)
    };
    let told = |kind, how| run_after(kind, unreadable(), "Get does not answer.", how);
    for kind in ["malformed", "truncated"] {
        let run = told(kind, How::Done);
        assert_eq!(run.faults[0].left_ms, Some(700), "{run:?}");
        let recovery = observe_run(&run, 1_000);
        assert_eq!(
            (recovery.recovered, recovery.clean_timeout),
            (Some(true), Some(true))
        );
        // Whether that was in time, nobody knows of one that went on for longer.
        let recovery = observe_run(&run, 300);
        assert_eq!(recovery.unsettled[0].left_ms, Some(700));
        // One that had to be ended did not leave.
        assert_eq!(told(kind, How::TimedOut).faults[0].left_ms, None);
    }
}
