//! Whether the server's memory keeps growing.
//!
//! A line `rss_mb = a · t + b` is fitted to the samples after the warm-up; the predicted growth is
//! `a · run`. Up to the threshold there is no leak, however noisy the samples; over it, R² ≥ 0.5
//! makes it a leak and less leaves it indeterminate. Fewer than five samples after the warm-up are
//! always indeterminate and give no numbers: four points on a line are luck as often as a leak,
//! and few quiet ones are no proof of the opposite.

use crate::prelude::*;

/// The longest warm-up that is taken when none is given.
pub const WARMUP_MAX: Duration = Duration::from_secs(30);

/// What counts as a leak.
#[derive(Debug, Clone, PartialEq)]
pub struct LeakSettings {
    /// Predicted growth over the run that is still allowed, in MB.
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

/// What the samples say.
#[data(Copy, Eq, Hash)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum LeakOutcome {
    /// The predicted growth is within the threshold.
    NoLeak,
    /// The predicted growth is over the threshold, on a clear line.
    LeakDetected,
    /// Too few samples, or too noisy.
    Indeterminate,
}

/// The memory of a server over a run.
#[data]
pub struct LeakReport {
    /// What the samples say.
    pub outcome: LeakOutcome,
    /// Predicted growth over the whole run, in MB.
    pub growth_mb: Option<f64>,
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
pub fn detect(samples: &[(Duration, f64)], run: Duration, settings: &LeakSettings) -> LeakReport {
    let trend = Trend::of(samples, settings.warmup_of(run));
    let growth_mb = trend.growth(run);
    let holds = growth_mb
        .filter(|_| !settings.threshold_mb.is_nan())
        .map(|growth_mb| growth_mb <= settings.threshold_mb);
    let [slope_mb_per_s, slope_low, slope_high, r_squared] = trend.numbers();
    LeakReport {
        outcome: match Outcome::of(holds, trend.is_steady()) {
            Outcome::Pass => LeakOutcome::NoLeak,
            Outcome::Finding => LeakOutcome::LeakDetected,
            Outcome::Inconclusive => LeakOutcome::Indeterminate,
        },
        growth_mb,
        slope_mb_per_s,
        slope_low,
        slope_high,
        r_squared,
        samples: trend.samples,
        discarded: trend.discarded,
    }
}

/// The verdict `leak`; a leak is critical.
pub fn verdict(report: &LeakReport, settings: &LeakSettings) -> Verdict {
    let threshold = decimal(settings.threshold_mb, 1);
    let samples = count(report.samples);
    let growth = decimal(report.growth_mb.unwrap_or_default(), 1);
    let verdict = match report.outcome {
        LeakOutcome::NoLeak => Verdict::pass(
            "leak",
            format!(
                "The server's memory changes by {growth} MB over the run, within the allowed {threshold} MB."
            ),
        ),
        LeakOutcome::LeakDetected => Verdict::critical(
            "leak",
            format!(
                "The server's memory grows steadily: {growth} MB over the run, and {threshold} MB are allowed."
            ),
            "look for what every call adds and nothing removes: caches without a limit, global lists, listeners, sessions",
        ),
        LeakOutcome::Indeterminate if report.growth_mb.is_some() => Verdict::inconclusive(
            "leak",
            format!(
                "The server's memory seems to grow by {growth} MB over the run, but too unevenly to call it a leak."
            ),
            "run longer, or with a longer warm-up, so that the trend stands out",
        ),
        LeakOutcome::Indeterminate => Verdict::inconclusive(
            "leak",
            format!(
                "{} of the server's memory after the warm-up {} too few to tell whether it leaks.",
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

    fn outcome(samples: &[(Duration, f64)]) -> LeakOutcome {
        detect(samples, RUN, &LeakSettings::default()).outcome
    }

    #[test]
    fn steady_growth_over_the_threshold_is_a_leak() {
        let settings = LeakSettings::default();
        let report = detect(&every_five_seconds(|t| 40.0 + t), RUN, &settings);
        assert_eq!(report.outcome, LeakOutcome::LeakDetected);
        assert!((report.growth_mb.unwrap() - 100.0).abs() < 1e-9);
        assert!((report.r_squared.unwrap() - 1.0).abs() < 1e-9);
        assert_eq!((report.samples, report.discarded), (17, 4));
        let verdict = verdict(&report, &settings);
        assert!(verdict.is_failure());
        assert_eq!(
            verdict.sentence,
            "The server's memory grows steadily: 100 MB over the run, and 50 MB are allowed."
        );
    }

    #[test]
    fn growth_within_the_threshold_passes_whatever_the_fit() {
        for samples in [
            every_five_seconds(|_| 40.0),
            every_five_seconds(|t| 40.0 + t * 0.5),
            every_five_seconds(|t| if t % 10.0 < 5.0 { 10.0 } else { 500.0 }),
            every_five_seconds(|t| 500.0 - t),
        ] {
            let report = detect(&samples, RUN, &LeakSettings::default());
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
        let report = detect(&samples, RUN, &LeakSettings::default());
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
        let report = detect(&every_five_seconds(|t| t.min(20.0) * 20.0), RUN, &all);
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
            let report = detect(&samples, RUN, &LeakSettings::default());
            assert_eq!(report.outcome, LeakOutcome::Indeterminate);
            assert_eq!((report.growth_mb, report.r_squared), (None, None));
            let verdict = verdict(&report, &LeakSettings::default());
            assert_eq!(verdict.outcome, Outcome::Inconclusive);
            assert!(
                verdict.sentence.rendered().contains("too few"),
                "{:?}",
                verdict.sentence
            );
        }
        let unknown = LeakSettings {
            threshold_mb: f64::NAN,
            ..LeakSettings::default()
        };
        let report = detect(&every_five_seconds(|t| t), RUN, &unknown);
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
            let report = detect(&samples, Duration::from_secs(run), &settings);
            for value in [report.growth_mb, report.slope_mb_per_s, report.slope_low, report.slope_high, report.r_squared] {
                prop_assert!(value.is_none_or(f64::is_finite), "{report:?}");
            }
            prop_assert_eq!(report.samples + report.discarded, samples.len());
            verdict(&report, &settings);
        }
    }
}
