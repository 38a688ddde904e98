//! Running the chosen tests: as many at once as may be, each by itself, in the order of the files in the
//! report whatever ended first.

use super::coverage::with_coverage;
use super::schedule::{Needs, Schedule};
use super::selection::Selection;
use super::servers::Servers;
use super::{agent, load, secrets, tool};
use crate::prelude::*;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use mcprove_trace::panic_guard::contain;
use std::pin::Pin;

/// Why a test was not run after another failed.
const NOT_AFTER_FAILURE: &str = "not run, because another test did not pass";
/// Why a test was not run when the user stopped.
const NOT_AFTER_STOP: &str = "not run, because the run was interrupted";
/// Why a test has no result when the user stopped.
const BROKEN_OFF: &str = "broken off, because the run was interrupted";

/// How often tests are run, and when no more are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunRules {
    /// How often each test is run; it passes only if it always does.
    pub repeat: u32,
    /// Whether nothing is started any more once a test did not pass.
    pub fail_fast: bool,
}

impl Default for RunRules {
    fn default() -> Self {
        Self {
            repeat: 1,
            fail_fast: false,
        }
    }
}

/// Something that runs one test. Whatever goes wrong is in the report.
type Running<'a> = Pin<Box<dyn Future<Output = TestReport> + 'a>>;

/// Runs the tests of the suites that are chosen. An error is that there is nothing to run; whatever goes
/// wrong with a test is in the report.
pub async fn run_suites(
    plans: &[SuitePlan],
    selection: &Selection,
    options: &SuiteOptions,
    rules: RunRules,
    listener: &SuiteListener,
) -> DiagnosticResult<SuiteReport> {
    let plans = &supervised(plans, options.supervisor.as_deref());
    let all = collect_tests(plans);
    let chosen = selection.choose(&all)?;
    listener(&SuiteEvent::Chosen {
        tests: chosen.tests.len(),
        warnings: &chosen.warnings,
    });
    secrets::look_up(plans, &options.environment);
    let servers: Vec<Servers> = plans
        .iter()
        .map(|plan| Servers::new(plan, options))
        .collect();
    let shutdown = shutdown_timeout(plans);
    let execute = executor(&servers, options, listener, shutdown);
    let report = run_all(&chosen.tests, options, rules, listener, &execute).await;
    let report = with_coverage(report, plans, &servers, &chosen.tests);
    join_all(servers.iter().map(|servers| servers.close(shutdown))).await;
    Ok(report)
}

/// The suites, where every server has a supervisor, if there is one.
fn supervised(plans: &[SuitePlan], supervisor: Option<&Path>) -> Vec<SuitePlan> {
    let mut plans = plans.to_vec();
    let servers = plans.iter_mut().flat_map(|plan| plan.servers.values_mut());
    for server in servers {
        if let (Reach::Server(server), Some(supervisor)) = (&mut server.reach, supervisor) {
            server
                .supervisor
                .get_or_insert_with(|| supervisor.to_owned());
        }
    }
    plans
}

/// How long the servers may take to end.
fn shutdown_timeout(plans: &[SuitePlan]) -> Duration {
    let timeouts = plans
        .iter()
        .flat_map(|plan| plan.servers.values())
        .filter_map(|server| match &server.reach {
            Reach::Server(server) => Some(server.shutdown_timeout),
            Reach::Mock { .. } => None,
        });
    timeouts
        .max()
        .unwrap_or_else(|| TimeLimits::initial().shutdown_timeout)
}

/// What runs one test, by its kind. Once the run was asked to stop, calls under way have half of the time
/// that the servers have to end.
fn executor<'r>(
    servers: &'r [Servers],
    options: &'r SuiteOptions,
    listener: &'r SuiteListener,
    shutdown: Duration,
) -> impl Fn(TestOf<'r>) -> Running<'r> {
    move |test| {
        let context = servers.get(test.suite).map(|servers| Context {
            plan: test.plan,
            options,
            servers,
        });
        Box::pin(async move {
            match (context, test.test) {
                (None, _) => test.report(),
                (Some(context), Test::Tool(plan)) => tokio::select! {
                    report = tool::run(plan, context) => report,
                    () = options.stop.drained(shutdown) => test.report().not_run(BROKEN_OFF),
                },
                (Some(_), Test::Agent(plan)) => agent::run(plan, test.plan, options).await,
                (Some(context), Test::Load(plan)) => load::run(plan, context, listener).await,
            }
        })
    }
}

/// Runs these tests with what runs one.
async fn run_all<'a>(
    tests: &[TestOf<'a>],
    options: &SuiteOptions,
    rules: RunRules,
    listener: &SuiteListener,
    execute: &dyn Fn(TestOf<'a>) -> Running<'a>,
) -> SuiteReport {
    let mut results = Results {
        reports: BTreeMap::new(),
        started: BTreeSet::new(),
        counts: Counts::default(),
        listener,
    };
    let mut needed = Vec::new();
    for (place, test) in tests.iter().enumerate() {
        match &test.head().skip {
            Some(reason) => results.put(place, test.report().not_run(reason)),
            None => needed.push((place, needs(test))),
        }
    }
    let mut schedule = Schedule::new(needed, options.jobs);
    let mut running = FuturesUnordered::new();
    let mut is_failed = false;
    loop {
        if !options.stop.is_running() || rules.fail_fast && is_failed {
            schedule.close();
        }
        while let Some(place) = schedule.start() {
            let test = tests[place];
            results.start(place, test);
            running.push(async move {
                let report = run_repeatedly(test, options, rules.repeat, execute).await;
                (place, report)
            });
        }
        if running.is_empty() {
            break;
        }
        tokio::select! {
            biased;
            () = options.stop.requested(StopLevel::Now) => break,
            ended = running.next() => {
                if let Some((place, report)) = ended {
                    schedule.end(place);
                    is_failed |= matches!(report.outcome, TestOutcome::Failed | TestOutcome::Error);
                    results.put(place, report);
                }
            }
        }
    }
    drop(running);
    results.finish(tests, !options.stop.is_running())
}

/// What a test needs of its servers.
fn needs(test: &TestOf<'_>) -> Needs {
    let servers = test.servers().into_iter().map(|name| {
        let plan = test.plan.servers.get(name);
        let limit = plan.map_or(u32::MAX, |plan| plan.parallel);
        ((test.suite, name.to_owned()), limit)
    });
    Needs {
        servers: servers.collect(),
        is_alone: matches!(test.test, Test::Load(_)),
    }
}

/// Runs one test as often as is asked for, one after the other: a recording has one writer.
async fn run_repeatedly<'a>(
    test: TestOf<'a>,
    options: &SuiteOptions,
    times: u32,
    execute: &dyn Fn(TestOf<'a>) -> Running<'a>,
) -> TestReport {
    let mut reports = Vec::new();
    for _ in 0..times.max(1) {
        if !reports.is_empty() && !options.stop.is_running() {
            break;
        }
        let ended = contain(execute(test)).await;
        reports.push(ended.unwrap_or_else(|message| panicked(test, &message)));
    }
    merge(reports).unwrap_or_else(|| test.report())
}

fn panicked(test: TestOf<'_>, message: &str) -> TestReport {
    let mut report = test.report();
    let (message, hint) = match OwnLimit::of_panic(message) {
        Some(limit) => (limit.to_string(), limit.hint()),
        None => (
            format!("mcprove itself failed in this test: {message}"),
            "please report this, with the suite that led to it".into(),
        ),
    };
    report.errors.push(Diagnostic::new(message, hint).into());
    report.judged()
}

/// The outcome of each test, as far as it is known, by its place.
struct Results<'l> {
    reports: BTreeMap<usize, TestReport>,
    started: BTreeSet<usize>,
    counts: Counts,
    listener: &'l SuiteListener,
}

impl Results<'_> {
    fn start(&mut self, place: usize, test: TestOf<'_>) {
        self.started.insert(place);
        (self.listener)(&SuiteEvent::Started(test));
    }

    fn put(&mut self, place: usize, report: TestReport) {
        self.counts.add(report.outcome);
        (self.listener)(&SuiteEvent::Ended {
            report: &report,
            counts: self.counts,
        });
        self.reports.insert(place, report);
    }

    /// The report; of a test without a result it says why there is none.
    fn finish(mut self, tests: &[TestOf<'_>], is_stopped: bool) -> SuiteReport {
        let reports = tests.iter().enumerate().map(|(place, test)| {
            self.reports.remove(&place).unwrap_or_else(|| {
                let reason = match (is_stopped, self.started.contains(&place)) {
                    (true, true) => BROKEN_OFF,
                    (true, false) => NOT_AFTER_STOP,
                    (false, _) => NOT_AFTER_FAILURE,
                };
                test.report().not_run(reason)
            })
        });
        SuiteReport::new(reports.collect(), is_stopped)
    }
}

/// One row for all repetitions, which are at least one. The values are those of the first repetition that
/// did not pass.
fn merge(mut reports: Vec<TestReport>) -> Option<TestReport> {
    if reports.len() < 2 {
        return reports.pop();
    }
    let times = reports.len();
    let is_passed = |report: &&TestReport| report.outcome == TestOutcome::Passed;
    let passed = reports.iter().filter(is_passed).count();
    let has = |outcome: &TestOutcome| reports.iter().any(|report| report.outcome == *outcome);
    let by_weight = [
        TestOutcome::Error,
        TestOutcome::Failed,
        TestOutcome::Skipped,
    ];
    let outcome = by_weight.into_iter().find(has);
    let outcome = outcome.unwrap_or(TestOutcome::Passed);
    let mut all = TestReport::default();
    for (place, report) in reports.iter_mut().enumerate() {
        let which = |message: &Message| sentence!("repetition {} of {times}: {message}", place + 1);
        for failure in &mut report.failures {
            failure.message = which(&failure.message);
        }
        for error in &mut report.errors {
            error.message = which(&error.message);
        }
        all.failures.append(&mut report.failures);
        all.errors.append(&mut report.errors);
        all.losses.append(&mut report.losses);
        all.duration_ms += report.duration_ms;
    }
    let first_bad = reports.iter().position(|report| !is_passed(&report));
    let mut merged = reports.swap_remove(first_bad.unwrap_or_default());
    let flaky = passed > 0 && passed < times && outcome != TestOutcome::Skipped;
    if flaky {
        let note = sentence!("flaky: it passed {passed} of {times} times");
        merged.notes.insert(0, note);
    }
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    Some(TestReport {
        outcome,
        failures: all.failures,
        errors: all.errors,
        losses: all.losses,
        duration_ms: all.duration_ms,
        repeated: Some(Repeated {
            times: count(times),
            passed: count(passed),
            flaky,
        }),
        ..merged
    })
}

#[cfg(test)]
mod tests;
