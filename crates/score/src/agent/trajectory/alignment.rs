//! As many expected calls as possible that occur in order among the recorded ones: a longest common
//! subsequence, where fitting takes the place of being equal.
//!
//! Only pairs that fit are looked at (Hunt and Szymanski, *A Fast Algorithm for Computing Longest
//! Common Subsequences*, 1977), from the last expected call to the first: for each length the latest
//! call is kept at which so many can begin. Of several ways one is taken that has the earliest
//! expected calls.

/// Pairs of an expected and a recorded call that are looked at; about a second.
pub const ALIGNMENT_PAIRS_MAX: usize = 5_000_000;

/// Which of so many expected calls are found in order, as many as possible; `fitting` says, ascending,
/// at which places each of them may be. `None` beyond [`ALIGNMENT_PAIRS_MAX`].
pub fn longest<'a>(expected: usize, fitting: impl Fn(usize) -> &'a [usize]) -> Option<Vec<bool>> {
    let pairs = (0..expected)
        .map(|index| fitting(index).len())
        .fold(0, usize::saturating_add);
    if pairs > ALIGNMENT_PAIRS_MAX {
        return None;
    }
    // An expected call at a place, and the link of what comes after it.
    let mut links: Vec<(u32, Option<u32>)> = Vec::new();
    // The latest place at which so many, and one more, can begin, descending; and the link there.
    let mut heads: Vec<(usize, u32)> = Vec::new();
    for index in (0..expected).rev() {
        // Ascending: a place never follows another one of the same expected call.
        for &place in fitting(index) {
            let length = heads.partition_point(|(head, _)| *head > place);
            let after = heads[..length].last().map(|(_, link)| *link);
            let link = u32::try_from(links.len()).ok()?;
            links.push((u32::try_from(index).ok()?, after));
            match heads.get_mut(length) {
                Some(head) => *head = (place, link),
                None => heads.push((place, link)),
            }
        }
    }
    let mut chosen = vec![false; expected];
    let mut next = heads.last().map(|(_, link)| *link);
    while let Some(link) = next {
        let (index, after) = links[usize::try_from(link).ok()?];
        chosen[usize::try_from(index).ok()?] = true;
        next = after;
    }
    Some(chosen)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn chosen(fitting: &[Vec<usize>]) -> Vec<bool> {
        longest(fitting.len(), |index| &fitting[index]).unwrap()
    }

    /// The most that can be found, by trying everything.
    fn most(fitting: &[Vec<usize>], start: usize) -> usize {
        let Some((first, rest)) = fitting.split_first() else {
            return 0;
        };
        let found = first.iter().filter(|place| **place >= start);
        let with = found.map(|place| 1 + most(rest, place + 1)).max();
        with.unwrap_or(0).max(most(rest, start))
    }

    #[test]
    fn the_most_are_chosen_the_earliest_of_several() {
        assert_eq!(chosen(&[]), Vec::<bool>::new());
        assert_eq!(chosen(&[vec![2], vec![0], vec![1]]), [false, true, true]);
        assert_eq!(chosen(&[vec![1], vec![0]]), [true, false]);
        assert_eq!(chosen(&[vec![0, 1], vec![0, 1]]), [true, true]);
        assert_eq!(chosen(&[vec![0], vec![0]]), [true, false]);
    }

    #[test]
    fn beyond_the_limit_nothing_is_said() {
        let many: Vec<usize> = (0..1_001).collect();
        assert!(longest(4_995, |_| &many).is_some());
        assert!(longest(4_996, |_| &many).is_none());
    }

    proptest! {
        #[test]
        fn as_many_as_by_trying_everything(
            fitting in prop::collection::vec(prop::collection::btree_set(0_usize..7, 0..5), 0..6),
        ) {
            let fitting: Vec<Vec<usize>> = fitting.into_iter().map(|places| places.into_iter().collect()).collect();
            let chosen = chosen(&fitting);
            prop_assert_eq!(chosen.iter().filter(|is| **is).count(), most(&fitting, 0));
            // Those that are chosen can be found one after the other.
            let mut start = 0;
            for (places, is_chosen) in fitting.iter().zip(chosen) {
                if is_chosen {
                    let place = places.iter().find(|place| **place >= start);
                    start = place.expect("it is there") + 1;
                }
            }
        }
    }
}
