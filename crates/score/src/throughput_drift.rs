//! Whether a server gets slower than it was at the start of a steady load: throughput in the closed model, latency in the
//! open one, where the schedule decides the rate.
//!
//! Intervals with refused calls, or with more than 5 % failed ones, are left out: a refusal takes less time than an answer.
//! The median of the other intervals in the last quarter of the time after the warm-up is compared with that of the first
//! quarter: below half of it is a finding, below 70 % a warning. Medians forgive pauses and bursts, and a last quarter whose
//! better intervals are as fast as at the start has recovered. Where every quarter is slower than the one before, the warm-up
//! is a start too: it forgives a slow start, and hides a fast one. A neighbour that takes the processor away does the same to a
//! server, so one of these has to rule that out; else it is inconclusive:
//!
//! - the machine is known to have been quiet ([`Machine::Quiet`]);
//! - it was watched, and its noise is less than the loss: noise of a quarter does not explain the loss of nine tenths
//!   ([`MachineReport::explains`]);
//! - each call takes at least twice the CPU time that it took at the start, and that is half of the change or more: the
//!   server's own work;
//! - the intervals are even, and each quarter is slower than the one before: a job that starts makes a step. On a machine
//!   that is known to have been busy ([`Machine::Noisy`]) this proves nothing.

use crate::growth::{Progress, amount_until};
use crate::machine::{Machine, MachineReport};
use crate::prelude::*;

pub const ID: &str = "throughput_drift";

/// Share of the first quarter's speed below which the last is a finding, and a warning.
pub const CRITICAL_SHARE: f64 = 0.5;
pub const WARNING_SHARE: f64 = 0.7;
/// Intervals that a finding needs, so that each quarter has a median.
pub const INTERVALS_MIN: usize = 8;
/// Growth of the CPU time of a call that only the server can cause.
pub const OWN_WORK_MIN: f64 = 2.0;
/// The part of the change that it must be.
const OWN_WORK_PART: f64 = 0.5;
/// How far intervals may lie from the middle between their neighbours on a machine that is quiet enough.
pub const NOISE_MAX: f64 = 0.2;
/// Each quarter of a gradual change is worse by so much than the one before.
const GRADUAL_SHARE: f64 = 0.95;
/// CPU time of a quarter below which it is not known well enough, in microseconds.
const CPU_MIN_US: f64 = 50_000.0;
/// Latency below which a growth is no matter, in the open model, in milliseconds.
const LATENCY_GROWTH_MIN_MS: f64 = 1.0;

/// One interval of the load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadInterval {
    /// When it began, since the start of the run.
    pub from: Duration,
    /// When it was over.
    pub until: Duration,
    /// How much of it was load.
    pub length: Duration,
    /// Calls that ended in it.
    pub completed: u64,
    /// The mean latency of those that succeeded.
    pub mean_ms: Option<f64>,
    /// Whether so many of them failed or were refused that their number does not show how fast the server is.
    pub has_failures: bool,
}

/// A steady load.
#[derive(Debug, Clone, Copy)]
pub struct SteadyLoad<'a> {
    /// Its intervals, in order, without those in which faults were injected.
    pub intervals: &'a [LoadInterval],
    /// Intervals that began before this are left out.
    pub warmup: Duration,
    /// Whether a schedule decided the rate.
    pub is_open: bool,
    /// The CPU time that the server had used until then, in microseconds.
    pub cpu_us: &'a Progress,
    /// What is known of the machine.
    pub machine: Machine,
    /// How noisy it was at the end; without a share of noise, where that is not known.
    pub noise_at_end: MachineReport,
}

/// The speed at the start and at the end.
#[derive(Debug, Clone, Serialize)]
pub struct ThroughputDriftReport {
    /// What the intervals say.
    pub outcome: Outcome,
    /// How much that matters.
    pub severity: Severity,
    /// Whether the figures are latencies.
    pub is_open: bool,
    /// The median of the first and of the last quarter: calls per second, or milliseconds.
    pub first: f64,
    pub last: f64,
    /// The speed of the last quarter as a share of the first.
    pub share: f64,
    /// How uneven the intervals are.
    pub noise: f64,
    /// The CPU time of a call in the last quarter, in times that of the first.
    pub cpu_per_call_ratio: Option<f64>,
    /// Intervals used.
    pub intervals: usize,
}

/// The verdict `throughput_drift` of a load; none with too few intervals.
pub fn judge(load: &SteadyLoad<'_>) -> Option<Verdict> {
    if let Some(report) = detect(load) {
        return Some(verdict(&report));
    }
    let failing = load.intervals.iter().filter(|it| it.has_failures).count();
    let sentence = format!(
        "Whether the server gets slower as it runs is not known: calls were refused or failed in {failing} of {} intervals.",
        load.intervals.len()
    );
    let hint = "make fewer calls than the server refuses, or look at why they fail";
    (failing >= SAMPLES_MIN).then(|| Verdict::inconclusive(ID, sentence, hint))
}

/// Compares the end of a load with its start; none with too few intervals.
pub fn detect(load: &SteadyLoad<'_>) -> Option<ThroughputDriftReport> {
    let width = load.intervals.iter().map(|it| it.length).max()?;
    let is_usable = |it: &&LoadInterval| it.length * 2 >= width && !it.has_failures;
    let intervals = || load.intervals.iter().filter(is_usable);
    let used: Vec<(&LoadInterval, f64)> = intervals()
        .filter(|it| it.from >= load.warmup)
        .filter_map(|it| Some((it, speed(it, load.is_open)?)))
        .collect();
    let speeds: Vec<f64> = used.iter().map(|(_, speed)| *speed).collect();
    if speeds.len() < SAMPLES_MIN {
        return None;
    }
    let medians = quarters(&speeds)?;
    let noise = noise(&speeds);
    let is_even_decline = noise <= NOISE_MAX && is_gradual(medians);
    let [mut start, .., end] = medians;
    if is_even_decline {
        let early = intervals().filter(|it| it.from < load.warmup);
        let early: Vec<f64> = early.filter_map(|it| speed(it, load.is_open)).collect();
        start = median(&early).map_or(start, |early| early.max(start));
    }
    let share = ratio(end, start)?;
    let cpu_per_call_ratio = cpu_per_call_ratio(&used, load.cpu_us);
    let [first, last] = [start, end].map(|speed| if load.is_open { 1.0 / speed } else { speed });
    let is_slight = load.is_open && last - first < LATENCY_GROWTH_MIN_MS;
    let limit = if share < CRITICAL_SHARE {
        CRITICAL_SHARE
    } else {
        WARNING_SHARE
    };
    let has_more_work = cpu_per_call_ratio
        .is_some_and(|ratio| ratio >= OWN_WORK_MIN && ratio * share >= OWN_WORK_PART);
    let noise_at_end = &load.noise_at_end;
    let is_more_than_noise =
        noise_at_end.others_cores.is_some() && !noise_at_end.explains(share, limit);
    let is_certain = match load.machine {
        Machine::Quiet => true,
        Machine::Noisy => has_more_work || is_more_than_noise,
        Machine::Unknown => has_more_work || is_more_than_noise || is_even_decline,
    } && speeds.len() >= INTERVALS_MIN
        && better_of_last_quarter(&speeds) < start * f64::midpoint(limit, 1.0);
    Some(ThroughputDriftReport {
        outcome: Outcome::of(Some(share >= WARNING_SHARE || is_slight), is_certain),
        severity: if share < CRITICAL_SHARE {
            Severity::Critical
        } else {
            Severity::Warning
        },
        is_open: load.is_open,
        first: finite(first)?,
        last: finite(last)?,
        share,
        noise,
        cpu_per_call_ratio,
        intervals: speeds.len(),
    })
}

/// Calls per second, or its like in the open model.
fn speed(interval: &LoadInterval, is_open: bool) -> Option<f64> {
    if is_open {
        return ratio(1.0, interval.mean_ms?);
    }
    ratio(float(interval.completed), interval.length.as_secs_f64())
}

/// The places of a quarter.
fn quarter(length: usize, number: usize) -> Range<usize> {
    number * length / 4..(number + 1) * length / 4
}

/// The medians of the quarters.
pub(crate) fn quarters(values: &[f64]) -> Option<[f64; 4]> {
    let of = |number| median(values.get(quarter(values.len(), number))?);
    Some([of(0)?, of(1)?, of(2)?, of(3)?])
}

/// Whether each is clearly less than the one before.
pub(crate) fn is_gradual(quarters: [f64; 4]) -> bool {
    quarters
        .windows(2)
        .all(|pair| pair.last() < pair.first().map(|before| before * GRADUAL_SHARE).as_ref())
}

/// How far a value usually lies from the middle between its neighbours, as a share of that.
fn noise(values: &[f64]) -> f64 {
    let shares: Vec<f64> = values
        .windows(3)
        .filter_map(|three| match three {
            [before, value, after] => {
                let middle = f64::midpoint(*before, *after);
                ratio((value - middle).abs(), middle)
            }
            _ => None,
        })
        .collect();
    median(&shares).unwrap_or_default()
}

/// What three quarters of the last quarter do not exceed.
fn better_of_last_quarter(values: &[f64]) -> f64 {
    let mut last: Vec<f64> = values
        .get(quarter(values.len(), 3))
        .unwrap_or_default()
        .to_vec();
    last.sort_by(f64::total_cmp);
    last.get(last.len() * 3 / 4).copied().unwrap_or_default()
}

/// The CPU time of a call in the last quarter, in times that of the first; none where the server did too little to tell.
fn cpu_per_call_ratio(used: &[(&LoadInterval, f64)], cpu_us: &Progress) -> Option<f64> {
    let per_call = |number| {
        let intervals = used.get(quarter(used.len(), number))?;
        let (first, last) = (intervals.first()?.0, intervals.last()?.0);
        let spent = amount_until(cpu_us, last.until) - amount_until(cpu_us, first.from);
        let calls: u64 = intervals.iter().map(|(it, _)| it.completed).sum();
        ratio(spent, float(calls)).filter(|_| spent >= CPU_MIN_US)
    };
    ratio(per_call(3)?, per_call(0)?)
}

/// The verdict `throughput_drift`.
pub fn verdict(report: &ThroughputDriftReport) -> Verdict {
    let change = if report.is_open {
        let [first, last] = [report.first, report.last].map(milliseconds);
        format!("the median latency went from {first} at the start to {last} at the end")
    } else {
        let [first, last] = [report.first, report.last].map(|rate| decimal(rate, 0));
        format!("{first} calls per second at the start, {last} at the end")
    };
    let verdict = match report.outcome {
        Outcome::Pass => {
            Verdict::pass(ID, format!("The server stays as fast as it was: {change}."))
        }
        Outcome::Finding => Verdict::finding(
            ID,
            report.severity,
            format!("The server gets slower as it runs and does not recover: {change}."),
            "look for work that grows with the number of calls served: lists searched from the start, logs kept in memory, tables without an index",
        ),
        Outcome::Inconclusive => Verdict::inconclusive(
            ID,
            format!(
                "The server was slower at the end, but other work on this machine can explain that: {change}."
            ),
            "run longer, and on a machine that does nothing else",
        ),
    };
    verdict.numbers_in(report)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::floats;

    const SECOND: Duration = Duration::from_secs(1);

    fn intervals(seconds: u32, rate: impl Fn(f64) -> f64) -> Vec<LoadInterval> {
        (0..seconds)
            .map(|second| {
                let rate = rate(f64::from(second));
                LoadInterval {
                    from: SECOND * second,
                    until: SECOND * (second + 1),
                    length: SECOND,
                    completed: truncated(rate),
                    mean_ms: Some(4000.0 / rate),
                    has_failures: false,
                }
            })
            .collect()
    }

    fn load<'a>(intervals: &'a [LoadInterval], cpu_us: &'a Progress) -> SteadyLoad<'a> {
        SteadyLoad {
            intervals,
            warmup: SECOND * 4,
            is_open: false,
            cpu_us,
            machine: Machine::Unknown,
            noise_at_end: MachineReport::default(),
        }
    }

    #[test]
    fn noise_of_a_quarter_does_not_explain_the_loss_of_nine_tenths() {
        let none = Vec::new();
        let outcome = |last: f64, noise_share| {
            let intervals = intervals(40, |t| if t < 25.0 { 857.0 } else { last });
            let noise_at_end = MachineReport {
                noise_share,
                others_cores: Some(0.3),
                ..MachineReport::default()
            };
            let load = SteadyLoad {
                machine: Machine::Noisy,
                noise_at_end,
                ..load(&intervals, &none)
            };
            detect(&load).unwrap().outcome
        };
        assert_eq!(outcome(98.0, Some(0.23)), Outcome::Finding);
        assert_eq!(outcome(98.0, Some(0.6)), Outcome::Inconclusive);
        assert_eq!(outcome(400.0, Some(0.23)), Outcome::Inconclusive);
    }

    fn outcome_of(rate: impl Fn(f64) -> f64) -> Outcome {
        detect(&load(&intervals(40, rate), &Vec::new()))
            .unwrap()
            .outcome
    }

    #[test]
    fn refusals_are_no_speed() {
        // A quota of each minute: what is refused is refused at once, and the last minute is shorter.
        let mut quota = intervals(40, |t| if t < 20.0 { 9000.0 } else { 900.0 });
        let judged = |intervals: &[LoadInterval]| judge(&load(intervals, &Vec::new()));
        let found = judged(&quota).unwrap();
        assert!(found.outcome != Outcome::Pass, "{found:?}");
        for interval in quota.iter_mut().take(20) {
            interval.has_failures = true;
        }
        assert_eq!(judged(&quota).unwrap().outcome, Outcome::Pass);
        for interval in &mut quota {
            interval.has_failures = true;
        }
        let found = judged(&quota).unwrap();
        assert_eq!(found.outcome, Outcome::Inconclusive);
        let sentence = found.sentence.rendered();
        assert!(sentence.ends_with("in 40 of 40 intervals."), "{sentence}");
        assert_eq!(judged(&[]), None);
    }

    #[test]
    fn a_collapse_is_found_in_both_models() {
        // From 5,627 to 346 per second, as it was observed.
        let intervals = intervals(40, |t| 5627.0 * (346.0_f64 / 5627.0).powf(t / 39.0));
        let none = Vec::new();
        let mut load = load(&intervals, &none);
        let report = detect(&load).unwrap();
        assert_eq!(report.outcome, Outcome::Finding, "{report:?}");
        let found = verdict(&report);
        assert!(found.is_failure());
        assert_eq!(
            found.sentence,
            "The server gets slower as it runs and does not recover: 5,058 calls per second at the start, 460 at the end."
        );
        load.is_open = true;
        let found = verdict(&detect(&load).unwrap());
        assert!(found.is_failure(), "{found:?}");
        assert!(found.sentence.rendered().contains("latency went from 0.79"));
        load.machine = Machine::Noisy;
        assert_eq!(detect(&load).unwrap().outcome, Outcome::Inconclusive);
    }

    #[test]
    fn a_list_that_is_searched_from_the_start_is_found_in_any_run() {
        // The rate falls with the square root of the time: by 42 % at most after a warm-up of a fifth.
        for seconds in [15, 40, 100, 1000] {
            let intervals = intervals(seconds, |t| 5000.0 / (1.0 + t).sqrt());
            let none = Vec::new();
            let load = SteadyLoad {
                warmup: (SECOND * seconds / 5).min(SECOND * 30),
                ..load(&intervals, &none)
            };
            let report = detect(&load).unwrap();
            assert_eq!(
                (report.outcome, report.severity),
                (Outcome::Finding, Severity::Critical),
                "{seconds}: {report:?}"
            );
        }
    }

    #[test]
    fn somewhat_slower_is_a_warning() {
        let report = detect(&load(&intervals(40, |t| 1000.0 - t * 13.0), &Vec::new())).unwrap();
        assert_eq!(
            (report.outcome, report.severity),
            (Outcome::Finding, Severity::Warning),
            "{report:?}"
        );
        assert!(!verdict(&report).is_failure());
    }

    #[test]
    fn pauses_bursts_and_recoveries_pass() {
        for (name, outcome) in [
            ("steady", outcome_of(|_| 1000.0)),
            ("faster", outcome_of(|t| 1000.0 + 30.0 * t)),
            (
                "pauses",
                outcome_of(|t| if t % 5.0 < 1.0 { 50.0 } else { 1000.0 }),
            ),
            (
                "bursts",
                outcome_of(|t| if t % 4.0 < 1.0 { 4000.0 } else { 1000.0 }),
            ),
            (
                "a job in the middle",
                outcome_of(|t| {
                    if (15.0..28.0).contains(&t) {
                        300.0
                    } else {
                        1000.0
                    }
                }),
            ),
        ] {
            assert_eq!(outcome, Outcome::Pass, "{name}");
        }
    }

    #[test]
    fn what_a_neighbour_can_do_is_inconclusive() {
        for (name, outcome) in [
            (
                "a step",
                outcome_of(|t| if t < 20.0 { 1000.0 } else { 400.0 }),
            ),
            (
                "late",
                outcome_of(|t| if t < 31.0 { 1000.0 } else { 400.0 }),
            ),
            (
                "uneven",
                outcome_of(|t| {
                    if t % 2.0 < 1.0 {
                        1500.0 - 20.0 * t
                    } else {
                        500.0 - 5.0 * t
                    }
                }),
            ),
        ] {
            assert_eq!(outcome, Outcome::Inconclusive, "{name}");
        }
    }

    #[test]
    fn a_quiet_machine_or_the_servers_own_work_decides() {
        let intervals = intervals(40, |t| if t < 20.0 { 1000.0 } else { 400.0 });
        // One core all the time: each call takes more of it.
        let busy = (0..=40)
            .map(|second| (Duration::from_secs(second), second * 1_000_000))
            .collect();
        let report = detect(&load(&intervals, &busy)).unwrap();
        assert_eq!(report.outcome, Outcome::Finding, "{report:?}");
        assert!(
            report
                .cpu_per_call_ratio
                .is_some_and(|it| (it - 2.5).abs() < 1e-9)
        );
        let none = Vec::new();
        let quiet = SteadyLoad {
            machine: Machine::Quiet,
            ..load(&intervals, &none)
        };
        assert_eq!(detect(&quiet).unwrap().outcome, Outcome::Finding);
    }

    #[test]
    fn few_intervals_find_nothing() {
        let of = |seconds| {
            let intervals = intervals(seconds, |t| 1000.0 * 0.75_f64.powf(t));
            detect(&load(&intervals, &Vec::new())).map(|report| report.outcome)
        };
        assert_eq!(of(8), None);
        assert_eq!(of(9), Some(Outcome::Inconclusive));
        assert_eq!(of(12), Some(Outcome::Finding));
    }

    proptest! {
        #[test]
        fn every_number_is_finite(
            values in prop::collection::vec((floats(), 0_u64..1_000_000, 0_u64..2_000), 0..40),
            is_open in any::<bool>(),
        ) {
            let intervals: Vec<LoadInterval> = values.into_iter().enumerate().map(|(place, (mean_ms, completed, length))| LoadInterval {
                from: Duration::from_secs(u64::try_from(place).unwrap()),
                until: Duration::from_secs(u64::try_from(place).unwrap() + 1),
                length: Duration::from_millis(length),
                completed,
                mean_ms: finite(mean_ms),
                has_failures: false,
            }).collect();
            let none = Vec::new();
            let load = SteadyLoad { is_open, warmup: Duration::ZERO, ..load(&intervals, &none) };
            if let Some(report) = detect(&load) {
                for value in [report.first, report.last, report.share, report.noise] {
                    prop_assert!(value.is_finite(), "{report:?}");
                }
                verdict(&report);
            }
        }

        #[test]
        fn an_even_server_passes_whatever_its_noise(rate in 100.0_f64..10_000.0, noise in 0.0_f64..0.25, seed in 0.0_f64..100.0) {
            let outcome = outcome_of(|t| rate * (1.0 + noise * ((t + seed) * 12.9898).sin()));
            prop_assert_ne!(outcome, Outcome::Finding);
        }

        #[test]
        fn a_collapse_is_found(end in 0.02_f64..0.3, noise in 0.0_f64..0.05) {
            let outcome = outcome_of(|t| 5000.0 * end.powf(t / 39.0) * (1.0 + noise * (t * 12.9898).sin()));
            prop_assert_eq!(outcome, Outcome::Finding);
        }
    }
}
