use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcprove_client::server::Server;
use mcprove_servers::fixture::{self, ListenerKind, Listening};
use serde_json::json;

use super::*;
use crate::drive::Scenario;
use crate::drive::Stop;
use crate::run::Run;
use crate::run::directory::RunDirectory;

async fn listen(mode: &str, settings: &[(&str, u64)]) -> Listening {
    let options = fixture::FixtureOptions {
        settings: settings
            .iter()
            .map(|(name, value)| ((*name).to_owned(), json!(value)))
            .collect(),
        ..fixture::FixtureOptions::default()
    };
    fixture::listen(
        mode,
        ListenerKind::Http,
        "127.0.0.1:0".parse().unwrap(),
        &options,
    )
    .await
    .unwrap()
}

fn sustained(milliseconds: u64) -> Scenario {
    Scenario::sustained()
        .concurrent(4)
        .duration(Duration::from_millis(milliseconds))
        .tool("echo")
}

fn run_on(listening: &Listening, milliseconds: u64) -> Run {
    Run::new(Server::http(listening.url()), sustained(milliseconds))
}

#[test]
fn a_run_without_calls_has_no_percentiles() {
    let sample = sample_of(&Report::empty(Scenario::sustained().kind));
    assert_eq!(sample, RunSample::default());
}

#[tokio::test]
async fn a_sample_has_the_numbers_of_the_run() {
    let listening = listen("error", &[]).await;
    let failing = run_on(&listening, 100).execute().await.unwrap();
    let sample = sample_of(&failing);
    assert!(sample.attempted > 0);
    assert_eq!(sample.attempted - sample.failed, failing.latency.count);
    let listening = listen("normal", &[]).await;
    let healthy = run_on(&listening, 100).execute().await.unwrap();
    let sample = sample_of(&healthy);
    assert_eq!(sample.failed, 0);
    let value = healthy.latency.histogram.value_at_quantile(0.95);
    assert_eq!(
        sample.p95_ms,
        Some(as_milliseconds(Duration::from_nanos(value)))
    );
    let difference = sample.throughput_per_s - healthy.throughput.requests_per_sec;
    assert!(difference.abs() < 1e-6, "{difference}");
}

/// A server that is much slower is found, the runs take turns, and what was written can be
/// compared again.
#[tokio::test]
async fn two_servers_are_compared_in_turns() {
    let folder = tempfile::tempdir().unwrap();
    let before = listen("slow", &[("delay_ms", 5)]).await;
    let after = listen("slow", &[("delay_ms", 15)]).await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&seen);
    let (report, directory) = Comparer::new(run_on(&before, 150), run_on(&after, 150))
        .with_runs(5)
        .with_output_dir(folder.path().to_owned())
        .on_progress(Arc::new(move |progress: &ComparisonProgress<'_>| {
            let last = progress.last.map(|(side, _)| side);
            let line = (progress.done, progress.total, last, progress.next);
            told.lock().unwrap().push(line);
        }))
        .execute_in_directory()
        .await
        .unwrap();
    assert_eq!(report.change(), Change::Regressed, "{report:#?}");
    assert_eq!(report.comparison.runs, (5, 5));
    assert_eq!(report.warnings, Vec::<String>::new());
    assert!(!report.partial);

    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 11);
    assert_eq!(seen[0], (0, 10, None, Some(Side::Baseline)));
    assert_eq!(seen[10], (10, 10, Some(Side::Current), None));
    let turns: Vec<Side> = seen.iter().filter_map(|(_, _, last, _)| *last).collect();
    assert_eq!(turns, order(5));

    let directory = directory.unwrap();
    let seeds: Vec<u64> = report
        .baseline
        .iter()
        .chain(&report.current)
        .map(|run| {
            let directory = RunDirectory::open(run.directory.as_ref().unwrap()).unwrap();
            assert!(!directory.trace().exists(), "no trace unless asked for");
            crate::run::directory::read_metrics(&directory)
                .unwrap()
                .seed
        })
        .collect();
    assert!(seeds.iter().all(|seed| *seed == seeds[0]), "{seeds:?}");
    let text = std::fs::read_to_string(directory.join("comparison.json")).unwrap();
    assert_eq!(
        serde_json::from_str::<ComparisonReport>(&text).unwrap(),
        report
    );
    let again = compare_recorded(
        &[directory.join("baseline")],
        &[directory.join("current")],
        &CompareLimits::default(),
    )
    .unwrap();
    assert_eq!(again, report);
}

#[tokio::test]
async fn a_stopped_comparison_compares_what_it_has() {
    let listening = listen("normal", &[]).await;
    let stop = Stop::new();
    let pulled = stop.clone();
    let comparer = Comparer::new(run_on(&listening, 50), run_on(&listening, 50))
        .with_stop(stop)
        .on_progress(Arc::new(move |progress: &ComparisonProgress<'_>| {
            if progress.done == 3 {
                pulled.request();
            }
        }));
    let report = comparer.execute().await.unwrap();
    assert!(report.partial);
    assert_eq!(report.comparison.runs, (1, 2));

    let stop = Stop::new();
    stop.request();
    let comparer = Comparer::new(run_on(&listening, 50), run_on(&listening, 50)).with_stop(stop);
    let error = comparer.execute().await.unwrap_err();
    assert!(matches!(error, CompareError::Stopped { .. }), "{error}");
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_is_an_error_that_names_it() {
    let listening = listen("normal", &[]).await;
    let healthy = run_on(&listening, 50);
    let gone = Run::new(Server::stdio("no-such-program-of-mcprove"), sustained(50));
    let error = Comparer::new(healthy, gone)
        .with_runs(3)
        .execute()
        .await
        .unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with("run 1 of 3 on the current server"),
        "{text}"
    );
    assert!(error.hint().rendered().contains("PATH"), "{error}");
    let error = Comparer::new(run_on(&listening, 50), run_on(&listening, 50))
        .with_runs(0)
        .execute()
        .await
        .unwrap_err();
    assert!(matches!(error, CompareError::Config(_)), "{error}");
}

#[tokio::test]
async fn what_makes_recorded_runs_less_comparable_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let normal = listen("normal", &[]).await;
    let broken = listen("tool_error", &[]).await;
    let mut paths = Vec::new();
    for (listening, concurrent) in [(&normal, 2), (&broken, 3)] {
        let scenario = sustained(60).concurrent(concurrent);
        let run = Run::new(Server::http(listening.url()), scenario);
        let (_, directory) = run
            .with_output_dir(folder.path().to_owned())
            .execute_in_directory()
            .await
            .unwrap();
        paths.push(directory.unwrap().path().to_owned());
    }
    let limits = CompareLimits::default();
    let report = compare_recorded(&paths[..1], &paths[1..], &limits).unwrap();
    assert_eq!(report.change(), Change::Inconclusive);
    assert!(report.unlike().unwrap().contains("concurrent is 2"));
    let limits = CompareLimits {
        unlike: true,
        ..limits
    };
    let report = compare_recorded(&paths[..1], &paths[1..], &limits).unwrap();
    assert_eq!(
        report.change(),
        Change::Inconclusive,
        "one run decides nothing"
    );
    assert!(
        report.comparison.decides_nothing(),
        "{:?}",
        report.comparison
    );
    assert_eq!(report.unlike(), None);
    assert!(report.comparison.single_run);
    let warnings = report.warnings.join("\n");
    assert!(warnings.contains("concurrent is 2"), "{warnings}");
    assert!(warnings.contains("no call that succeeded"), "{warnings}");

    let same = compare_recorded(&paths[..1], &paths[..1], &limits).unwrap();
    assert!(same.warnings[0].starts_with("on both sides: "));
    assert!(!same.is_empty());
    let nothing = compare_recorded(&paths[1..], &paths[1..], &limits).unwrap();
    assert!(nothing.is_empty(), "{nothing:?}");

    // Without metrics.json the trace tells; a run without either part is left out.
    let before = compare_recorded(&paths[..1], &paths[1..], &limits).unwrap();
    std::fs::remove_file(paths[0].join("metrics.json")).unwrap();
    let after = compare_recorded(&paths[..1], &paths[1..], &limits).unwrap();
    assert_eq!(before, after);
    std::fs::write(paths[1].join("metrics.json"), "{}").unwrap();
    let base = folder.path().to_owned();
    let report = compare_recorded(&paths[..1], &[base], &limits).unwrap();
    assert_eq!(report.comparison.runs, (1, 1));
    assert!(
        report
            .warnings
            .iter()
            .any(|text| text.starts_with("left out: ")),
        "{:?}",
        report.warnings
    );
    let error = compare_recorded(&paths[..1], &paths[1..], &limits).unwrap_err();
    assert!(matches!(error, CompareError::Unreadable { .. }), "{error}");
    let empty = tempfile::tempdir().unwrap();
    let error = compare_recorded(&paths[..1], &[empty.path().to_owned()], &limits).unwrap_err();
    assert!(matches!(error, CompareError::NoRun { .. }), "{error}");
    let missing = empty.path().join("missing");
    let error = compare_recorded(&[missing], &paths[..1], &limits).unwrap_err();
    assert!(matches!(error, CompareError::Io { .. }), "{error}");
}
