//! What is left when the process that writes is killed.
//!
//! The process is this test program once more, told to run nothing but the test that writes.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use super::*;

/// Tells the process that writes where to.
const VARIABLE: &str = "MCPROVE_TEST_AUDIT_FILE";
/// What may be lost.
const LOSS_MAX: Duration = Duration::from_millis(100);
/// How long it writes before it is killed.
const WRITING: Duration = Duration::from_millis(700);
/// How often it must hold, and how often it is tried: on a machine with too much to do, a process
/// may stand still for longer than it may lose.
const NEEDED: usize = 3;
const ATTEMPTS: usize = 6;
/// How long it rests after each row. Few rows come, so none is written because many wait.
const REST: Duration = Duration::from_millis(2);

/// Not a test: the process that is killed. It tells of every row once it was recorded.
#[test]
#[ignore = "started by the test that kills it"]
fn writer() {
    let Some(path) = std::env::var_os(VARIABLE) else {
        return;
    };
    let store = AuditStore::open(path).unwrap();
    let mut output = std::io::stdout().lock();
    writeln!(output, "ready").unwrap();
    for number in 1_u64.. {
        let ts = SystemTime::now();
        store.record(AuditRow {
            ts,
            method: "tools/call".into(),
            tool_name: Some("echo".into()),
            request_id: Some(number.to_string()),
            response: Some("x".repeat(500)),
            ..AuditRow::default()
        });
        let micros = ts
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap()
            .as_micros();
        writeln!(output, "row {number} {micros}").unwrap();
        std::thread::sleep(REST);
    }
}

/// Kills a process that writes, and tells how old the oldest row is that it lost.
fn loss(path: &Path) -> Duration {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "audit::crash::writer",
            "--ignored",
            "--nocapture",
        ])
        .env(VARIABLE, path)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let lines = std::thread::spawn(move || {
        let told = lines.map_while(Result::ok).filter_map(|line| {
            let mut words = line.strip_prefix("row ")?.split(' ');
            let number: i64 = words.next()?.parse().ok()?;
            Some((number, words.next()?.parse::<u64>().ok()?))
        });
        told.collect::<Vec<_>>()
    });
    let deadline = Instant::now() + Duration::from_mins(1);
    while AuditReader::open(path)
        .and_then(|reader| reader.last_id())
        .unwrap_or(0)
        == 0
    {
        assert!(Instant::now() < deadline, "nothing is written");
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(WRITING);
    let killed = SystemTime::now();
    child.kill().unwrap();
    child.wait().unwrap();
    // The last line may have been cut in two by the end.
    let mut told = lines.join().unwrap();
    told.pop();
    assert!(told.len() > 20, "{} rows", told.len());

    let reader = AuditReader::open(path).unwrap();
    let filter = Filter {
        order: Order::OldestFirst,
        ..Filter::default()
    };
    let kept: Vec<String> = reader
        .rows(filter)
        .map(|row| row.unwrap().request_id.unwrap())
        .collect();
    // What is there is whole, in order, without a gap.
    let expected: Vec<String> = (1..=kept.len()).map(|number| number.to_string()).collect();
    assert_eq!(kept, expected);
    let lost = told
        .iter()
        .find(|(number, _)| *number > reader.last_id().unwrap());
    let Some((_, micros)) = lost else {
        return Duration::ZERO;
    };
    let recorded = SystemTime::UNIX_EPOCH + Duration::from_micros(*micros);
    killed.duration_since(recorded).unwrap_or_default()
}

#[test]
fn a_process_that_is_killed_loses_its_last_moment_and_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let (mut held, mut losses) = (0, Vec::new());
    for attempt in 0..ATTEMPTS {
        let path = folder.path().join(format!("{attempt}.db"));
        let loss = loss(&path);
        // What is there can be gone on with.
        AuditStore::open(&path).unwrap().close().unwrap();
        if loss <= LOSS_MAX {
            held += 1;
        } else {
            losses.push(loss);
        }
        if held == NEEDED {
            return;
        }
    }
    panic!("older rows were lost too often: {losses:?}");
}
