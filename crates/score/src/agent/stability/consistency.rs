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

use super::prelude::*;

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
#[stored(Default)]
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
    paths
        .iter()
        .enumerate()
        .flat_map(move |(index, one)| paths[index + 1..].iter().map(move |other| (one, other)))
}

/// What comparing all pairs costs, in places.
fn places(paths: &[Path]) -> u64 {
    let mut lengths: Vec<u64> = paths.iter().map(|path| count(path.tools.len())).collect();
    lengths.sort_unstable();
    // Longest first: each run is the shorter one in its pairs with all before it.
    (0_u64..)
        .zip(lengths.into_iter().rev())
        .map(|(before, length)| before.saturating_mul(length + PAIR_PLACES))
        .fold(0, u64::saturating_add)
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

// How much two sequences of tools have in common, in order: the length of their longest common
// subsequence.
//
// Computed 128 places at a time: a column of the table is kept as bits, one per place of the longer
// sequence, and each element of the shorter one takes it a step on with V' = (V + (V ∧ M)) ∨ (V ∧ ¬M),
// where M marks the places that hold this element; in the end each zero is one element in common
// (Crochemore, Iliopoulos, Pinzon and Reid, *A Fast and Practical Bit-Vector Algorithm for the
// Longest Common Subsequence Problem*, 2001; Hyyrö 2004). Words without a mark change only by a carry,
// and are skipped without one. What both sequences begin and end with is common and left out first.

/// Places in one word of a column.
const WORD: usize = 128;

/// The places of one element within one word: its number, and the bits.
type Marks = (usize, u128);

/// Finds longest common subsequences of sequences of small numbers, one pair after another.
pub struct Aligner {
    /// Where each element occurs in the longer sequence; empty between two pairs.
    marks: Vec<Vec<Marks>>,
    column: Vec<u128>,
}

impl Aligner {
    /// For elements below `elements`.
    pub fn new(elements: usize) -> Self {
        Self {
            marks: vec![Vec::new(); elements],
            column: Vec::new(),
        }
    }

    /// The length of the longest common subsequence.
    pub fn common(&mut self, one: &[u32], other: &[u32]) -> usize {
        let (ends, shorter, longer) = trim(one, other);
        if shorter.is_empty() {
            return ends;
        }
        for (place, element) in longer.iter().enumerate() {
            let marks = &mut self.marks[index(*element)];
            let (word, bit) = (place / WORD, 1 << (place % WORD));
            match marks.last_mut() {
                Some((last, bits)) if *last == word => *bits |= bit,
                _ => marks.push((word, bit)),
            }
        }
        self.column.clear();
        self.column.resize(longer.len().div_ceil(WORD), u128::MAX);
        for element in shorter {
            step(&mut self.column, &self.marks[index(*element)]);
        }
        for element in longer {
            self.marks[index(*element)].clear();
        }
        // Places beyond the end are never marked, so that their bits stay ones.
        ends + self
            .column
            .iter()
            .map(|word| word.count_zeros())
            .map(index)
            .sum::<usize>()
    }
}

/// A number as a place in a list.
fn index(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// The steps, of one word each, that a pair needs at most.
pub fn steps(one: &[u32], other: &[u32]) -> u64 {
    let (_, shorter, longer) = trim(one, other);
    count(shorter.len()).saturating_mul(count(longer.len().div_ceil(WORD)))
}

/// How long the common beginning and end are together, and what is left of the shorter and of the
/// longer sequence.
fn trim<'a>(one: &'a [u32], other: &'a [u32]) -> (usize, &'a [u32], &'a [u32]) {
    let (shorter, longer) = if one.len() <= other.len() {
        (one, other)
    } else {
        (other, one)
    };
    let same = |(a, b): &(&u32, &u32)| a == b;
    let start = shorter.iter().zip(longer).take_while(same).count();
    let (shorter, longer) = (&shorter[start..], &longer[start..]);
    let end = shorter
        .iter()
        .rev()
        .zip(longer.iter().rev())
        .take_while(same)
        .count();
    (
        start + end,
        &shorter[..shorter.len() - end],
        &longer[..longer.len() - end],
    )
}

/// Takes the column one element on.
fn step(column: &mut [u128], marks: &[Marks]) {
    let mut carry = false;
    let mut next = 0;
    for (word, bits) in marks {
        // First whether words were skipped: that is foreseeable, where the carry is not.
        if *word > next && carry {
            carry = carry_through(&mut column[next..*word]);
        }
        let value = &mut column[*word];
        let (sum, over) = value.carrying_add(*value & bits, carry);
        *value = sum | (*value & !bits);
        carry = over;
        next = word + 1;
    }
    if carry {
        carry_through(&mut column[next..]);
    }
}

/// Adds a carry to words without marks; whether it is left in the end.
fn carry_through(words: &mut [u128]) -> bool {
    for word in words {
        let (sum, over) = word.overflowing_add(1);
        *word |= sum;
        if !over {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod sequence_tests {
    use proptest::prelude::*;

    use super::*;

    fn common(one: &[u32], other: &[u32]) -> usize {
        let elements = one
            .iter()
            .chain(other)
            .max()
            .map_or(0, |most| index(*most) + 1);
        let mut aligner = Aligner::new(elements);
        let length = aligner.common(one, other);
        assert_eq!(aligner.common(other, one), length, "both ways, and again");
        length
    }

    /// The textbook table.
    fn by_table(one: &[u32], other: &[u32]) -> usize {
        let mut row = vec![0; other.len() + 1];
        for a in one {
            let mut diagonal = 0;
            for (j, b) in other.iter().enumerate() {
                let best = if a == b {
                    diagonal + 1
                } else {
                    row[j].max(row[j + 1])
                };
                diagonal = std::mem::replace(&mut row[j + 1], best);
            }
        }
        row[other.len()]
    }

    #[test]
    fn small_sequences() {
        let cases: [(&[u32], &[u32], usize); 7] = [
            (&[], &[], 0),
            (&[0], &[], 0),
            (&[0, 1, 2], &[0, 1, 2], 3),
            (&[0, 1, 2], &[2, 1, 0], 1),
            (&[0, 1, 2, 3], &[0, 2, 3], 3),
            (&[0, 1], &[2, 3], 0),
            (&[0, 1, 0, 2, 0], &[1, 2, 0, 0], 3),
        ];
        for (one, other, expected) in cases {
            assert_eq!(common(one, other), expected, "{one:?} {other:?}");
        }
    }

    #[test]
    fn what_is_common_at_the_ends_costs_nothing() {
        let long: Vec<u32> = (0..100_000).map(|i| i % 10).collect();
        let mut other = long.clone();
        other[50_000] = 11;
        assert_eq!(steps(&long, &long), 0);
        assert_eq!(steps(&long, &other), 1);
        assert_eq!(common(&long, &other), 99_999);
        assert_eq!(steps(&[1; 100], &[2; 1_000]), 800);
        assert_eq!(common(&[1; 100], &[2; 1_000]), 0);
    }

    proptest! {
        #[test]
        fn bits_agree_with_the_table(
            one in prop::collection::vec(0_u32..4, 0..300),
            other in prop::collection::vec(0_u32..4, 0..300),
        ) {
            prop_assert_eq!(common(&one, &other), by_table(&one, &other));
        }

        #[test]
        fn with_many_elements_too(
            one in prop::collection::vec(0_u32..200, 0..300),
            other in prop::collection::vec(0_u32..200, 0..300),
        ) {
            prop_assert_eq!(common(&one, &other), by_table(&one, &other));
        }
    }
}
