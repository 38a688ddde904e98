//! `mcprove probe` against the servers on the official SDKs: every transport, every revision.

use harness::{RealServers, RunningServer, ServerKind, require};

use crate::support::{Comparison, in_parallel_real, outcome, probe, violations};

/// Every revision, the oldest first. The last is the stateless one.
pub const REVISIONS: [&str; 5] = [
    "2024-11-05",
    "2025-03-26",
    "2025-06-18",
    "2025-11-25",
    "2026-07-28",
];
/// The servers with the same nine tools.
const OURS: [ServerKind; 4] = [
    ServerKind::Mcp1,
    ServerKind::Mcp2,
    ServerKind::Fastmcp,
    ServerKind::Rmcp,
];
/// Interpreters start and end slowly on a loaded machine.
const PATIENCE: &str = "60s";
const SKIPPED: &str = "the real servers (cargo xtask setup)";

/// The installed servers, if the test can go on.
pub fn servers() -> Option<RealServers> {
    let servers = RealServers::locate();
    require(SKIPPED, servers.is_some()).then_some(servers)?
}

/// The arguments that start `kind` over stdio.
pub fn command(servers: &RealServers, kind: ServerKind) -> Vec<String> {
    let command = servers.stdio(kind);
    let mut words = vec!["--startup-timeout", PATIENCE];
    // The reference server is kept alive by timers of its own, so its end is not waited for.
    if kind != ServerKind::Everything {
        words.extend(["--shutdown-timeout", PATIENCE]);
    }
    words.push("--");
    let mut words: Vec<String> = words.into_iter().map(str::to_owned).collect();
    words.push(command.program.display().to_string());
    words.extend(command.args);
    words
}

/// One probe and what makes its result.
struct Case<'a> {
    kind: ServerKind,
    /// `stdio`, `http` or `sse`.
    transport: &'a str,
    /// How the server was started.
    flags: &'a [&'a str],
    /// What `--protocol` says.
    protocol: &'a str,
    /// More arguments of the probe.
    extra: &'a [&'a str],
    /// The arguments that name the server.
    target: Vec<String>,
}

impl Case<'_> {
    fn revision(&self) -> &str {
        match (self.protocol, self.kind.has_stateless_era()) {
            ("auto", true) => "2026-07-28",
            ("auto", false) => "2025-11-25",
            (forced, _) => forced,
        }
    }

    fn is_stateless(&self) -> bool {
        self.revision() == "2026-07-28"
    }

    /// What comes of the tools that ask the client: `ask`, `sample` and `roots`.
    fn asking(&self) -> [&'static str; 3] {
        if self.extra.contains(&"--accept-requests") {
            return ["ok"; 3];
        }
        if self.is_stateless() {
            // A sampling request is declined by not calling again.
            return ["ok", "skipped", "ok"];
        }
        let has = |flag| self.flags.contains(&flag);
        let (json, stateless) = (has("--json"), has("--stateless"));
        let is_asked = self.revision() >= "2025-06-18";
        let ask = if is_asked { "ok" } else { "ProtocolError" };
        match self.kind {
            // Version 1 of the SDK asks in vain where it has no stream to ask on.
            ServerKind::Mcp1 if stateless => ["hang"; 3],
            ServerKind::Mcp1 if json => ["hang", "hang", "ok"],
            ServerKind::Mcp1 => ["ok", "tool_error", "ok"],
            _ if stateless => ["ProtocolError"; 3],
            ServerKind::Mcp2 if json => ["ProtocolError"; 3],
            ServerKind::Mcp2 => [ask, "ServerError", "ok"],
            ServerKind::Fastmcp if json && is_asked => ["tool_error"; 3],
            ServerKind::Fastmcp if json => ["ProtocolError", "tool_error", "tool_error"],
            ServerKind::Fastmcp => [ask, "tool_error", "ok"],
            _ => [ask, "ProtocolError", "ok"],
        }
    }

    fn expected(&self) -> Vec<(&'static str, &'static str)> {
        let [ask, sample, roots] = self.asking();
        vec![
            ("add", "ok"),
            ("ask", ask),
            ("delete_everything", "ok"),
            ("echo", "ok"),
            ("fail", "tool_error"),
            ("progress", "ok"),
            ("roots", roots),
            ("sample", sample),
            ("slow", "ok"),
        ]
    }

    fn check(&self) -> Vec<String> {
        let mut arguments = vec!["--allow-writes", "--protocol", self.protocol];
        arguments.extend(self.extra);
        arguments.extend(self.target.iter().map(String::as_str));
        let output = probe(&arguments);
        let (name, flags) = (self.kind.name(), self.flags);
        let label = format!("{name} {} {flags:?} {}", self.transport, self.protocol);
        let mut comparison = Comparison::new(label);
        if !output.stdout.starts_with('{') {
            comparison.same("stdout", "no report", "a report");
            return comparison.finish(&output);
        }
        let report = output.report();
        let expected = self.expected();
        let hangs = expected.iter().any(|(_, outcome)| *outcome == "hang");
        let called = expected.iter().filter(|(_, outcome)| *outcome != "skipped");
        let mut found: Vec<(&str, String)> = report
            .tools
            .iter()
            .map(|tool| (tool.name.as_str(), outcome(tool)))
            .collect();
        found.sort();
        let expected_owned: Vec<(&str, String)> = expected
            .iter()
            .map(|(name, outcome)| (*name, (*outcome).to_owned()))
            .collect();
        comparison.same("exit code", output.code, Some(i32::from(hangs)));
        comparison.same(
            "name",
            report.server.name.as_str(),
            format!("{name}-server"),
        );
        comparison.same("protocol", report.protocol.as_str(), self.revision());
        let era = if self.is_stateless() {
            "stateless"
        } else {
            "handshake"
        };
        comparison.same("era", report.era.as_str(), era);
        comparison.same("transport", report.transport.as_str(), self.transport);
        comparison.same("tools", found, expected_owned);
        comparison.same("registered", report.coverage.registered, 9);
        comparison.same("exercised", report.coverage.exercised, called.count());
        comparison.same("violations", violations(&report), "");
        comparison.same("warnings", report.warnings.join("; "), "");
        comparison.same("passed", report.passed(), !hangs);
        comparison.same("partial", report.partial, false);
        comparison.same("stderr", output.stderr.as_str(), "");
        comparison.finish(&output)
    }
}

/// `auto`, and every revision that `kind` speaks.
fn choices(kind: ServerKind) -> Vec<&'static str> {
    let count = if kind.has_stateless_era() { 5 } else { 4 };
    let mut choices = vec!["auto"];
    choices.extend(&REVISIONS[..count]);
    choices
}

fn at(server: &RunningServer) -> Vec<String> {
    vec!["--url".into(), server.url().into()]
}

#[test]
fn every_server_is_probed_over_stdio_in_every_revision() {
    let Some(servers) = servers() else { return };
    let mut cases = Vec::new();
    for kind in OURS {
        for protocol in choices(kind) {
            cases.push(Case {
                kind,
                transport: "stdio",
                flags: &[],
                protocol,
                extra: &[],
                target: command(&servers, kind),
            });
        }
    }
    in_parallel_real(cases, |case| case.check());
}

#[test]
fn every_server_is_probed_over_http_in_every_revision() {
    let Some(servers) = servers() else { return };
    in_parallel_real(OURS, |kind| {
        let server = servers.start_http(kind, &[]).unwrap();
        let case = |protocol| Case {
            kind,
            transport: "http",
            flags: &[],
            protocol,
            extra: &[],
            target: at(&server),
        };
        choices(kind)
            .into_iter()
            .flat_map(|protocol| case(protocol).check())
            .collect()
    });
}

#[test]
fn servers_that_answer_in_json_or_keep_no_session_are_probed() {
    let Some(servers) = servers() else { return };
    let all_flags: [&[&str]; 3] = [&["--json"], &["--stateless"], &["--json", "--stateless"]];
    let jobs = OURS
        .into_iter()
        .flat_map(|kind| all_flags.map(|flags| (kind, flags)));
    in_parallel_real(jobs, |(kind, flags)| {
        let server = servers.start_http(kind, flags).unwrap();
        // Where tools hang, each costs the call timeout.
        let (protocols, extra): (&[&str], &[&str]) = match kind {
            ServerKind::Mcp1 => (&["auto"], &["--call-timeout", "3s"]),
            _ => (&["auto", "2024-11-05", "2025-11-25"], &[]),
        };
        let case = |protocol| Case {
            kind,
            transport: "http",
            flags,
            protocol,
            extra,
            target: at(&server),
        };
        protocols
            .iter()
            .flat_map(|protocol| case(protocol).check())
            .collect()
    });
}

#[test]
fn the_older_http_and_sse_transport_is_probed_and_found_by_itself() {
    let Some(servers) = servers() else { return };
    let server = servers.start_sse(ServerKind::Mcp1).unwrap();
    let mut named = at(&server);
    named.extend(["--transport".into(), "sse".into()]);
    let mut cases = Vec::new();
    for target in [at(&server), named] {
        for protocol in choices(ServerKind::Mcp1) {
            cases.push(Case {
                kind: ServerKind::Mcp1,
                transport: "sse",
                flags: &[],
                protocol,
                extra: &[],
                target: target.clone(),
            });
        }
    }
    in_parallel_real(cases, |case| case.check());
}

#[test]
fn questions_are_answered_when_asked_to() {
    let Some(servers) = servers() else { return };
    let mut cases = Vec::new();
    for kind in OURS {
        for protocol in ["auto", "2025-11-25"] {
            cases.push(Case {
                kind,
                transport: "stdio",
                flags: &[],
                protocol,
                extra: &["--accept-requests"],
                target: command(&servers, kind),
            });
        }
    }
    in_parallel_real(cases, |case| case.check());
}
