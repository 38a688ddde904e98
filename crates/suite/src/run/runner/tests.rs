//! The runner with tests that only pretend: what runs when, and what is in the report.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcprove_load::drive::Stop;

use super::*;
use crate::plan::Environment;
use crate::run::CassetteMode;
use crate::run::sample::{plan, tool};

fn options() -> SuiteOptions {
    SuiteOptions {
        jobs: 4,
        cassettes: CassetteMode::default(),
        environment: Environment::new(|_| None),
        seed: 0,
        output_dir: PathBuf::from("runs"),
        is_output_dir_given: false,
        proxy_program: None,
        supervisor: None,
        stop: Stop::new(),
    }
}

fn silent() -> SuiteListener {
    Arc::new(|_| {})
}

fn suite(names: &[&str]) -> SuitePlan {
    let mut plan = plan("suite.yml");
    let tests = names.iter().enumerate();
    plan.tools = tests
        .map(|(line, name)| tool(name, line + 1, &[]))
        .collect();
    plan
}

/// A test whose name says what comes of it, and after how long.
fn pretend(test: TestOf<'_>) -> Running<'_> {
    Box::pin(async move {
        let name = test.name();
        let pause = name
            .split(' ')
            .next_back()
            .and_then(|last| last.parse().ok());
        tokio::time::sleep(Duration::from_millis(pause.unwrap_or(1))).await;
        assert!(!name.starts_with("panics"), "as it was told to");
        let mut report = test.report();
        report.outcome = if name.starts_with("fails") {
            TestOutcome::Failed
        } else {
            TestOutcome::Passed
        };
        report
    })
}

/// Tells the compiler that what runs a test may borrow what the test does.
fn as_executor<'r>(
    execute: impl Fn(TestOf<'r>) -> Running<'r>,
) -> impl Fn(TestOf<'r>) -> Running<'r> {
    execute
}

async fn run(plan: &SuitePlan, options: &SuiteOptions, rules: RunRules) -> SuiteReport {
    let plans = std::slice::from_ref(plan);
    run_all(&collect_tests(plans), options, rules, &silent(), &pretend).await
}

fn outcomes(report: &SuiteReport) -> Vec<String> {
    let tests = report.tests.iter();
    tests
        .map(|test| format!("{}: {}", test.name, test.outcome.name()))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn the_report_is_in_the_order_of_the_file_whatever_ends_first() {
    let plan = suite(&["a 50", "b 5", "fails 30", "c 1"]);
    let report = run(&plan, &options(), RunRules::default()).await;
    assert_eq!(
        outcomes(&report),
        [
            "a 50: passed",
            "b 5: passed",
            "fails 30: failed",
            "c 1: passed"
        ]
    );
    assert!(!report.passed && !report.partial);
}

#[tokio::test(start_paused = true)]
async fn a_test_that_panics_stops_no_other() {
    let plan = suite(&["a", "panics", "b"]);
    let report = run(&plan, &options(), RunRules::default()).await;
    assert_eq!(
        outcomes(&report),
        ["a: passed", "panics: error", "b: passed"]
    );
    let message = &report.tests[1].errors[0].message;
    assert!(
        message.rendered().contains("as it was told to"),
        "{message:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn fail_fast_lets_what_runs_end_and_says_what_was_not_run() {
    let plan = suite(&["fails 5", "a 50", "b 1", "c 1"]);
    let rules = RunRules {
        fail_fast: true,
        ..RunRules::default()
    };
    let options = SuiteOptions {
        jobs: 2,
        ..options()
    };
    let report = run(&plan, &options, rules).await;
    assert_eq!(
        outcomes(&report),
        [
            "fails 5: failed",
            "a 50: passed",
            "b 1: skipped",
            "c 1: skipped"
        ]
    );
    assert_eq!(report.tests[2].skipped.as_deref(), Some(NOT_AFTER_FAILURE));
    assert!(!report.passed && !report.partial);
}

#[tokio::test(start_paused = true)]
async fn a_stop_gives_a_partial_report_and_a_second_one_does_not_wait() {
    for times in [1, 2] {
        let plan = suite(&["a 5", "b 1000", "c 1"]);
        let options = SuiteOptions {
            jobs: 2,
            ..options()
        };
        let stop = options.stop.clone();
        let stopping = async {
            // Before the first ends, so that the third is never begun.
            tokio::time::sleep(Duration::from_millis(2)).await;
            (0..times).for_each(|_| stop.request());
        };
        let (report, ()) = tokio::join!(run(&plan, &options, RunRules::default()), stopping);
        assert!(report.partial && !report.passed);
        let expected = if times == 1 { "passed" } else { "skipped" };
        let words = outcomes(&report);
        assert_eq!(words[1], format!("b 1000: {expected}"));
        assert_eq!(words[2], "c 1: skipped");
        assert_eq!(report.tests[2].skipped.as_deref(), Some(NOT_AFTER_STOP));
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_to_be_skipped_is_never_started() {
    let mut plan = suite(&["a", "panics"]);
    plan.tools[1].head.skip = Some("needs a key".to_owned());
    let report = run(&plan, &options(), RunRules::default()).await;
    assert_eq!(outcomes(&report), ["a: passed", "panics: skipped"]);
    assert_eq!(report.tests[1].skipped.as_deref(), Some("needs a key"));
    assert!(report.passed);
}

#[tokio::test(start_paused = true)]
async fn each_test_is_repeated_as_often_as_is_asked_for() {
    let plan = suite(&["a", "flaky"]);
    let counts = [AtomicUsize::new(0), AtomicUsize::new(0)];
    let execute = as_executor(|test| {
        let is_flaky = test.name() == "flaky";
        let count = counts[usize::from(is_flaky)].fetch_add(1, Ordering::Relaxed);
        let mut report = test.report();
        report.outcome = if is_flaky && count == 1 {
            TestOutcome::Failed
        } else {
            TestOutcome::Passed
        };
        Box::pin(async move { report })
    });
    let rules = RunRules {
        repeat: 3,
        ..RunRules::default()
    };
    let plans = std::slice::from_ref(&plan);
    let tests = collect_tests(plans);
    let report = run_all(&tests, &options(), rules, &silent(), &execute).await;
    assert_eq!(outcomes(&report), ["a: passed", "flaky: failed"]);
    let counts = counts.each_ref().map(|count| count.load(Ordering::Relaxed));
    assert_eq!(counts, [3, 3]);
    assert!(report.tests[1].repeated.unwrap().flaky);
}

#[tokio::test(start_paused = true)]
async fn there_are_as_many_at_once_as_the_jobs_and_the_server_allow() {
    use crate::run::sample::mock_server;
    for (jobs, parallel, expected) in [(3, 8, 3), (8, 2, 2), (8, 1, 1)] {
        let mut plan = suite(&["a", "b", "c", "d", "e"]);
        let mut server = mock_server("api");
        server.parallel = parallel;
        plan.servers.insert("api".to_owned(), server);
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let (now, most) = (&now, &most);
        let execute = as_executor(move |test| {
            let report = test.report();
            Box::pin(async move {
                let count = now.fetch_add(1, Ordering::Relaxed) + 1;
                most.fetch_max(count, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_millis(5)).await;
                now.fetch_sub(1, Ordering::Relaxed);
                report
            })
        });
        let plans = std::slice::from_ref(&plan);
        let tests = collect_tests(plans);
        let options = SuiteOptions { jobs, ..options() };
        run_all(&tests, &options, RunRules::default(), &silent(), &execute).await;
        assert_eq!(most.load(Ordering::Relaxed), expected, "{jobs} {parallel}");
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_listens_hears_of_every_test() {
    let plan = suite(&["a", "fails"]);
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hearing = Arc::clone(&heard);
    let listener: SuiteListener = Arc::new(move |event| {
        let words = match event {
            SuiteEvent::Started(test) => format!("{} began", test.name()),
            SuiteEvent::Ended { report, counts } => format!(
                "{} ended, {} and {}",
                report.name, counts.passed, counts.failed
            ),
            other => format!("{other:?}"),
        };
        hearing.lock().unwrap().push(words);
    });
    let options = SuiteOptions {
        jobs: 1,
        ..options()
    };
    let plans = std::slice::from_ref(&plan);
    let tests = collect_tests(plans);
    run_all(&tests, &options, RunRules::default(), &listener, &pretend).await;
    assert_eq!(
        *heard.lock().unwrap(),
        [
            "a began",
            "a ended, 1 and 0",
            "fails began",
            "fails ended, 1 and 1"
        ]
    );
}

/// Repetitions of one test, as one row.
mod repetitions {
    use mcprove_score::gate::GateFailure;

    use super::*;
    use crate::run::report::TestKind;
    use crate::run::sample::{head, plan};

    fn report(outcome: TestOutcome) -> TestReport {
        let mut report = TestReport::new(TestKind::Tool, &head("a", 1, &[]), &plan("s.yml"));
        report.outcome = outcome;
        report.duration_ms = 2.0;
        if outcome == TestOutcome::Failed {
            report.failures.push(GateFailure {
                message: "it is 1".into(),
                ..GateFailure::default()
            });
        }
        report
    }

    #[test]
    fn one_that_passes_sometimes_fails_and_is_flaky() {
        use TestOutcome::{Error, Failed, Passed};
        let merged = merge([Passed, Failed, Passed].map(report).to_vec()).unwrap();
        assert_eq!(merged.outcome, Failed);
        assert_eq!(merged.failures[0].message, "repetition 2 of 3: it is 1");
        assert_eq!(merged.notes, ["flaky: it passed 2 of 3 times"]);
        let repeated = merged.repeated.unwrap();
        assert!(repeated.flaky && repeated.times == 3 && repeated.passed == 2);
        assert!((merged.duration_ms - 6.0).abs() < f64::EPSILON);
        let merged = merge([Failed, Failed].map(report).to_vec()).unwrap();
        assert!(!merged.repeated.unwrap().flaky && merged.notes.is_empty());
        let merged = merge([Failed, Error].map(report).to_vec()).unwrap();
        assert_eq!(merged.outcome, Error);
        let merged = merge([Passed, Passed].map(report).to_vec()).unwrap();
        assert_eq!(merged.outcome, Passed);
    }

    #[test]
    fn one_alone_stays_as_it_is() {
        let one = report(TestOutcome::Failed);
        assert_eq!(merge(vec![one.clone()]), Some(one));
        assert_eq!(merge(Vec::new()), None);
    }
}
