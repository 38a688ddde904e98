//! `race_check`: answers that differ at once, and answers that differ anyway.

use mcprove_load::drive::Scenario;
use mcprove_load::run::report::RunOutcome;
use mcprove_score::verdict::{Outcome, Severity};

use crate::support::{KINDS, Target, assert_healthy, outcomes};

fn race_check() -> Scenario {
    Scenario::race_check().concurrent(8).iterations(2)
}

#[tokio::test]
async fn answers_that_differ_only_at_once_are_found() {
    for kind in KINDS {
        let target = Target::new("divergent", kind);
        let report = target.examine(race_check()).await;
        assert_eq!(
            outcomes(&report, "race"),
            [Outcome::Finding; 2],
            "{target:?}"
        );
        assert!(!report.passed());
        let echo = &report.race["echo"];
        assert_eq!((echo.baseline_calls, echo.baseline_distinct), (10, 1));
        assert!(echo.concurrent_distinct > 1 && echo.example.is_some());
    }
}

#[tokio::test]
async fn answers_that_differ_alone_say_nothing() {
    let report = Target::http("unsteady").examine(race_check()).await;
    assert_eq!(outcomes(&report, "race"), [Outcome::Inconclusive; 2]);
    assert_eq!(report.outcome(), RunOutcome::Inconclusive);
    assert_eq!(report.race["echo"].concurrent_calls, 0);
}

#[tokio::test]
async fn healthy_servers_pass() {
    for kind in KINDS {
        for mode in ["normal", "mixed"] {
            let target = Target::new(mode, kind);
            let report = target.examine(race_check()).await;
            assert_healthy(&report, "race", &target);
            assert_eq!(report.race["echo"].concurrent_calls, 16);
        }
    }
}

#[tokio::test]
async fn calls_that_fail_are_counted_and_not_compared() {
    let target = Target::http("overload").set("limit", 4);
    let report = target.examine(race_check().tool("echo")).await;
    // They fail only when made concurrently: a warning.
    assert_eq!(outcomes(&report, "race"), [Outcome::Finding]);
    let mut verdicts = report.verdicts.iter();
    let race = verdicts.find(|it| it.detector == "race").unwrap();
    assert_eq!(race.severity, Severity::Warning, "{race:?}");
    let echo = &report.race["echo"];
    assert!(echo.failures > 0 && echo.concurrent_calls > 0, "{echo:?}");
    // Those with other arguments that fail are counted, too.
    assert!(echo.failures + echo.concurrent_calls >= 16, "{echo:?}");
}
