//! Recordings of clients that meet faults: the example, and a scripted client against `mcprove mock`.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::score::{Place, example, report};
use crate::support::{assert_transcript, finish, mcprove, run, wait};

#[test]
fn the_recorded_example_recovers_and_writes_twice() {
    let arguments = [
        "score".to_owned(),
        example("recorded.jsonl"),
        "--gates".to_owned(),
        example("recovery-gates.yml"),
        "--json".to_owned(),
    ];
    let output = run(&arguments);
    assert_eq!(output.code, Some(1), "{output:?}");
    let report = report(&output);
    assert!(report.errors.is_empty(), "{report:?}");
    let failed: Vec<&str> = report
        .failures
        .iter()
        .map(|it| it.target.as_str())
        .collect();
    assert_eq!(failed, ["duplicate_writes.count"]);
    for (target, value) in [
        ("recovery.recovered", json!(1)),
        ("recovery.time_to_detection_ms", json!(600)),
        ("duplicate_writes.confirmed", json!(1)),
        ("duplicate_writes.lost", json!(0)),
    ] {
        assert_eq!(report.targets[target], value, "{target}");
    }
    // On a terminal, without gates too.
    let gates = ["--gates", "recovery-gates.yml"];
    let outputs = [&[][..], &gates].map(|gates| {
        let mut command = mcprove(&[&["score", "recorded.jsonl"], gates].concat());
        command.current_dir(example(""));
        finish(command)
    });
    assert_transcript!("score_recorded", &outputs);
}

/// How long the client waits for an answer.
const TIMEOUT: Duration = Duration::from_millis(500);

const TOOLS: &str = "name: issues\ntools:\n  - { name: create_issue, response: created }\n  - { name: list_issues, response: none }\n";

const GATES: &str = "
recovery: { max_detection_ms: 20000, max_recovery_ms: 40000, require_clean_timeout: true }
duplicate_writes:
  expect:
    - { target: duplicate_writes.count, matcher: { exact: 0 } }
    - { target: duplicate_writes.lost, matcher: { exact: 0 } }
";

/// A client that gives up after [`TIMEOUT`].
struct Client {
    server: Child,
    input: ChildStdin,
    lines: Receiver<String>,
    last_id: u64,
}

impl Client {
    fn start(place: &Place, fault: &str) -> Self {
        let tools = place.write("tools.yml", TOOLS);
        let log = place.path("log.jsonl");
        let mut command = mcprove(&[
            "mock",
            "--tools-from",
            &tools,
            "--log",
            &log,
            "--fault",
            fault,
        ]);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut server = command.spawn().unwrap();
        let output = BufReader::new(server.stdout.take().unwrap());
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let input = server.stdin.take().unwrap();
        let mut client = Self {
            server,
            input,
            lines,
            last_id: 0,
        };
        let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {},
                             "clientInfo": { "name": "scripted", "version": "1" } });
        let greeting = client.request("initialize", &params, Duration::from_secs(30));
        assert!(greeting.is_some(), "{fault}: no greeting");
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
        self.input.flush().unwrap();
    }

    fn request(&mut self, method: &str, params: &Value, timeout: Duration) -> Option<Value> {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let deadline = Instant::now() + timeout;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left).ok()?;
            let message: Value = serde_json::from_str(&line).unwrap_or_default();
            if message["id"] == id {
                return Some(message);
            }
        }
    }

    /// Calls a tool; whether a result came in time. What does not come is cancelled.
    fn call(&mut self, tool: &str, arguments: &Value) -> bool {
        let params = json!({ "name": tool, "arguments": arguments });
        if let Some(answer) = self.request("tools/call", &params, TIMEOUT) {
            return answer.get("result").is_some();
        }
        let params = json!({ "requestId": self.last_id });
        let cancelled = "notifications/cancelled";
        self.send(&json!({ "jsonrpc": "2.0", "method": cancelled, "params": params }));
        false
    }

    fn leave(self) {
        let Self {
            mut server, input, ..
        } = self;
        drop(input);
        assert!(wait(&mut server).is_some(), "the mock goes on");
    }
}

/// What a client does after a write that failed.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Then {
    /// Tries again.
    Retries,
    /// Tries again, with an idempotency key in both attempts.
    RetriesWithKey,
    /// Goes on.
    GoesOn,
}

use Then::{GoesOn, Retries, RetriesWithKey};

type Case = (&'static str, Then, i32, Option<u64>, [u64; 4]);

/// Each fault; what the client does; the exit code, whether it recovered, and the writes confirmed,
/// at risk, protected and lost.
const CASES: [Case; 12] = [
    ("hang", Retries, 0, Some(1), [0, 0, 0, 0]),
    ("lose-request", Retries, 0, Some(1), [0, 0, 0, 0]),
    ("lose-request", GoesOn, 1, Some(1), [0, 0, 0, 1]),
    ("lose-reply", Retries, 1, Some(1), [1, 0, 0, 0]),
    ("lose-reply", RetriesWithKey, 0, Some(1), [0, 0, 1, 0]),
    ("lose-reply", GoesOn, 0, Some(1), [0, 0, 0, 0]),
    ("slow:50", GoesOn, 0, Some(1), [0, 0, 0, 0]),
    ("slow:60000", Retries, 0, Some(1), [0, 0, 0, 0]),
    ("error", Retries, 0, Some(1), [0, 0, 0, 0]),
    ("malformed", Retries, 1, Some(1), [1, 0, 0, 0]),
    ("wrong-id", Retries, 1, Some(1), [1, 0, 0, 0]),
    ("corrupt", GoesOn, 2, None, [0, 0, 0, 0]),
];

#[test]
fn a_live_client_is_scored_by_the_clock() {
    thread::scope(|scope| {
        for chunk in CASES.chunks(3) {
            scope.spawn(move || chunk.iter().for_each(check));
        }
    });
}

fn check(&(kind, then, code, recovered, writes): &Case) {
    let place = Place::new();
    let fault = format!("{kind},tool=create_issue,calls=1");
    let mut client = Client::start(&place, &fault);
    let mut arguments = json!({ "title": "Flaky upload test" });
    if then == RetriesWithKey {
        arguments["idempotency_key"] = json!("7f3a");
    }
    let is_done = client.call("create_issue", &arguments);
    if !is_done && then != GoesOn {
        client.call("create_issue", &arguments);
    }
    client.call("list_issues", &json!({}));
    client.leave();

    let gates = place.write("gates.yml", GATES);
    let output = run(&[
        "score",
        &place.path("log.jsonl"),
        "--gates",
        &gates,
        "--json",
    ]);
    assert_eq!(output.code, Some(code), "{kind} {then:?}: {output:?}");
    let report = report(&output);
    let targets = &report.targets;
    assert_eq!(
        targets["recovery.recovered"],
        json!(recovered),
        "{kind} {then:?}"
    );
    let names = ["confirmed", "at_risk", "protected", "lost"];
    let found = names.map(|name| {
        targets[&format!("duplicate_writes.{name}")]
            .as_u64()
            .unwrap()
    });
    assert_eq!(found, writes, "{kind} {then:?}: {names:?}");
    let detection = targets["recovery.time_to_detection_ms"].as_u64().unwrap();
    let is_silent = !matches!(kind, "slow:50" | "error" | "corrupt");
    // The clock of the server starts a little later than that of the client.
    assert_eq!(
        is_silent,
        detection >= 400,
        "{kind} {then:?}: {detection} ms"
    );
    if let Some(time) = targets["recovery.time_to_recovery_ms"].as_u64() {
        assert!(time >= detection, "{kind} {then:?}");
    }
}
