//! Both ends of a proxy over stdio, in the hands of the test.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf, duplex, split,
};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

pub use crate::said::{call, cancel};
use mcprove_recording::{Origin, Recording};

use crate::stdio::{End, Outside, relay};
use crate::summary;
use crate::summary::NextStep;
use crate::watch::{Settings, Watch};

pub const DEADLINE: Duration = Duration::from_secs(20);
pub const SILENCE: Duration = Duration::from_millis(100);

/// A peer of the proxy: a client or a server.
pub struct Peer {
    pub reader: BufReader<ReadHalf<DuplexStream>>,
    pub writer: Option<WriteHalf<DuplexStream>>,
}

impl Peer {
    pub fn new(stream: DuplexStream) -> Self {
        let (reader, writer) = split(stream);
        Self {
            reader: BufReader::new(reader),
            writer: Some(writer),
        }
    }

    pub async fn say(&mut self, text: &str) {
        let writer = self.writer.as_mut().unwrap();
        writer.write_all(text.as_bytes()).await.unwrap();
        writer.write_all(b"\n").await.unwrap();
    }

    /// The next line; empty at the end.
    pub async fn hear(&mut self) -> String {
        let mut line = Vec::new();
        let read = self.reader.read_until(b'\n', &mut line);
        timeout(DEADLINE, read).await.unwrap().unwrap();
        String::from_utf8_lossy(&line).trim_end().to_owned()
    }

    pub async fn hear_json(&mut self) -> Value {
        let line = self.hear().await;
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line:?}: {error}"))
    }

    pub async fn hears_nothing(&mut self) {
        let heard = timeout(SILENCE, self.reader.fill_buf()).await;
        assert!(heard.is_err(), "{heard:?}");
    }
}

pub struct Rig {
    pub client: Peer,
    pub server: Peer,
    pub watch: Arc<Watch>,
    pub relay: JoinHandle<End>,
    /// The server's process ends when this is dropped.
    pub process: Option<oneshot::Sender<()>>,
}

impl Rig {
    pub fn new(settings: Settings) -> Self {
        Self::patient(settings, DEADLINE)
    }

    /// One whose server may take this long once the client has left.
    pub fn patient(settings: Settings, patience: Duration) -> Self {
        let (process, exited) = oneshot::channel();
        let watch = Watch::new(settings);
        let (client, ours) = duplex(64 * 1024);
        let (server, theirs) = duplex(64 * 1024);
        let relay = tokio::spawn({
            let watch = Arc::clone(&watch);
            async move {
                let outside = Outside {
                    stop: std::future::pending(),
                    exited: async {
                        let _ = exited.await;
                    },
                    patience,
                };
                let (client, server) = (split(ours), split(theirs));
                relay(&watch, &AtomicBool::default(), client, server, outside).await
            }
        });
        Self {
            client: Peer::new(client),
            server: Peer::new(server),
            watch,
            relay,
            process: Some(process),
        }
    }

    pub fn with(faults: &[&str]) -> Self {
        Self::new(Settings {
            server_name: "api".to_owned(),
            faults: faults.iter().map(|fault| fault.parse().unwrap()).collect(),
            ..Settings::default()
        })
    }

    /// Calls a tool of which the server hears; answers it.
    pub async fn serve_one(&mut self) -> Value {
        let request = self.server.hear_json().await;
        let reply = json!({"jsonrpc": "2.0", "id": request["id"], "result": {"content": [
            {"type": "text", "text": "fine"}
        ]}});
        self.server.say(&reply.to_string()).await;
        request
    }

    pub fn next_steps(&self) -> Vec<NextStep> {
        let summary = summary::summarise(&self.watch.seen());
        let calls = summary.faulted_calls.iter();
        calls.map(|call| call.next).collect()
    }
}

pub const PING: &str = r#"{"jsonrpc":"2.0","id":99,"method":"ping"}"#;

pub fn recording() -> Recording {
    let origin = Origin::new("proxy", "api");
    Recording::to_writer(
        Box::new(std::io::sink()),
        &origin,
        &mcprove_settings::secret::Redactor::default(),
    )
    .unwrap()
}

/// All that a proxy can be told, without a fault that strikes what is sent.
pub fn watching() -> [Settings; 3] {
    let aimed = "hang,tool=nobody calls this";
    let faults = vec![
        aimed.parse().unwrap(),
        "vanish,tool=nor this".parse().unwrap(),
    ];
    [
        Settings::default(),
        Settings {
            recording: Some(recording()),
            ..Settings::default()
        },
        Settings {
            faults,
            recording: Some(recording()),
            counts_calls: true,
            ..Settings::default()
        },
    ]
}
