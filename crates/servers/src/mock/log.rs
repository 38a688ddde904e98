//! What a mock writes down of its requests: when they came, how they ended, which fault struck them.

use mcprove_recording::{Peer, RecordedRequest, RecordedSession};
use mcprove_settings::text::shorten_bytes;

use crate::prelude::*;

/// How many requests of a session are remembered that got no answer of their own.
const UNHEARD_MAX: usize = 1_024;
/// How much of what is no message is written down.
const REMARK_CHARACTERS_MAX: usize = 200;

/// The recording of a mock, if there is one.
#[derive(Default)]
pub struct Log {
    pub recording: OnceLock<Recording>,
    /// What was not let in belongs to no session that we know: it has one of its own.
    outside: OnceLock<RecordedSession>,
}

/// What is kept with a session.
struct SessionLog {
    recorded: RecordedSession,
    /// Requests that the server is done with, though their client waits: by their id.
    unheard: Mutex<HashMap<String, RecordedRequest>>,
}

/// One request, from its arrival to its end. When it is dropped before the last word, its client
/// cancelled it or left.
pub struct LogEntry {
    id: Value,
    pub request: RecordedRequest,
    session: Arc<SessionLog>,
    is_done: AtomicBool,
}

impl Log {
    fn session<'s>(&self, session: &'s Session) -> Option<&'s Arc<SessionLog>> {
        let recording = self.recording.get()?;
        session.attachment(|| {
            Arc::new(SessionLog {
                recorded: recording.session(),
                unheard: Mutex::default(),
            })
        })
    }

    /// A request arrived.
    pub fn request(&self, session: &Session, request: &Request) -> Option<LogEntry> {
        let session = Arc::clone(self.session(session)?);
        Some(LogEntry {
            id: request.id.clone(),
            request: recorded(&session.recorded, request),
            session,
            is_done: AtomicBool::new(false),
        })
    }

    /// Something arrived that is no message.
    pub fn misread(&self, session: &Session, frame: &[u8], refusal: &Refusal) {
        if let Some(log) = self.session(session) {
            let (Refusal { code, message, .. }, frame) = (refusal, readable(frame));
            let remark = format!("refused with {code}, {message}: {frame}");
            log.recorded.remark(&remark);
        }
    }

    /// An HTTP request was not let in.
    pub fn turned_away(&self, refused: &TurnedAway<'_>) {
        let Some(recording) = self.recording.get() else {
            return;
        };
        let outside = self.outside.get_or_init(|| recording.session());
        let TurnedAway { status, reason, .. } = refused;
        let message = format!("turned away with HTTP {status}: {reason}");
        match refused.request {
            Some(request) => {
                recorded(outside, request).fail(ErrorCategory::ProtocolError, &message);
            }
            None => outside.remark(&message),
        }
    }

    /// The client left.
    pub fn left(&self, session: &Session) {
        if let Some(log) = self.session(session) {
            log.recorded.left();
        }
    }

    /// A notification arrived.
    pub fn notification(&self, session: &Session, method: &str, params: &Fields) {
        let Some(log) = self.session(session) else {
            return;
        };
        log.recorded
            .notification(Peer::Client, method, &json(params));
        // What is being worked on is told by its end.
        if let ("notifications/cancelled", Some(id)) = (method, params.get("requestId"))
            && let Some(request) = lock(&log.unheard).remove(&id.to_string())
        {
            request.cancel();
        }
    }
}

impl LogEntry {
    /// The server says something to it.
    pub fn said(&self, bytes: &[u8], is_last: bool) {
        self.is_done.fetch_or(is_last, Ordering::Relaxed);
        if bytes.is_empty() {
            let message = "the server closed the connection";
            self.request.fail(ErrorCategory::Disconnected, message);
            return;
        }
        let session = &self.session.recorded;
        let Ok(message) = serde_json::from_slice::<Value>(bytes) else {
            if is_last {
                self.answer(bytes);
            } else {
                session.remark(&format!("not a message: {}", readable(bytes)));
            }
            return;
        };
        if let Some(method) = message.get("method").and_then(Value::as_str) {
            let params = message.get("params").map(Value::to_string);
            session.notification(Peer::Server, method, &params.unwrap_or_default());
        } else if message.get("id") == Some(&self.id) {
            self.answer(bytes);
        } else {
            let id = message.get("id").unwrap_or(&Value::Null);
            session.remark(&format!("a reply to {id}, which was not asked"));
            if is_last {
                self.remember();
            }
        }
    }

    fn answer(&self, bytes: &[u8]) {
        self.request.answer(bytes);
        if self.request.is_unheard() {
            self.remember();
        }
    }

    /// The server is done, and the client does not know.
    fn remember(&self) {
        let mut unheard = lock(&self.session.unheard);
        if unheard.len() < UNHEARD_MAX {
            unheard.insert(self.id.to_string(), self.request.clone());
        }
    }

    /// The server ends without an answer.
    pub fn crashed(&self) {
        self.is_done.store(true, Ordering::Relaxed);
        self.request.fail(ErrorCategory::Crash, "the server exited");
    }

    /// The work is over. What the server gives up, because it ends, has no other end; all else tells it by itself.
    pub fn ended(&self, how: Ended) {
        let is_given_up = matches!(how, Ended::GivenUp | Ended::Stopped);
        if is_given_up && !self.is_done.swap(true, Ordering::Relaxed) && !self.request.has_ended() {
            let message = "the server stopped before an answer";
            self.request.fail(ErrorCategory::Disconnected, message);
        }
    }
}

impl Drop for LogEntry {
    fn drop(&mut self) {
        if !self.is_done.load(Ordering::Relaxed) {
            self.request.cancel();
        }
    }
}

fn recorded(session: &RecordedSession, request: &Request) -> RecordedRequest {
    let id = request.id.to_string();
    session.request(&id, &request.method, &json(&request.params))
}

/// The beginning of what is no message, for people.
fn readable(bytes: &[u8]) -> String {
    shorten_bytes(bytes, REMARK_CHARACTERS_MAX)
}

/// Parameters as JSON; empty for none.
fn json(params: &Fields) -> String {
    if params.is_empty() {
        return String::new();
    }
    serde_json::to_string(params).unwrap_or_default()
}
