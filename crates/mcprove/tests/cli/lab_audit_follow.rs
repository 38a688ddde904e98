//! `mcprove lab audit --follow`: rows as they are written.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use mcprove_lab::audit::AuditStore;
use serde_json::Value;

use crate::lab_audit::{call, file, record, rows};
use crate::support::{mcprove, wait};

/// How long a row may take to be shown.
const PATIENCE: Duration = Duration::from_mins(1);

/// A command that follows, and the lines that it prints.
struct Following {
    child: Child,
    lines: mpsc::Receiver<String>,
}

impl Following {
    fn start(path: &Path, arguments: &[&str]) -> Self {
        let path = path.display().to_string();
        let arguments = [["lab", "audit", &path, "--follow"].as_slice(), arguments].concat();
        let mut child = mcprove(&arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self { child, lines }
    }

    fn next(&self) -> String {
        self.lines.recv_timeout(PATIENCE).unwrap()
    }

    fn next_tool(&self) -> String {
        let row: Value = serde_json::from_str(&self.next()).unwrap();
        row["tool_name"].as_str().unwrap().to_owned()
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn following_goes_on_when_the_lab_starts_again_or_the_file_is_made_anew() {
    let before = (0..20).map(|number| call(number, &format!("old{number}"), "{}"));
    let (_folder, path) = file(before.collect());
    let following = Following::start(&path, &["--json", "--limit", "2"]);
    assert_eq!(following.next_tool(), "old18");
    assert_eq!(following.next_tool(), "old19");
    for name in ["first", "second"] {
        record(&path, vec![call(30, name, "{}")]);
        assert_eq!(following.next_tool(), name);
    }
    let store = AuditStore::open(&path).unwrap();
    store.record(call(31, "live", "{}"));
    assert_eq!(following.next_tool(), "live");
    store.close().unwrap();
    drop(store);
    std::fs::remove_file(&path).unwrap();
    record(&path, vec![call(32, "anew", "{}")]);
    assert_eq!(following.next_tool(), "anew");
}

#[test]
fn following_shows_lines_that_the_filters_want() {
    let (_folder, path) = file(rows());
    let following = Following::start(&path, &["--failed", "--tool", "error"]);
    assert!(following.next().contains("outcome"));
    let row = following.next();
    assert!(
        row.contains("2026-01-01 ") && row.contains("auth -32003"),
        "{row}"
    );
    assert!(following.next().contains("no entry"));
    record(&path, vec![call(6, "echo", "{}"), rows().remove(2)]);
    assert!(following.next().contains("auth -32003"));
}

#[cfg(unix)]
#[test]
fn following_ends_by_a_signal_with_130() {
    let (_folder, path) = file(rows());
    let mut following = Following::start(&path, &[]);
    following.next();
    let id = following.child.id().to_string();
    let killed = std::process::Command::new("kill")
        .args(["-INT", &id])
        .status();
    assert!(killed.unwrap().success());
    assert_eq!(wait(&mut following.child).unwrap().code(), Some(130));
}

#[test]
fn following_ends_when_nobody_reads() {
    let (_folder, path) = file(rows());
    let path_text = path.display().to_string();
    let mut child = mcprove(&["lab", "audit", &path_text, "--follow"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    output.read_line(&mut String::new()).unwrap();
    drop(output);
    record(&path, rows());
    assert_eq!(wait(&mut child).unwrap().code(), Some(0));
}

#[test]
fn two_processes_read_while_it_is_written() {
    const COUNT: u64 = 20_000;
    let (_folder, path) = file(Vec::new());
    // What was written before they looked first is shown too.
    let arguments = ["--json", "--limit", "1000000"];
    let readers = [0, 1].map(|_| Following::start(&path, &arguments));
    let store = AuditStore::open(&path).unwrap();
    for number in 0..COUNT {
        store.record(call(number, "echo", "{}"));
    }
    for reader in &readers {
        for number in 1..=COUNT {
            let row: Value = serde_json::from_str(&reader.next()).unwrap();
            assert_eq!(row["id"], number);
        }
    }
    // Until now it was open, and nothing was lost.
    assert_eq!(store.loss(), None);
    store.close().unwrap();
}
