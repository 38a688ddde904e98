//! Starts that fail, sessions that do not open, and what else a server does around its calls.

use std::path::Path;
use std::time::Duration;

use mcprove_client::server::Server;
use mcprove_client::session::{ProtocolChoice, SessionOptions};
use mcprove_load::drive::Scenario;
use mcprove_load::drive::scenario::{ColdStart, ScenarioKind};
use mcprove_load::run::report::Report;
use mcprove_load::run::{Run, RunDirectory, Thresholds, recompute};
use mcprove_score::starts::StartUnit;
use mcprove_score::verdict::{Outcome, Severity, Verdict};
use mcprove_servers::fixture::{self, Eras, ListenerKind};
use mcprove_trace::ErrorCategory;
use serde_json::json;

use crate::support::MCPROVE;

const SHORT: Duration = Duration::from_millis(400);
const PATIENCE: Duration = Duration::from_secs(30);

fn server(mode: &str, settings: &[String]) -> Server {
    let set = settings
        .iter()
        .flat_map(|setting| ["--set".to_owned(), setting.clone()]);
    Server::stdio(MCPROVE)
        .args(
            ["fixture".to_owned(), mode.to_owned()]
                .into_iter()
                .chain(set),
        )
        .startup_timeout(PATIENCE)
        .shutdown_timeout(Duration::from_secs(2))
}

/// A server of which every second start from the third on fails in this way.
fn unreliable(folder: &Path, how: u32) -> Server {
    let state = folder.join(format!("starts-{how}"));
    let server = server("unreliable_start", &[format!("how={how}")]);
    let server = server.env("MCPROVE_FIXTURE_STATE", state.display().to_string());
    // One that hangs hangs for ever.
    if how == 0 {
        server
    } else {
        server.startup_timeout(Duration::from_millis(1500))
    }
}

fn cold_start(iterations: u32) -> Scenario {
    Scenario::from(ScenarioKind::ColdStart(ColdStart {
        iterations,
        warmup: false,
    }))
}

fn sessions(count: u32) -> Scenario {
    Scenario::sustained()
        .concurrent(count)
        .duration(SHORT)
        .sessions(count)
}

async fn report(run: Run) -> Report {
    run.with_calibration(false).execute().await.unwrap()
}

async fn run(server: Server, scenario: Scenario) -> Report {
    report(Run::new(server, scenario)).await
}

fn limits(thresholds: Thresholds) -> impl FnOnce(Run) -> Run {
    move |run| run.with_thresholds(thresholds)
}

fn found<'a>(report: &'a Report, detector: &str) -> Option<&'a Verdict> {
    report
        .verdicts
        .iter()
        .find(|verdict| verdict.detector == detector)
}

fn severity(report: &Report, detector: &str) -> Option<(Outcome, Severity)> {
    found(report, detector).map(|verdict| (verdict.outcome, verdict.severity))
}

const CRITICAL: Option<(Outcome, Severity)> = Some((Outcome::Finding, Severity::Critical));
const WARNING: Option<(Outcome, Severity)> = Some((Outcome::Finding, Severity::Warning));
const PASS: Option<(Outcome, Severity)> = Some((Outcome::Pass, Severity::Info));

#[tokio::test]
async fn fresh_starts_that_fail_are_a_finding() {
    use ErrorCategory::{Crash, Timeout};
    let folder = tempfile::tempdir().unwrap();
    // One that ends at its start is started again, which is a start too.
    for (how, category, opened, failed) in
        [(0, Crash, 5, 3), (1, Timeout, 3, 2), (2, Timeout, 3, 2)]
    {
        let report = run(unreliable(folder.path(), how), cold_start(5)).await;
        let starts = report.starts.as_ref().unwrap();
        assert_eq!(starts.unit, StartUnit::Start, "{how}");
        let counts = (starts.planned, starts.opened, starts.failed);
        assert_eq!(counts, (5, opened, failed), "{how}");
        assert_eq!(starts.by_category, [(category, failed)].into(), "{how}");
        assert_eq!(severity(&report, "starts"), CRITICAL, "{how}");
        assert_eq!(
            report.errors.by_category.get(&category),
            Some(&failed),
            "{how}"
        );
        // Two calls on each start.
        let calls = report.throughput.total_requests;
        assert_eq!(
            (calls, report.attempted()),
            (2 * opened, 2 * opened + failed)
        );
        let failed_share = mcprove_settings::number::share(failed, report.attempted()).unwrap();
        assert_eq!(report.error_rate(), Some(failed_share), "{how}");
        assert!(!report.passed(), "{how}");
        // Each is told once.
        assert_eq!(severity(&report, "crash"), None, "{how}");
        assert_eq!(severity(&report, "errors"), None, "{how}");
        // A start without a list of tools had its handshake.
        let handshakes = report.handshake.as_ref().unwrap().count;
        assert_eq!(handshakes, if how == 1 { 3 } else { 5 }, "{how}");
    }
}

#[tokio::test]
async fn fresh_starts_that_work_pass() {
    let report = run(server("normal", &[]), cold_start(3)).await;
    let starts = report.starts.as_ref().unwrap();
    assert_eq!((starts.planned, starts.opened, starts.failed), (3, 3, 0));
    assert_eq!(severity(&report, "starts"), PASS);
    assert_eq!(report.handshake.as_ref().unwrap().count, 3);
    assert!(report.startup_ms.unwrap() > 0.0);
    assert!(report.passed(), "{:?}", report.verdicts);
}

#[tokio::test]
async fn sessions_that_do_not_open_are_a_finding() {
    let folder = tempfile::tempdir().unwrap();
    for (how, category) in [(0, ErrorCategory::Crash), (1, ErrorCategory::Timeout)] {
        let output = folder.path().join(format!("runs-{how}"));
        // All starts but the first three fail, further tries too.
        let state = folder.path().join(format!("all-{how}"));
        let settings = [
            format!("how={how}"),
            "good=3".to_owned(),
            "every=1".to_owned(),
        ];
        let server = server("unreliable_start", &settings)
            .env("MCPROVE_FIXTURE_STATE", state.display().to_string())
            .startup_timeout(match how {
                0 => PATIENCE,
                _ => Duration::from_millis(1500),
            });
        let run = Run::new(server, sessions(6)).with_output_dir(output.clone());
        let report = report(run).await;
        let starts = report.starts.as_ref().unwrap();
        assert_eq!(
            (starts.planned, starts.opened, starts.failed),
            (6, 3, 3),
            "{how}"
        );
        assert_eq!(severity(&report, "starts"), CRITICAL, "{how}");
        assert_eq!(report.errors.by_category.get(&category), Some(&3), "{how}");
        assert_eq!(severity(&report, "unreachable"), None, "{how}");
        assert!(!report.passed(), "{how}");
        assert_eq!(report.sessions, 6);
        let directory = std::fs::read_dir(&output).unwrap().next().unwrap().unwrap();
        let text = std::fs::read_to_string(directory.path().join("report.md")).unwrap();
        assert!(text.contains("3 of 6 sessions"), "{text}");
        let directory = RunDirectory::open(&directory.path()).unwrap();
        let again = recompute(&directory).unwrap().report;
        assert_eq!(again.starts, report.starts);
        assert_eq!(again.verdicts, report.verdicts);
        assert_eq!(again.startup_ms, report.startup_ms);
    }
}

#[tokio::test]
async fn a_process_that_ends_at_its_start_is_a_finding_though_a_further_try_works() {
    let folder = tempfile::tempdir().unwrap();
    let report = run(unreliable(folder.path(), 0), sessions(6)).await;
    let starts = report.starts.as_ref().unwrap();
    assert!(starts.failed >= 2 && starts.planned == 6, "{starts:?}");
    assert_eq!(severity(&report, "starts"), CRITICAL);
}

#[tokio::test]
async fn sessions_that_all_open_pass() {
    let report = run(server("normal", &[]), sessions(6)).await;
    assert_eq!(severity(&report, "starts"), PASS);
    assert!(report.passed(), "{:?}", report.verdicts);
    assert_eq!(report.errors.total, 0);
}

#[tokio::test]
async fn sessions_refused_over_http_are_a_finding_and_a_quota_a_warning() {
    let cases = [
        (503, None, CRITICAL),
        (503, Some(0.9), WARNING),
        (429, None, WARNING),
        (429, Some(0.0), CRITICAL),
    ];
    for (status, error_rate, expected) in cases {
        let settings = json!({ "status": status });
        let options = fixture::FixtureOptions {
            eras: Eras::Handshake,
            settings: settings.as_object().unwrap().clone(),
        };
        let listening = fixture::listen(
            "limited_sessions",
            ListenerKind::Http,
            "127.0.0.1:0".parse().unwrap(),
            &options,
        )
        .await
        .unwrap();
        let run = Run::new(Server::http(listening.url()), sessions(6));
        let thresholds = Thresholds {
            error_rate,
            ..Thresholds::default()
        };
        let report = report(limits(thresholds)(run)).await;
        let starts = report.starts.as_ref().unwrap();
        assert_eq!(
            (starts.opened, starts.failed),
            (3, 3),
            "{status} {starts:?}"
        );
        assert_eq!(
            severity(&report, "starts"),
            expected,
            "{status} {error_rate:?}"
        );
        assert_eq!(
            report.passed(),
            expected == WARNING,
            "{status} {error_rate:?}"
        );
        listening.shutdown().await;
    }
}

#[tokio::test]
async fn a_start_has_a_limit() {
    let slow = || server("slow_init", &["delay_ms=300".to_owned()]);
    for (limit, passes) in [(Duration::from_millis(100), false), (PATIENCE, true)] {
        let thresholds = Thresholds {
            startup: Some(limit),
            ..Thresholds::default()
        };
        let report = report(limits(thresholds)(Run::new(slow(), sessions(1)))).await;
        assert!(report.startup_ms.unwrap() >= 300.0);
        assert_eq!(report.passed(), passes, "{:?}", report.threshold_violations);
        let violated = report.threshold_violations.first();
        let violated = violated.map(|it| (it.metric.name(), it.expected.as_str()));
        assert_eq!(violated, (!passes).then_some(("startup", "<=100ms")));
    }
}

#[tokio::test]
async fn coverage_has_a_limit() {
    // Of three tools one may be called.
    let cases = [
        ("normal", Some("echo"), false, "1 of 2 tools; not add"),
        ("normal", None, true, "2 of 2 tools"),
        ("destructive", None, true, "1 of 3 tools"),
    ];
    for (mode, tool, passes, line) in cases {
        let scenario = tool.map_or(sessions(1), |tool| sessions(1).tool(tool));
        let thresholds = Thresholds {
            min_coverage: Some(0.8),
            ..Thresholds::default()
        };
        let report = report(limits(thresholds)(Run::new(server(mode, &[]), scenario))).await;
        assert_eq!(report.passed(), passes, "{mode} {:?}", report.coverage);
        assert!(
            report.coverage.line().starts_with(line),
            "{}",
            report.coverage.line()
        );
        let violated = report.threshold_violations.first();
        let violated = violated.map(|it| (it.metric.name(), &*it.expected, &*it.actual));
        assert_eq!(
            violated,
            (!passes).then_some(("min_coverage", ">=80%", "50%"))
        );
    }
}

#[tokio::test]
async fn a_revision_that_was_not_asked_for_is_a_warning() {
    let asked: ProtocolChoice = "2025-06-18".parse().unwrap();
    for (protocol, expected) in [(asked, WARNING), (ProtocolChoice::Auto, None)] {
        for scenario in [
            sessions(1),
            cold_start(1),
            Scenario::race_check().iterations(1),
        ] {
            let session = SessionOptions::default().with_protocol(protocol);
            let run = Run::new(server("old_revision", &[]), scenario).with_session(session);
            let report = report(run).await;
            assert_eq!(severity(&report, "protocol_revision"), expected);
            assert_eq!(report.server_info.protocol, "2024-11-05");
            assert!(report.passed(), "{:?}", report.verdicts);
        }
    }
}

#[tokio::test]
async fn a_server_that_cancels_calls_of_the_client_is_a_warning() {
    let scenario = || sessions(1).calls(20);
    let report = run(server("stray_cancel", &[]), scenario()).await;
    let verdict = found(&report, "stray_cancel").unwrap();
    assert_eq!(severity(&report, "stray_cancel"), WARNING);
    // Of the calls of the load, and of control calls.
    let cancelled = &verdict.numbers["cancelled"];
    assert!(cancelled.as_u64().unwrap() >= 4, "{cancelled}");
    // An answer after that is one violation more, and harms nobody.
    assert_eq!(severity(&report, "protocol"), WARNING);
    let protocol = found(&report, "protocol").unwrap();
    assert_eq!(&protocol.numbers["violations"], cancelled);
    let report = run(server("asks", &[]), scenario()).await;
    assert_eq!(severity(&report, "stray_cancel"), None);
}

#[tokio::test]
async fn arguments_that_do_not_fit_are_protocol_errors_in_strict_runs() {
    let scenario = |strict| {
        let call = sessions(1).tool("search").args(json!({ "query": 5 }));
        call.calls(10).strict(strict)
    };
    // It takes anything.
    let report = run(server("careless", &[]), scenario(true)).await;
    let failed = report.errors.by_category.get(&ErrorCategory::ProtocolError);
    assert_eq!(failed, Some(&10), "{:?}", report.errors);
    assert_eq!(severity(&report, "schema"), CRITICAL);
    let report = run(server("careless", &[]), scenario(false)).await;
    assert_eq!(report.errors.total, 0);
}
