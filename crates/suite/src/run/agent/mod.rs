//! A task for an agent, carried out and judged: all its runs, live or from a recording.
//!
//! `live` makes the runs, with a model or a process, and `gathered` puts them together; `replay` makes them from
//! a cassette; `judge` scores them, the same either way. What is scored and told has no secrets, so that a replay tells the same.

mod gathered;
mod judge;
mod live;

#[cfg(test)]
mod tests;

use std::path::Component;

use super::masking::mask_message;
use crate::agent::cassette::RecordedVerdict;
use crate::prelude::*;

/// Where the traces of agents are written, in the folder of results.
const TRACES: &str = "agents";

/// A test of an agent, and what it is run with.
#[derive(Clone, Copy)]
struct AgentTest<'a> {
    task: &'a AgentTestPlan,
    suite: &'a SuitePlan,
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

/// What went wrong with one of the runs.
fn error(run: usize, message: impl Into<Message>, hint: impl Into<Message>) -> ScoreError {
    ScoreError {
        run: Some(run),
        ..Diagnostic::new(message, hint).into()
    }
}

/// Runs one test. Whatever goes wrong is in the report. Servers are not shared: an agent may leave them in any state.
pub async fn run(task: &AgentTestPlan, suite: &SuitePlan, options: &SuiteOptions) -> TestReport {
    let test = AgentTest {
        task: &with_faults_of_mocks(task, suite),
        suite,
        options,
    };
    let mut report = TestReport::new(TestKind::Agent, &task.head, suite);
    let path = cassette::path(task, suite);
    // A replay has nothing of the environment, and must not depend on it.
    let is_replay = options.cassettes == CassetteMode::Replay && path.exists();
    let leftover = test.remove_trace().err();
    report = match test.make(&path).await {
        // All that is judged is without secrets already.
        Ok(made) => {
            let (report, made) = judge::judge_aside(report, test.task, made).await;
            test.write_artifacts(report, made, &path)
        }
        // A recording that was to be made again stays as it was.
        Err(error) => {
            report.errors.push(error.into());
            if options.cassettes == CassetteMode::Record {
                report.notes.push(nothing_recorded(&path).into());
            }
            if !is_replay {
                redact(&mut report, options);
            }
            report.judged()
        }
    };
    if let Some(error) = leftover.filter(|_| report.details.is_none()) {
        let note = format!("the trace of an earlier run cannot be removed: {error}");
        report.notes.push(note.into());
    }
    report
}

/// The test with the faults of its mocks among those that its calls meet, if it is for a model.
///
/// They act in virtual time, like those that a test injects: a mock that hangs would have our own loop wait for nothing,
/// and would leave no mark for the scoring of recovery. So the mock is started without its faults, and the test meets
/// them, aimed at that mock, after its own. A process of the user meets them live: its clock is not ours.
fn with_faults_of_mocks(task: &AgentTestPlan, suite: &SuitePlan) -> AgentTestPlan {
    let mut task = task.clone();
    for name in &task.servers {
        if let (Driver::Model(_), Some(server)) = (&task.driver, suite.servers.get(name))
            && let Reach::Mock { faults, .. } = &server.reach
        {
            let faults = faults.iter().cloned().map(|mut fault| {
                fault.target.server = Some(name.clone());
                fault
            });
            task.inject.extend(faults);
        }
    }
    task
}

/// Takes out what errors and notes may quote: addresses, and what servers wrote to stderr.
fn redact(report: &mut TestReport, options: &SuiteOptions) {
    let redactor = options.environment.redactor();
    let texts = report
        .errors
        .iter_mut()
        .flat_map(|error| [&mut error.message, &mut error.hint]);
    for text in texts.chain(&mut report.notes) {
        mask_message(text, &redactor);
    }
}

fn nothing_recorded(path: &Path) -> String {
    let name = cassette::shown(path);
    if path.exists() {
        format!("nothing was recorded: {name} is as it was before")
    } else {
        format!("nothing was recorded: {name} was not written")
    }
}

impl AgentTest<'_> {
    /// Makes the runs, in the way that the options say.
    async fn make(self, path: &Path) -> DiagnosticResult<AgentRuns> {
        let Self { task, suite, .. } = self;
        match self.options.cassettes {
            CassetteMode::Replay => {
                if let Some(cassette) = cassette::read(path)? {
                    cassette::same_file(task, suite)?;
                    return live::replay(task, suite, &cassette).await;
                }
                cassette::none_of_another_model(task, suite)?;
            }
            CassetteMode::Record => {
                cassette::same_file(task, suite)?;
                // What cannot be read is nobody's.
                if let Ok(Some(before)) = cassette::read(path)
                    && before.suite != cassette::suite_name(suite)
                {
                    let (file, suite) = (cassette::shown(path), before.suite);
                    return Err(Diagnostic::new(
                        format!(
                            "{file}: the cassette is of the suite {suite:?}, and would be overwritten"
                        ),
                        "give one of the agents another name; if the suite was renamed, remove the cassette first",
                    ));
                }
            }
            CassetteMode::Live => {}
        }
        live::make(self).await
    }

    /// The report of these runs, which are judged. Their trace is written, and their recording.
    fn write_artifacts(self, mut report: TestReport, made: AgentRuns, path: &Path) -> TestReport {
        if !made.trace.runs.is_empty() {
            match self.write_trace(&made.trace) {
                Ok(()) => report.details = Some(trace_name(self.task, self.suite)),
                Err(error) => report.lose(Loss::of_file(&self.trace_path(), &error)),
            }
        }
        match made.tape {
            // Whoever stops wants nothing written any more.
            Some(tape) if self.options.stop.is_running() => return record(report, tape, path),
            _ if self.options.cassettes == CassetteMode::Record => {
                report.notes.push(nothing_recorded(path).into());
            }
            _ => {}
        }
        report
    }

    fn trace_path(self) -> PathBuf {
        let name = trace_name(self.task, self.suite);
        self.options.output_dir.join(name)
    }

    /// Removes the trace of an earlier run, which nobody shall take for that of this one.
    fn remove_trace(self) -> io::Result<()> {
        match std::fs::remove_file(self.trace_path()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn write_trace(self, trace: &AgentTrace) -> io::Result<()> {
        let path = self.trace_path();
        if let Some(folder) = path.parent() {
            private_file::create_dir_all(folder)?;
        }
        write_private(&path, serde_json::to_string_pretty(trace)? + "\n")
    }
}

/// Writes the cassette, with its outcomes runs.
fn record(mut report: TestReport, mut tape: Cassette, path: &Path) -> TestReport {
    let failures = report.failures.iter();
    tape.verdict = RecordedVerdict {
        outcome: match report.outcome {
            TestOutcome::Passed | TestOutcome::Skipped => RecordedOutcome::Passed,
            TestOutcome::Failed => RecordedOutcome::Failed,
            TestOutcome::Error => RecordedOutcome::Error,
        },
        failures: failures.map(|failure| failure.target.clone()).collect(),
    };
    match cassette::write(path, &tape) {
        Ok(()) => report,
        Err(failure) => {
            report.errors.push(failure.into());
            report.judged()
        }
    }
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

/// The seed of one run: the first has that of the suite.
fn seed_of(seed: u64, run: usize) -> u64 {
    seed.wrapping_add(count(run))
}
