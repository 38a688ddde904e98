//! The calls that faults act on at this moment, each in a task of its own.

use tokio::task::AbortHandle;

use super::journal::CallLogId;
use super::watch::CallKey;
use super::{HELD_BYTES_MAX, HELD_CALLS_MAX};
use crate::prelude::*;

/// How many names of calls that never went on are remembered, for their cancellations.
const UNFORWARDED_MAX: usize = 10_000;
/// How long faults may still act once nobody waits for them.
pub const GRACE: Duration = Duration::from_millis(250);
/// How often to look whether they are done.
const STEP: Duration = Duration::from_millis(5);

/// A call that a fault acts on. No fault reads the arguments.
pub struct PendingCall {
    pub watch: Arc<Watch>,
    pub key: CallKey,
    /// A number that no other call has; later ones have higher ones.
    pub serial: u64,
    /// The id, as it was written.
    pub id: String,
    pub tool: String,
    /// The token under which the client wants progress.
    pub progress_token: Option<Value>,
    /// Whether it is of the stateless era.
    pub is_stateless: bool,
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
    /// What ends its task.
    pub task: OnceLock<AbortHandle>,
}

impl PendingCall {
    pub fn is_forwarded(&self) -> bool {
        self.is_forwarded.load(Ordering::Relaxed)
    }

    /// It ends without an answer to it, unless it has ended.
    pub fn fail(&self, category: ErrorCategory, message: &str) {
        self.watch.journal.ended(self.log_id);
        self.fail_recorded(category, message);
    }

    /// The same in the recording alone.
    pub fn fail_recorded(&self, category: ErrorCategory, message: &str) {
        let open = self.recorded.as_ref().filter(|open| !open.has_ended());
        if let Some(open) = open {
            open.fail(category, message);
        }
    }

    /// The client has this last word on it.
    pub fn answer(&self, message: &[u8]) {
        if let Some(recorded) = &self.recorded {
            recorded.answer_to(&self.id, message);
        }
        self.watch.journal.ended(self.log_id);
    }

    fn cancel(&self) {
        if let Some(recorded) = &self.recorded {
            recorded.cancel();
        }
    }

    fn abort(&self) {
        if let Some(task) = self.task.get() {
            task.abort();
        }
    }
}

/// The calls that faults act on.
#[derive(Default)]
pub struct FaultedCalls(Mutex<Calls>);

#[derive(Default)]
struct Calls {
    serial: u64,
    held_bytes: usize,
    /// By serial.
    acting: BTreeMap<u64, Arc<PendingCall>>,
    /// The last calls that never went on.
    unforwarded: VecDeque<(CallKey, u64)>,
    /// The last of each name among them, unless it is past.
    unforwarded_last: HashMap<CallKey, u64>,
}

impl FaultedCalls {
    /// A number that no other call has.
    pub fn serial(&self) -> u64 {
        let mut calls = lock(&self.0);
        calls.serial += 1;
        calls.serial
    }

    /// Whether another call of that many bytes may be held.
    pub fn has_room(&self, bytes: usize) -> bool {
        let calls = lock(&self.0);
        let held_bytes = calls.held_bytes.saturating_add(bytes);
        calls.acting.len() < HELD_CALLS_MAX && held_bytes <= HELD_BYTES_MAX
    }

    /// A call is struck: the task does what is to be done.
    pub fn strike(&self, call: &Arc<PendingCall>, task: impl Future<Output = ()> + Send + 'static) {
        {
            let mut calls = lock(&self.0);
            calls.held_bytes = calls.held_bytes.saturating_add(call.message.len());
            calls.acting.insert(call.serial, Arc::clone(call));
        }
        let _ = call.task.set(tokio::spawn(task).abort_handle());
        if !lock(&self.0).acting.contains_key(&call.serial) {
            // It is over already, or the client has cancelled it meanwhile.
            call.abort();
        }
    }

    /// A call is over, one way or the other.
    pub fn finish(&self, call: &PendingCall) {
        lock(&self.0).remove(call);
    }

    /// A request of this name goes on: earlier ones that were held are past.
    pub fn forget(&self, key: &CallKey) {
        // It stays in line, and means nothing when its turn comes.
        lock(&self.0).unforwarded_last.remove(key);
    }

    /// The client cancels a call, the newest of that name: whether the server is to know. `None` if no
    /// fault acts on such a call.
    pub fn cancel(&self, key: &CallKey) -> Option<bool> {
        let newest = {
            let calls = lock(&self.0);
            let mut newest_first = calls.acting.values().rev();
            let Some(newest) = newest_first.find(|call| call.key == *key) else {
                return calls.unforwarded_last.contains_key(key).then_some(false);
            };
            Arc::clone(newest)
        };
        self.leave(&newest)
    }

    /// The client does not wait for this very call any more: as [`FaultedCalls::cancel`].
    pub fn leave(&self, call: &PendingCall) -> Option<bool> {
        let mut calls = lock(&self.0);
        calls.acting.get(&call.serial)?;
        call.watch.journal.cancelled(call.log_id);
        call.cancel();
        if call.ignores_cancellation.load(Ordering::Relaxed) {
            return Some(false);
        }
        let is_forwarded = call.is_forwarded();
        // At once, for the same name may come again before the task has ended.
        calls.remove(call);
        drop(calls);
        call.abort();
        Some(is_forwarded)
    }

    /// Waits until each call is over, or its time is up.
    pub async fn settle(&self, until: impl Fn(&PendingCall) -> Option<Instant>) {
        loop {
            let latest = {
                let calls = lock(&self.0);
                calls.acting.values().filter_map(|call| until(call)).max()
            };
            if latest.is_none_or(|latest| Instant::now() >= latest) {
                return;
            }
            tokio::time::sleep(STEP).await;
        }
    }

    /// The client has left: calls of which it would hear nothing are cancelled, though some go on.
    pub fn abandon_unheard(&self) {
        let calls = lock(&self.0);
        for call in calls.acting.values().filter(|call| !call.is_heard) {
            call.cancel();
        }
    }

    /// No fault acts any more on the calls that are meant; `end` writes down how they end.
    pub fn give_up(&self, is_meant: impl Fn(&PendingCall) -> bool, end: impl Fn(&RecordedRequest)) {
        let mut meant: Vec<_> = lock(&self.0).acting.values().cloned().collect();
        meant.retain(|call| is_meant(call));
        for call in &meant {
            call.recorded.iter().for_each(&end);
        }
        for call in &meant {
            call.abort();
        }
    }
}

impl Calls {
    /// Forgets a call, if it is there.
    fn remove(&mut self, call: &PendingCall) {
        let serial = call.serial;
        if self.acting.remove(&serial).is_none() {
            return;
        }
        self.held_bytes = self.held_bytes.saturating_sub(call.message.len());
        if !call.is_forwarded() {
            self.unforwarded.push_back((call.key.clone(), serial));
            self.unforwarded_last.insert(call.key.clone(), serial);
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
