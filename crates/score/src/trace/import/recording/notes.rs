//! The notes that a mock or a proxy writes between the lines of requests: which server it is, that a
//! fault struck a call, that a client cancelled one, and that it left.
//!
//! A note without a session or a request is about no call, and is taken for one of another kind. The
//! kind of a fault must be known: what it did would be guessed otherwise.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::super::ImportError;
use super::super::names::{take_text, text};
use super::Key;
use super::timeline::Moment;
use crate::trace::{FaultKind, FaultMark, RealAnswer, TraceRecord};

/// A note that matters to a score.
pub(super) enum Note {
    /// A fault struck this request.
    Fault(Key, Fault),
    /// The client cancelled this request, or, in a recording without notes of it, left.
    Cancelled(Key),
    /// The client of this session left.
    Left(Option<u32>),
    /// What the server answered behind the fault of this request.
    Behind(Key, RealAnswer),
    /// A client of this session said that it cancels something: the request with this id, as JSON.
    Said(Option<u32>, Option<String>),
    /// The recording is of the server with this name.
    Server(String),
}

/// A fault that struck a call.
pub(super) struct Fault {
    pub(super) kind: FaultKind,
    pub(super) tool: String,
    /// The server that the fault was aimed at.
    pub(super) server: Option<String>,
    name: Option<String>,
    delay_ms: Option<u64>,
    failures: Option<u64>,
    /// What the server answered behind it, as far as is known.
    pub(super) real_answer: Option<RealAnswer>,
}

impl Note {
    /// What a `scenario_event` notes, if it matters.
    pub(super) fn read(record: TraceRecord) -> Result<Option<Self>, ImportError> {
        let Some(Value::Object(mut data)) = record.data else {
            return Ok(None);
        };
        let server = |data: &mut Map<String, Value>| {
            let server = take_text(data, "server");
            server.filter(|server| !server.is_empty())
        };
        let key = match record.name.as_deref() {
            Some("recording_started") => return Ok(server(&mut data).map(Self::Server)),
            Some("cancelled") => return Ok(key(&data).map(Self::Cancelled)),
            Some("behind") => {
                let answer = data.get("answer").cloned().unwrap_or_default();
                let answer = serde_json::from_value(answer).ok();
                return Ok(key(&data)
                    .zip(answer)
                    .map(|(key, answer)| Self::Behind(key, answer)));
            }
            Some("left") => return Ok(session(&data).map(|session| Self::Left(Some(session)))),
            Some("notification") => return Ok(said(&data)),
            Some("fault") => key(&data),
            _ => None,
        };
        let Some(key) = key else {
            return Ok(None);
        };
        let kind = data.get("kind").cloned().unwrap_or_default();
        let kind: FaultKind = serde_json::from_value(kind).map_err(|error| {
            let hint = "use the version of mcprove that made the recording";
            ImportError::shape(error.to_string(), hint).within("data.kind")
        })?;
        if kind == FaultKind::None {
            return Ok(None);
        }
        let keeps_answer = data.get("keeps_answer") == Some(&Value::Bool(true));
        let count = |key: &str| data.get(key).and_then(Value::as_u64);
        let (delay_ms, failures) = (count("delay_ms"), count("failures"));
        Ok(Some(Self::Fault(
            key,
            Fault {
                kind,
                tool: take_text(&mut data, "tool").unwrap_or_default(),
                name: take_text(&mut data, "fault"),
                server: server(&mut data),
                delay_ms,
                failures,
                real_answer: keeps_answer.then_some(RealAnswer::Nothing),
            },
        )))
    }
}

fn key(data: &Map<String, Value>) -> Option<Key> {
    Some((
        Some(session(data)?),
        Some(data.get("request_id")?.as_u64()?),
    ))
}

fn session(data: &Map<String, Value>) -> Option<u32> {
    u32::try_from(data.get("session")?.as_u64()?).ok()
}

fn said(data: &Map<String, Value>) -> Option<Note> {
    let is = |key: &str, value: &str| text(data, key) == Some(value);
    let is_cancellation = is("method", "notifications/cancelled") && is("from", "client");
    is_cancellation.then(|| {
        let params = data.get("params");
        let id = params.and_then(|params| params.get("requestId"));
        let id = id.map(Value::to_string);
        session(data).map(|session| Note::Said(Some(session), id))
    })?
}

/// How late a cancellation is noted at most after the client said so, in milliseconds.
const NOTED_LATE_MS: i64 = 1_000;

/// When requests were cancelled. Whoever works on a request notes it a little after its client said
/// so, by the next call of which it may be overtaken; what the client says does not name the
/// request as a recording does.
#[derive(Default)]
pub(super) struct Cancellations {
    noted: BTreeMap<Key, Moment>,
    said: BTreeMap<Option<u32>, BTreeSet<Moment>>,
    left: BTreeMap<Option<u32>, Moment>,
    /// By the id that the client gave the request.
    said_of: BTreeMap<(Option<u32>, String), Vec<Moment>>,
}

/// How clients ended their waits.
pub(super) struct GivenUp {
    /// Each request that was cancelled: when its client most likely said so, and when it was noted.
    pub(super) cancelled: BTreeMap<Key, [Moment; 2]>,
    /// When the client of each session left.
    pub(super) left: BTreeMap<Option<u32>, Moment>,
}

impl Cancellations {
    pub(super) fn add(&mut self, at: Moment, key: Key) {
        let noted = self.noted.entry(key).or_insert(at);
        *noted = at.min(*noted);
    }

    pub(super) fn add_said(&mut self, at: Moment, session: Option<u32>, id: Option<String>) {
        self.said.entry(session).or_default().insert(at);
        if let Some(id) = id {
            self.said_of.entry((session, id)).or_default().push(at);
        }
    }

    /// When the client said that it cancels the request that it gave this id, which began at this moment.
    pub(super) fn said_of(&self, session: Option<u32>, id: &str, began: Moment) -> Option<Moment> {
        let said = self.said_of.get(&(session, id.to_owned()))?;
        said.iter().copied().filter(|at| *at >= began).min()
    }

    pub(super) fn add_left(&mut self, at: Moment, session: Option<u32>) {
        let left = self.left.entry(session).or_insert(at);
        *left = at.min(*left);
    }

    pub(super) fn finish(mut self) -> GivenUp {
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

impl Fault {
    /// The mark of it, without times.
    pub(super) fn into_mark(self, call_index: usize) -> FaultMark {
        FaultMark {
            call_index,
            fault: self.name,
            kind: self.kind,
            delay_ms: self.delay_ms,
            failures: self.failures,
            real_answer: self.real_answer,
            ..FaultMark::default()
        }
    }
}

/// The servers that notes name. A call that met no fault is of the same server as those of its
/// session that did, or the retry of a call would be taken for another one.
#[derive(Default)]
pub(super) struct Servers {
    all: BTreeSet<String>,
    by_session: BTreeMap<Option<u32>, BTreeSet<String>>,
}

impl Servers {
    pub(super) fn add(&mut self, session: Option<u32>, server: &str) {
        self.all.insert(server.to_owned());
        let of_session = self.by_session.entry(session).or_default();
        of_session.insert(server.to_owned());
    }

    /// The server of the calls of a session: the only one that is named at all, or else in this session.
    pub(super) fn of(&self, session: Option<u32>) -> Option<String> {
        let only = |servers: &BTreeSet<String>| match servers.len() {
            1 => servers.first().cloned(),
            _ => None,
        };
        only(&self.all).or_else(|| only(self.by_session.get(&session)?))
    }
}
