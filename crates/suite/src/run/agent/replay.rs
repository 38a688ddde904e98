//! The runs of a test from its cassette: no network, no server, no process.

use super::gathered::Breakage;
use super::{AgentRuns, seed_of, suite_name};
use crate::agent::cassette::{Cassette, RecordedRun, Replayer, drift, file_name, recorded};
use crate::agent::run::{fill_texts, run_once};
use crate::prelude::*;

/// Makes the runs of a test anew, each from the one that was recorded.
pub(super) async fn replay(
    test: &AgentTestPlan,
    plan: &SuitePlan,
    cassette: &Cassette,
) -> Result<AgentRuns, TestError> {
    let mut changes = cassette.fits.changes(test, plan);
    let suite = suite_name(plan);
    if cassette.suite != suite {
        changes.insert(
            0,
            format!("suite: recorded {:?}, now {suite:?}", cassette.suite),
        );
    }
    if !changes.is_empty() {
        return Err(drift(&file_name(test), &changes));
    }
    let environment = recorded(&cassette.variables);
    let filled = fill_texts(test, &environment)
        .map_err(|error| TestError::new(error.to_string(), record_again()))?;
    // What is left in a cassette is no secret.
    let redactor = Redactor::default();
    let tools = cassette.fits.tools();
    let (mut runs, mut errors) = (Vec::with_capacity(cassette.runs.len()), Vec::new());
    let mut ended = 0;
    for (index, recorded) in cassette.runs.iter().enumerate() {
        let seed = seed_of(cassette.seed, index);
        let run = replay_run(&filled, recorded, &tools, &redactor, seed).await;
        match run {
            Ok(run) => runs.push(run),
            Err(broken) => {
                let (run, error) = broken.settle(&filled, index, true);
                runs.push(redactor.of_json(&run).unwrap_or_default());
                errors.push(error);
                break;
            }
        }
        ended += 1;
    }
    let notes = cassette.runs.iter().map(|run| run.notes.clone());
    Ok(AgentRuns {
        notes: notes.take(ended).collect(),
        trace: AgentTrace::new(runs),
        tape: None,
        errors,
        ended,
        judged: ended,
    })
}

async fn replay_run(
    test: &AgentTestPlan,
    recorded: &RecordedRun,
    tools: &[OfferedTool],
    redactor: &Redactor,
    seed: u64,
) -> Result<AgentRun, Breakage> {
    let model = match (&test.driver, &recorded.trace) {
        (Driver::Command(_), Some(trace)) => {
            return Ok(redactor.of_json(trace).unwrap_or_default());
        }
        (Driver::Model(model), _) => model,
        (Driver::Command(_), None) => {
            let message = "the cassette has no trace of it";
            return Err(TestError::new(message, record_again()).into());
        }
    };
    let replayer = Replayer::new(recorded, tools, redactor.clone());
    let finished = run_once(test, model, &replayer, &replayer, seed).await;
    match finished.failure {
        None => Ok(redactor.of_json(&finished.run).unwrap_or_default()),
        Some(failure) => Err(Breakage::of_run(finished.run, failure)),
    }
}

fn record_again() -> Message {
    message!["record it again with ", setting("record")]
}
