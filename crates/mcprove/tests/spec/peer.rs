//! A server in memory whose every message is decided by the test, and which keeps what it was
//! sent.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcprove_client::session::{ConnectError, ProtocolChoice, Session, SessionOptions};
use mcprove_trace::protocol::Revision;
use mcprove_trace::stream::EventStream;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

/// How long anything may take that must happen.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Where a behaviour writes lines to the client, now or later.
#[derive(Clone)]
pub struct Wire(UnboundedSender<String>);

impl Wire {
    pub fn send(&self, message: &Value) {
        self.send_text(&message.to_string());
    }

    pub fn send_text(&self, text: &str) {
        // The client may have left.
        let _ = self.0.send(format!("{text}\n"));
    }

    pub fn answer(&self, request: &Value, result: &Value) {
        self.send(&json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }));
    }

    pub fn refuse(&self, request: &Value, error: &Value) {
        self.send(&json!({ "jsonrpc": "2.0", "id": request["id"], "error": error }));
    }
}

/// What the client sent so far.
#[derive(Clone, Default)]
pub struct Recorded(Arc<Mutex<Vec<Value>>>);

impl Recorded {
    pub fn all(&self) -> Vec<Value> {
        self.0.lock().unwrap().clone()
    }

    pub fn of(&self, method: &str) -> Vec<Value> {
        let mut messages = self.all();
        messages.retain(|message| message["method"] == method);
        messages
    }

    /// Waits until `count` messages of `method` have come.
    pub async fn wait_for(&self, method: &str, count: usize) -> Vec<Value> {
        eventually(method, || {
            Some(self.of(method)).filter(|found| found.len() >= count)
        })
        .await
    }
}

/// Waits for something that must become true.
pub async fn eventually<T>(what: &str, condition: impl Fn() -> Option<T>) -> T {
    let wait = async {
        loop {
            if let Some(found) = condition() {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, wait)
        .await
        .unwrap_or_else(|_| panic!("waited in vain: {what}"))
}

pub fn options(protocol: ProtocolChoice) -> SessionOptions {
    SessionOptions::default().with_protocol(protocol)
}

/// Connects to a server that does `behaviour` with every message.
pub async fn try_connect(
    options: SessionOptions,
    mut behaviour: impl FnMut(&Value, &Wire) + Send + 'static,
) -> (Result<Session, ConnectError>, Recorded) {
    let recorded = Recorded::default();
    let (to_client, from_server) = tokio::io::duplex(64 * 1024);
    let (to_server, from_client) = tokio::io::duplex(64 * 1024);
    let (sender, mut lines_out) = unbounded_channel::<String>();
    tokio::spawn(async move {
        let mut to_client = to_client;
        while let Some(line) = lines_out.recv().await {
            if to_client.write_all(line.as_bytes()).await.is_err() {
                return;
            }
        }
    });
    let record = recorded.clone();
    tokio::spawn(async move {
        let wire = Wire(sender);
        let mut lines = BufReader::new(from_client).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let message: Value = serde_json::from_str(&line).unwrap();
            record.0.lock().unwrap().push(message.clone());
            behaviour(&message, &wire);
        }
    });
    let events = EventStream::unobserved().recorder();
    let connecting = Session::connect_streams(from_server, to_server, options, events);
    let session = tokio::time::timeout(PATIENCE, connecting).await.unwrap();
    (session, recorded)
}

pub async fn connect(
    options: SessionOptions,
    behaviour: impl FnMut(&Value, &Wire) + Send + 'static,
) -> (Session, Recorded) {
    let (session, recorded) = try_connect(options, behaviour).await;
    (session.unwrap(), recorded)
}

pub fn initialize_result(version: &str) -> Value {
    json!({
        "protocolVersion": version,
        "capabilities": {
            "tools": {}, "prompts": {}, "resources": {}, "logging": {}, "completions": {},
            "tasks": { "requests": { "tools": { "call": {} } }, "cancel": {} },
        },
        "serverInfo": { "name": "peer", "version": "1" },
    })
}

pub fn discover_result() -> Value {
    json!({
        "resultType": "complete", "supportedVersions": ["2026-07-28"],
        "capabilities": { "tools": {} }, "ttlMs": 0, "cacheScope": "private",
    })
}

/// Answers the opening question of any revision; returns whether it was one.
pub fn open(message: &Value, wire: &Wire) -> bool {
    match message["method"].as_str() {
        Some("server/discover") => wire.answer(message, &discover_result()),
        Some("initialize") => {
            let version = message["params"]["protocolVersion"].as_str().unwrap();
            wire.answer(message, &initialize_result(version));
        }
        Some("notifications/initialized") => {}
        _ => return false,
    }
    true
}

/// A session of `revision` with a server that does `behaviour` after the opening.
pub async fn connect_at(
    revision: Revision,
    mut behaviour: impl FnMut(&Value, &Wire) + Send + 'static,
) -> (Session, Recorded) {
    connect(
        options(ProtocolChoice::Revision(revision)),
        move |message, wire| {
            if !open(message, wire) {
                behaviour(message, wire);
            }
        },
    )
    .await
}
