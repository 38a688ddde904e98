//! Honest servers, probed with limits just above what their calls take: nobody blames them. `cargo xtask honest` does the
//! same with every scenario, and beside busy loops.

use std::time::Duration;

use mcprove_client::server::Server;
use mcprove_load::drive::Scenario;
use mcprove_load::run::Run;
use mcprove_score::verdict::Severity;
use serde_json::Value;

use crate::support::MCPROVE;

const SERVERS: &str = include_str!("../../../servers/src/fixture/honest.json");
/// How many are probed at the same time.
const AT_ONCE: usize = 8;
/// What a busy machine adds to a call.
const DELAY: Duration = Duration::from_secs(2);

/// The critical findings of a probe.
async fn blame(honest: Value) -> Vec<String> {
    let mut server = Server::stdio(MCPROVE).args(["fixture", honest["mode"].as_str().unwrap()]);
    for (name, value) in honest["settings"].as_object().into_iter().flatten() {
        server = server.args(["--set".to_owned(), format!("{name}={value}")]);
    }
    let half = Duration::from_millis(honest["longest_ms"].as_u64().unwrap()) / 2;
    let probe = Scenario::deadlock_probe()
        .concurrent(8)
        .hang_limits(half, half + DELAY)
        .allow_writes(true);
    let report = Run::new(server, probe).execute().await.unwrap();
    let verdicts = report.verdicts.into_iter();
    let critical = verdicts.filter(|verdict| verdict.severity == Severity::Critical);
    let named =
        critical.map(|verdict| format!("{}: {}", honest["name"], verdict.sentence.rendered()));
    named.collect()
}

#[tokio::test]
async fn a_probe_blames_no_honest_server() {
    let servers: Vec<Value> = serde_json::from_str(SERVERS).unwrap();
    assert!(servers.len() >= 20);
    let mut blamed = Vec::new();
    for some in servers.chunks(AT_ONCE) {
        let probes = some.iter().cloned().map(blame);
        let probes: tokio::task::JoinSet<_> = probes.collect();
        blamed.extend(probes.join_all().await.into_iter().flatten());
    }
    assert!(blamed.is_empty(), "{blamed:#?}");
}
