//! Whose call it is, and how calls end that nobody answers.

use std::time::Duration;

use mcprove_recording::{Origin, Recording};
use mcprove_trace::TraceRecord;
use tokio::time::timeout;

use super::peers::{
    DEADLINE, HttpMessage, RawServer, Running, call, cancel, in_session, post, respond, serve_json,
};
use crate::Settings;

/// A proxy that records.
struct Recorded {
    proxy: Running,
    file: tempfile::NamedTempFile,
}

impl Recorded {
    async fn start(server: &RawServer, faults: &[&str]) -> Self {
        let file = tempfile::NamedTempFile::new().unwrap();
        let recording = Recording::create(
            file.path(),
            &Origin::new("proxy", "api"),
            &mcprove_settings::secret::Redactor::default(),
        )
        .unwrap();
        let settings = Settings {
            server_name: "api".to_owned(),
            faults: faults.iter().map(|fault| fault.parse().unwrap()).collect(),
            recording: Some(recording),
            ..Settings::default()
        };
        let proxy = Running::start(&server.url, settings).await;
        Self { proxy, file }
    }

    /// Stops it; the lines of the recording.
    async fn lines(self) -> Vec<TraceRecord> {
        self.proxy.stop().await;
        let text = std::fs::read_to_string(self.file.path()).unwrap();
        let lines = text.lines();
        lines
            .map(|line| TraceRecord::parse(line).unwrap())
            .collect()
    }

    /// Stops it; the one failure that it recorded, as text.
    async fn failure(self) -> String {
        let lines = self.lines().await;
        let errors: Vec<_> = lines.iter().filter(|line| line.kind == "error").collect();
        assert_eq!(errors.len(), 1, "{lines:?}");
        format!("{:?}", errors[0].error)
    }
}

/// Answers everything but calls.
fn never(request: &HttpMessage) -> Vec<u8> {
    if request.text().contains("tools/call") {
        return Vec::new();
    }
    serve_json(request)
}

async fn until_asked(server: &RawServer, times: usize) {
    let asked = async {
        while server.asked().len() < times {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(DEADLINE, asked).await.unwrap();
}

#[tokio::test]
async fn nobody_cancels_the_call_of_another_connection() {
    let server = RawServer::start(serve_json).await;
    let proxy = Running::with(&server.url, &["slow:400"]).await;
    let mut wire = proxy.connect().await;
    wire.write(&post("/mcp", &call("1", "echo"))).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    // Another client has a call of the same id.
    assert_eq!(proxy.post(&cancel("1")).await.unwrap().status(), 202);
    let answer = timeout(DEADLINE, wire.read()).await.unwrap().unwrap();
    assert_eq!(answer.json()["id"], 1);
}

#[tokio::test]
async fn a_session_without_a_name_begins_with_its_initialize() {
    let server = RawServer::start(serve_json).await;
    let recorded = Recorded::start(&server, &[]).await;
    let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#;
    for message in [hello, &call("1", "echo"), &call("2", "echo")] {
        recorded.proxy.post(message).await.unwrap();
    }
    let lines = recorded.lines().await;
    let requests = lines.iter().filter(|line| line.kind == "request");
    let sessions: Vec<_> = requests.map(|line| line.session).collect();
    assert_eq!(sessions, [sessions[0]; 3]);
}

#[tokio::test]
async fn a_cancelled_call_is_recorded_as_cancelled_without_any_fault() {
    let server = RawServer::start(never).await;
    let recorded = Recorded::start(&server, &[]).await;
    let mut wire = recorded.proxy.connect().await;
    wire.write(&in_session(&call("1", "echo"), "s")).await;
    until_asked(&server, 1).await;
    recorded
        .proxy
        .exchange(&in_session(&cancel("1"), "s"))
        .await;
    let failure = recorded.failure().await;
    assert!(failure.contains("Cancelled"), "{failure}");
}

#[tokio::test]
async fn a_client_that_leaves_cancels_and_so_does_the_end_of_the_proxy() {
    for leaves in [true, false] {
        let server = RawServer::start(never).await;
        let recorded = Recorded::start(&server, &[]).await;
        let mut wire = recorded.proxy.connect().await;
        wire.write(&post("/mcp", &call("1", "echo"))).await;
        until_asked(&server, 1).await;
        if leaves {
            drop(wire);
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        let failure = recorded.failure().await;
        assert!(failure.contains("Cancelled"), "{failure}");
    }
}

#[tokio::test]
async fn answers_that_are_looked_at_are_asked_for_uncompressed() {
    let server = RawServer::start(serve_json).await;
    let proxy = Running::with(&server.url, &["vanish,tool=gone"]).await;
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let request = String::from_utf8(post("/mcp", list)).unwrap();
    let request = request.replacen(
        "Host: localhost",
        "Host: localhost\r\nAccept-Encoding: gzip",
        1,
    );
    proxy.exchange(request.as_bytes()).await.unwrap();
    assert_eq!(server.asked()[0].header("accept-encoding"), None);
}

#[tokio::test]
async fn a_refusal_in_json_is_recorded_as_its_status() {
    let body = r#"{"error":"invalid_token"}"#;
    let server =
        RawServer::start(move |_| respond("401 Unauthorized", "application/json", body)).await;
    let recorded = Recorded::start(&server, &[]).await;
    recorded.proxy.post(&call("1", "echo")).await.unwrap();
    let failure = recorded.failure().await;
    assert!(failure.contains("HTTP 401 Unauthorized"), "{failure}");
}

#[tokio::test]
async fn bytes_are_counted_though_somebody_looks() {
    let server = RawServer::start(serve_json).await;
    let proxy = Running::with(&server.url, &["vanish,tool=gone"]).await;
    let message = call("1", "echo");
    proxy.post(&message).await.unwrap();
    let listed = proxy
        .post(r#"{"jsonrpc":"2.0","id":2,"method":"initialize"}"#)
        .await
        .unwrap();
    let traffic = proxy.stop().await.summary.traffic;
    assert!(traffic.bytes_to_server > message.len() as u64);
    assert!(traffic.bytes_to_client > listed.body.len() as u64);
}

#[tokio::test]
async fn a_list_that_breaks_off_is_not_served_as_whole() {
    let server = RawServer::start(|_| {
        let part = r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}"#;
        format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{part}\r\nnonsense", part.len()).into_bytes()
    })
    .await;
    let proxy = Running::with(&server.url, &["vanish,tool=gone"]).await;
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let heard = proxy.post(list).await.unwrap();
    assert!(!heard.is_whole, "{heard:?}");
}

#[tokio::test]
async fn a_list_that_is_too_long_passes_and_it_is_said() {
    let padding = "x".repeat(crate::LOOK_BYTES_MAX);
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{{"name":"gone"}}],"x":"{padding}"}}}}"#
    );
    let server = RawServer::start({
        let body = body.clone();
        move |_| respond("200 OK", "application/json", &body)
    })
    .await;
    let proxy = Running::with(&server.url, &["vanish,tool=gone"]).await;
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let heard = proxy.post(list).await.unwrap();
    assert!(
        heard.is_whole && heard.body == body.as_bytes(),
        "{}",
        heard.body.len()
    );
    let remarks = proxy.stop().await.summary.remarks;
    assert!(
        remarks.keys().any(|remark| remark.contains("too long")),
        "{remarks:?}"
    );
}

/// What became of the calls in a batch, by tool.
async fn batch(answer: &'static str, content_type: &'static str, status: &'static str) -> String {
    let server = RawServer::start(move |_| respond(status, content_type, answer)).await;
    let recorded = Recorded::start(&server, &["error,tool=nobody"]).await;
    let asked = format!("[{},{}]", call("1", "one"), call("\"2\"", "two"));
    let heard = recorded.proxy.post(&asked).await.unwrap();
    assert_eq!(heard.text(), answer);
    assert_eq!(server.asked()[0].text(), asked);
    let lines = recorded.lines().await;
    let ends = lines.iter().filter(|line| {
        let is_end = matches!(line.kind.as_str(), "response" | "error");
        is_end && line.tool.is_some()
    });
    let ends = ends.map(|line| {
        let error = line.error.as_ref().map(|error| error.category.to_string());
        format!(
            "{} {}",
            line.tool.as_deref().unwrap(),
            error.unwrap_or("fine".into())
        )
    });
    let mut ends: Vec<String> = ends.collect();
    ends.sort();
    ends.join(", ")
}

#[tokio::test]
async fn calls_in_a_batch_have_ends_in_the_recording() {
    const ONE: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#;
    const BOTH: &str = r#"[{"jsonrpc":"2.0","id":"2","error":{"code":-32050,"message":"no"}},{"jsonrpc":"2.0","id":1,"result":{"content":[]}}]"#;
    let json = "application/json";
    let both = "one fine, two ProtocolError";
    assert_eq!(batch(BOTH, json, "200 OK").await, both);
    let events = r#"data: [{"jsonrpc":"2.0","id":"2","error":{"code":-32050,"message":"no"}}]

data: {"jsonrpc":"2.0","id":1,"result":{"content":[]}}

"#;
    assert_eq!(batch(events, "text/event-stream", "200 OK").await, both);
    let lacking = "one fine, two Malformed";
    assert_eq!(batch(ONE, json, "200 OK").await, lacking);
    let refusal = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no batches"}}"#;
    let refused = "one ProtocolError, two ProtocolError";
    assert_eq!(batch(refusal, json, "200 OK").await, refused);
    let nothing = "one ServerError, two ServerError";
    assert_eq!(batch("", "text/plain", "503 Busy").await, nothing);
}

#[test]
fn sessions_beyond_the_limit_count_as_one() {
    use crate::http::hub::Hub;
    use crate::http::hub::SESSIONS_MAX;
    use crate::http::upstream::Upstream;
    use crate::watch::Watch;
    let upstream = Upstream::new("http://127.0.0.1:9/mcp", Vec::new()).unwrap();
    let hub = Hub::new(Watch::new(Settings::default()), upstream);
    let first = hub.named_session("0").number;
    for number in 1..SESSIONS_MAX {
        hub.named_session(&number.to_string());
    }
    let (one, other) = (hub.named_session("one"), hub.named_session("other"));
    assert_eq!(one.number, other.number);
    assert_ne!(one.name, other.name);
    assert_eq!(hub.named_session("0").number, first);
    let remarks = hub.watch.seen().remarks;
    assert!(remarks.keys().any(|remark| remark.contains("sessions")));
}
