//! How many runs are enough: Wald's interval of a share, solved for the worst case p = 0.5.
//!
//! With z = 1.645, 1.96 or 2.576 for 90, 95 or 99 percent, N = ceil((z / w)² · 0.25) runs make the
//! interval no wider than w to either side, and N runs make it z · √(0.25 / N) at most. The formulas are
//! those of mcptest. Once there are runs, Wilson's interval tells more
//! ([`summarize`](super::summarize)).

use crate::prelude::*;

/// Counts up to here are exact in floating point (2^53).
const RUNS_MAX: f64 = 9_007_199_254_740_992.0;

/// A number so close to a whole one, in proportion, differs from it by rounding only.
const ROUNDING: f64 = 1e-12;

/// Why there is no advice.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum ReliabilityError {
    /// The confidence is none of those with a known critical value.
    #[error("a confidence of {0} percent is not supported; take 90, 95 or 99")]
    Confidence(u32),
    /// The half-width is not between 0 and 1, or so small that no number of runs reaches it.
    #[error("{}", explain(*.0))]
    HalfWidth(f64),
    /// There are no runs.
    #[error("no runs say nothing; take at least one")]
    NoRuns,
}

fn explain(half_width: f64) -> String {
    if half_width > 0.0 && half_width < 1.0 {
        format!(
            "a half-width of {half_width} takes more runs than can be counted; take a larger one, such as 0.05"
        )
    } else {
        format!(
            "the half-width must be between 0 and 1, and is {half_width}; 0.05 is five percent to either side"
        )
    }
}

/// How many runs make the pass rate known to within `half_width` (0.05: five percent to either
/// side) with a confidence of 90, 95 or 99 percent, whatever the rate is.
///
/// ```
/// use mcprove_score::agent::reliability::recommend_runs;
///
/// assert_eq!(recommend_runs(0.05, 95), Ok(385));
/// assert!(recommend_runs(0.0, 95).is_err());
/// assert!(recommend_runs(0.05, 97).is_err());
/// ```
pub fn recommend_runs(half_width: f64, confidence: u32) -> Result<u64, ReliabilityError> {
    let critical = critical_value(confidence)?;
    if !(half_width > 0.0 && half_width < 1.0) {
        return Err(ReliabilityError::HalfWidth(half_width));
    }
    let scaled = critical / half_width;
    let exact = scaled * scaled * 0.25;
    // 1.96 / 0.098 is a little over 20 in floating point, and still 100 runs, not 101.
    let nearest = exact.round();
    let runs = if (exact - nearest).abs() <= nearest * ROUNDING {
        nearest
    } else {
        exact.ceil()
    };
    whole(runs).ok_or(ReliabilityError::HalfWidth(half_width))
}

/// How far from the truth the pass rate of so many runs can be, at worst, with a confidence of 90,
/// 95 or 99 percent.
///
/// ```
/// use mcprove_score::agent::reliability::confidence_band;
///
/// assert!((confidence_band(100, 95).unwrap() - 0.098).abs() < 1e-12);
/// assert!(confidence_band(0, 95).is_err());
/// ```
pub fn confidence_band(runs: u64, confidence: u32) -> Result<f64, ReliabilityError> {
    let critical = critical_value(confidence)?;
    if runs == 0 {
        return Err(ReliabilityError::NoRuns);
    }
    Ok(critical * (0.25 / float(runs)).sqrt())
}

/// The critical value of the normal distribution.
fn critical_value(confidence: u32) -> Result<f64, ReliabilityError> {
    match confidence {
        90 => Ok(1.645),
        95 => Ok(1.96),
        99 => Ok(2.576),
        _ => Err(ReliabilityError::Confidence(confidence)),
    }
}

/// A whole number of runs, unless it is too large to be exact.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be between 1 and 2^53"
)]
fn whole(runs: f64) -> Option<u64> {
    (1.0..=RUNS_MAX).contains(&runs).then_some(runs as u64)
}
