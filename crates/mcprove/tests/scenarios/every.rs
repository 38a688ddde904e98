//! What holds for every one of these scenarios: it can be stopped, and its report can be computed
//! again from its trace.

use std::time::{Duration, Instant};

use mcprove_load::drive::scenario::Churn;
use mcprove_load::drive::{Scenario, ScenarioKind, Stop};
use mcprove_load::run::recompute;

use crate::support::{PROCESS, Target, run};

/// Each with so much to do that it does not end by itself.
fn endless() -> [Scenario; 6] {
    [
        Scenario::race_check().iterations(100_000).tool("wait"),
        Scenario::fuzzer().iterations(100_000),
        Scenario::reconnect().iterations(100_000).tool("wait"),
        Scenario::from(ScenarioKind::Churn(Churn {
            sessions: 100_000,
            concurrent: 3,
        })),
        Scenario::early_call().iterations(100_000),
        Scenario::interrupted_call().iterations(100_000),
    ]
}

fn short() -> [Scenario; 6] {
    [
        Scenario::race_check().iterations(1),
        Scenario::fuzzer(),
        Scenario::reconnect().iterations(2),
        Scenario::from(ScenarioKind::Churn(Churn {
            sessions: 5,
            concurrent: 2,
        })),
        Scenario::early_call().iterations(1),
        Scenario::interrupted_call().iterations(2),
    ]
}

#[tokio::test]
async fn a_run_that_is_stopped_ends_soon_with_what_it_has() {
    let _alone = PROCESS.read().await;
    let target = Target::http("mixed");
    for scenario in endless() {
        let name = scenario.kind.name().to_owned();
        let listening = target.listen().await;
        let stop = Stop::new();
        let asking = stop.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(600)).await;
            asking.request();
        });
        let began = Instant::now();
        let report = run(target.server(&listening), scenario)
            .with_stop(stop)
            .execute()
            .await
            .unwrap();
        assert!(began.elapsed() < Duration::from_secs(30), "{name}");
        assert!(report.partial, "{name}");
        assert!(
            report.findings().is_empty(),
            "{name}: {:?}",
            report.findings()
        );
    }
}

#[tokio::test]
async fn the_trace_gives_the_same_report() {
    let _alone = PROCESS.read().await;
    let target = Target::http("mixed");
    for scenario in short() {
        let name = scenario.kind.name().to_owned();
        let listening = target.listen().await;
        let folder = tempfile::tempdir().unwrap();
        let (report, directory) = run(target.server(&listening), scenario)
            .with_output_dir(folder.path().into())
            .execute_in_directory()
            .await
            .unwrap();
        let again = recompute(&directory.unwrap()).unwrap();
        assert_eq!(again.warning, None, "{name}");
        assert_eq!(again.report.verdicts, report.verdicts, "{name}");
        assert_eq!(again.report.errors, report.errors, "{name}");
        assert_eq!(again.report.fuzz, report.fuzz, "{name}");
        assert_eq!(again.report.race, report.race, "{name}");
        assert_eq!(again.report.session_ends, report.session_ends, "{name}");
        assert_eq!(again.report.phases, report.phases, "{name}");
    }
}
