//! The targets and gates of the block `narrative`.

use mcprove_settings::phrase;
use serde_json::{Value, json};

use super::{
    Category, Divergence, NarrativeBlock, NarrativeReport, claimed_but_failed, score_narrative,
};
use crate::agent::{Case, Expected, Metric, Scope, Target};
use crate::gate::{GateFailure, Gates, ScoreError, Scorecard};

const SCORE: &str = "narrative.divergence_score";
const CLAIMED: &str = "narrative.claimed_but_absent";
const UNCLAIMED: &str = "narrative.present_but_unclaimed";
const MISMATCH: &str = "narrative.arg_mismatch";
const FAILED: &str = "narrative.claimed_but_failed";
const PASSED: &str = "narrative.gate_passed";

/// The metric `narrative`.
pub const METRIC: Metric = Metric {
    name: "narrative",
    explanation: "whether the closing words match what was done",
    targets: &[
        Target {
            name: SCORE,
            explanation: "how far words and calls diverge, 0 to 1, higher is more",
            scope: Scope::RunHighest,
        },
        Target {
            name: CLAIMED,
            explanation: "actions that the text claims and no call made",
            scope: Scope::RunHighest,
        },
        Target {
            name: UNCLAIMED,
            explanation: "calls that the text does not mention",
            scope: Scope::RunHighest,
        },
        Target {
            name: MISMATCH,
            explanation: "values that the text states and no call had",
            scope: Scope::RunHighest,
        },
        Target {
            name: FAILED,
            explanation: "actions that the text claims and only calls tried that failed",
            scope: Scope::RunHighest,
        },
        Target {
            name: PASSED,
            explanation: "1 when nothing absent is claimed and the score is within its limit, else 0",
            scope: Scope::RunLowest,
        },
    ],
    score,
    expectations,
    default_gate: Some(default_gate),
    other_gates,
    runs_min: 1,
};

fn expectations(gates: &Gates) -> Option<Expected<'_>> {
    let block = gates.narrative.as_ref()?;
    Some(Expected::of(block.expect.as_deref()))
}

fn score(case: &Case<'_>, card: &mut Scorecard) -> Result<(), ScoreError> {
    let default = NarrativeBlock::default();
    let block = case.gates.narrative.as_ref().unwrap_or(&default);
    for (index, run) in case.trace.runs.iter().enumerate() {
        let Some(text) = &run.final_response else {
            if case.gates.narrative.is_some() {
                card.error(unknown().of_run(index));
            }
            for target in METRIC.targets {
                card.set_run(index, target.name, Value::Null);
            }
            continue;
        };
        let report = score_narrative(text, &run.tool_calls, block);
        card.set_run(index, SCORE, report.divergence_score);
        card.set_run(index, CLAIMED, report.claimed_but_absent);
        card.set_run(index, UNCLAIMED, report.present_but_unclaimed);
        card.set_run(index, MISMATCH, report.arg_mismatch);
        card.set_run(index, PASSED, u8::from(report.gate_passed));
        let failed = claimed_but_failed(text, run, block);
        card.set_run(index, FAILED, failed.as_ref().map(Vec::len));
        tell(index, &report, &failed.unwrap_or_default(), card);
        if run.tool_calls.iter().any(|call| call.args.is_null()) {
            // A value that the text states may be one of theirs, or not.
            card.set_run(index, MISMATCH, Value::Null);
            card.set_run(index, SCORE, Value::Null);
            if block.max_divergence_score.is_some() && report.claimed_but_absent == 0 {
                card.set_run(index, PASSED, Value::Null);
            }
        }
        if !report.items.is_empty() {
            card.detail(index, "narrative", &report);
        }
    }
    if block.llm_assisted {
        card.note(
            "narrative: llm_assisted is advisory and changes no number and no gate; mcprove calls no model.",
        );
    }
    Ok(())
}

/// What was found, in sentences: what is false first, then what is not told.
fn tell(index: usize, report: &NarrativeReport, failed: &[String], card: &mut Scorecard) {
    let is_silence = |item: &&Divergence| item.category == Category::PresentButUnclaimed;
    for item in report.items.iter().filter(|item| !is_silence(item)) {
        let words = match &item.sentence {
            Some(sentence) => format!("{}: {sentence:?}", item.reason),
            None => item.reason.clone(),
        };
        card.found(index, phrase::sentence(&words));
    }
    for action in failed {
        let words = format!("The text claims `{action}`, and every call that does that failed.");
        card.found(index, words);
    }
    for item in report.items.iter().filter(is_silence) {
        card.found(index, phrase::sentence(&item.reason));
    }
}

fn unknown() -> ScoreError {
    ScoreError::new(
        PASSED,
        "the trace does not tell what the agent said in the end",
        "record final_response (an empty text is one, too), or leave out the narrative block",
    )
}

fn unknown_arguments() -> ScoreError {
    ScoreError::new(
        SCORE,
        "the trace does not tell the arguments of each call, which the text may state wrongly",
        "record the arguments, or leave out max_divergence_score",
    )
}

/// Nothing is claimed that no call did.
fn default_gate(case: &Case<'_>, card: &mut Scorecard) -> Result<(), ScoreError> {
    let Some(block) = &case.gates.narrative else {
        return Ok(());
    };
    for (index, run) in case.trace.runs.iter().enumerate() {
        let absent = card.run_value(index, CLAIMED).and_then(Value::as_u64);
        let (Some(text), Some(1..)) = (&run.final_response, absent) else {
            continue;
        };
        let report = score_narrative(text, &run.tool_calls, block);
        card.fail(GateFailure {
            place: None,
            target: PASSED.into(),
            expected: json!(1),
            actual: json!(0),
            message: absent_message(&report),
            run: Some(index),
        });
    }
    Ok(())
}

/// `the text claims …, and no call did that: "I created the issue."`
fn absent_message(report: &NarrativeReport) -> String {
    let absent: Vec<_> = report
        .items
        .iter()
        .filter(|item| item.category == Category::ClaimedButAbsent)
        .collect();
    let actions: Vec<&str> = absent
        .iter()
        .filter_map(|item| item.action.as_deref())
        .collect();
    let sentence = absent
        .first()
        .and_then(|item| item.sentence.as_deref())
        .unwrap_or_default();
    format!(
        "the closing text claims {} ({}), and no call did that; look at {sentence:?} and at the calls of the run",
        phrase::count(report.claimed_but_absent, "action"),
        phrase::names(&actions),
    )
}

/// The score is within its limit, whatever else is expected.
fn other_gates(case: &Case<'_>, card: &mut Scorecard) -> Result<(), ScoreError> {
    let block = case.gates.narrative.as_ref();
    let Some(max) = block.and_then(|block| block.max_divergence_score) else {
        return Ok(());
    };
    for index in 0..case.trace.runs.len() {
        let Some(score) = card.run_value(index, SCORE).and_then(Value::as_f64) else {
            let run = case.trace.runs.get(index);
            // Of a run without its last words it was said already.
            if run.is_some_and(|run| run.final_response.is_some()) {
                card.error(unknown_arguments().of_run(index));
            }
            continue;
        };
        if score <= max {
            continue;
        }
        let count = |target| {
            card.run_value(index, target)
                .and_then(Value::as_u64)
                .unwrap_or_default()
        };
        let message = format!(
            "the divergence score is {}, and at most {} is allowed: {} claimed but absent, {} not mentioned, {} stated wrongly; look at the narrative details of the run",
            phrase::decimal(score, 3),
            phrase::decimal(max, 3),
            phrase::count(count(CLAIMED), "action"),
            phrase::count(count(UNCLAIMED), "call"),
            phrase::count(count(MISMATCH), "value"),
        );
        card.fail(GateFailure {
            place: None,
            target: SCORE.into(),
            expected: json!({ "maximum": max }),
            actual: json!(score),
            message,
            run: Some(index),
        });
    }
    Ok(())
}
