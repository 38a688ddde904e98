//! What one HTTP proxy knows: its server, the sessions that it saw, and the event streams of the transport of
//! 2024-11-05, on which answers come.
//!
//! Whose request it is.
//!
//! A session has the name that the server gave it, or the endpoint of its stream. Requests without either
//! are one session in the recording and the summary, for a client that tries again may come on another
//! connection; but their ids are those of their connection, so that nobody cancels what is not theirs.

use std::sync::atomic::AtomicU32;

use mcprove_servers::hosting::http_limits::REQUEST_BYTES_MAX;

use super::prelude::*;

/// How many streams are told apart.
const STREAMS_MAX: usize = 10_000;
/// How many answers are waited for on one stream.
const EXPECTED_MAX: usize = 10_000;

/// Everything that exchanges share.
pub struct Hub {
    pub watch: Arc<Watch>,
    pub upstream: Arc<Upstream>,
    /// Bodies of requests that are held.
    pub bodies: Budget,
    sessions: Mutex<Sessions>,
    next_session: AtomicU32,
    next_connection: AtomicU64,
    streams: Mutex<HashMap<String, Arc<OldStream>>>,
    /// Set when a fault ended it all.
    pub crashed: SetOnce<()>,
}

/// An event stream of the transport of 2024-11-05, or one that only listens.
pub struct OldStream {
    pub said: mpsc::Sender<StreamItem>,
    pub answers: Answers,
}

impl Hub {
    pub fn new(watch: Arc<Watch>, upstream: Arc<Upstream>) -> Arc<Self> {
        Arc::new(Self {
            watch,
            upstream,
            bodies: Budget::new(REQUEST_BYTES_MAX),
            sessions: Mutex::default(),
            next_session: AtomicU32::default(),
            next_connection: AtomicU64::default(),
            streams: Mutex::default(),
            crashed: SetOnce::new(),
        })
    }

    /// The stream on which the answers to what is posted there come.
    pub fn stream(&self, parts: &Parts) -> Option<Arc<OldStream>> {
        lock(&self.streams).get(target(parts)).cloned()
    }

    /// A stream says where to post.
    pub fn open_stream(&self, endpoint: String, stream: &Arc<OldStream>) {
        let mut streams = lock(&self.streams);
        if streams.len() < STREAMS_MAX {
            streams.insert(endpoint, Arc::clone(stream));
        }
    }

    pub fn close_stream(&self, endpoint: &str) {
        lock(&self.streams).remove(endpoint);
    }
}

impl OldStream {
    pub fn new(said: mpsc::Sender<StreamItem>) -> Arc<Self> {
        Arc::new(Self {
            said,
            answers: Answers::new(EXPECTED_MAX),
        })
    }
}

pub fn target(parts: &Parts) -> &str {
    parts.uri.path_and_query().map_or("/", PathAndQuery::as_str)
}

/// The header that names a session.
pub const SESSION_ID: &str = "mcp-session-id";
/// How many sessions are told apart; further ones count as one.
pub const SESSIONS_MAX: usize = 10_000;

/// The connection that a request came on.
#[derive(Debug, Clone)]
pub struct Connection(Arc<str>);

/// The sessions that were seen.
#[derive(Default)]
struct Sessions {
    named: HashMap<Arc<str>, Session>,
    /// That of requests without a name.
    nameless: Option<Session>,
    /// Whether the server is known to give no name.
    is_nameless_for_good: bool,
    /// That of names beyond the limit.
    overflow: Option<Session>,
}

impl Sessions {
    /// Gives a session its name, under which it is known from now on, if there is room and no other has it.
    fn name(&mut self, name: &str, session: Session) -> Session {
        let name: Arc<str> = name.into();
        let session = Session {
            name: Arc::clone(&name),
            ..session
        };
        if self.named.len() < SESSIONS_MAX {
            self.named.entry(name).or_insert_with(|| session.clone());
        }
        session
    }
}

impl Hub {
    /// A client connects.
    pub fn connection(&self) -> Connection {
        let number = self.next_connection.fetch_add(1, Ordering::Relaxed);
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
                let name = parts
                    .extensions
                    .get::<Connection>()
                    .map_or_else(|| "".into(), |known| Arc::clone(&known.0));
                let session = self.nameless_session(is_opening);
                Session { name, ..session }
            }
        }
    }

    fn nameless_session(&self, is_opening: bool) -> Session {
        let mut known = lock(&self.sessions);
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

    pub fn named_session(&self, name: &str) -> Session {
        let mut known = lock(&self.sessions);
        if let Some(session) = known.named.get(name) {
            return session.clone();
        }
        let session = if known.named.len() < SESSIONS_MAX {
            self.new_session()
        } else {
            let remark = "there were too many sessions: further ones count as one";
            self.watch.journal.remark(remark);
            known
                .overflow
                .get_or_insert_with(|| self.new_session())
                .clone()
        };
        known.name(name, session)
    }

    /// The server has answered the one that opens a session, and named it or not.
    pub fn name_session(&self, session: &Session, name: Option<&str>) {
        let mut known = lock(&self.sessions);
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
        known.name(name, session.clone());
    }

    fn new_session(&self) -> Session {
        let recorded = self
            .watch
            .settings
            .recording
            .as_ref()
            .map(Recording::session);
        let number = match &recorded {
            Some(recorded) => recorded.number(),
            None => self.next_session.fetch_add(1, Ordering::Relaxed),
        };
        Session {
            number,
            recorded,
            ..Session::default()
        }
    }
}
