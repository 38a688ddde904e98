//! The runs that were made, put together without their secrets: all of them, or those until one broke.
//!
//! A run that breaks says nothing of the agent, and takes nothing from the others: every run that was begun
//! stands in the trace, and those before the first that broke are judged.

use std::collections::BTreeSet;

use mcprove_score::gate::ScoreError;
use mcprove_settings::message::{message, setting};
use mcprove_settings::secret::Redactor;
use mcprove_trace::{AgentRun, AgentTrace, Conversation, StopReason};
use serde_json::{Map, Value};

use super::{AgentContext, AgentRuns, empty_tape, error};
use crate::agent::cassette::{Cassette, CassetteInputs, RecordedRun, Take, Variables};
use crate::agent::toolbox::OfferedTool;
use crate::error::TestError;
use crate::plan::{AgentTestPlan, Driver};
use crate::run::masking::mask;

/// What stands in the trace of a run that the user stopped.
const INTERRUPTED: &str = "interrupted; what the agent did until then is not known";

/// One run, secrets and all.
pub(super) struct LiveRun {
    pub run: AgentRun,
    pub notes: Vec<String>,
    pub take: Take,
    pub tools: Vec<OfferedTool>,
}

/// What came of one run.
pub(super) enum Outcome {
    /// It came to its end, whichever.
    Done(Box<LiveRun>),
    /// It broke, which was not the agent's doing.
    Broken {
        run: Box<AgentRun>,
        error: ScoreError,
    },
    /// The user stopped it.
    Interrupted,
    /// It was not begun: another one broke, or the user had stopped.
    NotBegun,
}

/// Why a run broke, and what it had done, where it had begun.
pub(super) struct Breakage {
    pub error: TestError,
    run: Option<Box<AgentRun>>,
}

impl From<TestError> for Breakage {
    fn from(error: TestError) -> Self {
        Self { error, run: None }
    }
}

impl Breakage {
    /// Of a run that had done this.
    pub(super) fn of_run(run: AgentRun, error: TestError) -> Self {
        Self {
            error,
            run: Some(Box::new(run)),
        }
    }

    /// The run as far as it is known.
    pub(super) fn run(&mut self, test: &AgentTestPlan) -> Box<AgentRun> {
        let unknown = || Box::new(broken_run(test, &self.error.message));
        self.run.take().unwrap_or_else(unknown)
    }
}

/// A run of which nothing is known but why it ended.
fn broken_run(test: &AgentTestPlan, error: &str) -> AgentRun {
    let model = match &test.driver {
        Driver::Model(plan) => Some(plan.model.clone()),
        Driver::Command(plan) => plan.model.clone(),
    };
    AgentRun {
        model,
        prompt: test.prompts.first().cloned(),
        conversation: Some(Conversation {
            stop_reason: Some(StopReason::Error),
            error: Some(error.to_owned()),
            ..Conversation::default()
        }),
        ..AgentRun::default()
    }
}

/// Puts the runs of this test together. Only now every secret is known.
pub(super) fn gather(
    mut outcomes: Vec<Outcome>,
    (test, filled): (&AgentTestPlan, &AgentTestPlan),
    context: AgentContext<'_>,
    variables: &Variables,
    is_recorded: bool,
) -> AgentRuns {
    let redactor = Redactor::new(
        context
            .options
            .environment
            .secrets_beside(&names_of(&outcomes)),
    );
    let is_done = |outcome: &Outcome| matches!(outcome, Outcome::Done(_));
    let ended = outcomes.iter().filter(|it| is_done(it)).count();
    let judged = outcomes.iter().take_while(|it| is_done(it)).count();
    let is_whole = ended == outcomes.len();
    // One that nothing is known of only stands for its place.
    let is_known = |it: &Outcome| matches!(it, Outcome::Done(_) | Outcome::Broken { .. });
    let known = outcomes.iter().rposition(is_known);
    outcomes.truncate(known.map_or(0, |last| last + 1));
    let (mut runs, mut notes, mut errors) = (Vec::new(), Vec::new(), Vec::new());
    let (mut takes, mut tools) = (Vec::new(), None);
    for outcome in outcomes {
        let (run, told) = match outcome {
            Outcome::Done(live) => {
                let LiveRun { run, notes, .. } = *live;
                takes.push(live.take);
                tools.get_or_insert(live.tools);
                (run, notes)
            }
            Outcome::Broken { run, mut error } => {
                mask(&mut error.message, &redactor);
                mask(&mut error.hint, &redactor);
                errors.push(error);
                (*run, Vec::new())
            }
            Outcome::Interrupted => (broken_run(filled, INTERRUPTED), Vec::new()),
            Outcome::NotBegun => break,
        };
        runs.push(redactor.of_json(&run).unwrap_or_default());
        let told = told.iter().map(|note| redactor.text(note).into_owned());
        notes.push(told.collect::<Vec<String>>());
    }
    if !is_whole && errors.is_empty() {
        errors.push(TestError::new("interrupted", "run it again to finish").into());
    }
    let mut tape = None;
    if is_recorded && is_whole {
        let inputs = CassetteInputs::of(test, &tools.unwrap_or_default()).with_mocks(context.plan);
        let redacted = redactor.of_json(&inputs).ok_or_else(|| {
            let message = "what the test is cannot be redacted, so nothing is recorded";
            let hint = "give its variables values that are no words of the suite";
            TestError::new(message, hint).into()
        });
        let recorded = redacted.and_then(|inputs| {
            let runs = recorded(test, takes, &runs, &notes, &redactor)?;
            let mut tape = empty_tape(test, context.plan, inputs, context.options.seed);
            tape.variables = variables.redacted(&redactor);
            Ok(Cassette { runs, ..tape })
        });
        match recorded {
            Ok(recorded) => tape = Some(recorded),
            Err(unrecorded) => errors.push(unrecorded),
        }
    }
    AgentRuns {
        trace: AgentTrace::new(runs),
        notes,
        tape,
        errors,
        ended,
        judged,
    }
}

/// The names that servers and agents chose: of tools, and of what they take.
fn names_of(outcomes: &[Outcome]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for outcome in outcomes {
        let Outcome::Done(live) = outcome else {
            continue;
        };
        for tool in &live.tools {
            names.insert(format!("{}__{}", tool.server, tool.name));
            let properties = tool
                .input_schema
                .get("properties")
                .and_then(Value::as_object);
            names.extend(properties.into_iter().flat_map(Map::keys).cloned());
        }
        // Of a process, only what it called is known.
        if live.tools.is_empty() {
            names.extend(live.run.tool_calls.iter().map(|call| call.name.clone()));
        }
    }
    names
}

/// What a cassette has of these runs.
fn recorded(
    test: &AgentTestPlan,
    takes: Vec<Take>,
    runs: &[AgentRun],
    notes: &[Vec<String>],
    redactor: &Redactor,
) -> Result<Vec<RecordedRun>, ScoreError> {
    let is_process = matches!(test.driver, Driver::Command(_));
    let all =
        takes
            .into_iter()
            .zip(runs)
            .zip(notes)
            .enumerate()
            .map(|(index, ((take, run), notes))| {
                let Some(recorded) = take.redacted(redactor) else {
                    return Err(error(
                        index,
                        format!("run {index} is too large to be recorded"),
                        message!["ask for less, or run without ", setting("record")],
                    ));
                };
                Ok(RecordedRun {
                    trace: is_process.then(|| run.clone()),
                    notes: notes.clone(),
                    ..recorded
                })
            });
    all.collect()
}
