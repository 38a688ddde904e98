//! Whether the runs take the same way: every run against every other one.
//!
//! | target | of each pair, then the mean over pairs |
//! |---|---|
//! | `tool_sequence_similarity` | 2 · LCS / (calls of one + calls of the other), over the names; 1 when both are empty |
//! | `argument_consistency` | among the places where both call the same tool, the share with equal canonical arguments; 1 when there is none |
//!
//! A pair diverges at the first place where the names differ; a run that is the beginning of
//! another diverges from it where it ends. `early_divergence` is true when more than half of the pairs
//! that diverge do so at place 0 or 1. Where the same tool is called at the same place and the trace
//! does not tell the arguments of one, their consistency is unknown. The targets are those of mcptest.

use mcprove_settings::number::mean;

use super::identity::{Numbering, Path, UNKNOWN};
use super::sequence::{Aligner, steps};
use crate::prelude::*;

/// Steps of 128 places each that are spent on sequences; about two seconds. 20 runs of 10,000
/// unrelated calls take 150 million, 20 of 100,000 would take 15 billion.
pub const SEQUENCE_STEPS_MAX: u64 = 1_000_000_000;

/// Places that are compared in all pairs together, a pair itself taken for 64 of them;
/// about a second. 20 runs of 100,000 calls have 19 million.
pub const PLACES_MAX: u64 = 1_000_000_000;

/// What a pair costs besides its places.
const PAIR_PLACES: u64 = 64;

/// A pair that diverges before this place diverges early.
const EARLY: usize = 2;

/// How alike the runs are. What would take too long is `None`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Consistency {
    /// How many pairs of runs there are.
    pub pairs: u64,
    /// How alike the orders of tools are, 0 to 1; `None` beyond [`SEQUENCE_STEPS_MAX`] or
    /// [`PLACES_MAX`].
    pub tool_sequence_similarity: Option<f64>,
    /// How often the same tool at the same place gets the same arguments, 0 to 1; `None` beyond
    /// [`PLACES_MAX`], or where a trace does not tell the arguments.
    pub argument_consistency: Option<f64>,
    /// Whether that is because the trace does not have all arguments.
    pub has_unknown_arguments: bool,
    /// Whether the runs part at once; `None` beyond [`PLACES_MAX`].
    pub early_divergence: Option<bool>,
}

/// How much may be compared.
#[derive(Clone, Copy)]
pub struct Limits {
    pub sequence_steps: u64,
    pub places: u64,
}

pub const LIMITS: Limits = Limits {
    sequence_steps: SEQUENCE_STEPS_MAX,
    places: PLACES_MAX,
};

/// Compares each run with each other one; `None` with fewer than two runs.
///
/// ```
/// use mcprove_score::agent::stability::score_consistency;
/// use mcprove_trace::{AgentRun, ToolCall};
///
/// let run = |names: &[&str]| AgentRun {
///     tool_calls: names
///         .iter()
///         .map(|name| ToolCall { name: (*name).into(), ..ToolCall::default() })
///         .collect(),
///     ..AgentRun::default()
/// };
/// let runs = [run(&["search", "fetch"]), run(&["search", "search", "fetch"])];
/// let consistency = score_consistency(&runs).unwrap();
/// assert_eq!(consistency.tool_sequence_similarity, Some(0.8));
/// assert_eq!(consistency.argument_consistency, Some(1.0));
/// assert_eq!(consistency.early_divergence, Some(true));
/// assert_eq!(score_consistency(&runs[..1]), None);
/// ```
pub fn score_consistency(runs: &[AgentRun]) -> Option<Consistency> {
    let mut numbering = Numbering::default();
    let paths: Vec<Path> = runs.iter().map(|run| numbering.path(run)).collect();
    score_paths(&paths, numbering.tools(), LIMITS)
}

/// Compares paths through so many tools.
pub fn score_paths(paths: &[Path], tools: usize, limits: Limits) -> Option<Consistency> {
    if paths.len() < 2 {
        return None;
    }
    let runs = count(paths.len());
    let mut consistency = Consistency {
        pairs: runs.saturating_mul(runs - 1) / 2,
        ..Consistency::default()
    };
    if places(paths) > limits.places {
        return Some(consistency);
    }
    // All of them, also after one that is unknown: where they part is known all the same.
    let compared: Vec<(Option<f64>, Option<usize>)> = pairs(paths)
        .map(|(one, other)| compare(one, other))
        .collect();
    let shares: Option<Vec<f64>> = compared.iter().map(|(share, _)| *share).collect();
    consistency.has_unknown_arguments = shares.is_none();
    consistency.argument_consistency = shares.and_then(mean);
    let diverging = || compared.iter().filter_map(|(_, place)| *place);
    let early = diverging().filter(|place| *place < EARLY).count();
    consistency.early_divergence = Some(early > diverging().count() - early);
    let work = pairs(paths)
        .map(|(one, other)| steps(&one.tools, &other.tools))
        .fold(0, u64::saturating_add);
    if work <= limits.sequence_steps {
        let mut aligner = Aligner::new(tools);
        let similarities = pairs(paths).map(|(one, other)| {
            let common = aligner.common(&one.tools, &other.tools);
            let both = one.tools.len() + other.tools.len();
            ratio(2.0 * float_len(common), float_len(both)).unwrap_or(1.0)
        });
        consistency.tool_sequence_similarity = mean(similarities);
    }
    Some(consistency)
}

/// Each path with each later one.
fn pairs(paths: &[Path]) -> impl Iterator<Item = (&Path, &Path)> {
    paths.iter().enumerate().flat_map(move |(index, one)| {
        let later = paths[index + 1..].iter();
        later.map(move |other| (one, other))
    })
}

/// What comparing all pairs costs, in places.
fn places(paths: &[Path]) -> u64 {
    let mut lengths: Vec<u64> = paths.iter().map(|path| count(path.tools.len())).collect();
    lengths.sort_unstable();
    // Longest first: each run is the shorter one in its pairs with all before it.
    let costs = (0_u64..).zip(lengths.into_iter().rev());
    let costs = costs.map(|(before, length)| before.saturating_mul(length + PAIR_PLACES));
    costs.fold(0, u64::saturating_add)
}

/// The share of the places with the same tool that have the same arguments too, where they are known, and where
/// the pair parts.
fn compare(one: &Path, other: &Path) -> (Option<f64>, Option<usize>) {
    let (mut aligned, mut equal, mut unknown) = (0, 0, 0_u64);
    let mut divergence = None;
    let names = one.tools.iter().zip(&other.tools);
    let arguments = one.arguments.iter().zip(&other.arguments);
    for (place, (names, arguments)) in names.zip(arguments).enumerate() {
        if names.0 == names.1 {
            aligned += 1;
            equal += u64::from(arguments.0 == arguments.1);
            unknown += u64::from(*arguments.0 == UNKNOWN || *arguments.1 == UNKNOWN);
        } else {
            divergence.get_or_insert(place);
        }
    }
    if one.tools.len() != other.tools.len() {
        divergence.get_or_insert(one.tools.len().min(other.tools.len()));
    }
    let share = (unknown == 0).then(|| ratio(float(equal), float(aligned)).unwrap_or(1.0));
    (share, divergence)
}
