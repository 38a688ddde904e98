//! What is written down, and that a mock can be made of it again.

use std::io::Write;
use std::sync::{Arc, Mutex};

use mcprove_client::server::Server;
use mcprove_recording::{Origin, Recording};
use mcprove_trace::TraceRecord;
use serde_json::{Value, json};

use super::{TOOLS, call, listening, mock_with, ready, search};
use crate::fixture::tests::{http, modern, open, ping, text, within};
use crate::mock::{ListenerKind, Mock, MockOptions};
use crate::tools_file::parse;

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A server at an address.
type MakeServer = fn(String) -> Server;

struct Logged {
    mock: Mock,
    recording: Recording,
    file: Shared,
}

fn logged(faults: &[&str]) -> Logged {
    let file = Shared::default();
    let origin = Origin::new("mock", "demo");
    let recording = Recording::to_writer(
        Box::new(file.clone()),
        &origin,
        &mcprove_settings::secret::Redactor::default(),
    )
    .unwrap();
    let mock = mock_with(TOOLS, faults, Some(recording.clone()));
    Logged {
        mock,
        recording,
        file,
    }
}

impl Logged {
    fn text(&self) -> String {
        self.recording.flush();
        String::from_utf8(self.file.0.lock().unwrap().clone()).unwrap()
    }

    fn lines(&self) -> Vec<TraceRecord> {
        let text = self.text();
        text.lines()
            .map(|line| TraceRecord::parse(line).unwrap())
            .collect()
    }

    fn notes(&self, name: &str) -> Vec<Value> {
        let lines = self.lines().into_iter();
        let notes = lines.filter(|line| line.name.as_deref() == Some(name));
        notes.map(|line| line.data.unwrap()).collect()
    }

    /// Waits until a note of this name is there.
    async fn note(&self, name: &str) -> Value {
        within(async {
            loop {
                if let Some(note) = self.notes(name).pop() {
                    return note;
                }
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        })
        .await
    }
}

#[tokio::test]
async fn every_request_has_its_line_and_its_end() {
    let logged = logged(&["slow:1,tool=search"]);
    let mut pipe = ready(&logged.mock).await;
    let mut named = search(1, "x");
    named["id"] = json!("a text");
    pipe.ask(&named).await;
    pipe.ask(&ping(2)).await;
    pipe.ask(&search(3, "boom")).await;
    let done = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    pipe.send(&done).await;
    pipe.ask(&ping(4)).await;
    let lines = logged.lines();
    let of = |kind: &str| -> Vec<(u64, String)> {
        let lines = lines.iter().filter(|line| line.kind == kind);
        lines
            .map(|line| (line.request_id.unwrap(), line.method.clone().unwrap()))
            .collect()
    };
    let methods = ["initialize", "tools/call", "ping", "tools/call", "ping"];
    let requests: Vec<(u64, String)> = (1..).zip(methods.map(str::to_owned)).collect();
    assert_eq!(of("request"), requests);
    assert_eq!(of("response").len(), 4);
    let failed = lines.iter().find(|line| line.kind == "error").unwrap();
    assert_eq!(failed.error.as_ref().unwrap().code, Some(-32000));
    let fault = json!({
        "session": 0, "request_id": 2, "fault": "slow", "kind": "slow",
        "server": "demo", "tool": "search", "delay_ms": 1,
    });
    assert_eq!(logged.notes("fault")[0], fault);
    assert_eq!(
        logged.notes("notification")[0]["method"],
        "notifications/initialized"
    );
    assert!(logged.notes("cancelled").is_empty());
}

#[tokio::test]
async fn a_client_that_cancels_or_leaves_is_noted() {
    let cancel = json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 },
    });
    for fault in ["hang", "reply-after-cancel:50", "wrong-id"] {
        let logged = logged(&[fault]);
        let mut pipe = ready(&logged.mock).await;
        pipe.send(&search(1, "x")).await;
        if fault == "wrong-id" {
            pipe.next().await;
        }
        pipe.send(&cancel).await;
        let note = logged.note("cancelled").await;
        assert_eq!(note, json!({ "session": 0, "request_id": 2 }), "{fault}");
    }
    // By closing its end of the pipe.
    let over_pipe = logged(&["hang"]);
    let mut pipe = ready(&over_pipe.mock).await;
    pipe.send(&search(1, "x")).await;
    pipe.ask(&ping(2)).await;
    pipe.input = None;
    assert_eq!(over_pipe.note("left").await, json!({ "session": 0 }));
    // It gets a moment, and is given up then: noted after that, and read as leaving.
    assert_eq!(over_pipe.note("cancelled").await["request_id"], 2);
    let at = |name: &str| {
        let lines = over_pipe.lines();
        let line = lines.iter().find(|line| line.name.as_deref() == Some(name));
        line.unwrap().ts
    };
    let drained = crate::hosting::serve_stdio::DRAIN_TIME.as_secs_f64();
    assert!(at("cancelled") - at("left") > drained / 2.0);
    let imported = mcprove_import::import(&over_pipe.text()).unwrap();
    let mark = &imported.trace.runs[0].faults[0];
    assert_eq!((mark.detected_ms, mark.left_ms.is_some()), (None, true));
}

#[tokio::test]
async fn a_client_that_leaves_before_a_delay_is_over_is_not_served() {
    let logged = logged(&["slow:1500"]);
    let mut pipe = ready(&logged.mock).await;
    pipe.send(&search(1, "x")).await;
    logged.note("fault").await;
    pipe.input = None;
    assert_eq!(logged.note("cancelled").await["request_id"], 2);
    let imported = mcprove_import::import(&logged.text()).unwrap();
    let result = &imported.trace.runs[0].tool_results[0].result;
    assert_eq!(result.value()["category"], "Cancelled");
}

#[tokio::test]
async fn over_stateless_http_leaving_is_cancelling_and_all_is_one_session() {
    let logged = logged(&["hang,tool=search"]);
    let server = listening(&logged.mock, ListenerKind::Http).await;
    let headers = |method, name| {
        [
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", method),
            ("Mcp-Name", name),
        ]
    };
    let params = |name: &str| json!({ "name": name, "arguments": { "query": "x" } });
    let body = modern(1, "tools/call", params("search")).to_string();
    let stream = open(
        &server,
        "POST",
        "/mcp",
        &headers("tools/call", "search"),
        &body,
    )
    .await;
    let body = modern(2, "tools/call", params("echo")).to_string();
    let reply = http(
        &server,
        "POST",
        "/mcp",
        &headers("tools/call", "echo"),
        &body,
    )
    .await;
    assert_eq!(reply.status, 200);
    logged.note("fault").await;
    drop(stream);
    assert_eq!(logged.note("cancelled").await["session"], 0);
    assert!(
        logged
            .lines()
            .iter()
            .all(|line| line.session.is_none_or(|session| session == 0))
    );
}

#[tokio::test]
async fn over_stateless_http_a_reply_after_the_cancel_is_a_late_one() {
    let logged = logged(&["reply-after-cancel:300"]);
    let server = listening(&logged.mock, ListenerKind::Http).await;
    let headers = [
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "search"),
    ];
    let params = json!({ "name": "search", "arguments": { "query": "many" } });
    let body = modern(1, "tools/call", params).to_string();
    let stream = open(&server, "POST", "/mcp", &headers, &body).await;
    logged.note("fault").await;
    drop(stream);
    assert_eq!(logged.note("cancelled").await["request_id"], 1);
    assert_eq!(logged.note("late_reply").await["request_id"], 1);
}

#[tokio::test]
async fn what_is_refused_is_written_down_too() {
    let over_pipe = logged(&[]);
    let mut pipe = ready(&over_pipe.mock).await;
    pipe.send_raw(b"{ garbage").await;
    pipe.next().await;
    pipe.ask(&json!({ "jsonrpc": "2.0", "id": 1, "method": "ping", "params": [] }))
        .await;
    pipe.ask(&json!([ping(2)])).await;
    let remarks: Vec<String> = over_pipe
        .lines()
        .into_iter()
        .filter(|line| line.name.as_deref() == Some("remark"))
        .map(|line| line.message.unwrap())
        .collect();
    for (remark, parts) in remarks.iter().zip([
        ["refused with -32700", "{ garbage"],
        ["refused with -32600", "\"params\":[]"],
        [
            "refused with -32600, Invalid request: this revision has no batches",
            "ping",
        ],
    ]) {
        assert!(parts.iter().all(|part| remark.contains(part)), "{remark}");
    }
    assert_eq!(remarks.len(), 3);

    let over_http = logged(&[]);
    let server = listening(&over_http.mock, ListenerKind::Http).await;
    let body = search(1, "x").to_string();
    for (body, headers, status) in [
        (
            body.as_str(),
            [("Mcp-Session-Id", "nobody")].as_slice(),
            404,
        ),
        (&body, &[], 400),
        ("{ garbage", &[], 400),
        (&body, &[("Accept", "text/html")], 406),
    ] {
        let reply = http(&server, "POST", "/mcp", headers, body).await;
        assert_eq!(reply.status, status);
    }
    let lines = over_http.lines();
    let failed: Vec<&str> = lines
        .iter()
        .filter_map(|line| line.error.as_ref())
        .map(|error| error.message.as_str())
        .collect();
    assert_eq!(
        failed,
        [
            "turned away with HTTP 404: Session not found",
            "turned away with HTTP 400: Bad request: Mcp-Session-Id is missing",
        ]
    );
    let asked = lines.iter().find(|line| line.kind == "request").unwrap();
    assert_eq!(asked.tool.as_deref(), Some("search"));
    let is_remark = |line: &&TraceRecord| line.name.as_deref() == Some("remark");
    assert_eq!(lines.iter().filter(is_remark).count(), 2);
}

#[tokio::test]
async fn what_is_open_when_the_server_stops_has_an_end() {
    let ways: [(ListenerKind, MakeServer); 3] = [
        (ListenerKind::Http, |url| Server::http(url)),
        (ListenerKind::Sse, |url| Server::sse(url)),
        (ListenerKind::WebSocket, |url| Server::websocket(url)),
    ];
    for (kind, target) in ways {
        let logged = logged(&["hang"]);
        let server = listening(&logged.mock, kind).await;
        let options = mcprove_client::session::SessionOptions::default();
        let target = target(server.url());
        let recorder = mcprove_trace::stream::EventStream::unobserved().recorder();
        let session =
            mcprove_client::session::Session::connect_recorded(&target, options, recorder);
        let session = session.await.unwrap();
        let calling = tokio::spawn(async move {
            let _ = session.call_tool("echo", &json!({})).await;
        });
        logged.note("fault").await;
        server.shutdown().await;
        let lines = logged.lines();
        let end = lines.iter().find(|line| line.kind == "error").unwrap();
        let error = end.error.as_ref().unwrap();
        assert_eq!(error.message, "the server stopped before an answer");
        calling.abort();
    }
}

#[tokio::test]
async fn a_log_is_a_tools_file() {
    let logged = logged(&["error:-9,tool=echo"]);
    let mut pipe = ready(&logged.mock).await;
    pipe.ask(&crate::fixture::tests::request(9, "tools/list", json!({})))
        .await;
    let asked = [
        search(1, "x"),
        search(2, "many"),
        search(3, "many"),
        call(4, "search", json!({})),
        call(5, "echo", json!({ "a": "${args.b}" })),
        search(6, "boom"),
        call(7, "deep", json!({ "n": 1 })),
    ];
    let mut answers = Vec::new();
    for message in &asked {
        answers.push(pipe.ask(message).await);
    }
    let read =
        |uri: &str| crate::fixture::tests::request(6, "resources/read", json!({ "uri": uri }));
    let resource = pipe.ask(&read("file:///a")).await;

    let spec = parse(&logged.text(), "log.jsonl").unwrap().spec;
    assert_eq!(spec.name, "demo");
    let mut again = ready(&Mock::new(spec, MockOptions::default()).unwrap()).await;
    for (message, answer) in asked.iter().zip(&answers) {
        assert_eq!(again.ask(message).await, *answer);
    }
    assert_eq!(again.ask(&read("file:///a")).await, resource);
    let other = again.ask(&search(7, "never")).await;
    assert!(text(&other).contains("nothing was recorded"));
    assert_eq!(other["result"]["isError"], true);
}
