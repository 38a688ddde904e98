//! Whose request it is.
//!
//! A session has the name that the server gave it, or the endpoint of its stream. Requests without either
//! are one session in the recording and the summary, for a client that tries again may come on another
//! connection; but their ids are those of their connection, so that nobody cancels what is not theirs.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use http::request::Parts;
use mcprove_recording::Recording;
use mcprove_servers::hosting::lock;

use super::hub::{Hub, target};
use crate::watch::Session;

/// The header that names a session.
pub const SESSION_ID: &str = "mcp-session-id";
/// How many sessions are told apart; further ones count as one.
pub const SESSIONS_MAX: usize = 10_000;

/// The connection that a request came on.
#[derive(Debug, Clone)]
pub struct Connection(Arc<str>);

/// The sessions that were seen.
#[derive(Default)]
pub struct Sessions {
    known: Mutex<Known>,
    next: AtomicU32,
    next_connection: AtomicU64,
}

#[derive(Default)]
struct Known {
    named: HashMap<Arc<str>, Session>,
    /// That of requests without a name.
    nameless: Option<Session>,
    /// Whether the server is known to give no name.
    is_nameless_for_good: bool,
    /// That of names beyond the limit.
    overflow: Option<Session>,
}

impl Hub {
    /// A client connects.
    pub fn connection(&self) -> Connection {
        let number = self
            .sessions
            .next_connection
            .fetch_add(1, Ordering::Relaxed);
        // No header and no path begins so.
        Connection(format!("\n{number}").into())
    }

    /// The session of a request. One that opens a session may have a new one, which its answer names.
    pub fn session(&self, parts: &Parts, is_opening: bool) -> Session {
        let header = parts.headers.get(SESSION_ID);
        match header.and_then(|value| value.to_str().ok()) {
            Some(name) => self.named_session(name),
            None if self.stream(parts).is_some() => self.named_session(target(parts)),
            None => {
                let connection = parts.extensions.get::<Connection>();
                let name = connection.map_or_else(|| "".into(), |known| Arc::clone(&known.0));
                let session = self.nameless_session(is_opening);
                Session { name, ..session }
            }
        }
    }

    fn nameless_session(&self, is_opening: bool) -> Session {
        let mut known = lock(&self.sessions.known);
        known.is_nameless_for_good |= !is_opening;
        let is_shared = known.is_nameless_for_good;
        match &known.nameless {
            Some(session) if is_shared => session.clone(),
            // Another one is opening its session at this moment.
            Some(_) => self.new_session(),
            None => {
                let session = self.new_session();
                known.nameless = Some(session.clone());
                session
            }
        }
    }

    /// The session of this name.
    pub fn named_session(&self, name: &str) -> Session {
        let mut known = lock(&self.sessions.known);
        if let Some(session) = known.named.get(name) {
            return session.clone();
        }
        let session = if known.named.len() < SESSIONS_MAX {
            self.new_session()
        } else {
            let remark = "there were too many sessions to tell apart: further ones count as one";
            self.watch.journal.remark(remark);
            let overflow = known.overflow.get_or_insert_with(|| self.new_session());
            overflow.clone()
        };
        let name: Arc<str> = name.into();
        let session = Session {
            name: Arc::clone(&name),
            ..session
        };
        if known.named.len() < SESSIONS_MAX {
            known.named.insert(name, session.clone());
        }
        session
    }

    /// The server has answered the one that opens a session, and named it or not.
    pub fn name_session(&self, session: &Session, name: Option<&str>) {
        let mut known = lock(&self.sessions.known);
        let Some(name) = name else {
            known.is_nameless_for_good = true;
            return;
        };
        let is_nameless = known.nameless.as_ref();
        if is_nameless.is_some_and(|nameless| nameless.number == session.number)
            && !known.is_nameless_for_good
        {
            known.nameless = None;
        }
        if known.named.len() < SESSIONS_MAX && !known.named.contains_key(name) {
            let name: Arc<str> = name.into();
            let session = Session {
                name: Arc::clone(&name),
                ..session.clone()
            };
            known.named.insert(name, session);
        }
    }

    fn new_session(&self) -> Session {
        let recording = self.watch.settings.recording.as_ref();
        let recorded = recording.map(Recording::session);
        let number = match &recorded {
            Some(recorded) => recorded.number(),
            None => self.sessions.next.fetch_add(1, Ordering::Relaxed),
        };
        Session {
            number,
            recorded,
            ..Session::default()
        }
    }
}
