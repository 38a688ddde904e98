//! The runs of an agent, scored: every run counts, and the worst decides.

use mcprove_score::gate::{GateFailure, Gates, ScoreError, score};
use mcprove_score::trace::{AgentRun, AgentTrace, StopReason};
use serde_json::Value;

use super::super::report::TestReport;
use crate::suite::plan::{AgentTestPlan, Budget};

/// The target of how a run ended.
const STOP_REASON: &str = "conversation.stop_reason";
/// Blocks that look at all runs together, by the begin of their targets.
const OVER_ALL_RUNS: [&str; 2] = ["reliability.", "stability."];

/// Puts into the report what came of these runs, and into each run whether it passed.
pub(super) fn judge(
    mut report: TestReport,
    test: &AgentTestPlan,
    trace: &mut AgentTrace,
    notes: &[Vec<String>],
) -> TestReport {
    let alone = of_one_run(&test.gates);
    let must_complete = !is_end_expected(&test.gates);
    for run in &mut trace.runs {
        run.passed = passed(run, &alone, must_complete);
    }
    let count = trace.runs.len();
    let scored = score(trace, &test.gates);
    report.targets = scored.targets;
    report.runs = scored.runs;
    report.errors = scored.errors;
    report.failures = scored.failures;
    let mut unjudged = Vec::new();
    if must_complete {
        unjudged = take_unjudged(&mut report.errors, trace);
        let runs = trace.runs.iter().enumerate();
        let broken = runs.filter_map(|(index, run)| not_completed(index, run, &test.budget));
        report.failures.extend(broken);
    }
    for failure in &mut report.failures {
        tell_run(failure, count);
    }
    report.notes = all_notes(notes);
    report.notes.extend(scored.notes);
    report.notes.extend(unjudged);
    let durations = trace
        .runs
        .iter()
        .filter_map(|run| run.conversation.as_ref()?.duration_ms);
    report.duration_ms = durations.sum();
    report.judged()
}

/// The gates without those that are about all runs together.
fn of_one_run(gates: &Gates) -> Gates {
    let mut gates = gates.clone();
    gates.stability = None;
    gates.reliability = None;
    let is_over_all = |target: &str| OVER_ALL_RUNS.iter().any(|begin| target.starts_with(begin));
    gates
        .expect
        .retain(|expectation| !is_over_all(&expectation.target));
    gates
}

/// Whether the gates say how runs must end, so that we do not.
fn is_end_expected(gates: &Gates) -> bool {
    let mut expected = gates.expect.iter();
    expected.any(|expectation| expectation.target.starts_with(STOP_REASON))
}

/// Whether a run did its task: it ended by itself, and every gate of one run holds. Unknown where that cannot be judged.
fn passed(run: &AgentRun, gates: &Gates, must_complete: bool) -> Option<bool> {
    if must_complete && run.stop_reason() != Some(StopReason::Completed) {
        return Some(false);
    }
    let scored = score(&AgentTrace::new(vec![run.clone()]), gates);
    scored.errors.is_empty().then_some(scored.passed)
}

/// Takes out what could not be judged because a run did not come to its end: that run failed, whatever else is
/// unknown of it. What was not judged is told all the same.
fn take_unjudged(errors: &mut Vec<ScoreError>, trace: &AgentTrace) -> Vec<String> {
    let is_cut = |error: &mut ScoreError| {
        let run = error.run.and_then(|run| trace.runs.get(run));
        let stop = run.and_then(AgentRun::stop_reason);
        stop.is_some_and(|stop| stop != StopReason::Completed)
    };
    let cut = errors.extract_if(.., is_cut);
    let note = |error: ScoreError| {
        let run = error.run.unwrap_or_default();
        let target = error.target.unwrap_or_default();
        format!(
            "run {run} did not come to its end, so {target} was not judged: {}",
            error.message
        )
    };
    cut.map(note).collect()
}

/// That a run did not end by itself, and what to try.
fn not_completed(index: usize, run: &AgentRun, budget: &Budget) -> Option<GateFailure> {
    let reason = run.stop_reason();
    let turns = budget.turns;
    let what = match reason {
        Some(StopReason::Completed) => return None,
        None => "nobody knows how the run ended; look at its trace".to_owned(),
        Some(StopReason::TurnBudget) => format!(
            "the agent was not done after {turns} answers; look for a loop in its trace, or raise max_turns"
        ),
        Some(StopReason::TokenBudget) => {
            "the agent used up its tokens; raise max_tokens or budget.tokens, or ask for less".to_owned()
        }
        Some(StopReason::ToolCallBudget) => {
            "the agent used up its calls of tools; look for a loop in its trace, or raise budget.tool_calls"
                .to_owned()
        }
        Some(StopReason::TimeBudget) => {
            "the agent had no time left; look for what took it in its trace, or raise budget.time_ms"
                .to_owned()
        }
        Some(StopReason::Error) => {
            let error = run.conversation.as_ref().and_then(|it| it.error.as_deref());
            match error {
                Some(error) => format!("the agent broke off: {error}"),
                None => "the agent broke off; the notes tell how".to_owned(),
            }
        }
    };
    Some(GateFailure {
        target: STOP_REASON.to_owned(),
        place: None,
        expected: Value::from("completed"),
        actual: serde_json::to_value(reason).unwrap_or_default(),
        message: what,
        run: Some(index),
    })
}

/// Names the run in the message, where there are several and it does not yet.
fn tell_run(failure: &mut GateFailure, runs: usize) {
    if let Some(run) = failure.run.filter(|_| runs > 1) {
        let name = format!("run {run}");
        if !failure.message.contains(&name) {
            failure.message = format!("{name}: {}", failure.message);
        }
    }
}

/// The notes of all runs: what every run says is said once.
fn all_notes(notes: &[Vec<String>]) -> Vec<String> {
    let mut all = Vec::new();
    for (index, own) in notes.iter().enumerate() {
        for note in own {
            let is_common = notes.iter().all(|other| other.contains(note));
            let told = if is_common {
                note.clone()
            } else {
                format!("run {index}: {note}")
            };
            if !all.contains(&told) {
                all.push(told);
            }
        }
    }
    all
}
