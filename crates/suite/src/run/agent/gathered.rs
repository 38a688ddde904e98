//! The runs that were made, put together without their secrets: all of them, or those until one broke.
//!
//! A run that breaks says nothing of the agent, and takes nothing from the others: every run that was begun
//! stands in the trace, and those before the first that broke are judged.

use super::{AgentRuns, AgentTest, error};
use crate::agent::cassette::{RecordedVerdict, Take, Variables};
use crate::prelude::*;
use crate::run::masking::{mask, mask_message};

/// What stands in the trace of a run that the user stopped.
const INTERRUPTED: &str = "interrupted; what the agent did until then is not known";

/// One run, secrets and all.
pub struct LiveRun {
    pub run: AgentRun,
    pub notes: Vec<String>,
    pub take: Take,
    pub tools: Vec<OfferedTool>,
}

/// The outcome of one run.
pub enum Outcome {
    /// It came to its end, whichever.
    Done(Box<LiveRun>),
    /// It broke, which was not the agent's doing.
    Broken(Breakage),
    /// The user stopped it.
    Interrupted,
    /// It was not begun: another one broke, or the user had stopped.
    NotBegun,
}

/// Why a run broke, and what it had done, where it had begun.
pub struct Breakage {
    error: Diagnostic,
    run: Option<Box<AgentRun>>,
}

impl From<Diagnostic> for Breakage {
    fn from(error: Diagnostic) -> Self {
        Self { error, run: None }
    }
}

impl Breakage {
    /// Of a run that had done this.
    pub fn of_run(run: AgentRun, error: Diagnostic) -> Self {
        Self {
            error,
            run: Some(Box::new(run)),
        }
    }

    /// The run as far as it is known, and the error.
    pub fn settle(self, task: &AgentTestPlan, index: usize) -> (AgentRun, ScoreError) {
        let Diagnostic { message, hint, .. } = self.error;
        let run = match self.run {
            Some(run) => *run,
            None => broken_run(task, &message.rendered()),
        };
        (run, error(index, message, hint))
    }
}

/// A run of which nothing is known but why it ended.
fn broken_run(task: &AgentTestPlan, error: &str) -> AgentRun {
    let model = match &task.driver {
        Driver::Model(plan) => Some(&plan.model),
        Driver::Command(plan) => plan.model.as_ref(),
    };
    AgentRun {
        model: model.cloned(),
        prompt: task.prompts.first().cloned(),
        conversation: Some(Conversation {
            stop_reason: Some(StopReason::Error),
            error: Some(error.to_owned()),
            ..Conversation::default()
        }),
        ..AgentRun::default()
    }
}

/// Puts the runs of this test together. Only now every secret is known.
pub fn gather(
    test: AgentTest<'_>,
    filled: &AgentTestPlan,
    mut outcomes: Vec<Outcome>,
    variables: &Variables,
) -> AgentRuns {
    let AgentTest {
        task,
        suite,
        options,
    } = test;
    let redactor = Redactor::new(options.environment.secrets_beside(&names_of(&outcomes)));
    let is_done = |outcome: &Outcome| matches!(outcome, Outcome::Done(_));
    let ended = outcomes.iter().filter(|it| is_done(it)).count();
    let judged = outcomes.iter().take_while(|it| is_done(it)).count();
    let is_whole = ended == outcomes.len();
    // One that nothing is known of only stands for its place.
    let is_known = |it: &Outcome| matches!(it, Outcome::Done(_) | Outcome::Broken(_));
    let known = outcomes.iter().rposition(is_known);
    outcomes.truncate(known.map_or(0, |last| last + 1));
    let (mut runs, mut notes, mut errors) = (Vec::new(), Vec::new(), Vec::new());
    let (mut takes, mut tools) = (Vec::new(), None);
    for (index, outcome) in outcomes.into_iter().enumerate() {
        let mut told = Vec::new();
        let run = match outcome {
            Outcome::Done(live) => {
                told = live.notes;
                takes.push(live.take);
                tools.get_or_insert(live.tools);
                live.run
            }
            Outcome::Broken(broken) => {
                let (run, mut error) = broken.settle(filled, index);
                mask_message(&mut error.message, &redactor);
                mask_message(&mut error.hint, &redactor);
                errors.push(error);
                run
            }
            Outcome::Interrupted => broken_run(filled, INTERRUPTED),
            Outcome::NotBegun => break,
        };
        runs.push(redactor.of_json(&run).unwrap_or_default());
        for note in &mut told {
            mask(note, &redactor);
        }
        notes.push(told);
    }
    if !is_whole && errors.is_empty() {
        errors.push(Diagnostic::new("interrupted", "run it again to finish").into());
    }
    let record = || {
        let inputs = CassetteInputs::of(task, &tools.unwrap_or_default()).with_mocks(suite);
        let fits = redactor.of_json(&inputs).ok_or_else(|| {
            let message = "the test itself cannot be redacted, so nothing is recorded";
            let hint = "give its variables values that do not occur in the suite otherwise";
            ScoreError::from(Diagnostic::new(message, hint))
        })?;
        let is_process = matches!(task.driver, Driver::Command(_));
        let recorded = takes.into_iter().zip(&runs).zip(&notes).enumerate();
        let recorded = recorded.map(|(index, ((take, run), notes))| {
            let recorded = take.redacted(&redactor).ok_or_else(|| {
                let message = "it is too large to be recorded";
                let hint = sentence!("ask for less, or run without {}", setting("record"));
                error(index, message, hint)
            })?;
            Ok(RecordedRun {
                trace: is_process.then(|| run.clone()),
                notes: notes.clone(),
                ..recorded
            })
        });
        Ok(Cassette {
            schema: CASSETTE_FORMAT.to_owned(),
            agent: task.head.name.clone(),
            suite: cassette::suite_name(suite),
            fits,
            seed: options.seed,
            variables: variables.redacted(&redactor),
            verdict: RecordedVerdict {
                outcome: RecordedOutcome::Error,
                failures: Vec::new(),
            },
            runs: recorded.collect::<Result<_, ScoreError>>()?,
        })
    };
    let mut tape = None;
    if options.cassettes == CassetteMode::Record && is_whole {
        match record() {
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
