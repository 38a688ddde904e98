//! A load, carried out by the load engine and judged as a test.
//!
//! Limits that were not kept and critical findings are failures. What a run cannot pass without and could
//! not be judged is an inconclusive error. The run directory has all the rest.

use super::masking::masked;
use crate::prelude::*;
use mcprove_client::permission::SkippedTool;
use mcprove_load::config::OutputSettings;
use mcprove_load::drive::Scenario;
use mcprove_load::run::{Report, Run, RunError};
use mcprove_score::threshold::ThresholdViolation;
use mcprove_score::verdict::Verdict;
use mcprove_trace::stream::OWN_LIMIT;

/// How many lines of what a server said last are told.
const STDERR_LINES_MAX: usize = 20;

/// Runs one test. Whatever goes wrong is in the report.
pub async fn run(
    test: &LoadTestPlan,
    context: Context<'_>,
    listener: &SuiteListener,
) -> TestReport {
    let mut report = TestReport::new(TestKind::Load, &test.head, context.plan);
    if let Err(error) = execute(test, context, listener, &mut report).await {
        report.errors.push(error.into());
    }
    masked(report.judged(), &context.options.environment.redactor())
}

async fn execute(
    test: &LoadTestPlan,
    context: Context<'_>,
    listener: &SuiteListener,
    report: &mut TestReport,
) -> DiagnosticResult {
    let Context { plan, options, .. } = context;
    let server = plan.servers.get(&test.server).ok_or_else(|| {
        Diagnostic::new(
            format!("there is no server {:?}", test.server),
            sentence!("name one of those under `servers:`"),
        )
    })?;
    let mut config = test.config.clone();
    config.scenario.load.seed.get_or_insert(options.seed);
    let mut scenario = config.scenario.clone();
    for call in scenario.calls_mut() {
        call.args = options.environment.fill_value(&call.args)?;
    }
    let (reached, listening) = server.listen(&options.environment, options.seed).await?;
    // What was filled in stays out of the file.
    config.server = match &server.reach {
        Reach::Server(server) => server.clone(),
        Reach::Mock { .. } => reached.clone(),
    };
    let (ended, directory) = engine(&config, reached, scenario, context, listener)
        .execute_and_keep()
        .await;
    if let Some(listening) = listening {
        listening.shutdown().await;
    }
    match ended {
        Ok(found) => {
            judge(report, &found);
            context.servers.note_load(&test.server, &found);
            let path = directory.map(|directory| directory.path().display().to_string());
            report.details = path.map(|path| path.replace('\\', "/"));
        }
        Err(error) if options.stop.is_running() => {
            let hint = error.hint_in(directory.as_ref());
            return Err(setup_error(&error, &hint, &test.server));
        }
        Err(_) => report.errors = vec![broken_off()],
    }
    Ok(())
}

/// The load engine, with all that the entry says; server and scenario are filled in.
fn engine(
    config: &LoadConfig,
    server: Server,
    scenario: Scenario,
    context: Context<'_>,
    listener: &SuiteListener,
) -> Run {
    // An entry may have a place of its own for its runs, unless the user says where they go.
    let is_own = config.output.report_dir != OutputSettings::default().report_dir
        && !context.options.is_output_dir_given;
    let output_dir = if is_own {
        &config.output.report_dir
    } else {
        &context.options.output_dir
    };
    let listener = Arc::clone(listener);
    let mut session = config.session.options();
    // Besides what the server is reached with, all that the suite takes from the environment.
    let secrets = context.options.environment.secrets();
    session.redactor = Some(Redactor::new(secrets).with_secrets(server.secrets()));
    let mut filled = config.clone();
    filled.scenario = scenario;
    filled.output.report_dir.clone_from(output_dir);
    filled
        .run(server, config)
        .with_session(session)
        .with_stop(context.options.stop.clone())
        .on_progress(Arc::new(move |progress| {
            listener(&SuiteEvent::Load(progress));
        }))
}

fn setup_error(error: &RunError, hint: &Message, server: &str) -> Diagnostic {
    let Diagnostic { message, .. } = error.diagnostic();
    let message = message.fixed(Spelling::Yaml);
    let message = match error {
        RunError::ServerStderr(said) => {
            let message = sentence!("the server `{server}` does not run");
            with_stderr(message, &last_lines(said, STDERR_LINES_MAX))
        }
        RunError::ServerStart(_) | RunError::ServerExit(_) | RunError::Handshake(_) => {
            sentence!("the server `{server}` does not run: {message}")
        }
        _ => message,
    };
    Diagnostic::new(message, hint.fixed(Spelling::Yaml))
}

/// A load that the user stopped: what it has is told, but proves nothing.
fn broken_off() -> ScoreError {
    let message = "broken off, because the run was interrupted";
    let hint = "let it run to its end; the numbers are those up to then";
    ScoreError::from(Diagnostic::new(message, hint)).inconclusive()
}

/// The values of `metrics.json` that a test has as its targets, by their paths there.
const TARGETS: &str = "latency_ms.p50 latency_ms.p95 latency_ms.p99 latency_ms.p999 latency_ms.mean latency_ms.max \
                       throughput.total_requests throughput.successful_requests throughput.requests_per_sec \
                       errors.total deadlock_count hang_count crash_count dropped process.peak_rss_mb \
                       process.growth_mb isolation.crossed grades.overall startup_ms coverage.share";

/// How many tools that were not called are named.
const SKIPPED_MAX: usize = 10;

/// Puts what was found into the report of the test.
fn judge(report: &mut TestReport, found: &Report) {
    report.duration_ms = as_milliseconds(found.duration);
    let metrics = serde_json::to_value(found).unwrap_or_default();
    for path in TARGETS.split(' ') {
        let mut names = path.split('.');
        let value = names.try_fold(&metrics, |value, name| value.get(name));
        if let Some(value) = value {
            report.targets.insert(path.to_owned(), value.clone());
        }
    }
    let error_rate = json!(found.error_rate());
    report.targets.insert("error_rate".to_owned(), error_rate);
    let violations = found.threshold_violations.iter().map(violated);
    let (critical, others): (Vec<&Verdict>, Vec<&Verdict>) = found
        .findings()
        .into_iter()
        .filter(|verdict| verdict.limit().is_none())
        .partition(|verdict| found.fail_on.is_failure(verdict));
    report.failures = violations
        .chain(critical.iter().map(|it| finding(it)))
        .collect();
    report.errors = found.inconclusive_gates().map(unjudged).collect();
    report.notes = others
        .iter()
        .map(|it| it.sentence.clone())
        .chain(not_called(&found.skipped_tools))
        .chain(not_covered(found))
        .chain(found.warnings.iter().cloned().map(Message::from))
        .collect();
    for loss in &found.losses {
        report.lose(loss.clone());
    }
    let is_cut_short = found.interrupted && report.failures.is_empty();
    if is_cut_short {
        // Half a load proves nothing.
        report.errors = vec![broken_off()];
    }
    let is_passed = report.errors.is_empty() && report.failures.is_empty();
    debug_assert!(is_cut_short || is_passed == found.passed());
}

/// Which tools were not called, and how to call them.
fn not_called(tools: &[SkippedTool]) -> Option<Message> {
    let mut listed: Vec<String> = tools
        .iter()
        .take(SKIPPED_MAX)
        .map(|tool| format!("{} ({})", tool.name, tool.reason))
        .collect();
    if tools.len() > SKIPPED_MAX {
        listed.push(format!("and {} more", tools.len() - SKIPPED_MAX));
    }
    (!tools.is_empty()).then(|| {
        let listed = listed.join(", ");
        sentence!("not called, as they may write (`allow_writes: true` calls them): {listed}")
    })
}

/// The coverage, where a tool is missing.
fn not_covered(found: &Report) -> Option<Message> {
    let coverage = &found.coverage;
    let line = coverage.line();
    (!coverage.missing.is_empty()).then(|| sentence!("coverage: {line}"))
}

fn violated(violation: &ThresholdViolation) -> GateFailure {
    let metric = violation.metric.name();
    let (expected, actual) = (&violation.expected, &violation.actual);
    let target = match &violation.tool {
        Some(tool) => format!("tools.{tool}.{metric}"),
        None => metric.to_owned(),
    };
    let message = sentence!("it is {actual}, and must be {expected}");
    gate_failure(&target, json!(expected), json!(actual), message)
}

fn finding(verdict: &Verdict) -> GateFailure {
    let numbers = Value::Object(verdict.numbers.clone().into_iter().collect());
    let Verdict {
        detector, sentence, ..
    } = verdict;
    let hint = verdict.hint.clone().unwrap_or_default();
    let what = Diagnostic::new(sentence.clone(), hint.fixed(Spelling::Yaml));
    gate_failure(detector, "no critical finding", numbers, what)
}

fn unjudged(verdict: &Verdict) -> ScoreError {
    let target = verdict.limit().unwrap_or(&verdict.detector);
    let hint = verdict.hint.as_ref().map_or_else(
        || "make the load longer".into(),
        |hint| hint.fixed(Spelling::Yaml),
    );
    let error = ScoreError::new(target, verdict.sentence.clone(), hint);
    // An own limit is an error of ours.
    if verdict.detector == OWN_LIMIT {
        error
    } else {
        error.inconclusive()
    }
}

#[cfg(test)]
mod tests;
