//! Doubles for the tests of the transports: an inbox that records, and an HTTP server whose
//! every byte the test decides.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::{Failure, Inbox, Outgoing, OutgoingKind};

/// Generous: only a test that fails anyway waits this long.
const PATIENCE: Duration = Duration::from_secs(20);

/// Waits until `condition` gives something.
pub async fn eventually<T>(what: &str, condition: impl Fn() -> Option<T>) -> T {
    let poll = async {
        loop {
            if let Some(value) = condition() {
                return value;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(PATIENCE, poll)
        .await
        .unwrap_or_else(|_| panic!("never: {what}"))
}

/// A certificate for 127.0.0.1 that nobody trusts yet, and the server's side of it.
pub fn self_signed() -> (CertificateDer<'static>, TlsAcceptor) {
    let signed = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let root = signed.cert.der().clone();
    let key = PrivateKeyDer::try_from(signed.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![root.clone()], key)
        .unwrap();
    (root, TlsAcceptor::from(Arc::new(config)))
}

/// A message to send.
pub fn message<'a>(kind: OutgoingKind, method: &'a str, bytes: &'a [u8]) -> Outgoing<'a> {
    Outgoing {
        bytes,
        kind,
        method,
        name: None,
        parameter_headers: &[],
    }
}

/// A request `id` to the tool `echo`.
pub fn call(id: u64) -> (OutgoingKind, Vec<u8>) {
    let bytes = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call"}}"#);
    (OutgoingKind::Request(id), bytes.into_bytes())
}

/// The answer to request `id`.
pub fn answer(id: u64) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)
}

#[derive(Default)]
struct Record {
    waiting: HashSet<u64>,
    delivered: Vec<Bytes>,
    failures: Vec<(Option<u64>, Failure)>,
    closed: Vec<Failure>,
}

/// An inbox that keeps what it gets.
#[derive(Default)]
pub struct RecordingInbox(Mutex<Record>);

impl RecordingInbox {
    pub fn expect(&self, id: u64) {
        self.0.lock().unwrap().waiting.insert(id);
    }

    pub fn texts(&self) -> Vec<String> {
        let record = self.0.lock().unwrap();
        record
            .delivered
            .iter()
            .map(|frame| String::from_utf8_lossy(frame).into_owned())
            .collect()
    }

    pub fn failures(&self) -> Vec<(Option<u64>, Failure)> {
        self.0.lock().unwrap().failures.clone()
    }

    pub async fn delivered(&self, count: usize) -> Vec<String> {
        let what = format!("{count} messages");
        eventually(&what, || {
            Some(self.texts()).filter(|texts| texts.len() >= count)
        })
        .await
    }

    pub async fn failed(&self) -> (Option<u64>, Failure) {
        eventually("a failure", || self.failures().into_iter().next()).await
    }

    pub async fn closed_with(&self) -> Failure {
        eventually("the end", || self.0.lock().unwrap().closed.first().cloned()).await
    }
}

impl Inbox for RecordingInbox {
    fn deliver(&self, frame: Bytes) {
        let mut record = self.0.lock().unwrap();
        let value: Option<serde_json::Value> = serde_json::from_slice(&frame).ok();
        if let Some(id) = value.and_then(|value| value.get("id")?.as_u64()) {
            record.waiting.remove(&id);
        }
        record.delivered.push(frame);
    }

    fn is_waiting(&self, id: u64) -> bool {
        self.0.lock().unwrap().waiting.contains(&id)
    }

    fn fail(&self, request: Option<u64>, failure: Failure) {
        let mut record = self.0.lock().unwrap();
        if let Some(id) = request {
            record.waiting.remove(&id);
        }
        record.failures.push((request, failure));
    }

    fn closed(&self, failure: Failure) {
        self.0.lock().unwrap().closed.push(failure);
    }
}

/// A request as it arrived.
#[derive(Debug, Clone)]
pub struct Received {
    pub connection: usize,
    pub method: String,
    pub path: String,
    pub body: String,
    headers: Vec<(String, String)>,
}

impl Received {
    pub fn header(&self, name: &str) -> Option<&str> {
        let (_, value) = self.headers.iter().find(|(other, _)| other == name)?;
        Some(value)
    }

    /// The id in the body.
    pub fn id(&self) -> u64 {
        let value: serde_json::Value = serde_json::from_str(&self.body).unwrap();
        value["id"].as_u64().unwrap()
    }
}

/// One step of a response.
#[derive(Debug, Clone)]
pub enum Step {
    Write(Vec<u8>),
    Pause(Duration),
    /// Close the connection.
    Close,
    /// Wait until the client closes the connection.
    Hang,
}

/// A whole response with a body.
pub fn respond(status: &str, headers: &str, body: &str) -> Vec<Step> {
    let length = body.len();
    let text = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n{headers}\r\n{body}");
    vec![Step::Write(text.into_bytes())]
}

pub fn json(body: &str) -> Vec<Step> {
    respond("200 OK", "content-type: application/json\r\n", body)
}

pub fn accepted() -> Vec<Step> {
    respond("202 Accepted", "", "")
}

/// The head of an event stream, and these events as one chunk each.
pub fn events(events: &[&str]) -> Vec<Step> {
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    let mut steps = vec![Step::Write(head.into())];
    steps.extend(events.iter().map(|event| chunk(event)));
    steps
}

pub fn chunk(text: &str) -> Step {
    Step::Write(format!("{:x}\r\n{text}\r\n", text.len()).into_bytes())
}

/// The end of a chunked body.
pub fn end() -> Step {
    chunk("")
}

pub fn then(mut steps: Vec<Step>, more: Step) -> Vec<Step> {
    steps.push(more);
    steps
}

type Handler = dyn Fn(&Received) -> Vec<Step> + Send + Sync;

/// An HTTP server that answers as its handler says.
pub struct TestServer {
    pub port: u16,
    received: Arc<Mutex<Vec<Received>>>,
    hangups: Arc<Mutex<usize>>,
}

impl TestServer {
    pub async fn start(handler: impl Fn(&Received) -> Vec<Step> + Send + Sync + 'static) -> Self {
        Self::start_with(None, handler).await
    }

    pub async fn start_with(
        tls: Option<TlsAcceptor>,
        handler: impl Fn(&Received) -> Vec<Step> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let handler: Arc<Handler> = Arc::new(handler);
        let received = Arc::new(Mutex::new(Vec::new()));
        let hangups = Arc::new(Mutex::new(0));
        let (log, count) = (Arc::clone(&received), Arc::clone(&hangups));
        tokio::spawn(async move {
            for number in 0.. {
                let (socket, _) = listener.accept().await.unwrap();
                let (handler, log, count) =
                    (Arc::clone(&handler), Arc::clone(&log), Arc::clone(&count));
                let tls = tls.clone();
                tokio::spawn(async move {
                    let hung_up = match tls {
                        None => converse(socket, number, &*handler, &log).await,
                        Some(tls) => match tls.accept(socket).await {
                            Ok(socket) => converse(socket, number, &*handler, &log).await,
                            Err(_) => None,
                        },
                    };
                    if hung_up.is_some() {
                        *count.lock().unwrap() += 1;
                    }
                });
            }
        });
        Self {
            port,
            received,
            hangups,
        }
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp?k=1", self.port)
    }

    pub fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }

    pub async fn requests(&self, count: usize) -> Vec<Received> {
        let what = format!("{count} requests");
        eventually(&what, || {
            Some(self.received()).filter(|all| all.len() >= count)
        })
        .await
    }

    /// How often the client closed a connection in the middle of a response.
    pub fn hangups(&self) -> usize {
        *self.hangups.lock().unwrap()
    }
}

/// Serves one connection. `Some` if the client hung up during a response.
async fn converse(
    mut socket: impl AsyncRead + AsyncWrite + Unpin,
    connection: usize,
    handler: &Handler,
    log: &Mutex<Vec<Received>>,
) -> Option<()> {
    let mut buffer = Vec::new();
    loop {
        let request = read_request(&mut socket, &mut buffer, connection).await?;
        log.lock().unwrap().push(request.clone());
        for step in handler(&request) {
            match step {
                Step::Write(bytes) => {
                    if socket.write_all(&bytes).await.is_err() {
                        return Some(());
                    }
                    let _ = socket.flush().await;
                }
                Step::Pause(time) => tokio::time::sleep(time).await,
                Step::Close => {
                    let _ = socket.shutdown().await;
                    return None;
                }
                Step::Hang => {
                    let _ = socket.read(&mut [0; 1]).await;
                    return Some(());
                }
            }
        }
    }
}

async fn read_request(
    socket: &mut (impl AsyncRead + Unpin),
    buffer: &mut Vec<u8>,
    connection: usize,
) -> Option<Received> {
    loop {
        if let Some(end) = memchr::memmem::find(buffer, b"\r\n\r\n") {
            let head = String::from_utf8(buffer[..end].to_vec()).unwrap();
            let mut lines = head.split("\r\n");
            let mut words = lines.next().unwrap().split(' ');
            let headers: Vec<(String, String)> = lines
                .map(|line| line.split_once(": ").unwrap())
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect();
            let length = headers.iter().find(|(name, _)| name == "content-length");
            let length = length.map_or(0, |(_, value)| value.parse().unwrap());
            if buffer.len() >= end + 4 + length {
                let body = String::from_utf8_lossy(&buffer[end + 4..end + 4 + length]).into_owned();
                buffer.drain(..end + 4 + length);
                return Some(Received {
                    connection,
                    method: words.next().unwrap().to_owned(),
                    path: words.next().unwrap().to_owned(),
                    body,
                    headers,
                });
            }
        }
        if socket.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
}
