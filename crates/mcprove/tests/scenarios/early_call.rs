//! `early_call`: calls before a server expects them.

use mcprove_load::drive::Scenario;
use mcprove_score::verdict::Outcome;
use mcprove_servers::fixture::Eras;

use crate::support::{KINDS, Target, assert_healthy, outcomes, verdicts};

fn early_call() -> Scenario {
    Scenario::early_call().iterations(2)
}

#[tokio::test]
async fn a_server_that_dies_of_it_or_hangs_is_found() {
    for kind in KINDS {
        for (then, words) in [(0, "ends the server"), (1, "got no answer within")] {
            let target = Target::new("early", kind).set("then", then);
            let report = target.examine(early_call()).await;
            let found = verdicts(&report, "early_call");
            assert!(!report.passed(), "{target:?}: {found:?}");
            assert!(found[0].is_failure(), "{target:?}: {found:?}");
            assert!(
                found[0].sentence.rendered().contains(words),
                "{target:?}: {:?}",
                found[0].sentence
            );
        }
    }
}

#[tokio::test]
async fn healthy_servers_take_it_or_refuse_it() {
    for kind in KINDS {
        for mode in ["normal", "mixed"] {
            let target = Target::new(mode, kind);
            let report = target.examine(early_call()).await;
            assert_healthy(&report, "early_call", &target);
            // With the list, and before the handshake is complete.
            assert_eq!(outcomes(&report, "early_call").len(), 2, "{target:?}");
        }
    }
}

#[tokio::test]
async fn a_server_without_a_handshake_has_one_early_moment() {
    let target = Target::http("normal").eras(Eras::Stateless);
    let report = target.examine(early_call()).await;
    assert_healthy(&report, "early_call", &target);
    assert_eq!(outcomes(&report, "early_call").len(), 1);
}

#[tokio::test]
async fn a_tool_that_never_works_says_nothing() {
    for mode in ["tool_error", "broken"] {
        let report = Target::http(mode).examine(early_call()).await;
        assert_eq!(
            outcomes(&report, "early_call"),
            [Outcome::Inconclusive],
            "{mode}: {:?}",
            report.verdicts
        );
    }
}
