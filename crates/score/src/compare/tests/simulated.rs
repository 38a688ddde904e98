//! Servers in virtual time, compared with themselves and with a slower one: the fast version of
//! `cargo xtask aa`.

use super::*;

/// Runs of each side, as `mcprove compare` makes them.
const RUNS: usize = 8;
/// Calls in flight.
const CONCURRENT: usize = 10;
const RUN_MS: f64 = 1_000.0;
/// From the end of a run to the start of the next.
const BETWEEN_MS: f64 = 200.0;

/// What a server does, besides taking its time.
#[derive(Debug, Clone, Copy, Default)]
struct Habits {
    /// How much longer its calls take than those of others.
    slower: f64,
    /// How many calls fail, on average; in some runs many, in others none.
    errors: f64,
    /// How often it stops for a while, per second, and for how long.
    pauses: (f64, f64),
    /// Calls that are let through in each period, and its length.
    quota: Option<(u32, f64)>,
}

/// The server as it is now.
struct Simulated {
    habits: Habits,
    clock: f64,
    /// Until when it stands still.
    paused_until: f64,
    next_pause: f64,
    period_end: f64,
    left: u32,
}

impl Simulated {
    fn new(habits: Habits, random: &mut Lcg) -> Self {
        Self {
            habits,
            clock: 0.0,
            paused_until: 0.0,
            next_pause: pause_after(habits, random),
            period_end: 0.0,
            left: 0,
        }
    }

    fn is_refused(&mut self, now: f64) -> bool {
        let Some((quota, period)) = self.habits.quota else {
            return false;
        };
        while now >= self.period_end {
            self.period_end += period;
            self.left = quota;
        }
        self.left = self.left.saturating_sub(1);
        self.left == 0
    }

    /// When a call that begins now is answered.
    fn end_of_call(&mut self, now: f64, usual: f64, random: &mut Lcg) -> f64 {
        while self.next_pause <= now {
            self.paused_until = self.next_pause + self.habits.pauses.1;
            self.next_pause += pause_after(self.habits, random);
        }
        now.max(self.paused_until) + usual * random.noise(0.2).max(0.1)
    }

    /// A closed load of one second.
    fn run(&mut self, slower: f64, random: &mut Lcg) -> RunSample {
        let begin = self.clock;
        // The machine is faster in one run than in the next.
        let usual = 10.0 * slower * random.noise(0.04);
        let error_rate = self.habits.errors * 4.0 * random.next().powi(3);
        let mut free = [begin; CONCURRENT];
        let (mut latencies, mut failed) = (Vec::new(), 0);
        loop {
            free.sort_by(f64::total_cmp);
            let now = free[0];
            if now >= begin + RUN_MS {
                break;
            }
            if self.is_refused(now) || random.next() < error_rate {
                failed += 1;
                free[0] = now + 1.0;
                continue;
            }
            free[0] = self.end_of_call(now, usual, random);
            latencies.push(free[0] - now);
        }
        self.clock = begin + RUN_MS + BETWEEN_MS;
        latencies.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let place = truncated_len(float_len(latencies.len()) * share);
            latencies.get(place).copied()
        };
        RunSample {
            p50_ms: at(0.5),
            p95_ms: at(0.95),
            p99_ms: at(0.99),
            throughput_per_s: float_len(latencies.len()) * 1_000.0 / RUN_MS,
            attempted: u64::try_from(latencies.len()).unwrap() + failed,
            failed,
            ..RunSample::default()
        }
    }
}

fn pause_after(habits: Habits, random: &mut Lcg) -> f64 {
    match habits.pauses.0 {
        rate if rate > 0.0 => 1_000.0 * -random.next().max(1e-9).ln() / rate,
        _ => f64::INFINITY,
    }
}

/// Compares a server with one of the same habits, whose calls take longer by a factor, in turns. A
/// quota is that of the service behind both.
fn comparison(habits: Habits, seed: u64) -> Comparison {
    let mut random = Lcg(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut server = Simulated::new(habits, &mut random);
    let mut sides = [Vec::new(), Vec::new()];
    for place in 0..2 * RUNS {
        // A B B A …
        let side = usize::from(matches!(place % 4, 1 | 2));
        let slower = if side == 1 { habits.slower } else { 1.0 };
        let sample = server.run(slower, &mut random);
        sides[side].push(sample);
    }
    against(&sides[0], &sides[1])
}

fn kinds(slower: f64) -> [Habits; 5] {
    let plain = Habits {
        slower,
        ..Habits::default()
    };
    let errors = Habits {
        errors: 0.05,
        ..plain
    };
    let pauses = Habits {
        pauses: (0.7, 250.0),
        ..plain
    };
    let limited = Habits {
        quota: Some((3_700, 4_300.0)),
        ..plain
    };
    let all = Habits {
        errors: 0.05,
        pauses: (0.4, 400.0),
        ..limited
    };
    [plain, errors, pauses, limited, all]
}

#[test]
fn identical_servers_with_errors_pauses_and_quotas_raise_no_alarm() {
    let mut alarms = 0;
    for (kind, habits) in kinds(1.0).into_iter().enumerate() {
        for seed in 1..=40 {
            let found = comparison(habits, seed);
            let is_alarm = found.change == Change::Regressed;
            // Forty in all, and of five times as many at most one in a hundred.
            assert!(!is_alarm || seed > 8, "kind {kind}, {seed}: {found:#?}");
            alarms += u32::from(is_alarm);
        }
    }
    assert!(alarms <= 2, "{alarms} of 200");
}

#[test]
fn a_fifth_slower_is_found_in_19_of_20() {
    for (kind, habits) in kinds(1.2).into_iter().enumerate() {
        let found = (1..=20)
            .filter(|seed| comparison(habits, *seed).change == Change::Regressed)
            .count();
        assert!(found >= 19, "kind {kind}: {found} of 20");
    }
}

/// The tally of failed calls that the same quota left in the runs of both sides: by calls the
/// difference is beyond doubt, by runs it is luck.
#[test]
fn a_limiter_that_strikes_a_few_runs_hard_is_no_finding() {
    let struck = |failed: [u64; 8]| -> Vec<RunSample> {
        let runs = runs(8, 1.0).into_iter().zip(failed);
        runs.map(|(run, failed)| RunSample { failed, ..run })
            .collect()
    };
    let before = struck([0, 0, 0, 0, 0, 0, 0, 400]);
    let now = struck([0, 7_000, 0, 0, 6_500, 0, 7_200, 0]);
    let errors = against(&before, &now).errors;
    assert_eq!(errors.change, Change::Inconclusive, "{errors:?}");
    assert!(
        errors
            .sentence
            .ends_with("(in 1 of 8 runs before, in 3 of 8 now)."),
        "{errors:?}"
    );
    let fewer = against(&now, &before).errors;
    assert_eq!(
        fewer.change,
        Change::Unchanged,
        "not certainly fewer: {fewer:?}"
    );
    // In every run a few more: that is the server.
    let always = struck([90, 120, 100, 80, 110, 130, 95, 105]);
    assert_eq!(
        against(&struck([0; 8]), &always).errors.change,
        Change::Regressed
    );
}
