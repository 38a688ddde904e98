//! The runs of an agent, scored: every run counts, and the worst decides.

use mcprove_score::agent::Metric;
use mcprove_score::agent::stability::Stability;
use mcprove_score::gate::{passes, score_gated};

use super::{AgentRuns, error};
use crate::prelude::*;

/// The target of how a run ended.
const STOP_REASON: &str = "conversation.stop_reason";
/// The first target of the block about how steady runs are.
const STABILITY: &str = "stability.score";

/// Judges these runs on a thread of its own: what agents say may be long, and meanwhile the clocks of others go on.
pub async fn judge_aside(
    report: TestReport,
    test: &AgentTestPlan,
    mut made: AgentRuns,
) -> (TestReport, AgentRuns) {
    let test = test.clone();
    let judging = tokio::task::spawn_blocking(move || {
        let report = judge(report, &test, &mut made);
        (report, made)
    });
    match judging.await {
        Ok(judged) => judged,
        // It is not cancelled, so it panicked, which is not for us to hide.
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

/// Puts into the report the outcome of these runs, and into each that is judged whether it passed.
fn judge(mut report: TestReport, test: &AgentTestPlan, made: &mut AgentRuns) -> TestReport {
    let rest = made.trace.runs.split_off(made.judged);
    let runs = test.runs as usize;
    let is_whole = made.judged >= runs || made.errors.is_empty();
    if is_whole {
        judge_runs(&mut report, test, &test.gates, made);
    } else {
        if made.judged > 0 {
            // What is about all runs together says nothing of some.
            judge_runs(&mut report, test, &test.gates.of_one_run(), made);
        }
        report.notes.extend(how_many(made, runs).map(Message::from));
    }
    made.trace.runs.extend(rest);
    report.errors.splice(0..0, made.errors.drain(..));
    report.judged()
}

/// How many of several runs came to their end, and what was judged of them.
fn how_many(made: &AgentRuns, runs: usize) -> Option<String> {
    let ended = made.ended;
    let judged = match made.judged {
        _ if runs < 2 => return None,
        0 if ended == 0 => "so that nothing was judged".to_owned(),
        0 => "but run 0 did not, so that nothing was judged".to_owned(),
        1 => "and run 0 was judged, by itself".to_owned(),
        judged => format!("and runs 0 to {} were judged, each by itself", judged - 1),
    };
    Some(format!("{ended} of {runs} runs came to an end, {judged}"))
}

fn judge_runs(report: &mut TestReport, test: &AgentTestPlan, gates: &Gates, made: &mut AgentRuns) {
    let trace = &mut made.trace;
    let alone = gates.of_one_run();
    // Unless the gates say how runs must end.
    let must_complete = !(gates.expect.iter()).any(|it| it.target.starts_with(STOP_REASON));
    for run in &mut trace.runs {
        let is_complete = run.stop_reason() == Some(StopReason::Completed);
        run.passed = if must_complete && !is_complete {
            Some(false)
        } else {
            // Unknown where that cannot be judged.
            passes(&AgentTrace::new(vec![run.clone()]), &alone)
        };
        if tokens_unknown(run, &test.budget, must_complete).is_some() {
            run.passed = None;
        }
    }
    let scored = score_gated(trace, gates);
    report.targets = scored.targets;
    report.runs = scored.runs;
    report.errors = scored.errors;
    report
        .errors
        .extend(unknown(trace, gates, test, must_complete));
    report.failures = scored.failures;
    let notes = made.notes.get(..made.judged).unwrap_or_default();
    report.notes = all_notes(notes);
    report.notes.extend(scored.notes);
    if must_complete {
        report
            .notes
            .extend(take_unjudged(&mut report.errors, trace));
        let broken = trace
            .runs
            .iter()
            .enumerate()
            .filter_map(|(index, run)| not_completed(index, run, &test.budget));
        report.failures.extend(broken);
    }
    let durations = trace
        .runs
        .iter()
        .filter_map(|run| run.conversation.as_ref()?.duration_ms);
    report.duration_ms = durations.sum();
}

/// What cannot be judged because nobody told it, though the test depends on it.
fn unknown(
    trace: &AgentTrace,
    gates: &Gates,
    test: &AgentTestPlan,
    must_complete: bool,
) -> Vec<ScoreError> {
    let runs = trace.runs.iter().enumerate();
    let tokens = runs.clone().filter_map(|(index, run)| {
        let message = tokens_unknown(run, &test.budget, must_complete)?;
        let hint = match &test.driver {
            Driver::Model(_) => {
                "this provider does not count tokens in its answers: leave budget.tokens out, and limit max_tokens, max_turns or budget.tool_calls instead"
            }
            Driver::Command(_) => {
                "have the agent print one JSON object with final_response and tokens, or leave budget.tokens out"
            }
        };
        Some(error(index, message, hint).inconclusive())
    });
    let silent =
        runs.filter(|(_, run)| gates.get(Stability::ABOUT.name).is_some() && run.turns().is_none());
    let silent = silent.map(|(index, _)| ScoreError {
        target: Some(STABILITY.to_owned()),
        ..error(
            index,
            "it has no turns, without which nothing is known of its stability",
            "have the agent print one JSON object with final_response and turns, or leave the stability block out",
        )
        .inconclusive()
    });
    tokens.chain(silent).collect()
}

/// That a run may have gone beyond its budget of tokens, or not.
fn tokens_unknown(run: &AgentRun, budget: &Budget, must_complete: bool) -> Option<String> {
    let most = budget.tokens?;
    let is_decided = match run.stop_reason() {
        Some(StopReason::TokenBudget) => true,
        // It failed, however many they were.
        stop => must_complete && stop != Some(StopReason::Completed),
    };
    let tokens = run.conversation.as_ref().and_then(|it| it.tokens);
    if is_decided || tokens.and_then(|tokens| tokens.sum()).is_some() {
        return None;
    }
    Some(format!(
        "budget.tokens is {most}, and the number of tokens is unknown"
    ))
}

/// Takes out what could not be judged because a run did not come to its end: that run failed, whatever else is
/// unknown of it. What was not judged is told all the same.
fn take_unjudged(errors: &mut Vec<ScoreError>, trace: &AgentTrace) -> Vec<Message> {
    let is_cut = |error: &mut ScoreError| {
        let stop = error
            .run
            .and_then(|run| trace.runs.get(run))
            .and_then(AgentRun::stop_reason);
        stop.is_some_and(|stop| stop != StopReason::Completed)
    };
    let cut = errors.extract_if(.., is_cut);
    let note = |error: ScoreError| {
        let run = error.run.unwrap_or_default();
        let target = error.target.unwrap_or_default();
        sentence!(
            "run {run} did not come to its end, so {target} was not judged: {}",
            error.message
        )
    };
    cut.map(note).collect()
}

/// That a run did not end by itself, and what to try.
fn not_completed(index: usize, run: &AgentRun, budget: &Budget) -> Option<GateFailure> {
    let reason = run.stop_reason();
    let loops = "look for a loop in its trace";
    let what = match reason {
        Some(StopReason::Completed) => return None,
        None => Diagnostic::new("how the run ended is unknown", "look at its trace"),
        Some(StopReason::TurnBudget) => Diagnostic::new(
            sentence!(
                "the agent was not done after {}",
                phrase::count(u64::from(budget.turns), "answer")
            ),
            sentence!("{loops}, or raise `max_turns`"),
        ),
        Some(StopReason::TokenBudget) => Diagnostic::new(
            "the agent used up its tokens",
            sentence!("raise `max_tokens` or `budget.tokens`, or ask for less"),
        ),
        Some(StopReason::ToolCallBudget) => Diagnostic::new(
            "the agent used up its tool calls",
            sentence!("{loops}, or raise `budget.tool_calls`"),
        ),
        Some(StopReason::TimeBudget) => Diagnostic::new(
            "the agent had no time left",
            sentence!("look in its trace for what took the time, or raise `budget.time_ms`"),
        ),
        Some(StopReason::Error) => {
            let error = run.conversation.as_ref().and_then(|it| it.error.as_deref());
            match error {
                Some(error) => Diagnostic::new(
                    sentence!("the agent broke off: {error}"),
                    "look at its trace",
                ),
                None => Diagnostic::new("the agent broke off", "see the notes"),
            }
        }
    };
    let actual = serde_json::to_value(reason).unwrap_or_default();
    Some(GateFailure::of_run(
        index,
        STOP_REASON,
        "completed",
        actual,
        what,
    ))
}

/// The notes of all runs: what every run says is said once.
fn all_notes(notes: &[Vec<String>]) -> Vec<Message> {
    let mut all = Vec::new();
    for (index, own) in notes.iter().enumerate() {
        for note in own {
            let is_common = notes.iter().all(|other| other.contains(note));
            let told = if is_common {
                note.clone().into()
            } else {
                sentence!("run {index}: {note}")
            };
            if !all.contains(&told) {
                all.push(told);
            }
        }
    }
    all
}
