//! How far an agent can be relied on: what its passed and failed runs say together.
//!
//! Over n runs of which c passed, in their order:
//!
//! | value | formula |
//! |---|---|
//! | `pass_at_k` | 100 when one passed, else 0 |
//! | `passhat_k` | 100 when every one passed, else 0 |
//! | `decay_curve` | for each k: 100 · (cₖ/k)ᵏ, with cₖ passes among the first k, cut to a whole number |
//! | `variance_amplification` | 100 · σ / 0.5, σ the population deviation of the passes (1 or 0), rounded |
//! | `graceful_degradation` | 100 · Σ i·passᵢ / Σ i with i from 1, cut: a late failure costs more |
//! | `passhat_k_unbiased` | C(c, k) / C(n, k) for k = n; the curve has it for each k |
//! | `wilson_low`, `wilson_high` | Wilson's 95 % interval of the pass rate |
//!
//! All as in mcptest but the last three: the plug-in (c/k)ᵏ of the curve overstates small samples, and
//! the unbiased estimator is that of τ-bench (arXiv:2406.12045). Whether a run passed is for whoever
//! judged it (`runs[i].passed`). There is no default gate. How many runs are enough:
//! [`recommend_runs`].

use crate::prelude::*;

/// Up to this k, kᵏ · 100 fits into 128 bits, and the curve is computed in whole numbers. Beyond it no
/// value but 0 and 100 comes near a whole one, so that floating point cuts it right.
const EXACT_MAX: u32 = 25;

/// What passes and failures say together. Percents are whole numbers, 0 to 100.
#[stored(Default)]
pub struct ReliabilitySummary {
    pub runs: u64,
    /// Those that passed.
    pub passes: u64,
    /// 100 when one passed, else 0.
    pub pass_at_k: u64,
    /// 100 when every one passed, else 0; 0 without runs.
    pub passhat_k: u64,
    /// 100 · (passes among the first k / k)ᵏ for each k from 1 on, cut.
    pub decay_curve: Vec<u64>,
    /// How mixed the outcomes are: 0 when all are the same, 100 for an even split.
    pub variance_amplification: u64,
    /// 100 when every run passed; late failures cost more; 0 without runs.
    pub graceful_degradation: u64,
    /// The chance that all of n runs pass, C(c, n) / C(n, n): 1 when every one passed, else 0;
    /// `None` without runs.
    pub passhat_k_unbiased: Option<f64>,
    /// The chance that all of k runs pass, C(c, k) / C(n, k), for each k from 1 on.
    pub passhat_k_unbiased_curve: Vec<f64>,
    /// Low end of the pass rate's 95 % interval; `None` without runs.
    pub wilson_low: Option<f64>,
    /// High end of it.
    pub wilson_high: Option<f64>,
}

/// Sums up outcomes, in the order of the runs.
///
/// ```
/// use mcprove_score::agent::reliability::summarize;
///
/// let summary = summarize(&[true, true, true, false]);
/// assert_eq!(summary.decay_curve, [100, 100, 100, 31]);
/// assert_eq!(summary.variance_amplification, 87);
/// assert_eq!(summary.graceful_degradation, 60);
/// assert_eq!((summary.pass_at_k, summary.passhat_k), (100, 0));
/// ```
pub fn summarize(outcomes: &[bool]) -> ReliabilitySummary {
    let (mut runs, mut passes) = (0_u64, 0_u64);
    let (mut weights, mut passed_weights) = (0_u128, 0_u128);
    let mut decay_curve = Vec::with_capacity(outcomes.len());
    for passed in outcomes {
        runs += 1;
        passes += u64::from(*passed);
        weights += u128::from(runs);
        passed_weights += if *passed { u128::from(runs) } else { 0 };
        decay_curve.push(power_percent(passes, runs));
    }
    let percent_if = |is_so: bool| if is_so { 100 } else { 0 };
    let graceful = (passed_weights * 100).checked_div(weights).unwrap_or(0);
    let curve = unbiased_curve(passes, runs);
    let interval = wilson(passes, runs);
    ReliabilitySummary {
        runs,
        passes,
        pass_at_k: percent_if(passes > 0),
        passhat_k: percent_if(runs > 0 && passes == runs),
        decay_curve,
        variance_amplification: variance_amplification(passes, runs),
        graceful_degradation: u64::try_from(graceful).unwrap_or(100),
        passhat_k_unbiased: curve.last().copied(),
        passhat_k_unbiased_curve: curve,
        wilson_low: interval.map(|interval| interval.low),
        wilson_high: interval.map(|interval| interval.high),
    }
}

/// 100 · (passes / runs) ^ runs, cut.
fn power_percent(passes: u64, runs: u64) -> u64 {
    if passes == runs {
        return 100;
    }
    match u32::try_from(runs) {
        Ok(exponent) if exponent <= EXACT_MAX => {
            let power = |base: u64| u128::from(base).checked_pow(exponent);
            let percent = power(passes)
                .zip(power(runs))
                .and_then(|(over, under)| over.checked_mul(100)?.checked_div(under));
            percent.map_or(0, |percent| u64::try_from(percent).unwrap_or(100))
        }
        _ => truncated(100.0 * power(float(passes) / float(runs), runs)),
    }
}

/// `base` to the `exponent`, by squaring; written out, for `powi` differs between platforms.
fn power(mut base: f64, mut exponent: u64) -> f64 {
    let mut power = 1.0;
    while exponent > 0 {
        if exponent % 2 == 1 {
            power *= base;
        }
        base *= base;
        exponent /= 2;
    }
    power
}

/// 200 · √(passes · failures) / runs, rounded, in whole numbers: the largest m with
/// m − 0.5 ≤ that, squared and freed of fractions.
fn variance_amplification(passes: u64, runs: u64) -> u64 {
    let wide = |count: u64| u128::from(count);
    let mixed = wide(passes) * wide(runs - passes.min(runs));
    let reaches = |percent: &u64| {
        let twice = wide(2 * percent - 1).saturating_mul(wide(runs));
        twice.saturating_mul(twice) <= mixed.saturating_mul(160_000)
    };
    if mixed == 0 {
        return 0;
    }
    (1..=100).rev().find(reaches).unwrap_or(0)
}

/// C(passes, k) / C(runs, k) for each k from 1 to `runs`: one factor more each time.
fn unbiased_curve(passes: u64, runs: u64) -> Vec<f64> {
    let mut chance = 1.0;
    (0..runs)
        .map(|drawn| {
            chance *= float(passes.saturating_sub(drawn)) / float(runs - drawn);
            chance
        })
        .collect()
}

/// The metric `reliability`.
#[derive(Debug)]
pub struct Reliability;

impl Metric for Reliability {
    type Block = ();

    const ABOUT: About = About {
        name: "reliability",
        explanation: "what passed and failed runs say together",
        targets: &[
            Target::overall("reliability.runs", "how many runs there are"),
            Target::overall(
                "reliability.pass_at_k",
                "100 when at least one run passed, else 0",
            ),
            Target::overall("reliability.passhat_k", "100 when every run passed, else 0"),
            Target::overall(
                "reliability.variance_amplification",
                "how mixed the outcomes are: 0 all the same, 100 an even split",
            ),
            Target::overall(
                "reliability.graceful_degradation",
                "100 when every run passed; late failures cost more",
            ),
            Target::overall(
                "reliability.decay_curve",
                "pass^k in percent for k from 1 on, a list",
            ),
            Target::overall(
                "reliability.passhat_k_unbiased",
                "C(c,k)/C(n,k) for k = n: 1 when every run passed, else 0",
            ),
            Target::overall(
                "reliability.passhat_k_unbiased_curve",
                "C(c,k)/C(n,k) for k from 1 on, a list",
            ),
            Target::overall(
                "reliability.wilson_low",
                "low end of the pass rate's 95 % interval",
            ),
            Target::overall(
                "reliability.wilson_high",
                "high end of the pass rate's 95 % interval",
            ),
        ],
        default_gate: "none; every run needs `passed`, true or false",
        has_default_gate: false,
        over_all_runs: true,
        ..About::PLAIN
    };

    fn score(&self, case: &Case<'_, ()>, card: &mut Scorecard) -> ScoreResult {
        let outcomes = match outcomes(&case.trace.runs) {
            Ok(outcomes) => outcomes,
            Err(unknown) => return not_judged(case, &unknown, card),
        };
        card.put(&Self::ABOUT, &summarize(&outcomes));
        Ok(())
    }
}

/// Whether each run passed, or the runs that do not tell.
fn outcomes(runs: &[AgentRun]) -> Result<Vec<bool>, Vec<usize>> {
    let outcomes: Vec<bool> = runs.iter().filter_map(|run| run.passed).collect();
    if outcomes.len() == runs.len() && !runs.is_empty() {
        return Ok(outcomes);
    }
    let unknown = runs
        .iter()
        .enumerate()
        .filter(|(_, run)| run.passed.is_none());
    Err(unknown.map(|(index, _)| index).collect())
}

/// What follows when not every run tells whether it passed.
fn not_judged(case: &Case<'_, ()>, unknown: &[usize], card: &mut Scorecard) -> ScoreResult {
    let untold = format!(
        "the trace does not say whether {} passed",
        named_places("run", unknown)
    );
    if case.block.is_some() {
        let error = ScoreError::new(
            "reliability",
            untold,
            sentence!(
                "set `passed` to true or false in each run, or leave out the reliability block"
            ),
        );
        return Err(match unknown.first() {
            Some(first) => error.of_run(*first),
            None => error,
        });
    }
    // No run judged is the usual case; some judged and some not is probably a mistake.
    if unknown.len() < case.trace.runs.len() {
        card.note(format!("Reliability is not computed: {untold}."));
    }
    Ok(())
}

// How many runs are enough: Wald's interval of a share, solved for the worst case p = 0.5.
//
// With z = 1.645, 1.96 or 2.576 for 90, 95 or 99 percent, N = ceil((z / w)² · 0.25) runs make the
// interval no wider than w to either side, and N runs make it z · √(0.25 / N) at most. The formulas are
// those of mcptest. Once there are runs, Wilson's interval tells more
// ([`summarize`](super::summarize)).

/// Counts up to here are exact in floating point (2^53).
const RUNS_MAX: f64 = 9_007_199_254_740_992.0;

/// A number so close to a whole one, in proportion, differs from it by rounding only.
const ROUNDING: f64 = 1e-12;

/// Why there is no advice.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum ReliabilityError {
    /// The confidence is none of those with a known critical value.
    #[error("a confidence of {0} percent is not supported")]
    Confidence(u32),
    /// The half-width is not between 0 and 1, or so small that no number of runs reaches it.
    #[error("{}", explain(*.0))]
    HalfWidth(f64),
    #[error("no runs say nothing")]
    NoRuns,
}

fn explain(half_width: f64) -> String {
    if half_width > 0.0 && half_width < 1.0 {
        format!("a half-width of {half_width} takes more runs than can be counted")
    } else {
        format!("the half-width must be between 0 and 1, and is {half_width}")
    }
}

impl UserError for ReliabilityError {
    fn hint(&self) -> Message {
        match self {
            Self::Confidence(_) => "use 90, 95 or 99",
            Self::HalfWidth(_) => "0.05 is five percent to either side",
            Self::NoRuns => "use at least one",
        }
        .into()
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
    if !(1.0..=RUNS_MAX).contains(&runs) {
        return Err(ReliabilityError::HalfWidth(half_width));
    }
    Ok(truncated(runs))
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

#[cfg(test)]
mod tests;
