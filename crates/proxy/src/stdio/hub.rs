//! What one stdio proxy knows of the calls under way, by id. The requests of the server to the client
//! have ids of their own, and are never looked up here.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use bytes::Bytes;
use mcprove_recording::{RecordedRequest, RecordedSession, Recording};
use mcprove_servers::hosting::lock;
use mcprove_servers::hosting::serve_stdio::DRAIN_TIME;
use tokio::sync::{oneshot, watch};

use super::ending::End;
use super::lane::Lane;
use crate::faulted_calls::{FaultedCalls, GRACE};
use crate::message::IdKey;
use crate::watch::Watch;

/// How many requests are remembered until they are answered.
const OPEN_MAX: usize = 100_000;

/// Everything that both directions and the faulted calls share.
pub struct Hub {
    pub watch: Arc<Watch>,
    pub session: Option<RecordedSession>,
    pub to_server: Lane,
    pub to_client: Lane,
    /// Calls that faults act on.
    pub faulted: Arc<FaultedCalls<IdKey>>,
    calls: Mutex<Calls>,
    end: watch::Sender<Option<End>>,
}

#[derive(Default)]
struct Calls {
    /// Who gets the answers to calls that faults let go on, oldest first.
    takers: HashMap<IdKey, VecDeque<Taker>>,
    /// Lists of tools that were asked for.
    listings: HashSet<IdKey>,
    /// Requests that are written down and not answered yet, oldest first.
    open: HashMap<IdKey, VecDeque<RecordedRequest>>,
    open_count: usize,
}

struct Taker {
    serial: u64,
    /// `None` where the answer is to be lost.
    sender: Option<oneshot::Sender<Bytes>>,
}

/// What is known of an answer of the server.
pub enum Expected {
    /// A fault wanted it, and has it.
    Taken,
    /// A list of tools.
    Listing(Option<RecordedRequest>),
    /// One that passes.
    Passing(Option<RecordedRequest>),
}

impl Hub {
    pub fn new(watch: Arc<Watch>, to_server: Lane, to_client: Lane) -> Arc<Self> {
        let session = watch.recording.as_ref().map(Recording::session);
        Arc::new(Self {
            watch,
            session,
            to_server,
            to_client,
            faulted: Arc::new(FaultedCalls::new()),
            calls: Mutex::default(),
            end: watch::Sender::new(None),
        })
    }

    /// A fault ends it all.
    pub fn end(&self, end: End) {
        self.end.send_modify(|ended| {
            ended.get_or_insert(end);
        });
    }

    /// Resolves when a fault ended it all.
    pub async fn ended(&self) -> End {
        let mut ended = self.end.subscribe();
        let end = ended.wait_for(Option::is_some).await;
        let end = end.ok().and_then(|end| *end);
        match end {
            Some(end) => end,
            // The sender is held by `self`, so this is never.
            None => std::future::pending().await,
        }
    }

    /// A request goes on to the server: what was known of an earlier one of the same id is past.
    pub fn forward(&self, key: IdKey, recorded: Option<RecordedRequest>, is_listing: bool) {
        self.faulted.forget(&key);
        let mut calls = lock(&self.calls);
        calls.forget(&key);
        if let Some(recorded) = recorded {
            calls.keep_open(&key, recorded);
        }
        if is_listing && calls.listings.len() < OPEN_MAX {
            calls.listings.insert(key);
        }
    }

    /// The client cancels a request: whether the server is to know.
    pub fn cancel(&self, key: &IdKey) -> bool {
        if let Some(is_to_know) = self.faulted.cancel(key) {
            return is_to_know;
        }
        if let Some(recorded) = lock(&self.calls).open.get(key).and_then(VecDeque::back) {
            recorded.cancel();
        }
        true
    }

    /// From now on the next answer with this id is for the one who waits at the returned end.
    pub fn take_answer(&self, key: &IdKey, serial: u64) -> oneshot::Receiver<Bytes> {
        let (sender, receiver) = oneshot::channel();
        self.faulted.forget(key);
        let mut calls = lock(&self.calls);
        calls.forget(key);
        calls
            .takers
            .entry(key.clone())
            .or_default()
            .push_back(Taker {
                serial,
                sender: Some(sender),
            });
        receiver
    }

    /// Nobody waits for that answer any more; if it is to be lost, it still does not go on.
    pub fn stop_taking(&self, key: &IdKey, serial: u64, is_lost: bool) {
        let mut calls = lock(&self.calls);
        let Some(takers) = calls.takers.get_mut(key) else {
            return;
        };
        if is_lost {
            for taker in takers.iter_mut().filter(|taker| taker.serial == serial) {
                taker.sender = None;
            }
            return;
        }
        takers.retain(|taker| taker.serial != serial);
        if takers.is_empty() {
            calls.takers.remove(key);
        }
    }

    /// Whether answers of the server are waited for.
    pub fn is_expecting(&self) -> bool {
        let calls = lock(&self.calls);
        !calls.takers.is_empty() || !calls.listings.is_empty()
    }

    /// The server answers under this id.
    pub fn answer(&self, key: &IdKey, message: impl FnOnce() -> Bytes) -> Expected {
        let mut calls = lock(&self.calls);
        if let Some(takers) = calls.takers.get_mut(key) {
            let taker = takers.pop_front();
            if takers.is_empty() {
                calls.takers.remove(key);
            }
            if let Some(sender) = taker.and_then(|taker| taker.sender) {
                // Who stopped waiting just now does without.
                let _ = sender.send(message());
            }
            return Expected::Taken;
        }
        let recorded = calls.open.get_mut(key).and_then(VecDeque::pop_front);
        if recorded.is_some() {
            calls.open_count = calls.open_count.saturating_sub(1);
            if calls.open.get(key).is_some_and(VecDeque::is_empty) {
                calls.open.remove(key);
            }
        }
        if calls.listings.remove(key) {
            Expected::Listing(recorded)
        } else {
            Expected::Passing(recorded)
        }
    }

    /// An answer that is too long to be read is on its way to the client: who waits for it need not.
    pub fn pass_long_answer(&self, key: &IdKey) {
        let mut calls = lock(&self.calls);
        calls.takers.remove(key);
        calls.listings.remove(key);
    }

    /// The client has left: what waits before it goes on gets a moment, as long as a server of ours gives it;
    /// what is due later is not executed. What is never answered ends now.
    pub async fn client_left(&self) {
        if let Some(session) = &self.session {
            session.left();
        }
        let left = Instant::now();
        self.faulted.abandon_unheard();
        let is_late = |due: Option<Instant>| due.is_some_and(|due| due > left + DRAIN_TIME);
        self.faulted.give_up(
            |call| !call.is_forwarded() && is_late(call.due),
            RecordedRequest::cancel,
        );
        let until = |due: Option<Instant>| due.unwrap_or(left).max(left) + GRACE;
        self.faulted
            .settle(|call| {
                let is_awaited = !call.is_forwarded() && !is_late(call.due);
                is_awaited.then(|| until(call.due))
            })
            .await;
        self.faulted
            .give_up(|call| !call.is_forwarded(), RecordedRequest::cancel);
    }

    /// The server says nothing more: nobody gets an answer, and faults have a moment to end.
    pub async fn server_left(&self) {
        let left = Instant::now();
        lock(&self.calls).takers.clear();
        // The time that the client takes to read is its own.
        self.faulted
            .settle(|_| {
                let is_busy = self.to_client.is_busy();
                Some(if is_busy { Instant::now() } else { left } + GRACE)
            })
            .await;
    }

    /// A request that is written down and not answered yet.
    pub fn keep_open(&self, key: &IdKey, recorded: RecordedRequest) {
        lock(&self.calls).keep_open(key, recorded);
    }

    /// It is all over: ends every request that is not answered.
    pub fn end_open(&self, end: impl Fn(&RecordedRequest)) {
        self.faulted.give_up(|_| true, &end);
        let open = std::mem::take(&mut lock(&self.calls).open);
        for recorded in open.values().flatten() {
            end(recorded);
        }
    }
}

impl Calls {
    fn keep_open(&mut self, key: &IdKey, recorded: RecordedRequest) {
        if self.open_count < OPEN_MAX {
            self.open_count += 1;
            let all = self.open.entry(key.clone()).or_default();
            all.push_back(recorded);
        }
    }

    /// A request of this id goes on: earlier answers that are to be lost are past.
    fn forget(&mut self, key: &IdKey) {
        if let Some(takers) = self.takers.get_mut(key) {
            takers.retain(|taker| taker.sender.is_some());
            if takers.is_empty() {
                self.takers.remove(key);
            }
        }
    }
}
