//! Whether the load generator itself was the limit (rule 5 of measurement).
//!
//! A load tester that cannot keep up reports its own queue as the server's latency. It was the limit
//! when its busiest driver used more than 80 % of a core, when it came late to more than 5 % of the
//! calls (and at least 5 of them), when it missed more than 2 % of the rate, or when the load came
//! near the rate that it reaches against a server that does nothing: half of it on a schedule, 80 %
//! of it without. Our own delay only ever adds, so [`threshold`](crate::threshold) still believes a
//! latency limit that holds.

use crate::prelude::*;

/// Share of one core above which a driver has no room left.
pub const CPU_SHARE_MAX: f64 = 0.80;

/// Share of late starts that is still fine.
pub const LATE_SHARE_MAX: f64 = 0.05;

/// Late starts below which their share says nothing: a few are an accident of the machine, however
/// few calls there are.
pub const LATE_STARTS_MIN: u64 = 5;

/// Share of the rate that may be missed.
pub const MISSED_SHARE_MAX: f64 = 0.02;

/// Share of the calibrated rate that may be asked for on a schedule: beyond it the schedule has no
/// room for the generator's own work.
pub const SCHEDULED_SHARE_MAX: f64 = 0.5;

/// Share of the calibrated rate that a closed run may reach: beyond it the run measures the
/// generator.
pub const REACHED_SHARE_MAX: f64 = 0.8;

/// How many calls per second a run was about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LoadRate {
    /// The rate of the schedule, in the open model.
    Scheduled(f64),
    /// The rate that was reached, in the closed model.
    Reached(f64),
    /// Of no load, or not known.
    Unknown,
}

/// The calls of a schedule, by when the generator came to them. What a call waits for after that (a
/// session, room to send) is the server's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Starts {
    /// Calls that were due and that the generator came to.
    pub due: u64,
    /// Of these, calls that it came to more than 1 ms late.
    pub late: u64,
}

/// The generator's own state; `None` where something was not measured.
#[data]
pub struct GeneratorReport {
    /// CPU of the busiest driver, as a share of one core.
    pub cpu_share: Option<f64>,
    /// Share of the calls that the generator came to more than 1 ms late.
    pub late_share: Option<f64>,
    /// Share of the wanted rate that was not reached.
    pub missed_share: Option<f64>,
    /// Calls per second that it reached against the built-in echo before the run.
    pub calibration_per_s: Option<f64>,
    /// Threads that drove calls.
    pub drivers: u32,
    /// Whether it was the limit.
    pub limited: bool,
    /// Why it was.
    pub reasons: Vec<String>,
    /// What to change.
    pub advice: Option<Message>,
}

/// Judges the generator. What is not finite counts as not measured.
pub fn judge(
    cpu_share: Option<f64>,
    drivers: u32,
    starts: Option<Starts>,
    missed_share: Option<f64>,
    calibration: Option<f64>,
    rate: LoadRate,
) -> GeneratorReport {
    let calibration = calibration.and_then(finite);
    let cpu_share = cpu_share.and_then(finite);
    let late_share = starts.and_then(|starts| share(starts.late, starts.due));
    let is_often_late = starts.is_some_and(|starts| starts.late >= LATE_STARTS_MIN);
    let missed_share = missed_share.and_then(finite);
    let above = |share: Option<f64>, most: f64| share.filter(|share| *share > most).map(percent);
    let mut reasons = Vec::new();
    let mut advice: Vec<Message> = Vec::new();
    if let Some(share) = above(cpu_share, CPU_SHARE_MAX) {
        reasons.push(format!("its busiest driver used {share} of a core"));
        advice.extend([
            sentence!("open more sessions ({})", setting("sessions")),
            sentence!("turn the trace off ({})", setting("trace")),
            // Only calls on a schedule can be late.
            Message::from(if late_share.is_some() {
                "lower the rate"
            } else {
                "lower the load"
            }),
        ]);
    }
    if let Some(share) = above(late_share, LATE_SHARE_MAX).filter(|_| is_often_late) {
        reasons.push(format!("{share} of the calls were sent late"));
        advice.extend(["lower the rate", "run on a machine with a free core"].map(Message::from));
    }
    if let Some(share) = above(missed_share, MISSED_SHARE_MAX) {
        reasons.push(format!("it missed {share} of the rate"));
        advice.extend([
            "lower the rate".into(),
            sentence!("raise {}", setting("max_in_flight")),
        ]);
    }
    if let Some((reason, hints)) = calibration.and_then(|most| near_the_most(most, rate)) {
        reasons.push(reason);
        advice.extend(hints.iter().copied().map(Message::from));
    }
    GeneratorReport {
        cpu_share,
        late_share,
        missed_share,
        calibration_per_s: calibration,
        drivers,
        limited: !reasons.is_empty(),
        reasons,
        advice: one_of(advice),
    }
}

/// `a, b or c`, each once; none of nothing.
fn one_of(advice: Vec<Message>) -> Option<Message> {
    let mut once: Vec<Message> = Vec::new();
    for each in advice {
        if !once.contains(&each) {
            once.push(each);
        }
    }
    let last = once.len().saturating_sub(1);
    once.into_iter()
        .enumerate()
        .fold(None, |all, (place, each)| {
            let word = if place == last { " or " } else { ", " };
            Some(all.map_or(each.clone(), |all: Message| all.then(word).with(&each)))
        })
}

/// Whether a run came near the most that the generator can do, and what to change.
fn near_the_most(most_per_s: f64, rate: LoadRate) -> Option<(String, &'static [&'static str])> {
    const SCHEDULED: &[&str] = &["lower the rate", "run on a faster machine"];
    const REACHED: &[&str] = &["run on a faster machine (the server is at least this fast)"];
    let (per_s, share_max, what, hints) = match rate {
        LoadRate::Scheduled(rate) => (
            rate,
            SCHEDULED_SHARE_MAX,
            "its schedule asks for",
            SCHEDULED,
        ),
        LoadRate::Reached(rate) => (rate, REACHED_SHARE_MAX, "it made", REACHED),
        LoadRate::Unknown => return None,
    };
    let share = finite(per_s / most_per_s).filter(|share| *share > share_max)?;
    let reason = format!(
        "{what} {} calls per second, {} of the {} that it reached against the built-in echo",
        decimal(per_s, 0),
        percent(share),
        decimal(most_per_s, 0)
    );
    Some((reason, hints))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::maybe_floats;

    #[test]
    fn each_limit_counts_alone() {
        let cases = [
            (Some(0.80), Some((5, 100)), Some(0.02), vec![]),
            // One of three is an accident, and so are four of four.
            (None, Some((1, 3)), None, vec![]),
            (None, Some((4, 4)), None, vec![]),
            (None, Some((0, 0)), None, vec![]),
            (
                None,
                Some((5, 50)),
                None,
                vec!["10% of the calls were sent late"],
            ),
            (None, None, None, vec![]),
            (
                Some(0.93),
                None,
                None,
                vec!["its busiest driver used 93% of a core"],
            ),
            (
                None,
                Some((6, 100)),
                None,
                vec!["6% of the calls were sent late"],
            ),
            (None, None, Some(0.021), vec!["it missed 2.1% of the rate"]),
            (
                Some(1.0),
                None,
                Some(0.5),
                vec![
                    "its busiest driver used 100% of a core",
                    "it missed 50% of the rate",
                ],
            ),
        ];
        for (cpu, late, missed, reasons) in cases {
            let starts = late.map(|(late, due)| Starts { due, late });
            let report = judge(cpu, 1, starts, missed, Some(1e5), LoadRate::Unknown);
            assert_eq!(report.reasons, reasons);
            assert_eq!(report.limited, !reasons.is_empty());
            assert_eq!(report.advice.is_some(), report.limited);
        }
    }

    #[test]
    fn the_same_advice_is_given_once() {
        let rate = LoadRate::Scheduled(900.0);
        let late = Starts { due: 100, late: 50 };
        let report = judge(None, 1, Some(late), Some(0.5), Some(1000.0), rate);
        assert_eq!(
            report.advice.map(|advice| advice.rendered()).as_deref(),
            Some(
                "lower the rate, run on a machine with a free core, raise `max_in_flight` or run on a faster machine"
            )
        );
    }

    #[test]
    fn a_rate_near_the_calibrated_one_is_the_generators() {
        use LoadRate::{Reached, Scheduled, Unknown};
        for (rate, calibration, reason) in [
            (Scheduled(500.0), Some(1000.0), None),
            (
                Scheduled(510.0),
                Some(1000.0),
                Some(
                    "its schedule asks for 510 calls per second, 51% of the 1,000 that it reached against the built-in echo",
                ),
            ),
            (Reached(800.0), Some(1000.0), None),
            (
                Reached(900.0),
                Some(1000.0),
                Some(
                    "it made 900 calls per second, 90% of the 1,000 that it reached against the built-in echo",
                ),
            ),
            (Reached(900.0), None, None),
            (Unknown, Some(1000.0), None),
            (Reached(f64::NAN), Some(0.0), None),
        ] {
            let report = judge(None, 1, None, None, calibration, rate);
            assert_eq!(
                report.reasons.first().map(String::as_str),
                reason,
                "{rate:?}"
            );
            assert_eq!(report.limited, reason.is_some());
            assert_eq!(report.advice.is_some(), reason.is_some());
        }
    }

    proptest! {
        #[test]
        fn every_number_is_finite(cpu in maybe_floats(), late in any::<u64>(), due in any::<u64>(), missed in maybe_floats(), calibration in maybe_floats()) {
            let starts = Some(Starts { due, late });
            let report = judge(cpu, 2, starts, missed, calibration, LoadRate::Reached(1e300));
            for value in [report.cpu_share, report.late_share, report.missed_share, report.calibration_per_s] {
                prop_assert!(value.is_none_or(f64::is_finite));
            }
        }
    }
}
