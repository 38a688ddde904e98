//! `mcprove probe` against the reference server, which has a tool that takes ten seconds.

use harness::ServerKind;
use mcprove_check::health::{ProbeReport, ToolOutcome};

use crate::probe_real::{REVISIONS, command, servers};
use crate::support::{Comparison, in_parallel_real, outcome, probe, violations};

/// The tool that fetches a file from the internet, which a machine may not have.
const NEEDS_NETWORK: &str = "gzip-file-as-resource";
/// What a server says of itself that its own timers keep alive.
const KEPT_ALIVE: &str =
    "the process was still running 1 s after its input closed, and was terminated";

/// What comes of each tool in `revision`, if those that take long hang or not.
fn expected(revision: &str, long: &'static str) -> Vec<(&'static str, &'static str)> {
    let mut tools: Vec<_> = [
        "echo",
        "get-annotated-message",
        "get-env",
        "get-resource-links",
        "get-resource-reference",
        "get-structured-content",
        "get-sum",
        "get-tiny-image",
        "toggle-simulated-logging",
        "toggle-subscriber-updates",
    ]
    .map(|name| (name, "ok"))
    .to_vec();
    tools.push(("trigger-long-running-operation", long));
    tools.push(("get-roots-list", "ok"));
    // The server offers it only to clients that can be asked.
    if revision >= "2025-06-18" {
        tools.push(("trigger-elicitation-request", "ok"));
    }
    tools.push(("trigger-sampling-request", "tool_error"));
    // Runs only as a task, of which it makes one that takes several seconds.
    let research = if revision == "2025-11-25" {
        long
    } else {
        "skipped"
    };
    tools.push(("simulate-research-query", research));
    tools
}

/// Compares all but what depends on how long the tools may take.
fn compare(comparison: &mut Comparison, report: &ProbeReport, revision: &str, transport: &str) {
    comparison.same(
        "name",
        report.server.name.as_str(),
        "mcp-servers/everything",
    );
    comparison.same("protocol", report.protocol.as_str(), revision);
    comparison.same("era", report.era.as_str(), "handshake");
    comparison.same("transport", report.transport.as_str(), transport);
    comparison.same("violations", violations(report), "");
    let warning = if transport == "stdio" { KEPT_ALIVE } else { "" };
    comparison.same("warnings", report.warnings.join("; "), warning);
    let skipped = |tool: &&mcprove_check::health::ToolHealth| tool.outcome == ToolOutcome::Skipped;
    let called = report.tools.len() - report.tools.iter().filter(skipped).count();
    comparison.same("registered", report.coverage.registered, report.tools.len());
    comparison.same("exercised", report.coverage.exercised, called);
    let fetched = report.tools.iter().find(|tool| tool.name == NEEDS_NETWORK);
    let is_fine = |outcome| matches!(outcome, ToolOutcome::Ok | ToolOutcome::ToolError);
    comparison.same(
        NEEDS_NETWORK,
        fetched.is_some_and(|tool| is_fine(tool.outcome)),
        true,
    );
}

fn tools(report: &ProbeReport) -> Vec<(&str, String)> {
    report
        .tools
        .iter()
        .filter(|tool| tool.name != NEEDS_NETWORK)
        .map(|tool| (tool.name.as_str(), outcome(tool)))
        .collect()
}

fn owned(expected: Vec<(&'static str, &'static str)>) -> Vec<(&'static str, String)> {
    expected
        .into_iter()
        .map(|(name, outcome)| (name, outcome.to_owned()))
        .collect()
}

#[test]
fn slow_tools_hang_or_answer_as_the_call_timeout_says() {
    let Some(servers) = servers() else { return };
    let http = servers.start_http(ServerKind::Everything, &[]).unwrap();
    let sse = servers.start_sse(ServerKind::Everything).unwrap();
    let at = |url: &str| vec!["--url".to_owned(), url.to_owned()];
    let stdio = || command(&servers, ServerKind::Everything);
    let mut named = at(sse.url());
    named.extend(["--transport".into(), "sse".into()]);
    // The default is long enough for every tool; that takes longest, so it comes first.
    let mut jobs = vec![("stdio", "auto", "30s", stdio())];
    for protocol in &REVISIONS[..4] {
        jobs.push(("stdio", *protocol, "3s", stdio()));
        jobs.push(("http", *protocol, "3s", at(http.url())));
    }
    jobs.push(("stdio", "auto", "3s", stdio()));
    jobs.push(("http", "auto", "3s", at(http.url())));
    jobs.push(("sse", "auto", "3s", at(sse.url())));
    jobs.push(("sse", "2024-11-05", "3s", named.clone()));
    jobs.push(("sse", "2025-11-25", "3s", named));
    in_parallel_real(jobs, |(transport, protocol, timeout, target)| {
        let mut arguments = [
            "--allow-writes",
            "--shutdown-timeout",
            "1s",
            "--protocol",
            protocol,
        ]
        .map(str::to_owned)
        .to_vec();
        if timeout != "30s" {
            arguments.extend(["--call-timeout".to_owned(), timeout.to_owned()]);
        }
        arguments.extend(target);
        let output = probe(&arguments);
        let report = output.report();
        let revision = if protocol == "auto" {
            "2025-11-25"
        } else {
            protocol
        };
        let long = if timeout == "30s" { "ok" } else { "hang" };
        let label = format!("everything {transport} {protocol} {timeout}");
        let mut comparison = Comparison::new(label);
        compare(&mut comparison, &report, revision, transport);
        comparison.same("tools", tools(&report), owned(expected(revision, long)));
        comparison.same("exit code", output.code, Some(i32::from(long == "hang")));
        comparison.same("passed", report.passed(), long == "ok");
        for tool in report.tools.iter().filter(|tool| outcome(tool) == "hang") {
            let message = tool.message.clone().unwrap_or_default().rendered();
            comparison.holds(
                &tool.name,
                &message,
                "the server still answers other requests",
            );
        }
        comparison.finish(&output)
    });
}

#[test]
fn only_tools_that_read_are_called_unless_asked_to() {
    let Some(servers) = servers() else { return };
    let mut arguments = vec!["--shutdown-timeout".to_owned(), "1s".to_owned()];
    arguments.extend(command(&servers, ServerKind::Everything));
    let output = probe(&arguments);
    assert_eq!(output.code, Some(0), "{output:?}");
    let report = output.report();
    for tool in &report.tools {
        let reads = tool.name.starts_with("get-") || tool.name == "echo";
        assert_eq!(!tool.may_write, reads, "{tool:?}");
    }
}
