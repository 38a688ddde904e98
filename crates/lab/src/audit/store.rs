//! Writing the audit.

use super::redact::redact_row;
use super::{schema, writer};
use crate::prelude::*;

/// How many rows are kept in memory.
pub const MEMORY_ROWS: u64 = 10_000;
/// About how many bytes are kept in memory.
pub const MEMORY_BYTES: u64 = 64 << 20;

/// How much an audit keeps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AuditOptions {
    /// How much of each row.
    pub caps: Caps,
    /// How many rows; the oldest are removed. All, unless told.
    pub rows: Option<u64>,
}

/// Where the lab writes down what it was asked.
///
/// [`record`](Self::record) hands a row to a thread of the store, which writes the rows of about 20
/// ms with one commit. A process that is killed loses at most what it recorded in its last 100 ms, at
/// up to 20,000 rows a second on a disk that keeps up; one that ends after [`close`](Self::close)
/// loses nothing. (A machine that loses its power may lose more, and the file stays whole.) Other
/// processes may read the file at any time, with [`AuditReader`].
///
/// ```
/// use mcprove_lab::audit::{AuditRow, AuditStore, Filter};
///
/// let store = AuditStore::in_memory().unwrap();
/// store.record(AuditRow { tool_name: Some("echo".into()), ..AuditRow::default() });
/// store.flush();
/// let rows = store.reader().unwrap().rows(Filter::default()).count();
/// assert_eq!(rows, 1);
/// store.close().unwrap();
/// ```
#[derive(Debug)]
pub struct AuditStore {
    queue: Arc<Queue>,
    checkpoints: Arc<Checkpoints>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    place: AuditPlace,
    caps: Caps,
    /// Knows the secrets of this process, which tools may be asked for.
    redactor: Redactor,
}

impl AuditStore {
    /// Opens the audit in a file, or makes it. Rows that are there stay.
    pub fn open(path: impl AsRef<Path>) -> AuditResult<Self> {
        Self::open_with(path, AuditOptions::default())
    }

    /// The same with other limits.
    pub fn open_with(path: impl AsRef<Path>, options: AuditOptions) -> AuditResult<Self> {
        let limits = Limits {
            rows: options.rows,
            bytes: None,
        };
        Self::start(
            AuditPlace::File(path.as_ref().to_owned()),
            options.caps,
            limits,
        )
    }

    /// An audit in memory, gone when it is dropped. It keeps the last [`MEMORY_ROWS`], or less if
    /// they are more than about [`MEMORY_BYTES`].
    pub fn in_memory() -> AuditResult<Self> {
        Self::in_memory_with(AuditOptions::default())
    }

    /// The same with other limits; the bytes are limited in any case.
    pub fn in_memory_with(options: AuditOptions) -> AuditResult<Self> {
        let limits = Limits {
            rows: Some(options.rows.unwrap_or(MEMORY_ROWS)),
            bytes: Some(MEMORY_BYTES),
        };
        Self::start(AuditPlace::new_memory(), options.caps, limits)
    }

    fn start(place: AuditPlace, caps: Caps, limits: Limits) -> AuditResult<Self> {
        let connection = place.connect()?;
        prepare(&connection, &place, limits)?;
        let queue = Arc::new(Queue::default());
        let checkpoints = Arc::new(Checkpoints::default());
        let mut threads = Vec::new();
        let failed = |error: std::io::Error| AuditError::Thread(error.to_string());
        if let AuditPlace::File(_) = place {
            threads.push(checkpoints.start(place.connect()?).map_err(failed)?);
        }
        let (rows, log) = (Arc::clone(&queue), Arc::clone(&checkpoints));
        let write = move || writer::write_all(&connection, &rows, limits, &log);
        let thread = std::thread::Builder::new()
            .name("audit-writer".into())
            .spawn(write);
        match thread {
            Ok(thread) => threads.push(thread),
            Err(error) => {
                checkpoints.close();
                return Err(failed(error));
            }
        }
        Ok(Self {
            queue,
            checkpoints,
            threads: Mutex::new(threads),
            place,
            caps,
            redactor: Redactor::of_process(),
        })
    }

    /// The same, which knows further secrets: what clients send has the keys of the lab.
    pub fn with_secrets(mut self, secrets: impl IntoIterator<Item = String>) -> Self {
        self.redactor = self.redactor.with_secrets(secrets);
        self
    }

    /// Takes a row. The disk is not waited for, unless the queue to the thread that writes is full:
    /// then the caller's thread waits for room, as a row is never dropped. After [`close`](Self::close) rows
    /// are not taken.
    pub fn record(&self, row: AuditRow) {
        self.queue.push(self.prepared(row));
    }

    fn prepared(&self, mut row: AuditRow) -> AuditRow {
        redact_row(&mut row, &self.redactor);
        self.caps.apply(&mut row);
        row
    }

    /// Takes a row and never waits, for tasks: more rows than the queue has room for, so that they can
    /// wait with [`room`](Self::room) before there are more. Rows far beyond that are lost, and counted
    /// among the [lost ones](Self::loss).
    pub fn record_now(&self, row: AuditRow) {
        self.queue.put(self.prepared(row));
    }

    /// Whether the queue to the thread that writes has room.
    pub fn has_room(&self) -> bool {
        self.queue.has_room()
    }

    /// Waits until it has.
    pub async fn room(&self) {
        self.queue.room().await;
    }

    /// Whether it is in memory, and not in a file.
    pub fn is_in_memory(&self) -> bool {
        matches!(self.place, AuditPlace::Memory(_))
    }

    /// Waits until every row recorded so far can be read by others.
    pub fn flush(&self) {
        self.queue.flush();
    }

    /// Reads what this store wrote: the only way to what is in memory.
    pub fn reader(&self) -> AuditResult<AuditReader> {
        AuditReader::connect(self.place.clone())
    }

    /// Rows that could not be written so far, as the disk is full or the file gone.
    pub fn loss(&self) -> Option<AuditError> {
        self.queue.lost().map(AuditError::from)
    }

    /// Calls this when rows are lost for the first time, from the thread that writes or the one that
    /// records.
    pub fn on_loss(&self, tell: impl FnOnce(AuditError) + Send + 'static) {
        self.queue.on_loss(|lost| tell(lost.into()));
    }

    /// Writes everything that was recorded, and ends. An error if rows were lost at any time.
    pub fn close(&self) -> AuditResult<()> {
        self.queue.close();
        let mut threads = lock(&self.threads);
        // The one that writes was started last, and needs the other no more once it is done.
        while let Some(thread) = threads.pop() {
            let _ = thread.join();
            self.checkpoints.close();
        }
        drop(threads);
        self.loss().map_or(Ok(()), Err)
    }
}

impl Drop for AuditStore {
    fn drop(&mut self) {
        // Whoever wants to know what was lost calls `close`.
        let _ = self.close();
    }
}

/// Makes a connection ready to write: the tables, the log, the limits.
fn prepare(connection: &Connection, place: &AuditPlace, limits: Limits) -> AuditResult<()> {
    let path = place.path();
    let described = |error: rusqlite::Error| AuditError::from_sqlite(path, &error);
    // Asked first, so that a file of something else stays as it is.
    if !schema::is_empty(connection).map_err(described)? {
        schema::check(connection, path)?;
    }
    let settings = [
        ("journal_mode", "WAL"),
        // The log is not waited for: what is committed outlives the process, if not the machine.
        ("synchronous", "NORMAL"),
        ("wal_autocheckpoint", "0"),
        ("temp_store", "MEMORY"),
    ];
    for (name, value) in settings {
        connection
            .pragma_update_and_check(None, name, value, |_| Ok(()))
            .or_else(|error| match error {
                rusqlite::Error::QueryReturnedNoRows => Ok(()),
                error => Err(described(error)),
            })?;
    }
    schema::prepare(connection, path)?;
    writer::trim(connection, limits).map_err(described)
}
