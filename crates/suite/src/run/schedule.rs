//! When a test may start: while there is room, and while its servers allow one more. Pure.
//!
//! A load is alone: whatever ran beside it would be measured too. Loads come after everything else.

use crate::prelude::*;

/// What a test needs to run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Needs {
    /// The servers, each with how many tests may use it at once.
    pub servers: Vec<(ServerKey, u32)>,
    /// Whether nothing may run beside it.
    pub is_alone: bool,
}

/// A server: the place of its suite, and its name.
pub(super) type ServerKey = (usize, String);

/// The tests that wait and those that run.
#[derive(Debug)]
pub(super) struct Schedule {
    needs: Vec<Needs>,
    waiting: VecDeque<usize>,
    used: BTreeMap<ServerKey, u32>,
    jobs: usize,
    running: usize,
    is_someone_alone: bool,
}

impl Schedule {
    /// Of tests in order, so many at once.
    pub fn new(needs: Vec<Needs>, jobs: usize) -> Self {
        let (alone, others): (Vec<usize>, Vec<usize>) =
            (0..needs.len()).partition(|test| needs.get(*test).is_some_and(|it| it.is_alone));
        Self {
            needs,
            waiting: others.into_iter().chain(alone).collect(),
            used: BTreeMap::new(),
            jobs: jobs.max(1),
            running: 0,
            is_someone_alone: false,
        }
    }

    /// The next test that may start now, which then counts as running.
    pub fn start(&mut self) -> Option<usize> {
        if self.running >= self.jobs || self.is_someone_alone {
            return None;
        }
        let place = self.waiting.iter().position(|test| self.is_ready(*test))?;
        let test = self.waiting.remove(place)?;
        let needs = self.needs.get(test)?;
        for (server, _) in &needs.servers {
            *self.used.entry(server.clone()).or_default() += 1;
        }
        self.is_someone_alone = needs.is_alone;
        self.running += 1;
        Some(test)
    }

    fn is_ready(&self, test: usize) -> bool {
        let Some(needs) = self.needs.get(test) else {
            return false;
        };
        let has_room = |(server, limit): &(ServerKey, u32)| {
            self.used.get(server).copied().unwrap_or_default() < (*limit).max(1)
        };
        (!needs.is_alone || self.running == 0) && needs.servers.iter().all(has_room)
    }

    /// A test has ended.
    pub fn end(&mut self, test: usize) {
        let Some(needs) = self.needs.get(test) else {
            return;
        };
        for (server, _) in &needs.servers {
            if let Some(used) = self.used.get_mut(server) {
                *used = used.saturating_sub(1);
            }
        }
        if needs.is_alone {
            self.is_someone_alone = false;
        }
        self.running = self.running.saturating_sub(1);
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
        let mut schedule = Schedule::new(needs, 8);
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
        let mut schedule = Schedule::new(vec![on(&[]); 5], 2);
        assert_eq!(started(&mut schedule), [0, 1]);
        schedule.end(1);
        assert_eq!(started(&mut schedule), [2]);
    }

    #[test]
    fn a_load_comes_last_and_has_nothing_beside_it() {
        let needs = vec![alone(), on(&[("a", 8)]), alone(), on(&[("b", 8)])];
        let mut schedule = Schedule::new(needs, 8);
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
        let mut schedule = Schedule::new(vec![on(&[("a", 0)]), on(&[("a", 0)])], 0);
        assert_eq!(started(&mut schedule), [0]);
        schedule.end(0);
        assert_eq!(started(&mut schedule), [1]);
    }

    #[test]
    fn once_closed_nothing_starts() {
        let mut schedule = Schedule::new(vec![on(&[]); 3], 1);
        assert_eq!(started(&mut schedule), [0]);
        schedule.close();
        schedule.end(0);
        assert_eq!(started(&mut schedule), Vec::<usize>::new());
    }
}
