//! Whether there are enough samples to speak of a percentile.
//!
//! The rule: a percentile is printed only with ten samples beyond it, so `p` percent need
//! `10 / (1 − p / 100)` samples: p50 20, p95 200, p99 1,000, p99.9 10,000. Below that the value is
//! little more than the largest sample, and the next run gives another one.

use crate::prelude::*;

/// Samples that must lie beyond a percentile before it means something.
pub const SAMPLES_BEYOND: f64 = 10.0;

/// How many samples a percentile (in percent, 99.9 for p99.9) needs; `None` when no number is
/// enough, as for the maximum.
///
/// ```
/// use mcprove_score::percentile::samples_needed;
///
/// assert_eq!(samples_needed(99.9), Some(10_000));
/// assert_eq!(samples_needed(100.0), None);
/// ```
pub fn samples_needed(percentile: f64) -> Option<u64> {
    if !(0.0..100.0).contains(&percentile) {
        return None;
    }
    let needed = SAMPLES_BEYOND * 100.0 / (100.0 - percentile);
    // 100 − 99.9 is not exactly 0.1: without the nudge p99.9 would need 10,001.
    Some(truncated((needed * (1.0 - 1e-9)).ceil()))
}

/// Whether `count` samples are enough for a percentile (in percent, 99.9 for p99.9).
pub fn is_supported(count: u64, percentile: f64) -> bool {
    samples_needed(percentile).is_some_and(|needed| count >= needed)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::floats;

    #[test]
    fn ten_samples_lie_beyond() {
        let cases = [
            (0.0, 10),
            (50.0, 20),
            (75.0, 40),
            (90.0, 100),
            (95.0, 200),
            (99.0, 1_000),
            (99.9, 10_000),
            (99.99, 100_000),
        ];
        for (percentile, needed) in cases {
            assert_eq!(samples_needed(percentile), Some(needed), "p{percentile}");
            assert!(is_supported(needed, percentile), "p{percentile}");
            assert!(!is_supported(needed - 1, percentile), "p{percentile}");
        }
    }

    #[test]
    fn what_is_no_percentile_is_never_supported() {
        for percentile in [
            100.0,
            101.0,
            -0.1,
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
        ] {
            assert!(!is_supported(u64::MAX, percentile), "{percentile}");
        }
    }

    proptest! {
        #[test]
        fn more_samples_never_hurt(count in any::<u64>(), percentile in floats()) {
            if is_supported(count, percentile) {
                prop_assert!(is_supported(count.saturating_add(1), percentile));
            }
        }
    }
}
