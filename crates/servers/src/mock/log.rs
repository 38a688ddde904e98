//! What a mock writes down of its requests: when they came, how they ended, which fault struck them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};

use mcprove_fault::Injection;
use mcprove_recording::{Peer, RecordedRequest, RecordedSession, Recording};
use mcprove_settings::text::shorten_bytes;
use mcprove_trace::ErrorCategory;
use serde_json::{Map, Value};

use crate::hosting::{Refusal, Request, Session, Shield, TurnedAway, lock};

/// How many requests of a session are remembered that got no answer of their own.
const UNHEARD_MAX: usize = 1_024;
/// How much of what is no message is written down.
const REMARK_CHARACTERS_MAX: usize = 200;

/// The recording of a mock.
pub struct Log {
    recording: Recording,
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
pub struct Entry {
    id: Value,
    request: RecordedRequest,
    session: RecordedSession,
    is_done: AtomicBool,
    /// Takes the request when the server is done, and the client does not know.
    remember: Box<dyn Fn(RecordedRequest) + Send + Sync>,
}

impl Log {
    pub fn new(recording: Recording) -> Self {
        Self {
            recording,
            outside: OnceLock::new(),
        }
    }

    pub fn recording(&self) -> &Recording {
        &self.recording
    }

    fn session<'s>(&self, session: &'s Session) -> Option<&'s std::sync::Arc<SessionLog>> {
        session.attachment(|| {
            std::sync::Arc::new(SessionLog {
                recorded: self.recording.session(),
                unheard: Mutex::default(),
            })
        })
    }

    /// A request arrived.
    pub fn request(&self, session: &Session, request: &Request) -> Option<Entry> {
        let log = std::sync::Arc::clone(self.session(session)?);
        let id = request.id.clone();
        let key = id.to_string();
        let recorded = log
            .recorded
            .request(&key, &request.method, &json(&request.params));
        let session = log.recorded.clone();
        let remember = move |request| {
            let mut unheard = lock(&log.unheard);
            if unheard.len() < UNHEARD_MAX {
                unheard.insert(key.clone(), request);
            }
        };
        Some(Entry {
            id,
            request: recorded,
            session,
            is_done: AtomicBool::new(false),
            remember: Box::new(remember),
        })
    }

    /// Something arrived that is no message.
    pub fn misread(&self, session: &Session, frame: &[u8], refusal: &Refusal) {
        if let Some(log) = self.session(session) {
            log.recorded.remark(&format!(
                "refused with {}, {}: {}",
                refusal.code,
                refusal.message,
                readable(frame)
            ));
        }
    }

    /// An HTTP request was not let in.
    pub fn turned_away(&self, refused: &TurnedAway<'_>) {
        let outside = self.outside.get_or_init(|| self.recording.session());
        let message = format!(
            "turned away with HTTP {}: {}",
            refused.status, refused.reason
        );
        match refused.request {
            Some(request) => {
                let id = request.id.to_string();
                let recorded = outside.request(&id, &request.method, &json(&request.params));
                recorded.fail(ErrorCategory::ProtocolError, &message);
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
    pub fn notification(&self, session: &Session, method: &str, params: &Map<String, Value>) {
        let Some(log) = self.session(session) else {
            return;
        };
        log.recorded
            .notification(Peer::Client, method, &json(params));
        // What is being worked on is told by its end.
        let id = params
            .get("requestId")
            .filter(|_| method == "notifications/cancelled");
        let unheard = id.and_then(|id| lock(&log.unheard).remove(&id.to_string()));
        if let Some(request) = unheard {
            request.cancel();
        }
    }
}

impl Entry {
    /// A fault strikes it.
    pub fn struck(&self, injection: &Injection, server: &str) {
        self.request.strike(injection, server);
    }

    /// The tool answered, whatever a fault makes of it.
    pub fn answered_behind(&self, reply: &str) {
        self.request.answered_behind(reply.as_bytes());
    }

    /// The server says something to it.
    pub fn said(&self, bytes: &[u8], is_last: bool) {
        if is_last {
            self.is_done.store(true, Ordering::Relaxed);
        }
        if bytes.is_empty() {
            let message = "the server closed the connection";
            self.request.fail(ErrorCategory::Disconnected, message);
            return;
        }
        let message: Option<Value> = serde_json::from_slice(bytes).ok();
        let method = message
            .as_ref()
            .and_then(|message| message.get("method")?.as_str());
        match (&message, method) {
            (Some(message), Some(method)) => {
                let params = message.get("params").map(Value::to_string);
                self.session
                    .notification(Peer::Server, method, &params.unwrap_or_default());
            }
            (Some(message), None) if message.get("id") != Some(&self.id) => {
                let id = message.get("id").unwrap_or(&Value::Null);
                self.session
                    .remark(&format!("a reply to {id}, which nobody asked"));
                if is_last {
                    (self.remember)(self.request.clone());
                }
            }
            (None, _) if !is_last => {
                let text = readable(bytes);
                self.session.remark(&format!("not a message: {text}"));
            }
            _ => {
                self.request.answer(bytes);
                if self.request.is_unheard() {
                    (self.remember)(self.request.clone());
                }
            }
        }
    }

    /// The server ends without an answer.
    pub fn crashed(&self) {
        self.is_done.store(true, Ordering::Relaxed);
        self.request.fail(ErrorCategory::Crash, "the server exited");
    }

    /// The server gives it up, because it ends.
    pub fn stopped(&self) {
        let was_done = self.is_done.swap(true, Ordering::Relaxed);
        if !was_done && !self.request.has_ended() {
            let message = "the server stopped before an answer";
            self.request.fail(ErrorCategory::Disconnected, message);
        }
    }

    /// Writes down that the client cancelled, though the work goes on.
    pub fn canceller(&self) -> Shield {
        let request = self.request.clone();
        Box::new(move || request.cancel())
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if !self.is_done.load(Ordering::Relaxed) {
            self.request.cancel();
        }
    }
}

/// The beginning of what is no message, for people.
fn readable(bytes: &[u8]) -> String {
    shorten_bytes(bytes, REMARK_CHARACTERS_MAX)
}

/// Parameters as JSON; empty for none.
fn json(params: &Map<String, Value>) -> String {
    if params.is_empty() {
        return String::new();
    }
    serde_json::to_string(params).unwrap_or_default()
}
