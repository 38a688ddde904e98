//! How much two sequences of tools have in common, in order: the length of their longest common
//! subsequence.
//!
//! Computed 128 places at a time: a column of the table is kept as bits, one per place of the longer
//! sequence, and each element of the shorter one takes it a step on with V' = (V + (V ∧ M)) ∨ (V ∧ ¬M),
//! where M marks the places that hold this element; in the end each zero is one element in common
//! (Crochemore, Iliopoulos, Pinzon and Reid, *A Fast and Practical Bit-Vector Algorithm for the
//! Longest Common Subsequence Problem*, 2001; Hyyrö 2004). Words without a mark change only by a carry,
//! and are skipped without one. What both sequences begin and end with is common and left out first.

use crate::prelude::*;

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
        let zeros = self.column.iter().map(|word| word.count_zeros());
        ends + zeros.map(index).sum::<usize>()
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
    let backwards = shorter.iter().rev().zip(longer.iter().rev());
    let end = backwards.take_while(same).count();
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
mod tests {
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
