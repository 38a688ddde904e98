//! `mcprove mock` as its users meet it.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::support::{Output, assert_snapshot, assert_transcript, mcprove, run, typed, wait};

fn example() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join("examples/mock/tools.yml").display().to_string()
}

/// Gives a mock these messages after a handshake, then the end of its input.
fn talk(arguments: &[&str], messages: &[Value]) -> Output {
    let tools = example();
    let mut arguments = arguments.to_vec();
    if !arguments.contains(&"--tools-from") {
        arguments.splice(..0, ["--tools-from", &tools]);
    }
    arguments.insert(0, "mock");
    let mut command = mcprove(&arguments);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "0" } });
    let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello });
    for message in std::iter::once(&hello).chain(messages) {
        // A server that a fault ends reads no more.
        let _ = writeln!(input, "{message}");
    }
    drop(input);
    collect(typed(&command), child)
}

fn collect(command: String, mut child: Child) -> Output {
    let mut texts = [String::new(), String::new()];
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut texts[0])
        .unwrap();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut texts[1])
        .unwrap();
    let code = wait(&mut child).unwrap().code();
    let [stdout, stderr] = texts;
    Output {
        command,
        code,
        stdout,
        stderr,
    }
}

fn search(id: u64, query: &str) -> Value {
    let params = json!({ "name": "search", "arguments": { "query": query } });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
}

fn answers(output: &Output) -> Vec<Value> {
    let lines = output.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn calls_are_answered_and_the_summary_tells_of_them() {
    let faults = [
        "--fault",
        "error:-5,tool=search,calls=2",
        "--fault",
        "error:-6,tool=echo",
    ];
    let output = talk(
        &faults,
        &[search(1, "x"), search(2, "x"), search(3, "boom")],
    );
    assert_eq!(output.code, Some(0), "{output:?}");
    let answers = answers(&output);
    assert_eq!(answers[0]["result"]["serverInfo"]["name"], "demo");
    assert_eq!(answers[1]["result"]["content"][0]["text"], "found x");
    assert_eq!(answers[2]["error"]["code"], -5);
    assert_eq!(answers[3]["error"]["message"], "no such index");
    assert_transcript!("mock_summary", [&output.without_stdout()]);
}

#[test]
fn faults_may_end_the_process() {
    let outputs = ["crash", "disconnect"].map(|fault| {
        let output = talk(&["--fault", fault], &[search(1, "x")]);
        assert_eq!(answers(&output).len(), 1, "{output:?}");
        output.without_stdout()
    });
    assert_transcript!("mock_ended_by_fault", &outputs);
}

#[test]
fn the_log_is_a_trace_that_can_be_scored_and_served() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log.jsonl");
    let log = log.to_str().unwrap();
    let faults = folder.path().join("faults.yml");
    std::fs::write(
        &faults,
        "faults:\n  - { kind: tool_error, target: { tool: search }, calls: 2 }\n",
    )
    .unwrap();
    let list = json!({ "jsonrpc": "2.0", "id": "list", "method": "tools/list" });
    let messages = [list, search(1, "x"), search(2, "y")];
    let output = talk(
        &["--log", log, "--faults", faults.to_str().unwrap()],
        &messages,
    );
    assert_transcript!("mock_log", [&output.without_stdout()]);
    let text = std::fs::read_to_string(log).unwrap();
    let validator = crate::schema::validator("trace.v1");
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert!(validator.is_valid(&line), "{line}");
    }
    assert!(
        text.contains(r#""name":"fault","message":"tool-error,tool=search,calls=2""#),
        "{text}"
    );
    let scored = run(&["score", log, "--json"]);
    assert_eq!(scored.code, Some(0), "{scored:?}");
    let replayed = talk(
        &["--tools-from", log],
        &[search(1, "x"), search(2, "y"), search(3, "z")],
    );
    let answers = answers(&replayed);
    assert_eq!(answers[1]["result"]["content"][0]["text"], "found x");
    assert_eq!(answers[2]["result"]["isError"], true);
    let unknown = answers[3]["result"]["content"][0]["text"].as_str().unwrap();
    assert_snapshot!("mock_nothing_recorded", unknown);
}

/// A mock on the network, and what it says on stderr after where it listens.
fn listen(flag: &str, more: &[&str]) -> (Child, BufReader<std::process::ChildStderr>, String) {
    let tools = example();
    let mut arguments = vec!["mock", "--tools-from", &tools, flag, "127.0.0.1:0"];
    arguments.extend(more);
    let mut child = mcprove(&arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    let url = line
        .trim()
        .strip_prefix("listening on ")
        .unwrap()
        .to_owned();
    (child, stderr, url)
}

#[test]
fn the_example_is_healthy_over_every_transport_and_in_both_eras() {
    for (flag, transport) in [("--http", "http"), ("--sse", "sse"), ("--ws", "ws")] {
        let (mut child, _stderr, url) = listen(flag, &[]);
        let probed = run(&["probe", "--url", &url, "--transport", transport]);
        child.kill().unwrap();
        wait(&mut child);
        assert_eq!(probed.code, Some(0), "{flag}: {probed:?}");
    }
    for era in ["handshake", "stateless"] {
        let (mut child, _stderr, url) = listen("--http", &["--era", era]);
        let probed = run(&["probe", "--url", &url]);
        child.kill().unwrap();
        wait(&mut child);
        assert!(
            probed.code == Some(0) && probed.stdout.contains(era),
            "{probed:?}"
        );
    }
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_it_with_the_summary() {
    let folder = tempfile::tempdir().unwrap();
    let log: PathBuf = folder.path().join("log.jsonl");
    let (mut child, mut stderr, url) = listen(
        "--http",
        &["--fault", "slow:1", "--log", log.to_str().unwrap()],
    );
    assert_eq!(run(&["probe", "--url", &url]).code, Some(0));
    let id = child.id().to_string();
    let killed = std::process::Command::new("kill")
        .args(["-INT", &id])
        .status()
        .unwrap();
    assert!(killed.success());
    assert_eq!(wait(&mut child).unwrap().code(), Some(0));
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    assert_snapshot!("mock_interrupted", rest);
    let text = std::fs::read_to_string(log).unwrap();
    assert!(
        text.trim_end()
            .lines()
            .last()
            .unwrap()
            .contains("recording_ended"),
        "{text}"
    );
}

#[test]
fn what_is_no_good_is_told_with_what_to_try() {
    let folder = tempfile::tempdir().unwrap();
    let bad = folder.path().join("bad.yml");
    std::fs::write(&bad, "tools:\n  - name: a\n    respones: x\n").unwrap();
    let bad = bad.to_str().unwrap();
    let tools = example();
    let good = ["--tools-from", &tools];
    let cases: [&[&str]; 9] = [
        &[],
        &["--tools-from", "nope.yml"],
        &["--tools-from", bad],
        &["--fault", "slo:5"],
        &["--fault", "slow:5,tol=a"],
        &["--faults", bad],
        &["--http", "nowhere"],
        &["--log", "no/such/folder/log.jsonl"],
        &["--sse", "127.0.0.1:0", "--era", "stateless"],
    ];
    let mut outputs = Vec::from(cases.map(|given| {
        let mut arguments = vec!["mock"];
        if !given.is_empty() && !given.contains(&"--tools-from") {
            arguments.extend(good);
        }
        arguments.extend(given);
        let output = run(&arguments);
        assert_eq!(output.code, Some(2), "{output:?}");
        output
    }));
    outputs.push(talk(&["--fault", "hang,tool=serch"], &[]).without_stdout());
    assert_transcript!("mock_refused", &outputs);
}

#[test]
fn the_log_spares_what_was_read_and_is_kept_when_the_start_fails() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (tools, faults, log) = (path("tools.yml"), path("faults.yml"), path("log.jsonl"));
    std::fs::write(&tools, "tools: [{ name: a }]\n").unwrap();
    std::fs::write(&faults, "faults: [hang]\n").unwrap();
    std::fs::write(&log, "what was before\n").unwrap();
    let again = path("./tools.yml");
    let mut outputs = Vec::new();
    for target in [&tools, &again, &faults] {
        let before = std::fs::read_to_string(target).unwrap();
        let given = ["mock", "--tools-from", &tools, "--faults", &faults];
        let output = run(&[given.as_slice(), &["--log", target]].concat());
        outputs.push(output);
        assert_eq!(std::fs::read_to_string(target).unwrap(), before);
    }
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = run(&[
        "mock",
        "--tools-from",
        &tools,
        "--http",
        &address,
        "--log",
        &log,
    ]);
    outputs.push(output);
    assert_transcript!("mock_spared_files", &outputs);
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "what was before\n");
}

#[cfg(unix)]
#[test]
fn an_interrupt_gives_open_calls_an_end_in_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log.jsonl");
    let tools = example();
    let arguments = ["mock", "--tools-from", &tools, "--fault", "hang", "--log"];
    let mut child = mcprove(&[arguments.as_slice(), &[log.to_str().unwrap()]].concat())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "0" } });
    let request = |id: u64, method: &str, params: &Value| json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    writeln!(input, "{}", request(0, "initialize", &hello)).unwrap();
    writeln!(input, "{}", search(1, "x")).unwrap();
    writeln!(input, "{}", request(2, "ping", &json!({}))).unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    for _ in 0..2 {
        output.read_line(&mut String::new()).unwrap();
    }
    let id = child.id().to_string();
    let killed = std::process::Command::new("kill")
        .args(["-INT", &id])
        .status();
    assert!(killed.unwrap().success());
    assert_eq!(wait(&mut child).unwrap().code(), Some(0));
    let text = std::fs::read_to_string(log).unwrap();
    let ended: Value = serde_json::from_str(text.lines().rev().nth(1).unwrap()).unwrap();
    assert_eq!(ended["error"]["category"], "Disconnected", "{text}");
}

#[test]
fn help_and_explanation_fit_in_80_columns() {
    for command in ["mock", "proxy"] {
        let help = run(&[command, "--help"]).stdout;
        let (_, faults) = help.split_once("Faults, as after --fault:").unwrap();
        let explained = run(&[command, "--explain"]).stdout;
        for line in faults.lines().chain(explained.lines()) {
            assert!(line.chars().count() <= 80, "{command}: {line}");
        }
    }
    let explained = [run(&["mock", "--explain"]), run(&["proxy", "--explain"])];
    assert_transcript!("explain_mock_and_proxy", &explained);
}

#[test]
fn help_lists_every_fault() {
    let help = run(&["mock", "--help"]).stdout;
    for kind in mcprove_fault::kinds() {
        let name = kind.name().replace('_', "-");
        assert!(help.contains(&name), "{name}");
    }
}

#[test]
fn faults_count_on_where_a_log_is_gone_on_with() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("calls.jsonl");
    let log = log.to_str().unwrap();
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "search", "arguments": { "query": "x" } } });
    let arguments = ["--fault", "tool-error,calls=1", "--log", log, "--append"];
    let is_struck = || {
        let output = talk(&arguments, std::slice::from_ref(&call));
        output.stdout.contains("\"isError\":true")
    };
    assert!(is_struck());
    assert!(!is_struck(), "the second start has the second call");
    let report: Value = serde_json::from_str(&run(&["report", log, "--json"]).stdout).unwrap();
    assert_eq!(report["tools"]["search"]["calls"], 2, "{report}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_log_that_cannot_be_written_is_an_error() {
    let output = talk(&["--log", "/dev/full"], &[search(1, "x")]);
    assert_eq!(answers(&output).len(), 2, "{output:?}");
    let crashed = talk(
        &["--log", "/dev/full", "--fault", "crash"],
        &[search(1, "x")],
    );
    let outputs = [output, crashed].map(Output::without_stdout);
    assert_transcript!("mock_lost_log", &outputs);
}
