//! Servers that do not get as far as a call.

use crate::support::{
    Comparison, Fixture, MCPROVE, assert_snapshot, in_parallel, outcomes, probe, run, violations,
};

/// The built-in servers of this kind.
pub const MODES: [&str; 5] = ["exit_at_start", "silent", "deaf", "slow_init", "slow_start"];
const TRANSPORTS: [&str; 4] = ["stdio", "http", "sse", "ws"];

/// The arguments that lead to a mode over a transport, and the server if it is a process of ours.
fn target(transport: &str, mode: &[&str]) -> (Vec<String>, Option<Fixture>) {
    let running = (transport != "stdio").then(|| Fixture::start(transport, mode));
    let mut words = Vec::new();
    if transport == "sse" {
        words.extend(["--transport", "sse"]);
    }
    if let Some(fixture) = &running {
        words.extend(["--url", &fixture.url]);
    } else {
        words.extend(["--", MCPROVE, "fixture"]);
        words.extend(mode);
    }
    let words = words.into_iter().map(str::to_owned).collect();
    (words, running)
}

fn with(options: &[&str], target: &[String]) -> Vec<String> {
    let mut arguments: Vec<String> = options.iter().map(|each| (*each).to_owned()).collect();
    arguments.extend_from_slice(target);
    arguments
}

#[test]
fn a_server_that_exits_at_once_is_shown_with_its_stderr() {
    for protocol in ["auto", "2025-11-25", "2026-07-28"] {
        let output = run(&[
            "probe",
            "--protocol",
            protocol,
            "--",
            MCPROVE,
            "fixture",
            "exit_at_start",
        ]);
        assert_eq!(output.code, Some(2), "{output:?}");
        assert_eq!(output.stdout, "");
        assert_snapshot!("exit_at_start", output.stderr);
    }
}

#[test]
fn a_server_that_ends_as_it_is_reached_is_unreachable() {
    in_parallel(["http", "sse", "ws"], |transport| {
        let (words, running) = target(transport, &["exit_at_start"]);
        let output = probe(&words);
        let mut comparison = Comparison::new(transport);
        comparison.same("exit code", output.code, Some(2));
        comparison.same("hint", output.stderr.contains("\nhint: "), true);
        drop(running);
        comparison.finish(&output)
    });
}

#[test]
fn a_server_that_does_not_answer_is_given_up_after_the_startup_timeout() {
    let jobs = ["silent", "deaf"]
        .into_iter()
        .flat_map(|mode| TRANSPORTS.map(|transport| (mode, transport)));
    in_parallel(jobs, |(mode, transport)| {
        let (words, running) = target(transport, &[mode]);
        let output = probe(&with(&["--startup-timeout", "2s"], &words));
        let mut comparison = Comparison::new(format!("{mode} {transport}"));
        comparison.same("exit code", output.code, Some(2));
        comparison.holds("stdout", &output.stdout, "\"outcome\": \"error\"");
        // Over the others it depends on the moment how far it came.
        if transport == "stdio" {
            assert_snapshot!("probe_silent", output.stderr);
        }
        comparison.holds("stderr", &output.stderr, "\nhint: ");
        drop(running);
        comparison.finish(&output)
    });
}

#[test]
fn a_server_that_starts_slowly_needs_a_large_startup_timeout() {
    let mode = ["slow_init", "--set", "delay_ms=3000"];
    let jobs = TRANSPORTS
        .into_iter()
        .flat_map(|transport| ["1s", "60s"].map(|timeout| (transport, timeout)));
    in_parallel(jobs, |(transport, timeout)| {
        let (words, running) = target(transport, &mode);
        let output = probe(&with(&["--startup-timeout", timeout], &words));
        let mut comparison = Comparison::new(format!("{transport} {timeout}"));
        if timeout == "60s" {
            comparison.same("exit code", output.code, Some(0));
        } else {
            comparison.same("exit code", output.code, Some(2));
            assert_snapshot!("probe_slow_init", output.stderr);
        }
        drop(running);
        comparison.finish(&output)
    });
}

#[test]
fn a_server_that_answers_both_questions_is_of_the_handshake_era() {
    let mode = ["slow_start", "--set", "delay_ms=1500"];
    in_parallel(TRANSPORTS, |transport| {
        let (words, running) = target(transport, &mode);
        let output = probe(&words);
        let mut comparison = Comparison::new(transport);
        comparison.same("exit code", output.code, Some(0));
        let report = output.report();
        comparison.same("era", report.era.as_str(), "handshake");
        comparison.same("tools", outcomes(&report), "echo=ok add=ok");
        comparison.same("violations", violations(&report), "");
        drop(running);
        comparison.finish(&output)
    });
}
