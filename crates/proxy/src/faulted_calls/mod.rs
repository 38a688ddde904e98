//! The calls that faults act on at this moment, each in a task of its own, by what names them.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use mcprove_recording::RecordedRequest;
use mcprove_servers::hosting::lock;
use mcprove_trace::{ErrorCategory, Execution, FaultKind};
use tokio::task::AbortHandle;

use super::journal::CallLogId;
use super::message::HeldCall;
use super::watch::Watch;
use super::{HELD_BYTES_MAX, HELD_CALLS_MAX};

/// How many names of calls that never went on are remembered, for their cancellations.
const UNFORWARDED_MAX: usize = 10_000;
/// How long faults may still act once nobody waits for them.
pub const GRACE: Duration = Duration::from_millis(250);
/// How often to look whether they are done.
const STEP: Duration = Duration::from_millis(5);

/// A call that a fault acts on.
pub struct PendingCall<K> {
    pub watch: Arc<Watch>,
    /// What names it, and its number among those of that name.
    pub key: K,
    pub serial: u64,
    pub call: HeldCall,
    /// The message as it came; empty where it never goes on.
    pub message: Bytes,
    pub log_id: CallLogId,
    pub recorded: Option<RecordedRequest>,
    /// When the fault is done with it, where that is known.
    pub due: Option<Instant>,
    /// Whether the client hears something in its place in the end.
    pub is_heard: bool,
    /// Whether nothing of the answer may be heard.
    pub is_lost: bool,
    /// Whether it went on to the server.
    pub is_forwarded: AtomicBool,
    /// Whether a cancellation changes nothing any more.
    pub ignores_cancellation: AtomicBool,
}

impl<K> PendingCall<K> {
    pub fn is_forwarded(&self) -> bool {
        self.is_forwarded.load(Ordering::Relaxed)
    }

    /// The client has the last word on it.
    pub fn ended(&self) {
        self.watch.journal.ended(self.log_id);
    }

    /// What is written down of it, unless it has ended.
    pub fn open(&self) -> Option<&RecordedRequest> {
        self.recorded.as_ref().filter(|open| !open.has_ended())
    }

    /// It ends without an answer to it, unless it has ended.
    pub fn fail(&self, category: ErrorCategory, message: &str) {
        self.ended();
        if let Some(open) = self.open() {
            open.fail(category, message);
        }
    }

    pub fn answer(&self, message: &[u8]) {
        if let Some(recorded) = &self.recorded {
            recorded.answer_to(&self.call.id, message);
        }
        self.ended();
    }

    fn cancel(&self) {
        if let Some(recorded) = &self.recorded {
            recorded.cancel();
        }
    }
}

/// What has to be kept of a call that meets a fault of this kind: nothing where it never goes on.
pub fn needed(kind: FaultKind, message: Bytes) -> Bytes {
    match kind.executes() {
        Execution::Never => Bytes::new(),
        Execution::Always | Execution::Late => message,
    }
}

/// The calls that faults act on.
pub struct FaultedCalls<K>(Mutex<Calls<K>>);

/// A call, and how its task is ended.
type Acting<K> = (Arc<PendingCall<K>>, Option<AbortHandle>);

struct Calls<K> {
    serial: u64,
    held: usize,
    held_bytes: usize,
    /// Oldest first.
    acting: HashMap<K, VecDeque<Acting<K>>>,
    /// The last calls that never went on.
    unforwarded: VecDeque<(K, u64)>,
    /// The last of each name among them, unless it is past.
    unforwarded_last: HashMap<K, u64>,
}

impl<K: Clone + Eq + Hash> FaultedCalls<K> {
    pub fn new() -> Self {
        Self(Mutex::new(Calls {
            serial: 0,
            held: 0,
            held_bytes: 0,
            acting: HashMap::new(),
            unforwarded: VecDeque::new(),
            unforwarded_last: HashMap::new(),
        }))
    }

    /// A number that no other call has.
    pub fn serial(&self) -> u64 {
        let mut calls = lock(&self.0);
        calls.serial += 1;
        calls.serial
    }

    /// Whether another call of that many bytes may be held.
    pub fn has_room(&self, bytes: usize) -> bool {
        let calls = lock(&self.0);
        calls.held < HELD_CALLS_MAX && calls.held_bytes.saturating_add(bytes) <= HELD_BYTES_MAX
    }

    /// A call is struck: the task does what is to be done.
    pub fn strike(
        &self,
        call: Arc<PendingCall<K>>,
        task: impl Future<Output = ()> + Send + 'static,
    ) {
        let (key, serial) = (call.key.clone(), call.serial);
        {
            let mut calls = lock(&self.0);
            calls.held += 1;
            calls.held_bytes = calls.held_bytes.saturating_add(call.message.len());
            let all = calls.acting.entry(key.clone()).or_default();
            all.push_back((call, None));
        }
        let abort = tokio::spawn(task).abort_handle();
        let mut calls = lock(&self.0);
        let mut all = calls.acting.get_mut(&key).into_iter().flatten();
        match all.find(|(call, _)| call.serial == serial) {
            Some(acting) => acting.1 = Some(abort),
            // It is over already, or the client has cancelled it meanwhile.
            None => abort.abort(),
        }
    }

    /// A call is over, one way or the other; gives how its task is ended, if it was there.
    pub fn finish(&self, call: &PendingCall<K>) -> Option<AbortHandle> {
        lock(&self.0).remove(&call.key, call.serial)
    }

    /// A request of this name goes on: earlier ones that were held are past.
    pub fn forget(&self, key: &K) {
        // It stays in line, and means nothing when its turn comes.
        lock(&self.0).unforwarded_last.remove(key);
    }

    /// The client cancels a call, the newest of that name: whether the server is to know. `None` if no
    /// fault acts on such a call.
    pub fn cancel(&self, key: &K) -> Option<bool> {
        let newest = {
            let calls = lock(&self.0);
            let Some((newest, _)) = calls.acting.get(key).and_then(VecDeque::back) else {
                return calls.unforwarded_last.contains_key(key).then_some(false);
            };
            Arc::clone(newest)
        };
        self.leave(&newest)
    }

    /// The client does not wait for this very call any more: as [`FaultedCalls::cancel`].
    pub fn leave(&self, call: &PendingCall<K>) -> Option<bool> {
        let mut calls = lock(&self.0);
        let mut all = calls.acting.get(&call.key).into_iter().flatten();
        all.find(|(acting, _)| acting.serial == call.serial)?;
        call.watch.journal.cancelled(call.log_id);
        call.cancel();
        if call.ignores_cancellation.load(Ordering::Relaxed) {
            return Some(false);
        }
        let is_forwarded = call.is_forwarded();
        // At once, for the same name may come again before the task has ended.
        let abort = calls.remove(&call.key, call.serial);
        drop(calls);
        if let Some(abort) = abort {
            abort.abort();
        }
        Some(is_forwarded)
    }

    /// Waits until each call is over, or its time is up.
    pub async fn settle(&self, until: impl Fn(&PendingCall<K>) -> Option<Instant>) {
        loop {
            let latest = lock(&self.0)
                .all()
                .filter_map(|(call, _)| until(call))
                .max();
            if latest.is_none_or(|latest| Instant::now() >= latest) {
                return;
            }
            tokio::time::sleep(STEP).await;
        }
    }

    /// The client has left: calls of which it would hear nothing are cancelled, though some go on.
    pub fn abandon_unheard(&self) {
        for (call, _) in lock(&self.0).all().filter(|(call, _)| !call.is_heard) {
            call.cancel();
        }
    }

    /// No fault acts any more on the calls that are meant; `end` writes down how they end.
    pub fn give_up(
        &self,
        is_meant: impl Fn(&PendingCall<K>) -> bool,
        end: impl Fn(&RecordedRequest),
    ) {
        let meant: Vec<Acting<K>> = {
            let calls = lock(&self.0);
            let meant = calls.all().filter(|(call, _)| is_meant(call));
            meant.cloned().collect()
        };
        for (call, _) in &meant {
            call.recorded.iter().for_each(&end);
        }
        for abort in meant.iter().filter_map(|(_, abort)| abort.as_ref()) {
            abort.abort();
        }
    }
}

impl<K: Clone + Eq + Hash> Calls<K> {
    fn all(&self) -> impl Iterator<Item = &Acting<K>> {
        self.acting.values().flatten()
    }

    /// Forgets a call, if it is there.
    fn remove(&mut self, key: &K, serial: u64) -> Option<AbortHandle> {
        let all = self.acting.get_mut(key)?;
        let place = all.iter().position(|(call, _)| call.serial == serial)?;
        let (call, abort) = all.remove(place)?;
        if all.is_empty() {
            self.acting.remove(key);
        }
        self.held = self.held.saturating_sub(1);
        self.held_bytes = self.held_bytes.saturating_sub(call.message.len());
        if !call.is_forwarded() {
            self.unforwarded.push_back((key.clone(), serial));
            self.unforwarded_last.insert(key.clone(), serial);
            if self.unforwarded.len() > UNFORWARDED_MAX
                && let Some((past, serial)) = self.unforwarded.pop_front()
                && self.unforwarded_last.get(&past) == Some(&serial)
            {
                self.unforwarded_last.remove(&past);
            }
        }
        abort
    }
}

#[cfg(test)]
mod tests;
