//! Ten thousand servers in virtual time: calls that wait in a row or behind a pause are never stuck, calls that are
//! never answered always are. Some have a rare slow tool beside a fast one, some take the newest of the calls that were sent together first.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::*;
use crate::decision;

/// How often the watchdog looks while calls wait, and the step of the simulated clock.
const STEP: Duration = Duration::from_millis(250);
const SERVERS: u64 = 10_000;

/// A server, asked with these limits: so many workers take calls in the order of arrival, or the newest first.
struct Server {
    limits: HangLimits,
    workers: usize,
    takes_newest: bool,
    median: Duration,
    /// Every so many calls one of a slow tool, if there is one.
    slow_every: Option<u64>,
    /// From when and for how long it does nothing at all.
    pause: (Duration, Duration),
    /// Calls that are never answered, and whether they keep their worker.
    stuck: BTreeSet<u64>,
    keeps_worker: bool,
}

impl Server {
    fn take_from(&self, queue: &mut VecDeque<u64>) -> Option<u64> {
        if self.takes_newest {
            queue.pop_back()
        } else {
            queue.pop_front()
        }
    }

    /// At most twenty times the median, most of them near it, unless the tool is slow.
    fn service_time(&self, is_slow: bool, rng: &mut Draws) -> Duration {
        let share = rng.share();
        let factor = if share < 0.9 && !is_slow {
            0.5 + share
        } else {
            1.0 + 19.0 * rng.share()
        };
        self.median.mul_f64(factor)
    }
}

/// One draw after the other.
struct Draws(u64);

impl Draws {
    fn share(&mut self) -> f64 {
        self.0 += 1;
        decision::decide_share(17, "simulated servers", self.0)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.0 += 1;
        decision::decide(17, "simulated servers", self.0) % end
    }
}

/// How the calls ended.
#[derive(Debug, Default)]
struct Endings {
    answered: u64,
    false_deadlocks: u64,
    found: BTreeSet<u64>,
    given_up: u64,
}

struct Call {
    number: u64,
    waiting: Unanswered,
    done_at: Option<Duration>,
}

/// Makes `calls` calls, `concurrent` at a time, until each is answered or judged.
fn simulate(server: &Server, calls: u64, concurrent: usize, rng: &mut Draws) -> Endings {
    let limits = server.limits;
    let (progress, tools) = <(Progress, [ToolProgress; 2])>::default();
    let is_slow = |number: u64| {
        server
            .slow_every
            .is_some_and(|every| number.is_multiple_of(every))
    };
    let tool_of = |number| &tools[usize::from(is_slow(number))];
    let (mut endings, mut now, mut sent, mut answered) = (Endings::default(), STEP, 0, 0_u64);
    let mut open: BTreeMap<u64, Call> = BTreeMap::new();
    let mut queue: VecDeque<u64> = VecDeque::new();
    let mut busy: Vec<(u64, Duration)> = Vec::new();
    let (mut blocked, mut paused_for) = (0, Duration::ZERO);
    while sent < calls || !open.is_empty() {
        while sent < calls && open.len() < concurrent {
            let waiting = Unanswered {
                sent: now,
                lost: progress.lost.total(),
                hung: None,
            };
            tool_of(sent).note_sent();
            let done_at = None;
            open.insert(
                sent,
                Call {
                    number: sent,
                    waiting,
                    done_at,
                },
            );
            queue.push_back(sent);
            sent += 1;
        }
        let is_paused = now >= server.pause.0 && paused_for < server.pause.1;
        if is_paused {
            paused_for += STEP;
            for (_, until) in &mut busy {
                *until += STEP;
            }
        }
        // What is done makes room for what waits.
        busy.retain(|(number, until)| {
            let is_done = *until <= now && !is_paused;
            if is_done && let Some(call) = open.get_mut(number) {
                call.done_at = Some(now);
            }
            !is_done
        });
        while !is_paused && busy.len() + blocked < server.workers {
            let next = server.take_from(&mut queue);
            let Some(number) = next else { break };
            if server.stuck.contains(&number) {
                blocked += usize::from(server.keeps_worker);
            } else {
                let time = server.service_time(is_slow(number), rng);
                busy.push((number, now + time));
            }
        }
        let in_flight = open.len() as u64;
        let mut ended = Vec::new();
        for call in open.values_mut() {
            if call.done_at.is_some() {
                let took = now.saturating_sub(call.waiting.sent);
                progress.note_answer(tool_of(call.number), now, took);
                answered += 1;
                endings.answered += 1;
                ended.push(call.number);
            }
        }
        for call in open.values_mut().filter(|call| call.done_at.is_none()) {
            let waited = now.saturating_sub(call.waiting.sent);
            let tool = tool_of(call.number);
            if waited >= limits.threshold && call.waiting.hung.is_none() {
                call.waiting.hung = Some(tool.mark(answered, in_flight));
            }
            let is_stuck = server.stuck.contains(&call.number);
            // Behind a stuck call that keeps the last worker, all are stuck.
            let is_lost = is_stuck || blocked >= server.workers;
            match judge_wait(&call.waiting, (&progress, tool, answered), now, &limits) {
                WaitState::Waits(_) => continue,
                WaitState::Stuck(_) | WaitState::Overtaken(_) if is_lost => {
                    endings.found.insert(call.number);
                }
                WaitState::Stuck(_) | WaitState::Overtaken(_) => endings.false_deadlocks += 1,
                WaitState::GivenUp(_) => endings.given_up += 1,
            }
            ended.push(call.number);
        }
        for number in ended {
            open.remove(&number);
            queue.retain(|waiting| *waiting != number);
        }
        now += STEP;
    }
    endings
}

#[test]
fn no_false_deadlock_and_none_missed() {
    let mut rng = Draws(0);
    let (mut inconclusive, mut with_stuck) = (0, 0);
    for number in 0..SERVERS {
        let limits = HangLimits {
            threshold: Duration::from_millis(250 + rng.below(25_000)),
            grace: Duration::from_millis(3_000 + rng.below(9_000)),
            ..HangLimits::default()
        };
        let median = Duration::from_millis(5) + limits.grace.mul_f64(0.04 * rng.share());
        // Service time and pause together stay below the grace period, by what the steps of the clock add.
        let longest = median * 20;
        let pause_max = limits.grace.saturating_sub(longest + STEP * 2);
        let pause = pause_max.mul_f64(rng.share());
        let is_faulty = rng.share() < 0.5;
        // Some loads last longer than any call is waited for.
        let calls = if rng.share() < 0.05 {
            2_000
        } else {
            20 + rng.below(180)
        };
        let server = Server {
            limits,
            workers: usize::try_from(1 + rng.below(8)).unwrap(),
            takes_newest: rng.share() < 0.3 && calls < 200,
            median,
            slow_every: (rng.share() < 0.5).then(|| 5 + rng.below(40)),
            pause: (Duration::from_millis(rng.below(20_000)), pause),
            stuck: (0..if is_faulty { 1 + rng.below(3) } else { 0 })
                .map(|_| rng.below(calls))
                .collect(),
            keeps_worker: rng.share() < 0.5,
        };
        let concurrent = if server.takes_newest {
            calls
        } else {
            1 + rng.below(100)
        };
        let concurrent = usize::try_from(concurrent).unwrap();
        let endings = simulate(&server, calls, concurrent, &mut rng);
        let what = format!(
            "server {number}: {concurrent} of {calls} calls, {} workers, median {median:?}, slow {:?}, newest first {}, pause {pause:?}, stuck {:?}: {endings:?}",
            server.workers, server.slow_every, server.takes_newest, server.stuck
        );
        assert_eq!(endings.false_deadlocks, 0, "{what}");
        // Each of them is found, or it is said that it is not known.
        let missed = server.stuck.difference(&endings.found).count() as u64;
        assert!(missed <= endings.given_up, "{what}");
        with_stuck += u64::from(is_faulty);
        if !is_faulty {
            assert_eq!(endings.answered + endings.given_up, calls, "{what}");
        }
        inconclusive += u64::from(endings.given_up > 0);
    }
    assert!(with_stuck > SERVERS / 3);
    assert!(
        inconclusive * 50 <= SERVERS,
        "{inconclusive} of {SERVERS} are inconclusive"
    );
}
