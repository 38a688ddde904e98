//! Every real server starts, answers `initialize`, and goes away.

// Helpers of tests may panic as tests do.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use harness::{RealServers, RunningServer, ServerKind, StartError, require};

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"harness","version":"0"}}}"#;
const ANSWER_DEADLINE: Duration = Duration::from_mins(1);

fn servers() -> Option<RealServers> {
    let servers = RealServers::locate();
    require("the real servers (cargo xtask setup)", servers.is_some());
    servers
}

fn connect(server: &RunningServer) -> (TcpStream, String, String) {
    let rest = server.url().strip_prefix("http://").unwrap();
    let (authority, path) = rest.split_once('/').unwrap();
    let stream = TcpStream::connect(authority).unwrap();
    stream.set_read_timeout(Some(ANSWER_DEADLINE)).unwrap();
    (stream, authority.to_owned(), format!("/{path}"))
}

fn read_until(stream: &mut TcpStream, wanted: &str) -> String {
    let mut seen = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let length = stream.read(&mut chunk).unwrap();
        seen.extend_from_slice(&chunk[..length]);
        let text = String::from_utf8_lossy(&seen);
        if text.contains(wanted) {
            return text.into_owned();
        }
        assert!(length > 0, "no {wanted} in {text}");
    }
}

fn initialize_over_http(server: &RunningServer) -> String {
    let (mut stream, authority, path) = connect(server);
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nHost: {authority}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n\r\n{INITIALIZE}",
        INITIALIZE.len()
    )
    .unwrap();
    read_until(&mut stream, "serverInfo")
}

#[test]
fn every_server_answers_over_http() {
    let Some(servers) = servers() else { return };
    for kind in ServerKind::ALL {
        let server = servers.start_http(kind, &[]).unwrap();
        let answer = initialize_over_http(&server);
        assert!(answer.starts_with("HTTP/1.1 200"), "{kind:?}: {answer}");
    }
}

#[test]
fn flags_reach_the_server() {
    let Some(servers) = servers() else { return };
    for kind in [ServerKind::Mcp1, ServerKind::Rmcp] {
        let server = servers
            .start_http(kind, &["--stateless", "--json"])
            .unwrap();
        let answer = initialize_over_http(&server).to_lowercase();
        assert!(
            answer.contains("content-type: application/json"),
            "{kind:?}: {answer}"
        );
    }
}

#[test]
fn the_servers_with_sse_open_a_stream() {
    let Some(servers) = servers() else { return };
    for kind in ServerKind::ALL {
        if !kind.has_sse() {
            let refused = servers.start_sse(kind).unwrap_err();
            assert!(matches!(refused, StartError::NoSse(_)), "{refused}");
            continue;
        }
        let server = servers.start_sse(kind).unwrap();
        let (mut stream, authority, path) = connect(&server);
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {authority}\r\n\r\n").unwrap();
        read_until(&mut stream, "event: endpoint");
    }
}

#[test]
fn every_server_answers_over_stdio() {
    let Some(servers) = servers() else { return };
    for kind in ServerKind::ALL {
        let command = servers.stdio(kind);
        let mut child = Command::new(&command.program)
            .args(&command.args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        writeln!(child.stdin.as_mut().unwrap(), "{INITIALIZE}").unwrap();
        let mut answer = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut answer)
            .unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(answer.contains("serverInfo"), "{kind:?}: {answer}");
    }
}

#[test]
fn dropping_a_server_closes_its_port() {
    let Some(servers) = servers() else { return };
    let server = servers.start_http(ServerKind::Rmcp, &[]).unwrap();
    let (_, authority, _) = connect(&server);
    drop(server);
    assert!(TcpStream::connect(authority).is_err());
}

#[test]
fn a_server_that_ends_at_once_says_why() {
    let Some(servers) = servers() else { return };
    let failure = servers
        .start_http(ServerKind::Mcp1, &["--no-such-flag"])
        .unwrap_err();
    assert!(matches!(failure, StartError::Ended { .. }), "{failure}");
    assert!(failure.to_string().contains("--no-such-flag"), "{failure}");
}

#[test]
fn the_conformance_suite_starts() {
    let Some(servers) = servers() else { return };
    let command = servers.conformance();
    let output = Command::new(&command.program)
        .args(&command.args)
        .arg("--help")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}
