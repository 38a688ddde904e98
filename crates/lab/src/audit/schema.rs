//! How the audit stands in a SQLite file: one table, indexes for what is looked for, a version.

use crate::prelude::*;

/// Says in the head of a file that it is an audit: "mcpa".
const APPLICATION_ID: i64 = 0x6d63_7061;
/// The version that is written. Files of earlier versions are brought up to it by whoever writes to
/// them, and read as they are.
pub const VERSION: i64 = 2;
const FIRST_VERSION: i64 = 1;

/// What a file of the first version lacks. Whoever still writes in that version leaves it empty.
const UPGRADE: &str = "
ALTER TABLE requests ADD COLUMN protocol_version TEXT;
ALTER TABLE requests ADD COLUMN headers_cut INTEGER NOT NULL DEFAULT 0;
";

/// What is short comes first, so that looking for a row does not read what is long. Indexes hold
/// the id too, so rows that are found by one come in the order of their ids.
const CREATE: &str = "
CREATE TABLE requests (
    id INTEGER PRIMARY KEY,
    ts TEXT NOT NULL,
    duration_ms REAL NOT NULL,
    method TEXT NOT NULL,
    tool_name TEXT,
    tool_group TEXT,
    success INTEGER NOT NULL,
    cancelled INTEGER NOT NULL,
    error_category TEXT,
    error_code INTEGER,
    session_id TEXT,
    request_id TEXT,
    user TEXT,
    auth_type TEXT,
    transport TEXT NOT NULL,
    source TEXT,
    remote_addr TEXT,
    user_agent TEXT,
    request_chars INTEGER NOT NULL,
    response_chars INTEGER NOT NULL,
    content_blocks INTEGER NOT NULL,
    notifications_sent INTEGER NOT NULL,
    parameters_cut INTEGER NOT NULL,
    response_cut INTEGER NOT NULL,
    error_message TEXT,
    parameters TEXT,
    headers TEXT,
    response TEXT,
    protocol_version TEXT,
    headers_cut INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX requests_by_ts ON requests (ts);
CREATE INDEX requests_by_tool ON requests (tool_name) WHERE tool_name IS NOT NULL;
CREATE INDEX requests_by_session ON requests (session_id) WHERE session_id IS NOT NULL;
CREATE INDEX requests_by_category ON requests (error_category) WHERE error_category IS NOT NULL;
CREATE INDEX requests_failed ON requests (success) WHERE success = 0;
CREATE TABLE origin (created TEXT NOT NULL);
";

/// Makes the tables of a file that has none, and refuses one that is no audit of ours.
pub fn prepare(connection: &Connection, path: &Path) -> AuditResult<()> {
    let result = |error: rusqlite::Error| AuditError::from_sqlite(path, &error);
    // Two processes may open a new file at once.
    let whole = Transaction::new_unchecked(connection, TransactionBehavior::Immediate);
    let whole = whole.map_err(result)?;
    if is_empty(connection).map_err(result)? {
        create(connection).map_err(result)?;
    } else if check(connection, path)? < VERSION {
        upgrade(connection).map_err(result)?;
    }
    whole.commit().map_err(result)
}

/// The version of a file. Refuses one that is no audit, or of a version that is not known.
pub fn check(connection: &Connection, path: &Path) -> AuditResult<i64> {
    let pragma = |name: &str| -> AuditResult<i64> {
        connection
            .pragma_query_value(None, name, |row| row.get(0))
            .map_err(|error| AuditError::from_sqlite(path, &error))
    };
    if pragma("application_id")? != APPLICATION_ID {
        let is_empty = pragma("page_count")? == 0;
        return Err(AuditError::Foreign {
            path: path.to_owned(),
            reason: if is_empty {
                "it is empty"
            } else {
                "it is a SQLite file of something else"
            },
        });
    }
    match pragma("user_version")? {
        version @ FIRST_VERSION..=VERSION => Ok(version),
        ..FIRST_VERSION => Err(AuditError::Foreign {
            path: path.to_owned(),
            reason: "it says that it is one, and has no version",
        }),
        found => Err(AuditError::Newer {
            path: path.to_owned(),
            found,
            known: VERSION,
        }),
    }
}

/// Whether a file has no tables and nobody's mark.
pub fn is_empty(connection: &Connection) -> rusqlite::Result<bool> {
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let mark: i64 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    Ok(tables == 0 && mark == 0)
}

fn upgrade(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(UPGRADE)?;
    connection.pragma_update(None, "user_version", VERSION)
}

fn create(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(CREATE)?;
    let now = super::time::format_time(std::time::SystemTime::now());
    connection.execute(
        "INSERT INTO origin VALUES (?1 || ' ' || hex(randomblob(8)))",
        [now],
    )?;
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.pragma_update(None, "user_version", VERSION)
}
