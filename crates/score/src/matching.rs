//! Pairing things off: each on the left with one of its own on the right, as many as possible.
//!
//! Things that nothing tells apart are one item, which stands for as many as there are. The largest
//! set of pairs is a maximum flow from left to right (Dinitz 1970), which with one thing per item is
//! the matching of Hopcroft and Karp (1973). So a thing that fits anything never takes the only
//! partner of one that does not: expected calls and recorded ones, elements of two lists.

use std::collections::VecDeque;

const SOURCE: usize = 0;
const SINK: usize = 1;

/// Pairs off as many as possible. `left` and `right` say how many each item stands for, `fits` which
/// items on the right each one on the left can have. For each item on the left: with which on the
/// right, and how many.
pub(crate) fn maximum_matching(
    left: &[usize],
    right: &[usize],
    fits: &[Vec<usize>],
) -> Vec<Vec<(usize, usize)>> {
    let first_left = SINK + 1;
    let first_right = first_left + left.len();
    let mut network = Network::new(first_right + right.len());
    for (place, supply) in left.iter().enumerate() {
        network.connect(SOURCE, first_left + place, *supply);
    }
    for (place, room) in right.iter().enumerate() {
        network.connect(first_right + place, SINK, *room);
    }
    for ((place, supply), partners) in left.iter().enumerate().zip(fits) {
        for partner in partners.iter().filter(|partner| **partner < right.len()) {
            network.connect(first_left + place, first_right + partner, *supply);
        }
    }
    network.fill();
    (0..left.len())
        .map(|place| {
            let flows = network.flows_from(first_left + place);
            flows
                .filter_map(|(node, amount)| Some((node.checked_sub(first_right)?, amount)))
                .collect()
        })
        .collect()
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
    let paired = picky.into_iter().zip(matching);
    paired
        .filter(|(_, partner)| partner.is_empty())
        .map(|(place, _)| place)
        .collect()
}

/// One way along which things can be paired, and how many more.
#[derive(Clone, Copy)]
struct Edge {
    to: usize,
    room: usize,
}

/// A flow network. An edge and the one back have places that differ in the last bit only.
struct Network {
    edges: Vec<Edge>,
    leaving: Vec<Vec<usize>>,
}

impl Network {
    fn new(nodes: usize) -> Self {
        Self {
            edges: Vec::new(),
            leaving: vec![Vec::new(); nodes],
        }
    }

    fn connect(&mut self, from: usize, to: usize, room: usize) {
        for (node, edge) in [(from, Edge { to, room }), (to, Edge { to: from, room: 0 })] {
            if let Some(leaving) = self.leaving.get_mut(node) {
                leaving.push(self.edges.len());
            }
            self.edges.push(edge);
        }
    }

    /// Sends as much as possible from the source to the sink: in each round along all shortest ways.
    fn fill(&mut self) {
        while let Some(levels) = self.levels() {
            let mut next = vec![0; self.leaving.len()];
            while let Some(way) = self.find_way(&levels, &mut next) {
                self.send(&way);
            }
        }
    }

    /// How far each node is from the source; `None` when the sink cannot be reached.
    fn levels(&self) -> Option<Vec<usize>> {
        let mut levels = vec![usize::MAX; self.leaving.len()];
        *levels.get_mut(SOURCE)? = 0;
        let mut waiting = VecDeque::from([SOURCE]);
        while let Some(node) = waiting.pop_front() {
            let level = levels.get(node)?.saturating_add(1);
            for edge in self.leaving.get(node)? {
                let edge = self.edges.get(*edge)?;
                let reached = levels.get_mut(edge.to)?;
                if edge.room > 0 && *reached == usize::MAX {
                    *reached = level;
                    waiting.push_back(edge.to);
                }
            }
        }
        (*levels.get(SINK)? < usize::MAX).then_some(levels)
    }

    /// A way on which each step leads one level on. `next` remembers the edges of each node that
    /// were tried in this round.
    fn find_way(&self, levels: &[usize], next: &mut [usize]) -> Option<Vec<usize>> {
        let mut way: Vec<usize> = Vec::new();
        let mut node = SOURCE;
        while node != SINK {
            let tried = next.get_mut(node)?;
            if let Some(&place) = self.leaving.get(node)?.get(*tried) {
                let edge = self.edges.get(place)?;
                if edge.room > 0 && *levels.get(edge.to)? == levels.get(node)?.saturating_add(1) {
                    way.push(place);
                    node = edge.to;
                } else {
                    *tried += 1;
                }
            } else {
                // A dead end: one step back, and never here again. At the source this is the end.
                let place = way.pop()?;
                node = self.edges.get(place ^ 1)?.to;
                *next.get_mut(node)? += 1;
            }
        }
        Some(way)
    }

    /// Sends as much along a way as its narrowest edge takes.
    fn send(&mut self, way: &[usize]) {
        let rooms = way.iter().filter_map(|place| self.edges.get(*place));
        let amount = rooms.map(|edge| edge.room).min().unwrap_or_default();
        for place in way {
            if let Some(edge) = self.edges.get_mut(*place) {
                edge.room -= amount;
            }
            if let Some(back) = self.edges.get_mut(place ^ 1) {
                back.room += amount;
            }
        }
    }

    /// Where to a node sends something, and how much.
    fn flows_from(&self, node: usize) -> impl Iterator<Item = (usize, usize)> {
        let leaving = self.leaving.get(node).into_iter().flatten();
        leaving.filter_map(|place| {
            let edge = self.edges.get(*place)?;
            let sent = self.edges.get(place ^ 1)?.room;
            // An edge at an odd place leads back to the source, and is no pair.
            (place % 2 == 0 && sent > 0).then_some((edge.to, sent))
        })
    }
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
