//! When a test may start: while there is room, and while its servers allow one more. Pure.
//!
//! A load is alone: whatever ran beside it would be measured too. Loads come after everything else.

use crate::prelude::*;

/// What a test needs to run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    /// The servers, each with how many tests may use it at once.
    pub servers: Vec<(ServerKey, u32)>,
    /// Whether nothing may run beside it.
    pub is_alone: bool,
}

/// A server: the place of its suite, and its name.
pub type ServerKey = (usize, String);

/// The tests that wait and those that run, by their places.
#[derive(Debug)]
pub struct Schedule {
    waiting: VecDeque<(usize, Needs)>,
    running: BTreeMap<usize, Needs>,
    jobs: usize,
}

impl Schedule {
    /// Of tests in order, so many at once.
    pub fn new(needs: impl IntoIterator<Item = (usize, Needs)>, jobs: usize) -> Self {
        let (alone, others): (Vec<_>, Vec<_>) =
            needs.into_iter().partition(|(_, needs)| needs.is_alone);
        Self {
            waiting: others.into_iter().chain(alone).collect(),
            running: BTreeMap::new(),
            jobs: jobs.max(1),
        }
    }

    /// The next test that may start now, which then counts as running.
    pub fn start(&mut self) -> Option<usize> {
        let running = &self.running;
        if running.len() >= self.jobs || running.values().any(|it| it.is_alone) {
            return None;
        }
        let mut used: BTreeMap<&ServerKey, u32> = BTreeMap::new();
        for (server, _) in running.values().flat_map(|it| &it.servers) {
            *used.entry(server).or_default() += 1;
        }
        let has_room = |(server, limit): &(ServerKey, u32)| {
            used.get(server).copied().unwrap_or_default() < (*limit).max(1)
        };
        let is_ready = |(_, needs): &(usize, Needs)| {
            (!needs.is_alone || running.is_empty()) && needs.servers.iter().all(has_room)
        };
        let place = self.waiting.iter().position(is_ready)?;
        let (test, needs) = self.waiting.remove(place)?;
        self.running.insert(test, needs);
        Some(test)
    }

    pub fn end(&mut self, test: usize) {
        self.running.remove(&test);
    }

    /// Starts nothing any more.
    pub fn close(&mut self) {
        self.waiting.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(servers: &[(&str, u32)]) -> Needs {
        let servers = servers.iter();
        Needs {
            servers: servers
                .map(|(name, limit)| ((0, (*name).to_owned()), *limit))
                .collect(),
            is_alone: false,
        }
    }

    fn alone() -> Needs {
        Needs {
            is_alone: true,
            ..on(&[("a", 8)])
        }
    }

    fn started(schedule: &mut Schedule) -> Vec<usize> {
        std::iter::from_fn(|| schedule.start()).collect()
    }

    #[test]
    fn a_busy_server_does_not_hold_up_tests_of_others() {
        let needs = vec![
            on(&[("one", 1)]),
            on(&[("one", 1)]),
            on(&[("many", 8)]),
            on(&[("many", 8), ("one", 1)]),
            on(&[("many", 8)]),
        ];
        let mut schedule = Schedule::new(needs.into_iter().enumerate(), 8);
        assert_eq!(started(&mut schedule), [0, 2, 4]);
        schedule.end(2);
        assert_eq!(started(&mut schedule), Vec::<usize>::new());
        schedule.end(0);
        assert_eq!(started(&mut schedule), [1]);
        schedule.end(1);
        assert_eq!(started(&mut schedule), [3]);
    }

    #[test]
    fn there_are_never_more_than_the_jobs() {
        let mut schedule = Schedule::new(vec![on(&[]); 5].into_iter().enumerate(), 2);
        assert_eq!(started(&mut schedule), [0, 1]);
        schedule.end(1);
        assert_eq!(started(&mut schedule), [2]);
    }

    #[test]
    fn a_load_comes_last_and_has_nothing_beside_it() {
        let needs = vec![alone(), on(&[("a", 8)]), alone(), on(&[("b", 8)])];
        let mut schedule = Schedule::new(needs.into_iter().enumerate(), 8);
        assert_eq!(started(&mut schedule), [1, 3]);
        schedule.end(1);
        assert_eq!(started(&mut schedule), Vec::<usize>::new());
        schedule.end(3);
        assert_eq!(started(&mut schedule), [0]);
        schedule.end(0);
        assert_eq!(started(&mut schedule), [2]);
    }

    #[test]
    fn a_limit_of_nothing_is_one() {
        let mut schedule = Schedule::new(
            [on(&[("a", 0)]), on(&[("a", 0)])].into_iter().enumerate(),
            0,
        );
        assert_eq!(started(&mut schedule), [0]);
        schedule.end(0);
        assert_eq!(started(&mut schedule), [1]);
    }

    #[test]
    fn once_closed_nothing_starts() {
        let mut schedule = Schedule::new(vec![on(&[]); 3].into_iter().enumerate(), 1);
        assert_eq!(started(&mut schedule), [0]);
        schedule.close();
        schedule.end(0);
        assert_eq!(started(&mut schedule), Vec::<usize>::new());
    }
}
