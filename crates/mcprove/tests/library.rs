//! Loads through the library, on built-in servers in this process and on programs that are none.
#![allow(clippy::unwrap_used, reason = "the helpers of tests are tests")]

use std::collections::BTreeMap;
use std::time::Duration;

use mcprove::{
    InMemory, LoadFault, Mock, MockOptions, MockSpec, Request, Session, ToolSpec, UserError,
};
use mcprove_client::server::Server;
use mcprove_load::drive::scenario::{Ramp, Spike, Sustained};
use mcprove_load::drive::{Scenario, ScenarioKind, Stop, ToolCall};
use mcprove_load::run::report::{Model, RunOutcome};
use mcprove_load::run::{Report, Run, RunDirectory, RunError, Thresholds, ToolThresholds};
use mcprove_score::grade::Grade;
use mcprove_servers::fixture::{self, FixtureOptions, ListenerKind, Listening};
use mcprove_trace::{ErrorCategory, TraceRecord};
use serde_json::{Value, json};

const SHORT: Duration = Duration::from_millis(400);

async fn listen(mode: &str) -> Listening {
    listen_with(mode, json!({})).await
}

async fn listen_with(mode: &str, settings: Value) -> Listening {
    let address = "127.0.0.1:0".parse().unwrap();
    let options = FixtureOptions {
        settings: settings.as_object().unwrap().clone(),
        ..FixtureOptions::default()
    };
    fixture::listen(mode, ListenerKind::Http, address, &options)
        .await
        .unwrap()
}

fn sustained() -> Scenario {
    Scenario::sustained().concurrent(4).duration(SHORT)
}

fn run(listening: &Listening, scenario: Scenario) -> Run {
    Run::new(Server::http(listening.url()), scenario).with_calibration(false)
}

#[tokio::test]
async fn a_report_survives_its_file() {
    let server = listen("mixed").await;
    // Time enough for every tool to have its turn on a busy machine, too.
    let scenario = sustained().duration(SHORT * 5);
    let report = run(&server, scenario).execute().await.unwrap();
    assert!(report.passed(), "{report:?}");
    let back: Report = serde_json::from_str(&report.to_json()).unwrap();
    assert_eq!(back, report);
    assert_eq!(back.latency.histogram, report.latency.histogram);
    assert_eq!(report.model, Model::Closed);
    assert!(report.tools.len() > 3, "{:?}", report.tools.keys());
    assert!(report.isolation.checked > 0 && report.isolation.crossed == 0);
}

#[tokio::test]
async fn several_runs_at_once_do_not_disturb_each_other() {
    let (one, two) = (listen("normal").await, listen("tool_error").await);
    let (first, second, third) = tokio::join!(
        run(&one, sustained().tool("echo")).execute(),
        run(&two, sustained().tool("echo")).execute(),
        run(&one, sustained().tool("echo").sessions(3)).execute(),
    );
    assert!(first.unwrap().passed());
    assert!(third.unwrap().passed());
    let failed = second.unwrap();
    assert_eq!(failed.throughput.successful_requests, 0);
    assert!(!failed.passed());
}

#[tokio::test]
async fn a_load_of_errors_does_not_pass_and_gets_no_good_grade() {
    let server = listen("tool_error").await;
    let report = run(&server, sustained().tool("echo"))
        .execute()
        .await
        .unwrap();
    assert_eq!(report.outcome(), RunOutcome::Failed);
    assert_eq!(report.grades.overall, Some(Grade::F));
    assert_eq!(report.latency.count, 0);
    assert_eq!(
        report.errors.by_category.keys().collect::<Vec<_>>(),
        [&ErrorCategory::ToolError]
    );
}

#[tokio::test]
async fn every_error_of_a_run_has_its_variant() {
    let failing = |server: Server, scenario: Scenario| async {
        Run::new(server.startup_timeout(Duration::from_secs(1)), scenario)
            .with_calibration(false)
            .execute()
            .await
            .unwrap_err()
    };
    let shell = |script: &str| Server::stdio("sh").args(["-c", script]);
    let error = failing(Server::stdio("no-such-program-anywhere"), sustained()).await;
    assert!(matches!(error, RunError::ServerStart(_)), "{error:?}");
    let error = failing(shell("exit 3"), sustained()).await;
    assert!(matches!(error, RunError::ServerExit(Some(3))), "{error:?}");
    let error = failing(shell("echo oops >&2; exit 3"), sustained()).await;
    assert!(
        matches!(&error, RunError::ServerStderr(text) if text.contains("oops")),
        "{error:?}"
    );
    let error = failing(shell("sleep 60"), sustained()).await;
    assert!(matches!(error, RunError::Handshake(_)), "{error:?}");
    let error = failing(shell("exit 0"), Scenario::cold_start().concurrent(2)).await;
    assert!(matches!(error, RunError::Config(_)), "{error:?}");
    let server = listen("normal").await;
    let error = run(&server, sustained().tool("ecko")).execute().await;
    let error = error.unwrap_err();
    assert_eq!(error.hint(), "did you mean \"echo\"?");
    let error = run(&server, sustained())
        .with_output_dir("/dev/null/nowhere".into())
        .execute()
        .await
        .unwrap_err();
    assert!(matches!(error, RunError::Io(_)), "{error:?}");
    let stop = Stop::new();
    stop.request();
    stop.request();
    let error = run(&server, sustained()).with_stop(stop).execute().await;
    assert!(matches!(error, Err(RunError::Internal(_))), "{error:?}");
}

/// The calls of a run as its trace has them: how often each.
async fn calls_of(server: &Listening, concurrent: u32, sessions: u32) -> BTreeMap<String, u32> {
    let folder = tempfile::tempdir().unwrap();
    let scenario = Scenario::sustained()
        .concurrent(concurrent)
        .sessions(sessions)
        .duration(Duration::from_mins(1))
        .calls(300)
        .seed(5)
        .call(ToolCall::new("echo").weight(3.0))
        .call(ToolCall::new("add"))
        .call(ToolCall::new("lookup").weight(0.5));
    let (report, directory) = run(server, scenario)
        .with_output_dir(folder.path().to_owned())
        .execute_in_directory()
        .await
        .unwrap();
    assert!(report.passed(), "{report:?}");
    assert_eq!(report.throughput.total_requests, 300);
    assert!(!report.partial);
    let mut calls = BTreeMap::new();
    let trace = std::fs::read_to_string(directory.unwrap().trace()).unwrap();
    for line in trace.lines() {
        let record = TraceRecord::parse(line).unwrap();
        if record.kind == "request" && record.tool.is_some() && record.phase == Some(1) {
            *calls.entry(record.params.unwrap().to_string()).or_default() += 1;
        }
    }
    calls
}

#[tokio::test]
async fn the_same_seed_makes_the_same_calls_whatever_the_concurrency() {
    let server = listen("mixed").await;
    let alone = calls_of(&server, 1, 1).await;
    let crowd = calls_of(&server, 16, 3).await;
    assert_eq!(alone.values().sum::<u32>(), 300);
    assert_eq!(alone, crowd);
    assert!(alone.len() > 150, "calls carry tokens: {}", alone.len());
}

#[tokio::test]
async fn the_open_model_keeps_its_schedule_and_counts_what_it_drops() {
    let server = listen("normal").await;
    let scenario = sustained().tool("echo").rate(100.0);
    let report = run(&server, scenario).execute().await.unwrap();
    assert_eq!(report.model, Model::Open);
    assert!(report.passed(), "{report:?}");
    // 40 slots in 400 ms; what a busy machine missed is counted.
    assert_eq!(report.throughput.total_requests + report.dropped, 40);
    let service = report.service.as_ref().unwrap();
    assert_eq!(service.count, report.latency.count);
    assert!(service.mean <= report.latency.mean);

    let slow = listen("slow").await;
    let mut scenario = sustained().tool("echo").rate(100.0);
    scenario.load.max_in_flight = 2;
    let report = run(&slow, scenario).execute().await.unwrap();
    assert!(report.dropped >= 30, "{report:?}");
    assert!(report.throughput.total_requests <= 10);
}

#[tokio::test]
async fn a_spike_and_a_ramp_on_a_schedule_are_of_the_rate() {
    let server = listen("normal").await;
    let spike = ScenarioKind::Spike(Spike::new(
        2,
        20,
        Duration::from_millis(600),
        Duration::from_millis(200),
        Duration::from_millis(200),
    ));
    let ramp = ScenarioKind::Ramp(Ramp::new(1, 5, 2, Duration::from_millis(600)));
    // Slots in 200 ms each: 10, 100 and 10; 10, 30 and 50.
    for (kind, rates, due) in [
        (spike, [50.0, 500.0, 50.0], 120),
        (ramp, [50.0, 150.0, 250.0], 90),
    ] {
        let scenario = Scenario::from(kind).tool("echo").rate(50.0);
        let report = run(&server, scenario).execute().await.unwrap();
        let measured = report.phases.iter().filter(|phase| phase.measured);
        let scheduled: Vec<Option<f64>> = measured.map(|phase| phase.rate).collect();
        assert_eq!(scheduled, rates.map(Some));
        assert_eq!(report.throughput.total_requests + report.dropped, due);
        assert_eq!(report.grades.concurrency, None, "no clients were counted");
    }
}

#[tokio::test]
async fn limits_hold_fail_or_cannot_be_judged() {
    let server = listen("normal").await;
    let judge = |thresholds: Thresholds, calls: u64| {
        let scenario = sustained().tool("echo").calls(calls);
        run(&server, scenario).with_thresholds(thresholds).execute()
    };
    let long = Some(Duration::from_secs(30));
    let none = Some(Duration::from_nanos(1));
    let report = judge(
        Thresholds {
            p50_latency: long,
            p999_latency: long,
            error_rate: Some(0.0),
            ..Thresholds::default()
        },
        30,
    );
    // Too few calls for p99.9, but even the slowest was fast enough.
    assert_eq!(report.await.unwrap().outcome(), RunOutcome::Passed);
    let report = judge(
        Thresholds {
            p50_latency: none,
            ..Thresholds::default()
        },
        30,
    );
    let report = report.await.unwrap();
    assert_eq!(report.outcome(), RunOutcome::Failed);
    assert_eq!(report.threshold_violations.len(), 1);
    let report = judge(
        Thresholds {
            p99_latency: none,
            ..Thresholds::default()
        },
        30,
    );
    let report = report.await.unwrap();
    assert_eq!(report.outcome(), RunOutcome::Inconclusive, "{report:?}");
    assert_eq!(report.inconclusive_gates().count(), 1);
    let tools = BTreeMap::from([(
        "echo".to_owned(),
        ToolThresholds {
            p50_latency: none,
            ..ToolThresholds::default()
        },
    )]);
    let report = judge(
        Thresholds {
            tools,
            ..Thresholds::default()
        },
        30,
    );
    let violations = report.await.unwrap().threshold_violations;
    assert_eq!(violations[0].tool.as_deref(), Some("echo"));
}

#[tokio::test]
async fn strict_mode_holds_results_and_arguments_against_the_schemas() {
    let wrong = listen("wrong_output").await;
    let lenient = run(&wrong, sustained()).execute().await.unwrap();
    assert!(lenient.passed(), "{lenient:?}");
    let strict = run(&wrong, sustained().strict(true))
        .execute()
        .await
        .unwrap();
    assert!(!strict.passed());
    assert!(strict.errors.by_category[&ErrorCategory::ProtocolError] > 0);
    // It is we who refused: the hint is not that of a server that did.
    let only_wrong = run(&wrong, sustained().strict(true).tool("add"));
    let report = only_wrong.execute().await.unwrap();
    let findings = report.findings();
    let success = findings.iter().find(|found| found.detector == "success");
    let hint = success
        .and_then(|found| found.hint.clone())
        .unwrap()
        .rendered();
    assert!(hint.contains("correct the schema"), "{hint}");
    let sound = listen("mixed").await;
    let strict = run(&sound, sustained().strict(true))
        .execute()
        .await
        .unwrap();
    assert!(strict.passed(), "{strict:?}");
    let scenario = sustained()
        .strict(true)
        .tool("echo")
        .args(json!({ "message": 7 }));
    let report = run(&sound, scenario).execute().await.unwrap();
    let finding = report
        .findings()
        .into_iter()
        .find(|verdict| verdict.detector == "schema")
        .unwrap();
    assert!(
        finding.sentence.rendered().contains("inputSchema"),
        "{finding:?}"
    );
}

#[tokio::test]
async fn a_gentle_stop_leaves_a_whole_report_of_what_was_done() {
    let server = listen("normal").await;
    let stop = Stop::new();
    let folder = tempfile::tempdir().unwrap();
    let running = run(&server, Scenario::sustained().tool("echo"))
        .with_output_dir(folder.path().to_owned())
        .with_stop(stop.clone())
        .execute_in_directory();
    let pulling = async {
        tokio::time::sleep(SHORT).await;
        stop.request();
    };
    let (outcome, ()) = tokio::join!(running, pulling);
    let (report, directory) = outcome.unwrap();
    assert!(report.partial);
    assert!(report.throughput.successful_requests > 0);
    let directory: RunDirectory = directory.unwrap();
    for file in [
        directory.trace(),
        directory.metrics(),
        directory.summary(),
        directory.markdown(),
        directory.html(),
        directory.latency_log(),
    ] {
        assert!(file.exists(), "{}", file.display());
    }
}

#[tokio::test]
async fn a_server_that_dies_for_good_ends_the_run_with_what_there_is() {
    let server = listen("normal").await;
    let scenario = Scenario::sustained()
        .tool("echo")
        .concurrent(2)
        .duration(Duration::from_mins(1));
    let running = run(&server, scenario).execute();
    let dying = async move {
        tokio::time::sleep(SHORT).await;
        server.shutdown().await;
    };
    let (report, ()) = tokio::join!(running, dying);
    let report = report.unwrap();
    assert!(report.throughput.successful_requests > 0);
    assert!(report.errors.total > 0);
    assert!(report.partial && !report.passed(), "{report:?}");
}

#[tokio::test]
async fn more_sessions_than_calls_and_lost_sessions_do_not_end_the_load() {
    let server = listen("normal").await;
    let scenario = sustained().tool("echo").concurrent(1).sessions(3);
    let report = run(&server, scenario).execute().await.unwrap();
    assert!(report.passed(), "{report:?}");
    assert!(!report.partial && report.throughput.total_requests > 0);
}

#[tokio::test]
async fn what_ends_after_the_load_is_not_in_its_rate() {
    let server = listen_with("slow", json!({ "delay_ms": 300 })).await;
    let report = run(&server, sustained().tool("echo"))
        .execute()
        .await
        .unwrap();
    // Four calls end at 300 ms, four more after the 400 ms of the load.
    assert_eq!(report.throughput.total_requests, 8, "{report:?}");
    assert!(report.in_flight_at_end >= 4);
    let rate = report.throughput.requests_per_sec;
    assert!(rate < 15.0, "{rate}");
}

#[tokio::test]
async fn a_slow_schedule_lasts_as_long_as_it_was_told_to() {
    let server = listen("normal").await;
    let report = run(&server, sustained().tool("echo").rate(4.0))
        .execute()
        .await
        .unwrap();
    assert!(!report.partial, "{report:?}");
    assert_eq!(report.throughput.total_requests + report.dropped, 2);
    assert!(report.throughput.requests_per_sec < 6.0);
}

#[tokio::test]
async fn a_call_that_we_gave_up_ourselves_is_no_lost_reply() {
    let server = listen("mixed").await;
    let options = mcprove_client::session::SessionOptions::default()
        .with_call_timeout(Duration::from_millis(50));
    let scenario = sustained().tool("wait");
    let report = run(&server, scenario)
        .with_session(options)
        .execute()
        .await
        .unwrap();
    assert!(report.errors.by_category[&ErrorCategory::Timeout] > 0);
    assert_eq!(report.isolation.lost, 0);
}

#[tokio::test]
async fn a_check_of_results_is_honoured_with_and_without_strict_mode() {
    let server = listen("normal").await;
    for strict in [false, true] {
        let options =
            mcprove_client::session::SessionOptions::default().with_result_check(|_, _| {
                let category = ErrorCategory::ServerError;
                Some(mcprove_client::transport::Failure::new(category, "refused"))
            });
        let mut scenario = sustained().tool("echo");
        scenario.load.strict = strict;
        let report = run(&server, scenario).with_session(options);
        let report = report.execute().await.unwrap();
        assert!(report.errors.by_category[&ErrorCategory::ServerError] > 0);
        assert_eq!(report.throughput.successful_requests, 0, "{report:?}");
    }
}

#[tokio::test]
async fn a_report_is_short_when_an_assertion_prints_it() {
    let server = listen("normal").await;
    let report = run(&server, sustained().tool("echo"));
    let report = report.execute().await.unwrap();
    let printed = format!("{report:?}").len();
    assert!(printed < 20_000, "{printed}");
}

#[tokio::test]
async fn the_slowest_calls_are_those_that_count() {
    let server = listen_with("cold", json!({ "delay_ms": 200 })).await;
    let mut scenario = sustained().tool("echo");
    scenario.load.warmup = Duration::from_millis(300);
    let report = run(&server, scenario).execute().await.unwrap();
    assert_eq!(report.slowest.len(), 10, "{:?}", report.slowest);
    let durations: Vec<_> = report.slowest.iter().map(|slow| slow.duration).collect();
    assert!(durations.is_sorted_by(|one, other| one >= other));
}

#[tokio::test]
async fn counted_calls_are_all_that_is_made() {
    let server = listen("normal").await;
    let mut scenario = sustained().tool("echo").calls(5);
    scenario.load.warmup = Duration::from_millis(50);
    let report = run(&server, scenario).execute().await.unwrap();
    assert_eq!(report.throughput.total_requests, 5, "{report:?}");
    assert!(report.alone.is_none());
}

#[tokio::test]
async fn a_limited_pace_holds_from_the_warm_up_on() {
    let server = listen("normal").await;
    let kind = ScenarioKind::Sustained(Sustained {
        concurrent: 4,
        duration: SHORT * 2,
        rate_limit: Some(200),
    });
    let scenario = Scenario::from(kind).tool("echo").warmup(SHORT);
    let running = run(&server, scenario).execute();
    let report = tokio::time::timeout(Duration::from_mins(1), running).await;
    let report = report.expect("ends").unwrap();
    // At most 200 a second, and no burst to catch up with the warm-up.
    let requests = report.throughput.total_requests;
    assert!((1..=170).contains(&requests), "{requests}");
}

#[tokio::test]
async fn a_slow_tool_is_not_called_alone_and_kept_its_clients_busy() {
    let server = listen_with("mixed", json!({ "delay_ms": 1500 })).await;
    let report = run(&server, sustained().duration(Duration::from_millis(800)))
        .execute()
        .await
        .unwrap();
    assert!(report.tools["wait"].count > 0, "{:?}", report.tools.keys());
    let alone = report.alone.as_ref().unwrap();
    assert!(
        alone.count > 0 && alone.max < Duration::from_secs(1),
        "{alone:?}"
    );
    // All four clients soon sit in `wait`: they are neither idle nor served in a row.
    for wrong in ["of the time", "at a time"] {
        let is_said = report
            .meaning
            .iter()
            .any(|one| one.rendered().contains(wrong));
        assert!(!is_said, "{:#?}", report.meaning);
    }
}

#[tokio::test]
async fn a_slow_mix_says_which_tools_were_too_slow_to_be_in_it() {
    let server = listen_with("mixed", json!({ "delay_ms": 1500 })).await;
    let limits = Thresholds {
        hang_timeout: Duration::from_millis(500),
        ..Thresholds::default()
    };
    let report = run(&server, Scenario::slow_mix().duration(SHORT))
        .with_thresholds(limits)
        .execute()
        .await
        .unwrap();
    let verdict = report
        .verdicts
        .iter()
        .find(|verdict| verdict.detector == "head_of_line")
        .unwrap();
    assert!(
        verdict.sentence.rendered().contains("`wait` was left out"),
        "{verdict:?}"
    );
}

/// A server that counts its calls in a file and never ends by itself.
#[cfg(unix)]
struct Counting {
    folder: tempfile::TempDir,
}

#[cfg(unix)]
impl Counting {
    const PROGRAM: &str = r#"trap '' TERM; echo $$ >> pids
        while read -r line; do
            id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
            case "$line" in
                *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"counting","version":"1"}}';;
                *'"tools/list"'*) result='{"tools":[{"name":"count","inputSchema":{"type":"object"}}]}';;
                *'"tools/call"'*) echo call >> calls; sleep 0.05; result='{"content":[]}';;
                *) result='';;
            esac
            if [ -n "$id" ] && [ -n "$result" ]; then
                printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
            elif [ -n "$id" ]; then
                printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id"
            fi
        done
        while true; do sleep 1; done"#;

    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { folder }
    }

    fn server(&self) -> Server {
        let server = Server::stdio("sh").args(["-c", Self::PROGRAM]);
        server.working_dir(self.folder.path())
    }

    fn lines(&self, file: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.folder.path().join(file)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Waits until calls were made.
    async fn called(&self) {
        while self.lines("calls").len() < 3 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Fails unless calls stop and every process ends.
    async fn assert_ends(&self, what: &str) {
        let began = std::time::Instant::now();
        let is_alive = |pid: &String| {
            let mut ps = std::process::Command::new("ps");
            let shown = ps.args(["-o", "stat=", "-p", pid]).output().unwrap();
            let state = String::from_utf8_lossy(&shown.stdout).trim().to_owned();
            !state.is_empty() && !state.starts_with('Z')
        };
        while self.lines("pids").iter().any(is_alive) {
            assert!(
                began.elapsed() < Duration::from_secs(30),
                "{what}: a server lives on"
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let (calls, starts) = (self.lines("calls").len(), self.lines("pids").len());
        assert!(starts > 0, "{what}");
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(self.lines("calls").len(), calls, "{what}: calls go on");
        assert_eq!(
            self.lines("pids").len(),
            starts,
            "{what}: servers are started"
        );
    }
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_nobody_waits_for_ends_with_its_servers() {
    let long = Duration::from_mins(10);
    let sustained = || {
        Scenario::sustained()
            .concurrent(4)
            .duration(long)
            .tool("count")
    };
    let scenarios = [
        ("closed", sustained().sessions(2)),
        ("open", sustained().rate(20.0)),
        (
            "steps",
            Scenario::deadlock_probe()
                .hang_limits(long, long)
                .tool("count"),
        ),
    ];
    for (what, scenario) in scenarios {
        let counting = Counting::new();
        let run = Run::new(counting.server(), scenario).with_calibration(false);
        tokio::select! {
            ended = run.execute() => panic!("{what}: {ended:?}"),
            () = counting.called() => {}
        }
        counting.assert_ends(what).await;
    }

    // A task that is aborted, and one that panics.
    for what in ["aborted", "panicked"] {
        let counting = std::sync::Arc::new(Counting::new());
        let run = Run::new(counting.server(), sustained()).with_calibration(false);
        let watched = std::sync::Arc::clone(&counting);
        let task = tokio::spawn(async move {
            tokio::select! {
                _ = run.execute() => {}
                () = watched.called(), if what == "panicked" => panic!("as asked"),
            }
        });
        counting.called().await;
        task.abort();
        assert!(task.await.is_err());
        counting.assert_ends(what).await;
    }

    // One of several runs that share a handle to stop them does not stop the others.
    let (one, two) = (Counting::new(), listen("normal").await);
    let stop = Stop::new();
    let dropped = Run::new(one.server(), sustained()).with_stop(stop.clone());
    let timed = tokio::time::timeout(Duration::from_secs(1), dropped.execute());
    let kept = run(&two, self::sustained().tool("echo")).with_stop(stop.clone());
    let (timed, kept) = tokio::join!(timed, kept.execute());
    assert!(timed.is_err() && kept.unwrap().passed() && stop.is_running());

    let counting = Counting::new();
    let run = || Run::new(counting.server(), sustained()).with_calibration(false);
    tokio::select! {
        _ = mcprove_load::run::Comparer::new(run(), run()).execute() => panic!("it ended"),
        () = counting.called() => {}
    }
    counting.assert_ends("comparison").await;
    #[cfg(target_os = "linux")]
    assert_no_driver().await;
}

#[cfg(unix)]
#[tokio::test]
async fn a_suite_and_a_session_that_are_dropped_end_their_servers() {
    use std::sync::Arc;

    use mcprove_client::session::{Session, SessionOptions};
    use mcprove_suite::file;
    use mcprove_suite::run::{RunRules, Selection, SuiteListener, SuiteOptions, run_suites};
    use mcprove_trace::stream::EventStream;

    let load = "load: [{ name: l, server: one, scenario: { type: sustained, duration: 600s, \
                tool_call: [{ name: count }] } }]";
    let tools = "tools: [{ name: a, server: one, tool: count }, { name: b, server: one, tool: count }, \
                 { name: c, server: one, tool: count }, { name: d, server: one, tool: hang }]";
    for tests in [load, tools] {
        let counting = Counting::new();
        let folder = counting.folder.path();
        let program = Counting::PROGRAM.replace(
            "*'\"tools/call\"'*",
            "*'\"hang\"'*) sleep 1000;; *'\"tools/call\"'*",
        );
        std::fs::write(folder.join("server.sh"), program).unwrap();
        let place = folder.display();
        let server = format!("{{ command: [sh, {place}/server.sh], working_dir: {place} }}");
        let suite = folder.join("suite.yml");
        std::fs::write(&suite, format!("servers: {{ one: {server} }}\n{tests}\n")).unwrap();
        let plans = [file::read(&suite).unwrap()];
        let mut options = SuiteOptions::default()
            .with_jobs(4)
            .with_output_dir(folder.join("runs"));
        options.is_output_dir_given = true;
        let selection = Selection::default();
        let listener: SuiteListener = Arc::new(|_| {});
        let rules = RunRules::default();
        tokio::select! {
            ended = run_suites(&plans, &selection, &options, rules, &listener) => panic!("{ended:?}"),
            () = counting.called() => {}
        }
        counting.assert_ends(tests).await;
    }

    // While it waits for the answer to `initialize`.
    let counting = Counting::new();
    let mut server = counting.server();
    server.args = vec![
        "-c".to_owned(),
        "echo $$ >> pids; while true; do sleep 1; done".to_owned(),
    ];
    let connect = |server| {
        let recorder = EventStream::unobserved().recorder();
        Session::connect_recorded(server, SessionOptions::default(), recorder)
    };
    let started = async {
        while counting.lines("pids").is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::select! {
        ended = connect(&server) => panic!("{:?}", ended.err()),
        () = started => {}
    }
    counting.assert_ends("connecting").await;

    let counting = Counting::new();
    drop(connect(&counting.server()).await.unwrap());
    counting.assert_ends("session").await;

    // A probe, in the middle of a call.
    let counting = Counting::new();
    let program = Counting::PROGRAM.replace("sleep 0.05", "sleep 1000");
    assert_ne!(program, Counting::PROGRAM);
    let mut server = counting.server();
    server.args = vec!["-c".to_owned(), program];
    let options = mcprove_check::health::ProbeOptions::default();
    let recorder = EventStream::unobserved().recorder();
    let called = async {
        while counting.lines("calls").is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let mut silent = |_: mcprove_check::health::Progress<'_>| {};
    let forever = std::future::pending();
    tokio::select! {
        ended = mcprove_check::health::probe(&server, &options, recorder, &mut silent, forever) => {
            panic!("{ended:?}")
        }
        () = called => {}
    }
    counting.assert_ends("probe").await;
}

/// Fails unless every thread that makes calls ends.
#[cfg(target_os = "linux")]
async fn assert_no_driver() {
    let drivers = || {
        let threads = std::fs::read_dir("/proc/self/task").unwrap().flatten();
        let names = threads.filter_map(|it| std::fs::read_to_string(it.path().join("comm")).ok());
        names
            .filter(|name| name.starts_with("mcprove-driver"))
            .count()
    };
    let began = std::time::Instant::now();
    while drivers() > 0 {
        assert!(
            began.elapsed() < Duration::from_mins(1),
            "{} drivers",
            drivers()
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_server_that_stays_after_the_end_of_its_input_is_a_warning() {
    let counting = Counting::new();
    let server = counting
        .server()
        .shutdown_timeout(Duration::from_millis(200));
    let scenario = Scenario::sustained()
        .concurrent(2)
        .duration(SHORT)
        .tool("count");
    let report = Run::new(server, scenario)
        .with_calibration(false)
        .execute()
        .await
        .unwrap();
    let ending = report.verdicts.iter().find(|it| it.detector == "ending");
    let ending = ending.unwrap_or_else(|| panic!("{:?}", report.verdicts));
    assert_eq!(
        ending.sentence,
        "The server did not exit within 200 ms after its input closed; it had to be terminated (once)."
    );
    assert!(report.passed(), "{:?}", report.verdicts);

    let server = listen("normal").await;
    let report = run(&server, sustained()).execute().await.unwrap();
    assert!(report.verdicts.iter().all(|it| it.detector != "ending"));
}

#[cfg(unix)]
#[tokio::test]
async fn an_interrupted_run_ends_within_the_shutdown_timeout() {
    let shutdown = Duration::from_secs(2);
    // One whose calls hang and which does not end either, with several sessions.
    let program = Counting::PROGRAM.replace("sleep 0.05", "sleep 1000");
    let counting = Counting::new();
    let server = counting.server().shutdown_timeout(shutdown);
    let server = Server {
        args: vec!["-c".to_owned(), program],
        ..server
    };
    let scenario = Scenario::sustained().sessions(3).concurrent(6);
    let scenario = scenario.duration(Duration::from_mins(10)).tool("count");
    let stop = Stop::new();
    let run = Run::new(server, scenario)
        .with_calibration(false)
        .with_stop(stop.clone());
    let began = std::cell::Cell::new(None);
    let interrupting = async {
        counting.called().await;
        began.set(Some(std::time::Instant::now()));
        stop.request();
    };
    let (report, ()) = tokio::join!(run.execute(), interrupting);
    let elapsed = began.get().unwrap().elapsed();
    assert!(report.unwrap().interrupted);
    // Far less than what six hung calls and three such servers took one after the other.
    assert!(elapsed < shutdown + Duration::from_secs(8), "{elapsed:?}");
    counting.assert_ends("interrupted").await;
}

/// A tool that answers with a function: its text, its failure, its panic.
#[tokio::test]
async fn the_function_of_a_mocked_tool() {
    let tool = ToolSpec::new("half").answering_with(|arguments| {
        let number = arguments["number"].as_u64().ok_or("no number")?;
        assert!(number < 100, "too large");
        Ok((number / 2).to_string())
    });
    let mock = Mock::new(
        MockSpec::new("maths").with_tool(tool),
        MockOptions::default(),
    )
    .unwrap();
    let server = InMemory::mock(&mock);
    assert_eq!(server.describe(), "maths");
    let session = Session::connect(&server).await.unwrap();
    assert_eq!(session.transport(), "memory");
    let call = async |arguments| session.call_tool("half", &arguments).await;
    assert_eq!(call(json!({ "number": 8 })).await.unwrap().text(), "4");
    let failed = call(json!({})).await.unwrap_err();
    assert_eq!(failed.category(), ErrorCategory::ToolError);
    assert_eq!(failed.reply.as_ref().unwrap().text(), "no number");
    let panicked = call(json!({ "number": 100 })).await.unwrap_err();
    assert!(panicked.to_string().contains("too large"), "{panicked}");
    assert_eq!(mock.summary().calls, 3);
}

/// A fault that ends a process needs one.
#[tokio::test]
async fn a_server_in_memory_has_no_process_to_crash() {
    let server = InMemory::fixture("normal").unwrap();
    let scenario = Scenario::sustained()
        .duration(Duration::from_millis(50))
        .tool("echo");
    let run = Run::new(server.clone(), scenario)
        .with_faults(vec![LoadFault::new("crash".parse().unwrap())]);
    let error = run.execute().await.unwrap_err();
    assert!(error.to_string().contains("ends the process"), "{error}");
    // What is written of it is its name; read again, it leads nowhere.
    let written = serde_json::to_string(&server).unwrap();
    let read: Server = serde_json::from_str(&written).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), written);
    assert!(Session::connect(&read).await.is_err());
}

/// A call that is cancelled is told to the server, and the session goes on.
#[tokio::test]
async fn a_cancelled_call() {
    let server = InMemory::fixture("slow").unwrap();
    let session = Session::connect(&server).await.unwrap();
    let params = json!({ "name": "echo", "arguments": { "message": "x" } });
    session
        .start(&Request::new("tools/call").params(&params))
        .unwrap()
        .cancel();
    assert!(
        session
            .call_tool("echo", &json!({ "message": "y" }))
            .await
            .is_ok()
    );
    assert!(
        session.violations().is_empty(),
        "{:?}",
        session.violations()
    );
}

/// Whatever a failed assertion may print.
#[test]
fn every_type_at_the_root_has_debug() {
    const fn has<T: std::fmt::Debug + ?Sized>() {}
    has::<mcprove::Run>();
    has::<mcprove::RunContext>();
    has::<mcprove::scenario::RunFacts<'_>>();
    has::<mcprove::scenario::Connection>();
    has::<mcprove::scenario::PreparedCall>();
    has::<mcprove::Comparer>();
    has::<mcprove::EventStream>();
    has::<mcprove::Recorder>();
    has::<mcprove::SessionOptions>();
    has::<mcprove::Call>();
    has::<Mock>();
    has::<MockOptions>();
    has::<mcprove::Exchange>();
    has::<mcprove::lab::SessionCaller<'_>>();
    has::<mcprove::eval::RunCard<'_>>();
    has::<mcprove::eval::metrics::recovery::Recovery>();
}

#[tokio::test]
async fn the_json_of_a_report_says_what_its_verdicts_say_now() {
    let server = InMemory::fixture("normal").unwrap();
    let mut report = Run::new(server, sustained().tool("echo"))
        .with_calibration(false)
        .execute()
        .await
        .unwrap();
    assert!(report.passed(), "{report:?}");
    report
        .verdicts
        .push(mcprove::Verdict::critical("mine", "It broke.", "repair it"));
    let json: Value = serde_json::from_str(&report.to_json()).unwrap();
    assert_eq!(
        (&json["passed"], &json["outcome"]),
        (&json!(false), &json!("failed"))
    );
    let read: Report = serde_json::from_value(json).unwrap();
    assert!(!read.passed());
}

/// `passed` is no field that could disagree with the outcome, and is written all the same.
#[tokio::test]
async fn the_reports_of_checks_survive_their_json() {
    let server = InMemory::fixture("normal").unwrap();
    let report = mcprove::probe(&server).await.unwrap();
    assert!(report.passed(), "{report:?}");
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(
        (&json["passed"], &json["outcome"]),
        (&json!(true), &json!("passed"))
    );
    let read: mcprove::ProbeReport = serde_json::from_value(json).unwrap();
    assert_eq!(read, report);

    let mut report = report;
    report.outcome = mcprove::HealthOutcome::Failed;
    assert_eq!(
        serde_json::to_value(&report).unwrap()["passed"],
        json!(false)
    );
}

#[tokio::test]
async fn bad_requests_to_a_tool_in_one_call() {
    let strict = ToolSpec::new("strict")
        .with("inputSchema", json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] }))
        .answering("fine")
        .unwrap();
    let mock = Mock::new(
        MockSpec::new("demo").with_tool(strict),
        MockOptions::default(),
    )
    .unwrap();
    let report = mcprove::negative_path(&InMemory::mock(&mock), "strict")
        .await
        .unwrap();
    assert_eq!(
        (report.failures(), report.gate_passed()),
        (0, Some(true)),
        "{report:?}"
    );
    let read = serde_json::to_string(&report).unwrap();
    let read: mcprove::NegativePathReport = serde_json::from_str(&read).unwrap();
    assert_eq!(read, report);

    // One that takes anything.
    let lax = ToolSpec::new("lax").answering_with(|_| Ok("fine".to_owned()));
    let mock = Mock::new(MockSpec::new("demo").with_tool(lax), MockOptions::default()).unwrap();
    let server = InMemory::mock(&mock);
    let report = mcprove::negative_path(&server, "lax").await.unwrap();
    assert!(report.checks_run() > 0, "{report:?}");

    let error = mcprove::negative_path(&server, "laxx").await.unwrap_err();
    assert_eq!(error.to_string(), "the server has no tool \"laxx\"");
    assert_eq!(error.hint().rendered(), "did you mean \"lax\"?");
}

/// Errors of the library name its methods; only the program has commands.
#[tokio::test]
async fn hints_name_no_commands_of_the_program() {
    let error = Session::connect(&Server::stdio("no-such-program"))
        .await
        .unwrap_err();
    let run = Run::new(
        InMemory::fixture("normal").unwrap(),
        sustained().tool("no-such-tool"),
    );
    let run = run.execute().await.unwrap_err();
    let hints = [
        error.hint(),
        run.hint(),
        RunError::ToolsList(String::new()).hint(),
    ];
    let hints = hints.map(|hint| hint.rendered());
    assert!(
        hints.iter().all(|hint| !hint.contains("mcprove ")),
        "{hints:?}"
    );
    assert!(
        hints.iter().any(|hint| hint.contains("mcprove::")),
        "{hints:?}"
    );
    let session = Session::connect(&InMemory::fixture("tool_error").unwrap())
        .await
        .unwrap();
    let error = session
        .call_tool("echo", &json!({ "message": "" }))
        .await
        .unwrap_err();
    assert_eq!(error.hint(), ErrorCategory::ToolError.hint());
}
