//! `mcprove probe` against the built-in servers: each mode, over each transport, in each era.

use crate::support::{
    Comparison, Fixture, MCPROVE, assert_snapshot, in_parallel, outcome, outcomes, probe,
    violations,
};

/// How a mode is reached: the transport and what `--protocol` says.
type Way = (&'static str, &'static str);

const HANDSHAKE: &str = "2025-11-25";
const STATELESS: &str = "2026-07-28";
/// Every transport in every era that it has.
const WAYS: [Way; 9] = [
    ("stdio", "auto"),
    ("stdio", HANDSHAKE),
    ("stdio", STATELESS),
    ("http", "auto"),
    ("http", HANDSHAKE),
    ("http", STATELESS),
    ("sse", HANDSHAKE),
    ("ws", HANDSHAKE),
    ("ws", STATELESS),
];
const ALL: fn(Way) -> bool = |_| true;
const IN_HANDSHAKE: fn(Way) -> bool = |(_, protocol)| protocol == HANDSHAKE;
const IN_STATELESS: fn(Way) -> bool = |(_, protocol)| protocol != HANDSHAKE;
const OVER_STDIO: fn(Way) -> bool = |(transport, _)| transport == "stdio";
/// Each message has a connection, and nothing notices that the server is gone until the next.
const OVER_HTTP: fn(Way) -> bool = |(transport, _)| transport == "http";
const NOT_OVER_HTTP: fn(Way) -> bool = |(transport, _)| transport != "http";
/// One connection for all messages, which ends with the server.
const OVER_CONNECTION: fn(Way) -> bool = |(transport, _)| matches!(transport, "sse" | "ws");
/// Long enough for any call that is answered, and short enough to wait for those that are not.
const SHORT: &[&str] = &["--call-timeout", "2s"];

/// A mode, and what is found of it.
struct Row {
    /// The arguments of `mcprove fixture`.
    mode: &'static [&'static str],
    /// The arguments of `mcprove probe`.
    arguments: &'static [&'static str],
    ways: fn(Way) -> bool,
    code: i32,
    tools: &'static str,
    violations: &'static str,
}

const fn row(
    mode: &'static [&'static str],
    arguments: &'static [&'static str],
    ways: fn(Way) -> bool,
    code: i32,
    tools: &'static str,
    violations: &'static str,
) -> Row {
    Row {
        mode,
        arguments,
        ways,
        code,
        tools,
        violations,
    }
}

/// It answers in another revision than it was asked for.
const OLD_REVISION: &str = "old_revision";
const FINE: &str = "echo=ok add=ok";
const MALFORMED: &str = "echo=Malformed add=Malformed";
const HANGS: &str = "echo=hang add=hang";
const SEVEN: &str = "tool_1=ok tool_2=ok tool_3=ok tool_4=ok tool_5=ok tool_6=ok tool_7=ok";
/// One for each answer: to the greeting, the list, two calls, and the last look at the server.
const NOISE: &str = "noise noise noise noise noise";
const UNNAMED: &str =
    "reply_without_id reply_without_id reply_without_id reply_without_id reply_without_id";
/// Six for each answer, and one more for each call.
const CHATTER: &str = "noise noise noise noise noise noise noise noise noise noise noise noise \
    noise noise noise noise noise noise noise noise noise noise noise noise \
    noise noise noise noise noise noise noise noise";

const HEALTHY: &[Row] = &[
    row(&["normal"], &[], ALL, 0, FINE, ""),
    row(&["echo"], &[], ALL, 0, FINE, ""),
    row(&["progress"], &[], ALL, 0, FINE, ""),
    row(&["reordered"], &[], ALL, 0, FINE, ""),
    row(&["leak"], &[], ALL, 0, FINE, ""),
    row(&["cache"], &[], ALL, 0, FINE, ""),
    row(&["garbage"], &[], ALL, 0, FINE, ""),
    row(&["pool"], &[], ALL, 0, FINE, ""),
    row(&["stderr_flood"], &[], ALL, 0, FINE, ""),
    row(&["paged"], &[], ALL, 0, SEVEN, ""),
    row(&["tasks"], &[], ALL, 0, "work=ok", ""),
    row(
        &["destructive"],
        &[],
        ALL,
        0,
        "read_notes=ok delete_notes=skipped write_note=skipped",
        "",
    ),
    row(
        &["destructive"],
        &["--all"],
        ALL,
        0,
        "read_notes=ok delete_notes=ok write_note=ok",
        "",
    ),
    row(
        &["asks"],
        &[],
        IN_HANDSHAKE,
        0,
        "ask_roots=ok ask_sampling=tool_error ask_elicitation=ok ping_client=ok",
        "",
    ),
    row(
        &["asks"],
        &[],
        IN_STATELESS,
        0,
        "ask_roots=ok ask_sampling=skipped ask_elicitation=ok",
        "",
    ),
    row(
        &["asks"],
        &["--accept-requests"],
        IN_HANDSHAKE,
        0,
        "ask_roots=ok ask_sampling=ok ask_elicitation=ok ping_client=ok",
        "",
    ),
    row(
        &["asks"],
        &["--accept-requests"],
        IN_STATELESS,
        0,
        "ask_roots=ok ask_sampling=ok ask_elicitation=ok",
        "",
    ),
    row(&["slow", "--set", "delay_ms=100"], &[], ALL, 0, FINE, ""),
    row(
        &["mixed"],
        &[],
        ALL,
        0,
        "echo=ok add=ok lookup=ok store=skipped wait=ok",
        "",
    ),
    // What breaks the protocol and harms nobody is a warning.
    row(&["noise"], &[], ALL, 0, FINE, NOISE),
    row(&["chatty"], &[], ALL, 0, FINE, CHATTER),
    row(&["null_id"], &[], ALL, 0, FINE, UNNAMED),
    // What only load, or something else that a probe does not do, brings out.
    row(&["cold", "--set", "delay_ms=100"], &[], ALL, 0, FINE, ""),
    row(&["drift"], &[], ALL, 0, FINE, ""),
    row(&["degrading"], &[], ALL, 0, FINE, ""),
    row(&["resource_leak"], &[], ALL, 0, FINE, ""),
    row(&["head_of_line"], &[], ALL, 0, "echo=ok wait=ok", ""),
    row(
        &["queue", "--set", "delay_ms=20"],
        &[],
        ALL,
        0,
        "echo=ok add=ok",
        "",
    ),
    row(&["lost"], &[], ALL, 0, FINE, ""),
    row(&["flaky_disconnect"], &[], ALL, 0, FINE, ""),
    row(&["session_leak"], &[], ALL, 0, FINE, ""),
    row(
        &["orphan", "--set", "ignore_eof=0"],
        &[],
        OVER_STDIO,
        0,
        FINE,
        "",
    ),
    row(
        &["orphan", "--set", "child=0"],
        &[],
        |way| !OVER_STDIO(way),
        0,
        FINE,
        "",
    ),
    row(&["chokes"], &[], ALL, 0, FINE, ""),
    row(&["careless"], &[], ALL, 0, "search=ok", ""),
    row(&["early"], &[], ALL, 0, FINE, ""),
    row(&["cancel_wedge"], &[], ALL, 0, FINE, ""),
    row(&["overload"], &[], ALL, 0, FINE, ""),
    row(&["stuck_after_burst"], &[], ALL, 0, FINE, ""),
    row(&["wrong_output"], &[], ALL, 0, FINE, ""),
    row(&["unsteady"], &[], ALL, 0, FINE, ""),
    row(&["divergent"], &[], ALL, 0, FINE, ""),
    row(&["crossed"], &[], ALL, 0, FINE, ""),
    row(&["mixed_up"], &[], ALL, 0, "echo=ok", ""),
    row(&["notes"], &[], ALL, 0, "echo=ok search=ok", ""),
    row(&["blocked_loop"], &[], ALL, 0, "echo=ok report=ok", ""),
    row(&["told_delay"], &[], ALL, 0, "echo=ok sleep=ok", ""),
    row(&["intermittent"], &[], ALL, 0, FINE, ""),
    row(&["unreliable_start"], &[], ALL, 0, FINE, ""),
    row(&["limited_sessions"], &[], ALL, 0, FINE, ""),
    row(&["stray_cancel"], &[], ALL, 0, FINE, ""),
    row(&["by_size"], &[], ALL, 0, FINE, ""),
    row(&["memo"], &[], ALL, 0, FINE, ""),
];

const FAULTY: &[Row] = &[
    // What takes longest comes first.
    row(&["lost", "--set", "every=1"], SHORT, ALL, 1, HANGS, ""),
    row(&["broken"], SHORT, OVER_STDIO, 1, HANGS, ""),
    row(
        &["broken"],
        &["--call-timeout", "2s", "--startup-timeout", "2s"],
        |way| !OVER_STDIO(way),
        1,
        "echo=hang add=skipped",
        "",
    ),
    row(
        &["tool_error"],
        &[],
        ALL,
        2,
        "echo=tool_error add=tool_error",
        "",
    ),
    // An error that the server chose to answer with is its right, and shows nothing.
    row(
        &["error"],
        &[],
        ALL,
        2,
        "echo=ProtocolError add=ProtocolError",
        "",
    ),
    row(&["malformed"], &[], ALL, 0, FINE, ""),
    row(
        &["malformed", "--set", "every=1"],
        &[],
        ALL,
        1,
        MALFORMED,
        "",
    ),
    row(
        &["malformed", "--set", "every=2"],
        &[],
        ALL,
        1,
        "echo=ok add=Malformed",
        "",
    ),
    row(&["bad_utf8"], &[], ALL, 1, MALFORMED, ""),
    row(&["deep"], &[], ALL, 1, MALFORMED, ""),
    row(
        &["no_id"],
        SHORT,
        NOT_OVER_HTTP,
        1,
        HANGS,
        "reply_without_id reply_without_id",
    ),
    // Over HTTP it is known which answer the body should have been.
    row(
        &["no_id"],
        SHORT,
        OVER_HTTP,
        1,
        MALFORMED,
        "reply_without_id reply_without_id",
    ),
    row(
        &["wrong_id"],
        SHORT,
        NOT_OVER_HTTP,
        1,
        HANGS,
        "unknown_reply unknown_reply",
    ),
    // Over HTTP it is known which answer the body should have been.
    row(
        &["wrong_id"],
        SHORT,
        OVER_HTTP,
        1,
        MALFORMED,
        "unknown_reply unknown_reply",
    ),
    row(
        &["duplicate"],
        &[],
        ALL,
        1,
        FINE,
        "duplicate_reply duplicate_reply",
    ),
    row(&["glued"], &[], ALL, 1, FINE, "garbled_reply"),
    row(
        &["huge", "--set", "bytes=3000000"],
        &["--max-frame", "1MiB"],
        ALL,
        1,
        MALFORMED,
        "",
    ),
    row(&["huge", "--set", "bytes=3000000"], &[], ALL, 0, FINE, ""),
    row(&["lazy_init"], SHORT, ALL, 1, "echo=hang add=ok", ""),
    row(
        &["slow", "--set", "delay_ms=60000"],
        SHORT,
        ALL,
        1,
        HANGS,
        "",
    ),
    row(&["crash"], &[], ALL, 0, FINE, ""),
    row(
        &["crash", "--set", "every=1"],
        &[],
        OVER_STDIO,
        1,
        "echo=Crash add=Crash",
        "",
    ),
    row(
        &["crash", "--set", "every=2"],
        &[],
        OVER_STDIO,
        1,
        "echo=ok add=Crash",
        "",
    ),
    row(
        &["crash", "--set", "every=1"],
        &[],
        OVER_HTTP,
        1,
        "echo=Disconnected add=Disconnected",
        "",
    ),
    row(
        &["crash", "--set", "every=1"],
        &[],
        OVER_CONNECTION,
        1,
        "echo=Disconnected add=skipped",
        "",
    ),
    row(&["half_frame"], &[], OVER_STDIO, 1, MALFORMED, ""),
    row(
        &["half_frame"],
        &[],
        OVER_HTTP,
        1,
        "echo=Disconnected add=Disconnected",
        "",
    ),
    row(
        &["half_frame"],
        &[],
        OVER_CONNECTION,
        1,
        "echo=Disconnected add=skipped",
        "",
    ),
];

fn check(row: &Row, (transport, protocol): Way) -> Vec<String> {
    let running = (transport != "stdio").then(|| Fixture::start(transport, row.mode));
    let mut arguments = vec!["--protocol", protocol];
    arguments.extend(row.arguments);
    if let Some(fixture) = &running {
        arguments.extend(["--url", &fixture.url]);
    } else {
        arguments.extend(["--", MCPROVE, "fixture"]);
        arguments.extend(row.mode);
    }
    if transport == "sse" {
        arguments.splice(0..0, ["--transport", "sse"]);
    }
    let output = probe(&arguments);
    let (mode, extra) = (row.mode, row.arguments);
    let mut comparison = Comparison::new(format!("{mode:?} {extra:?} {transport} {protocol}"));
    comparison.same("exit code", output.code, Some(row.code));
    comparison.same("stderr", output.stderr.as_str(), "");
    if output.stdout.is_empty() {
        return comparison.finish(&output);
    }
    let report = output.report();
    let era = if protocol == HANDSHAKE {
        "handshake"
    } else {
        "stateless"
    };
    let revision = if protocol == "auto" {
        STATELESS
    } else {
        protocol
    };
    let called = row
        .tools
        .split(' ')
        .filter(|tool| !tool.ends_with("=skipped"));
    comparison.same("name", report.server.name.as_str(), "mcprove-fixture");
    comparison.same("transport", report.transport.as_str(), transport);
    // On a busy machine it may take so long to start that it is asked both questions.
    if protocol != "auto" || report.startup_ms < 1000.0 {
        comparison.same("era", report.era.as_str(), era);
        comparison.same("protocol", report.protocol.as_str(), revision);
    }
    comparison.same("tools", outcomes(&report), row.tools);
    comparison.same("violations", violations(&report), row.violations);
    comparison.same("passed", report.passed(), row.code == 0);
    comparison.same("registered", report.coverage.registered, report.tools.len());
    comparison.same("exercised", report.coverage.exercised, called.count());
    comparison.same("warnings", report.warnings.join("; "), "");
    // A stuck tool is told from a server that is stuck as a whole.
    let reason = if row.mode[0] == "broken" {
        "probe_stuck_server"
    } else {
        "probe_stuck_tool"
    };
    for tool in report.tools.iter().filter(|tool| outcome(tool) == "hang") {
        assert_snapshot!(reason, tool.message.clone().unwrap_or_default().rendered());
    }
    comparison.finish(&output)
}

fn check_all(rows: &[Row]) {
    let jobs = rows.iter().flat_map(|row| {
        let ways = WAYS.into_iter().filter(|way| (row.ways)(*way));
        ways.map(move |way| (row, way))
    });
    in_parallel(jobs, |(row, way)| check(row, way));
}

#[test]
fn healthy_servers_pass_over_every_transport_in_both_eras() {
    check_all(HEALTHY);
}

#[test]
fn every_fault_is_found_over_every_transport_in_both_eras() {
    check_all(FAULTY);
}

#[test]
fn a_revision_that_was_not_asked_for_is_a_warning() {
    let output = probe(&[
        "--protocol",
        HANDSHAKE,
        "--",
        MCPROVE,
        "fixture",
        OLD_REVISION,
    ]);
    assert_eq!(output.code, Some(0), "{output:?}");
    let report = output.report();
    assert_eq!(report.protocol, "2024-11-05");
    let warning = &report.warnings[0];
    assert!(
        warning.ends_with("the server chose 2024-11-05"),
        "{warning}"
    );
}

#[test]
fn every_mode_is_in_a_table() {
    let listed = crate::support::run(&["fixture"]).stdout;
    for line in listed.lines() {
        let name = line.split(' ').next().unwrap();
        // Those that never get as far as a call are elsewhere.
        let is_known = name == OLD_REVISION
            || HEALTHY.iter().chain(FAULTY).any(|row| row.mode[0] == name)
            || crate::probe_start::MODES.contains(&name);
        assert!(is_known, "no row for {name}");
    }
}
