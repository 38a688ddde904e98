//! How sure a share of failed calls is, and a difference of two.
//!
//! Wilson's interval for x of n, with p = x/n and z = 1.96:
//! (p + z²/2n ± z·√(p(1−p)/n + z²/4n²)) / (1 + z²/n) (Wilson 1927). Newcombe's for p₂ − p₁ joins
//! the ends of two of them: low = d − √((p₂−l₂)² + (u₁−p₁)²), high = d + √((u₂−p₂)² + (p₁−l₁)²)
//! (Newcombe 1998, method 10). Both behave well at 0 and at few calls, where the textbook interval
//! does not.

use crate::prelude::*;

/// The 97.5 % quantile of the normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// A value and its 95 % confidence interval.
#[data(Copy)]
pub struct Estimate {
    /// The value.
    pub value: f64,
    /// Low end.
    pub low: f64,
    /// High end.
    pub high: f64,
}

/// The 95 % quantile, for a bound on one side.
const Z_ONE_SIDED: f64 = 1.644_853_626_951_472_2;

/// Wilson's interval of a share; `None` of nothing.
pub fn wilson(part: u64, whole: u64) -> Option<Estimate> {
    interval(part, whole, Z)
}

/// What a share is at least, with 95 % confidence: the lower end of Wilson's interval on one side. `None` of nothing.
pub fn share_at_least(part: u64, whole: u64) -> Option<f64> {
    Some(interval(part, whole, Z_ONE_SIDED)?.low)
}

fn interval(part: u64, whole: u64, z: f64) -> Option<Estimate> {
    let value = share(part, whole)?;
    let n = float(whole);
    let scale = 1.0 + z * z / n;
    let center = (value + z * z / (2.0 * n)) / scale;
    let margin = z * (value * (1.0 - value) / n + z * z / (4.0 * n * n)).sqrt() / scale;
    // The ends never leave the value out, whatever the rounding.
    Some(Estimate {
        value,
        low: (center - margin).clamp(0.0, value),
        high: (center + margin).clamp(value, 1.0),
    })
}

/// How much larger a share has become at least, of `(part, whole)` before and now.
pub fn rise_at_least(before: (u64, u64), now: (u64, u64)) -> Option<f64> {
    Some(difference(&wilson(before.0, before.1)?, &wilson(now.0, now.1)?).low)
}

/// Newcombe's interval of `current − baseline`, from their Wilson intervals.
pub fn difference(baseline: &Estimate, current: &Estimate) -> Estimate {
    let value = current.value - baseline.value;
    let below = (current.value - current.low).hypot(baseline.high - baseline.value);
    let above = (current.high - current.value).hypot(baseline.value - baseline.low);
    Estimate {
        value,
        low: (value - below).max(-1.0),
        high: (value + above).min(1.0),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn close(actual: f64, expected: f64) -> bool {
        (actual - expected).abs() < 5e-5
    }

    /// Newcombe 1998, table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
    #[test]
    fn wilson_agrees_with_the_paper() {
        let cases = [
            (81, 263, 0.2553, 0.3662),
            (15, 148, 0.0624, 0.1605),
            (0, 20, 0.0, 0.1611),
            (1, 29, 0.0061, 0.1718),
        ];
        for (part, whole, low, high) in cases {
            let estimate = wilson(part, whole).unwrap();
            assert!(
                close(estimate.low, low) && close(estimate.high, high),
                "{estimate:?}"
            );
        }
        assert_eq!(wilson(0, 0), None);
    }

    #[test]
    fn two_of_twenty_calls_do_not_show_that_one_in_twenty_fails() {
        let is_more = |part, whole| share_at_least(part, whole).is_some_and(|low| low > 0.05);
        assert!(!is_more(2, 20) && !is_more(0, 0) && !is_more(10, 150));
        assert!(is_more(5, 20) && is_more(6, 60) && is_more(80, 1000));
    }

    /// Newcombe 1998 (differences), method 10: 56/70 − 48/80 is 0.0524 to 0.3339, 10/10 − 0/10 is
    /// 0.6075 to 1.
    #[test]
    fn the_difference_agrees_with_the_paper() {
        let cases = [
            ((48, 80), (56, 70), 0.0524, 0.3339),
            ((0, 10), (10, 10), 0.6075, 1.0),
        ];
        for (baseline, current, low, high) in cases {
            let baseline = wilson(baseline.0, baseline.1).unwrap();
            let estimate = difference(&baseline, &wilson(current.0, current.1).unwrap());
            assert!(
                close(estimate.low, low) && close(estimate.high, high),
                "{estimate:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn ends_enclose_the_value(counts in prop::array::uniform4(any::<u64>())) {
            let pair = (wilson(counts[0], counts[1]), wilson(counts[2], counts[3]));
            if let (Some(one), Some(other)) = pair {
                for estimate in [one, difference(&one, &other)] {
                    prop_assert!(estimate.low <= estimate.value && estimate.value <= estimate.high, "{estimate:?}");
                    prop_assert!(estimate.low >= -1.0 && estimate.high <= 1.0);
                }
            }
        }
    }
}
