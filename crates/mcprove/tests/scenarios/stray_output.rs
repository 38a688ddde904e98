//! What a server writes besides its messages, over stdio: each scenario reports it, under one name, and takes it for
//! nothing else.

use std::time::Duration;

use mcprove_client::server::Server;
use mcprove_load::drive::Scenario;
use mcprove_load::drive::ScenarioKind;
use mcprove_load::drive::scenario::{Churn, ColdStart, Fuzzer, SlowMix};
use mcprove_load::run::Report;
use mcprove_score::verdict::{Outcome, Severity};

use crate::support::{outcomes, run};

const MCPROVE: &str = env!("CARGO_BIN_EXE_mcprove");

/// One scenario of each kind, small.
fn scenarios() -> Vec<Scenario> {
    let short = Duration::from_millis(600);
    let slow_mix = SlowMix {
        concurrent: 8,
        duration: short,
        slow_share: 0.5,
    };
    let cold_start = ColdStart {
        iterations: 2,
        warmup: false,
    };
    vec![
        Scenario::from(ScenarioKind::ColdStart(cold_start)),
        Scenario::sustained().concurrent(5).duration(short),
        Scenario::deadlock_probe().concurrent(8),
        Scenario::race_check().concurrent(4).iterations(2),
        fuzzer(&[]),
        Scenario::from(ScenarioKind::SlowMix(slow_mix)),
        Scenario::reconnect().iterations(2),
        churn(),
        Scenario::early_call().iterations(1),
        Scenario::interrupted_call().iterations(2),
    ]
}

fn churn() -> Scenario {
    Scenario::from(ScenarioKind::Churn(Churn {
        sessions: 4,
        concurrent: 2,
    }))
}

fn fuzzer(payloads: &[&str]) -> Scenario {
    Scenario::from(ScenarioKind::Fuzzer(Fuzzer {
        iterations: 1,
        payloads: payloads.iter().map(|name| (*name).to_owned()).collect(),
        answer_timeout: Duration::from_millis(500),
    }))
}

fn fixture(words: &[&str]) -> Server {
    Server::stdio(MCPROVE).args([&["fixture"], words].concat())
}

/// The detectors that found something, with how bad it is.
fn findings(report: &Report) -> Vec<(&str, Severity)> {
    let mut found: Vec<_> = report
        .findings()
        .into_iter()
        // Short runs on a busy machine have little to tell of time.
        .filter(|verdict| verdict.severity == Severity::Critical || is_of_frames(&verdict.detector))
        .map(|verdict| (verdict.detector.as_str(), verdict.severity))
        .collect();
    found.sort_unstable();
    found
}

fn is_of_frames(detector: &str) -> bool {
    matches!(
        detector,
        "protocol" | "stdout_noise" | "garbled_reply" | "malformed" | "errors"
    )
}

async fn expect(words: &[&str], expected: &[(&str, Severity)]) {
    for scenario in scenarios() {
        let label = format!("{words:?} {scenario:?}");
        let outcome = run(fixture(words), scenario).execute().await;
        let report = outcome.unwrap_or_else(|error| panic!("{label}: {error}"));
        let verdicts = &report.verdicts;
        assert_eq!(findings(&report), expected, "{label}: {verdicts:?}");
    }
}

#[tokio::test]
async fn logs_on_stdout_are_a_warning_in_every_scenario() {
    expect(&["chatty"], &[("stdout_noise", Severity::Warning)]).await;
}

#[tokio::test]
async fn a_reply_on_the_line_of_a_log_is_found_by_every_scenario() {
    let words = ["glued", "--set", "every=1"];
    expect(&words, &[("garbled_reply", Severity::Critical)]).await;
}

#[tokio::test]
async fn errors_without_an_id_answer_no_call() {
    expect(&["null_id"], &[("protocol", Severity::Warning)]).await;
}

#[tokio::test]
async fn a_reply_without_an_id_is_no_evidence_for_a_deadlock() {
    let scenario = Scenario::sustained().calls(10);
    let report = run(fixture(&["no_id"]), scenario).execute().await.unwrap();
    assert_eq!(outcomes(&report, "protocol"), [Outcome::Finding]);
    assert_eq!(outcomes(&report, "deadlock"), [Outcome::Inconclusive]);
    assert_eq!(outcomes(&report, "malformed"), []);
}

#[tokio::test]
async fn broken_replies_are_one_finding() {
    let server = fixture(&["malformed", "--set", "every=3"]);
    let scenario = Scenario::sustained().calls(30);
    let report = run(server, scenario).execute().await.unwrap();
    assert_eq!(findings(&report), [("malformed", Severity::Critical)]);
    let server = fixture(&["malformed", "--set", "every=2"]);
    for scenario in [Scenario::interrupted_call().iterations(4), churn()] {
        let report = run(server.clone(), scenario).execute().await.unwrap();
        let found = findings(&report);
        // Of a call that was cancelled the broken reply is a violation.
        let is_other = |(detector, _): &(&str, _)| !matches!(*detector, "malformed" | "protocol");
        assert!(!found.iter().any(is_other), "{found:?}");
    }
}

#[tokio::test]
async fn a_fuzzer_reaches_a_server_that_answered_both_questions() {
    let server = fixture(&["slow_start", "--set", "delay_ms=1500"]);
    let scenario = fuzzer(&["unknown_method", "invalid_json"]);
    let report = run(server, scenario).execute().await.unwrap();
    assert_eq!(report.server_info.protocol, "2025-11-25");
    assert_eq!(outcomes(&report, "fuzz"), [Outcome::Pass]);
    assert_eq!(
        report.fuzz.as_ref().unwrap().rejected,
        2,
        "{:?}",
        report.fuzz
    );
}
