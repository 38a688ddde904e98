//! How fast the lab's audit takes rows, beside a plain loop of inserts, and how old the rows become
//! that a crash would lose.
//!
//! Run by `cargo xtask bench`. Prints one JSON object per figure on stdout. With `--quick` it writes
//! for a second instead of ten. Each of its files becomes about a gigabyte, and goes before the next.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use mcprove_lab::audit::{AuditReader, AuditRow, AuditStore, redact_headers};
use measuring::{Figure, Outcome, Selection};
use rusqlite::Connection;

/// Rows of the plain loop that share a commit.
const PLAIN_BATCH: u64 = 1000;
/// The pace that must be held, in rows a second.
const PACE: u32 = 20_000;
/// How often it is looked how old the newest row is that can be read.
const LOOK: Duration = Duration::from_millis(2);

fn main() -> Outcome<()> {
    let selection = Selection::from_arguments();
    let name = "audit, rows recorded and committed";
    if !selection.wants(name) {
        return Ok(());
    }
    let seconds = if selection.has("--quick") { 1 } else { 10 };
    let time = Duration::from_secs(seconds);
    let plain = insert_plainly(&tempfile::tempdir()?.path().join("plain.db"), time)?;
    let (rate, oldest) = record(time, None)?;
    Figure::new(name, rate, "rows/s")
        .at_least(PACE.into())
        .beside(format!("{plain:.0} rows/s by a plain loop"))
        .print();
    let (paced, oldest_paced) = record(time, Some(PACE))?;
    let loss = "audit, the oldest row that a crash would lose";
    let milliseconds = |age: Duration| age.as_secs_f64() * 1000.0;
    Figure::new(
        format!("{loss}, at {PACE} rows/s"),
        milliseconds(oldest_paced),
        "ms",
    )
    .at_most(100.0)
    .beside(format!("{paced:.0} rows/s"))
    .print();
    Figure::new(format!("{loss}, at full pace"), milliseconds(oldest), "ms").print();
    Ok(())
}

/// A row as a call over HTTP leaves it.
fn row(number: u64) -> AuditRow {
    let text = |text: &str| Some(text.to_owned());
    let is_error = number.is_multiple_of(10);
    AuditRow {
        ts: SystemTime::now(),
        duration_ms: 1.25,
        request_id: Some(number.to_string()),
        session_id: Some(format!("0198f1c2-0000-7000-8000-{:012}", number % 50)),
        user: text("ada"),
        auth_type: text("api_key"),
        tool_name: text(if is_error { "flaky" } else { "echo" }),
        tool_group: text("failure"),
        parameters: Some(format!(
            "{{\"seed\":\"bench\",\"call_id\":{number},\"fail_rate\":0.1}}"
        )),
        success: !is_error,
        error_message: is_error.then(|| "flaky failure (roll=0.0512 < rate=0.1000)".into()),
        error_category: is_error.then(|| "tool".into()),
        request_chars: 180,
        response_chars: 240,
        content_blocks: 1,
        transport: "http".into(),
        remote_addr: text("127.0.0.1:50123"),
        user_agent: text("python-httpx/0.28.1"),
        method: "tools/call".into(),
        headers: Some(redact_headers([
            ("accept", "application/json, text/event-stream"),
            ("content-type", "application/json"),
            ("x-api-key", "secret"),
        ])),
        response: Some(format!(
            "{{\"content\":[{{\"type\":\"text\",\"text\":\"call {number}\"}}],\
             \"structuredContent\":{{\"fail_rate\":0.1,\"failed\":false,\"roll\":0.51}}}}"
        )),
        notifications_sent: 1,
        ..AuditRow::default()
    }
}

/// Rows a second, at full pace unless told, and the age of the oldest one that was not yet committed.
fn record(time: Duration, pace: Option<u32>) -> Outcome<(f64, Duration)> {
    let folder = tempfile::tempdir()?;
    let path = &folder.path().join("audit.db");
    let store = AuditStore::open(path)?;
    let is_over = AtomicBool::new(false);
    let began = Instant::now();
    let (count, oldest) = std::thread::scope(|scope| {
        let watching = scope.spawn(|| oldest_uncommitted(path, &is_over));
        let mut count = 0;
        while began.elapsed() < time {
            count += 1;
            store.record(row(count));
            // A hundred at a time, as shorter rests cannot be kept.
            if let Some(pace) = pace
                && count.is_multiple_of(100)
            {
                let due = Duration::from_secs(count) / pace;
                std::thread::sleep(due.saturating_sub(began.elapsed()));
            }
        }
        is_over.store(true, Ordering::Relaxed);
        (count, watching.join())
    });
    store.close()?;
    let seconds = began.elapsed().as_secs_f64();
    let oldest = oldest.map_err(|_| "the reader panicked")??;
    let stored = AuditReader::open(path)?.last_id()?;
    if u64::try_from(stored)? != count {
        return Err(format!("{stored} rows of {count} are there").into());
    }
    #[allow(clippy::cast_precision_loss)]
    Ok((count as f64 / seconds, oldest))
}

/// Rows come without a pause, so what is not committed is at most as old as the newest row that is.
fn oldest_uncommitted(
    path: &Path,
    is_over: &AtomicBool,
) -> Result<Duration, mcprove_lab::audit::AuditError> {
    let reader = AuditReader::open(path)?;
    let mut oldest = Duration::ZERO;
    while !is_over.load(Ordering::Relaxed) {
        let now = SystemTime::now();
        let last = reader.last_id()?;
        if last > 0 {
            let age = now.duration_since(reader.row(last)?.ts).unwrap_or_default();
            oldest = oldest.max(age);
        }
        std::thread::sleep(LOOK);
    }
    Ok(oldest)
}

/// Rows a second of a plain loop on one thread, with as many columns and no index.
fn insert_plainly(path: &Path, time: Duration) -> Outcome<f64> {
    let connection = Connection::open(path)?;
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.execute_batch(
        "CREATE TABLE rows (id INTEGER PRIMARY KEY, ts, duration_ms, request_id, session_id, user,
            auth_type, tool_name, tool_group, parameters, success, error_message, error_category,
            request_chars, response_chars, content_blocks, transport, remote_addr, user_agent,
            method, headers, response, notifications_sent)",
    )?;
    let mut insert = connection.prepare(
        "INSERT INTO rows (ts, duration_ms, request_id, session_id, user, auth_type, tool_name,
            tool_group, parameters, success, error_message, error_category, request_chars,
            response_chars, content_blocks, transport, remote_addr, user_agent, method, headers,
            response, notifications_sent)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18,
            ?19, ?20, ?21, ?22)",
    )?;
    let began = Instant::now();
    let mut count = 0;
    while began.elapsed() < time {
        connection.execute_batch("BEGIN")?;
        for _ in 0..PLAIN_BATCH {
            count += 1;
            let row = row(count);
            let micros = row.ts.duration_since(SystemTime::UNIX_EPOCH)?.as_micros();
            insert.execute(rusqlite::params![
                i64::try_from(micros)?,
                row.duration_ms,
                row.request_id,
                row.session_id,
                row.user,
                row.auth_type,
                row.tool_name,
                row.tool_group,
                row.parameters,
                row.success,
                row.error_message,
                row.error_category,
                i64::try_from(row.request_chars)?,
                i64::try_from(row.response_chars)?,
                i64::try_from(row.content_blocks)?,
                row.transport,
                row.remote_addr,
                row.user_agent,
                row.method,
                row.headers,
                row.response,
                i64::try_from(row.notifications_sent)?,
            ])?;
        }
        connection.execute_batch("COMMIT")?;
    }
    #[allow(clippy::cast_precision_loss)]
    Ok(count as f64 / began.elapsed().as_secs_f64())
}
