//! Whether the server's memory keeps growing.
//!
//! A line `rss_mb = a · t + b` is fitted to the samples after the warm-up; the growth is that of the line
//! over the time that was sampled ([`growth`](crate::growth)). Up to the threshold there is no leak, however
//! noisy the samples. Over it, R² ≥ 0.5 and a second half that still grows make it a leak; a plateau is none,
//! and anything else is indeterminate. Fewer than five samples after the warm-up are
//! always indeterminate and give no numbers: four points on a line are luck as often as a leak,
//! and few quiet ones are no proof of the opposite.

use crate::growth::{Ending, Growth, Progress};
use crate::prelude::*;
use crate::regression::R_SQUARED_MIN;

pub const ID: &str = "leak";

/// The longest warm-up that is taken when none is given.
pub const WARMUP_MAX: Duration = Duration::from_secs(30);

/// What counts as a leak.
#[derive(Debug, Clone, PartialEq)]
pub struct LeakSettings {
    /// Growth over the sampled time that is still allowed, in MB.
    pub threshold_mb: f64,
    /// Samples before this are left out; `None` takes the smaller of 30 s and 20 % of the run.
    pub warmup: Option<Duration>,
}

impl Default for LeakSettings {
    fn default() -> Self {
        Self {
            threshold_mb: 50.0,
            warmup: None,
        }
    }
}

impl LeakSettings {
    /// The warm-up of a run of this length.
    pub fn warmup_of(&self, run: Duration) -> Duration {
        self.warmup.unwrap_or_else(|| WARMUP_MAX.min(run / 5))
    }
}

/// What the server served while it was sampled, to say what it kept of each.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Served {
    /// Calls that had ended.
    pub calls: Progress,
    /// Sessions that had been opened.
    pub sessions: Progress,
}

/// What the samples say.
#[data(Copy, Eq, Hash)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum LeakOutcome {
    /// The growth is within the threshold, or it has reached a plateau.
    NoLeak,
    /// The growth is over the threshold, on a clear line, and goes on.
    LeakDetected,
    /// Too few samples, or too noisy.
    Indeterminate,
}

/// The memory of a server over a run.
#[data(open)]
pub struct LeakReport {
    /// What the samples say.
    pub outcome: LeakOutcome,
    /// Growth over the sampled time, in MB.
    pub growth_mb: Option<f64>,
    /// The same for each call that ended meanwhile, in kB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub growth_per_call_kb: Option<f64>,
    /// The same for each session that was opened meanwhile, in kB; where sessions come and go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub growth_per_session_kb: Option<f64>,
    /// Since when the memory has not grown any more, in seconds since the start; none unless that is sure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flat_since_secs: Option<f64>,
    /// Slope of the line, in MB per second.
    pub slope_mb_per_s: Option<f64>,
    /// Low end of the slope's 95 % confidence interval.
    pub slope_low: Option<f64>,
    /// High end of the slope's 95 % confidence interval.
    pub slope_high: Option<f64>,
    /// How well the line fits, 0 to 1.
    pub r_squared: Option<f64>,
    /// Samples used.
    pub samples: usize,
    /// Samples left out: those of the warm-up, and those without a value.
    pub discarded: usize,
}

impl LeakReport {
    /// The growth that a limit may be compared with: `None` when it is indeterminate.
    pub fn growth_to_gate_mb(&self) -> Option<f64> {
        self.growth_mb
            .filter(|_| self.outcome != LeakOutcome::Indeterminate)
    }
}

/// Looks for growth in samples of (time since the start, resident MB) of a run of length `run`.
pub fn detect(
    samples: &[(Duration, f64)],
    run: Duration,
    settings: &LeakSettings,
    served: &Served,
) -> LeakReport {
    let growth = Growth::of(samples, settings.warmup_of(run));
    let is_flat = growth.ending == Ending::Flat;
    let holds = growth
        .amount
        .filter(|_| !settings.threshold_mb.is_nan())
        .map(|growth_mb| growth_mb <= settings.threshold_mb || is_flat);
    let is_certain = growth.fits(R_SQUARED_MIN) && growth.ending == Ending::Growing;
    let [slope_mb_per_s, slope_low, slope_high, r_squared] = growth.trend.numbers();
    let kilobytes = |growth_mb: f64| finite(growth_mb * 1e3);
    LeakReport {
        outcome: match Outcome::of(holds, is_certain) {
            Outcome::Pass => LeakOutcome::NoLeak,
            Outcome::Finding => LeakOutcome::LeakDetected,
            Outcome::Inconclusive => LeakOutcome::Indeterminate,
        },
        growth_mb: growth.amount,
        growth_per_call_kb: growth.per(&served.calls).and_then(kilobytes),
        growth_per_session_kb: growth.per(&served.sessions).and_then(kilobytes),
        flat_since_secs: is_flat.then_some(growth.last_rise.as_secs_f64()),
        slope_mb_per_s,
        slope_low,
        slope_high,
        r_squared,
        samples: growth.trend.samples,
        discarded: growth.trend.discarded,
    }
}

/// The verdict `leak`; a leak is critical.
pub fn verdict(report: &LeakReport, settings: &LeakSettings) -> Verdict {
    let threshold = decimal(settings.threshold_mb, 1);
    let samples = count(report.samples);
    let growth_mb = report.growth_mb.unwrap_or_default();
    let growth = format!("{} MB{}", decimal(growth_mb, 1), per_call(report));
    let is_over = growth_mb > settings.threshold_mb;
    let verdict = match report.outcome {
        LeakOutcome::NoLeak if is_over => Verdict::pass(
            ID,
            format!(
                "The server's memory grew by {growth}, and has stayed flat since {} s: no leak.",
                decimal(report.flat_since_secs.unwrap_or_default(), 0)
            ),
        ),
        LeakOutcome::NoLeak => Verdict::pass(
            ID,
            format!(
                "The server's memory changed by {growth} while it was sampled, within the allowed {threshold} MB."
            ),
        ),
        LeakOutcome::LeakDetected => Verdict::critical(
            ID,
            format!(
                "The server's memory grows steadily and still did at the end: by {growth} while it was sampled, and {threshold} MB are allowed."
            ),
            "look for what every call adds and nothing removes: caches without a limit, global lists, listeners, sessions",
        ),
        LeakOutcome::Indeterminate if report.growth_mb.is_some() => Verdict::inconclusive(
            ID,
            format!(
                "The server's memory grew by {growth} while it was sampled, but too unevenly to call it a leak."
            ),
            "run longer, or with a longer warm-up, to see whether it goes on growing",
        ),
        LeakOutcome::Indeterminate => Verdict::inconclusive(
            ID,
            format!(
                "{} of the server's memory after the warm-up {} not enough to detect a leak.",
                counted(samples, "usable sample"),
                are(samples)
            ),
            format!(
                "run longer or sample more often: at least {SAMPLES_MIN} samples after the warm-up are needed"
            ),
        ),
    };
    verdict
        .number("threshold_mb", settings.threshold_mb)
        .numbers_in(report)
}

/// Growth per call below which it says nothing, in kB.
const PER_CALL_MIN_KB: f64 = 0.01;

/// What was kept of each call, where something was.
fn per_call(report: &LeakReport) -> String {
    match report.growth_per_call_kb {
        Some(kilobytes) if kilobytes >= PER_CALL_MIN_KB => {
            format!(" ({} kB per call)", decimal(kilobytes, 2))
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::floats;
    use crate::verdict::Outcome;

    const RUN: Duration = Duration::from_secs(100);

    fn every_five_seconds(rss_mb: impl Fn(f64) -> f64) -> Vec<(Duration, f64)> {
        (0..=20_u32)
            .map(|i| 5 * i)
            .map(|t| (Duration::from_secs(t.into()), rss_mb(f64::from(t))))
            .collect()
    }

    /// Ten calls a second.
    fn served() -> Served {
        Served {
            calls: (0..=100)
                .map(|second| (Duration::from_secs(second), 10 * second))
                .collect(),
            ..Served::default()
        }
    }

    fn examine(samples: &[(Duration, f64)]) -> LeakReport {
        detect(samples, RUN, &LeakSettings::default(), &served())
    }

    fn outcome(samples: &[(Duration, f64)]) -> LeakOutcome {
        examine(samples).outcome
    }

    #[test]
    fn steady_growth_over_the_threshold_is_a_leak() {
        let settings = LeakSettings::default();
        let report = detect(&every_five_seconds(|t| 40.0 + t), RUN, &settings, &served());
        assert_eq!(report.outcome, LeakOutcome::LeakDetected);
        assert!((report.growth_mb.unwrap() - 80.0).abs() < 1e-9);
        assert!((report.growth_per_call_kb.unwrap() - 100.0).abs() < 1e-9);
        assert!((report.r_squared.unwrap() - 1.0).abs() < 1e-9);
        assert_eq!((report.samples, report.discarded), (17, 4));
        let verdict = verdict(&report, &settings);
        assert!(verdict.is_failure());
        assert_eq!(
            verdict.sentence,
            "The server's memory grows steadily and still did at the end: by 80 MB (100 kB per call) while it was sampled, and 50 MB are allowed."
        );
    }

    #[test]
    fn a_full_cache_is_no_leak_and_a_staircase_is_one() {
        let report = examine(&every_five_seconds(|t| 40.0 + 1.8 * t.min(60.0)));
        assert_eq!(report.outcome, LeakOutcome::NoLeak, "{report:?}");
        let verdict = verdict(&report, &LeakSettings::default());
        assert_eq!(verdict.outcome, Outcome::Pass);
        assert_eq!(
            verdict.sentence,
            "The server's memory grew by 72 MB (90 kB per call), and has stayed flat since 60 s: no leak."
        );
        let stairs = examine(&every_five_seconds(|t| 40.0 + 30.0 * (t / 15.0).floor()));
        assert_eq!(stairs.outcome, LeakOutcome::LeakDetected, "{stairs:?}");
    }

    #[test]
    fn growth_within_the_threshold_passes_whatever_the_fit() {
        for samples in [
            every_five_seconds(|_| 40.0),
            every_five_seconds(|t| 40.0 + t * 0.5),
            every_five_seconds(|t| if t % 10.0 < 5.0 { 10.0 } else { 500.0 }),
            every_five_seconds(|t| 500.0 - t),
        ] {
            let report = examine(&samples);
            assert_eq!(report.outcome, LeakOutcome::NoLeak, "{report:?}");
            assert_eq!(
                verdict(&report, &LeakSettings::default()).outcome,
                Outcome::Pass
            );
        }
    }

    #[test]
    fn noisy_growth_is_indeterminate() {
        let samples = every_five_seconds(|t| t + if t % 10.0 < 5.0 { 0.0 } else { 400.0 });
        let report = examine(&samples);
        assert_eq!(report.outcome, LeakOutcome::Indeterminate);
        assert!(report.growth_mb.unwrap() > 50.0);
        assert_eq!(report.growth_to_gate_mb(), None);
        let verdict = verdict(&report, &LeakSettings::default());
        assert_eq!(verdict.outcome, Outcome::Inconclusive);
        assert!(
            verdict.sentence.rendered().contains("unevenly"),
            "{:?}",
            verdict.sentence
        );
    }

    #[test]
    fn warm_up_growth_is_forgiven() {
        assert_eq!(
            outcome(&every_five_seconds(|t| t.min(20.0) * 20.0)),
            LeakOutcome::NoLeak
        );
        let all = LeakSettings {
            warmup: Some(Duration::ZERO),
            ..LeakSettings::default()
        };
        let report = detect(
            &every_five_seconds(|t| t.min(20.0) * 20.0),
            RUN,
            &all,
            &served(),
        );
        assert_eq!(report.discarded, 0);
        assert!(report.growth_mb.unwrap() > 50.0);
        let settings = LeakSettings::default();
        assert_eq!(
            settings.warmup_of(Duration::from_secs(50)),
            Duration::from_secs(10)
        );
        assert_eq!(settings.warmup_of(Duration::from_hours(1)), WARMUP_MAX);
    }

    #[test]
    fn few_samples_conclude_nothing() {
        let four: Vec<_> = every_five_seconds(|t| t).into_iter().skip(17).collect();
        for samples in [vec![], four] {
            let report = examine(&samples);
            assert_eq!(report.outcome, LeakOutcome::Indeterminate);
            assert_eq!((report.growth_mb, report.r_squared), (None, None));
            let verdict = verdict(&report, &LeakSettings::default());
            assert_eq!(verdict.outcome, Outcome::Inconclusive);
            assert!(
                verdict.sentence.rendered().contains("not enough"),
                "{:?}",
                verdict.sentence
            );
        }
        let unknown = LeakSettings {
            threshold_mb: f64::NAN,
            ..LeakSettings::default()
        };
        let report = detect(&every_five_seconds(|t| t), RUN, &unknown, &served());
        assert_eq!(report.outcome, LeakOutcome::Indeterminate);
    }

    #[test]
    fn the_names_are_those_of_the_algorithm() {
        let json = serde_json::to_string(&LeakOutcome::LeakDetected).unwrap();
        assert_eq!(json, "\"LEAK_DETECTED\"");
    }

    proptest! {
        #[test]
        fn every_number_is_finite(
            samples in prop::collection::vec((0_u64..1_000_000, floats()), 0..20),
            run in any::<u64>(),
            threshold_mb in floats(),
        ) {
            let samples: Vec<_> = samples.into_iter().map(|(s, v)| (Duration::from_secs(s), v)).collect();
            let settings = LeakSettings { threshold_mb, warmup: None };
            let report = detect(&samples, Duration::from_secs(run), &settings, &served());
            for value in [report.growth_mb, report.growth_per_call_kb, report.slope_mb_per_s, report.slope_low, report.slope_high, report.r_squared] {
                prop_assert!(value.is_none_or(f64::is_finite), "{report:?}");
            }
            prop_assert_eq!(report.samples + report.discarded, samples.len());
            verdict(&report, &settings);
        }
    }
}
