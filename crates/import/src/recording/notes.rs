//! The notes that a mock or a proxy writes between the lines of requests: which server it is, that a
//! fault struck a call, that a client cancelled one, and that it left.
//!
//! A note without a session or a request is about no call, and is taken for one of another kind. The
//! kind of a fault must be known: what it did would be guessed otherwise.

use std::collections::{BTreeMap, BTreeSet};

use mcprove_trace::{FaultKind, FaultMark, RealAnswer};
use serde::Deserialize;
use serde_json::Value;

use super::Key;
use super::timeline::Moment;
use crate::lenient::{Maybe, Text};

/// What a note has for programs, of whatever kind it is.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Note {
    pub session: Maybe<u32>,
    request_id: Maybe<u64>,
    /// The server of a recording, or the one that a fault was aimed at.
    pub server: Text,
    /// What the server answered behind a fault.
    pub answer: Maybe<RealAnswer>,
    method: Text,
    from: Text,
    params: Value,
    tool: Text,
    fault: Text,
    pub kind: Value,
    delay_ms: Maybe<u64>,
    failures: Maybe<u64>,
    keeps_answer: Maybe<bool>,
}

/// A fault that struck a call.
pub struct Fault {
    pub tool: String,
    /// The mark of it, without its call and times.
    pub mark: FaultMark,
}

impl Note {
    /// The request that it is about.
    pub fn key(&self) -> Option<Key> {
        Some((Some((*self.session)?), Some((*self.request_id)?)))
    }

    /// Whether a client said that it cancels something.
    pub fn is_cancellation(&self) -> bool {
        let said = (self.method.or_empty(), self.from.or_empty());
        self.session.is_some() && said == ("notifications/cancelled", "client")
    }

    /// The id of the request that a client cancels, as JSON.
    pub fn cancelled_id(&self) -> Option<String> {
        self.params.get("requestId").map(Value::to_string)
    }

    /// A fault; what the server answered behind it is told, as far as is known.
    pub fn into_fault(self, kind: FaultKind) -> Fault {
        let keeps_answer = *self.keeps_answer == Some(true);
        Fault {
            tool: self.tool.0.unwrap_or_default(),
            mark: FaultMark {
                fault: self.fault.0,
                kind,
                delay_ms: *self.delay_ms,
                failures: *self.failures,
                real_answer: keeps_answer.then_some(RealAnswer::Nothing),
                ..FaultMark::default()
            },
        }
    }
}

/// How late a cancellation is noted at most after the client said so, in milliseconds.
const NOTED_LATE_MS: i64 = 1_000;

/// When requests were cancelled. Whoever works on a request notes it a little after its client said
/// so, by the next call of which it may be overtaken; what the client says does not name the
/// request as a recording does.
#[derive(Default)]
pub struct Cancellations {
    noted: BTreeMap<Key, Moment>,
    said: BTreeMap<Option<u32>, BTreeSet<Moment>>,
    left: BTreeMap<Option<u32>, Moment>,
    /// By the id that the client gave the request.
    said_of: BTreeMap<(Option<u32>, String), Vec<Moment>>,
}

/// How clients ended their waits.
pub struct GivenUp {
    /// Each request that was cancelled: when its client most likely said so, and when it was noted.
    pub cancelled: BTreeMap<Key, [Moment; 2]>,
    /// When the client of each session left.
    pub left: BTreeMap<Option<u32>, Moment>,
}

impl Cancellations {
    pub fn add(&mut self, at: Moment, key: Key) {
        let noted = self.noted.entry(key).or_insert(at);
        *noted = at.min(*noted);
    }

    pub fn add_said(&mut self, at: Moment, session: Option<u32>, id: Option<String>) {
        self.said.entry(session).or_default().insert(at);
        if let Some(id) = id {
            self.said_of.entry((session, id)).or_default().push(at);
        }
    }

    /// When the client said that it cancels the request that it gave this id, which began at this moment.
    pub fn said_of(&self, session: Option<u32>, id: &str, began: Moment) -> Option<Moment> {
        let said = self.said_of.get(&(session, id.to_owned()))?;
        said.iter().copied().filter(|at| *at >= began).min()
    }

    pub fn add_left(&mut self, at: Moment, session: Option<u32>) {
        let left = self.left.entry(session).or_insert(at);
        *left = at.min(*left);
    }

    pub fn finish(mut self) -> GivenUp {
        let mut noted: Vec<(Key, Moment)> = self.noted.into_iter().collect();
        noted.sort_by_key(|(_, at)| *at);
        let left = self.left;
        let paired = noted.into_iter().filter_map(|(key, at)| {
            let said = self.said.get_mut(&key.0).and_then(|said| {
                let from = at.plus_ms(-NOTED_LATE_MS);
                let last = *said.range(from..=at).next_back()?;
                said.remove(&last);
                Some(last)
            });
            // What ends once its client is gone ends for that.
            let has_left = left.get(&key.0).is_some_and(|left| *left <= at);
            (said.is_some() || !has_left).then(|| (key, [said.unwrap_or(at), at]))
        });
        GivenUp {
            cancelled: paired.collect(),
            left,
        }
    }
}

/// The servers that notes name. A call that met no fault is of the same server as those of its
/// session that did, or the retry of a call would be taken for another one.
#[derive(Default)]
pub struct Servers {
    all: BTreeSet<String>,
    by_session: BTreeMap<Option<u32>, BTreeSet<String>>,
}

impl Servers {
    pub fn add(&mut self, session: Option<u32>, server: &Text) {
        if let Some(server) = server.as_ref().filter(|server| !server.is_empty()) {
            self.all.insert(server.clone());
            let of_session = self.by_session.entry(session).or_default();
            of_session.insert(server.clone());
        }
    }

    /// The server of the calls of a session: the only one that is named at all, or else in this session.
    pub fn of(&self, session: Option<u32>) -> Option<String> {
        let only = |servers: &BTreeSet<String>| match servers.len() {
            1 => servers.first().cloned(),
            _ => None,
        };
        only(&self.all).or_else(|| only(self.by_session.get(&session)?))
    }
}
