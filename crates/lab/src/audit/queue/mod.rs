//! The rows on their way to the thread that writes them.
//!
//! The queue is bounded, in rows and in bytes. Whoever brings a row to a full queue waits for room, in a
//! thread or as a task: a row is late rather than lost. Who cannot wait may go over these bounds up to
//! others, far away; what is beyond them is lost, and counted.

use std::sync::PoisonError;
use std::time::Instant;

use mcprove_trace::panic_guard::contain_call;
use tokio::sync::Notify;

use crate::prelude::*;

/// How many rows may wait. At the slowest pace that is promised they are written in 50 ms.
const ROWS_MAX: usize = 1024;
/// How many bytes the waiting rows may have in all.
const BYTES_MAX: usize = 4 << 20;
/// How many rows may wait if nobody can wait with them: those of all requests that are worked on at a
/// time, which may end at once.
const CROWDED_ROWS_MAX: usize = 65_536;
/// How many bytes those may have in all.
const CROWDED_BYTES_MAX: usize = 64 << 20;
/// How long the first row of a batch waits for more, so that they share one commit.
const GATHERING: Duration = Duration::from_millis(20);

/// Rows that are written together.
#[derive(Debug, Default)]
pub struct Batch {
    pub rows: Vec<AuditRow>,
    pub bytes: usize,
}

#[derive(Debug, Default)]
pub struct Queue {
    state: Mutex<State>,
    /// For the thread that writes: there is a row, or somebody is in a hurry.
    filled: Condvar,
    /// For those who record: there is room.
    emptied: Condvar,
    /// The same, for tasks.
    room: Notify,
    /// For those who flush: rows were written.
    written: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiting: Batch,
    /// When the first of the waiting rows came.
    since: Option<Instant>,
    /// How many rows came, and how many of them are written or lost.
    came: u64,
    done: u64,
    /// How many are waiting for a flush.
    flushing: usize,
    is_closed: bool,
    lost: Option<Lost>,
    tell: Option<Tell>,
}

/// Who is told of the first loss.
#[derive(mcprove_settings::setting::Opaque)]
struct Tell(Box<dyn FnOnce(Lost) + Send>);

/// Rows that could not be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    pub count: u64,
    /// Why the first was lost.
    pub reason: LossReason,
}

impl From<Lost> for AuditError {
    fn from(Lost { count, reason }: Lost) -> Self {
        Self::Lost { count, reason }
    }
}

impl State {
    fn has_room_for(&self, bytes: usize) -> bool {
        // A row over all bounds still passes when it is alone.
        self.waiting.rows.is_empty()
            || self.waiting.rows.len() < ROWS_MAX && self.waiting.bytes + bytes <= BYTES_MAX
    }

    fn is_crowded_by(&self, bytes: usize) -> bool {
        self.waiting.rows.len() >= CROWDED_ROWS_MAX
            || self.waiting.bytes.saturating_add(bytes) > CROWDED_BYTES_MAX
    }

    /// Counts rows that are lost, and gives whoever is to be told.
    fn lose(&mut self, count: u64, reason: LossReason) -> Option<(Tell, Lost)> {
        let lost = self.lost.get_or_insert(Lost { count: 0, reason });
        lost.count += count;
        let lost = lost.clone();
        Some((self.tell.take()?, lost))
    }

    fn is_urgent(&self) -> bool {
        self.is_closed
            || self.flushing > 0
            || self.waiting.rows.len() >= ROWS_MAX / 2
            || self.waiting.bytes >= BYTES_MAX / 2
    }
}

impl Queue {
    /// Whatever panicked while it held the lock, the rows are still whole.
    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Brings a row; waits while the queue is full. False when it was closed.
    pub fn push(&self, row: AuditRow) -> bool {
        let bytes = row.bytes();
        let mut state = self.lock();
        while !state.is_closed && !state.has_room_for(bytes) {
            state = wait(&self.emptied, state);
        }
        if state.is_closed {
            return false;
        }
        self.add(state, row, bytes);
        true
    }

    /// Brings a row without waiting. False when it was closed; what is far too much is lost.
    pub fn put(&self, row: AuditRow) -> bool {
        let bytes = row.bytes();
        let mut state = self.lock();
        if state.is_closed {
            return false;
        }
        if state.is_crowded_by(bytes) {
            let tell = state.lose(1, LossReason::Crowded);
            drop(state);
            notify(tell);
            return true;
        }
        self.add(state, row, bytes);
        true
    }

    /// Whether a row would not have to wait.
    pub fn has_room(&self) -> bool {
        let state = self.lock();
        state.is_closed || state.has_room_for(0)
    }

    /// Waits for room, as a task.
    pub async fn room(&self) {
        loop {
            let mut emptied = std::pin::pin!(self.room.notified());
            // From now on nothing is missed.
            emptied.as_mut().enable();
            if self.has_room() {
                return;
            }
            emptied.await;
        }
    }

    fn add(&self, mut state: MutexGuard<'_, State>, row: AuditRow, bytes: usize) {
        state.waiting.rows.push(row);
        state.waiting.bytes += bytes;
        state.came += 1;
        let is_first = state.since.is_none();
        state.since.get_or_insert_with(Instant::now);
        let is_wanted = is_first || state.is_urgent();
        drop(state);
        if is_wanted {
            self.filled.notify_one();
        }
    }

    /// The next rows to write; waits for one, then a little for more. None when the queue is
    /// closed and empty.
    pub fn take(&self) -> Option<Batch> {
        let mut state = self.lock();
        loop {
            match state.since {
                None if state.is_closed => return None,
                None => state = wait(&self.filled, state),
                Some(since) => {
                    let left = GATHERING.saturating_sub(since.elapsed());
                    if left.is_zero() || state.is_urgent() {
                        break;
                    }
                    let waited = self.filled.wait_timeout(state, left);
                    state = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        }
        state.since = None;
        let batch = std::mem::take(&mut state.waiting);
        drop(state);
        self.emptied.notify_all();
        self.room.notify_waiters();
        Some(batch)
    }

    /// Says that a batch of `count` rows was written, or why it was not.
    pub fn finish(&self, count: usize, outcome: Result<(), LossReason>) {
        let count = count as u64;
        let mut state = self.lock();
        state.done += count;
        let tell = match outcome {
            Ok(()) => None,
            Err(reason) => state.lose(count, reason),
        };
        drop(state);
        notify(tell);
        self.written.notify_all();
    }

    /// Whether nobody is held up if what was taken is not written yet.
    pub fn can_wait(&self) -> bool {
        !self.lock().is_urgent()
    }

    /// Has somebody told of the first loss, once.
    pub fn on_loss(&self, tell: impl FnOnce(Lost) + Send + 'static) {
        self.lock().tell = Some(Tell(Box::new(tell)));
    }

    /// Waits until every row that came so far is written or lost.
    pub fn flush(&self) {
        let mut state = self.lock();
        let came = state.came;
        state.flushing += 1;
        self.filled.notify_one();
        while state.done < came {
            state = wait(&self.written, state);
        }
        state.flushing -= 1;
    }

    /// Takes no more rows.
    pub fn close(&self) {
        self.lock().is_closed = true;
        self.filled.notify_all();
        self.emptied.notify_all();
        self.room.notify_waiters();
    }

    /// What was lost so far.
    pub fn lost(&self) -> Option<Lost> {
        self.lock().lost.clone()
    }
}

/// Tells of the first loss. Whoever panics on it does not stop the thread that writes.
fn notify(tell: Option<(Tell, Lost)>) {
    if let Some((Tell(tell), lost)) = tell {
        let _ = contain_call(|| tell(lost));
    }
}

/// Waits until this is notified.
pub fn wait<'a, T>(on: &Condvar, state: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    on.wait(state).unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
