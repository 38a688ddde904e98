//! How a figure that was sampled over a run grew, and whether it still grows at the end: the base of the detectors of
//! leaks ([`leak`](crate::leak), [`resource_leak`](crate::resource_leak), [`sessions`](crate::sessions)).
//!
//! The growth is that of the line through the samples after the warm-up, over the time between the first and the last of
//! them, and never more than what was seen: nothing is predicted. Whether it still grows is asked of the second half alone:
//!
//! - [`Ending::Growing`]: the line through the second half rises for sure (the 95 % confidence interval of its slope is
//!   above zero), by at least a quarter of what a constant growth would give, and the last rise is not long ago: at most an
//!   eighth of the time, or one and a half times the longest pause between two rises before. So a staircase still grows.
//! - [`Ending::Flat`]: the second half rises by less than a quarter of a constant growth, and by less than half of it for
//!   sure; or the last rise is longer ago than a quarter of the time and than two pauses, and the last quarter does not rise. So a
//!   cache that is full has a plateau. Noise of a quarter of the growth hides one.
//! - [`Ending::Unclear`]: neither can be told.

use crate::prelude::*;
use crate::regression::fit;

/// Share of a constant growth from which the second half grows.
const SHARE_MIN: f64 = 0.25;
/// Share of the values' range that makes a rise.
const RISE_SHARE: f64 = 0.05;
/// A rise is also more than so many times the noise.
const RISE_NOISE: f64 = 3.0;
/// Share of the growth from which noise hides a plateau.
const NOISE_SHARE_MAX: f64 = 0.25;
/// Share of the time without a rise after which it may still grow, and from which it may be a plateau.
const RECENT_SHARE: f64 = 0.125;
const PLATEAU_SHARE: f64 = 0.25;
/// The same in pauses between rises.
const RECENT_PAUSES: f64 = 1.5;
const PLATEAU_PAUSES: f64 = 2.0;

/// Whether what grew still grows at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It does.
    Growing,
    /// It has reached a plateau.
    Flat,
    /// Neither is clear.
    Unclear,
}

/// How many of something there were at some moments, such as calls: (time since the start, how many until then), in order.
pub type Progress = Vec<(Duration, u64)>;

/// Samples over time after the warm-up, and what they did.
#[derive(Debug, Clone, Copy)]
pub struct Growth {
    /// The line through them.
    pub trend: Trend,
    /// By how much they grew over their time; none with too few of them.
    pub amount: Option<f64>,
    /// Whether they still grow.
    pub ending: Ending,
    /// The last time at which they rose.
    pub last_rise: Duration,
    /// The first and the last sample, and their values.
    pub first: (Duration, f64),
    pub last: (Duration, f64),
}

impl Growth {
    /// Of samples of (time since the start, value).
    pub fn of(samples: &[(Duration, f64)], warmup: Duration) -> Self {
        let trend = Trend::of(samples, warmup);
        let mut used: Vec<(Duration, f64)> = samples
            .iter()
            .filter(|(at, value)| *at >= warmup && value.is_finite())
            .copied()
            .collect();
        used.sort_by_key(|(at, _)| *at);
        let points = Points::of(&used);
        let amount = trend.line.and_then(|line| points.growth_on(line.slope));
        let last_rise = points.rises().last_at;
        Self {
            amount,
            ending: amount.map_or(Ending::Unclear, |amount| points.ending(amount)),
            last_rise: Duration::try_from_secs_f64(last_rise).unwrap_or_default(),
            first: used.first().copied().unwrap_or_default(),
            last: used.last().copied().unwrap_or_default(),
            trend,
        }
    }

    /// Whether the line explains so much of the samples.
    pub fn fits(&self, r_squared: f64) -> bool {
        self.trend
            .line
            .is_some_and(|line| line.r_squared >= r_squared)
    }

    /// How much of something there was while it grew.
    pub fn during(&self, progress: &Progress) -> Option<f64> {
        let until = |at| amount_until(progress, at);
        let amount = until(self.last.0) - until(self.first.0);
        (amount > 0.0).then_some(amount)
    }

    /// The growth for each of something.
    pub fn per(&self, progress: &Progress) -> Option<f64> {
        ratio(self.amount?, self.during(progress)?)
    }
}

/// How much there was until `at`, evenly between two moments.
pub(crate) fn amount_until(progress: &Progress, at: Duration) -> f64 {
    let mut before = (Duration::ZERO, 0);
    for (moment, amount) in progress.iter().copied() {
        if moment >= at {
            let length = moment.saturating_sub(before.0).as_secs_f64();
            let passed = at.saturating_sub(before.0).as_secs_f64();
            let share = ratio(passed, length).unwrap_or(1.0);
            return float(before.1) + float(amount.saturating_sub(before.1)) * share;
        }
        before = (moment, amount);
    }
    float(before.1)
}

/// Samples in seconds, in order of time.
struct Points(Vec<(f64, f64)>);

/// When the values rose.
struct Rises {
    /// The last of them; the beginning if there was none.
    last_at: f64,
    /// The longest time without one before that.
    longest_pause: f64,
}

impl Points {
    fn of(samples: &[(Duration, f64)]) -> Self {
        let points = samples.iter();
        Self(
            points
                .map(|(at, value)| (at.as_secs_f64(), *value))
                .collect(),
        )
    }

    fn time(&self) -> Range<f64> {
        let at = |point: Option<&(f64, f64)>| point.map_or(0.0, |(at, _)| *at);
        at(self.0.first())..at(self.0.last())
    }

    fn length(&self) -> f64 {
        let time = self.time();
        time.end - time.start
    }

    /// From the lowest to the highest value.
    fn range(&self) -> f64 {
        let values = || self.0.iter().map(|(_, value)| *value);
        let lowest = values().fold(f64::INFINITY, f64::min);
        let highest = values().fold(f64::NEG_INFINITY, f64::max);
        highest - lowest
    }

    /// What a slope comes to over their time, and not more than was seen.
    fn growth_on(&self, slope: f64) -> Option<f64> {
        let range = finite(self.range())?;
        // A sum with zero, so that nothing is never less than nothing.
        finite(slope * self.length()).map(|growth| growth.clamp(-range, range) + 0.0)
    }

    /// Those of the last part of their time.
    fn since(&self, share: f64) -> Self {
        let time = self.time();
        let from = time.end - (time.end - time.start) * share;
        Self(
            self.0
                .iter()
                .filter(|(at, _)| *at >= from)
                .copied()
                .collect(),
        )
    }

    fn ending(&self, amount: f64) -> Ending {
        let smooth = self.without_outliers();
        let half = smooth.since(0.5);
        let (Some(line), Some(grown)) = (fit(&half.0), half.slope_growth()) else {
            return Ending::Unclear;
        };
        let length = half.length();
        let constant = amount * ratio(length, self.length()).unwrap_or_default();
        let rises = self.rises();
        let time = self.time();
        let quiet = time.end - rises.last_at;
        let is_long = |share: f64, pauses: f64| {
            quiet > share * self.length() && quiet > pauses * rises.longest_pause
        };
        let is_little = grown < SHARE_MIN * constant;
        let is_surely_little = is_little && line.slope_high * length < 2.0 * SHARE_MIN * constant;
        let last = smooth.since(0.25);
        let last_is_flat = last.slope_growth().is_some_and(|grown| {
            grown < SHARE_MIN * amount * ratio(last.length(), self.length()).unwrap_or_default()
        });
        let is_even = self.noise() <= NOISE_SHARE_MAX * amount.abs();
        if is_even && (is_surely_little || is_long(PLATEAU_SHARE, PLATEAU_PAUSES) && last_is_flat) {
            Ending::Flat
        } else if line.slope_low > 0.0 && !is_little && !is_long(RECENT_SHARE, RECENT_PAUSES) {
            Ending::Growing
        } else {
            Ending::Unclear
        }
    }

    /// The growth of the line through them.
    fn slope_growth(&self) -> Option<f64> {
        self.growth_on(fit(&self.0)?.slope)
    }

    /// When the values came near their highest, by more than noise; a single outlier does not count.
    fn rises(&self) -> Rises {
        let step = (self.range() * RISE_SHARE).max(self.noise() * RISE_NOISE);
        let smooth = self.without_outliers().0;
        let highest = smooth
            .iter()
            .map(|(_, value)| *value)
            .fold(f64::NEG_INFINITY, f64::max);
        let mut rises = Rises {
            last_at: self.time().start,
            longest_pause: 0.0,
        };
        let mut high = smooth.first().map_or(0.0, |(_, value)| *value);
        for (at, value) in smooth {
            if high >= highest - step {
                break;
            }
            if value > high + step || value >= highest - step {
                high = value;
                rises.longest_pause = rises.longest_pause.max(at - rises.last_at);
                rises.last_at = at;
            }
        }
        rises
    }

    /// How far a value is usually away from the middle between its neighbours.
    fn noise(&self) -> f64 {
        let distances: Vec<f64> = self
            .0
            .windows(3)
            .filter_map(|three| match three {
                [(_, before), (_, value), (_, after)] => {
                    Some((value - f64::midpoint(*before, *after)).abs())
                }
                _ => None,
            })
            .collect();
        median(&distances).unwrap_or_default()
    }

    /// Each value, or the middle one of it and its neighbours.
    fn without_outliers(&self) -> Self {
        let middle = |place: usize, value: f64| {
            let around = place.saturating_sub(1)..place + 2;
            match self.0.get(around) {
                Some(&[(_, before), _, (_, after)]) => {
                    value.clamp(before.min(after), before.max(after))
                }
                _ => value,
            }
        };
        let points = self.0.iter().enumerate();
        Self(
            points
                .map(|(place, (at, value))| (*at, middle(place, *value)))
                .collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::floats;

    /// Sixteen samples over 100 s after the warm-up, as a soak has them with defaults.
    fn over_time(value: impl Fn(f64) -> f64) -> Growth {
        let samples: Vec<_> = (0..=20_u32)
            .map(|i| (Duration::from_secs((5 * i).into()), value(f64::from(5 * i))))
            .collect();
        Growth::of(&samples, Duration::from_secs(20))
    }

    /// Noise between -1 and 1, the same every time.
    fn wobble(at: f64) -> f64 {
        (at * 12.9898).sin() * 0.5 + (at * 78.233).cos() * 0.5
    }

    #[test]
    fn what_grows_to_the_end_is_growing() {
        let cases: [(&str, Growth); 6] = [
            ("line", over_time(|t| t)),
            ("noisy line", over_time(|t| t + 5.0 * wobble(t))),
            ("staircase", over_time(|t| (t / 15.0).floor() * 15.0)),
            (
                "line with an early outlier",
                over_time(|t| if (45.0..46.0).contains(&t) { 100.0 } else { t }),
            ),
            ("faster and faster", over_time(|t| t * t)),
            ("slower and slower", over_time(f64::sqrt)),
        ];
        for (name, growth) in cases {
            assert_eq!(growth.ending, Ending::Growing, "{name}: {growth:?}");
        }
    }

    #[test]
    fn a_plateau_is_flat() {
        let cases: [(&str, Growth); 6] = [
            ("early", over_time(|t| t.min(40.0))),
            ("half-way", over_time(|t| t.min(60.0))),
            ("late", over_time(|t| t.min(72.0))),
            ("noisy", over_time(|t| t.min(55.0) + wobble(t))),
            (
                "with an outlier at the end",
                over_time(|t| {
                    if (95.0..96.0).contains(&t) {
                        80.0
                    } else {
                        t.min(45.0)
                    }
                }),
            ),
            ("falling", over_time(|t| 90.0 - (t - 40.0).abs())),
        ];
        for (name, growth) in cases {
            assert_eq!(growth.ending, Ending::Flat, "{name}: {growth:?}");
        }
        let growth = over_time(|t| t.min(60.0));
        assert_eq!(growth.last_rise, Duration::from_mins(1));
    }

    #[test]
    fn what_is_between_the_two_is_unclear() {
        // A plateau since a moment ago, or the next step of a staircase to come?
        assert_eq!(over_time(|t| t.min(85.0)).ending, Ending::Unclear);
        assert_eq!(Growth::of(&[], Duration::ZERO).ending, Ending::Unclear);
    }

    #[test]
    fn a_saw_tooth_does_not_grow_to_the_end() {
        for period in [10.0, 17.0, 25.0, 33.0, 40.0] {
            let growth = over_time(|t| 40.0 + t % period * (80.0 / period));
            let is_leak = growth.ending == Ending::Growing && growth.fits(0.5);
            assert!(!is_leak, "{period}: {growth:?}");
        }
    }

    #[test]
    fn growth_is_what_was_seen_and_for_each_call() {
        let growth = over_time(|t| if t < 60.0 { 0.0 } else { 10.0 });
        assert_eq!(growth.amount, Some(10.0), "a line would say more");
        let calls = vec![(Duration::from_secs(100), 1000)];
        assert_eq!(growth.during(&calls), Some(800.0));
        assert_eq!(growth.per(&calls), Some(0.0125));
        assert_eq!(growth.per(&Vec::new()), None);
    }

    proptest! {
        #[test]
        fn growth_is_never_more_than_was_seen(
            samples in prop::collection::vec((0_u64..1_000, floats()), 0..40),
            warmup in 0_u64..1_000,
        ) {
            let samples: Vec<_> = samples.into_iter().map(|(s, v)| (Duration::from_secs(s), v)).collect();
            let growth = Growth::of(&samples, Duration::from_secs(warmup));
            let used: Vec<f64> = samples.iter().filter(|(at, v)| at.as_secs() >= warmup && v.is_finite()).map(|(_, v)| *v).collect();
            let highest = used.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let lowest = used.iter().copied().fold(f64::INFINITY, f64::min);
            if let Some(amount) = growth.amount {
                prop_assert!(amount.is_finite() && amount.abs() <= highest - lowest, "{growth:?}");
            }
        }

        #[test]
        fn a_steady_leak_is_seen_and_a_full_cache_is_not(
            rate in 0.5_f64..50.0,
            noise in 0.0_f64..0.03,
            full_at in 0.1_f64..0.7,
            count in 16_u32..200,
        ) {
            let sampled = |value: &dyn Fn(f64) -> f64| {
                let samples: Vec<_> = (0..count).map(|i| {
                    let at = 100.0 * f64::from(i) / f64::from(count - 1);
                    (Duration::from_secs_f64(at), value(at) + 100.0 * rate * noise * wobble(at))
                }).collect();
                Growth::of(&samples, Duration::ZERO)
            };
            let leak = sampled(&|t| t * rate);
            prop_assert!(leak.ending == Ending::Growing && leak.fits(0.8), "{leak:?}");
            let cache = sampled(&|t| t.min(100.0 * full_at) * rate / full_at);
            prop_assert!(cache.ending != Ending::Growing, "{cache:?}");
        }
    }
}
