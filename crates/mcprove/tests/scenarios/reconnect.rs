//! `reconnect`: whether a server recovers from connections that are dropped.

use mcprove_load::drive::Scenario;
use mcprove_score::verdict::Outcome;
use mcprove_servers::fixture::Eras;

use crate::support::{KINDS, Target, assert_healthy, outcomes};

#[tokio::test]
async fn a_server_that_does_not_recover_is_found() {
    // Over HTTP without sessions a dropped connection cancels what runs on it.
    let target = Target::http("cancel_wedge").eras(Eras::Stateless);
    let report = target.examine(Scenario::reconnect().iterations(2)).await;
    assert_eq!(
        outcomes(&report, "new_sessions"),
        [Outcome::Finding],
        "{:?}",
        report.verdicts
    );
    assert!(!report.passed());
}

#[tokio::test]
async fn a_server_that_is_gone_is_found_and_ends_the_run() {
    let target = Target::http("crash").set("every", 12);
    let report = target.examine(Scenario::reconnect().iterations(50)).await;
    assert_eq!(outcomes(&report, "new_sessions"), [Outcome::Finding]);
    let ends = report.session_ends.as_ref().unwrap();
    assert!(ends.failed_opens > 0 && ends.opened < 50, "{ends:?}");
}

#[tokio::test]
async fn healthy_servers_recover() {
    for kind in KINDS {
        for mode in ["normal", "mixed"] {
            let target = Target::new(mode, kind);
            let report = target.examine(Scenario::reconnect().iterations(4)).await;
            assert_healthy(&report, "new_sessions", &target);
            let ends = report.session_ends.as_ref().unwrap();
            assert_eq!((ends.opened, ends.abandoned), (5, 2), "{target:?}");
            // Dropped calls count nowhere.
            assert_eq!((report.errors.total, report.crash_count), (0, 0));
        }
    }
}
