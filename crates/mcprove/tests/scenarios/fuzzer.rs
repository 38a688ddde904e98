//! `fuzzer`: every kind of bad input, and every way to take it badly.

use std::time::Duration;

use mcprove_client::server::Server;
use mcprove_load::drive::scenario::Fuzzer;
use mcprove_load::drive::{Scenario, ScenarioKind};
use mcprove_load::run::RunError;
use mcprove_score::fuzz::FuzzOutcome;
use mcprove_score::verdict::{Outcome, Severity};
use mcprove_servers::fixture::Eras;

use crate::support::{KINDS, Target, run, verdicts};

fn fuzzer(payloads: &[&str]) -> Scenario {
    Scenario::from(ScenarioKind::Fuzzer(Fuzzer {
        iterations: 1,
        payloads: payloads.iter().map(|name| (*name).to_owned()).collect(),
        answer_timeout: Duration::from_millis(500),
    }))
}

/// What `chokes` takes badly, by its number, and a payload that is that.
const BAD: [(u64, &str); 9] = [
    (0, "invalid_json"),
    (1, "numeric_method"),
    (2, "unknown_method"),
    (3, "array_params"),
    (4, "unknown_tool"),
    (5, "null_id"),
    (6, "missing_jsonrpc"),
    (7, "deep_nesting"),
    (8, "giant_payload"),
];

/// What it does then, by its number, and what that is.
const FATES: [(u64, FuzzOutcome); 3] = [
    (0, FuzzOutcome::Crashed),
    (1, FuzzOutcome::Wedged),
    (2, FuzzOutcome::Unanswered),
];

#[tokio::test]
async fn every_kind_of_bad_input_is_told_with_what_it_does() {
    for (on, payload) in BAD {
        for (then, expected) in FATES {
            let target = Target::http("chokes").set("on", on).set("then", then);
            let report = target.examine(fuzzer(&[payload])).await;
            let fuzz = report.fuzz.as_ref().unwrap();
            let [case] = &fuzz.cases[..] else {
                panic!("{target:?}: {fuzz:?}");
            };
            assert_eq!((case.payload.as_str(), case.outcome), (payload, expected));
            let is_failure = expected != FuzzOutcome::Unanswered;
            assert_eq!(report.passed(), !is_failure, "{target:?}: {case:?}");
        }
    }
}

#[tokio::test]
async fn every_transport_shows_all_three() {
    for kind in KINDS {
        for (then, expected) in FATES {
            let target = Target::new("chokes", kind).set("on", 1).set("then", then);
            let report = target.examine(fuzzer(&["numeric_method"])).await;
            let fuzz = report.fuzz.as_ref().unwrap();
            assert_eq!(fuzz.cases[0].outcome, expected, "{target:?}: {fuzz:?}");
        }
    }
}

#[tokio::test]
async fn silence_is_a_warning_where_somebody_waits() {
    let cases = [(3, "array_params", 1), (5, "null_id", 0)];
    for (on, payload, warnings) in cases {
        let target = Target::http("chokes").set("on", on).set("then", 2);
        let report = target.examine(fuzzer(&[payload])).await;
        let found = report.findings();
        assert_eq!(found.len(), warnings, "{found:?}");
        assert!(
            found
                .iter()
                .all(|verdict| verdict.severity == Severity::Warning)
        );
        assert!(report.passed());
    }
}

#[tokio::test]
async fn a_server_that_is_gone_ends_the_run_and_that_is_told() {
    let target = Target::http("chokes").set("on", 2).set("then", 0);
    let report = target
        .examine(fuzzer(&["unknown_method", "numeric_method", "batch"]))
        .await;
    let outcomes: Vec<_> = verdicts(&report, "fuzz")
        .iter()
        .map(|verdict| verdict.outcome)
        .collect();
    assert_eq!(outcomes, [Outcome::Finding, Outcome::Inconclusive]);
    assert_eq!(report.fuzz.as_ref().unwrap().crashed, 1);
}

#[tokio::test]
async fn healthy_servers_answer_all_that_has_to_be_answered() {
    let mut targets: Vec<Target> = KINDS
        .into_iter()
        .flat_map(|kind| ["normal", "mixed"].map(|mode| Target::new(mode, kind)))
        .collect();
    targets.push(Target::http("normal").eras(Eras::Handshake));
    targets.push(Target::http("normal").eras(Eras::Stateless));
    for target in targets {
        let report = target.examine(fuzzer(&[])).await;
        let label = format!("{target:?}: {:?} {:?}", report.verdicts, report.fuzz);
        assert!(report.passed() && report.findings().is_empty(), "{label}");
        let fuzz = report.fuzz.as_ref().unwrap();
        assert_eq!((fuzz.wedged, fuzz.crashed), (0, 0), "{label}");
        assert!(fuzz.rejected > 20 && fuzz.accepted > 0, "{label}");
    }
}

#[tokio::test]
async fn payloads_are_sent_in_order_as_often_as_asked() {
    let scenario = fuzzer(&["unknown_method", "invalid-json"]).iterations(3);
    let report = Target::http("normal").examine(scenario).await;
    let cases = &report.fuzz.as_ref().unwrap().cases;
    let seen: Vec<_> = cases
        .iter()
        .map(|case| (case.payload.as_str(), case.times))
        .collect();
    assert_eq!(seen, [("unknown_method", 3), ("invalid_json", 3)]);
}

#[tokio::test]
async fn an_unknown_payload_is_an_error_with_a_suggestion() {
    let server = Server::http("http://127.0.0.1:9/mcp");
    let error = run(server, fuzzer(&["deep_nestin"])).execute().await;
    match error {
        Err(RunError::Config(error)) => {
            assert_eq!(error.hint, "did you mean \"deep_nesting\"?");
        }
        other => panic!("{other:?}"),
    }
}
