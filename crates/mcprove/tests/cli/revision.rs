//! Revisions that a server does not speak.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use harness::ServerKind;

use crate::probe_real::{command, servers};
use crate::support::{Comparison, Fixture, assert_snapshot, in_parallel, in_parallel_real, probe};

#[test]
fn a_forced_revision_that_a_real_server_lacks_cannot_be_probed() {
    let Some(servers) = servers() else { return };
    let kinds = [ServerKind::Everything, ServerKind::Mcp1];
    let jobs = kinds
        .into_iter()
        .flat_map(|kind| ["stdio", "http", "sse"].map(|transport| (kind, transport)));
    in_parallel_real(jobs, |(kind, transport)| {
        let running = match transport {
            "http" => Some(servers.start_http(kind, &[]).unwrap()),
            "sse" => Some(servers.start_sse(kind).unwrap()),
            _ => None,
        };
        let target = match &running {
            Some(server) => vec!["--url".to_owned(), server.url().to_owned()],
            None => command(&servers, kind),
        };
        let mut arguments = vec!["--protocol".to_owned(), "2026-07-28".to_owned()];
        if transport == "sse" {
            arguments.extend(["--transport".to_owned(), "sse".to_owned()]);
        }
        arguments.extend(target);
        let output = probe(&arguments);
        let mut comparison = Comparison::new(format!("{} {transport}", kind.name()));
        comparison.same("exit code", output.code, Some(2));
        comparison.holds("stdout", &output.stdout, "\"outcome\": \"error\"");
        // What it answered is up to the server.
        let answer = (r"\(it answered: .*\)", "([answer])");
        assert_snapshot!("revision_older", output.stderr, vec![answer]);
        comparison.finish(&output)
    });
}

#[test]
fn a_server_of_one_era_is_found_in_auto_and_refuses_the_other() {
    let jobs = ["handshake", "stateless"]
        .into_iter()
        .flat_map(|era| ["stdio", "http", "ws"].map(|transport| (era, transport)));
    in_parallel(jobs, |(era, transport)| {
        let mode = ["normal", "--era", era];
        let running = (transport != "stdio").then(|| Fixture::start(transport, &mode));
        let target = match &running {
            Some(fixture) => vec!["--url", &fixture.url],
            None => [["--", crate::support::MCPROVE, "fixture"], mode].concat(),
        };
        let output = probe(&target);
        let mut comparison = Comparison::new(format!("{era} {transport}"));
        comparison.same("exit code", output.code, Some(0));
        comparison.same("era", output.report().era.as_str(), era);
        let other = if era == "stateless" {
            "2025-11-25"
        } else {
            "2026-07-28"
        };
        let refused = probe(&[["--protocol", other].to_vec(), target].concat());
        comparison.same("exit code of the other era", refused.code, Some(2));
        comparison.holds("stderr", &refused.stderr, "hint: ");
        comparison.holds("stderr", &refused.stderr, "2026-07-28");
        comparison.finish(&refused)
    });
}

#[test]
fn another_revision_than_asked_for_is_a_warning_and_an_error_if_strict() {
    let url = serve_oldest();
    let asked = ["--url", &url, "--protocol", "2025-11-25"];
    let output = probe(&asked);
    // It has nothing to call.
    assert_eq!(output.code, Some(2), "{output:?}");
    let report = output.report();
    assert_eq!(report.protocol, "2024-11-05");
    assert_eq!(report.warnings.len(), 1, "{report:?}");
    assert!(report.warnings[0].contains("2024-11-05"), "{report:?}");
    assert!(report.warnings[0].contains("2025-11-25"), "{report:?}");

    let strict = probe(&[asked.as_slice(), &["--strict-protocol"]].concat());
    assert_eq!(strict.code, Some(2), "{strict:?}");
    assert_snapshot!("revision_strict", strict.stderr);

    let agreed = [
        "--url",
        &url,
        "--protocol",
        "2024-11-05",
        "--strict-protocol",
    ];
    assert_eq!(probe(&agreed).code, Some(2));
    assert_eq!(probe(&agreed).report().protocol, "2024-11-05");
}

/// A server that speaks the oldest revision, whatever it is asked for, and has no tools.
fn serve_oldest() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || answer(stream));
        }
    });
    url
}

/// Answers one request, and closes the connection.
fn answer(mut stream: TcpStream) -> Option<()> {
    let mut request = String::new();
    let (head, length) = loop {
        let mut chunk = [0; 4096];
        let count = stream.read(&mut chunk).ok().filter(|count| *count > 0)?;
        request.push_str(&String::from_utf8_lossy(&chunk[..count]));
        if let Some((head, _)) = request.split_once("\r\n\r\n") {
            let header = head.lines().find_map(|line| {
                line.to_lowercase()
                    .strip_prefix("content-length: ")?
                    .parse()
                    .ok()
            });
            break (head.len() + 4, header.unwrap_or(0_usize));
        }
    };
    while request.len() < head + length {
        let mut chunk = [0; 4096];
        let count = stream.read(&mut chunk).ok().filter(|count| *count > 0)?;
        request.push_str(&String::from_utf8_lossy(&chunk[..count]));
    }
    let message: serde_json::Value = serde_json::from_str(&request[head..]).unwrap_or_default();
    let result = match message["method"].as_str() {
        Some("initialize") => serde_json::json!({
            "protocolVersion": "2024-11-05",
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "oldest", "version": "1" },
        }),
        Some("tools/list") => serde_json::json!({ "tools": [] }),
        _ => serde_json::json!({}),
    };
    let reply = match &message["id"] {
        serde_json::Value::Null => String::new(),
        id => serde_json::json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string(),
    };
    let (status, length) = match (request.starts_with("GET"), reply.is_empty()) {
        (true, _) => ("405 Method Not Allowed", 0),
        (false, true) => ("202 Accepted", 0),
        (false, false) => ("200 OK", reply.len()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n"
    );
    stream.write_all(format!("{head}{reply}").as_bytes()).ok()
}
