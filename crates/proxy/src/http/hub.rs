//! What one HTTP proxy knows: its server, the sessions that it saw, and the event streams of the transport of
//! 2024-11-05, on which answers come.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use http::request::Parts;
use http::uri::PathAndQuery;
use mcprove_servers::hosting::http_limits::REQUEST_BYTES_MAX;
use mcprove_servers::hosting::lock;
use mcprove_trace::budget::Budget;
use tokio::sync::{mpsc, watch};

use super::body::Said;
use super::sessions::Sessions;
use super::upstream::Upstream;
use crate::answers::Answers;
use crate::watch::Watch;

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
    pub sessions: Sessions,
    streams: Mutex<HashMap<String, Arc<OldStream>>>,
    has_crashed: watch::Sender<bool>,
}

/// An event stream of the transport of 2024-11-05, or one that only listens.
pub struct OldStream {
    pub said: mpsc::Sender<Said>,
    pub answers: Answers,
}

impl Hub {
    pub fn new(watch: Arc<Watch>, upstream: Arc<Upstream>) -> Arc<Self> {
        Arc::new(Self {
            watch,
            upstream,
            bodies: Budget::new(REQUEST_BYTES_MAX),
            sessions: Sessions::default(),
            streams: Mutex::default(),
            has_crashed: watch::Sender::new(false),
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
            answers: Answers::new(EXPECTED_MAX),
        })
    }
}

pub fn target(parts: &Parts) -> &str {
    parts.uri.path_and_query().map_or("/", PathAndQuery::as_str)
}
