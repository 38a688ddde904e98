//! `mcprove lab audit`: what is written out of the file, and what is sent again from it.

use std::path::Path;

use mcprove_lab::audit::{AuditReader, AuditStore, Filter};

use crate::lab_audit::{call, file, record};
use crate::support::{MCPROVE, Output, finish, mcprove};

fn audit(path: &Path, arguments: &[&str]) -> Output {
    let path = path.display().to_string();
    let all = [&["lab", "audit", path.as_str()], arguments].concat();
    finish(mcprove(&all))
}

fn count(path: &Path) -> usize {
    AuditReader::open(path)
        .unwrap()
        .rows(Filter::default())
        .count()
}

#[test]
fn an_export_never_goes_into_the_audit() {
    let (folder, path) = file(vec![call(1, "echo", "{}")]);
    // While somebody writes, the newest rows are in the log beside the file.
    let store = AuditStore::open(&path).unwrap();
    store.record(call(2, "echo", "{}"));
    store.flush();
    let name = path.display().to_string();
    let link = folder.path().join("link");
    let log_link = folder.path().join("log-link");
    std::fs::hard_link(&path, &link).unwrap();
    std::fs::hard_link(format!("{name}-wal"), &log_link).unwrap();
    let mut targets = vec![
        name.clone(),
        format!("{name}-wal"),
        format!("{name}-shm"),
        format!("{name}-journal"),
    ];
    if cfg!(unix) {
        targets.extend([link.display().to_string(), log_link.display().to_string()]);
    }
    for target in targets {
        let output = audit(&path, &["--export", "jsonl", "-o", &target]);
        assert_eq!(output.code, Some(2), "{target}: {output:?}");
        assert_eq!(count(&path), 2, "{target}");
    }
    store.record(call(3, "echo", "{}"));
    store.close().unwrap();
    assert_eq!(count(&path), 3);
}

#[test]
fn an_export_takes_its_place_whole_and_leaves_nothing_beside_it() {
    let (folder, path) = file(vec![call(1, "echo", "{}")]);
    let target = folder.path().join("rows.jsonl");
    std::fs::write(&target, "what was there before, and is longer than a row").unwrap();
    let name = target.display().to_string();
    let output = audit(&path, &["--export", "jsonl", "-o", &name]);
    assert_eq!(output.code, Some(0), "{output:?}");
    let text = std::fs::read_to_string(&target).unwrap();
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.starts_with("{\"id\":1,"), "{text}");
    let entries = std::fs::read_dir(folder.path()).unwrap();
    let parts = entries
        .filter(|entry| {
            let name = entry.as_ref().unwrap().file_name();
            name.to_string_lossy().ends_with(".part")
        })
        .count();
    assert_eq!(parts, 0);
    let nowhere = folder.path().join("no/such/rows.jsonl");
    let nowhere = nowhere.display().to_string();
    let output = audit(&path, &["--export", "jsonl", "-o", &nowhere]);
    assert_eq!(output.code, Some(2), "{output:?}");
}

#[test]
fn a_request_of_any_era_gets_the_same_from_the_lab_that_recorded_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lab.db");
    let name = path.display().to_string();
    for revision in ["2024-11-05", "2025-11-25", "2026-07-28"] {
        let probe = ["probe", "--protocol", revision, "--"];
        let lab = [MCPROVE, "lab", "--audit", &name];
        finish(mcprove(&[probe.as_slice(), &lab].concat()));
    }
    let reader = AuditReader::open(&path).unwrap();
    let rows: Vec<_> = reader.rows(Filter::default()).map(Result::unwrap).collect();
    let lists: Vec<_> = rows
        .iter()
        .filter(|row| row.method == "tools/list")
        .collect();
    assert!(lists.len() >= 3, "{rows:#?}");
    for row in lists {
        assert!(row.protocol_version.is_some(), "{row:?}");
        let id = row.id.to_string();
        let replay = ["replay", &id, "--", MCPROVE, "lab"];
        let output = audit(&path, &replay);
        assert_eq!(
            output.code,
            Some(0),
            "{:?}: {output:?}",
            row.protocol_version
        );
    }
}

#[test]
fn a_given_revision_goes_before_the_recorded_one() {
    let (_folder, path) = file(Vec::new());
    let mut row = call(1, "echo", r#"{"message":"hi"}"#);
    row.protocol_version = Some("2025-11-25".into());
    record(&path, vec![row]);
    let meta = |arguments: &[&str]| {
        let server = ["--", MCPROVE, "lab"];
        let all = [["replay", "1", "--json"].as_slice(), arguments, &server].concat();
        audit(&path, &all).stdout.contains("resultType")
    };
    assert!(!meta(&[]));
    assert!(meta(&["--protocol", "2026-07-28"]));
}
