//! A minute and a half of steady load on each real server that people rely on: nothing is to be
//! found on any of them.
//!
//! Run by `cargo xtask bench`, after `cargo xtask setup`. Prints one JSON object per measurement on
//! stdout. With `--quick` the soaks are short.

use std::time::Duration;

use harness::{RealServers, ServerKind};
use mcprove_client::server::Server;
use mcprove_load::drive::Scenario;
use mcprove_load::run::Run;
use measuring::{Figure, Outcome, Selection, runtime};

const KINDS: [(&str, ServerKind); 5] = [
    ("server-everything", ServerKind::Everything),
    ("Python mcp 1.x", ServerKind::Mcp1),
    ("Python mcp 2.x", ServerKind::Mcp2),
    ("fastmcp", ServerKind::Fastmcp),
    ("rmcp", ServerKind::Rmcp),
];

fn main() -> Outcome<()> {
    let selection = Selection::from_arguments();
    let is_quick = selection.has("--quick");
    let time = Duration::from_secs(if is_quick { 10 } else { 90 });
    let Some(servers) = RealServers::locate() else {
        eprintln!("the real servers are not installed (cargo xtask setup): nothing is soaked");
        return Ok(());
    };
    for (label, kind) in KINDS {
        let name = format!("soak {} s, {label}: findings", time.as_secs());
        if !selection.wants(&name) {
            continue;
        }
        eprintln!("{name}");
        let command = servers.stdio(kind);
        let server = Server::stdio(command.program.display().to_string())
            .args(command.args)
            .startup_timeout(Duration::from_mins(1));
        let scenario = Scenario::soak().duration(time).concurrent(4).tool("echo");
        let report = runtime()?.block_on(Run::new(server, scenario).execute())?;
        let findings = report.findings();
        for finding in &findings {
            eprintln!("  {}: {}", finding.detector, finding.sentence.rendered());
        }
        let reference = format!(
            "{} calls, {} errors, {}",
            report.throughput.total_requests,
            report.errors.total,
            report
                .leak
                .as_ref()
                .and_then(|leak| leak.growth_mb)
                .map_or_else(
                    || "memory not judged".to_owned(),
                    |growth| format!("{growth:+.1} MB")
                )
        );
        #[allow(clippy::cast_precision_loss)]
        Figure::new(name, findings.len() as f64, "")
            .at_most(0.0)
            .beside(reference)
            .print();
    }
    Ok(())
}
