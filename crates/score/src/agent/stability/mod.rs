//! How steady an agent is: within each run, and from run to run.
//!
//! A run is as steady as the [weakest of its four sub-scores](SessionStability). Over the runs:
//!
//! | target | formula |
//! |---|---|
//! | `stability.score` | the mean of the runs' `weakest_score` |
//! | `stability.weakest_score` | the lowest of them |
//! | `stability.variance` | their population variance |
//!
//! Three more targets compare the [ways that the runs take](Consistency). They need two runs, and so
//! does the block: a single run can look steady by luck. The default gate is
//! `stability.weakest_score >= 0.5` in every run, and looks past `tool_usage_stability` where a run has
//! fewer than [four calls](CALLS_FOR_TOOL_USAGE); the target itself does not. Names and formulas are those of mcptest.

mod consistency;
mod identity;
mod session;

pub use consistency::{Consistency, PLACES_MAX, SEQUENCE_STEPS_MAX, score_consistency};
pub use session::{CALLS_FOR_TOOL_USAGE, SessionStability, TOKENS_PER_CALL, score_session};

use self::consistency::{LIMITS, score_paths};
use self::identity::{Numbering, Path};
use self::session::{explain, has_no_course, score_path};
use crate::prelude::*;

/// What the files here share.
mod prelude {
    pub use super::identity::*;
    pub use super::*;
}

/// The lowest `weakest_score` that the default gate lets through.
pub const WEAKEST_SCORE_MIN: f64 = 0.5;

const SCORE: &str = "stability.score";
const WEAKEST: &str = "stability.weakest_score";
const VARIANCE: &str = "stability.variance";
const SIMILARITY: &str = "stability.tool_sequence_similarity";
const ARGUMENTS: &str = "stability.argument_consistency";
const DIVERGENCE: &str = "stability.early_divergence";
const TOOL_USAGE: &str = "stability.tool_usage_stability";
const RESPONSES: &str = "stability.response_consistency";
const REDUNDANCY: &str = "stability.redundancy";

/// The runs' weakest scores, summed up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    pub mean: f64,
    pub lowest: f64,
    /// Their population variance.
    pub variance: f64,
}

/// Sums up scores; `None` of nothing. Equal scores have exactly that mean, and no variance.
///
/// ```
/// use mcprove_score::agent::stability::spread;
///
/// let spread = spread(&[1.0, 0.5]).unwrap();
/// assert_eq!((spread.mean, spread.lowest, spread.variance), (0.75, 0.5, 0.0625));
/// ```
pub fn spread(scores: &[f64]) -> Option<Spread> {
    let center = mean(scores.iter().copied())?;
    let squares = scores
        .iter()
        .map(|score| (score - center) * (score - center));
    Some(Spread {
        mean: center,
        lowest: scores.iter().copied().fold(f64::INFINITY, f64::min),
        variance: mean(squares)?,
    })
}

/// The metric `stability`.
#[derive(Debug)]
pub struct Stability;

impl Metric for Stability {
    type Block = ();

    const ABOUT: About = About {
        name: "stability",
        explanation: "how steady the agent is, within each run and from run to run",
        targets: &[
            Target::overall(SCORE, "the mean of the runs' weakest sub-scores, 0 to 1"),
            Target::lowest(WEAKEST, "the weakest sub-score of a run, 0 to 1"),
            Target::overall(
                VARIANCE,
                "the population variance of the runs' weakest sub-scores",
            ),
            Target::overall(
                SIMILARITY,
                "how alike the runs' tool-call orders are, 0 to 1",
            ),
            Target::overall(
                ARGUMENTS,
                "how often the same tool at the same place gets the same arguments, 0 to 1",
            ),
            Target::overall(
                DIVERGENCE,
                "1 when most runs that part do so in the first two steps, else 0",
            ),
            Target::lowest(
                TOOL_USAGE,
                "how few different tools the calls of a run are spread over, 0 to 1",
            ),
            Target::lowest(
                RESPONSES,
                "how alike the assistant's turns of a run are in length, 0 to 1",
            ),
            Target::lowest(
                REDUNDANCY,
                "the share of a run's calls that are not repeats, 0 to 1",
            ),
            Target::lowest(
                "stability.cost_per_progress",
                "how little a run spent per different call, 0 to 1",
            ),
        ],
        default_gate: "`stability.weakest_score` is at least 0.5; needs two runs",
        over_all_runs: true,
        runs_min: 2,
        ..About::PLAIN
    };

    fn score(&self, case: &Case<'_, ()>, card: &mut Scorecard) -> ScoreResult {
        let runs = &case.trace.runs;
        if case.block.is_some() && runs.len() < 2 {
            return Err(ScoreError::new(
                "stability",
                format!(
                    "steadiness needs at least two runs, and the trace has {}",
                    runs.len()
                ),
                sentence!("record more runs (`runs: 2` or more), or leave out the stability block"),
            ));
        }
        // Numbered once for both: looking into millions of arguments is most of the work.
        let mut numbering = Numbering::default();
        let paths: Vec<Path> = runs.iter().map(|run| numbering.path(run)).collect();
        let sessions: Vec<SessionStability> = runs
            .iter()
            .zip(&paths)
            .map(|(run, path)| score_path(run, path))
            .collect();
        put(runs, &sessions, card);
        let weakest: Vec<f64> = sessions.iter().map(|one| one.weakest_score).collect();
        if let Some(spread) = spread(&weakest) {
            card.set(SCORE, spread.mean);
            card.set(WEAKEST, spread.lowest);
            card.set(VARIANCE, spread.variance);
        }
        if let Some(consistency) = score_paths(&paths, numbering.tools(), LIMITS) {
            card.put(&Self::ABOUT, &consistency);
            note_too_much(&consistency, card);
        }
        if case.has_default_gate() {
            default_gate(runs, &sessions, card);
        }
        Ok(())
    }
}

/// Puts the targets of each run on the card, and says which are left out of its weakest, and which runs are steady
/// only because they have no course.
fn put(runs: &[AgentRun], sessions: &[SessionStability], card: &mut Scorecard) {
    type IsNoted = fn(&AgentRun, &SessionStability) -> bool;
    let notes: [(IsNoted, &str, &str); 4] = [
        (
            |_, session| session.response_consistency.is_none(),
            "stability.response_consistency is unknown for ",
            ", and left out of the weakest score: the trace does not have the turns.",
        ),
        (
            |_, session| session.redundancy.is_none(),
            "stability.redundancy is unknown for ",
            ", and left out of the weakest score: the trace does not have all arguments.",
        ),
        (
            |_, session| session.cost_per_progress.is_none(),
            "stability.cost_per_progress is unknown for ",
            ", and left out of the weakest score: the trace does not have the tokens, or not all arguments.",
        ),
        (
            |run, _| run.tool_calls.len() >= CALLS_FOR_TOOL_USAGE && has_no_course(run),
            "Every sub-score of stability is 1 for ",
            " by definition: there are fewer than two turns of the assistant, whatever the calls are. Look at loops for calls that are repeated.",
        ),
    ];
    for (index, session) in sessions.iter().enumerate() {
        card.run(&Stability::ABOUT, index).put(session);
    }
    for (is_noted, begin, end) in notes {
        for (index, (run, session)) in runs.iter().zip(sessions).enumerate() {
            if is_noted(run, session) {
                card.run(&Stability::ABOUT, index).note(begin, end);
            }
        }
    }
    card.note_runs();
}

/// Says what was not computed because it would take too long.
fn note_too_much(consistency: &Consistency, card: &mut Scorecard) {
    if consistency.has_unknown_arguments {
        card.note(format!(
            "{ARGUMENTS} is unknown: the trace does not have the arguments of all calls that runs have in common."
        ));
    }
    if consistency.early_divergence.is_none() {
        card.note(format!(
            "{SIMILARITY}, {ARGUMENTS} and {DIVERGENCE} are unknown: comparing {} of runs takes more than {} steps. Score fewer runs at once.",
            counted(consistency.pairs, "pair"),
            whole(PLACES_MAX),
        ));
    } else if consistency.tool_sequence_similarity.is_none() {
        card.note(format!(
            "{SIMILARITY} is unknown: the runs are so long and so different that aligning their calls takes more than {} steps. Score fewer runs at once.",
            whole(SEQUENCE_STEPS_MAX),
        ));
    }
}

/// The weakest sub-score of each run is at least a half.
fn default_gate(runs: &[AgentRun], sessions: &[SessionStability], card: &mut Scorecard) {
    let mut looked_past = Vec::new();
    for (run, (recorded, session)) in runs.iter().zip(sessions).enumerate() {
        if session.weakest_score >= WEAKEST_SCORE_MIN {
            continue;
        }
        let Some((which, weakest)) = session.weakest_to_gate(recorded.tool_calls.len()) else {
            continue;
        };
        if session.weakest_score < weakest {
            looked_past.push(run);
        }
        if weakest < WEAKEST_SCORE_MIN {
            let why = explain(which, recorded);
            let message = sentence!(
                "{which} is {}, and at least {WEAKEST_SCORE_MIN} is needed: {}",
                decimal(weakest, 3),
                why.message,
            );
            let expected = json!({ "minimum": WEAKEST_SCORE_MIN });
            let mut card = card.run(&Stability::ABOUT, run);
            card.fail(
                WEAKEST,
                expected,
                weakest,
                Diagnostic::new(message, why.hint),
            );
        }
    }
    if !looked_past.is_empty() {
        card.default_gate.note(format!(
            "The default gate of stability ignores {TOOL_USAGE} of {}: fewer than {CALLS_FOR_TOOL_USAGE} calls say nothing about it. {WEAKEST} still counts it.",
            named_places("run", &looked_past)
        ));
    }
}

#[cfg(test)]
mod tests;
