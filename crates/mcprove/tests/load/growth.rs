//! Servers that keep something of each call, or get slower with each, and honest ones that look like it for a while.

use std::time::Duration;

use mcprove_client::server::Server;
use mcprove_load::drive::Scenario;
use mcprove_load::run::{Report, Run};
use mcprove_score::verdict::{Outcome, Severity, Verdict};

use crate::support::MCPROVE;

async fn soak(mode: &[&str], scenario: Scenario) -> Report {
    let server = Server::stdio(MCPROVE)
        .args(["fixture"])
        .args(mode.iter().copied());
    let run = Run::new(server, scenario).with_calibration(false);
    run.execute().await.unwrap()
}

/// A soak of so many calls, however long they take.
fn calls(count: u64) -> Scenario {
    Scenario::soak()
        .concurrent(4)
        .duration(Duration::from_mins(2))
        .calls(count)
}

fn verdict<'a>(report: &'a Report, detector: &str) -> Option<&'a Verdict> {
    let mut verdicts = report.verdicts.iter();
    verdicts.find(|verdict| verdict.detector == detector)
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_is_kept_of_each_call_is_found() {
    for (resource, detector) in [
        ("files=1", "descriptor_leak"),
        ("threads=1", "thread_leak"),
        ("processes=1", "process_leak"),
    ] {
        let settings = ["files=0", "delay_ms=40", resource].map(|it| ["--set", it]);
        let mode = [&["resource_leak"], settings.as_flattened()].concat();
        let report = soak(&mode, calls(300)).await;
        let found = verdict(&report, detector).unwrap();
        // The run is too short to tell whether it is released later.
        assert_eq!(
            (found.outcome, found.severity),
            (Outcome::Finding, Severity::Warning),
            "{found:?}"
        );
        let others: Vec<_> = report
            .findings()
            .into_iter()
            .filter(|verdict| verdict.detector != detector)
            .collect();
        assert!(others.is_empty(), "{resource}: {others:?}");
    }
}

/// A load that is no soak finds it too.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn any_steady_load_finds_a_leak_of_descriptors() {
    let scenario = Scenario::sustained()
        .concurrent(4)
        .duration(Duration::from_mins(2))
        .calls(300);
    let mode = ["resource_leak", "--set", "delay_ms=40"];
    let report = soak(&mode, scenario).await;
    let found = verdict(&report, "descriptor_leak").unwrap();
    assert_eq!(found.outcome, Outcome::Finding, "{found:?}");
}

#[tokio::test]
async fn pools_caches_and_garbage_are_no_leak() {
    for mode in ["normal", "pool", "cache", "garbage"] {
        let scenario = Scenario::soak()
            .concurrent(4)
            .duration(Duration::from_secs(4));
        let report = soak(&[mode], scenario).await;
        assert!(report.passed(), "{mode}: {:?}", report.verdicts);
        let findings = report.findings();
        assert!(findings.is_empty(), "{mode}: {findings:?}");
        if cfg!(target_os = "linux") {
            for detector in ["descriptor_leak", "thread_leak", "process_leak"] {
                let found = verdict(&report, detector).unwrap();
                assert_eq!(found.outcome, Outcome::Pass, "{mode}: {found:?}");
            }
        }
    }
}

/// How often it is tried: on a machine that is busy with other tests one run may be inconclusive.
const TRIES: u32 = 3;

#[tokio::test]
async fn a_server_that_gets_slower_with_each_call_is_found() {
    let mut seen = Vec::new();
    for _ in 0..TRIES {
        let scenario = Scenario::soak()
            .concurrent(1)
            .duration(Duration::from_secs(13));
        let report = soak(&["degrading"], scenario).await;
        let found = verdict(&report, "throughput_drift").cloned();
        if found
            .as_ref()
            .is_some_and(|it| it.outcome == Outcome::Finding)
        {
            // The limit of the latency in milliseconds per second says nothing about it.
            let latency = verdict(&report, "latency_drift").unwrap();
            assert_ne!(latency.outcome, Outcome::Finding, "{latency:?}");
            return;
        }
        seen.push(found);
    }
    panic!("{seen:?}");
}
