//! Holm's correction: several tests at once, and still at most 5 % false alarms in all.
//!
//! With m values of p in ascending order, the adjusted one is p'₍ᵢ₎ = max over j ≤ i of
//! (m − j + 1) · p₍ⱼ₎, at most 1 (Holm, *A Simple Sequentially Rejective Multiple Test Procedure*,
//! 1979).

use crate::prelude::float_len;

/// Adjusts each p for the others. What was not tested (`None`) does not count.
///
/// ```
/// use mcprove_score::compare::holm;
///
/// assert_eq!(holm::adjust(&[Some(0.5), None, Some(0.25)]), [Some(0.5), None, Some(0.5)]);
/// ```
pub fn adjust(p_values: &[Option<f64>]) -> Vec<Option<f64>> {
    let mut order: Vec<(usize, f64)> = p_values
        .iter()
        .enumerate()
        .filter_map(|(index, p)| Some((index, p.filter(|p| p.is_finite())?)))
        .collect();
    order.sort_by(|(_, one), (_, other)| one.total_cmp(other));
    let mut adjusted = vec![None; p_values.len()];
    let mut largest = 0.0_f64;
    for (rank, (index, p)) in order.iter().enumerate() {
        largest = largest.max(float_len(order.len() - rank) * p).min(1.0);
        adjusted[*index] = Some(largest);
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn values_are_adjusted_in_order() {
        // 3 · 0.01, 2 · 0.03, and 1 · 0.04 raised to the one before it.
        let adjusted = adjust(&[Some(0.01), Some(0.04), Some(0.03)]);
        for (value, expected) in adjusted.iter().zip([0.03, 0.06, 0.06]) {
            assert!((value.unwrap() - expected).abs() < 1e-12, "{adjusted:?}");
        }
        assert_eq!(adjust(&[]), []);
        assert_eq!(adjust(&[None, Some(f64::NAN)]), [None, None]);
        assert_eq!(adjust(&[Some(0.9), Some(0.8)]), [Some(1.0), Some(1.0)]);
    }

    proptest! {
        #[test]
        fn no_value_gets_smaller(values in prop::collection::vec(prop::option::of(0.0..=1.0_f64), 0..8)) {
            for (p, adjusted) in values.iter().zip(adjust(&values)) {
                prop_assert_eq!(p.is_some(), adjusted.is_some());
                if let (Some(p), Some(adjusted)) = (p, adjusted) {
                    prop_assert!(adjusted >= *p && adjusted <= 1.0);
                }
            }
        }
    }
}
