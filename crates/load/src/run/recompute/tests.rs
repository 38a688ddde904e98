use std::time::Duration;

use mcprove_client::server::Server;
use mcprove_servers::fixture::{self, ListenerKind, Listening};
use serde_json::json;

use super::*;
use crate::drive::Scenario;
use crate::drive::scenario::preset;
use crate::run::{Run, Thresholds};

const HUNDRED_MS: Duration = Duration::from_millis(100);

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

/// Hangs are noticed early, so that a test need not wait for them.
fn thresholds() -> Thresholds {
    Thresholds {
        p99_latency: Some(Duration::from_nanos(1)),
        error_rate: Some(0.0),
        hang_timeout: Duration::from_millis(300),
        grace_period: Duration::from_millis(300),
        ..Thresholds::default()
    }
}

/// A run on a built-in server, and the text of its `metrics.json`.
async fn run(mode: &str, scenario: Scenario, base: &Path) -> (Report, RunDirectory, String) {
    let settings: &[(&str, u64)] = match mode {
        "slow" => &[("delay_ms", 5)],
        _ => &[],
    };
    let listening = listen(mode, settings).await;
    let (report, directory) = Run::new(Server::http(listening.url()), scenario)
        .with_thresholds(thresholds())
        .with_output_dir(base.to_owned())
        .execute_in_directory()
        .await
        .unwrap_or_else(|error| panic!("{mode}: {error}"));
    let directory = directory.unwrap();
    let written = std::fs::read_to_string(directory.metrics()).unwrap();
    (report, directory, written)
}

fn sustained(milliseconds: u64) -> Scenario {
    Scenario::sustained()
        .concurrent(8)
        .duration(Duration::from_millis(milliseconds))
}

#[tokio::test]
async fn a_trace_gives_the_live_report_byte_for_byte() {
    let folder = tempfile::tempdir().unwrap();
    let cases = [
        // Longer than a second, so that histograms are merged in between.
        ("normal", sustained(2300).sessions(3)),
        ("normal", sustained(1500).rate(500.0).sessions(2)),
        ("slow", sustained(600).rate(100.0).warmup(HUNDRED_MS)),
        ("slow", sustained(400).calls(50)),
        ("tool_error", sustained(300)),
        ("error", sustained(300).sessions(2)),
        ("deep", sustained(200)),
        ("crossed", sustained(300)),
        ("wrong_output", sustained(300).strict(true)),
        ("lost", sustained(300)),
        ("flaky_disconnect", sustained(300).sessions(2)),
        ("normal", Scenario::spike().duration(HUNDRED_MS * 10)),
        (
            "normal",
            Scenario::ramp().duration(HUNDRED_MS * 5).concurrent(20),
        ),
        ("leak", Scenario::soak().duration(HUNDRED_MS * 12)),
        (
            "normal",
            Scenario::pattern([preset("explore_then_act")]).duration(HUNDRED_MS * 3),
        ),
        ("mixed", Scenario::slow_mix().duration(HUNDRED_MS * 5)),
        (
            "lazy_init",
            Scenario::deadlock_probe().hang_limits(HUNDRED_MS * 3, HUNDRED_MS * 3),
        ),
        ("normal", Scenario::deadlock_probe()),
        ("normal", Scenario::cold_start().iterations(2)),
        (
            "unsteady",
            Scenario::race_check().iterations(2).tool("echo"),
        ),
        ("normal", Scenario::fuzzer().iterations(1)),
        ("normal", Scenario::reconnect().iterations(2)),
        ("normal", Scenario::churn().concurrent(2)),
        ("normal", Scenario::early_call().iterations(2)),
        ("normal", Scenario::interrupted_call().iterations(2)),
    ];
    for (mode, scenario) in cases {
        let label = format!("{mode}, {}", scenario.kind.name());
        let (mut live, directory, written) = run(mode, scenario, folder.path()).await;
        let again = recompute(&directory).unwrap_or_else(|error| panic!("{label}: {error}"));
        assert_eq!(again.warning, None, "{label}");
        assert_eq!(again.report.to_json(), written, "{label}");
        live.trace_path = "trace.jsonl".into();
        assert_eq!(again.report, live, "{label}");
        let parsed: Report = serde_json::from_str(&written).unwrap();
        assert_eq!(parsed, live, "{label}: metrics.json comes back as it was");
    }
}

#[tokio::test]
async fn a_trace_that_is_not_whole_leaves_the_report_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let (_, directory, written) = run("normal", sustained(200), folder.path()).await;
    let trace = std::fs::read(directory.trace()).unwrap();
    let first: usize = trace.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    for (kept, reason) in [
        (&trace[..trace.len() - 5], "its last line is cut off"),
        (&trace[..first], "it has no end"),
        (&[][..], "it has no end"),
    ] {
        std::fs::write(directory.trace(), kept).unwrap();
        let again = recompute(&directory).unwrap();
        let warning = again.warning.unwrap();
        assert!(warning.contains(reason), "{warning}");
        assert!(warning.contains("taken from metrics.json"), "{warning}");
        assert_eq!(again.report.to_json(), written);
    }
    std::fs::remove_file(directory.trace()).unwrap();
    let warning = recompute(&directory).unwrap().warning.unwrap();
    assert!(warning.contains("there is no trace.jsonl"), "{warning}");

    // A run that was killed: no metrics.json, and a trace without an end.
    std::fs::remove_file(directory.metrics()).unwrap();
    std::fs::write(directory.trace(), &trace[..trace.len() - 5]).unwrap();
    let killed = recompute(&directory).unwrap();
    assert!(killed.report.partial);
    assert!(killed.report.throughput.successful_requests > 0);
    let warning = killed.warning.unwrap();
    assert!(warning.contains("of what is in it"), "{warning}");
    std::fs::write(directory.trace(), []).unwrap();
    let error = recompute(&directory).unwrap_err();
    assert!(matches!(error, RecomputeError::Nothing(_)), "{error}");

    // A whole trace needs no metrics.json.
    std::fs::write(directory.trace(), &trace).unwrap();
    assert_eq!(recompute(&directory).unwrap().report.to_json(), written);

    let mut tampered: Vec<&[u8]> = trace.split_inclusive(|byte| *byte == b'\n').collect();
    let middle = tampered.len() / 2;
    tampered[middle] = b"{\"ts\":0.1,\"kind\":\"response\"}\n";
    std::fs::write(directory.trace(), tampered.concat()).unwrap();
    let error = recompute(&directory).unwrap_err().to_string();
    let place = format!("trace.jsonl:{}: ", middle + 1);
    assert!(error.contains(&place), "{error}");
    assert!(error.contains("without session"), "{error}");
}

#[tokio::test]
async fn a_trace_that_reached_its_limit_has_no_end() {
    use mcprove_trace::stream::{EventStream, TraceFile};
    use std::sync::Arc;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.jsonl");
    let trace = Arc::new(TraceFile::create(&path).unwrap().with_bytes_max(2000));
    let recorder = EventStream::new(vec![trace.clone()]).recorder();
    for name in ["long", Ending::NAME] {
        let text = if name == Ending::NAME { "" } else { "x" };
        recorder.note(name, &text.repeat(3000), &serde_json::Value::Null);
        recorder.merge();
    }
    assert_eq!(trace.summary().dropped, 2);
    assert!(read_trace(&path, &[]).unwrap().1.is_some());
}

#[tokio::test]
async fn calls_that_hang_at_an_interruption_are_hangs_and_no_pass() {
    let folder = tempfile::tempdir().unwrap();
    let listening = listen("broken", &[]).await;
    let stop = crate::drive::Stop::new();
    let limits = Thresholds {
        hang_timeout: HUNDRED_MS,
        grace_period: Duration::from_mins(10),
        ..Thresholds::default()
    };
    let scenario = Scenario::sustained()
        .concurrent(4)
        .duration(Duration::from_mins(10));
    let running = Run::new(Server::http(listening.url()), scenario)
        .with_thresholds(limits)
        .with_output_dir(folder.path().to_owned())
        .with_stop(stop.clone())
        .on_progress(std::sync::Arc::new(
            move |progress: &crate::run::Progress| {
                // Long after the threshold, and long before the grace period is over.
                if progress.elapsed > HUNDRED_MS * 15 {
                    stop.request();
                }
            },
        ));
    let (live, directory) = running.execute_in_directory().await.unwrap();
    let directory = directory.unwrap();
    let summary = |report: &Report| {
        let summary = crate::run::Summary::from(report);
        (summary.passed, summary.exit_code, summary.hang_count)
    };
    // Those of the load, and the control call before it.
    assert_eq!(summary(&live), (false, 130, 5));
    assert_eq!(live.unanswered, 5);

    // The same from a trace whose end is missing.
    let trace = std::fs::read_to_string(directory.trace()).unwrap();
    let is_early = |line: &&str| {
        !line.contains("Cancelled") && !line.contains("run_ended") && !line.contains("\"isolation")
    };
    let cut: String = trace.split_inclusive('\n').filter(is_early).collect();
    std::fs::write(directory.trace(), cut).unwrap();
    std::fs::remove_file(directory.metrics()).unwrap();
    let killed = recompute(&directory).unwrap().report;
    assert_eq!(summary(&killed), (false, 130, 5));
    assert_eq!(killed.unanswered, 5);
}
