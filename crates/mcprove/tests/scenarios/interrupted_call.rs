//! `interrupted_call`: whether a server survives that calls are cancelled.

use mcprove_load::drive::Scenario;
use mcprove_score::verdict::Outcome;
use mcprove_servers::fixture::Eras;

use crate::support::{KINDS, Target, assert_healthy, outcomes, verdicts};

fn interrupted_call() -> Scenario {
    Scenario::interrupted_call().iterations(4)
}

#[tokio::test]
async fn a_server_that_is_stuck_afterwards_is_found() {
    let mut targets: Vec<Target> = KINDS
        .into_iter()
        .map(|kind| Target::new("cancel_wedge", kind))
        .collect();
    targets.push(Target::http("cancel_wedge").eras(Eras::Handshake));
    for target in targets {
        let report = target.examine(interrupted_call()).await;
        let found = verdicts(&report, "cancel_kills");
        assert!(
            found.len() == 1 && found[0].is_failure(),
            "{target:?}: {found:?}"
        );
        assert!(
            found[0]
                .sentence
                .rendered()
                .contains("though the server is alive")
        );
    }
}

#[tokio::test]
async fn healthy_servers_survive_and_slow_ones_are_not_mistaken() {
    let mut targets: Vec<Target> = KINDS
        .into_iter()
        .map(|kind| Target::new("mixed", kind))
        .collect();
    targets.push(Target::http("mixed").eras(Eras::Handshake));
    targets.push(Target::http("slow").set("delay_ms", 300));
    targets.push(Target::http("head_of_line"));
    for target in targets {
        let report = target.examine(interrupted_call()).await;
        assert_healthy(&report, "cancel_kills", &target);
    }
}

#[tokio::test]
async fn a_fast_tool_is_healthy_or_too_fast() {
    let report = Target::http("normal").examine(interrupted_call()).await;
    assert!(report.findings().is_empty());
    let outcomes = outcomes(&report, "cancel_kills");
    assert!(
        matches!(outcomes[..], [Outcome::Pass | Outcome::Inconclusive]),
        "{outcomes:?}"
    );
    // A run that cancelled nothing does not pass.
    assert_eq!(report.passed(), outcomes == [Outcome::Pass]);
}
