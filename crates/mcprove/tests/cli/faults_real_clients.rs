//! What real clients see of each fault of a mock: the npm SDK, and the Python SDK in both of its
//! versions, over stdio and over HTTP.
//!
//! A fault is aimed at the first call of `search`; then `add`, which meets none, is called, and `search`
//! again. One process of a client takes all cases, a few at a time.

use mcprove_trace::FaultKind;
use serde_json::{Value, json};

use crate::real_clients::{Client, PATIENCE_MS, Transport, observe, servers};
use crate::support::{Fixture, MCPROVE, mcprove};

const TOOLS: &str = "
name: demo
tools:
  - name: search
    inputSchema: { type: object, properties: { query: { type: string } }, required: [query] }
    response: found ${args.query}
  - name: add
    inputSchema: { type: object, properties: { a: { type: integer } } }
    response: '3'
";

/// Each kind once, as it is written after `--fault`.
const FAULTS: [&str; 26] = [
    "none",
    "hang",
    "wedged",
    "slow:400",
    "recover-after:1",
    "reply-after-cancel:600",
    "error:-32050",
    "tool-error",
    "flaky:1",
    "jitter:300-400",
    "malformed",
    "truncated",
    "corrupt",
    "empty",
    "oversized:300000",
    "disconnect",
    "crash",
    "duplicate",
    "wrong-id",
    "reorder",
    "noise",
    "lose-request",
    "lose-reply",
    "progress-forever:50",
    "vanish",
    "http-status:503-7",
];

/// How long a client waits for an answer.
const TIMEOUT_MS: u64 = 2_500;

#[test]
fn every_kind_is_tested() {
    let tested: Vec<FaultKind> = FAULTS.iter().map(|fault| kind(fault)).collect();
    let known: Vec<FaultKind> = FaultKind::ALL.into_iter().map(|(_, kind)| kind).collect();
    assert_eq!(tested, known);
}

#[test]
fn the_npm_sdk_sees_each_fault_over_stdio() {
    check_all(Client::Npm, Transport::Stdio);
}

#[test]
fn the_npm_sdk_sees_each_fault_over_http() {
    check_all(Client::Npm, Transport::Http);
}

#[test]
fn the_python_sdk_1_sees_each_fault_over_stdio() {
    check_all(Client::Python1, Transport::Stdio);
}

#[test]
fn the_python_sdk_1_sees_each_fault_over_http() {
    check_all(Client::Python1, Transport::Http);
}

#[test]
fn the_python_sdk_2_sees_each_fault_over_stdio() {
    check_all(Client::Python2, Transport::Stdio);
}

#[test]
fn the_python_sdk_2_sees_each_fault_over_http() {
    check_all(Client::Python2, Transport::Http);
}

fn kind(fault: &str) -> FaultKind {
    let name = fault.split(':').next().unwrap_or_default();
    name.parse().expect(name)
}

fn check_all(client: Client, transport: Transport) {
    let Some(servers) = servers() else { return };
    let folder = tempfile::tempdir().unwrap();
    let tools = folder.path().join("tools.yml");
    std::fs::write(&tools, TOOLS).unwrap();
    let tools = tools.to_str().unwrap();
    let mut listening = Vec::new();
    let cases: Vec<Value> = FAULTS
        .iter()
        .map(|fault| {
            let aimed = match kind(fault) {
                FaultKind::Reorder | FaultKind::Vanish => format!("{fault},tool=search"),
                _ => format!("{fault},tool=search,calls=1"),
            };
            let mut mock = vec!["mock", "--tools-from", tools, "--fault", &aimed];
            let mut case = json!({ "name": fault, "steps": steps(fault, client) });
            if transport == Transport::Http {
                mock.extend(["--http", "127.0.0.1:0"]);
                let server = Fixture::start_command(mcprove(&mock));
                case["url"] = server.url.clone().into();
                listening.push(server);
            } else {
                mock.insert(0, MCPROVE);
                case["command"] = json!(mock);
            }
            case
        })
        .collect();
    let observations = observe(&servers, client, &cases);
    let mut problems = Vec::new();
    for fault in FAULTS {
        let found = observations.iter().find(|found| found["name"] == fault);
        let found = found.unwrap_or_else(|| panic!("{fault} was not observed"));
        let seen = Seen {
            found,
            client,
            transport,
            problems: Vec::new(),
        };
        problems.extend(seen.judge(kind(fault)));
    }
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

/// What the client does.
fn steps(fault: &str, client: Client) -> Value {
    let search = json!({ "query": "abc" });
    let called = |tool: &str, args: &Value, timeout_ms: u64| json!({ "do": "call", "tool": tool, "args": args, "timeout_ms": timeout_ms, "progress": true });
    let first = match kind(fault) {
        FaultKind::Reorder => {
            json!({ "do": "together", "tool": "search", "timeout_ms": PATIENCE_MS, "apart_ms": 100,
            "args": [{ "query": "one" }, { "query": "two" }] })
        }
        FaultKind::ReplyAfterCancel if client == Client::Npm => {
            json!({ "do": "cancel", "tool": "search", "args": search, "timeout_ms": PATIENCE_MS, "after_ms": 200 })
        }
        kind if never_answered(kind) => called("search", &search, TIMEOUT_MS),
        _ => called("search", &search, PATIENCE_MS),
    };
    let mut steps = vec![json!({ "do": "list" }), first];
    if kind(fault) == FaultKind::ReplyAfterCancel {
        steps.push(json!({ "do": "wait", "ms": 1_500 }));
    } else if client == Client::Python2 {
        steps.push(json!({ "do": "list" }));
    } else {
        steps.push(json!({ "do": "ping", "timeout_ms": PATIENCE_MS }));
    }
    let add = called("add", &json!({ "a": 1 }), PATIENCE_MS);
    let again = called("search", &json!({ "query": "again" }), PATIENCE_MS);
    steps.extend([add, again]);
    Value::Array(steps)
}

/// Whether the client waits in vain, on some transport at least.
fn never_answered(kind: FaultKind) -> bool {
    matches!(
        kind,
        FaultKind::Hang
            | FaultKind::Wedged
            | FaultKind::RecoverAfter
            | FaultKind::Malformed
            | FaultKind::Truncated
            | FaultKind::WrongId
            | FaultKind::LoseRequest
            | FaultKind::LoseReply
            | FaultKind::ProgressForever
    )
}

/// What a client saw of one fault.
struct Seen<'a> {
    found: &'a Value,
    client: Client,
    transport: Transport,
    problems: Vec<String>,
}

impl Seen<'_> {
    /// What is not as the fault says it is.
    fn judge(mut self, kind: FaultKind) -> Vec<String> {
        self.judge_first(kind);
        self.judge_rest(kind);
        if !self.problems.is_empty() {
            let problem = format!(
                "{:?} over {:?}: {}\n",
                self.client, self.transport, self.found
            );
            self.problems.push(problem);
        }
        self.problems
    }

    fn judge_first(&mut self, kind: FaultKind) {
        let is_http = self.transport == Transport::Http;
        let kind_name = kind.name();
        let first = self.found["steps"][1].clone();
        let how = first["kind"].as_str().unwrap_or_default();
        let mut expect = |is_so: bool, what: &str| {
            if !is_so {
                self.problems.push(format!("{kind_name}: {what}: {first}"));
            }
        };
        match kind {
            // This client gives up on a stream with junk in it.
            FaultKind::Noise if is_http && self.client == Client::Python2 => {
                expect(
                    how == "error" && first["code"] == -32_700,
                    "is no longer read",
                );
            }
            FaultKind::None | FaultKind::Duplicate | FaultKind::Noise => {
                expect(
                    first["text"] == "found abc",
                    "answers as if nothing were wrong",
                );
            }
            FaultKind::Hang
            | FaultKind::Wedged
            | FaultKind::RecoverAfter
            | FaultKind::LoseRequest
            | FaultKind::LoseReply
            | FaultKind::ProgressForever => expect(how == "timeout", "is never answered"),
            // Over stdio the line is skipped; over HTTP there is a whole answer, which is wrong.
            FaultKind::Malformed | FaultKind::Truncated | FaultKind::WrongId => {
                let is_noticed = matches!(how, "timeout" | "broken" | "error" | "closed");
                expect(
                    if is_http {
                        is_noticed
                    } else {
                        how == "timeout"
                    },
                    "is not understood",
                );
            }
            FaultKind::Slow => expect(
                first["text"] == "found abc" && first["ms"].as_u64() >= Some(395),
                "answers late",
            ),
            FaultKind::Jitter => expect(
                first["text"] == "found abc" && first["ms"].as_u64() >= Some(295),
                "answers late",
            ),
            FaultKind::ReplyAfterCancel => {
                let is_cancelled = matches!(how, "cancelled" | "timeout");
                let answers = first["text"] == "found abc" && first["ms"].as_u64() >= Some(595);
                expect(
                    if self.client == Client::Npm {
                        is_cancelled
                    } else {
                        answers
                    },
                    "is late",
                );
            }
            FaultKind::Error => expect(how == "error" && first["code"] == -32_050, "has the code"),
            FaultKind::Flaky => expect(how == "error" && first["code"] == -32_000, "is an error"),
            FaultKind::ToolError => expect(first["isError"] == true, "is a tool error"),
            FaultKind::Corrupt => {
                expect(
                    how == "result" && first["text"] == "cba dnuof",
                    "says something else",
                );
            }
            FaultKind::Empty => expect(first["blocks"] == 0, "has no content"),
            FaultKind::Oversized => expect(first["length"] == 300_000, "has this length"),
            FaultKind::Disconnect | FaultKind::Crash => {
                let is_closed = matches!(how, "closed" | "broken" | "error" | "timeout");
                expect(is_closed, "is broken off");
            }
            FaultKind::Reorder => expect(
                first["order"] == json!([1, 0]) && first["calls"][0]["text"] == "found one",
                "answers the second first",
            ),
            FaultKind::Vanish => {
                expect(matches!(how, "error" | "result"), "is answered");
                let text = format!("{} {}", first["message"], first["text"]);
                expect(text.contains("nknown tool"), "is unknown");
            }
            FaultKind::HttpStatus if is_http => {
                expect(matches!(how, "error" | "broken"), "is refused");
                let is_told = first["code"] == 503 || self.client != Client::Npm;
                expect(is_told, "tells the status");
            }
            FaultKind::HttpStatus => expect(how == "error", "is an error where there is no HTTP"),
        }
    }

    /// The connection lives, what met no fault is as it should be, and so is the next call.
    fn judge_rest(&mut self, kind: FaultKind) {
        let steps = &self.found["steps"];
        let listed = steps[0]["tools"].as_array().map_or(0, Vec::len);
        let expected = if kind == FaultKind::Vanish { 1 } else { 2 };
        let mut problems = Vec::new();
        if listed != expected {
            problems.push(format!("{}: {listed} tools are listed", kind.name()));
        }
        let is_gone = match kind {
            FaultKind::Crash => true,
            FaultKind::Disconnect => self.transport == Transport::Stdio,
            _ => false,
        };
        let add_works = steps[3]["text"] == "3";
        if add_works == is_gone {
            problems.push(format!("{}: then add answers {}", kind.name(), steps[3]));
        }
        let search_works = steps[4]["text"] == "found again";
        if search_works == (is_gone || kind == FaultKind::Vanish) {
            problems.push(format!("{}: then search answers {}", kind.name(), steps[4]));
        }
        let is_alive = steps[2]["kind"] == "result" || steps[2]["tools"].is_array();
        if kind != FaultKind::ReplyAfterCancel && is_alive == is_gone {
            problems.push(format!(
                "{}: then the server says {}",
                kind.name(),
                steps[2]
            ));
        }
        let progress = self.found["progress"].as_u64().unwrap_or_default();
        if (kind == FaultKind::ProgressForever) != (progress > 2) {
            problems.push(format!("{}: progress came {progress} times", kind.name()));
        }
        problems.extend(self.strays(kind));
        self.problems.append(&mut problems);
    }

    /// The npm SDK tells of messages that it cannot place.
    fn strays(&self, kind: FaultKind) -> Option<String> {
        if self.client != Client::Npm || self.transport != Transport::Stdio {
            return None;
        }
        let is_expected = matches!(
            kind,
            FaultKind::Malformed
                | FaultKind::Truncated
                | FaultKind::Duplicate
                | FaultKind::WrongId
                | FaultKind::Noise
                | FaultKind::ReplyAfterCancel
        );
        let count = self.found["strays"].as_array().map_or(0, Vec::len);
        let is_quiet = count == 0;
        // Whoever crashes or closes may leave broken pipes behind.
        let is_free = matches!(kind, FaultKind::Crash | FaultKind::Disconnect);
        (!is_free && is_expected == is_quiet)
            .then(|| format!("{}: {count} messages could not be placed", kind.name()))
    }
}
