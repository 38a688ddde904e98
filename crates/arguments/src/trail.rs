//! Which branch is taken at every fork of a schema, and the next combination after it.
//!
//! A branch may have forks of its own, so that the number of forks changes with every combination.
//! A trail remembers the forks met last time; moving on changes the last one that has a branch
//! left, and forgets what came after.

/// One combination of branches.
#[derive(Debug, Default)]
pub(super) struct Trail {
    forks: Vec<Fork>,
    met: usize,
}

#[derive(Debug, Clone, Copy)]
struct Fork {
    taken: usize,
    count: usize,
}

impl Trail {
    /// The branch to take at the next fork, of so many.
    pub(super) fn take(&mut self, count: usize) -> usize {
        if self.met == self.forks.len() {
            self.forks.push(Fork { taken: 0, count });
        }
        let taken = self.forks.get(self.met).map_or(0, |fork| fork.taken);
        self.met += 1;
        taken
    }

    /// Moves on to the next combination; false after the last one.
    pub(super) fn advance(&mut self) -> bool {
        self.forks.truncate(self.met);
        self.met = 0;
        while let Some(fork) = self.forks.last_mut() {
            fork.taken += 1;
            if fork.taken < fork.count {
                return true;
            }
            self.forks.pop();
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visits_every_combination_once() {
        let mut trail = Trail::default();
        let mut seen = Vec::new();
        loop {
            let first = trail.take(3);
            // Only the second branch forks again.
            let second = (first == 1).then(|| trail.take(2));
            seen.push((first, second));
            if !trail.advance() {
                break;
            }
        }
        assert_eq!(seen, [(0, None), (1, Some(0)), (1, Some(1)), (2, None)]);
    }
}
