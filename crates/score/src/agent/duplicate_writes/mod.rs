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

mod find;
mod outcome;
mod writes;

use super::tool_name::{check_servers, without_call};
use crate::prelude::*;

pub use find::find_duplicate_writes;

/// What the files here share.
mod prelude {
    pub use super::outcome::*;
    pub use super::writes::*;
    pub use super::*;
}

const AT_RISK: &str = "duplicate_writes.at_risk";
const CONFIRMED: &str = "duplicate_writes.confirmed";
const COUNT: &str = "duplicate_writes.count";
const LOST: &str = "duplicate_writes.lost";
const PASSED: &str = "duplicate_writes.passed";
const PROTECTED: &str = "duplicate_writes.protected";

/// The settings of the block `duplicate_writes`.
#[derive(Debug, Clone, Default, Settings)]
pub struct DuplicateWritesBlock {
    /// Tools that write, whatever their names and annotations say.
    ///
    /// In all three lists `*` stands for any characters, and `server__tool` and `mcp__server__tool` name the server
    /// too.
    #[setting(default = "[]", kind = Kind::Names)]
    pub mutating_tools: Vec<String>,
    /// Tools that never write, whatever their names and annotations say; wins over `mutating_tools`.
    #[setting(default = "[]", kind = Kind::Names)]
    pub readonly_tools: Vec<String>,
    /// Tools that may write twice without harm.
    ///
    /// A repetition counts as protected.
    #[setting(default = "[]", kind = Kind::Names)]
    pub idempotent_tools: Vec<String>,
}

/// The metric `duplicate_writes`.
#[derive(Debug)]
pub struct DuplicateWrites;

impl Metric for DuplicateWrites {
    type Block = DuplicateWritesBlock;

    const ABOUT: About = About {
        name: "duplicate_writes",
        explanation: "whether writes were made twice, or may have been, by trying again",
        targets: &[
            Target::highest(
                AT_RISK,
                "writes repeated after an attempt that may have been executed",
            ),
            Target::highest(
                CONFIRMED,
                "writes repeated after an attempt that was certainly executed",
            ),
            Target::highest(COUNT, "both together"),
            Target::highest(
                PROTECTED,
                "writes repeated without harm, by an idempotency key or an idempotent tool",
            ),
            Target::highest(
                LOST,
                "writes that a fault kept from being made, and that no retry made",
            ),
            Target::lowest(
                PASSED,
                "1 when no write was repeated with harm, or perhaps, else 0",
            ),
        ],
        default_gate: "no write may have happened twice",
        ..About::PLAIN
    };

    fn score_run(
        &self,
        run: &AgentRun,
        case: &Case<'_, DuplicateWritesBlock>,
        card: &mut RunCard<'_>,
    ) -> ScoreResult {
        let defaults = DuplicateWritesBlock::default();
        let block = case.block.unwrap_or(&defaults);
        let names = block.lists().into_iter().flat_map(|(_, names)| names);
        check_servers(COUNT, &ToolName::patterns(names), &run.tool_calls)?;
        put(&find_duplicate_writes(run, block), card);
        Ok(())
    }

    fn score(&self, case: &Case<'_, DuplicateWritesBlock>, card: &mut Scorecard) -> ScoreResult {
        self.score_runs(case, card);
        for (list, names) in case
            .block
            .map(DuplicateWritesBlock::lists)
            .into_iter()
            .flatten()
        {
            let unused = without_call(names, &case.trace.runs);
            if !unused.is_empty() {
                card.note(sentence!(
                    "{} in {list} of duplicate_writes {} no call of any run; is it spelt right?",
                    quoted_names(&unused),
                    if unused.len() == 1 { "names" } else { "name" },
                ));
            }
        }
        Ok(())
    }
}

impl DuplicateWritesBlock {
    /// The lists of names, with their own.
    fn lists(&self) -> [(&'static str, &Vec<String>); 3] {
        [
            ("mutating_tools", &self.mutating_tools),
            ("readonly_tools", &self.readonly_tools),
            ("idempotent_tools", &self.idempotent_tools),
        ]
    }
}

/// Puts the targets of one run on the card.
fn put(report: &DuplicateWritesReport, card: &mut RunCard<'_>) {
    let is_known = report.undecided.is_none();
    let count = report.count();
    for (target, value) in [
        (AT_RISK, report.at_risk),
        (CONFIRMED, report.confirmed),
        (COUNT, count),
        (PROTECTED, report.protected),
    ] {
        card.set(target, is_known.then_some(value));
    }
    card.set(LOST, report.lost);
    // One is enough to fail, however many more there may be.
    let passed = if count > 0 {
        Some(0_u64)
    } else {
        is_known.then_some(1)
    };
    card.set(PASSED, passed);
    // The default gate is `duplicate_writes.count <= 0`.
    if count > 0 {
        card.fail(COUNT, json!({ "maximum": 0 }), count, report.explain());
        let writes = report.writes.iter().map(DuplicateWrite::describe);
        card.add_first_findings(count, "repeated write", writes);
    }
    if let Some(write) = &report.undecided {
        card.note(
            "duplicate_writes.count is unknown for ",
            ": the trace does not have the arguments of all writes.",
        );
        if count == 0 {
            let message = sentence!(
                "whether call {}, {}, repeats call {} cannot be judged: the trace does not have the arguments of both",
                write.call_index,
                quoted(&write.name),
                write.repeats
            );
            let hint = "record the arguments of each call, or leave out the duplicate_writes block";
            card.cannot_judge(ScoreError::new(COUNT, message, hint));
        }
    }
    let lost = report.lost_writes.iter().map(LostWrite::describe);
    card.add_first_findings(report.lost.unwrap_or(0), "lost write", lost);
    if *report != DuplicateWritesReport::default() {
        card.detail(report);
    }
}

// What was found of the writes of a run, for programs and in words.

/// Duplicates that a report and a message tell; the rest is only counted.
pub const DUPLICATES_KEPT: usize = 20;

/// The writes of a run that were made twice, or may have been.
#[sparse(marked)]
#[stored(Eq)]
pub struct DuplicateWritesReport {
    /// Repeated writes after an attempt that may have been executed.
    pub at_risk: u64,
    /// Repeated writes after an attempt that was certainly executed.
    pub confirmed: u64,
    /// The first [`DUPLICATES_KEPT`] of both.
    pub writes: Vec<DuplicateWrite>,
    /// Repeated writes that do no harm: with the same idempotency key, or of an idempotent tool.
    #[serde(default)]
    pub protected: u64,
    /// Writes that a fault kept from being made, and that no other attempt made; `None` where nobody
    /// can tell.
    #[serde(default)]
    pub lost: Option<u64>,
    /// The first [`DUPLICATES_KEPT`] of those.
    #[sparse]
    pub lost_writes: Vec<LostWrite>,
    /// The first write of which nobody can tell whether it is one more: both counts are what is
    /// certain.
    #[sparse]
    pub undecided: Option<UndecidedWrite>,
}

impl Default for DuplicateWritesReport {
    /// Nothing repeated, and nothing lost.
    fn default() -> Self {
        Self {
            at_risk: 0,
            confirmed: 0,
            writes: Vec::new(),
            protected: 0,
            lost: Some(0),
            lost_writes: Vec::new(),
            undecided: None,
        }
    }
}

/// A write that was never made.
#[stored(Eq)]
pub struct LostWrite {
    /// The place of the last attempt in `tool_calls`.
    pub call_index: usize,
    /// The tool.
    pub name: String,
    /// The fault that kept it from being executed.
    pub fault: FaultKind,
}

impl LostWrite {
    fn describe(&self) -> Message {
        sentence!(
            "call {}, {}, met the fault {} and was never executed, nor was it made again with success",
            self.call_index,
            quoted(&self.name),
            self.fault.name()
        )
    }
}

/// A write that may repeat another one: the trace does not have the arguments of one of them.
#[stored(Eq)]
pub struct UndecidedWrite {
    /// The place of the call in `tool_calls`.
    pub call_index: usize,
    /// The place of the attempt that it may repeat.
    pub repeats: usize,
    /// The tool.
    pub name: String,
}

/// A write that was repeated.
#[stored(Eq)]
pub struct DuplicateWrite {
    /// The place of the call in `tool_calls`.
    pub call_index: usize,
    /// The place of the attempt that it repeats.
    pub repeats: usize,
    /// The tool.
    pub name: String,
    /// Whether it certainly happened twice.
    pub is_confirmed: bool,
    /// What is known of the earlier attempt: `had succeeded`.
    pub reason: String,
}

impl DuplicateWrite {
    fn describe(&self) -> Message {
        sentence!(
            "call {}, {}, repeats call {}, which {}",
            self.call_index,
            quoted(&self.name),
            self.repeats,
            self.reason
        )
    }
}

impl DuplicateWritesReport {
    /// Both together.
    pub fn count(&self) -> u64 {
        self.at_risk.saturating_add(self.confirmed)
    }

    fn explain(&self) -> Message {
        let writes = self.writes.iter().map(DuplicateWrite::describe);
        sentence!(
            "{} certainly made twice, {} perhaps: {}; before trying again, an agent should look \
             whether the write was made, or send an idempotency key",
            counted(self.confirmed, "write"),
            whole(self.at_risk),
            first_of(self.count(), writes)
        )
    }
}

#[cfg(test)]
mod tests;
