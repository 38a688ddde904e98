//! One client's session in a recording.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::file::Shared;
use super::request::RecordedRequest;
use super::value::readable;

use mcprove_trace::prelude::*;

/// How many bytes of the parameters of a note are kept; longer ones are left out, with their size.
pub const NOTE_BYTES_MAX: usize = 64 * 1024;

/// The method that calls a tool.
const CALL: &str = "tools/call";

/// The longest id of a request that is written down.
const ID_BYTES_MAX: usize = 256;

/// Who said something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// The client.
    Client,
    /// The server.
    Server,
}

impl Peer {
    /// The name in a recording.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}

/// One client's session. Clones share it.
#[derive(Clone)]
pub struct RecordedSession {
    recording: Arc<Shared>,
    number: u32,
    /// The number of the next request.
    next: Arc<AtomicU64>,
    has_left: Arc<AtomicBool>,
}

impl RecordedSession {
    pub fn new(recording: Arc<Shared>, number: u32) -> Self {
        Self {
            recording,
            number,
            next: Arc::new(AtomicU64::new(1)),
            has_left: Arc::default(),
        }
    }

    /// The number of the session, counted from 0.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The client asks. `id` is JSON; `params` too, empty for none; of `tools/call` they tell the tool.
    pub fn request(&self, id: &str, method: &str, params: &str) -> RecordedRequest {
        let tool = (method == CALL).then(|| tool_of(params)).flatten();
        self.request_of(id, method, tool, params)
    }

    /// The client calls this tool under this id, as JSON; `params` says so, as JSON too.
    pub fn call(&self, id: &str, tool: &str, params: &str) -> RecordedRequest {
        self.request_of(id, CALL, Some(tool.to_owned()), params)
    }

    fn request_of(
        &self,
        id: &str,
        method: &str,
        tool: Option<String>,
        params: &str,
    ) -> RecordedRequest {
        let key = RequestKey {
            session: self.number,
            id: self.next.fetch_add(1, Ordering::Relaxed),
        };
        let client_id = if id.len() <= ID_BYTES_MAX {
            readable(id)
        } else {
            Cow::default()
        };
        let sent = Instant::now();
        self.recording.count_request();
        self.recording.record(
            sent,
            EventKind::Request {
                request: key,
                method,
                tool: tool.as_deref(),
                params: &readable(params),
                client_id: &client_id,
                tag: CallTag::default(),
            },
        );
        RecordedRequest::new(Arc::clone(&self.recording), key, method, tool, sent)
    }

    /// One side tells something that wants no answer.
    pub fn notification(&self, from: Peer, method: &str, params: &str) {
        let data = self.data(|data| {
            let _ = write!(data, ",\"from\":\"{}\"", from.name());
            write_method(data, method, params);
        });
        self.recording.note_raw("notification", method, &data);
    }

    /// The server asks the client, under this id.
    pub fn server_request(&self, id: &str, method: &str, params: &str) {
        let data = self.data(|data| {
            write_id(data, id);
            write_method(data, method, params);
        });
        self.recording.note_raw("server_request", method, &data);
    }

    /// The client answers what the server asked under this id.
    pub fn client_reply(&self, id: &str) {
        let data = self.data(|data| write_id(data, id));
        self.recording.note_raw("client_reply", "", &data);
    }

    /// The client ended its connection: to be told at that moment, before what it waits for is given up.
    /// Said once.
    pub fn left(&self) {
        if !self.has_left.swap(true, Ordering::Relaxed) {
            let data = self.data(|_| {});
            self.recording.note_raw("left", "", &data);
        }
    }

    /// Something else that happened in this session, for people.
    pub fn remark(&self, message: &str) {
        let data = self.data(|_| {});
        self.recording.note_raw("remark", message, &data);
    }

    fn data(&self, rest: impl FnOnce(&mut String)) -> String {
        let mut data = format!("{{\"session\":{}", self.number);
        rest(&mut data);
        data.push('}');
        data
    }
}

fn write_id(data: &mut String, id: &str) {
    data.push_str(",\"id\":");
    data.push_str(&readable(id));
}

fn write_method(data: &mut String, method: &str, params: &str) {
    // A text is JSON in quotes; writing to a text cannot fail.
    let _ = write!(data, ",\"method\":{}", serde_json::Value::from(method));
    match params.len() {
        0 => {}
        length if length > NOTE_BYTES_MAX => {
            let _ = write!(data, ",\"params_bytes\":{length}");
        }
        _ => {
            data.push_str(",\"params\":");
            data.push_str(&readable(params));
        }
    }
}

/// The tool that the parameters of `tools/call` name.
fn tool_of(params: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Call {
        name: String,
    }
    let call: Call = serde_json::from_str(params).ok()?;
    Some(call.name)
}
