//! Whether the agent goes in circles: the same calls again and again, and nothing to show for it.
//!
//! Two calls are the same when their names, servers and arguments (as [canonical](mcprove_trace::canonical)
//! JSON) are. Three signs:
//!
//! - repeats: the longest streak of the same call, one after the other;
//! - cycles: a sequence of 2 to 8 calls, not all the same, that is made again and again, as a, b, a, b;
//!   the most repetitions of one count, of the shortest that has so many;
//! - stagnation: the longest stretch of calls that brought nothing new. Such a call repeats an earlier
//!   one, and got what that got before, or an error; an unknown result counts as the same.
//!
//! Calls whose arguments are unknown may be the same as any other of their tool, or not. So each sign is
//! looked for twice, once with none of them the same and once with all; where the two differ, it is
//! unknown.
//!
//! A loop is `detected` when one of them exceeds its limit. Every sign is found in one pass over the
//! calls (cycles in seven). This metric is our own; `redundancy` of stability
//! counts repeats wherever they stand.

mod find;

use crate::prelude::*;

pub use find::find_loops;

/// The longest cycle that is looked for, in calls.
pub const CYCLE_CALLS_MAX: usize = 8;

const DETECTED: &str = "loops.detected";

/// The settings of the block `loops`.
#[derive(Debug, Clone, Settings)]
pub struct LoopsBlock {
    /// How often the same call may come in a row.
    #[setting(default = 3, kind = limit(1))]
    pub max_repeats: u64,
    /// How often the same cycle of calls may come in a row.
    #[setting(default = 3, kind = limit(0))]
    pub max_cycle_repeats: u64,
    /// How many calls in a row may bring nothing new.
    #[setting(default = 5, kind = limit(0))]
    pub max_stagnation: u64,
}

impl Default for LoopsBlock {
    fn default() -> Self {
        Self::initial()
    }
}

/// How far an agent went in circles.
#[sparse(marked)]
#[stored(Default, Eq)]
pub struct LoopsReport {
    /// Whether a limit is exceeded. Here and below `None` is unknown: it depends on arguments that
    /// the trace does not tell.
    pub detected: Option<bool>,
    /// The longest streak of the same call: 1 without repeats, 0 without calls.
    pub max_repeats: Option<u64>,
    /// The most repetitions of one cycle; 0 without one.
    pub max_cycle_repeats: Option<u64>,
    /// The calls of that cycle; 0 without one.
    pub cycle_length: Option<u64>,
    /// The longest stretch of calls that brought nothing new.
    pub stagnation: Option<u64>,
    /// The first call whose arguments decide and are unknown, by its place in `tool_calls`.
    #[sparse]
    pub first_unknown: Option<usize>,
    /// The longest streak, where a call is repeated.
    #[sparse]
    pub repeats: Option<CallRange>,
    /// The cycle.
    #[sparse]
    pub cycle: Option<CallRange>,
    /// The stretch that brought nothing new.
    #[sparse]
    pub stagnant: Option<CallRange>,
}

/// Calls in a row.
#[stored(Eq)]
pub struct CallRange {
    /// The place of the first call in `tool_calls`.
    pub first: usize,
    /// The place of the last.
    pub last: usize,
    /// How often: the call, the cycle, or the calls of the stretch.
    pub times: u64,
    /// The tools: the one that is repeated, those of the cycle, or those of the stretch, each once.
    pub names: Vec<String>,
}

impl LoopsReport {
    /// Which limits are exceeded, by which calls.
    fn reasons(&self, block: &LoopsBlock) -> Vec<Message> {
        let mut reasons = Vec::new();
        let mut look = |range: &Option<CallRange>, limit: u64, words: fn(&CallRange) -> Message| {
            if let Some(range) = range.as_ref().filter(|range| range.times > limit) {
                let limit = whole(limit);
                reasons.push(sentence!(
                    "{}, and at most {limit} are allowed",
                    words(range)
                ));
            }
        };
        look(&self.repeats, block.max_repeats, |range| {
            sentence!(
                "call {}, {}, was made {} times in a row with the same arguments (calls {} to {})",
                range.first,
                quoted_names(&range.names),
                whole(range.times),
                range.first,
                range.last,
            )
        });
        look(&self.cycle, block.max_cycle_repeats, |range| {
            sentence!(
                "calls {} to {} go through the same {} calls ({}) {} times",
                range.first,
                range.last,
                range.names.len(),
                quoted_names(&range.names),
                whole(range.times),
            )
        });
        look(&self.stagnant, block.max_stagnation, |range| {
            sentence!(
                "calls {} to {} ({}) brought nothing new: each repeats an earlier call and got the \
                 same or an error, {} in a row",
                range.first,
                range.last,
                quoted_names(&range.names),
                whole(range.times),
            )
        });
        reasons
    }
}

/// The metric `loops`.
#[derive(Debug)]
pub struct Loops;

impl Metric for Loops {
    type Block = LoopsBlock;

    const ABOUT: About = About {
        name: "loops",
        explanation: "whether the agent goes in circles: repeats, cycles, nothing new",
        targets: &[
            Target::highest("loops.max_repeats", "the longest streak of the same call"),
            Target::highest(
                "loops.max_cycle_repeats",
                "the most repetitions of one cycle of 2 to 8 calls, 0 without one",
            ),
            Target::highest(
                "loops.cycle_length",
                "the calls of that cycle, 0 without one",
            ),
            Target::highest(
                "loops.stagnation",
                "the longest stretch of calls that brought nothing new",
            ),
            Target::highest(DETECTED, "1 when one of the limits is exceeded, else 0"),
        ],
        default_gate: "no limit below is exceeded",
        ..About::PLAIN
    };

    /// The default gate is `loops.detected <= 0` in every run.
    fn score_run(
        &self,
        run: &AgentRun,
        case: &Case<'_, LoopsBlock>,
        card: &mut RunCard<'_>,
    ) -> ScoreResult {
        let defaults = LoopsBlock::default();
        let block = case.block.unwrap_or(&defaults);
        let report = find_loops(run, block);
        card.put(&report);
        if report.first_unknown.is_some() {
            card.note(
                "Not all signs of loops are known of ",
                ": the trace does not have the arguments of all calls.",
            );
        }
        match report.detected {
            Some(false) => {}
            Some(true) => {
                let reasons = report.reasons(block);
                let what = Diagnostic::new(
                    Message::join(reasons.clone(), "; "),
                    "look at what these calls returned, and why the agent did not use it",
                );
                card.fail(DETECTED, json!({ "maximum": 0 }), 1, what);
                card.add_first_findings(count(reasons.len()), "loop", reasons);
                card.detail(&report);
            }
            None => card.cannot_judge(unknown_arguments(run, &report)),
        }
        Ok(())
    }
}

fn unknown_arguments(run: &AgentRun, report: &LoopsReport) -> ScoreError {
    let place = report.first_unknown.unwrap_or_default();
    let name = run.tool_calls.get(place).map_or("", |call| &call.name);
    ScoreError::new(
        DETECTED,
        sentence!(
            "whether the agent goes in circles cannot be judged: the trace does not have the arguments of call {place}, {}, which may be the same as others",
            quoted(name)
        ),
        "record the arguments of each call, or leave out the loops block",
    )
}

#[cfg(test)]
mod tests;
