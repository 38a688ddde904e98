//! Small arithmetic that every detector needs, total for every input: no division by zero, no
//! value that is not finite in a result.

/// A count as a floating-point number; above 2^53 the nearest one.
#[expect(
    clippy::cast_precision_loss,
    reason = "counts of calls and samples stay far below 2^53, and the nearest float is used above"
)]
pub const fn float(count: u64) -> f64 {
    count as f64
}

/// Whether there is none, as serde asks of what it may leave out.
pub const fn is_zero(count: &u64) -> bool {
    *count == 0
}

pub fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

/// A number without its decimals; what is negative or no number is 0, and what is too large the most.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast from float saturates, and what is no number becomes 0"
)]
pub fn truncated(value: f64) -> u64 {
    value as u64
}

/// The same as a length.
pub fn truncated_len(value: f64) -> usize {
    usize::try_from(truncated(value)).unwrap_or(usize::MAX)
}

/// A length as a floating-point number.
pub fn float_len(length: usize) -> f64 {
    float(count(length))
}

/// The share of `part` in `whole`, at most 1; `None` of nothing.
pub fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| float(part.min(whole)) / float(whole))
}

/// The value, unless it is infinite or not a number.
pub fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// `over / under`, unless that is not finite.
pub fn ratio(over: f64, under: f64) -> Option<f64> {
    finite(over / under)
}

/// The mean; `None` of nothing, or where it is not finite. It is taken around the first value, and
/// kept between the lowest and the highest: the mean of equal values is that value, to the last bit.
pub fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut values = values.into_iter();
    let first = values.next()?;
    let (mut lowest, mut highest) = (first, first);
    let (mut distances, mut length) = (0.0, 1_u64);
    for value in values {
        distances += value - first;
        length += 1;
        lowest = lowest.min(value);
        highest = highest.max(value);
    }
    let mean = finite(first + distances / float(length))?;
    Some(mean.max(lowest).min(highest))
}

/// The middle of the finite values, or the mean of the two middle ones.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted: Vec<f64> = values
        .iter()
        .copied()
        .filter(|value| value.is_finite())
        .collect();
    sorted.sort_by(f64::total_cmp);
    let upper = *sorted.get(sorted.len() / 2)?;
    if sorted.len() % 2 == 1 {
        return Some(upper);
    }
    let lower = *sorted.get((sorted.len() / 2).checked_sub(1)?)?;
    // Halved first: the sum of two large values could overflow.
    Some(lower / 2.0 + upper / 2.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn medians() {
        let cases: [(&[f64], Option<f64>); 6] = [
            (&[], None),
            (&[f64::NAN, f64::INFINITY], None),
            (&[3.0], Some(3.0)),
            (&[3.0, 1.0, 2.0], Some(2.0)),
            (&[4.0, 1.0, 2.0, 3.0], Some(2.5)),
            (&[f64::MAX, f64::MAX], Some(f64::MAX)),
        ];
        for (values, expected) in cases {
            assert_eq!(median(values), expected, "{values:?}");
        }
    }

    #[test]
    fn means() {
        assert_eq!(mean([]), None);
        assert_eq!(mean([f64::MAX, f64::MIN]), None);
        assert_eq!(mean([f64::NAN]), None);
        assert_eq!(mean([1.0, 2.0, 6.0]), Some(3.0));
        assert_eq!(mean([0.7, 0.7, 0.7]), Some(0.7));
    }

    proptest! {
        #[test]
        fn the_mean_of_equal_values_is_that_value(value in -1e300..1e300_f64, times in 1_usize..=12) {
            prop_assert_eq!(mean(vec![value; times]), Some(value));
        }

        #[test]
        fn a_mean_is_among_the_values(values in prop::collection::vec(0.0..=1.0_f64, 1..20)) {
            let found = mean(values.iter().copied()).unwrap();
            prop_assert!(values.iter().any(|value| *value <= found));
            prop_assert!(values.iter().any(|value| *value >= found));
        }
    }

    #[test]
    fn shares_and_ratios_are_never_infinite() {
        assert_eq!(share(1, 0), None);
        assert_eq!(share(1, 4), Some(0.25));
        assert_eq!(share(9, 4), Some(1.0));
        assert_eq!(ratio(1.0, 0.0), None);
        assert_eq!(ratio(0.0, 0.0), None);
        assert_eq!(ratio(1.0, 2.0), Some(0.5));
        assert!((float_len(3) - 3.0).abs() < f64::EPSILON);
    }
}
