//! Every scenario on real servers that people rely on: no finding on any of them.

use std::time::Duration;

use harness::{RealServers, RunningServer, ServerKind, require};
use mcprove_client::server::Server;
use mcprove_load::drive::Scenario;
use mcprove_load::drive::scenario::{Churn, Fuzzer};
use mcprove_load::run::report::Report;
use mcprove_load::run::{Run, Thresholds};
use mcprove_score::verdict::Outcome;

use crate::support::scenario;

/// Interpreters start slowly on a loaded machine.
const PATIENCE: Duration = Duration::from_mins(1);

const KINDS: [ServerKind; 5] = [
    ServerKind::Everything,
    ServerKind::Mcp1,
    ServerKind::Mcp2,
    ServerKind::Fastmcp,
    ServerKind::Rmcp,
];

fn servers() -> Option<RealServers> {
    let servers = RealServers::locate();
    require("the real servers (cargo xtask setup)", servers.is_some()).then_some(servers)?
}

fn over_stdio(servers: &RealServers, kind: ServerKind) -> Server {
    let command = servers.stdio(kind);
    let server = Server::stdio(command.program.display().to_string())
        .args(command.args)
        .startup_timeout(PATIENCE);
    // The reference server is kept alive by timers of its own, so its end is not waited for.
    if kind == ServerKind::Everything {
        server.shutdown_timeout(Duration::from_secs(2))
    } else {
        server.shutdown_timeout(PATIENCE)
    }
}

/// A scenario that fits servers which take a second to start.
fn small(name: &str) -> Scenario {
    match name {
        "slow_mix" => scenario(name),
        // Some leave much unanswered; each silence is waited for.
        "fuzzer" => Scenario::from(mcprove_load::drive::ScenarioKind::Fuzzer(Fuzzer {
            iterations: 1,
            payloads: Vec::new(),
            answer_timeout: Duration::from_secs(1),
        }))
        .tool("echo"),
        "churn" => Scenario::from(mcprove_load::drive::ScenarioKind::Churn(Churn {
            sessions: 6,
            concurrent: 2,
        }))
        .tool("echo"),
        name => scenario(name).tool("echo"),
    }
}

async fn examine(server: Server, scenario: Scenario, name: &str) -> Result<Report, String> {
    let thresholds = Thresholds {
        // A heap grows in its first seconds, until it is collected for the first time. Only a soak looks
        // at memory long enough to be held to a limit.
        memory_growth_mb: name.starts_with("soak").then_some(200.0),
        ..Thresholds::default()
    };
    let report = Run::new(server, scenario)
        .with_thresholds(thresholds)
        .with_calibration(false)
        .execute()
        .await
        .map_err(|error| format!("{name}: {error}"))?;
    let findings: Vec<_> = report
        .verdicts
        .iter()
        .filter(|verdict| verdict.outcome == Outcome::Finding && verdict.is_failure())
        .collect();
    if report.passed() && findings.is_empty() {
        Ok(report)
    } else {
        Err(format!(
            "{name}: {findings:?} {:?} {:?}",
            report.errors, report.threshold_violations
        ))
    }
}

async fn check(name: &'static str) {
    let Some(servers) = servers() else { return };
    let mut wrong = Vec::new();
    for kind in KINDS {
        let label = format!("{name} on {kind:?}");
        if let Err(problem) = examine(over_stdio(&servers, kind), small(name), &label).await {
            wrong.push(problem);
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

async fn check_http(name: &'static str) {
    let Some(servers) = servers() else { return };
    let mut wrong = Vec::new();
    for kind in KINDS {
        let running: RunningServer = servers.start_http(kind, &[]).unwrap();
        let label = format!("{name} on {kind:?} over HTTP");
        let server = Server::http(running.url());
        if let Err(problem) = examine(server, small(name), &label).await {
            wrong.push(problem);
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

macro_rules! scenarios {
    ($check:ident: $($name:ident)*) => {
        $(
            #[tokio::test]
            async fn $name() {
                super::$check(stringify!($name)).await;
            }
        )*
    };
}

mod stdio {
    scenarios! {
        check: cold_start sustained spike ramp soak pattern deadlock_probe race_check fuzzer slow_mix
        reconnect churn early_call interrupted_call
    }
}

mod http {
    scenarios! {
        check_http: sustained spike race_check fuzzer reconnect churn early_call interrupted_call
    }
}
