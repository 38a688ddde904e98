//! A small HTTP server whose every answer is decided by the test. One request per connection.

use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use mcprove_client::server::Server;
use mcprove_client::session::{ConnectError, Session, SessionOptions};
use mcprove_trace::stream::EventStream;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::peer::eventually;

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Received {
    pub method: String,
    headers: Vec<(String, String)>,
    pub body: Value,
}

impl Received {
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(key, _)| key == name);
        let first = found.next();
        assert!(found.next().is_none(), "{name} came twice");
        first.map(|(_, value)| value.as_str())
    }

    /// The JSON-RPC method; empty where there is none.
    pub fn rpc(&self) -> &str {
        self.body["method"].as_str().unwrap_or_default()
    }

    pub fn answer(&self, result: &Value) -> Value {
        json!({ "jsonrpc": "2.0", "id": self.body["id"], "result": result })
    }
}

/// The way back to the client that sent one request.
pub struct Conversation {
    stream: TcpStream,
    hangups: Arc<AtomicUsize>,
}

impl Conversation {
    pub async fn respond(&mut self, status: &str, headers: &str, body: &str) {
        let length = body.len();
        let text = format!(
            "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
        );
        // The client may have left.
        let _ = self.stream.write_all(text.as_bytes()).await;
    }

    pub async fn json(&mut self, value: &Value) {
        let text = value.to_string();
        self.respond("200 OK", "content-type: application/json\r\n", &text)
            .await;
    }

    pub async fn accept(&mut self) {
        self.respond("202 Accepted", "", "").await;
    }

    pub async fn open_events(&mut self) {
        let head =
            "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\n\r\n";
        let _ = self.stream.write_all(head.as_bytes()).await;
    }

    pub async fn event(&mut self, value: &Value) {
        let _ = self
            .stream
            .write_all(format!("data: {value}\n\n").as_bytes())
            .await;
    }

    /// Says nothing more until the client closes the connection.
    pub async fn wait_for_hangup(&mut self) {
        let mut rest = [0; 64];
        while matches!(self.stream.read(&mut rest).await, Ok(length) if length > 0) {}
        self.hangups.fetch_add(1, Ordering::SeqCst);
    }
}

pub struct HttpServer {
    port: u16,
    received: Arc<Mutex<Vec<Received>>>,
    hangups: Arc<AtomicUsize>,
}

impl HttpServer {
    /// Handles every request, each in a task of its own.
    pub async fn start<F, Fut>(handler: F) -> Self
    where
        F: Fn(Received, Conversation) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self {
            port: listener.local_addr().unwrap().port(),
            received: Arc::default(),
            hangups: Arc::default(),
        };
        let (received, hangups) = (Arc::clone(&server.received), Arc::clone(&server.hangups));
        let handler = Arc::new(handler);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (received, hangups) = (Arc::clone(&received), Arc::clone(&hangups));
                let handler = Arc::clone(&handler);
                tokio::spawn(async move {
                    if let Some(request) = read_request(&mut stream).await {
                        received.lock().unwrap().push(request.clone());
                        handler(request, Conversation { stream, hangups }).await;
                    }
                });
            }
        });
        server
    }

    pub async fn connect(&self, options: SessionOptions) -> Result<Session, ConnectError> {
        let server = Server::http(format!("http://127.0.0.1:{}/mcp", self.port));
        Session::connect_recorded(&server, options, EventStream::unobserved().recorder()).await
    }

    pub fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }

    pub fn count(&self, rpc: &str) -> usize {
        self.received()
            .iter()
            .filter(|request| request.rpc() == rpc)
            .count()
    }

    /// Waits for `count` messages of method `rpc`.
    pub async fn wait_for(&self, rpc: &str, count: usize) {
        eventually(rpc, || Some(()).filter(|()| self.count(rpc) >= count)).await;
    }

    pub async fn wait_for_hangups(&self, count: usize) {
        eventually("a hangup", || {
            Some(()).filter(|()| self.hangups.load(Ordering::SeqCst) >= count)
        })
        .await;
    }

    pub fn hangups(&self) -> usize {
        self.hangups.load(Ordering::SeqCst)
    }
}

async fn read_request(stream: &mut TcpStream) -> Option<Received> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut lines = head.lines();
    let method = lines.next()?.split(' ').next()?.to_owned();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length = headers
        .iter()
        .find(|(name, _)| name == "content-length")
        .map_or(0, |(_, value)| value.parse().unwrap());
    while bytes.len() < end + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let body = serde_json::from_slice(&bytes[end..]).unwrap_or_default();
    Some(Received {
        method,
        headers,
        body,
    })
}
