//! A client and a server that say exactly what the test wants, byte by byte.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::http::listen;
pub use crate::said::{call, cancel};
use crate::{Ended, Settings};

pub const DEADLINE: Duration = Duration::from_secs(20);

/// A message of HTTP, taken apart.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HttpMessage {
    /// The first line.
    pub start: String,
    /// The headers, names as they were written.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// Whether the body was all there.
    pub is_whole: bool,
}

impl HttpMessage {
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter();
        let found = found.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub fn status(&self) -> u16 {
        self.start[9..12].parse().unwrap()
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{self:?}: {error}"))
    }

    /// What the events of a stream carry.
    pub fn events(&self) -> Vec<String> {
        let text = self.text();
        let events = text.split("\n\n").filter(|event| !event.is_empty());
        events
            .map(|event| {
                let data = event.lines().filter_map(|line| line.strip_prefix("data: "));
                data.collect::<Vec<_>>().join("\n")
            })
            .collect()
    }
}

/// A connection on which messages are read.
pub struct Wire {
    pub stream: TcpStream,
    buffer: Vec<u8>,
}

impl Wire {
    pub fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            buffer: Vec::new(),
        }
    }

    pub async fn write(&mut self, bytes: &[u8]) {
        // A peer that closed early is seen in what it says.
        let _ = self.stream.write_all(bytes).await;
    }

    async fn more(&mut self) -> bool {
        matches!(self.stream.read_buf(&mut self.buffer).await, Ok(1..))
    }

    /// The head of the next message; `None` at the end.
    pub async fn read_head(&mut self) -> Option<HttpMessage> {
        loop {
            if let Some(end) = find(&self.buffer, b"\r\n\r\n") {
                let head: Vec<u8> = self.buffer.drain(..end + 4).collect();
                let head = String::from_utf8_lossy(&head).into_owned();
                let mut lines = head.trim_end().split("\r\n");
                let start = lines.next().unwrap().to_owned();
                let headers = lines
                    .map(|line| line.split_once(':').unwrap())
                    .map(|(name, value)| (name.to_owned(), value.trim().to_owned()));
                return Some(HttpMessage {
                    start,
                    headers: headers.collect(),
                    ..HttpMessage::default()
                });
            }
            if !self.more().await {
                return None;
            }
        }
    }

    /// The next message; `None` at the end.
    pub async fn read(&mut self) -> Option<HttpMessage> {
        let mut message = self.read_head().await?;
        let length = message
            .header("content-length")
            .map(|length| length.parse().unwrap());
        if message.header("transfer-encoding") == Some("chunked") {
            (message.body, message.is_whole) = self.read_chunks().await;
        } else if let Some(length) = length {
            while self.buffer.len() < length && self.more().await {}
            message.is_whole = self.buffer.len() >= length;
            let length = length.min(self.buffer.len());
            message.body = self.buffer.drain(..length).collect();
        } else if message.start.starts_with("HTTP/") && !has_no_body(message.status()) {
            while self.more().await {}
            message.body = std::mem::take(&mut self.buffer);
            message.is_whole = true;
        } else {
            message.is_whole = true;
        }
        Some(message)
    }

    async fn read_chunks(&mut self) -> (Vec<u8>, bool) {
        let mut body = Vec::new();
        while let Some(chunk) = self.read_chunk().await {
            if chunk.is_empty() {
                return (body, true);
            }
            body.extend(chunk);
        }
        (body, false)
    }

    /// The next chunk of a body; empty at its end, `None` where it breaks off.
    pub async fn read_chunk(&mut self) -> Option<Vec<u8>> {
        let end = loop {
            match find(&self.buffer, b"\r\n") {
                Some(end) => break end,
                None if self.more().await => {}
                None => return None,
            }
        };
        let size = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
        let size = usize::from_str_radix(&size, 16).unwrap();
        while self.buffer.len() < end + 2 + size + 2 {
            if !self.more().await {
                return None;
            }
        }
        let chunk = self.buffer[end + 2..end + 2 + size].to_vec();
        self.buffer.drain(..end + 2 + size + 2);
        Some(chunk)
    }
}

fn has_no_body(status: u16) -> bool {
    matches!(status, 204 | 304)
}

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    memchr::memmem::find(bytes, part)
}

/// A server that answers each request with what `answer` makes of it; keeps what it was asked.
pub struct RawServer {
    pub url: String,
    pub asked: Arc<Mutex<Vec<HttpMessage>>>,
    task: JoinHandle<()>,
}

impl RawServer {
    pub async fn start(answer: impl Fn(&HttpMessage) -> Vec<u8> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let answer = Arc::new(answer);
        let task = tokio::spawn({
            let asked = Arc::clone(&asked);
            async move {
                while let Ok((stream, _)) = listener.accept().await {
                    let (asked, answer) = (Arc::clone(&asked), Arc::clone(&answer));
                    tokio::spawn(async move {
                        let mut wire = Wire::new(stream);
                        while let Some(request) = wire.read().await {
                            let answer = answer(&request);
                            asked.lock().unwrap().push(request);
                            // Nothing to say means to say nothing.
                            if answer.is_empty() {
                                std::future::pending::<()>().await;
                            }
                            wire.write(&answer).await;
                            if !is_whole(&answer) {
                                return;
                            }
                        }
                    });
                }
            }
        });
        Self { url, asked, task }
    }

    /// What it was asked, without its `Host`.
    pub fn asked(&self) -> Vec<HttpMessage> {
        self.asked.lock().unwrap().clone()
    }
}

/// Whether the client knows where the answer ends, and it is all there: else the connection closes.
fn is_whole(answer: &[u8]) -> bool {
    let head = String::from_utf8_lossy(answer).to_ascii_lowercase();
    let head = head.split("\r\n\r\n").next().unwrap_or_default();
    if head.contains("chunked") {
        return answer.ends_with(b"0\r\n\r\n");
    }
    (head.contains("content-length:") || head.contains(" 204 ")) && !head.contains("x-close:")
}

impl Drop for RawServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A proxy that runs, and can be stopped.
pub struct Running {
    pub addr: std::net::SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    ended: JoinHandle<Ended>,
}

impl Running {
    pub async fn start(url: &str, settings: Settings) -> Self {
        let addr = "127.0.0.1:0".parse().unwrap();
        let proxy = listen(addr, url, Vec::new()).await.unwrap();
        let addr = proxy.addr;
        let (stop, stopped) = oneshot::channel::<()>();
        let ended = tokio::spawn(proxy.run(settings, async {
            let _ = stopped.await;
        }));
        Self {
            addr,
            stop: Some(stop),
            ended,
        }
    }

    pub async fn with(url: &str, faults: &[&str]) -> Self {
        let faults = faults.iter().map(|fault| fault.parse().unwrap()).collect();
        let settings = Settings {
            server_name: "api".to_owned(),
            faults,
            ..Settings::default()
        };
        Self::start(url, settings).await
    }

    pub async fn connect(&self) -> Wire {
        Wire::new(TcpStream::connect(self.addr).await.unwrap())
    }

    /// One request on a connection of its own, and the answer; `None` if there is none.
    pub async fn exchange(&self, request: &[u8]) -> Option<HttpMessage> {
        let mut wire = self.connect().await;
        wire.write(request).await;
        timeout(DEADLINE, wire.read()).await.expect("in time")
    }

    pub async fn post(&self, message: &str) -> Option<HttpMessage> {
        self.exchange(&post("/mcp", message)).await
    }

    pub async fn stop(mut self) -> Ended {
        let _ = self.stop.take().unwrap().send(());
        self.ended().await
    }

    pub async fn ended(self) -> Ended {
        timeout(DEADLINE, self.ended).await.unwrap().unwrap()
    }
}

pub fn post(path: &str, message: &str) -> Vec<u8> {
    format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: {}\r\n\r\n{message}",
        message.len()
    )
    .into_bytes()
}

/// The same in a session that the server has named.
pub fn in_session(message: &str, session: &str) -> Vec<u8> {
    let request = String::from_utf8(post("/mcp", message)).unwrap();
    let header = format!("Host: localhost\r\nMcp-Session-Id: {session}");
    request.replacen("Host: localhost", &header, 1).into_bytes()
}

/// A response with a length.
pub fn respond(status: &str, content_type: &str, body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nX-Own: kept\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// What a server of tools answers, as JSON.
pub fn serve_json(request: &HttpMessage) -> Vec<u8> {
    let Ok(message) = serde_json::from_slice::<Value>(&request.body) else {
        return respond("200 OK", "text/plain", "");
    };
    match reply(&message) {
        Some(reply) => respond("200 OK", "application/json", &reply.to_string()),
        None => respond("202 Accepted", "text/plain", ""),
    }
}

/// The same, as an event stream with a notification before the answer.
pub fn serve_events(request: &HttpMessage) -> Vec<u8> {
    let message: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    match reply(&message) {
        Some(reply) => {
            let first = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#;
            let body = format!(": hello\r\n\r\ndata: {first}\n\nid: 7\ndata: {reply}\n\n");
            respond("200 OK", "text/event-stream", &body)
        }
        None => respond("202 Accepted", "text/plain", ""),
    }
}

fn reply(message: &Value) -> Option<Value> {
    use serde_json::json;
    let id = message.get("id")?;
    let result = if message["method"] == "tools/list" {
        json!({"tools": [{"name": "gone"}, {"name": "here"}]})
    } else {
        json!({"content": [{"type": "text", "text": "fine"}]})
    };
    Some(json!({"jsonrpc": "2.0", "id": id, "result": result}))
}
