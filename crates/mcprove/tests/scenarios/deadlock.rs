//! Calls that wait in a row are queued, and calls that are never answered are stuck.

use std::time::Duration;

use mcprove::RunOutcome;
use mcprove_client::session::SessionOptions;
use mcprove_load::drive::Scenario;
use mcprove_load::run::{Report, Thresholds};
use mcprove_score::verdict::{Outcome, Severity};
use mcprove_servers::fixture::ListenerKind;

use crate::support::{PROCESS, Target, outcomes, run, verdicts};

const HANG: Duration = Duration::from_millis(300);
const GRACE: Duration = Duration::from_millis(1_500);

fn queue() -> Target {
    Target::http("queue").set("delay_ms", 150)
}

fn probe() -> Scenario {
    Scenario::deadlock_probe()
        .concurrent(20)
        .hang_limits(HANG, GRACE)
}

async fn examine(target: &Target, scenario: Scenario, max_wait: Duration) -> Report {
    let _alone = PROCESS.read().await;
    let listening = target.listen().await;
    run(target.server(&listening), scenario)
        .with_thresholds(Thresholds {
            hang_timeout: HANG,
            grace_period: GRACE,
            max_wait,
            ..Thresholds::default()
        })
        .execute()
        .await
        .unwrap()
}

/// The last of twenty calls is answered after 3 s, long after hang threshold and grace period.
#[tokio::test]
async fn a_server_that_handles_one_call_at_a_time_is_no_deadlock() {
    let target = queue();
    let report = examine(&target, probe(), Duration::from_mins(2)).await;
    let found = verdicts(&report, "deadlock");
    assert_eq!(found.len(), 1);
    assert!(!found[0].is_failure(), "{found:?}");
    assert!(report.passed(), "{:?}", report.verdicts);
    assert_eq!(found[0].severity, Severity::Warning, "{found:?}");
    let probe = report.deadlock.unwrap();
    assert_eq!((probe.deadlock, probe.queued, probe.error), (0, 0, 0));
    let capacity = probe.capacity.unwrap();
    assert!(capacity.at_once < 1.5, "{capacity:?}");
    assert!(capacity.service_time_ms >= 150.0, "{capacity:?}");
}

#[tokio::test]
async fn loads_on_a_server_that_handles_one_call_at_a_time_are_no_deadlock() {
    let short = Duration::from_secs(1);
    for scenario in [
        Scenario::sustained().concurrent(20).duration(short),
        Scenario::race_check().concurrent(20).iterations(1),
        Scenario::spike().duration(short),
        Scenario::ramp().concurrent(20).duration(short),
        Scenario::reconnect().iterations(3),
        Scenario::churn().concurrent(8),
    ] {
        let name = scenario.kind.name().to_owned();
        let target = Target::http("queue").set("delay_ms", 60).set("workers", 2);
        let report = examine(&target, scenario, Duration::from_mins(2)).await;
        let critical = report
            .verdicts
            .iter()
            .filter(|verdict| verdict.is_failure());
        let critical: Vec<_> = critical.collect();
        assert!(critical.is_empty(), "{name}: {critical:?}");
    }
}

#[tokio::test]
async fn a_call_that_is_never_answered_is_found_among_queued_ones() {
    // With one worker nothing is answered after it, with four the others go on.
    for (workers, least) in [(1, 2), (4, 1)] {
        let target = queue().set("workers", workers).set("stuck", 5);
        let report = examine(&target, probe(), Duration::from_mins(2)).await;
        assert_eq!(outcomes(&report, "deadlock"), [Outcome::Finding]);
        let probe = report.deadlock.unwrap();
        assert!(probe.deadlock >= least, "{workers} workers: {probe:?}");
        assert!(probe.success + probe.slow > 0, "{probe:?}");
    }
}

#[tokio::test]
async fn what_is_still_queued_when_it_is_given_up_is_inconclusive() {
    let max_wait = HANG + GRACE + Duration::from_millis(200);
    let target = queue().set("delay_ms", 250);
    let report = examine(&target, probe(), max_wait).await;
    let found = verdicts(&report, "deadlock");
    assert_eq!(found[0].outcome, Outcome::Inconclusive, "{found:?}");
    assert_eq!(report.outcome(), RunOutcome::Inconclusive);
    assert!(report.deadlock.unwrap().queued > 0);
    // The same in a load, from its facts.
    let scenario = Scenario::sustained()
        .concurrent(30)
        .duration(Duration::from_secs(1));
    let report = examine(&target, scenario, max_wait).await;
    assert_eq!(outcomes(&report, "deadlock"), [Outcome::Inconclusive]);
    assert_eq!(report.outcome(), RunOutcome::Inconclusive);
}

/// A timeout is not an answer: nothing is known of a call that is given up before it is judged.
#[tokio::test]
async fn a_call_that_is_given_up_early_is_inconclusive() {
    for scenario in [
        Scenario::sustained()
            .concurrent(4)
            .duration(Duration::from_secs(1)),
        Scenario::race_check().concurrent(5).iterations(2),
    ] {
        let _alone = PROCESS.read().await;
        let target = queue().set("delay_ms", 2).set("workers", 8).set("stuck", 8);
        let listening = target.listen().await;
        let mut session = SessionOptions::default();
        session.call_timeout = Some(Duration::from_secs(2));
        let report = run(target.server(&listening), scenario)
            .with_thresholds(Thresholds::default())
            .with_session(session)
            .execute()
            .await
            .unwrap();
        assert_eq!(outcomes(&report, "deadlock"), [Outcome::Inconclusive]);
        assert_eq!(report.outcome(), RunOutcome::Inconclusive);
    }
}

#[tokio::test]
async fn a_stuck_call_is_found_in_a_load_that_goes_on() {
    let target = Target::new("queue", ListenerKind::WebSocket)
        .set("delay_ms", 2)
        .set("workers", 8)
        .set("stuck", 20);
    let scenario = Scenario::sustained()
        .concurrent(4)
        .duration(Duration::from_secs(4));
    let report = examine(&target, scenario, Duration::from_mins(2)).await;
    assert_eq!(outcomes(&report, "deadlock"), [Outcome::Finding]);
    assert_eq!(report.deadlock_count, 1, "{:?}", report.verdicts);
}
