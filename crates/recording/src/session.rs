//! One client's session in a recording.
//!
//! What peers sent is written in a form that every reader of a recording can read. A line is read whole: a value in it
//! that no parser takes (too deep, a number beyond all numbers, half a character) would make the line unreadable, and
//! with it the file.

use std::fmt::Write as _;

use mcprove_trace::protocol::{depth, is_doubtful};

use super::request::RecordedRequest;
use crate::prelude::*;

/// How many bytes of the parameters of a note are kept; longer ones are left out, with their size.
pub const NOTE_BYTES_MAX: usize = 64 * 1024;

/// The method that calls a tool.
const CALL: &str = "tools/call";

/// The longest id of a request that is written down.
const ID_BYTES_MAX: usize = 256;

/// Who said something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    Client,
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
        let kind = EventKind::Request {
            request: key,
            method,
            tool: tool.as_deref(),
            params: &readable(params),
            client_id: &client_id,
            tag: CallTag::default(),
        };
        self.recording.requests.fetch_add(1, Ordering::Relaxed);
        self.recording.record(sent, kind);
        RecordedRequest::new(Arc::clone(&self.recording), key, method, tool, sent)
    }

    /// One side tells something that wants no answer.
    pub fn notification(&self, from: Peer, method: &str, params: &str) {
        self.note("notification", method, |data| {
            let _ = write!(data, ",\"from\":\"{}\"", from.name());
            write_method(data, method, params);
        });
    }

    /// The server asks the client, under this id.
    pub fn server_request(&self, id: &str, method: &str, params: &str) {
        self.note("server_request", method, |data| {
            write_id(data, id);
            write_method(data, method, params);
        });
    }

    /// The client answers what the server asked under this id.
    pub fn client_reply(&self, id: &str) {
        self.note("client_reply", "", |data| write_id(data, id));
    }

    /// The client ended its connection: to be told at that moment, before what it waits for is given up.
    /// Said once.
    pub fn left(&self) {
        if !self.has_left.swap(true, Ordering::Relaxed) {
            self.note("left", "", |_| {});
        }
    }

    /// Something else that happened in this session, for people.
    pub fn remark(&self, message: &str) {
        self.note("remark", message, |_| {});
    }

    fn note(&self, name: &str, message: &str, rest: impl FnOnce(&mut String)) {
        let mut data = format!("{{\"session\":{}", self.number);
        rest(&mut data);
        data.push('}');
        self.recording.note(name, message, &data);
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

/// Deeper values are written as a text: readers stop at about 120 levels.
const DEPTH_MAX: usize = 100;

/// The JSON, if it can be read back, else a text that holds it.
pub fn readable(json: &str) -> Cow<'_, str> {
    let can_be_parsed = || !is_doubtful(json) || serde_json::from_str::<Value>(json).is_ok();
    if depth(json.as_bytes()) <= DEPTH_MAX && can_be_parsed() {
        Cow::Borrowed(json)
    } else {
        Cow::Owned(Value::from(json).to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_read_stays_as_it_is() {
        for json in [
            "{}",
            r#"{"a":[1,2.5,"x\"]["],"b":null}"#,
            "1e30",
            r#""\ud83d\ude00""#,
            r#""1e999""#,
            r#""[[[[\\\"[[""#,
            r#"{"a":"\\u12","b":"é\u00e9"}"#,
        ] {
            assert!(matches!(readable(json), Cow::Borrowed(_)), "{json}");
        }
    }

    #[test]
    fn what_no_reader_takes_becomes_a_text() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        for json in ["1e999", r#"{"a":"\ud800"}"#, &"9".repeat(400), &deep] {
            let kept: String = serde_json::from_str(&readable(json)).unwrap();
            assert_eq!(kept, json);
        }
    }
}
