//! A task for an agent, carried out and judged: all its runs, live or from a recording.
//!
//! `live` makes the runs, with a model or a process, and `gathered` puts them together; `replay` makes them from
//! a cassette; `judge` scores them, the same either way. What is scored and told has no secrets, so that a replay tells the same.

mod gathered;
mod judge;
mod live;
mod mock_faults;
mod replay;

#[cfg(test)]
mod tests;

use std::path::{Component, Path, PathBuf};

use mcprove_score::gate::ScoreError;
use mcprove_settings::loss::Loss;
use mcprove_settings::message::Message;
use mcprove_settings::private_file;
use mcprove_settings::secret::Redactor;
use mcprove_settings::whole_file::write_private;
use mcprove_trace::AgentTrace;

use super::context::{CassetteMode, Context, SuiteOptions};
use super::masking::mask;
use super::report::{TestKind, TestOutcome, TestReport};
use crate::agent::cassette::{self, CASSETTE_FORMAT, Cassette, FOLDER, RecordedOutcome, Verdict};
use crate::error::TestError;
use crate::plan::{AgentTestPlan, SuitePlan};

/// Where the traces of agents are written, in the folder of results.
const TRACES: &str = "agents";

/// What a test is run with.
#[derive(Clone, Copy)]
struct AgentContext<'a> {
    plan: &'a SuitePlan,
    options: &'a SuiteOptions,
}

/// The runs of a test.
struct AgentRuns {
    /// Every run that was begun, in order; of one that broke, what it had done.
    trace: AgentTrace,
    /// What a reader should know of each run.
    notes: Vec<Vec<String>>,
    /// What is recorded of them; its verdict comes later.
    tape: Option<Cassette>,
    /// Why runs broke, or why they cannot be recorded.
    errors: Vec<ScoreError>,
    /// How many came to their end.
    ended: usize,
    /// How many are judged: those before the first that broke.
    judged: usize,
}

/// Why there are no runs to judge.
type AgentRunsError = TestError;

/// What went wrong with one of the runs.
fn error(run: usize, message: impl Into<String>, hint: impl Into<Message>) -> ScoreError {
    ScoreError {
        run: Some(run),
        ..TestError::new(message, hint).into()
    }
}

/// Runs one test. Whatever goes wrong is in the report.
pub(crate) async fn run(test: &AgentTestPlan, context: Context<'_>) -> TestReport {
    // Servers are not shared: an agent may leave them in any state.
    let Context { plan, options, .. } = context;
    run_in(test, AgentContext { plan, options }).await
}

async fn run_in(test: &AgentTestPlan, context: AgentContext<'_>) -> TestReport {
    let test = &mock_faults::injected(test, context.plan);
    let report = TestReport::new(TestKind::Agent, &test.head, context.plan);
    let path = cassette_path(test, context.plan);
    // A replay has nothing of the environment, and must not depend on it.
    let is_replay = context.options.cassettes == CassetteMode::Replay && path.exists();
    let leftover = remove_trace(test, context).err();
    let mut report = match make(test, context, &path).await {
        // All that is judged is without secrets already.
        Ok(made) => {
            let (report, made) = judge::judge_aside(report, test, made).await;
            write_artifacts(report, test, context, made, &path)
        }
        Err(error) => {
            let mut report = not_run(report, error, context, &path);
            if !is_replay {
                redact(&mut report, &context.options.environment.redactor());
            }
            report
        }
    };
    if let Some(error) = leftover.filter(|_| report.details.is_none()) {
        let note = format!("the trace of an earlier run cannot be removed: {error}");
        report.notes.push(note);
    }
    report
}

/// The report of these runs, which are judged. Their trace is written, and their recording.
fn write_artifacts(
    mut report: TestReport,
    test: &AgentTestPlan,
    context: AgentContext<'_>,
    made: AgentRuns,
    path: &Path,
) -> TestReport {
    if !made.trace.runs.is_empty() {
        match write_trace(test, context, &made.trace) {
            Ok(()) => report.details = Some(trace_name(test, context.plan)),
            Err(error) => report.lose(Loss::of_file(&trace_path(test, context), &error)),
        }
    }
    let is_recorded = context.options.cassettes == CassetteMode::Record;
    match made.tape {
        // Whoever stops wants nothing written any more.
        Some(tape) if context.options.stop.is_running() => record(report, tape, path),
        _ if is_recorded => {
            report.notes.push(nothing_recorded(path));
            report
        }
        _ => report,
    }
}

/// Takes out what errors and notes may quote: addresses, and what servers wrote to stderr.
fn redact(report: &mut TestReport, redactor: &Redactor) {
    let errors = report.errors.iter_mut();
    let texts = errors.flat_map(|error| [&mut error.message, &mut error.hint]);
    for text in texts.chain(&mut report.notes) {
        mask(text, redactor);
    }
}

/// Makes the runs, in the way that the options say.
async fn make(
    test: &AgentTestPlan,
    context: AgentContext<'_>,
    path: &Path,
) -> Result<AgentRuns, AgentRunsError> {
    let mode = context.options.cassettes;
    if mode == CassetteMode::Replay {
        if let Some(cassette) = cassette::read(path)? {
            cassette::same_file(test, context.plan)?;
            return replay::replay(test, context.plan, &cassette).await;
        }
        cassette::none_of_another_model(test, context.plan)?;
    }
    if mode == CassetteMode::Record {
        cassette::same_file(test, context.plan)?;
        // What cannot be read is nobody's.
        if let Ok(Some(before)) = cassette::read(path)
            && before.suite != suite_name(context.plan)
        {
            let (file, suite) = (shown(path), before.suite);
            return Err(TestError::new(
                format!("{file}: the cassette is of the suite {suite:?}, and would be overwritten"),
                "give one of the agents another name; if the suite was renamed, remove the cassette first",
            ));
        }
    }
    live::make(test, context, mode == CassetteMode::Record).await
}

/// The report of a test that has no runs to judge. A recording that was to be made anew stays as it was.
fn not_run(
    mut report: TestReport,
    error: AgentRunsError,
    context: AgentContext<'_>,
    path: &Path,
) -> TestReport {
    report.errors.push(error.into());
    if context.options.cassettes == CassetteMode::Record {
        report.notes.push(nothing_recorded(path));
    }
    report.judged()
}

fn nothing_recorded(path: &Path) -> String {
    let name = shown(path);
    if path.exists() {
        format!("nothing was recorded: {name} is as it was before")
    } else {
        format!("nothing was recorded: {name} was not written")
    }
}

/// Writes the cassette, with what came of its runs.
fn record(mut report: TestReport, mut tape: Cassette, path: &Path) -> TestReport {
    tape.verdict = Verdict {
        outcome: match report.outcome {
            TestOutcome::Passed | TestOutcome::Skipped => RecordedOutcome::Passed,
            TestOutcome::Failed => RecordedOutcome::Failed,
            TestOutcome::Error => RecordedOutcome::Error,
        },
        failures: report
            .failures
            .iter()
            .map(|failure| failure.target.clone())
            .collect(),
    };
    match cassette::write(path, &tape) {
        Ok(()) => report,
        Err(failure) => {
            report.errors.push(failure.into());
            report.judged()
        }
    }
}

/// A cassette of a test of which nothing is recorded yet.
fn empty_tape(
    test: &AgentTestPlan,
    plan: &SuitePlan,
    fits: cassette::CassetteInputs,
    seed: u64,
) -> Cassette {
    Cassette {
        schema: CASSETTE_FORMAT.to_owned(),
        agent: test.head.name.clone(),
        suite: suite_name(plan),
        fits,
        seed,
        variables: std::collections::BTreeMap::new(),
        verdict: Verdict {
            outcome: RecordedOutcome::Error,
            failures: Vec::new(),
        },
        runs: Vec::new(),
    }
}

/// The file of the suite, as cassettes name it.
fn suite_name(plan: &SuitePlan) -> String {
    let name = Path::new(&plan.file).file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

fn cassette_path(test: &AgentTestPlan, plan: &SuitePlan) -> PathBuf {
    plan.folder.join(FOLDER).join(cassette::file_name(test))
}

fn shown(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    format!("{FOLDER}/{name}")
}

/// The file of the trace, from the folder of results on: the same whenever the test is run, and another for
/// every suite, also for those of one name in several folders.
fn trace_name(test: &AgentTestPlan, plan: &SuitePlan) -> String {
    format!(
        "{TRACES}/{}/{}",
        suite_folder(&plan.file),
        cassette::file_name(test)
    )
}

/// The path of a suite as the name of a folder, without its ending; never one that leads elsewhere.
fn suite_folder(file: &str) -> String {
    let path = Path::new(file);
    // Two endings are two files.
    let is_usual = path.extension().is_some_and(|ending| ending == "yml");
    let path = if is_usual {
        path.with_extension("")
    } else {
        path.to_owned()
    };
    let parts = path.components().filter_map(|part| match part {
        Component::CurDir => None,
        Component::ParentDir => Some("__".to_owned()),
        Component::RootDir => Some("_".to_owned()),
        Component::Prefix(prefix) => {
            let prefix = prefix.as_os_str().to_string_lossy();
            Some(prefix.replace(|part: char| !part.is_alphanumeric(), "_"))
        }
        Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
    });
    parts.collect::<Vec<String>>().join("/")
}

fn trace_path(test: &AgentTestPlan, context: AgentContext<'_>) -> PathBuf {
    let name = trace_name(test, context.plan);
    context.options.output_dir.join(name)
}

/// Removes the trace of an earlier run, which nobody shall take for that of this one.
fn remove_trace(test: &AgentTestPlan, context: AgentContext<'_>) -> std::io::Result<()> {
    match std::fs::remove_file(trace_path(test, context)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn write_trace(
    test: &AgentTestPlan,
    context: AgentContext<'_>,
    trace: &AgentTrace,
) -> std::io::Result<()> {
    let path = trace_path(test, context);
    if let Some(folder) = path.parent() {
        private_file::create_dir_all(folder)?;
    }
    let mut written = serde_json::to_string_pretty(trace).map_err(std::io::Error::other)?;
    written.push('\n');
    write_private(&path, written)
}

/// The seed of one run: the first has that of the suite.
fn seed_of(seed: u64, run: usize) -> u64 {
    seed.wrapping_add(u64::try_from(run).unwrap_or_default())
}
