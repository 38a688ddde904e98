//! Files that cannot be used, or that others use too.

use super::*;
use mcprove_settings::message::UserError;

#[test]
fn what_is_no_audit_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(
        path("text"),
        "not a database, though long enough to be one ".repeat(100),
    )
    .unwrap();
    let foreign = sqlite(&path("foreign"));
    foreign.execute_batch("CREATE TABLE a (b)").unwrap();
    drop(foreign);
    AuditStore::open(path("newer")).unwrap().close().unwrap();
    sqlite(&path("newer"))
        .pragma_update(None, "user_version", 99)
        .unwrap();
    AuditStore::open(path("unversioned"))
        .unwrap()
        .close()
        .unwrap();
    sqlite(&path("unversioned"))
        .pragma_update(None, "user_version", 0)
        .unwrap();
    for (name, part) in [
        ("unversioned", "has no version"),
        ("text", "not a SQLite file"),
        ("foreign", "of something else"),
        ("newer", "version 99"),
    ] {
        let before = std::fs::read(path(name)).unwrap();
        let written = AuditStore::open(path(name)).unwrap_err();
        let read = AuditReader::open(path(name)).unwrap_err();
        for error in [written, read] {
            assert!(error.to_string().contains(part), "{name}: {error}");
            assert!(!error.hint().is_empty());
        }
        assert_eq!(std::fs::read(path(name)).unwrap(), before, "{name}");
    }
    std::fs::write(path("empty"), "").unwrap();
    assert!(AuditReader::open(path("empty")).is_err());
    AuditStore::open(path("empty")).unwrap();
    AuditReader::open(path("empty")).unwrap();
}

#[test]
fn places_that_cannot_be_used_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("no/such/audit.db");
    assert!(matches!(
        AuditStore::open(&missing),
        Err(AuditError::NoFolder { .. })
    ));
    assert!(matches!(
        AuditReader::open(&missing),
        Err(AuditError::NoFile(_))
    ));
    assert!(matches!(
        AuditStore::open(folder.path()),
        Err(AuditError::Foreign { .. })
    ));
    assert!(AuditReader::open(folder.path()).is_err());
}

#[test]
fn a_file_without_permission_to_write_is_read_and_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("100% audit?#.db");
    let store = AuditStore::open(&path).unwrap();
    store.record(row("echo", true));
    store.close().unwrap();
    let mut permissions = std::fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&path, permissions).unwrap();
    // Somebody with all rights, such as root, may write all the same.
    if std::fs::OpenOptions::new()
        .append(true)
        .open(&path)
        .is_err()
    {
        assert_eq!(
            AuditStore::open(&path).unwrap_err(),
            AuditError::ReadOnly(path.clone())
        );
    }
    assert_eq!(AuditReader::open(&path).unwrap().last_id().unwrap(), 1);
    let place = super::connection::AuditPlace::File(path);
    let connection = place.connect_at_rest().unwrap();
    let count: i64 = connection
        .query_row("SELECT count(*) FROM requests", [], |row| row.get(0))
        .unwrap();
    assert_eq!(count, 1);
}

#[test]
fn a_file_that_stays_locked_loses_rows_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.db");
    let store = AuditStore::open(&path).unwrap();
    let other = sqlite(&path);
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    store.record(row("echo", true));
    store.flush();
    let Some(AuditError::Lost { count: 1, reason }) = store.loss() else {
        panic!("{:?}", store.loss());
    };
    assert_eq!(reason, LossReason::Locked);
    let hint = store.loss().unwrap().hint().rendered();
    assert!(hint.contains("other process"), "{hint}");
    other.execute_batch("ROLLBACK").unwrap();
    store.record(row("echo", true));
    assert!(matches!(
        store.close(),
        Err(AuditError::Lost { count: 1, .. })
    ));
    assert_eq!(AuditReader::open(&path).unwrap().last_id().unwrap(), 1);
}

#[test]
fn two_stores_write_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.db");
    let stores = [
        AuditStore::open(&path).unwrap(),
        AuditStore::open(&path).unwrap(),
    ];
    for _ in 0..500 {
        for store in &stores {
            store.record(row("echo", true));
        }
    }
    for store in &stores {
        store.close().unwrap();
    }
    assert_eq!(
        AuditReader::open(&path)
            .unwrap()
            .rows(Filter::default())
            .count(),
        1000
    );
}

#[test]
fn a_file_of_the_first_version_is_read_as_it_is_and_brought_up_by_who_writes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("first.db");
    let store = AuditStore::open(&path).unwrap();
    store.record(AuditRow {
        method: "ping".into(),
        ..AuditRow::default()
    });
    store.close().unwrap();
    sqlite(&path)
        .execute_batch(
            "ALTER TABLE requests DROP COLUMN protocol_version;
             ALTER TABLE requests DROP COLUMN headers_cut;
             PRAGMA user_version = 1;",
        )
        .unwrap();
    let methods = || -> Vec<(String, Option<String>)> {
        let reader = AuditReader::open(&path).unwrap();
        assert!(reader.row(1).is_ok());
        let filter = Filter {
            order: Order::OldestFirst,
            ..Filter::default()
        };
        let rows = reader.rows(filter).map(Result::unwrap);
        rows.map(|row| (row.method, row.protocol_version)).collect()
    };
    let old = ("ping".to_owned(), None);
    assert_eq!(methods(), std::slice::from_ref(&old));
    let store = AuditStore::open(&path).unwrap();
    store.record(AuditRow {
        method: "tools/list".into(),
        protocol_version: Some("2025-11-25".into()),
        ..AuditRow::default()
    });
    store.close().unwrap();
    let new = ("tools/list".to_owned(), Some("2025-11-25".to_owned()));
    assert_eq!(methods(), [old, new]);
}

#[cfg(unix)]
#[test]
fn a_file_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.db");
    let store = AuditStore::open(&path).unwrap();
    store.record(AuditRow::default());
    store.flush();
    for suffix in ["", "-wal", "-shm"] {
        let file = folder.path().join(format!("audit.db{suffix}"));
        let mode = std::fs::metadata(file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{suffix}");
    }
    store.close().unwrap();
    // One that is there becomes private too.
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    AuditStore::open(&path).unwrap().close().unwrap();
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_locked_file_is_waited_for_and_a_loss_is_told_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.db");
    let store = AuditStore::open(&path).unwrap();
    let (told, losses) = std::sync::mpsc::channel();
    store.on_loss(move |error| told.send(error.to_string()).unwrap());
    let other = sqlite(&path);
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    store.record(AuditRow::default());
    // Longer than one attempt to write takes.
    std::thread::sleep(Duration::from_secs(7));
    other.execute_batch("ROLLBACK").unwrap();
    store.flush();
    assert_eq!(store.loss(), None);
    assert_eq!(store.reader().unwrap().last_id().unwrap(), 1);
    other.execute_batch("DROP TABLE requests").unwrap();
    store.record(AuditRow::default());
    store.flush();
    let loss = losses.recv_timeout(Duration::from_mins(1)).unwrap();
    assert!(loss.starts_with("1 rows of the audit were lost"), "{loss}");
    assert!(store.close().is_err());
}
