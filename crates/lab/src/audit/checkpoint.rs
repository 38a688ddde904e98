//! Moving what was committed from the write-ahead log into the file itself.
//!
//! That waits for the disk, and a row that waits for it is lost if the process is killed. So it is
//! the work of a thread of its own. Only when rows come faster than that thread gets on does the
//! thread that writes do it, because nobody else can finish while it goes on writing.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use rusqlite::Connection;

/// The log is moved when about so much was written to it.
const LOG_BYTES: u64 = 4 << 20;
/// The log may grow to about this, then writing waits until it is moved.
const LOG_BYTES_MAX: u64 = 64 << 20;

/// When the log is moved, and by whom.
#[derive(Debug, Default)]
pub(super) struct Checkpoints {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// What was written since the log was last moved wholly.
    bytes: u64,
    /// The same since the thread last tried.
    fresh: u64,
    is_closed: bool,
}

impl Checkpoints {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the thread, with a connection of its own.
    pub fn start(self: &Arc<Self>, connection: Connection) -> std::io::Result<JoinHandle<()>> {
        let checkpoints = Arc::clone(self);
        std::thread::Builder::new()
            .name("audit-checkpoint".into())
            .spawn(move || checkpoints.run(&connection))
    }

    fn run(&self, connection: &Connection) {
        let mut state = self.lock();
        while !state.is_closed {
            if state.fresh < LOG_BYTES {
                let waited = self.changed.wait(state);
                state = waited.unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let bytes = state.bytes;
            state.fresh = 0;
            drop(state);
            let is_whole = checkpoint(connection);
            state = self.lock();
            if is_whole {
                state.bytes = state.bytes.saturating_sub(bytes);
            }
        }
    }

    /// Takes note of a commit of about so many bytes, by `connection`.
    pub fn written(&self, bytes: usize, connection: &Connection) {
        let mut state = self.lock();
        state.bytes += bytes as u64;
        state.fresh += bytes as u64;
        if state.fresh >= LOG_BYTES {
            self.changed.notify_one();
        }
        if state.bytes >= LOG_BYTES_MAX {
            // Where a reader holds on to the log this is tried again only after as much again.
            (state.bytes, state.fresh) = (0, 0);
            drop(state);
            checkpoint(connection);
        }
    }

    /// Ends the thread.
    pub fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_one();
    }
}

/// Moves what can be moved without making anybody wait; whether that was all.
fn checkpoint(connection: &Connection) -> bool {
    let counts = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| {
        Ok((row.get::<_, i64>(1)?, row.get::<_, i64>(2)?))
    });
    // What fails here fails again where a row is written, and is told there.
    counts.is_ok_and(|(log, moved)| log == moved)
}
