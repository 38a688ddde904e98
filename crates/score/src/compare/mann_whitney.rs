//! The Mann-Whitney U test: do two samples come from the same distribution, whatever it is?
//!
//! U counts the pairs in which the first sample is larger (a tie counts half). Without ties and
//! with at most 20 values a side, the two-sided p is exact: the number of arrangements with each U
//! is a coefficient of the Gaussian binomial ∏ᵢ (1 − q^(m+i)) / (1 − qⁱ), i = 1…n (Mann & Whitney
//! 1947; Andrews, *The Theory of Partitions*, ch. 3), computed factor by factor. Otherwise U is
//! nearly normal with mean nm/2 and variance nm/12 · (N+1 − Σ(t³−t)/(N(N−1))), N = n+m, t the sizes
//! of the ties, with a continuity correction of ½ (Lehmann, *Nonparametrics*, ch. 1).

use std::cmp::Ordering;

use crate::prelude::*;

/// Values a side up to which p is exact.
pub const EXACT_MAX: usize = 20;

/// The result of a test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MannWhitney {
    /// Pairs in which the first sample is larger.
    pub u: f64,
    /// Two-sided p.
    pub p_value: f64,
    /// Whether p is exact, and not the normal approximation.
    pub is_exact: bool,
}

/// Tests two samples; `None` when one is empty or has a value that is not a number.
///
/// ```
/// use mcprove_score::compare::mann_whitney;
///
/// let result = mann_whitney::test(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]).unwrap();
/// assert_eq!((result.u, result.p_value), (0.0, 0.1));
/// ```
pub fn test(first: &[f64], second: &[f64]) -> Option<MannWhitney> {
    if first.is_empty() || second.is_empty() || first.iter().chain(second).any(|v| v.is_nan()) {
        return None;
    }
    let mut twice_u = 0_u64;
    for one in first {
        for other in second {
            twice_u += match one.partial_cmp(other) {
                Some(Ordering::Greater) => 2,
                Some(Ordering::Equal) => 1,
                _ => 0,
            };
        }
    }
    let u = float(twice_u) / 2.0;
    // Σ(t³−t) over the groups of equal values.
    let mut all: Vec<f64> = first.iter().chain(second).copied().collect();
    all.sort_by(f64::total_cmp);
    let is_equal = |one: &f64, other: &f64| one.partial_cmp(other) == Some(Ordering::Equal);
    let ties: f64 = all
        .chunk_by(is_equal)
        .map(|group| float_len(group.len()))
        .map(|size| size * size * size - size)
        .sum();
    let is_exact = ties <= 0.0 && first.len() <= EXACT_MAX && second.len() <= EXACT_MAX;
    let (n, m) = (float_len(first.len()), float_len(second.len()));
    let p_value = if is_exact {
        let counts = arrangements(first.len(), second.len());
        let tail = truncated_len(u.min(n * m - u));
        2.0 * counts[..=tail].iter().sum::<f64>() / counts.iter().sum::<f64>()
    } else {
        normal_p(u, n, m, ties)
    };
    Some(MannWhitney {
        u,
        p_value: p_value.min(1.0),
        is_exact,
    })
}

/// How many of the smallest and of the largest pair differences a 95 % interval leaves out on each
/// side, plus one: its ends are the differences of this rank from below and above, counted from 1.
/// `None` when there are too few values for any interval.
pub fn interval_rank(first: usize, second: usize) -> Option<usize> {
    if first == 0 || second == 0 {
        return None;
    }
    if first <= EXACT_MAX && second <= EXACT_MAX {
        let counts = arrangements(first, second);
        let total: f64 = counts.iter().sum();
        let mut below = 0.0;
        let is_left_out = |count: &&f64| {
            below += **count;
            2.0 * below <= 0.05 * total
        };
        let rank = counts.iter().take_while(is_left_out).count();
        return (rank > 0).then_some(rank);
    }
    let (n, m) = (float_len(first), float_len(second));
    let rank = n * m / 2.0 - 1.959_964 * (n * m * (n + m + 1.0) / 12.0).sqrt();
    Some(truncated_len(rank)).filter(|rank| *rank > 0)
}

/// The number of arrangements of `n` and `m` values with U = 0, 1, …, nm. Exact: at most C(40, 20),
/// far below 2^53, and every step in between is smaller.
fn arrangements(n: usize, m: usize) -> Vec<f64> {
    let mut counts = vec![0.0; n * m + 1];
    counts[0] = 1.0;
    for i in 1..=n {
        // Times (1 − q^(m+i)).
        let shifted = std::iter::repeat_n(0.0, m + i).chain(counts.iter().copied());
        counts = counts
            .iter()
            .zip(shifted)
            .map(|(count, shifted)| count - shifted)
            .collect();
        // Over (1 − q^i): a running sum in steps of i.
        for index in i..counts.len() {
            counts[index] += counts[index - i];
        }
    }
    counts
}

fn normal_p(u: f64, n: f64, m: f64, ties: f64) -> f64 {
    let total = n + m;
    let variance = n * m / 12.0 * (total + 1.0 - ties / (total * (total - 1.0)));
    let distance = ((u - n * m / 2.0).abs() - 0.5).max(0.0);
    // All values equal: nothing differs.
    if variance.is_nan() || variance <= 0.0 {
        return 1.0;
    }
    complementary_error(distance / variance.sqrt() / std::f64::consts::SQRT_2).clamp(0.0, 1.0)
}

/// erfc(x) for x ≥ 0, with a relative error below 1.2e-7 (Press et al., *Numerical Recipes in C*,
/// §6.2, `erfcc`).
fn complementary_error(x: f64) -> f64 {
    const COEFFICIENTS: [f64; 10] = [
        0.170_872_77,
        -0.822_152_23,
        1.488_515_87,
        -1.135_203_98,
        0.278_868_07,
        -0.186_288_06,
        0.096_784_18,
        0.374_091_96,
        1.000_023_68,
        -1.265_512_23,
    ];
    let t = 1.0 / (1.0 + 0.5 * x);
    let exponent = COEFFICIENTS
        .iter()
        .fold(0.0, |sum, coefficient| sum * t + coefficient);
    t * (exponent - x * x).exp()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::floats;

    fn numbers(from: u32, count: u32) -> Vec<f64> {
        (from..from + count).map(f64::from).collect()
    }

    fn p(first: &[f64], second: &[f64]) -> f64 {
        test(first, second).unwrap().p_value
    }

    #[test]
    fn arrangements_are_counted() {
        assert_eq!(arrangements(2, 2), [1.0, 1.0, 2.0, 1.0, 1.0]);
        assert_eq!(arrangements(3, 1), [1.0, 1.0, 1.0, 1.0]);
        let total: f64 = arrangements(20, 20).iter().sum();
        assert!((total - 137_846_528_820.0).abs() < 0.5, "{total}");
        assert_eq!(arrangements(5, 7), arrangements(7, 5));
    }

    /// Fully separated samples: 2 / C(n+m, n).
    #[test]
    fn exact_p_of_separated_samples() {
        for (n, ways) in [(1, 2.0), (3, 20.0), (4, 70.0), (5, 252.0), (8, 12_870.0)] {
            let result = test(&numbers(0, n), &numbers(100, n)).unwrap();
            assert!(
                (result.p_value - 2.0 / ways).abs() < 1e-12,
                "{n}: {result:?}"
            );
            assert!(result.is_exact);
        }
    }

    /// U = 3: 1 + 1 + 2 + 3 of C(9, 4) = 126 arrangements have at most that, on each side.
    #[test]
    fn exact_p_of_overlapping_samples() {
        let result = test(&[1.1, 2.2, 3.3, 4.4], &[2.5, 3.5, 4.5, 5.5, 6.5]).unwrap();
        assert!(
            (result.u - 3.0).abs() < 1e-12 && (result.p_value - 14.0 / 126.0).abs() < 1e-9,
            "{result:?}"
        );
    }

    #[test]
    fn ties_use_the_corrected_normal_approximation() {
        // n = m = 3, U = 0.5 and one tie of two: σ² = 9/12 · (7 − 6/30) = 5.1, z = 3.5 / √5.1.
        let result = test(&[1.0, 2.0, 3.0], &[3.0, 4.0, 5.0]).unwrap();
        assert!(
            !result.is_exact && (result.p_value - 0.121_183).abs() < 1e-5,
            "{result:?}"
        );
        assert!((p(&[7.0; 8], &[7.0; 8]) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn large_samples_agree_with_the_exact_ones() {
        let first: Vec<f64> = numbers(0, 20);
        let second: Vec<f64> = (0..20).map(|i| f64::from(i) + 5.5).collect();
        let exact = p(&first, &second);
        let normal = normal_p(test(&first, &second).unwrap().u, 20.0, 20.0, 0.0);
        assert!((exact - normal).abs() < 0.002, "{exact} {normal}");
        assert!(!test(&numbers(0, 21), &numbers(0, 5)).unwrap().is_exact);
    }

    /// Tables of the two-sided 5 % critical value of U: 0 for 4×4, 2 for 5×5, 13 for 8×8, 127 for
    /// 20×20; the rank is one more.
    #[test]
    fn interval_ranks_follow_the_tables() {
        let cases = [
            (1, None),
            (3, None),
            (4, Some(1)),
            (5, Some(3)),
            (8, Some(14)),
            (20, Some(128)),
        ];
        for (n, rank) in cases {
            assert_eq!(interval_rank(n, n), rank, "{n}");
        }
        assert_eq!(interval_rank(0, 5), None);
        assert_eq!(interval_rank(1, 30), None);
        assert_eq!(interval_rank(30, 30), Some(317));
    }

    #[test]
    fn the_error_function_is_close() {
        for (x, expected) in [
            (0.0, 1.0),
            (0.5, 0.479_500_1),
            (1.0, 0.157_299_2),
            (2.0, 0.004_677_73),
        ] {
            assert!((complementary_error(x) - expected).abs() < 2e-7, "{x}");
        }
    }

    #[test]
    fn nothing_to_test_gives_none() {
        assert_eq!(test(&[], &[1.0]), None);
        assert_eq!(test(&[f64::NAN], &[1.0]), None);
    }

    proptest! {
        #[test]
        fn p_is_a_probability_and_symmetric(
            first in prop::collection::vec(floats(), 0..30),
            second in prop::collection::vec(floats(), 0..30),
        ) {
            if let Some(result) = test(&first, &second) {
                prop_assert!((0.0..=1.0).contains(&result.p_value), "{result:?}");
                prop_assert!((result.p_value - p(&second, &first)).abs() < 1e-9);
            }
        }
    }
}
