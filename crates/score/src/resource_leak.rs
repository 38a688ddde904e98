//! Whether a server keeps descriptors, threads or child processes of its calls.
//!
//! One rule for all three ([`growth`](crate::growth)): a leak is a growth of at least 50 and of at least 0.05 per call, by
//! more than calls in flight can hold, on a clear line (R² ≥ 0.8), that goes on in the second half. Less is none, and
//! neither is a plateau: a pool that is full. What grows so much and is not clear is inconclusive. It is asked only of
//! loads with the same number of clients all the time, because more clients may well need more of everything.
//!
//! What a server keeps for a while, such as a connection for 8 s after each call, looks the same in a short run. So after a load
//! in which something grew the idle server is watched: if half of the growth is gone, it is no leak, and where all of
//! that took less than 20 s, it is a warning. Descriptors that reach the limit of their process are a leak, whatever the line does.

use crate::growth::{Ending, Growth, Progress};
use crate::prelude::*;

/// The least growth, in all and for each call.
pub const GROWTH_MIN: f64 = 50.0;
pub const PER_CALL_MIN: f64 = 0.05;
/// How long a server must have been watched, the time after the load included, for what it keeps to be kept for good.
pub const WATCHED_MIN: Duration = Duration::from_secs(20);
/// The share of the limit of its descriptors from which a process has used them up.
pub const FULL_SHARE: f64 = 0.9;
/// How well a line must fit.
pub const R_SQUARED_MIN: f64 = 0.8;

/// What can be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource {
    /// Open files, sockets and the like.
    Descriptors,
    /// Threads of all processes.
    Threads,
    /// Processes that the server started.
    Processes,
}

impl Resource {
    pub const ALL: [Self; 3] = [Self::Descriptors, Self::Threads, Self::Processes];

    /// The detector that looks for it.
    pub const fn detector(self) -> &'static str {
        match self {
            Self::Descriptors => "descriptor_leak",
            Self::Threads => "thread_leak",
            Self::Processes => "process_leak",
        }
    }

    /// What they are called in a sentence.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Descriptors => "open descriptors",
            Self::Threads => "threads",
            Self::Processes => "processes",
        }
    }

    const fn hint(self) -> &'static str {
        match self {
            Self::Descriptors => {
                "close what each call opens, also when it fails: files, sockets, pipes; the list is in /proc/PID/fd on Linux"
            }
            Self::Threads => {
                "use a pool with a limit instead of a thread for each call, and end threads that wait for nothing"
            }
            Self::Processes => "end and wait for every process that a call starts",
        }
    }
}

/// What was sampled of one resource, and what the load was like.
#[derive(Debug, Clone, Copy)]
pub struct Sampled<'a> {
    /// (Time since the start, how many).
    pub samples: &'a [(Duration, f64)],
    /// Samples before this are left out.
    pub warmup: Duration,
    /// Calls that had ended.
    pub calls: &'a Progress,
    /// The most calls in flight.
    pub in_flight: u64,
    /// The same after the load, while the server had nothing to do.
    pub after: &'a [(Duration, f64)],
    /// Whether a process had used up all that it may have.
    pub is_full: bool,
}

/// Whether it grew by so much that it may be a leak.
pub fn may_be_kept(first: f64, last: f64) -> bool {
    last - first >= GROWTH_MIN
}

/// Whether half of what it grew by is gone.
pub fn is_released(first: f64, most: f64, now: f64) -> bool {
    now <= f64::midpoint(first, most)
}

/// What a resource did over a run.
#[derive(Debug, Clone, Serialize)]
pub struct ResourceReport {
    /// What the samples say.
    pub outcome: Outcome,
    /// In the first and the last sample after the warm-up.
    pub first: f64,
    pub last: f64,
    /// Growth over the sampled time.
    pub growth: Option<f64>,
    /// The same for each call that ended meanwhile.
    pub growth_per_call: Option<f64>,
    /// How well a line fits, 0 to 1.
    pub r_squared: Option<f64>,
    /// Since when it has not grown any more, in seconds since the start; none unless that is sure.
    pub flat_since_secs: Option<f64>,
    /// Samples used.
    pub samples: usize,
    /// The least that there was after the load, while the server had nothing to do.
    pub least_after: Option<f64>,
    /// Whether that is so little that it was kept for a while only.
    pub is_released: bool,
    /// Whether a process had used up all that it may have.
    pub is_full: bool,
    /// How long it was watched, in seconds, the time after the load included.
    pub watched_secs: f64,
}

/// Judges a resource; none with too few samples or without calls.
pub fn detect(sampled: &Sampled<'_>) -> Option<ResourceReport> {
    if let Some(report) = detect_full(sampled) {
        return Some(report);
    }
    let growth = Growth::of(sampled.samples, sampled.warmup);
    let amount = growth.amount?;
    let per_call = growth.per(sampled.calls)?;
    let is_flat = growth.ending == Ending::Flat;
    let is_little =
        amount < GROWTH_MIN || per_call < PER_CALL_MIN || amount <= float(sampled.in_flight);
    let is_certain = growth.fits(R_SQUARED_MIN) && growth.ending == Ending::Growing;
    let (first, last) = (growth.first.1, growth.last.1);
    let least_after = sampled.after.iter().map(|(_, value)| *value);
    let least_after = least_after.min_by(f64::total_cmp);
    let is_released = last > first && least_after.is_some_and(|now| is_released(first, last, now));
    Some(ResourceReport {
        outcome: Outcome::of(Some(is_little || is_flat || is_released), is_certain),
        first,
        last,
        growth: Some(amount),
        growth_per_call: Some(per_call),
        r_squared: growth.trend.line.map(|line| line.r_squared),
        flat_since_secs: is_flat.then_some(growth.last_rise.as_secs_f64()),
        samples: growth.trend.samples,
        least_after,
        is_released,
        is_full: false,
        watched_secs: watched(sampled).as_secs_f64(),
    })
}

/// A resource that grew until its process had used up all that it may have: then it cannot grow any more, and calls may fail.
fn detect_full(sampled: &Sampled<'_>) -> Option<ResourceReport> {
    let first = sampled.samples.first()?.1;
    let values = sampled.samples.iter().map(|(_, value)| *value);
    let most = values.max_by(f64::total_cmp)?;
    let growth = finite(most - first)?;
    let is_kept = may_be_kept(first, most) && growth > float(sampled.in_flight);
    (sampled.is_full && is_kept).then(|| ResourceReport {
        outcome: Outcome::Finding,
        first,
        last: most,
        growth: Some(growth),
        growth_per_call: None,
        r_squared: None,
        flat_since_secs: None,
        samples: sampled.samples.len(),
        least_after: None,
        is_released: false,
        is_full: true,
        watched_secs: watched(sampled).as_secs_f64(),
    })
}

/// How long it was watched, from the start of the run.
fn watched(sampled: &Sampled<'_>) -> Duration {
    let all = sampled.samples.iter().chain(sampled.after);
    all.map(|(at, _)| *at).max().unwrap_or_default()
}

/// The verdict of the resource's detector; a leak is critical, unless the run was too short to tell.
pub fn verdict(resource: Resource, report: &ResourceReport) -> Verdict {
    let noun = resource.noun();
    let detector = resource.detector();
    let [first, last] = [report.first, report.last].map(|number| decimal(number, 0));
    let per_call = decimal(report.growth_per_call.unwrap_or_default(), 2);
    let verdict = match report.outcome {
        Outcome::Pass if report.is_released => Verdict::pass(
            detector,
            format!(
                "The server went from {first} to {last} {noun}, and to {} after the load: no leak.",
                decimal(report.least_after.unwrap_or_default(), 0)
            ),
        ),
        Outcome::Pass if report.growth.unwrap_or_default() >= GROWTH_MIN => Verdict::pass(
            detector,
            match report.flat_since_secs {
                Some(since) => format!(
                    "The server went from {first} to {last} {noun}, and stayed there from {} s on: no leak.",
                    decimal(since, 0)
                ),
                None => format!(
                    "The server went from {first} to {last} {noun}: fewer than one more per call."
                ),
            },
        ),
        Outcome::Pass => Verdict::pass(
            detector,
            format!("The server does not collect {noun}: {first} at first, {last} at last."),
        ),
        Outcome::Finding if report.is_full => Verdict::critical(
            detector,
            format!(
                "The server went from {first} to {last} {noun}, and a process of it has used up nearly all that it may have."
            ),
            resource.hint(),
        ),
        Outcome::Finding if report.watched_secs < WATCHED_MIN.as_secs_f64() => Verdict::warning(
            detector,
            format!(
                "The server keeps {noun} of its calls: from {first} to {last}, {per_call} per call, but {} s are too short to tell whether it releases them later.",
                decimal(report.watched_secs, 0)
            ),
            format!(
                "run for at least {} s; {}",
                decimal(WATCHED_MIN.as_secs_f64(), 0),
                resource.hint()
            ),
        ),
        Outcome::Finding => Verdict::critical(
            detector,
            format!(
                "The server keeps {noun} of its calls: from {first} to {last}, {per_call} per call, and still growing at the end."
            ),
            resource.hint(),
        ),
        Outcome::Inconclusive => Verdict::inconclusive(
            detector,
            format!(
                "The server went from {first} to {last} {noun}, but too unevenly to call it a leak."
            ),
            "run longer, to see whether they go on growing",
        ),
    };
    verdict.numbers_in(report)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::floats;

    fn detect_in(value: impl Fn(f64) -> f64, calls: u64, in_flight: u64) -> ResourceReport {
        let samples: Vec<_> = (0..=20_u32)
            .map(|second| (Duration::from_secs(second.into()), value(f64::from(second))))
            .collect();
        detect(&Sampled {
            samples: &samples,
            warmup: Duration::from_secs(4),
            calls: &vec![(Duration::from_secs(20), calls)],
            in_flight,
            after: &[],
            is_full: false,
        })
        .unwrap()
    }

    /// A leak in a load of so many seconds, and what there is in the ten seconds after it.
    fn detect_after(seconds: u32, after: impl Fn(f64) -> f64) -> Verdict {
        let second = |at: u32| Duration::from_secs(at.into());
        let samples: Vec<_> = (0..=seconds * 4)
            .map(|quarter| (second(quarter) / 4, 10.0 + f64::from(quarter) * 40.0))
            .collect();
        let after: Vec<_> = (1..=10)
            .map(|later| (second(seconds + later), after(f64::from(later))))
            .collect();
        let report = detect(&Sampled {
            samples: &samples,
            warmup: second(1),
            calls: &vec![(second(seconds), u64::from(seconds) * 160)],
            in_flight: 4,
            after: &after,
            is_full: false,
        });
        verdict(Resource::Descriptors, &report.unwrap())
    }

    #[test]
    fn what_is_released_after_the_load_is_no_leak() {
        // A connection that is kept for 8 s after each call, in a run of 5 s.
        let released = detect_after(5, |later| if later < 8.0 { 810.0 } else { 10.0 });
        assert_eq!(released.outcome, Outcome::Pass, "{released:?}");
        assert_eq!(
            released.sentence,
            "The server went from 170 to 810 open descriptors, and to 10 after the load: no leak."
        );
        let short = detect_after(5, |_| 810.0);
        assert_eq!(
            (short.outcome, short.severity),
            (Outcome::Finding, Severity::Warning)
        );
        assert_eq!(
            short.sentence,
            "The server keeps open descriptors of its calls: from 170 to 810, 1 per call, but 15 s are too short to tell whether it releases them later."
        );
        assert!(detect_after(12, |_| 1930.0).is_failure());
    }

    #[test]
    fn descriptors_that_reach_the_limit_are_a_leak_though_they_grow_no_more() {
        // The limit is 256, and was reached in the warm-up.
        let samples: Vec<_> = (0..20_u32)
            .map(|second| {
                let at = Duration::from_secs(second.into());
                (at, (6.0 + 100.0 * f64::from(second)).min(256.0))
            })
            .collect();
        for (is_full, outcome) in [(true, Outcome::Finding), (false, Outcome::Pass)] {
            let report = detect(&Sampled {
                samples: &samples,
                warmup: Duration::from_secs(4),
                calls: &vec![(Duration::from_secs(20), 500)],
                in_flight: 4,
                after: &[],
                is_full,
            });
            let verdict = verdict(Resource::Descriptors, &report.unwrap());
            assert_eq!(verdict.outcome, outcome, "{verdict:?}");
        }
    }

    #[test]
    fn one_for_each_call_is_a_leak() {
        // Descriptors from 6 to 740, as it was observed.
        let report = detect_in(|t| (6.0 + t * 36.7).round(), 734, 4);
        assert_eq!(report.outcome, Outcome::Finding, "{report:?}");
        let verdict = verdict(Resource::Descriptors, &report);
        assert!(verdict.is_failure());
        assert_eq!(verdict.detector, "descriptor_leak");
        assert_eq!(
            verdict.sentence,
            "The server keeps open descriptors of its calls: from 153 to 740, 1 per call, and still growing at the end."
        );
        for (resource, detector) in [
            (Resource::Threads, "thread_leak"),
            (Resource::Processes, "process_leak"),
        ] {
            assert_eq!(super::verdict(resource, &report).detector, detector);
        }
    }

    #[test]
    fn what_calls_do_not_leave_is_no_leak() {
        let cases: [(&str, ResourceReport); 6] = [
            ("steady", detect_in(|_| 6.0, 1000, 4)),
            ("few", detect_in(|t| t * 2.0, 100, 4)),
            ("few for each call", detect_in(|t| t * 10.0, 10_000, 4)),
            ("those in flight", detect_in(|t| t * 5.0, 200, 100)),
            (
                "a pool that fills up",
                detect_in(|t| (t * 20.0).min(200.0), 400, 4),
            ),
            ("falling", detect_in(|t| 500.0 - t * 20.0, 400, 4)),
        ];
        for (name, report) in cases {
            assert_eq!(report.outcome, Outcome::Pass, "{name}: {report:?}");
        }
        let pool = detect_in(|t| (t * 20.0).min(200.0), 400, 4);
        assert_eq!(
            verdict(Resource::Threads, &pool).sentence,
            "The server went from 80 to 200 threads, and stayed there from 10 s on: no leak."
        );
    }

    #[test]
    fn uneven_growth_is_inconclusive() {
        let report = detect_in(|t| t * 10.0 + t % 5.0 * 60.0, 400, 4);
        assert_eq!(report.outcome, Outcome::Inconclusive, "{report:?}");
        let verdict = verdict(Resource::Threads, &report);
        assert!(verdict.sentence.rendered().contains("unevenly"));
    }

    proptest! {
        #[test]
        fn it_is_a_finding_only_of_what_was_seen(
            samples in prop::collection::vec((0_u64..1_000, floats()), 0..40),
            calls in 0_u64..10_000,
            in_flight in 0_u64..100,
        ) {
            let samples: Vec<_> = samples.into_iter().map(|(s, v)| (Duration::from_secs(s), v)).collect();
            let calls = vec![(Duration::from_secs(1_000), calls)];
            let sampled = Sampled { samples: &samples, warmup: Duration::ZERO, calls: &calls, in_flight, after: &[], is_full: false };
            if let Some(report) = detect(&sampled) {
                prop_assert!(report.growth.is_some_and(f64::is_finite), "{report:?}");
                if report.outcome == Outcome::Finding {
                    prop_assert!(report.growth >= Some(GROWTH_MIN) && report.growth_per_call >= Some(PER_CALL_MIN));
                }
                verdict(Resource::Processes, &report);
            }
        }

        #[test]
        fn leaks_are_found_and_pools_are_not(
            for_each in 0.2_f64..3.0,
            full_at in 0.05_f64..0.7,
            calls in 400_u64..100_000,
        ) {
            let most = for_each * float(calls);
            let leak = detect_in(|t| (6.0 + most * t / 20.0).round(), calls, 4);
            prop_assert_eq!(leak.outcome, Outcome::Finding);
            let pool = detect_in(|t| (6.0 + most * (t / 20.0 / full_at).min(1.0)).round(), calls, 4);
            prop_assert_ne!(pool.outcome, Outcome::Finding);
        }
    }
}
