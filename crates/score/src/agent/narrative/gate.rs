//! The targets and gates of the block `narrative`.

use super::calls::Mentions;
use super::{Category, Divergence, ITEMS_MAX, NarrativeBlock, NarrativeReport, Reading};
use crate::prelude::*;

const SCORE: &str = "narrative.divergence_score";
const CLAIMED: &str = "narrative.claimed_but_absent";
const UNCLAIMED: &str = "narrative.present_but_unclaimed";
const MISMATCH: &str = "narrative.arg_mismatch";
const FAILED: &str = "narrative.claimed_but_failed";
const PASSED: &str = "narrative.gate_passed";

/// The metric `narrative`.
#[derive(Debug)]
pub struct Narrative;

impl Metric for Narrative {
    type Block = NarrativeBlock;

    const ABOUT: About = About {
        name: "narrative",
        explanation: "whether the closing words match what was done",
        targets: &[
            Target::highest(
                SCORE,
                "how far words and calls diverge, 0 to 1, higher is more",
            ),
            Target::highest(CLAIMED, "actions that the text claims and no call made"),
            Target::highest(UNCLAIMED, "calls that the text does not mention"),
            Target::highest(MISMATCH, "values that the text states and no call had"),
            Target::highest(
                FAILED,
                "actions that the text claims and only calls tried that failed",
            ),
            Target::lowest(
                PASSED,
                "1 when nothing absent is claimed and the score is within its limit, else 0",
            ),
        ],
        default_gate: "no write is claimed that no call made",
        ..About::PLAIN
    };

    fn limits(&self, block: &NarrativeBlock) -> &'static [&'static str] {
        block.max_divergence_score.map_or(&[], |_| &[SCORE])
    }

    fn score_run(
        &self,
        run: &AgentRun,
        case: &Case<'_, NarrativeBlock>,
        card: &mut RunCard<'_>,
    ) -> ScoreResult {
        let default = NarrativeBlock::default();
        let block = case.block.unwrap_or(&default);
        let Some(text) = &run.final_response else {
            for target in Self::ABOUT.targets {
                card.set(target.name, Value::Null);
            }
            return case.block.map_or(Ok(()), |_| {
                Err(ScoreError::new(
                    PASSED,
                    "the trace has no final_response",
                    "record final_response (an empty text is one, too), or leave out the narrative block",
                ))
            });
        };
        let reading = Reading::of(text, block);
        let report = reading.hold_against(&run.tool_calls);
        let failed = reading.claimed_but_failed(run);
        // A value that the text states may be one of those that are not known, or not.
        let is_known = run.tool_calls.iter().all(|call| !call.args.is_null());
        let is_judged =
            is_known || block.max_divergence_score.is_none() || report.claimed_but_absent > 0;
        card.set(SCORE, is_known.then_some(report.divergence_score));
        card.set(CLAIMED, report.claimed_but_absent);
        card.set(UNCLAIMED, report.present_but_unclaimed);
        card.set(MISMATCH, is_known.then_some(report.arg_mismatch));
        card.set(PASSED, is_judged.then_some(u8::from(report.gate_passed)));
        card.set(FAILED, failed.as_ref().map(Vec::len));
        tell(&report, &failed.unwrap_or_default(), card);
        if report.claimed_but_absent > 0 {
            card.fail(PASSED, 1, 0, absent_claim(&report));
        }
        if let Some(max) = block.max_divergence_score {
            limit(&report, is_known, max, card);
        }
        if !report.items.is_empty() {
            card.detail(&report);
        }
        Ok(())
    }

    fn score(&self, case: &Case<'_, NarrativeBlock>, card: &mut Scorecard) -> ScoreResult {
        self.score_runs(case, card);
        if case.block.is_some_and(|block| block.llm_assisted) {
            card.note(
                "narrative: llm_assisted is advisory and changes no number and no gate; mcprove calls no model.",
            );
        }
        Ok(())
    }
}

/// What was found, in sentences: what is false first, then what is not told.
fn tell(report: &NarrativeReport, failed: &[String], card: &mut RunCard<'_>) {
    let is_silence = |item: &&Divergence| item.category == Category::PresentButUnclaimed;
    for item in report.items.iter().filter(|item| !is_silence(item)) {
        let words = match &item.sentence {
            Some(sentence) => sentence!("{}: {sentence:?}", item.reason),
            None => item.reason.clone(),
        };
        card.add_finding(words.whole());
    }
    for action in failed {
        let words = sentence!("The text claims `{action}`, and every call that does that failed.");
        card.add_finding(words);
    }
    for item in report.items.iter().filter(is_silence) {
        card.add_finding(item.reason.clone().whole());
    }
}

/// `the text claims …, and no call did that: "I created the issue."`
fn absent_claim(report: &NarrativeReport) -> Diagnostic {
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
    let message = sentence!(
        "the closing text claims {} ({}), and no call did that",
        counted(report.claimed_but_absent, "action"),
        quoted_names(&actions),
    );
    let hint = sentence!("look at {sentence:?} and at the calls of the run");
    Diagnostic::new(message, hint)
}

/// The score is within its limit, whatever else is expected.
fn limit(report: &NarrativeReport, is_known: bool, max: f64, card: &mut RunCard<'_>) {
    let score = report.divergence_score;
    if !is_known {
        card.cannot_limit(ScoreError::new(
            SCORE,
            "the trace does not have the arguments of each call, which the text may state wrongly",
            "record the arguments, or leave out max_divergence_score",
        ));
    } else if score > max {
        let message = format!(
            "the divergence score is {}, and at most {} is allowed: {} claimed but absent, {} not mentioned, {} stated wrongly",
            decimal(score, 3),
            decimal(max, 3),
            counted(report.claimed_but_absent, "action"),
            counted(report.present_but_unclaimed, "call"),
            counted(report.arg_mismatch, "value"),
        );
        let what = Diagnostic::new(message, "look at the narrative details of the run");
        card.exceed(SCORE, json!({ "maximum": max }), score, what);
    }
}

// Disagreements while they are found, and the report of them.

/// Disagreements so far.
#[derive(Default)]
pub struct Listed {
    pub claimed: u64,
    unclaimed: u64,
    silent: u64,
    pub mismatched: u64,
    items: Vec<Divergence>,
}

impl Listed {
    /// Lists an item, unless there are enough of its kind.
    pub fn add(&mut self, item: Divergence) {
        let listed = match item.category {
            Category::ClaimedButAbsent => self.claimed,
            Category::ArgMismatch => self.mismatched,
            Category::PresentButUnclaimed => 0,
        };
        if listed <= count(ITEMS_MAX) {
            self.items.push(item);
        }
    }

    pub fn add_unclaimed(&mut self, text: &str, calls: &[ToolCall], block: &NarrativeBlock) {
        let mut mentions = Mentions::of(text, block);
        let (mut writes, mut reads) = (Vec::new(), Vec::new());
        for (index, call) in calls.iter().enumerate() {
            let mention = mentions.mention(call);
            if mention.is_mentioned {
                continue;
            }
            self.unclaimed += 1;
            self.silent += u64::from(mention.is_mutating);
            let list = if mention.is_mutating {
                &mut writes
            } else {
                &mut reads
            };
            if list.len() < ITEMS_MAX {
                list.push((index, call, mention.is_mutating));
            }
        }
        reads.truncate(ITEMS_MAX - writes.len());
        writes.append(&mut reads);
        writes.sort_by_key(|(index, ..)| *index);
        for (index, call, is_mutating) in writes {
            let name = quoted(&call.name);
            let what = if is_mutating { " writes, and" } else { "" };
            let reason = sentence!("call {index} ({name}){what} is not mentioned in the text");
            self.add(Divergence {
                tool: Some(call.name.clone()),
                call_index: Some(index),
                ..Divergence::new(Category::PresentButUnclaimed, is_mutating, reason)
            });
        }
    }

    pub fn report(
        self,
        calls: usize,
        claimed: Vec<String>,
        block: &NarrativeBlock,
    ) -> NarrativeReport {
        let flagged = self.claimed + self.unclaimed + self.mismatched;
        let whole = float_len(calls) + float_len(claimed.len());
        let divergence_score = if flagged == 0 {
            0.0
        } else {
            (float(flagged) / whole.max(1.0)).min(1.0)
        };
        let is_within = block
            .max_divergence_score
            .is_none_or(|max| divergence_score <= max);
        NarrativeReport {
            divergence_score,
            claimed_but_absent: self.claimed,
            present_but_unclaimed: self.unclaimed,
            silent_writes: self.silent,
            arg_mismatch: self.mismatched,
            gate_passed: self.claimed == 0 && is_within,
            claimed,
            items: self.items,
        }
    }
}
