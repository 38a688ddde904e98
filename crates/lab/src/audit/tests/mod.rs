//! The store and its reader together.

mod filtering;
mod places;

use std::path::Path;
use std::time::{Duration, SystemTime};

use super::*;

fn row(tool: &str, success: bool) -> AuditRow {
    AuditRow {
        ts: SystemTime::now(),
        duration_ms: 1.5,
        method: "tools/call".into(),
        tool_name: Some(tool.into()),
        parameters: Some(format!("{{\"tool\":\"{tool}\"}}")),
        success,
        transport: "stdio".into(),
        ..AuditRow::default()
    }
}

/// A row in which every column has something.
fn full_row() -> AuditRow {
    let text = |text: &str| Some(text.to_owned());
    AuditRow {
        id: 0,
        ts: SystemTime::UNIX_EPOCH + Duration::from_micros(1_767_225_600_123_456),
        duration_ms: 0.125,
        request_id: text("\"seven\""),
        session_id: text("session"),
        user: text("ada"),
        auth_type: text("api_key"),
        tool_name: text("error"),
        tool_group: text("failure"),
        parameters: text("{\"category\":\"auth\"}"),
        success: true,
        error_message: text("ünïcode \u{0}, \"quotes\"\nand lines"),
        error_category: text("auth"),
        request_chars: 1,
        response_chars: 2,
        content_blocks: 3,
        transport: "http".into(),
        source: text("client 1.0"),
        remote_addr: text("127.0.0.1:1"),
        user_agent: text("agent"),
        method: "tools/call".into(),
        protocol_version: text("2025-11-25"),
        error_code: Some(-32003),
        headers: text("{\"a\":\"b\"}"),
        response: text("{}"),
        parameters_cut: true,
        response_cut: true,
        headers_cut: true,
        notifications_sent: 4,
        cancelled: true,
    }
}

fn read(reader: &AuditReader, filter: Filter) -> Vec<AuditRow> {
    reader.rows(filter).map(Result::unwrap).collect()
}

fn ids(reader: &AuditReader, filter: Filter) -> Vec<i64> {
    read(reader, filter).iter().map(|row| row.id).collect()
}

fn sqlite(path: &Path) -> rusqlite::Connection {
    rusqlite::Connection::open(path).unwrap()
}

#[test]
fn every_column_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.db");
    let store = AuditStore::open(&path).unwrap();
    store.record(full_row());
    store.close().unwrap();
    let stored = AuditReader::open(&path).unwrap().row(1).unwrap();
    assert_eq!(
        stored,
        AuditRow {
            id: 1,
            ..full_row()
        }
    );
}

#[test]
fn the_names_of_the_columns_are_those_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.db");
    AuditStore::open(&path).unwrap().close().unwrap();
    let connection = sqlite(&path);
    let mut names: Vec<String> = connection
        .prepare("SELECT name FROM pragma_table_info('requests')")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let mut expected = COLUMNS.map(str::to_owned).to_vec();
    names.sort();
    expected.sort();
    assert_eq!(names, expected);
}

#[test]
fn a_file_is_gone_on_with_and_a_closed_store_takes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.db");
    for _ in 0..3 {
        let store = AuditStore::open(&path).unwrap();
        store.record(row("echo", true));
        store.close().unwrap();
        store.record(row("late", true));
        store.flush();
        store.close().unwrap();
    }
    let reader = AuditReader::open(&path).unwrap();
    assert_eq!(ids(&reader, Filter::default()), [3, 2, 1]);
    assert_eq!(reader.last_id().unwrap(), 3);
}

#[test]
fn rows_can_be_read_soon_while_the_store_is_open_and_nobody_flushes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.db");
    let store = AuditStore::open(&path).unwrap();
    let reader = AuditReader::open(&path).unwrap();
    for count in 1..=3 {
        store.record(row("echo", true));
        let deadline = SystemTime::now() + Duration::from_secs(20);
        while reader.last_id().unwrap() < count {
            assert!(SystemTime::now() < deadline, "row {count} does not come");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn the_oldest_rows_go_when_there_are_too_many() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.db");
    let options = AuditOptions {
        rows: Some(10),
        ..AuditOptions::default()
    };
    let store = AuditStore::open_with(&path, options).unwrap();
    for _ in 0..3000 {
        store.record(row("echo", true));
    }
    store.close().unwrap();
    let expected: Vec<i64> = (2991..=3000).rev().collect();
    assert_eq!(
        ids(&AuditReader::open(&path).unwrap(), Filter::default()),
        expected
    );
    // A smaller limit holds from the start.
    let options = AuditOptions {
        rows: Some(2),
        ..AuditOptions::default()
    };
    let store = AuditStore::open_with(&path, options).unwrap();
    assert_eq!(
        ids(&store.reader().unwrap(), Filter::default()),
        [3000, 2999]
    );
}

#[test]
fn memory_is_bounded_in_rows_and_bytes() {
    let store = AuditStore::in_memory().unwrap();
    for _ in 0..MEMORY_ROWS + 500 {
        store.record(row("echo", true));
    }
    store.flush();
    let reader = store.reader().unwrap();
    assert_eq!(reader.rows(Filter::default()).count() as u64, MEMORY_ROWS);
    let large = AuditRow {
        parameters: Some("x".repeat(60_000)),
        response: Some("x".repeat(60_000)),
        ..row("echo", true)
    };
    for _ in 0..1200 {
        store.record(large.clone());
    }
    store.flush();
    let kept = reader.rows(Filter {
        limit: Some(2000),
        ..Filter::default()
    });
    let bytes: usize = kept
        .map(|row| row.unwrap().response.unwrap_or_default().len())
        .sum();
    assert!(bytes > 10 << 20, "{bytes}");
    assert!((bytes as u64) < MEMORY_BYTES, "{bytes}");
    assert_eq!(store.loss(), None);
}

#[test]
fn payloads_over_the_cap_are_cut() {
    let store = AuditStore::in_memory().unwrap();
    store.record(AuditRow {
        response: Some("x".repeat(10 << 20)),
        ..row("echo", true)
    });
    store.flush();
    let stored = store.reader().unwrap().row(1).unwrap();
    assert!(stored.response_cut && !stored.parameters_cut);
    assert_eq!(stored.response.unwrap().len(), Caps::default().response);
}
