//! Wrong input: what is said of it, and how the command ends.

use std::io::Read;
use std::net::TcpListener;
use std::process::Stdio;

use crate::support::{MCPROVE, Output, assert_transcript, in_parallel, mcprove, run, wait};

/// A port on which nobody listens.
fn closed_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// All are refused with exit code 2.
fn refused(cases: &[&[&str]]) -> Vec<Output> {
    let outputs: Vec<Output> = cases.iter().map(|arguments| run(arguments)).collect();
    assert!(outputs.iter().all(|output| output.code == Some(2)));
    outputs
}

#[test]
fn what_we_refuse_comes_with_a_hint() {
    let outputs = refused(&[
        &["probe", "-s", "a", "--url", "http://b/mcp"],
        &["probe"],
        &["probe", "-s", ""],
        &["probe", "-s", "  "],
        &["probe", "-s", "''"],
        &["probe", "-s", "a 'b"],
        &["probe", "-s", "a \"b"],
        &["doctor", "-s", "a 'b"],
        &["probe", "--header", "a: b", "-s", "x"],
        &["probe", "--transport", "sse", "-s", "x"],
        &["probe", "--env", "X", "-s", "x"],
        &["probe", "--env", "=1", "-s", "x"],
        &["probe", "-s", "no-such-program"],
        &["probe", "-s", "./no/such"],
        &["fixture", "norml"],
        &["fixture", "nothing_like_it"],
        &["fixture", "crash", "--set", "every"],
        &["fixture", "crash", "--set", "every=x"],
        &["fixture", "crash", "--set", "evry=1"],
        &["schema", "prob"],
        &["schema", "nothing"],
    ]);
    assert_transcript!("arguments_refused", &outputs);
}

#[test]
fn an_address_that_is_no_use_comes_with_a_hint() {
    let port = closed_port();
    let at = |scheme: &str| format!("{scheme}://127.0.0.1:{port}/mcp");
    let (http, ws) = (&at("http"), &at("ws"));
    let outputs = refused(&[
        &["probe", "--url", "ftp://127.0.0.1/"],
        &["probe", "--url", "127.0.0.1:80"],
        &["probe", "--url", "http://"],
        &["probe", "--url", "http:///mcp"],
        &["probe", "--url", ""],
        &["probe", "--url", ws, "--transport", "sse"],
        &["probe", "--url", http, "--transport", "ws"],
        &["probe", "--url", http],
        &["probe", "--url", http, "--transport", "sse"],
        &["probe", "--url", ws],
        &["probe", "--url", http, "--header", "nope"],
        &["probe", "--url", http, "--header", ": x"],
        &["probe", "--url", http, "--header", "a b: c"],
        &["probe", "--url", http, "--header", "a: b\nc: d"],
    ]);
    assert_transcript!("arguments_address", &outputs);
}

#[test]
fn what_cannot_be_written_or_entered_comes_with_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing");
    let missing = missing.display().to_string();
    let trace = format!("{missing}/trace.jsonl");
    let healthy = ["--", MCPROVE, "fixture", "normal"];
    let outputs = refused(&[
        &[&["probe", "--trace", &trace], &healthy[..]].concat(),
        &[&["probe", "--working-dir", &missing], &healthy[..]].concat(),
    ]);
    assert_transcript!("arguments_folder", &outputs);
}

#[test]
fn what_the_parser_refuses_is_explained() {
    let outputs = refused(&[
        &["probe", "--nope"],
        &["nope"],
        &["probe", "--protocol", "2020-01-01"],
        &["probe", "--call-timeout", "5"],
        &["probe", "--call-timeout", "0s"],
        &["probe", "--startup-timeout", "1 day"],
        &["probe", "--shutdown-timeout", "x"],
        &["probe", "--max-frame", "x"],
        &["probe", "-s", "a", "--", "b"],
        &["completions", "nosh"],
        &["fixture", "normal", "--http", "nowhere"],
        &[],
    ]);
    assert_transcript!("arguments_parser", &outputs);
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let commands: [&[&str]; 5] = [
        &["probe", "--json", "--", MCPROVE, "fixture", "paged"],
        &["probe", "--", MCPROVE, "fixture", "paged"],
        &["schema", "probe"],
        &["completions", "bash"],
        &["probe", "--explain"],
    ];
    in_parallel(commands, |arguments| {
        let mut child = mcprove(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let mut stderr = String::new();
        child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut stderr)
            .unwrap();
        let mut problems = Vec::new();
        if !wait(&mut child).is_some_and(|status| status.success()) || !stderr.is_empty() {
            problems.push(format!("{arguments:?}: {stderr:?}"));
        }
        problems
    });
}
