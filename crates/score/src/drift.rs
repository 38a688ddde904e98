//! Whether calls get slower while the load stays the same.
//!
//! A line is fitted to the mean latency of each interval after the warm-up. It is a finding only
//! when the slope is over the limit by twice what its 95 % confidence interval allows and R² ≥ 0.5: then
//! the drift is real and not one slow minute, nor one of many honest runs that seem to drift by chance. It also has to be gradual, each quarter of the time slower than the one
//! before, unless the machine is known to have been quiet: a neighbour that starts a job makes a step. A slope over the
//! limit that is less sure than that is inconclusive, and so are fewer than five intervals.

use crate::machine::Machine;
use crate::prelude::*;
use crate::throughput_drift::{is_gradual, quarters};

pub const ID: &str = "latency_drift";

/// The mean latency over a run.
#[data(open)]
pub struct DriftReport {
    /// What the intervals say.
    pub outcome: Outcome,
    /// Slope of the line, in milliseconds per second.
    pub slope_ms_per_s: Option<f64>,
    /// Low end of the slope's 95 % confidence interval.
    pub slope_low: Option<f64>,
    /// High end of the slope's 95 % confidence interval.
    pub slope_high: Option<f64>,
    /// How well the line fits, 0 to 1.
    pub r_squared: Option<f64>,
    /// The limit it was held against.
    pub limit_ms_per_s: Option<f64>,
    /// Intervals used.
    pub points: usize,
    /// Intervals left out: those of the warm-up, and those without a value.
    pub discarded: usize,
}

/// Looks for drift in (time since the start, mean latency in ms of that interval).
pub fn detect(
    means: &[(Duration, f64)],
    warmup: Duration,
    limit: f64,
    machine: Machine,
) -> DriftReport {
    let trend = Trend::of(means, warmup);
    let is_excused = match machine {
        Machine::Quiet => false,
        Machine::Noisy => true,
        Machine::Unknown => !is_rising(means, warmup),
    };
    let line = trend.line.filter(|_| !limit.is_nan());
    let is_above = line.is_some_and(|line| 2.0 * line.slope_low - line.slope > limit);
    let [slope_ms_per_s, slope_low, slope_high, r_squared] = trend.numbers();
    DriftReport {
        outcome: Outcome::of(
            line.map(|line| line.slope <= limit),
            is_above && trend.is_steady() && !is_excused,
        ),
        slope_ms_per_s,
        slope_low,
        slope_high,
        r_squared,
        limit_ms_per_s: finite(limit),
        points: trend.samples,
        discarded: trend.discarded,
    }
}

/// Whether each quarter is slower than the one before.
fn is_rising(means: &[(Duration, f64)], warmup: Duration) -> bool {
    let speeds: Vec<f64> = means
        .iter()
        .filter(|(at, mean)| *at >= warmup && mean.is_finite())
        .map(|(_, mean)| 1.0 / mean)
        .collect();
    quarters(&speeds).is_some_and(is_gradual)
}

/// Whether there may be no slope at all.
fn may_be_level(report: &DriftReport) -> bool {
    report.slope_low.is_some_and(|low| low <= 0.0) && report.slope_high >= Some(0.0)
}

/// The verdict `latency_drift`; a drift is critical.
pub fn verdict(report: &DriftReport) -> Verdict {
    let points = count(report.points);
    let slope = decimal(report.slope_ms_per_s.unwrap_or_default(), 3);
    let limit = decimal(report.limit_ms_per_s.unwrap_or_default(), 3);
    let verdict = match report.outcome {
        Outcome::Pass => Verdict::pass(
            ID,
            format!(
                "Calls stay as fast as they were: the mean latency changes by {slope} ms per second, and {limit} are allowed."
            ),
        ),
        Outcome::Finding => Verdict::critical(
            ID,
            format!(
                "Calls get slower the longer the server runs: the mean latency grows by {slope} ms per second, and {limit} are allowed."
            ),
            "look for work that grows with the number of calls served: lists searched from the start, logs kept in memory, tables without an index",
        ),
        Outcome::Inconclusive if may_be_level(report) => Verdict::inconclusive(
            ID,
            "Whether calls get slower is not known: their latency changes too unevenly.",
            "run longer, and on a machine that does nothing else",
        ),
        Outcome::Inconclusive if report.slope_ms_per_s.is_some() => Verdict::inconclusive(
            ID,
            format!(
                "Calls seem to get slower by {slope} ms per second, but too unevenly to be sure, or on a machine that did other work."
            ),
            "run longer, and on a machine that does nothing else",
        ),
        Outcome::Inconclusive => Verdict::inconclusive(
            ID,
            format!(
                "{} after the warm-up {} not enough to see whether calls get slower.",
                counted(points, "interval"),
                are(points)
            ),
            format!(
                "run longer or sample more often: at least {SAMPLES_MIN} intervals after the warm-up are needed"
            ),
        ),
    };
    verdict.numbers_in(report)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::floats;

    fn each_second(mean_ms: impl Fn(f64) -> f64) -> Vec<(Duration, f64)> {
        (0..60_u32)
            .map(|s| (Duration::from_secs(s.into()), mean_ms(f64::from(s))))
            .collect()
    }

    fn report(means: &[(Duration, f64)]) -> DriftReport {
        detect(means, Duration::from_secs(10), 0.5, Machine::Unknown)
    }

    #[test]
    fn a_steady_slope_over_the_limit_is_found() {
        let report = report(&each_second(|t| 5.0 + 2.0 * t));
        assert_eq!(report.outcome, Outcome::Finding);
        assert!((report.slope_ms_per_s.unwrap() - 2.0).abs() < 1e-9);
        assert_eq!((report.points, report.discarded), (50, 10));
        assert!(verdict(&report).is_failure());
    }

    #[test]
    fn what_stays_within_the_limit_passes() {
        for means in [
            each_second(|_| 5.0),
            each_second(|t| 5.0 + 0.4 * t),
            each_second(|t| if t < 10.0 { 900.0 } else { 5.0 }),
            each_second(|t| 500.0 - t),
        ] {
            let report = report(&means);
            assert_eq!(report.outcome, Outcome::Pass, "{report:?}");
            assert_eq!(verdict(&report).outcome, Outcome::Pass);
        }
    }

    #[test]
    fn an_unsure_slope_is_inconclusive() {
        let report = report(&each_second(|t| {
            t + if t % 2.0 < 1.0 { 0.0 } else { 300.0 }
        }));
        assert_eq!(report.outcome, Outcome::Inconclusive, "{report:?}");
        assert_eq!(
            verdict(&report).sentence,
            "Whether calls get slower is not known: their latency changes too unevenly."
        );
    }

    #[test]
    fn a_step_is_a_finding_only_on_a_quiet_machine() {
        let means = each_second(|t| if t < 35.0 { 100.0 } else { 200.0 });
        for (machine, outcome) in [
            (Machine::Unknown, Outcome::Inconclusive),
            (Machine::Noisy, Outcome::Inconclusive),
            (Machine::Quiet, Outcome::Finding),
        ] {
            let report = detect(&means, Duration::from_secs(10), 0.5, machine);
            assert_eq!(report.outcome, outcome, "{machine:?}");
        }
    }

    /// One of many soaks of an honest server that handles one call at a time, with two tools in a random order.
    #[test]
    fn a_slope_that_one_run_in_a_hundred_has_by_chance_is_no_finding() {
        let means = [
            550.0, 480.0, 700.0, 560.0, 590.0, 820.0, 640.0, 760.0, 700.0, 860.0,
        ];
        let means: Vec<_> = (0..).map(Duration::from_secs).zip(means).collect();
        let report = detect(&means, Duration::ZERO, 0.5, Machine::Quiet);
        assert!(report.slope_low.unwrap() > 0.5 && report.r_squared.unwrap() > 0.5);
        assert_eq!(report.outcome, Outcome::Inconclusive, "{report:?}");
    }

    #[test]
    fn few_intervals_conclude_nothing() {
        let report = report(&each_second(|t| t * 9.0)[..14]);
        assert_eq!((report.outcome, report.points), (Outcome::Inconclusive, 4));
        assert!(
            verdict(&report)
                .sentence
                .rendered()
                .starts_with("4 intervals")
        );
        let report = detect(
            &each_second(|t| t),
            Duration::ZERO,
            f64::NAN,
            Machine::Unknown,
        );
        assert_eq!(report.outcome, Outcome::Inconclusive);
    }

    proptest! {
        #[test]
        fn every_number_is_finite(
            means in prop::collection::vec((0_u64..1_000_000, floats()), 0..20),
            limit_ms_per_s in floats(),
        ) {
            let means: Vec<_> = means.into_iter().map(|(s, v)| (Duration::from_secs(s), v)).collect();
            let report = detect(&means, Duration::ZERO, limit_ms_per_s, Machine::Unknown);
            for value in [report.slope_ms_per_s, report.slope_low, report.slope_high, report.r_squared, report.limit_ms_per_s] {
                prop_assert!(value.is_none_or(f64::is_finite), "{report:?}");
            }
            verdict(&report);
        }
    }
}
