//! Pairing things off: each on the left with one of its own on the right, as many as possible.
//!
//! Things that nothing tells apart are one item, which stands for as many as there are. Each on the left is
//! given a partner in turn; where all that fit are taken, those who have them move on to others if they can
//! (augmenting paths, Berge 1957). So a thing that fits anything never takes the only partner of one that
//! does not: expected calls and recorded ones, elements of two lists.

use crate::prelude::*;
use std::collections::VecDeque;

/// Of an item on the right: who has it, and how many of it.
type Takers = BTreeMap<usize, usize>;

/// Pairs off as many as possible. `left` and `right` say how many each item stands for, `fits` which
/// items on the right each one on the left can have. For each item on the left: with which on the
/// right, and how many.
pub fn maximum_matching(
    left: &[usize],
    right: &[usize],
    fits: &[Vec<usize>],
) -> Vec<Vec<(usize, usize)>> {
    let mut room = right.to_vec();
    let mut takers: Vec<Takers> = vec![Takers::new(); right.len()];
    let mut dead_ends = BTreeSet::new();
    for (place, supply) in left.iter().enumerate() {
        let mut rest = *supply;
        while rest > 0
            && let Some(way) = find_way(place, fits, &room, &takers, &mut dead_ends)
        {
            rest -= move_along(&way, rest, &mut room, &mut takers);
        }
    }
    let mut pairs = vec![Vec::new(); left.len()];
    for (partner, takers) in takers.into_iter().enumerate() {
        for (place, amount) in takers {
            pairs[place].push((partner, amount));
        }
    }
    pairs
}

/// A shortest way to a partner with room: who takes which, from its end back to `start`. Each takes what the
/// one before it in the list gives up. Where there is none, nothing on the way will ever have room.
fn find_way(
    start: usize,
    fits: &[Vec<usize>],
    room: &[usize],
    takers: &[Takers],
    dead_ends: &mut BTreeSet<usize>,
) -> Option<Vec<(usize, usize)>> {
    let mut taken_by: BTreeMap<usize, usize> = BTreeMap::new();
    let mut given_up: BTreeMap<usize, usize> = BTreeMap::new();
    let mut waiting = VecDeque::from([start]);
    while let Some(place) = waiting.pop_front() {
        for &partner in fits.get(place).into_iter().flatten() {
            let is_known = dead_ends.contains(&partner) || taken_by.contains_key(&partner);
            let Some(takers) = takers.get(partner).filter(|_| !is_known) else {
                continue;
            };
            taken_by.insert(partner, place);
            if room.get(partner).is_some_and(|room| *room > 0) {
                let way = std::iter::successors(Some((place, partner)), |(place, _)| {
                    let before = given_up.get(place)?;
                    Some((*taken_by.get(before)?, *before))
                });
                return Some(way.collect());
            }
            for &other in takers.keys() {
                if other != start && !given_up.contains_key(&other) {
                    given_up.insert(other, partner);
                    waiting.push_back(other);
                }
            }
        }
    }
    dead_ends.extend(taken_by.into_keys());
    None
}

/// Moves as many along a way as can be, at most `rest`; how many that are.
fn move_along(
    way: &[(usize, usize)],
    rest: usize,
    room: &mut [usize],
    takers: &mut [Takers],
) -> usize {
    let Some((_, free)) = way.first() else {
        return rest;
    };
    let moves = || {
        way.iter()
            .zip(way.iter().skip(1))
            .map(|((place, _), (_, given))| (place, given))
    };
    let held = moves().map(|(place, given)| takers[*given][place]);
    let amount = held.chain([room[*free]]).fold(rest, usize::min);
    room[*free] -= amount;
    for (place, partner) in way {
        *takers[*partner].entry(*place).or_default() += amount;
    }
    for (place, given) in moves() {
        takers[*given]
            .entry(*place)
            .and_modify(|held| *held -= amount);
        takers[*given].retain(|_, held| *held > 0);
    }
    amount
}

/// The places on the left, of `left`, that cannot all have a partner of their own among the `right`
/// on the right; empty when all can. One that fits as many as there are on the left gets one whatever
/// the others take, and is left out: at most `left²` pairs are kept, however many are on the right.
pub fn unmatched(left: usize, right: usize, fits: impl Fn(usize, usize) -> bool) -> Vec<usize> {
    let mut picky = Vec::new();
    let mut partners = Vec::new();
    for place in 0..left {
        let fitting: Vec<usize> = (0..right)
            .filter(|partner| fits(place, *partner))
            .take(left)
            .collect();
        if fitting.len() < left {
            picky.push(place);
            partners.push(fitting);
        }
    }
    let matching = maximum_matching(&vec![1; picky.len()], &vec![1; right], &partners);
    picky
        .into_iter()
        .zip(matching)
        .filter(|(_, partner)| partner.is_empty())
        .map(|(place, _)| place)
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pairs(left: &[usize], right: &[usize], fits: &[Vec<usize>]) -> usize {
        let matching = maximum_matching(left, right, fits);
        let mut taken = vec![0; right.len()];
        let mut total = 0;
        for (place, partners) in matching.iter().enumerate() {
            let mut given = 0;
            for (partner, amount) in partners {
                assert!(fits[place].contains(partner), "only what fits");
                taken[*partner] += amount;
                given += amount;
            }
            assert!(given <= left[place], "no more than there are");
            total += given;
        }
        assert!(taken.iter().zip(right).all(|(taken, room)| taken <= room));
        total
    }

    /// The largest number of pairs, by trying everything.
    fn brute_force(left: &[usize], right: &[usize], fits: &[Vec<usize>]) -> usize {
        let Some(first) = left.iter().position(|supply| *supply > 0) else {
            return 0;
        };
        let mut rest = left.to_vec();
        rest[first] -= 1;
        let mut best = brute_force(&rest, right, fits);
        for partner in &fits[first] {
            if right[*partner] > 0 {
                let mut room = right.to_vec();
                room[*partner] -= 1;
                best = best.max(1 + brute_force(&rest, &room, fits));
            }
        }
        best
    }

    #[test]
    fn small_cases() {
        assert_eq!(pairs(&[], &[], &[]), 0);
        assert_eq!(pairs(&[1], &[], &[vec![]]), 0);
        // The first fits anything and must leave the only partner of the second alone.
        assert_eq!(pairs(&[1, 1], &[1, 1], &[vec![0, 1], vec![0]]), 2);
        assert_eq!(pairs(&[2, 1], &[2, 1], &[vec![0, 1], vec![0]]), 3);
        assert_eq!(pairs(&[5], &[3], &[vec![0]]), 3);
        assert_eq!(maximum_matching(&[1], &[1], &[vec![7]]), [vec![]]);
    }

    fn alone(fits: &[&[usize]], right: usize) -> Vec<usize> {
        unmatched(fits.len(), right, |place, partner| {
            fits[place].contains(&partner)
        })
    }

    #[test]
    fn whoever_fits_anywhere_moves() {
        assert_eq!(alone(&[], 3), Vec::<usize>::new());
        assert_eq!(alone(&[&[0]], 1), Vec::<usize>::new());
        assert_eq!(alone(&[&[]], 1), [0]);
        assert_eq!(alone(&[&[0], &[0]], 2), [1]);
        assert_eq!(alone(&[&[0, 1], &[0]], 2), Vec::<usize>::new());
        assert_eq!(alone(&[&[0, 1], &[0, 2], &[0]], 3), Vec::<usize>::new());
        assert_eq!(alone(&[&[0, 1], &[1, 2], &[0, 1], &[1]], 3), [3]);
        assert_eq!(alone(&[&[0], &[0]], 1), [1]);
        // A chain that moves all the way.
        let chain: Vec<Vec<usize>> = (0..500).map(|place| vec![place, place + 1]).collect();
        let mut chain: Vec<&[usize]> = chain.iter().map(Vec::as_slice).collect();
        chain.push(&[0]);
        assert_eq!(alone(&chain, 501), Vec::<usize>::new());
        assert_eq!(alone(&chain, 500).len(), 1);
    }

    #[test]
    fn a_long_chain_is_followed_without_recursion() {
        let length = 20_000;
        let ones = vec![1; length];
        let mut fits: Vec<Vec<usize>> = (0..length - 1)
            .map(|place| vec![place, place + 1])
            .collect();
        fits.push(vec![0]);
        assert_eq!(pairs(&ones, &ones, &fits), length);
    }

    proptest! {
        #[test]
        fn as_many_pairs_as_by_trying_everything(
            left in prop::collection::vec(0_usize..3, 0..4),
            right in prop::collection::vec(0_usize..3, 1..4),
            seed in prop::collection::vec(any::<bool>(), 16),
        ) {
            let fits: Vec<Vec<usize>> = (0..left.len())
                .map(|i| (0..right.len()).filter(|j| seed[i * 4 + j]).collect())
                .collect();
            prop_assert_eq!(pairs(&left, &right, &fits), brute_force(&left, &right, &fits));
            let (ones, rooms) = (vec![1; left.len()], vec![1; right.len()]);
            let alone = unmatched(left.len(), right.len(), |i, j| fits[i].contains(&j));
            prop_assert_eq!(left.len() - alone.len(), brute_force(&ones, &rooms, &fits));
        }
    }
}
