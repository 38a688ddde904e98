//! The calls that faults act on at this moment, each in a task of its own, by what names them.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use mcprove_recording::RecordedRequest;
use mcprove_trace::{BoxFuture, Execution, FaultKind};
use tokio::task::AbortHandle;

use super::journal::{Journal, Page};
use super::{HELD_BYTES_MAX, HELD_CALLS_MAX};

/// How many names of calls that never went on are remembered, for their cancellations.
const UNFORWARDED_MAX: usize = 10_000;
/// How long faults may still act once nobody waits for them.
pub(super) const GRACE: Duration = Duration::from_millis(250);
/// How often to look whether they are done.
const STEP: Duration = Duration::from_millis(5);

/// How far a call is that a fault acts on.
#[derive(Debug, Default)]
pub(super) struct CallState {
    is_forwarded: AtomicBool,
    ignores_cancellation: AtomicBool,
}

impl CallState {
    /// The call goes on to the server.
    pub fn forward(&self) {
        self.is_forwarded.store(true, Ordering::Relaxed);
    }

    pub fn is_forwarded(&self) -> bool {
        self.is_forwarded.load(Ordering::Relaxed)
    }

    /// A cancellation changes nothing any more.
    pub fn ignore_cancellation(&self) {
        self.ignores_cancellation.store(true, Ordering::Relaxed);
    }

    pub fn ignores_cancellation(&self) -> bool {
        self.ignores_cancellation.load(Ordering::Relaxed)
    }
}

/// A call that a fault acts on.
pub(super) struct Struck {
    pub state: Arc<CallState>,
    pub page: Page,
    pub recorded: Option<RecordedRequest>,
    /// When the fault is done with it, where that is known.
    pub due: Option<Instant>,
    /// How much of it is held.
    pub bytes: usize,
    /// Whether the client hears something in its place in the end.
    pub is_heard: bool,
}

/// What has to be kept of a call that meets a fault of this kind: nothing where it never goes on.
pub(super) fn needed(kind: FaultKind, message: Bytes) -> Bytes {
    match kind.executes() {
        Execution::Never => Bytes::new(),
        Execution::Always | Execution::Late => message,
    }
}

struct Acting {
    serial: u64,
    struck: Struck,
    abort: Option<AbortHandle>,
}

/// The calls that faults act on.
pub(super) struct StruckCalls<K> {
    calls: Mutex<Calls<K>>,
}

struct Calls<K> {
    serial: u64,
    held: usize,
    held_bytes: usize,
    /// Oldest first.
    acting: HashMap<K, VecDeque<Acting>>,
    /// The last calls that never went on.
    unforwarded: VecDeque<(K, u64)>,
    /// The last of each name among them, unless it is past.
    unforwarded_last: HashMap<K, u64>,
}

impl<K: Clone + Eq + Hash> StruckCalls<K> {
    pub fn new() -> Self {
        Self {
            calls: Mutex::new(Calls {
                serial: 0,
                held: 0,
                held_bytes: 0,
                acting: HashMap::new(),
                unforwarded: VecDeque::new(),
                unforwarded_last: HashMap::new(),
            }),
        }
    }

    /// Whether another call of that many bytes may be held.
    pub fn has_room(&self, bytes: usize) -> bool {
        let calls = self.calls();
        calls.held < HELD_CALLS_MAX && calls.held_bytes.saturating_add(bytes) <= HELD_BYTES_MAX
    }

    /// A call is struck: `make` gives, for its number, what is to be done. Gives that number.
    pub fn strike(
        &self,
        key: &K,
        struck: Struck,
        make: impl FnOnce(u64) -> BoxFuture<'static, ()>,
    ) -> u64 {
        let serial = {
            let mut calls = self.calls();
            calls.serial += 1;
            calls.held += 1;
            calls.held_bytes = calls.held_bytes.saturating_add(struck.bytes);
            let serial = calls.serial;
            let acting = Acting {
                serial,
                struck,
                abort: None,
            };
            let all = calls.acting.entry(key.clone()).or_default();
            all.push_back(acting);
            serial
        };
        let task = make(serial);
        let abort = tokio::spawn(task).abort_handle();
        let mut calls = self.calls();
        let mut all = calls.acting.get_mut(key).into_iter().flatten();
        match all.find(|acting| acting.serial == serial) {
            Some(acting) => acting.abort = Some(abort),
            // It is over already, or the client has cancelled it meanwhile.
            None => abort.abort(),
        }
        serial
    }

    /// A call is over, one way or the other.
    pub fn finish(&self, key: &K, serial: u64) {
        self.calls().remove(key, serial);
    }

    /// A request of this name goes on: earlier ones that were held are past.
    pub fn forget(&self, key: &K) {
        // It stays in line, and means nothing when its turn comes.
        self.calls().unforwarded_last.remove(key);
    }

    /// The client cancels a call, the newest of that name: whether the server is to know. `None` if no
    /// fault acts on such a call.
    pub fn cancel(&self, key: &K, journal: &Journal) -> Option<bool> {
        let serial = {
            let calls = self.calls();
            let Some(acting) = calls.acting.get(key).and_then(VecDeque::back) else {
                return calls.unforwarded_last.contains_key(key).then_some(false);
            };
            acting.serial
        };
        self.leave(key, serial, Some(journal))
    }

    /// The client does not wait for this very call any more: as [`StruckCalls::cancel`].
    pub fn leave(&self, key: &K, serial: u64, journal: Option<&Journal>) -> Option<bool> {
        let mut calls = self.calls();
        let mut all = calls.acting.get(key).into_iter().flatten();
        let acting = all.find(|acting| acting.serial == serial)?;
        let struck = &acting.struck;
        if let Some(journal) = journal {
            journal.cancelled(struck.page);
        }
        if let Some(recorded) = &struck.recorded {
            recorded.cancel();
        }
        if struck.state.ignores_cancellation() {
            return Some(false);
        }
        let is_forwarded = struck.state.is_forwarded();
        let abort = acting.abort.clone();
        // At once, for the same name may come again before the task has ended.
        calls.remove(key, serial);
        drop(calls);
        if let Some(abort) = abort {
            abort.abort();
        }
        Some(is_forwarded)
    }

    /// Waits until each call is over, or its time is up.
    pub async fn settle(&self, until: impl Fn(&Struck) -> Option<Instant>) {
        loop {
            let latest = self.calls().all().filter_map(&until).max();
            if latest.is_none_or(|latest| Instant::now() >= latest) {
                return;
            }
            tokio::time::sleep(STEP).await;
        }
    }

    /// The client has left: calls of which it would hear nothing are cancelled, though some go on.
    pub fn abandon_unheard(&self) {
        for struck in self.calls().all().filter(|struck| !struck.is_heard) {
            if let Some(recorded) = &struck.recorded {
                recorded.cancel();
            }
        }
    }

    /// No fault acts any more on the calls that are meant; `end` writes down how they end.
    pub fn give_up(&self, is_meant: impl Fn(&Struck) -> bool, end: impl Fn(&RecordedRequest)) {
        let aborts: Vec<AbortHandle> = {
            let calls = self.calls();
            let all = calls.acting.values().flatten();
            let meant = all.filter(|acting| is_meant(&acting.struck));
            meant
                .filter_map(|acting| {
                    if let Some(recorded) = &acting.struck.recorded {
                        end(recorded);
                    }
                    acting.abort.clone()
                })
                .collect()
        };
        for abort in aborts {
            abort.abort();
        }
    }

    fn calls(&self) -> MutexGuard<'_, Calls<K>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Clone + Eq + Hash> Calls<K> {
    fn all(&self) -> impl Iterator<Item = &Struck> {
        let all = self.acting.values().flatten();
        all.map(|acting| &acting.struck)
    }

    /// Forgets a call, if it is there.
    fn remove(&mut self, key: &K, serial: u64) {
        let Some(all) = self.acting.get_mut(key) else {
            return;
        };
        let place = all.iter().position(|acting| acting.serial == serial);
        let Some(acting) = place.and_then(|place| all.remove(place)) else {
            return;
        };
        if all.is_empty() {
            self.acting.remove(key);
        }
        self.held = self.held.saturating_sub(1);
        self.held_bytes = self.held_bytes.saturating_sub(acting.struck.bytes);
        if !acting.struck.state.is_forwarded() {
            self.unforwarded.push_back((key.clone(), serial));
            self.unforwarded_last.insert(key.clone(), serial);
            if self.unforwarded.len() > UNFORWARDED_MAX
                && let Some((past, serial)) = self.unforwarded.pop_front()
                && self.unforwarded_last.get(&past) == Some(&serial)
            {
                self.unforwarded_last.remove(&past);
            }
        }
    }
}

#[cfg(test)]
mod tests;
