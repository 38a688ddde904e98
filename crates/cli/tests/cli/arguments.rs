//! Wrong input: what is said of it, and how the command ends.

use std::io::Read;
use std::net::TcpListener;
use std::process::Stdio;

use crate::support::{Comparison, MCPROVE, in_parallel, mcprove, run, wait};

const HEALTHY: &[&str] = &["--", MCPROVE, "fixture", "normal"];

/// A port on which nobody listens.
fn closed_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

fn check(arguments: &[&str], needle: &str, hints: bool) -> Vec<String> {
    let output = run(arguments);
    let mut comparison = Comparison::new(format!("{arguments:?}"));
    comparison.same("exit code", output.code, Some(2));
    comparison.same("stdout", output.stdout.as_str(), "");
    comparison.holds("stderr", &output.stderr, needle);
    comparison.same("start", output.stderr.starts_with("error: "), true);
    comparison.same("hint", output.stderr.contains("\nhint: "), hints);
    comparison.finish(&output)
}

#[test]
fn what_we_refuse_comes_with_a_hint() {
    let empty = "the command that starts the server is empty";
    let quote = "missing closing quote";
    let not_at_address = "are for a server at an address";
    let cases: [(&[&str], &str); 21] = [
        (
            &["probe", "-s", "a", "--url", "http://b/mcp"],
            "takes one server",
        ),
        (&["probe"], "no server given"),
        (&["probe", "-s", ""], empty),
        (&["probe", "-s", "  "], empty),
        (&["probe", "-s", "''"], empty),
        (&["probe", "-s", "a 'b"], quote),
        (&["probe", "-s", "a \"b"], quote),
        (&["doctor", "-s", "a 'b"], quote),
        (&["probe", "--header", "a: b", "-s", "x"], not_at_address),
        (&["probe", "--transport", "sse", "-s", "x"], not_at_address),
        (
            &["probe", "--env", "X", "-s", "x"],
            "--env \"X\" is not of the form NAME=VALUE",
        ),
        (
            &["probe", "--env", "=1", "-s", "x"],
            "--env \"=1\" is not of the form NAME=VALUE",
        ),
        (
            &["probe", "-s", "no-such-program"],
            "cannot find the program `no-such-program`",
        ),
        (
            &["probe", "-s", "./no/such"],
            "cannot find the program `./no/such`",
        ),
        (&["fixture", "norml"], "did you mean \"normal\"?"),
        (
            &["fixture", "nothing_like_it"],
            "unknown name \"nothing_like_it\"",
        ),
        (
            &["fixture", "crash", "--set", "every"],
            "is not of the form NAME=NUMBER",
        ),
        (
            &["fixture", "crash", "--set", "every=x"],
            "is not of the form NAME=NUMBER",
        ),
        (
            &["fixture", "crash", "--set", "evry=1"],
            "did you mean \"every\"?",
        ),
        (&["schema", "prob"], "no format is called \"prob\""),
        (&["schema", "nothing"], "no format is called \"nothing\""),
    ];
    in_parallel(cases, |(arguments, needle)| check(arguments, needle, true));
}

#[test]
fn an_address_that_is_no_use_comes_with_a_hint() {
    let port = closed_port();
    let at = |scheme: &str| format!("{scheme}://127.0.0.1:{port}/mcp");
    let (http, ws) = (at("http"), at("ws"));
    let no_address = "no address that mcprove can speak to";
    let refused = "connection refused";
    let cases: [(&str, &[&str], &str); 14] = [
        ("ftp://127.0.0.1/", &[], no_address),
        ("127.0.0.1:80", &[], no_address),
        ("http://", &[], no_address),
        ("http:///mcp", &[], no_address),
        ("", &[], no_address),
        (&ws, &["--transport", "sse"], "is for WebSocket only"),
        (&http, &["--transport", "ws"], "does not fit the address"),
        (&http, &[], refused),
        (&http, &["--transport", "sse"], refused),
        (&ws, &[], refused),
        (&http, &["--header", "nope"], "is not of the form"),
        (&http, &["--header", ": x"], "is not of the form"),
        (&http, &["--header", "a b: c"], "does not allow"),
        (&http, &["--header", "a: b\nc: d"], "does not allow"),
    ];
    in_parallel(cases, |(url, more, needle)| {
        check(
            &[["probe", "--url", url].as_slice(), more].concat(),
            needle,
            true,
        )
    });
}

#[test]
fn what_cannot_be_written_or_entered_comes_with_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing");
    let missing = missing.display().to_string();
    let trace = format!("{missing}/trace.jsonl");
    let cases = [
        (vec!["probe", "--trace", &trace], "cannot write the trace"),
        (
            vec!["probe", "--working-dir", &missing],
            "cannot start in the directory",
        ),
    ];
    in_parallel(cases, |(mut arguments, needle)| {
        arguments.extend(HEALTHY);
        check(&arguments, needle, true)
    });
}

#[test]
fn what_the_parser_refuses_is_explained() {
    let cases: [(&[&str], &str); 11] = [
        (&["probe", "--nope"], "unexpected argument '--nope'"),
        (&["nope"], "unrecognized subcommand 'nope'"),
        (
            &["probe", "--protocol", "2020-01-01"],
            "known: 2024-11-05, 2025-03-26",
        ),
        (
            &["probe", "--call-timeout", "5"],
            "is not a duration such as 250ms",
        ),
        (
            &["probe", "--call-timeout", "0s"],
            "must be longer than nothing",
        ),
        (
            &["probe", "--startup-timeout", "1 day"],
            "is not a duration such as 250ms",
        ),
        (
            &["probe", "--shutdown-timeout", "x"],
            "is not a duration such as 250ms",
        ),
        (
            &["probe", "--max-frame", "x"],
            "is not a size such as 65536",
        ),
        (&["probe", "-s", "a", "--", "b"], "cannot be used with"),
        (&["completions", "nosh"], "possible values: bash"),
        (&["fixture", "normal", "--http", "nowhere"], "invalid"),
    ];
    in_parallel(cases, |(arguments, needle)| check(arguments, needle, false));
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
