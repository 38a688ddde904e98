//! A client of the lab that knows nothing of the client of this library.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use mcprove_servers::hosting::listener::{ListenerKind, Listening};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use crate as lab;
use crate::LabOptions;
use crate::audit::{AuditRow, AuditStore, Filter};

/// Generous, because it only ends tests that hang.
const DEADLINE: Duration = Duration::from_mins(1);
/// How long to listen before believing that nothing comes.
const SILENCE: Duration = Duration::from_millis(200);

pub async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, future).await.unwrap()
}

pub fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// A request of the stateless era, from a client that can do everything.
pub fn modern(id: u64, method: &str, params: &Value) -> Value {
    let mut params = params.clone();
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = all_capabilities();
    request(id, method, &params)
}

pub fn all_capabilities() -> Value {
    json!({ "roots": {}, "sampling": {}, "elicitation": {} })
}

pub fn initialize(id: u64, revision: &str) -> Value {
    let params = json!({
        "protocolVersion": revision,
        "capabilities": all_capabilities(),
        "clientInfo": { "name": "tester", "version": "7" },
    });
    request(id, "initialize", &params)
}

pub fn call(id: u64, tool: &str, arguments: &Value) -> Value {
    let params = json!({ "name": tool, "arguments": arguments });
    request(id, "tools/call", &params)
}

/// The structured content of an answer, which must be there as a text too.
pub fn structured(reply: &Value) -> Value {
    let content = &reply["result"]["structuredContent"];
    let text = reply["result"]["content"][0]["text"].as_str();
    let text = text.unwrap_or_else(|| panic!("no text: {reply}"));
    assert_eq!(&serde_json::from_str::<Value>(text).unwrap(), content);
    content.clone()
}

/// Options with an audit, and the audit.
pub fn audited() -> (LabOptions, Arc<AuditStore>) {
    let store = Arc::new(AuditStore::in_memory().unwrap());
    let options = LabOptions {
        audit: Some(Arc::clone(&store)),
        ..LabOptions::default()
    };
    (options, store)
}

/// All rows, oldest first, once there are so many.
pub async fn rows(store: &AuditStore, count: usize) -> Vec<AuditRow> {
    within(async {
        loop {
            store.flush();
            let reader = store.reader().unwrap();
            let rows = reader.rows(Filter::default());
            let mut rows: Vec<_> = rows.map(Result::unwrap).collect();
            rows.sort_by_key(|row| row.id);
            if rows.len() >= count {
                assert_eq!(rows.len(), count, "{rows:#?}");
                return rows;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
}

/// The client's end of a pipe in memory.
pub struct Pipe {
    output: BufReader<Pin<Box<dyn AsyncRead + Send>>>,
    input: Option<Pin<Box<dyn AsyncWrite + Send>>>,
}

impl Pipe {
    pub fn open(options: &LabOptions) -> Self {
        let (output, input) = lab::spawn_in_memory(options);
        Self {
            output: BufReader::new(Box::pin(output)),
            input: Some(Box::pin(input)),
        }
    }

    /// A lab with the handshake done.
    pub async fn ready(options: &LabOptions) -> Self {
        Self::ready_at(options, "2025-11-25").await
    }

    pub async fn ready_at(options: &LabOptions, revision: &str) -> Self {
        let mut pipe = Self::open(options);
        let reply = pipe.ask(&initialize(0, revision)).await;
        assert_eq!(reply["result"]["protocolVersion"], revision);
        let done = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        pipe.send(&done).await;
        pipe
    }

    pub async fn send(&mut self, message: &Value) {
        let line = format!("{message}\n");
        let input = self.input.as_mut().unwrap();
        within(input.write_all(line.as_bytes())).await.unwrap();
    }

    /// Sends a line that need not be JSON.
    pub async fn ask_raw(&mut self, line: &str) -> Value {
        let line = format!("{line}\n");
        let input = self.input.as_mut().unwrap();
        within(input.write_all(line.as_bytes())).await.unwrap();
        self.next().await
    }

    pub async fn next(&mut self) -> Value {
        let mut line = String::new();
        within(self.output.read_line(&mut line)).await.unwrap();
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("no message: {line:?}"))
    }

    pub async fn ask(&mut self, message: &Value) -> Value {
        self.send(message).await;
        self.next().await
    }

    pub async fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.ask(&call(1, tool, arguments)).await
    }

    /// Everything up to the answer to the request with this id.
    pub async fn until_answer(&mut self, id: u64) -> Vec<Value> {
        let mut messages = Vec::new();
        loop {
            let message = self.next().await;
            let is_last = message["id"] == id && message.get("method").is_none();
            messages.push(message);
            if is_last {
                return messages;
            }
        }
    }

    pub async fn is_quiet(&mut self) -> bool {
        let read = tokio::time::timeout(SILENCE, self.output.fill_buf());
        read.await.is_err()
    }

    /// Closes the server's stdin, and reads its stdout to the end.
    pub async fn close(mut self) -> String {
        self.input = None;
        let mut rest = String::new();
        within(self.output.read_to_string(&mut rest)).await.unwrap();
        rest
    }
}

/// An HTTP response, read to its end.
#[derive(Debug)]
pub struct HttpReply {
    pub status: u16,
    head: String,
    pub body: String,
}

impl HttpReply {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(": ")?;
            key.eq_ignore_ascii_case(name).then_some(value)
        })
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }
}

pub async fn listen(options: &LabOptions, kind: ListenerKind) -> Listening {
    let addr = "127.0.0.1:0".parse().unwrap();
    lab::listen(options, kind, addr).await.unwrap()
}

/// Sends an HTTP request on a connection of its own, and leaves the response unread.
pub async fn open(
    server: &Listening,
    method: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> TcpStream {
    let mut stream = TcpStream::connect(server.addr).await.unwrap();
    let mut message = format!(
        "{method} /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n"
    );
    for (name, value) in headers {
        message.extend([name, ": ", value, "\r\n"]);
    }
    let length = body.len().to_string();
    message.extend(["Content-Length: ", &length, "\r\n\r\n", body]);
    within(stream.write_all(message.as_bytes())).await.unwrap();
    stream
}

pub async fn http(
    server: &Listening,
    method: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> HttpReply {
    let mut stream = open(server, method, headers, body).await;
    let mut bytes = Vec::new();
    within(stream.read_to_end(&mut bytes)).await.unwrap();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    HttpReply {
        status: head.split(' ').nth(1).unwrap().parse().unwrap(),
        head: head.to_owned(),
        body: body.to_owned(),
    }
}

/// Opens a session over HTTP, and says its name.
pub async fn open_session(server: &Listening, headers: &[(&str, &str)]) -> String {
    let message = initialize(0, "2025-11-25").to_string();
    let reply = http(server, "POST", headers, &message).await;
    reply.header("mcp-session-id").unwrap().to_owned()
}

/// The headers of a stateless call of a tool.
pub fn modern_headers(tool: &str) -> [(&str, &str); 3] {
    [
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", tool),
    ]
}

/// Reads from a stream of events until this comes.
pub async fn wait_for(stream: &mut TcpStream, wanted: &str) -> String {
    let mut text = String::new();
    let mut bytes = [0; 4096];
    within(async {
        while !text.contains(wanted) {
            let count = stream.read(&mut bytes).await.unwrap();
            assert!(count > 0, "ended before {wanted:?}: {text}");
            text.push_str(&String::from_utf8_lossy(&bytes[..count]));
        }
    })
    .await;
    text
}
