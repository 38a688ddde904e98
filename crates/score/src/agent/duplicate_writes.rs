//! Writes that happened twice, or may have: a retried call that is not safe to retry.
//!
//! A call writes when the name of its tool [says so](super::words::seems_to_write) or the settings do.
//! It repeats an earlier one when name, server and arguments (as [canonical](mcprove_trace::canonical)
//! JSON) are the same. What became of the earlier attempts decides:
//!
//! - one succeeded, or met a fault that executes the call and keeps the reply from its client
//!   ([`FaultKind::executes`](mcprove_trace::FaultKind::executes): `lose_reply`, `malformed`, `truncated`, `wrong_id`): the write was certainly made
//!   twice, `confirmed`;
//! - one may have been executed, for it has no result, timed out, broke off, failed without a word, or
//!   met a fault that executes it later (`slow`, `jitter`, `reply_after_cancel`): `at_risk`;
//! - all of them surely were not executed, for they were turned down, or met a fault that strikes before
//!   (`lose_request`, `hang`, `error`, `disconnect`, `crash`, …): a retry is right, and without one the
//!   write is `lost`. A repetition that such a fault strikes is no duplicate either.
//!
//! A call with an idempotency key (`idempotency_key`, `request_id`, `client_token`, in any spelling), in its
//! arguments or in `_meta`, is
//! safe to repeat with the same key, and counts as `protected`; so is one of an idempotent tool. With
//! another key it is a new write, which is fine after a success, but not after an attempt that was or
//! may have been executed without a word; without one it repeats
//! whatever was written before. Where the arguments of a write are unknown and another one of its tool
//! may be the same, nobody can tell how many there are. This metric is ours; the question is that of
//! ambiguous writes, which no peer asks.

mod attempts;
mod failure;
mod find;
mod outcome;
mod report;
mod writes;

use mcprove_settings::phrase;
use serde_json::json;

use super::metric::{no_other_gates, tell};
use super::tool_name::{ToolName, check_servers, without_call};
use super::{Case, Expected, Metric, Scope, Target};
use crate::gate::{Expectation, GateFailure, Gates, ScoreError, Scorecard};

pub use find::find_duplicate_writes;
pub use report::{
    DUPLICATES_KEPT, DuplicateWrite, DuplicateWritesReport, LostWrite, UndecidedWrite,
};

const AT_RISK: &str = "duplicate_writes.at_risk";
const CONFIRMED: &str = "duplicate_writes.confirmed";
const COUNT: &str = "duplicate_writes.count";
const LOST: &str = "duplicate_writes.lost";
const PASSED: &str = "duplicate_writes.passed";
const PROTECTED: &str = "duplicate_writes.protected";

/// The settings of the block `duplicate_writes`.
#[derive(Debug, Clone, Default)]
pub struct DuplicateWritesBlock {
    /// Tools that write, whatever their names and annotations say. In all three lists `*` stands for any characters,
    /// and `server__tool` and `mcp__server__tool` name the server too.
    pub mutating_tools: Vec<String>,
    /// Tools that never write, whatever else is said.
    pub readonly_tools: Vec<String>,
    /// Tools that write, but are safe to repeat: a repetition counts as protected.
    pub idempotent_tools: Vec<String>,
    /// What replaces the default gate, `duplicate_writes.count <= 0`.
    pub expect: Option<Vec<Expectation>>,
}

/// The metric `duplicate_writes`.
pub const METRIC: Metric = Metric {
    name: "duplicate_writes",
    explanation: "whether writes were made twice, or may have been, by trying again",
    targets: &[
        Target {
            name: AT_RISK,
            explanation: "writes repeated after an attempt that may have been executed",
            scope: Scope::RunHighest,
        },
        Target {
            name: CONFIRMED,
            explanation: "writes repeated after an attempt that was certainly executed",
            scope: Scope::RunHighest,
        },
        Target {
            name: COUNT,
            explanation: "both together",
            scope: Scope::RunHighest,
        },
        Target {
            name: PROTECTED,
            explanation: "writes repeated without harm, by an idempotency key or an idempotent tool",
            scope: Scope::RunHighest,
        },
        Target {
            name: LOST,
            explanation: "writes that a fault kept from being made, and that no retry made",
            scope: Scope::RunHighest,
        },
        Target {
            name: PASSED,
            explanation: "1 when no write was repeated with harm, or perhaps, else 0",
            scope: Scope::RunLowest,
        },
    ],
    score,
    expectations,
    default_gate: Some(default_gate),
    other_gates: no_other_gates,
    runs_min: 1,
};

fn score(case: &Case<'_>, card: &mut Scorecard) -> Result<(), ScoreError> {
    let defaults = DuplicateWritesBlock::default();
    let block = case.gates.duplicate_writes.as_ref().unwrap_or(&defaults);
    let lists = [
        ("mutating_tools", &block.mutating_tools),
        ("readonly_tools", &block.readonly_tools),
        ("idempotent_tools", &block.idempotent_tools),
    ];
    let listed = lists.iter().flat_map(|(_, names)| *names);
    let names: Vec<ToolName<'_>> = listed.map(|name| ToolName::pattern(name)).collect();
    let mut undecided = Vec::new();
    for (run, recorded) in case.trace.runs.iter().enumerate() {
        if let Err(error) = check_servers(COUNT, &names, &recorded.tool_calls) {
            card.error(error.of_run(run));
            continue;
        }
        let report = find_duplicate_writes(recorded, block);
        if report.undecided.is_some() {
            undecided.push(run);
        }
        put(run, &report, card);
    }
    if !undecided.is_empty() {
        card.note(format!(
            "{COUNT} is unknown for {}: the trace does not tell the arguments of all writes.",
            phrase::places("run", &undecided)
        ));
    }
    for (list, names) in lists {
        let unused = without_call(names, &case.trace.runs);
        if !unused.is_empty() {
            card.note(format!(
                "{} in {list} of duplicate_writes {} no call of any run; is it spelt right?",
                phrase::names(&unused),
                if unused.len() == 1 { "names" } else { "name" },
            ));
        }
    }
    Ok(())
}

/// Puts the targets of one run on the card.
fn put(run: usize, report: &DuplicateWritesReport, card: &mut Scorecard) {
    let is_known = report.undecided.is_none();
    card.set_run(run, AT_RISK, is_known.then_some(report.at_risk));
    card.set_run(run, CONFIRMED, is_known.then_some(report.confirmed));
    card.set_run(run, COUNT, is_known.then(|| report.count()));
    card.set_run(run, PROTECTED, is_known.then_some(report.protected));
    card.set_run(run, LOST, report.lost);
    // One is enough to fail, however many more there may be.
    let passed = if report.count() > 0 {
        Some(0_u64)
    } else {
        is_known.then_some(1)
    };
    card.set_run(run, PASSED, passed);
    if report.count() > 0 {
        let writes = report.writes.iter().map(DuplicateWrite::describe);
        tell(card, run, report.count(), "repeated write", writes);
    }
    let lost = report.lost_writes.iter().map(LostWrite::describe);
    tell(card, run, report.lost.unwrap_or(0), "lost write", lost);
    if *report != DuplicateWritesReport::default() {
        card.detail(run, "duplicate_writes", report);
    }
}

fn expectations(gates: &Gates) -> Option<Expected<'_>> {
    let block = gates.duplicate_writes.as_ref()?;
    Some(Expected::of(block.expect.as_deref()))
}

/// `duplicate_writes.count <= 0` in every run.
fn default_gate(case: &Case<'_>, card: &mut Scorecard) -> Result<(), ScoreError> {
    let Some(block) = &case.gates.duplicate_writes else {
        return Ok(());
    };
    for (run, recorded) in case.trace.runs.iter().enumerate() {
        // What was not computed has an error already.
        let count = card.run_value(run, COUNT);
        if count.is_none_or(|count| *count == json!(0)) {
            continue;
        }
        let report = find_duplicate_writes(recorded, block);
        if report.count() > 0 {
            card.fail(GateFailure {
                place: None,
                target: COUNT.into(),
                expected: json!({ "maximum": 0 }),
                actual: json!(report.count()),
                message: report.explain(),
                run: Some(run),
            });
        } else if let Some(write) = &report.undecided {
            card.error(unknown_arguments(write).of_run(run));
        }
    }
    Ok(())
}

fn unknown_arguments(write: &UndecidedWrite) -> ScoreError {
    ScoreError::new(
        COUNT,
        format!(
            "whether call {}, {}, repeats call {} cannot be judged: the trace does not tell the arguments of both",
            write.call_index,
            phrase::name(&write.name),
            write.repeats
        ),
        "record the arguments of each call, or leave out the duplicate_writes block",
    )
}

#[cfg(test)]
mod tests;
