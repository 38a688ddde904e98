//! Loads on built-in servers with faults between.

use std::collections::BTreeSet;
use std::path::Path;

use mcprove_client::server::Server;
use mcprove_score::verdict::{Outcome, Verdict};
use mcprove_servers::fixture::{self, ListenerKind, Listening};
use mcprove_trace::FaultKind;
use serde_json::Value;

use super::*;
use crate::drive::Scenario;
use crate::run::report::{PhaseReport, RunOutcome};
use crate::run::{Report, RunDirectory, recompute};
use crate::run::{Run, Thresholds};

async fn listen(kind: ListenerKind) -> Listening {
    let address = "127.0.0.1:0".parse().unwrap();
    let options = fixture::FixtureOptions::default();
    fixture::listen("normal", kind, address, &options)
        .await
        .unwrap()
}

/// Hangs are noticed early, so that a test need not wait for them.
fn thresholds() -> Thresholds {
    Thresholds {
        error_rate: Some(0.0),
        hang_timeout: Duration::from_millis(500),
        grace_period: Duration::from_millis(200),
        ..Thresholds::default()
    }
}

fn faults(texts: &[&str]) -> Vec<LoadFault> {
    let parse = |text: &&str| LoadFault::new(text.parse().unwrap());
    texts.iter().map(parse).collect()
}

async fn run(
    kind: ListenerKind,
    scenario: Scenario,
    faults: Vec<LoadFault>,
    base: &Path,
) -> (Report, RunDirectory) {
    let listening = listen(kind).await;
    let server = match kind {
        ListenerKind::Http => Server::http(listening.url()),
        ListenerKind::Sse => Server::sse(listening.url()),
        ListenerKind::WebSocket => Server::websocket(listening.url()),
    };
    let (report, directory) = Run::new(server, scenario.seed(7))
        .with_thresholds(thresholds())
        .with_faults(faults)
        .with_calibration(false)
        .with_output_dir(base.to_owned())
        .execute_in_directory()
        .await
        .unwrap();
    (report, directory.unwrap())
}

fn verdict<'r>(report: &'r Report, detector: &str) -> &'r Verdict {
    let mut verdicts = report.verdicts.iter();
    verdicts
        .find(|verdict| verdict.detector == detector)
        .unwrap_or_else(|| panic!("no {detector}: {:?}", report.verdicts))
}

fn calls(count: u64) -> Scenario {
    Scenario::sustained()
        .concurrent(6)
        .duration(Duration::from_mins(1))
        .calls(count)
}

fn written(directory: &RunDirectory) -> String {
    std::fs::read_to_string(directory.metrics()).unwrap()
}

/// A fault of this kind at four calls of add.
fn four_strikes(name: &str, kind: FaultKind) -> String {
    match kind {
        FaultKind::Slow | FaultKind::ReplyAfterCancel => format!("{name}:20,tool=add,calls=3-6"),
        FaultKind::Jitter => "jitter:1-20,tool=add,calls=3-6".to_owned(),
        FaultKind::Oversized => "oversized:100000,tool=add,calls=3-6".to_owned(),
        FaultKind::Flaky => "flaky:1,tool=add,calls=3-6".to_owned(),
        FaultKind::RecoverAfter => "recover_after:4,tool=add".to_owned(),
        _ => format!("{name},tool=add,calls=3-6"),
    }
}

/// Every kind of fault strikes, and none of them is held against the server: not its errors, not its
/// broken frames, not its hangs. The report is the same from the trace.
async fn every_kind_is_kept_apart(transport: ListenerKind) {
    let folder = tempfile::tempdir().unwrap();
    for (name, kind) in FaultKind::ALL {
        // A server at a URL has no process that could be ended.
        if matches!(kind, FaultKind::None | FaultKind::Crash) {
            continue;
        }
        let fault = faults(&[&four_strikes(name, kind)]);
        let (report, directory) = run(transport, calls(60), fault, folder.path()).await;
        let injected = report.faults.as_ref().unwrap();
        assert_eq!(injected.calls_struck, 4, "{name}: {injected:?}");
        assert_eq!(injected.impacts[0].struck.tools["add"], 4, "{name}");
        assert_eq!(report.errors.total, 0, "{name}: {:?}", report.errors);
        // A call whose connection is gone before it is sent is no call.
        let least = if injected.impacts[0].struck.connections_ended > 0 {
            30
        } else {
            60
        };
        let counted = report.throughput.total_requests + 4 + injected.calls_lost;
        assert!((least..=60).contains(&counted), "{name}: {counted}");
        assert_eq!(report.crash_count + report.deadlock_count, 0, "{name}");
        let mut failures = report
            .verdicts
            .iter()
            .filter(|verdict| verdict.is_failure());
        assert_eq!(failures.next(), None, "{name}");
        assert!(report.threshold_violations.is_empty(), "{name}");
        let protocol = verdict(&report, "protocol");
        assert_eq!(protocol.outcome, Outcome::Pass, "{name}: {protocol:?}");
        let again = recompute(&directory).unwrap().report;
        assert_eq!(again.to_json(), written(&directory), "{name}");
    }
}

#[tokio::test]
async fn every_kind_is_kept_apart_over_http() {
    every_kind_is_kept_apart(ListenerKind::Http).await;
}

#[tokio::test]
async fn every_kind_is_kept_apart_over_websocket() {
    every_kind_is_kept_apart(ListenerKind::WebSocket).await;
}

#[tokio::test]
async fn every_kind_is_kept_apart_over_sse() {
    every_kind_is_kept_apart(ListenerKind::Sse).await;
}

#[tokio::test]
async fn an_injected_hang_is_told_and_not_held_against_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let hang = faults(&["hang,tool=add,calls=1-3"]);
    let (report, _) = run(ListenerKind::Http, calls(40), hang, folder.path()).await;
    let deadlock = verdict(&report, "deadlock");
    assert_ne!(deadlock.outcome, Outcome::Finding, "{deadlock:?}");
    assert_eq!(deadlock.numbers["injected"], 3);
    let told = "because an injected fault struck them";
    assert!(deadlock.sentence.rendered().contains(told), "{deadlock:?}");
    assert_eq!(report.isolation.lost, 0);
    assert_eq!(report.faults.unwrap().impacts[0].struck.hung, 3);
}

/// The arguments of the calls that were struck, from the trace.
fn struck_arguments(directory: &RunDirectory) -> BTreeSet<String> {
    let trace = std::fs::read_to_string(directory.trace()).unwrap();
    let lines: Vec<Value> = trace
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let key = |value: &Value| (value["session"].as_u64(), value["request_id"].as_u64());
    let struck: BTreeSet<_> = lines
        .iter()
        .filter(|line| line["name"] == "fault")
        .map(|line| key(&line["data"]))
        .collect();
    lines
        .iter()
        .filter(|line| line["kind"] == "request" && struck.contains(&key(line)))
        .map(|line| line["params"].to_string())
        .collect()
}

#[tokio::test]
async fn the_same_calls_are_struck_whatever_the_concurrency() {
    let folder = tempfile::tempdir().unwrap();
    let mut struck = Vec::new();
    for (concurrent, sessions) in [(1, 1), (16, 3)] {
        let scenario = calls(300).concurrent(concurrent).sessions(sessions);
        let rated = faults(&["error,tool=echo,rate=0.3"]);
        let (report, directory) = run(ListenerKind::Http, scenario, rated, folder.path()).await;
        let arguments = struck_arguments(&directory);
        let count = report.faults.unwrap().calls_struck;
        assert_eq!(count, arguments.len() as u64);
        assert!((20..80).contains(&count), "{count}");
        struck.push(arguments);
    }
    assert_eq!(struck[0], struck[1]);
}

#[tokio::test]
async fn a_server_of_which_nothing_is_seen_is_not_judged() {
    let folder = tempfile::tempdir().unwrap();
    let (report, _) = run(
        ListenerKind::Http,
        calls(30),
        faults(&["error"]),
        folder.path(),
    )
    .await;
    assert_eq!(report.outcome(), RunOutcome::Inconclusive);
    let success = verdict(&report, "success");
    let told = "All 30 calls met an injected fault";
    assert!(success.sentence.rendered().starts_with(told), "{success:?}");
}

#[tokio::test]
async fn before_during_and_after_are_in_every_report() {
    let folder = tempfile::tempdir().unwrap();
    let second = Duration::from_secs(1);
    let scenario = Scenario::sustained().duration(7 * second).rate(200.0);
    let late = LoadFault::new("slow:50,tool=add".parse().unwrap())
        .window(2 * second, second)
        .max_recovery(60 * second);
    let (report, directory) = run(ListenerKind::Http, scenario, vec![late], folder.path()).await;
    let impact = &report.faults.as_ref().unwrap().impacts[0];
    for phase in [impact.before, impact.during, impact.after] {
        assert!(phase.calls >= 20 && phase.p50_ms.is_some(), "{phase:?}");
        assert_eq!(phase.failed, 0);
    }
    assert!(impact.struck.calls > 5, "{impact:?}");
    let aimed: Vec<bool> = impact.tools.iter().map(|tool| tool.is_aimed_at).collect();
    assert_eq!(aimed, [true, false]);
    let length = impact.until_secs.unwrap() - impact.from_secs.unwrap();
    assert!((length - 1.0).abs() < 0.01, "{impact:?}");
    let html = std::fs::read_to_string(directory.path().join("report.html")).unwrap();
    for text in [crate::report::document(&report, None).markdown(), html] {
        assert!(text.contains("Injected faults"), "{text}");
        assert!(text.contains("is of calls that met no fault"), "{text}");
    }
    let again = recompute(&directory).unwrap().report;
    assert_eq!(again.to_json(), written(&directory));
}

#[tokio::test]
async fn what_makes_no_sense_is_refused() {
    for (scenario, texts, expected) in [
        (Scenario::churn(), &["hang"][..], "takes no faults"),
        (
            calls(5),
            &["hang", "hang,tool=add"],
            "two faults are called \"hang\"",
        ),
        (
            calls(5),
            &["crash,tool=add"],
            "a server at a URL is not ours to end",
        ),
        (
            calls(5),
            &["hang,server=nosuch"],
            "a fault is aimed at the server \"nosuch\", but this one is called",
        ),
        (
            calls(5),
            &["hang,tool=ad"],
            "a fault is aimed at the tool \"ad\"",
        ),
    ] {
        let listening = listen(ListenerKind::Http).await;
        let error = Run::new(Server::http(listening.url()), scenario)
            .with_faults(faults(texts))
            .with_calibration(false)
            .execute()
            .await
            .unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[tokio::test]
async fn a_tool_that_fails_by_itself_fails_under_a_harmless_fault_too() {
    let folder = tempfile::tempdir().unwrap();
    let address = "127.0.0.1:0".parse().unwrap();
    let options = fixture::FixtureOptions::default();
    let listening = fixture::listen("error", ListenerKind::Http, address, &options)
        .await
        .unwrap();
    let (report, directory) = Run::new(Server::http(listening.url()), calls(40).seed(7))
        .with_thresholds(thresholds())
        .with_faults(faults(&["slow:5"]))
        .with_calibration(false)
        .with_output_dir(folder.path().to_owned())
        .execute_in_directory()
        .await
        .unwrap();
    assert!(report.errors.total > 0, "{:?}", report.errors);
    assert_eq!(report.outcome(), RunOutcome::Failed);
    let injected = report.faults.as_ref().unwrap();
    assert_eq!(injected.servers_own, report.errors.total);
    assert_eq!(injected.calls_struck, 40);
    let again = recompute(&directory.unwrap()).unwrap().report;
    assert_eq!(again.errors.total, report.errors.total);
}

#[tokio::test]
async fn a_ramp_does_not_blame_the_server_for_an_injected_wait() {
    let folder = tempfile::tempdir().unwrap();
    let second = Duration::from_secs(1);
    let scenario = Scenario::ramp().duration(4 * second);
    let slow = LoadFault::new("slow:300".parse().unwrap()).window(2 * second, second);
    let (report, _) = run(ListenerKind::Http, scenario, vec![slow], folder.path()).await;
    assert!(report.faults.unwrap().calls_struck > 0);
    let breaking = report.verdicts.iter();
    let mut breaking = breaking.filter(|verdict| verdict.detector == "breaking_point");
    assert!(breaking.next().is_some());
    // A busy machine may break for itself, but never while the fault is on.
    let broken = report.breaking_point.map(|point| point.concurrent);
    let mut steps = report.phases.iter();
    let broken = broken.map(|concurrent| steps.find(|step| step.concurrent == concurrent).unwrap());
    // The fault's time counts from the first step, not from the start of the run.
    let mut steps = report.phases.iter().filter(|step| step.measured);
    let on = steps.next().unwrap().from + 2 * second;
    let is_faulted = |step: &PhaseReport| step.from < on + second && step.from + step.duration > on;
    assert!(!broken.is_some_and(is_faulted), "{broken:?}");
}

/// The verdict of this detector in a run under a fault that strikes.
async fn verdict_under(scenario: Scenario, detector: &str, fault: LoadFault) -> Verdict {
    let folder = tempfile::tempdir().unwrap();
    let (report, _) = run(ListenerKind::Http, scenario, vec![fault], folder.path()).await;
    assert!(report.faults.unwrap().calls_struck > 0);
    let mut verdicts = report.verdicts.into_iter();
    verdicts
        .find(|verdict| verdict.detector == detector)
        .unwrap()
}

#[tokio::test]
async fn a_spike_is_not_judged_across_a_fault_in_one_of_its_phases() {
    let second = Duration::from_secs(1);
    let slow = || LoadFault::new("slow:20,tool=add".parse().unwrap());
    let scenario = || Scenario::spike().duration(6 * second);
    let partly = slow().window(Duration::ZERO, second);
    let verdict = verdict_under(scenario(), "spike_recovery", partly).await;
    assert_eq!(verdict.outcome, Outcome::Inconclusive, "{verdict:?}");
    assert!(verdict.sentence.rendered().contains("fault"), "{verdict:?}");
    // On all the time, it is the same for all phases.
    let verdict = verdict_under(scenario(), "spike_recovery", slow()).await;
    assert!(
        !verdict.sentence.rendered().contains("fault"),
        "{verdict:?}"
    );
}
