//! The rules of streamable HTTP, against a server whose every byte is decided here.

use mcprove_trace::ErrorCategory;

use super::*;
use crate::transport::testing::*;
use crate::transport::{Detail, OutgoingKind};

mod answers;
mod connections;
mod streams;

struct Client {
    inbox: Arc<RecordingInbox>,
    channel: Arc<HttpChannel>,
}

impl Client {
    fn new(server: &TestServer) -> Self {
        Self::with(&server.url(), HttpOptions::default())
    }

    fn with(url: &str, options: HttpOptions) -> Self {
        let inbox = Arc::new(RecordingInbox::default());
        let user = BTreeMap::from([("X-Key".to_owned(), "k".to_owned())]);
        let channel = HttpChannel::connect(url, &user, options, Arc::clone(&inbox) as _).unwrap();
        Self { inbox, channel }
    }

    fn call(&self, id: u64) {
        let (kind, bytes) = call(id);
        self.inbox.expect(id);
        self.channel
            .send(message(kind, "tools/call", &bytes))
            .unwrap();
    }

    fn send(&self, kind: OutgoingKind, method: &str) {
        if let OutgoingKind::Request(id) = kind {
            self.inbox.expect(id);
        }
        let bytes = br#"{"jsonrpc":"2.0","method":"x"}"#;
        self.channel.send(message(kind, method, bytes)).unwrap();
    }

    /// Initializes, which assigns the session that the server's responses name.
    async fn initialize(&self) {
        self.inbox.expect(0);
        let bytes = br#"{"jsonrpc":"2.0","id":0,"method":"initialize"}"#;
        self.channel
            .send(message(OutgoingKind::Request(0), "initialize", bytes))
            .unwrap();
        self.inbox.delivered(1).await;
        self.channel.set_revision(Some(Revision::V2025_11_25));
    }
}

fn initialized() -> Vec<Step> {
    let headers = "content-type: application/json\r\nmcp-session-id: s-1\r\n";
    respond("200 OK", headers, &answer(0))
}

fn data(id: u64) -> String {
    format!("event: message\ndata: {}\n\n", answer(id))
}
