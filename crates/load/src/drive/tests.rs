//! What control calls are for, on built-in servers: who is innocent is not accused, who is guilty is found.

use mcprove_score::machine::Machine;
use mcprove_servers::fixture::{self, FixtureOptions};

use crate::drive::scenario::{Fuzzer, Ramp, SlowMix};
use crate::prelude::*;

fn server(mode: &'static str, settings: &[(&str, u64)]) -> Server {
    let settings = settings.iter();
    let settings = settings.map(|(name, value)| ((*name).to_owned(), json!(value)));
    let options = FixtureOptions {
        settings: settings.collect(),
        ..FixtureOptions::default()
    };
    Server::in_memory(mode, move || {
        fixture::spawn_in_memory(mode, &options).unwrap()
    })
}

async fn examine(server: Server, scenario: Scenario) -> Report {
    let run = Run::new(server, scenario.seed(7)).with_calibration(false);
    run.execute().await.unwrap()
}

fn load(calls: u64) -> Scenario {
    let long = Duration::from_secs(30);
    let load = Scenario::sustained().concurrent(10).duration(long);
    load.calls(calls).allow_writes(true)
}

fn verdict<'a>(report: &'a Report, detector: &str) -> Option<&'a Verdict> {
    let mut verdicts = report.verdicts.iter();
    verdicts.find(|verdict| verdict.detector == detector)
}

fn outcome(report: &Report, detector: &str) -> Option<(Outcome, Severity)> {
    verdict(report, detector).map(|verdict| (verdict.outcome, verdict.severity))
}

#[tokio::test]
async fn a_note_store_is_not_accused_of_mixing_up_callers() {
    let report = examine(server("notes", &[]), load(600)).await;
    let isolation = verdict(&report, "isolation").unwrap();
    assert_eq!(isolation.outcome, Outcome::Pass, "{isolation:?}");
    assert_eq!(report.isolation.stored_text, ["search"]);
    assert!(report.isolation.checked > 0 && report.isolation.crossed == 0);
    assert!(report.findings().is_empty(), "{:?}", report.findings());

    let report = examine(server("notes", &[("echo", 0)]), load(300)).await;
    assert_eq!(
        outcome(&report, "isolation"),
        Some((Outcome::Inconclusive, Severity::Info))
    );
    assert!(report.findings().is_empty(), "{:?}", report.findings());
}

#[tokio::test]
async fn callers_whose_token_comes_back_altered_are_found_to_be_mixed_up() {
    let report = examine(server("mixed_up", &[]), load(400)).await;
    let isolation = verdict(&report, "isolation").unwrap();
    assert_eq!(
        (isolation.outcome, isolation.severity),
        (Outcome::Finding, Severity::Critical),
        "{isolation:?} {:?}",
        report.isolation
    );
    assert!(report.isolation.checked == 0 && report.isolation.crossed > 0);
    let example = report.isolation.examples.first().unwrap();
    assert!(example.contains("gets alone"), "{example}");

    // Numbers carry no token: calls of the sample have others than those beside them.
    let numbers = Scenario::sustained()
        .concurrent(10)
        .duration(Duration::from_secs(2));
    let report = examine(server("mixed_up", &[("add", 1)]), numbers.clone()).await;
    assert_eq!(
        outcome(&report, "isolation"),
        Some((Outcome::Finding, Severity::Critical)),
        "{:?}",
        report.isolation
    );
    let report = examine(server("normal", &[]), numbers.tool("add")).await;
    assert!(report.findings().is_empty(), "{:?}", report.findings());

    let report = examine(
        server("mixed_up", &[]),
        Scenario::race_check().concurrent(6).iterations(2),
    )
    .await;
    assert_eq!(
        outcome(&report, "race"),
        Some((Outcome::Finding, Severity::Critical))
    );
    let race = &report.race["echo"];
    assert!(race.crossed > 0, "{race:?}");
    // The same call, made at once, has the same answer for all.
    assert_eq!(race.concurrent_distinct, 1);
}

#[tokio::test]
async fn crossed_tokens_are_still_found() {
    let report = examine(server("crossed", &[]), load(200)).await;
    assert_eq!(
        outcome(&report, "isolation"),
        Some((Outcome::Finding, Severity::Critical))
    );
}

#[tokio::test]
async fn healthy_callers_with_arguments_of_their_own_get_what_they_get_alone() {
    let scenario = Scenario::race_check().concurrent(6).iterations(2);
    let report = examine(server("mixed", &[]), scenario.clone().tool("echo")).await;
    assert_eq!(outcome(&report, "race").unwrap().0, Outcome::Pass);
    let race = &report.race["echo"];
    assert_eq!((race.own_arguments, race.crossed, race.altered), (12, 0, 0));
    // Its answers depend on what was called before.
    let report = examine(server("notes", &[]), scenario.tool("search")).await;
    assert_eq!(outcome(&report, "race").unwrap().0, Outcome::Inconclusive);
}

#[tokio::test]
async fn a_fast_tool_that_waits_for_a_slow_one_is_reported_with_both_figures() {
    let report = examine(server("blocked_loop", &[]), load(80)).await;
    let found = verdict(&report, "head_of_line").unwrap();
    assert_eq!(
        (found.outcome, found.severity),
        (Outcome::Finding, Severity::Warning),
        "{found:?}"
    );
    assert_eq!(
        found.numbers["fast_alone_p50_ms"]
            .as_f64()
            .map(|it| it < 100.0),
        Some(true)
    );
    assert!(found.numbers["fast_loaded_p50_ms"].as_f64().unwrap() >= 150.0);
    assert!(report.passed(), "{:?}", report.verdicts);
    // Slow and fast tools that have nothing to do with each other.
    let report = examine(server("mixed", &[]), load(80)).await;
    let found = verdict(&report, "head_of_line").unwrap();
    assert_eq!(found.outcome, Outcome::Pass, "{found:?}");
}

#[tokio::test]
async fn control_calls_are_counted_apart() {
    let report = examine(server("normal", &[]), load(50)).await;
    assert_eq!(report.throughput.total_requests, 50);
    assert!(report.control_calls >= 4, "{}", report.control_calls);
    let counted: u64 = report.tools.values().map(|tool| tool.count).sum();
    assert_eq!(counted, 50);
}

#[tokio::test]
async fn slow_mix_finds_the_arguments_that_make_a_tool_slow() {
    for (blocks, outcome) in [(1, Outcome::Finding), (0, Outcome::Pass)] {
        let scenario = Scenario::from(ScenarioKind::SlowMix(SlowMix {
            concurrent: 10,
            duration: Duration::from_secs(7),
            slow_share: 0.5,
        }));
        let server = server("told_delay", &[("blocks", blocks)]);
        let report = examine(server, scenario).await;
        let found = verdict(&report, "head_of_line").unwrap();
        // Where other work slows the fast tool alone, no call is made beside a slow one.
        let is_open = found.outcome == Outcome::Inconclusive && blocks == 1;
        let is_quiet = report.machine.is_none_or(|it| it.state() == Machine::Quiet);
        assert!(
            found.outcome == outcome || is_open && !is_quiet,
            "{found:?}"
        );
        assert!(!found.is_failure(), "{found:?}");
    }
}

#[tokio::test]
async fn a_control_call_that_hangs_is_a_deadlock_though_the_load_was_answered() {
    let load = Scenario::sustained().concurrent(4);
    let load = load.duration(Duration::from_millis(300)).seed(7);
    let short = Duration::from_millis(500);
    let run = Run::new(server("lazy_init", &[]), load).with_calibration(false);
    let limits = Thresholds {
        hang_timeout: short,
        grace_period: short,
        ..Thresholds::default()
    };
    let report = run.with_thresholds(limits).execute().await.unwrap();
    assert_eq!(
        outcome(&report, "deadlock"),
        Some((Outcome::Finding, Severity::Critical))
    );
}

#[tokio::test]
async fn a_step_that_collapses_is_repeated_and_not_refuted() {
    let ramp = Ramp::new(4, 20, 8, Duration::from_millis(1500));
    let settings = [("limit", 10), ("delay_ms", 400)];
    let server = server("stuck_after_burst", &settings);
    let report = examine(server, Scenario::from(ScenarioKind::Ramp(ramp))).await;
    let repeated: Vec<(&str, bool)> = report
        .phases
        .iter()
        .filter(|phase| phase.name != ALONE)
        .skip(3)
        .map(|phase| (phase.name.as_str(), phase.measured))
        .collect();
    assert_eq!(
        repeated,
        [("12 in flight again", false), ("12 in flight again", false)]
    );
    let measured: u64 = report.phases[..3].iter().map(|phase| phase.count).sum();
    assert_eq!(report.throughput.total_requests, measured);
    // Beside other tests it may be inconclusive.
    let found = verdict(&report, "breaking_point").unwrap();
    assert_ne!(found.outcome, Outcome::Pass, "{found:?}");
}

#[tokio::test]
async fn a_server_that_copes_has_no_step_repeated() {
    let ramp = Ramp::new(4, 20, 8, Duration::from_millis(1500));
    let server = server("slow", &[("delay_ms", 20)]);
    let report = examine(server, Scenario::from(ScenarioKind::Ramp(ramp))).await;
    assert!(
        report
            .phases
            .iter()
            .all(|phase| !phase.name.contains("again"))
    );
    let found = verdict(&report, "breaking_point").unwrap();
    assert_eq!(found.outcome, Outcome::Pass, "{found:?}");
    assert!(report.machine.unwrap().cores > 0);
}

#[tokio::test]
async fn a_server_that_only_answers_pings_after_bad_input_does_not_pass() {
    for (then, wedged, broken) in [(3, 1, 0), (4, 0, 1)] {
        let scenario = Scenario::from(ScenarioKind::Fuzzer(Fuzzer {
            iterations: 1,
            payloads: vec!["unknown_method".to_owned(), "array_params".to_owned()],
            answer_timeout: Duration::from_millis(200),
        }));
        let limits = Thresholds {
            hang_timeout: Duration::from_millis(200),
            grace_period: Duration::from_millis(200),
            ..Thresholds::default()
        };
        let server = server("chokes", &[("on", 2), ("then", then)]);
        let run = Run::new(server, scenario).with_thresholds(limits);
        let report = run.with_calibration(false).execute().await.unwrap();
        let fuzz = report.fuzz.as_ref().unwrap();
        assert_eq!((fuzz.wedged, fuzz.broken), (wedged, broken), "{fuzz:?}");
        let expected = Some((Outcome::Finding, Severity::Critical));
        assert_eq!(outcome(&report, "fuzz"), expected);
        // The other payload is not blamed, and nothing is told twice.
        assert_eq!(report.findings().len(), 1, "{:?}", report.findings());
    }
}

/// A server in memory that is one of this mode at every `every`th start, and healthy else.
fn server_with_bad_starts(every: u32, mode: &'static str, settings: &[(&str, u64)]) -> Server {
    let settings = settings.iter();
    let settings = settings.map(|(name, value)| ((*name).to_owned(), json!(value)));
    let bad = FixtureOptions {
        settings: settings.collect(),
        ..FixtureOptions::default()
    };
    let good = FixtureOptions::default();
    let starts = AtomicU32::new(0);
    Server::in_memory(mode, move || {
        let number = starts.fetch_add(1, Ordering::Relaxed) + 1;
        if number.is_multiple_of(every) {
            fixture::spawn_in_memory(mode, &bad).unwrap()
        } else {
            fixture::spawn_in_memory("normal", &good).unwrap()
        }
    })
}

#[tokio::test]
async fn a_start_that_fails_at_first_is_judged() {
    for scenario in [
        Scenario::reconnect().iterations(6),
        Scenario::early_call().iterations(4),
    ] {
        let server = server_with_bad_starts(4, "exit_at_start", &[]);
        let report = examine(server, scenario).await;
        let starts = report.starts.as_ref().unwrap();
        assert!(starts.failed + starts.opened_late > 0, "{starts:?}");
        let found = report.findings();
        assert!(found.iter().any(|it| it.detector == "starts"), "{found:?}");
        assert!(
            !found.iter().any(|it| it.detector == "new_sessions"),
            "{found:?}"
        );
    }
}

#[tokio::test]
async fn an_early_call_is_not_blamed_for_a_list_that_hangs_now_and_then() {
    let settings = [("good", 0), ("every", 1), ("how", 2)];
    let server = server_with_bad_starts(4, "unreliable_start", &settings);
    let limits = Thresholds {
        hang_timeout: Duration::from_millis(300),
        grace_period: Duration::from_millis(300),
        ..Thresholds::default()
    };
    let run = Run::new(server, Scenario::early_call().iterations(4)).with_thresholds(limits);
    let report = run.with_calibration(false).execute().await.unwrap();
    let early = report.verdicts.iter();
    let mut early = early.filter(|verdict| verdict.detector == "early_call");
    assert!(
        early.all(|verdict| !verdict.is_failure()),
        "{:?}",
        report.verdicts
    );
    assert!(!report.passed(), "{:?}", report.verdicts);
}
