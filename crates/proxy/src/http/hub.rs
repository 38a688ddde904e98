//! What one HTTP proxy knows: its server, the sessions that it saw, the calls that faults act on, and the
//! event streams of the transport of 2024-11-05, on which answers come.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::request::Parts;
use http::uri::PathAndQuery;
use mcprove_servers::hosting::http_limits::REQUEST_BYTES_MAX;
use mcprove_servers::hosting::lock;
use mcprove_trace::budget::Budget;
use tokio::sync::{mpsc, oneshot, watch};

use super::body::Said;
use super::observer::ResponseObserver;
use super::passing::Ending;
use super::sessions::{OpenCalls, Sessions};
use super::upstream::Upstream;
use crate::faulted_calls::FaultedCalls;
use crate::message::IdKey;
use crate::report::TrafficCount;

use crate::watch::Watch;

/// How many streams are told apart.
const STREAMS_MAX: usize = 10_000;
/// How many answers are waited for on one stream.
const EXPECTED_MAX: usize = 10_000;

/// Names a call: its session, and its id in it.
pub type CallKey = (Arc<str>, IdKey);

/// Everything that exchanges share.
pub struct Hub {
    pub watch: Arc<Watch>,
    pub upstream: Arc<Upstream>,
    pub faulted: Arc<FaultedCalls<CallKey>>,
    /// Bodies of requests that are held.
    pub bodies: Budget,
    pub count: TrafficCount,
    pub sessions: Sessions,
    pub open: Mutex<OpenCalls>,
    streams: Mutex<HashMap<String, Arc<OldStream>>>,
    has_crashed: watch::Sender<bool>,
}

/// An event stream of the transport of 2024-11-05, or one that only listens.
pub struct OldStream {
    pub said: mpsc::Sender<Said>,
    expected: Mutex<HashMap<IdKey, Waiting>>,
}

/// Who waits for an answer on a stream.
enum Waiting {
    /// A fault.
    Fault(oneshot::Sender<Bytes>),
    /// Nobody: it is to be lost.
    Lost,
    /// Whoever writes it down.
    Observer(ResponseObserver),
}

/// What is known of an answer on a stream.
pub enum Expected {
    Taken,
    Observed(ResponseObserver),
    Unknown,
}

impl Hub {
    pub fn new(watch: Arc<Watch>, upstream: Arc<Upstream>) -> Arc<Self> {
        Arc::new(Self {
            watch,
            upstream,
            faulted: Arc::new(FaultedCalls::new()),
            bodies: Budget::new(REQUEST_BYTES_MAX),
            count: TrafficCount::default(),
            sessions: Sessions::default(),
            open: Mutex::default(),
            streams: Mutex::default(),
            has_crashed: watch::Sender::new(false),
        })
    }

    /// Whether there is a stream for what is posted there.
    pub fn has_stream(&self, target: &str) -> bool {
        lock(&self.streams).contains_key(target)
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

    /// A fault ends it all.
    pub fn crash(&self) {
        self.has_crashed.send_replace(true);
    }

    /// Resolves when a fault ended it all.
    pub async fn crashed(&self) {
        let mut crashed = self.has_crashed.subscribe();
        let _ = crashed.wait_for(|has_crashed| *has_crashed).await;
    }
}

impl OldStream {
    pub fn new(said: mpsc::Sender<Said>) -> Arc<Self> {
        Arc::new(Self {
            said,
            expected: Mutex::default(),
        })
    }

    /// The answer under this id is for a fault.
    pub fn take_answer(&self, key: &IdKey) -> oneshot::Receiver<Bytes> {
        let (sender, receiver) = oneshot::channel();
        self.expect(key, Waiting::Fault(sender));
        receiver
    }

    /// The answer under this id is written down.
    pub fn look(&self, key: &IdKey, look: ResponseObserver) {
        self.expect(key, Waiting::Observer(look));
    }

    fn expect(&self, key: &IdKey, waiting: Waiting) {
        let mut expected = lock(&self.expected);
        if expected.len() < EXPECTED_MAX || expected.contains_key(key) {
            expected.insert(key.clone(), waiting);
        }
    }

    /// No fault waits for that answer any more; it may be one that is to be lost.
    pub fn stop_taking(&self, key: &IdKey, is_lost: bool) {
        let mut expected = lock(&self.expected);
        if let Some(Waiting::Fault(_)) = expected.get(key) {
            if is_lost {
                expected.insert(key.clone(), Waiting::Lost);
            } else {
                expected.remove(key);
            }
        }
    }

    /// The server answers under this id.
    pub fn answer(&self, key: &IdKey, message: &Bytes) -> Expected {
        match lock(&self.expected).remove(key) {
            Some(Waiting::Fault(sender)) => {
                // Who stopped waiting just now does without.
                let _ = sender.send(message.clone());
                Expected::Taken
            }
            Some(Waiting::Lost) => Expected::Taken,
            Some(Waiting::Observer(look)) => Expected::Observed(look),
            None => Expected::Unknown,
        }
    }

    /// The stream is over: nobody gets an answer on it.
    pub fn end(&self, ending: Ending) {
        let expected = std::mem::take(&mut *lock(&self.expected));
        for waiting in expected.into_values() {
            if let Waiting::Observer(look) = waiting {
                look.end_without(ending);
            }
        }
    }
}

pub fn target(parts: &Parts) -> &str {
    parts.uri.path_and_query().map_or("/", PathAndQuery::as_str)
}
