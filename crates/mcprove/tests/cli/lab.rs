//! `mcprove lab`: the server that fails on purpose, as a process.

use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Stdio;

use mcprove_lab::audit::{AuditReader, AuditRow, Filter};
use serde_json::Value;

use crate::support::{Fixture, assert_transcript, finish, mcprove, run, wait};

fn example() -> File {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/lab");
    File::open(folder.join("requests.jsonl")).unwrap()
}

fn rows(file: &Path) -> Vec<AuditRow> {
    let reader = AuditReader::open(file).unwrap();
    let mut rows: Vec<_> = reader.rows(Filter::default()).map(Result::unwrap).collect();
    rows.sort_by_key(|row| row.id);
    rows
}

/// The arguments, and a file for the audit.
fn with_audit(arguments: &[&str], file: &Path) -> Vec<String> {
    let mut all: Vec<String> = arguments.iter().map(|each| (*each).to_owned()).collect();
    all.extend(["--audit".into(), file.display().to_string()]);
    all
}

#[test]
fn an_audit_keeps_as_many_rows_as_it_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lab.db");
    let arguments = with_audit(&["lab", "--audit-rows", "2"], &file);
    let mut child = mcprove(&arguments)
        .stdin(example())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    assert_eq!(wait(&mut child).unwrap().code(), Some(0));
    let reader = AuditReader::open(&file).unwrap();
    assert_eq!(reader.rows(Filter::default()).count(), 2);
    let output = run(&["lab", "--audit-rows", "0"]);
    assert_eq!(output.code, Some(2), "{output:?}");
}

#[test]
fn the_example_is_answered_and_audited() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lab.db");
    let mut child = mcprove(&with_audit(&["lab"], &file))
        .stdin(example())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = String::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut output)
        .unwrap();
    assert_eq!(wait(&mut child).unwrap().code(), Some(0));
    let mut answers: Vec<Value> = output
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    answers.sort_by_key(|answer| answer["id"].as_u64());
    // The last call is cancelled by the end of stdin.
    assert_eq!(answers.len(), 6, "{output}");
    assert_eq!(
        answers[1]["error"]["message"],
        "flaky failure (roll=0.1198 < rate=0.5000)"
    );
    assert_eq!(answers[2]["result"]["structuredContent"]["failed"], false);
    assert_eq!(answers[3]["error"]["code"], -32_003);
    assert_eq!(answers[5]["result"]["structuredContent"]["applied"], false);
    let rows = rows(&file);
    assert_eq!(rows.len(), 7);
    let slow = rows.last().unwrap();
    assert_eq!(slow.tool_name.as_deref(), Some("slow"));
    assert!(slow.cancelled && slow.duration_ms < 30_000.0, "{slow:?}");
}

fn get(url: &str, headers: &str) -> String {
    let address = url.trim_start_matches("http://").trim_end_matches("/mcp");
    let mut stream = TcpStream::connect(address).unwrap();
    let request =
        format!("GET /mcp HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{headers}\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn keys_come_from_arguments_a_file_and_the_environment() {
    let folder = tempfile::tempdir().unwrap();
    let keys = folder.path().join("keys");
    std::fs::write(&keys, "# who may\nada=file-key\n").unwrap();
    let keys = keys.display().to_string();
    let mut command = mcprove(&[
        "lab",
        "--http",
        "127.0.0.1:0",
        "--api-key",
        "flag=flag-key",
        "--api-keys-file",
        &keys,
    ]);
    command.env("MCPROVE_LAB_API_KEYS", "grace=variable-key,other-key");
    let server = Fixture::start_command(command);
    for key in ["file-key", "flag-key", "variable-key", "other-key"] {
        // Let in, and then refused for the lack of a session.
        let answer = get(
            &server.url,
            &format!("Accept: text/event-stream\r\nX-Api-Key: {key}\r\n"),
        );
        assert!(answer.starts_with("HTTP/1.1 400"), "{key}: {answer}");
    }
    let answer = get(&server.url, "Authorization: Bearer another-key\r\n");
    assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
    assert!(
        answer.to_lowercase().contains("www-authenticate: bearer"),
        "{answer}"
    );
    let header = ["--header", "Authorization: Bearer file-key"];
    let probe = [["probe", "--url", &server.url].as_slice(), &header].concat();
    let output = run(&probe);
    assert!(output.stdout.contains("whoami"), "{output:?}");
}

#[cfg(unix)]
#[test]
fn an_interrupted_lab_writes_the_rows_of_what_it_was_working_on() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lab.db");
    let arguments = with_audit(&["lab", "--http", "127.0.0.1:0"], &file);
    let mut server = Fixture::start_command(mcprove(&arguments));
    let address = server
        .url
        .trim_start_matches("http://")
        .trim_end_matches("/mcp")
        .to_owned();
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","arguments":{"milliseconds":60000},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let mut stream = TcpStream::connect(&address).unwrap();
    let head = "Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n\
                MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: slow\r\n";
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\n{head}Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500));
    let id = server.child().id().to_string();
    let status = std::process::Command::new("kill")
        .args(["-INT", &id])
        .status()
        .unwrap();
    assert!(status.success());
    assert_eq!(wait(server.child()).unwrap().code(), Some(0));
    let rows = rows(&file);
    assert_eq!(rows.len(), 1);
    assert!(rows[0].cancelled && rows[0].duration_ms > 100.0, "{rows:?}");
}

#[test]
fn what_cannot_work_is_told_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        std::fs::write(folder.path().join(name), text).unwrap();
        folder.path().join(name).display().to_string()
    };
    let empty = file("keys", "# nobody\n");
    let slip = file("slip", "# users\nada=key\ngrace=two words\n");
    let network = ["--http", "127.0.0.1:0"];
    let cases: [&[&str]; 15] = [
        &["--api-key", "secret"],
        &["--http", "nowhere"],
        &["--http", "203.0.113.1:1"],
        &["--http", "127.0.0.1:0", "--ws", "127.0.0.1:0"],
        &["--sse", "127.0.0.1:0", "--era", "stateless"],
        &["--page-size", "0"],
        &["--audit-rows", "few"],
        &["--era", "bronze"],
        &["--audit", "no/such/folder/lab.db"],
        &[&network[..], &["--api-key", ""]].concat(),
        &[&network[..], &["--api-key", "a=b", "--api-key", "a=c"]].concat(),
        &[&network[..], &["--api-keys-file", "no-such-file"]].concat(),
        &[&network[..], &["--api-keys-file", &empty]].concat(),
        &[&network[..], &["--api-keys-file", &slip]].concat(),
        &[&network[..], &["--api-key", "a=se cret"]].concat(),
    ];
    let outputs = cases.map(|arguments| run(&[&["lab"], arguments].concat()));
    assert!(outputs.iter().all(|output| output.code == Some(2)));
    assert!(!outputs[14].stderr.contains("se cret"), "{outputs:?}");
    assert_transcript!("lab_refused", &outputs);
}

#[test]
fn a_variable_without_a_key_opens_no_door() {
    let outputs = ["", " , ", "# nobody"].map(|text| {
        let mut command = mcprove(&["lab", "--http", "127.0.0.1:0", "--api-key", "a=b"]);
        command.env("MCPROVE_LAB_API_KEYS", text);
        finish(command)
    });
    assert_transcript!("lab_no_key", &outputs);
}

#[test]
fn an_address_may_be_written_as_people_do() {
    for address in ["localhost:0", "0", ":0"] {
        let server = Fixture::start_command(mcprove(&["lab", "--http", address]));
        assert!(server.url.starts_with("http://127.0.0.1:"), "{address}");
    }
}

#[test]
fn a_port_that_is_taken_has_the_same_hint_everywhere() {
    let server = Fixture::start_command(mcprove(&["lab", "--http", "0"]));
    let taken = server.url.trim_start_matches("http://");
    let taken = taken.trim_end_matches("/mcp");
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/mock/tools.yml");
    let tools = tools.display().to_string();
    let outputs = [
        ["lab"].as_slice(),
        &["mock", "--tools-from", &tools],
        &["fixture", "normal"],
    ]
    .map(|command| run(&[command, &["--http", taken]].concat()));
    assert_transcript!("lab_port_taken", &outputs);
}

#[test]
fn a_lab_whose_answers_nobody_reads_ends() {
    let mut child = mcprove(&["lab"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut input = child.stdin.take().unwrap();
    input
        .write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n")
        .unwrap();
    // Its stdin stays open.
    assert_eq!(wait(&mut child).unwrap().code(), Some(0));
    drop(input);
    let mut stderr = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut stderr)
        .unwrap();
    // And nothing is explained to whoever is no terminal.
    assert_eq!(stderr, "");
}

/// With a terminal of its own, which `script` makes.
#[cfg(target_os = "linux")]
#[test]
fn on_a_terminal_a_server_says_what_it_waits_for() {
    use std::process::Command;

    use crate::support::MCPROVE;

    if Command::new("script").arg("--version").output().is_err() {
        return;
    }
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/mock/tools.yml");
    let mock = format!("{MCPROVE} mock --tools-from {}", tools.display());
    for command in [format!("{MCPROVE} lab"), mock] {
        let mut script = Command::new("script");
        script.args(["-qec", &command, "/dev/null"]);
        let mut child = script
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // Ctrl-D, on a line of its own.
        let mut input = child.stdin.take().unwrap();
        let mut shown = String::new();
        let mut output = child.stdout.take().unwrap();
        let mut bytes = [0; 1024];
        while !shown.contains("--http 127.0.0.1:8080") {
            let count = output.read(&mut bytes).unwrap();
            assert!(count > 0, "{shown}");
            shown.push_str(&String::from_utf8_lossy(&bytes[..count]));
        }
        input.write_all(b"\x04").unwrap();
        assert_eq!(wait(&mut child).unwrap().code(), Some(0), "{shown}");
    }
}
