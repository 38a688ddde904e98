//! The thread that writes rows, a batch to a commit, and removes the oldest where there is a limit. And the one that
//! moves what was committed from the write-ahead log into the file itself.
//!
//! That waits for the disk, and a row that waits for it is lost if the process is killed. So it is
//! the work of a thread of its own. Only when rows come faster than that thread gets on does the
//! thread that writes do it, because nobody else can finish while it goes on writing.

use rusqlite::types::{ToSqlOutput, ValueRef};

use super::queue::wait;
use crate::prelude::*;

/// The share of the rows that goes when there are too many bytes: one in so many.
const REMOVED_SHARE: i64 = 8;
/// How many rows are removed at once from a file that has far too many.
const REMOVED_MAX: i64 = 10_000;

/// How much is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// At most this many rows.
    pub rows: Option<u64>,
    /// About so many bytes.
    pub bytes: Option<u64>,
}

/// Writes what the queue gives until it is closed and empty.
pub fn write_all(
    connection: &Connection,
    queue: &Queue,
    limits: Limits,
    checkpoints: &Checkpoints,
) {
    while let Some(batch) = queue.take() {
        let mut outcome = write(connection, &batch, limits);
        // Each attempt waits for whoever holds the file; while nobody else waits for that, it is tried
        // again.
        while outcome.as_ref().is_err_and(is_locked) && queue.can_wait() {
            outcome = write(connection, &batch, limits);
        }
        queue.finish(batch.rows.len(), outcome.map_err(|error| reason(&error)));
        checkpoints.written(batch.bytes, connection);
    }
}

/// Why rows are lost.
fn reason(error: &rusqlite::Error) -> LossReason {
    if is_locked(error) {
        LossReason::Locked
    } else {
        LossReason::Sqlite(error.to_string())
    }
}

fn is_locked(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked};
    matches!(
        error.sqlite_error_code(),
        Some(DatabaseBusy | DatabaseLocked)
    )
}

/// Writes all of a batch or nothing of it.
fn write(connection: &Connection, batch: &Batch, limits: Limits) -> rusqlite::Result<()> {
    let mut insert = connection.prepare(&insert_statement())?;
    let whole = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    for row in &batch.rows {
        insert.execute(params_from_iter(row.cells().iter().skip(1).map(as_stored)))?;
    }
    remove_oldest(connection, limits)?;
    whole.commit()
}

/// A row without its number, which SQLite gives.
fn insert_statement() -> String {
    let names = &COLUMNS[1..];
    let values = vec!["?"; names.len()].join(", ");
    format!(
        "INSERT INTO requests ({}) VALUES ({values})",
        names.join(", ")
    )
}

/// What stands in a column, as SQLite takes it.
fn as_stored<'a>(cell: &'a Cell<'_>) -> ToSqlOutput<'a> {
    match cell {
        Cell::Empty => ToSqlOutput::Borrowed(ValueRef::Null),
        Cell::Flag(flag) => ToSqlOutput::from(*flag),
        Cell::Number(number) => ToSqlOutput::from(*number),
        Cell::Milliseconds(time) => ToSqlOutput::from(*time),
        Cell::Text(text) | Cell::Json(text) => ToSqlOutput::from(&**text),
    }
}

/// Removes the oldest rows over the limits. The room they leave is used for the next ones.
fn remove_oldest(connection: &Connection, limits: Limits) -> rusqlite::Result<()> {
    trim(connection, limits)?;
    let Some(bytes) = limits.bytes else {
        return Ok(());
    };
    while used_bytes(connection)? > bytes {
        let (first, last) = ends(connection)?;
        if first >= last {
            break;
        }
        let end = first + (last - first) / REMOVED_SHARE;
        connection.execute("DELETE FROM requests WHERE id <= ?1", [end])?;
    }
    Ok(())
}

/// Brings a file that has more rows than the limit within it, a part at a time, so that others can
/// read and write in between.
pub fn trim(connection: &Connection, limits: Limits) -> rusqlite::Result<()> {
    let Some(rows) = limits.rows else {
        return Ok(());
    };
    let rows = i64::try_from(rows).unwrap_or(i64::MAX);
    loop {
        let (first, last) = ends(connection)?;
        let end = last.saturating_sub(rows);
        if first > end || last == 0 {
            return Ok(());
        }
        let part = end.min(first.saturating_add(REMOVED_MAX));
        connection.execute("DELETE FROM requests WHERE id <= ?1", [part])?;
    }
}

/// The first and the last id; 0 and 0 where there is no row.
fn ends(connection: &Connection) -> rusqlite::Result<(i64, i64)> {
    // Two questions, for SQLite answers each by a look at the end of the table, and both at once by reading all of it.
    let ends = "SELECT ifnull((SELECT min(id) FROM requests), 0), ifnull((SELECT max(id) FROM requests), 0)";
    connection.query_row(ends, [], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// How many bytes are in use, without those that removed rows left.
fn used_bytes(connection: &Connection) -> rusqlite::Result<u64> {
    let pragma = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let bytes = pragma("page_count")?
        .saturating_sub(pragma("freelist_count")?)
        .saturating_mul(pragma("page_size")?);
    Ok(u64::try_from(bytes).unwrap_or(0))
}

/// The log is moved when about so much was written to it.
const LOG_BYTES: u64 = 4 << 20;
/// The log may grow to about this, then writing waits until it is moved.
const LOG_BYTES_MAX: u64 = 64 << 20;

/// When the log is moved, and by whom.
#[derive(Debug, Default)]
pub struct Checkpoints {
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
        lock(&self.state)
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
                state = wait(&self.changed, state);
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
