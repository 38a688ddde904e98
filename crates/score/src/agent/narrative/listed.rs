//! Disagreements while they are found, and the report of them.

use mcprove_settings::message::{name, sentence};
use mcprove_settings::number::{count, float, float_len};
use mcprove_trace::ToolCall;

use super::calls::Mentions;
use super::{Category, Divergence, ITEMS_MAX, NarrativeBlock, NarrativeReport};

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
            let name = name(&call.name);
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
