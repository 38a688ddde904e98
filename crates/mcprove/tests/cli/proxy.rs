//! `mcprove proxy` over stdio: streams pass, ends are told, and memory stays constant.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::support::{MCPROVE, TRANSCRIPT_FILTERS, assert_snapshot, mcprove, wait};

pub const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"message":"hi"}}}"#;
pub const HELLO: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;

/// Runs `mcprove proxy` with these arguments and this input.
pub fn proxy(arguments: &[&str], input: &str) -> (Option<i32>, String, String) {
    let all = [&["proxy"], arguments].concat();
    let mut child = start(&mut mcprove(&all));
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    drop(stdin);
    let (mut out, mut err) = (String::new(), String::new());
    let mut stderr = child.stderr.take().unwrap();
    let reading = std::thread::spawn(move || {
        stderr.read_to_string(&mut err).unwrap();
        err
    });
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut out)
        .unwrap();
    let status = wait(&mut child).expect("it ends");
    (status.code(), out, reading.join().unwrap())
}

pub fn start(command: &mut Command) -> Child {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

pub fn answers(output: &str) -> Vec<Value> {
    let lines = output.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn bytes_pass_and_the_status_of_the_server_is_ours() {
    let script = "cat; echo last >&2; printf 'no newline'; exit 7";
    let (code, out, err) = proxy(&["--", "sh", "-c", script], "one\r\n\n}{ bad\nhalf");
    assert_eq!(code, Some(7));
    assert_eq!(out, "one\r\n\n}{ bad\nhalfno newline");
    assert_snapshot!("proxy_summary", err, TRANSCRIPT_FILTERS.to_vec());
    let (code, _, err) = proxy(&["--quiet", "--", "sh", "-c", "kill -9 $$"], "");
    assert_eq!((code, err.as_str()), (Some(137), ""));
}

#[test]
fn disconnect_and_crash_end_the_connection() {
    for (fault, status) in [("disconnect", 0), ("crash", 1)] {
        let mut child = start(&mut mcprove(&[
            "proxy", "--fault", fault, "--", MCPROVE, "fixture", "normal",
        ]));
        // Our end stays open: it is the server's that closes.
        let mut stdin = child.stdin.take().unwrap();
        writeln!(stdin, "{HELLO}").unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert!(line.contains("\"result\""), "{line}");
        writeln!(stdin, "{CALL}").unwrap();
        line.clear();
        assert_eq!(stdout.read_line(&mut line).unwrap(), 0, "{line}");
        let ended = wait(&mut child).unwrap();
        assert_eq!(ended.code(), Some(status), "{fault}");
        drop(stdin);
    }
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_the_server_and_still_tells() {
    for signal in ["INT", "TERM"] {
        // It outlives the end of its input, and is told to end.
        let script = "echo ready; while true; do sleep 0.1; done";
        let mut child = start(&mut mcprove(&["proxy", "--", "sh", "-c", script]));
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let killed = Command::new("kill")
            .args([format!("-{signal}"), child.id().to_string()])
            .status();
        assert!(killed.unwrap().success());
        let ended = wait(&mut child).unwrap();
        assert_eq!(ended.code(), Some(130), "{signal}");
        let mut err = String::new();
        child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut err)
            .unwrap();
        assert_snapshot!("proxy_interrupted", err, TRANSCRIPT_FILTERS.to_vec());
    }
}

#[cfg(unix)]
#[test]
fn stderr_that_nobody_reads_holds_up_nothing() {
    let script = "yes eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee >&2 & exec cat";
    let mut child = start(&mut mcprove(&["proxy", "--", "sh", "-c", script]));
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    for number in 0..20 {
        writeln!(stdin, "{number}").unwrap();
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert_eq!(line.trim_end(), number.to_string());
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let id = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-TERM", &id])
            .status()
            .unwrap()
            .success()
    );
    let ended = wait(&mut child).expect("it ends");
    assert_eq!(ended.code(), Some(130));
}

/// The most memory that a process had so far, in KiB.
#[cfg(target_os = "linux")]
fn peak_kib(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let line = line.unwrap().trim().trim_end_matches(" kB");
    line.parse().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn much_traffic_takes_constant_memory() {
    const MESSAGES: usize = 10_000;
    const BYTES: usize = 64 * 1024;
    let mut child = start(&mut mcprove(&[
        "proxy",
        "--quiet",
        "--fault",
        "hang,tool=nobody",
        "--",
        "cat",
    ]));
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let reading = std::thread::spawn(move || {
        let mut buffer = vec![0; BYTES];
        let mut total = 0;
        while let Ok(length @ 1..) = stdout.read(&mut buffer) {
            total += length;
        }
        total
    });
    let mut message = vec![b'x'; BYTES - 1];
    message.push(b'\n');
    for _ in 0..100 {
        stdin.write_all(&message).unwrap();
    }
    let before = peak_kib(child.id());
    for _ in 100..MESSAGES {
        stdin.write_all(&message).unwrap();
    }
    let growth = peak_kib(child.id()).saturating_sub(before);
    drop(stdin);
    assert_eq!(reading.join().unwrap(), MESSAGES * BYTES);
    assert!(wait(&mut child).unwrap().success());
    // All of it would be 625 MiB.
    assert!(growth < 32 * 1024, "{growth} KiB");
}

/// A message far beyond what is looked at passes, whoever looks.
#[cfg(unix)]
#[test]
fn a_message_of_64_mib_passes() {
    const BYTES: usize = 64 * 1024 * 1024;
    let place = tempfile::tempdir().unwrap();
    let record = place.path().join("record.jsonl").display().to_string();
    let watching = ["--fault", "hang,tool=nobody", "--record", &record];
    let mut message = br#"{"jsonrpc":"2.0","id":1,"method":"ping","x":""#.to_vec();
    message.resize(BYTES, b'y');
    message.extend_from_slice(b"\"}\n");
    for flags in [&watching[..], &[]] {
        let mut child = start(&mut mcprove(
            &[&["proxy", "--quiet"], flags, &["--", "cat"]].concat(),
        ));
        let mut stdin = child.stdin.take().unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let reading = std::thread::spawn(move || {
            let mut heard = Vec::new();
            stdout.read_to_end(&mut heard).unwrap();
            heard
        });
        stdin.write_all(&message).unwrap();
        drop(stdin);
        assert!(reading.join().unwrap() == message);
        assert!(wait(&mut child).unwrap().success());
    }
}
