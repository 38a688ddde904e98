//! A straight line through points, by ordinary least squares: the base of the leak and drift
//! detectors.
//!
//! With means x̄ and ȳ, Sxx = Σ(x−x̄)², Sxy = Σ(x−x̄)(y−ȳ), Syy = Σ(y−ȳ)²:
//! slope = Sxy / Sxx, intercept = ȳ − slope·x̄, R² = 1 − SSE / Syy with SSE = Σ(y − fit)².
//! The 95 % confidence interval of the slope is slope ± t · √(SSE / (n−2) / Sxx), with t the 97.5 %
//! quantile of Student's distribution with n−2 degrees of freedom (Draper & Smith, *Applied
//! Regression Analysis*, §1.4).

use crate::prelude::*;

/// Samples over time below which nothing is said about a trend.
pub const SAMPLES_MIN: usize = 5;
/// How well a line must fit before a growth counts.
pub const R_SQUARED_MIN: f64 = 0.5;

/// Samples over time after the warm-up, and the line through them.
#[derive(Debug, Clone, Copy)]
pub struct Trend {
    /// None with fewer than [`SAMPLES_MIN`] samples.
    pub line: Option<LinearFit>,
    pub samples: usize,
    /// Samples of the warm-up, and those that are no number.
    pub discarded: usize,
}

impl Trend {
    pub fn of(samples: &[(Duration, f64)], warmup: Duration) -> Self {
        let points: Vec<(f64, f64)> = samples
            .iter()
            .filter(|(at, value)| *at >= warmup && value.is_finite())
            .map(|(at, value)| (at.as_secs_f64(), *value))
            .collect();
        Self {
            line: fit(&points).filter(|line| line.count >= SAMPLES_MIN),
            samples: points.len(),
            discarded: samples.len() - points.len(),
        }
    }

    /// What the line predicts over a run.
    pub fn growth(&self, run: Duration) -> Option<f64> {
        finite(self.line?.slope * run.as_secs_f64())
    }

    /// Whether the samples lie close enough to the line.
    pub fn is_steady(&self) -> bool {
        self.line
            .is_some_and(|line| line.r_squared >= R_SQUARED_MIN)
    }

    /// The slope, both ends of its interval, and R².
    pub fn numbers(&self) -> [Option<f64>; 4] {
        let numbers =
            |line: LinearFit| [line.slope, line.slope_low, line.slope_high, line.r_squared];
        self.line.map_or([None; 4], |line| numbers(line).map(Some))
    }
}

/// A line through points, and how sure its slope is. All values are finite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinearFit {
    /// Change of y per unit of x.
    pub slope: f64,
    /// y where x is zero.
    pub intercept: f64,
    /// Share of y's variation that the line explains; 1 when y does not vary at all.
    pub r_squared: f64,
    /// Low end of the slope's 95 % confidence interval.
    pub slope_low: f64,
    /// High end of the slope's 95 % confidence interval.
    pub slope_high: f64,
    /// Points fitted.
    pub count: usize,
}

/// Fits a line. `None` with fewer than three points, with no spread in x, or when a coordinate or
/// a result is not finite.
///
/// ```
/// use mcprove_score::regression::fit;
///
/// let line = fit(&[(0.0, 1.0), (1.0, 3.0), (2.0, 5.0)]).unwrap();
/// assert_eq!((line.slope, line.intercept, line.r_squared), (2.0, 1.0, 1.0));
/// ```
pub fn fit(points: &[(f64, f64)]) -> Option<LinearFit> {
    // Two points always lie on a line.
    let degrees = count(points.len())
        .checked_sub(2)
        .filter(|degrees| *degrees >= 1)?;
    let length = float_len(points.len());
    let x_mean = points.iter().map(|(x, _)| x / length).sum::<f64>();
    let y_mean = points.iter().map(|(_, y)| y / length).sum::<f64>();
    let (mut sxx, mut sxy, mut syy) = (0.0, 0.0, 0.0);
    for (x, y) in points {
        sxx += (x - x_mean) * (x - x_mean);
        sxy += (x - x_mean) * (y - y_mean);
        syy += (y - y_mean) * (y - y_mean);
    }
    // Written so that a sum that is not a number is refused too.
    if !(sxx > 0.0 && sxx.is_finite()) {
        return None;
    }
    let slope = finite(sxy / sxx)?;
    let residuals = points
        .iter()
        .map(|(x, y)| ((y - y_mean) - slope * (x - x_mean)).powi(2))
        .sum::<f64>();
    let r_squared = if syy > 0.0 {
        (1.0 - residuals / syy).clamp(0.0, 1.0)
    } else {
        1.0
    };
    let error = (residuals / float(degrees) / sxx).sqrt();
    let margin = student_t_975(degrees) * error;
    Some(LinearFit {
        slope,
        intercept: finite(y_mean - slope * x_mean)?,
        r_squared: finite(r_squared)?,
        slope_low: finite(slope - margin)?,
        slope_high: finite(slope + margin)?,
        count: points.len(),
    })
}

/// The 97.5 % quantile of Student's t.
///
/// Exact values for one to four degrees of freedom, then the Cornish-Fisher expansion around the
/// normal quantile (Abramowitz & Stegun, *Handbook of Mathematical Functions*, 26.7.5), which is
/// within 0.02 % from five on.
fn student_t_975(degrees: u64) -> f64 {
    /// The same quantile of the normal distribution.
    const Z: f64 = 1.959_963_984_540_054;
    match degrees {
        // Zero cannot be asked for; infinity would make the interval say nothing.
        0 => f64::INFINITY,
        1 => 12.706_204_736,
        2 => 4.302_652_730,
        3 => 3.182_446_305,
        4 => 2.776_445_105,
        _ => {
            let n = float(degrees);
            let powers = |coefficients: &[(f64, i32)]| {
                coefficients
                    .iter()
                    .map(|(factor, power)| factor * Z.powi(*power))
                    .sum::<f64>()
            };
            Z + powers(&[(1.0, 3), (1.0, 1)]) / (4.0 * n)
                + powers(&[(5.0, 5), (16.0, 3), (3.0, 1)]) / (96.0 * n.powi(2))
                + powers(&[(3.0, 7), (19.0, 5), (17.0, 3), (-15.0, 1)]) / (384.0 * n.powi(3))
                + powers(&[
                    (79.0, 9),
                    (776.0, 7),
                    (1482.0, 5),
                    (-1920.0, 3),
                    (-945.0, 1),
                ]) / (92_160.0 * n.powi(4))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::floats;

    #[test]
    fn the_quantile_has_three_digits() {
        let cases = [
            (1, 12.7062),
            (2, 4.3027),
            (3, 3.1824),
            (4, 2.7764),
            (5, 2.5706),
            (6, 2.4469),
            (10, 2.2281),
            (20, 2.0860),
            (30, 2.0423),
            (100, 1.9840),
            (1_000_000, 1.95997),
        ];
        for (degrees, expected) in cases {
            let quantile = student_t_975(degrees);
            assert!(
                (quantile / expected - 1.0).abs() < 3e-4,
                "{degrees}: {quantile}"
            );
        }
    }

    /// Weights and heights of R's `women`: `confint(lm(weight ~ height, women))`.
    #[test]
    fn it_agrees_with_a_published_fit() {
        let weights = [
            115.0, 117.0, 120.0, 123.0, 126.0, 129.0, 132.0, 135.0, 139.0, 142.0, 146.0, 150.0,
            154.0, 159.0, 164.0,
        ];
        let points: Vec<(f64, f64)> = weights
            .iter()
            .enumerate()
            .map(|(i, w)| (58.0 + float_len(i), *w))
            .collect();
        let line = fit(&points).unwrap();
        assert!((line.slope - 3.45).abs() < 1e-9, "{line:?}");
        assert!((line.intercept + 87.516_67).abs() < 1e-4, "{line:?}");
        assert!((line.r_squared - 0.991_010).abs() < 1e-5, "{line:?}");
        assert!((line.slope_low - 3.253_112).abs() < 1e-3, "{line:?}");
        assert!((line.slope_high - 3.646_888).abs() < 1e-3, "{line:?}");
        assert_eq!(line.count, 15);
    }

    #[test]
    fn what_has_no_line_gives_none() {
        let cases: [&[(f64, f64)]; 6] = [
            &[],
            &[(0.0, 0.0), (1.0, 1.0)],
            &[(1.0, 0.0), (1.0, 1.0), (1.0, 2.0)],
            &[(0.0, 0.0), (1.0, f64::NAN), (2.0, 2.0)],
            &[(0.0, 0.0), (f64::INFINITY, 1.0), (2.0, 2.0)],
            &[(0.0, f64::MAX), (1.0, -f64::MAX), (2.0, f64::MAX)],
        ];
        for points in cases {
            assert_eq!(fit(points), None, "{points:?}");
        }
    }

    #[test]
    fn a_flat_line_is_explained_fully() {
        let line = fit(&[(0.0, 7.0), (1.0, 7.0), (2.0, 7.0)]).unwrap();
        assert_eq!(
            (line.slope, line.r_squared, line.slope_low, line.slope_high),
            (0.0, 1.0, 0.0, 0.0)
        );
    }

    proptest! {
        #[test]
        fn every_result_is_finite(points in prop::collection::vec((floats(), floats()), 0..12)) {
            if let Some(line) = fit(&points) {
                for value in [line.slope, line.intercept, line.r_squared, line.slope_low, line.slope_high] {
                    prop_assert!(value.is_finite(), "{line:?}");
                }
                prop_assert!(line.slope_low <= line.slope && line.slope <= line.slope_high);
                prop_assert!((0.0..=1.0).contains(&line.r_squared));
            }
        }
    }
}
