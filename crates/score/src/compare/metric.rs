//! One number per run, compared: p50, p95 or throughput. p99 has rules of its own (`p99.rs`).

use super::prelude::*;

/// How far from 1 the interval of an unchanged ratio may reach.
const UNCHANGED_MARGIN: f64 = 0.05;

/// One metric of two sets of runs.
#[data]
pub struct MetricComparison {
    /// Its name: `p50_ms`, `p95_ms`, `p99_ms` or `throughput_per_s`.
    pub metric: String,
    /// Median over the baseline runs.
    pub baseline_median: Option<f64>,
    /// Median over the current runs.
    pub current_median: Option<f64>,
    /// Current over baseline median.
    pub ratio: Option<f64>,
    /// Low end of the ratio's 95 % interval.
    pub ratio_low: Option<f64>,
    /// High end of the ratio's 95 % interval.
    pub ratio_high: Option<f64>,
    /// Two-sided p of the Mann-Whitney test.
    pub p_value: Option<f64>,
    /// The same, corrected for the number of metrics tested.
    pub adjusted_p: Option<f64>,
    /// What it says.
    pub change: Change,
    /// The same, for people.
    pub sentence: String,
}

/// A metric as it is read from a run.
pub struct Metric {
    pub name: &'static str,
    pub label: &'static str,
    pub read: fn(&RunSample) -> Option<f64>,
    pub more_is_worse: bool,
}

const TESTED: [Metric; 3] = [
    Metric::latency("p50_ms", "p50", |run| run.p50_ms),
    Metric::latency("p95_ms", "p95", |run| run.p95_ms),
    Metric {
        name: "throughput_per_s",
        label: "Throughput",
        read: |run| Some(run.throughput_per_s),
        more_is_worse: false,
    },
];

/// How long the server takes to start. It is tested with the others, but leaves a comparison open only when something
/// else does: most runs have a single start.
const STARTUP: Metric = Metric::latency("startup_ms", "Startup", |run| run.startup_ms);

/// The least difference in startup that matters, in milliseconds: less is the machine's.
const STARTUP_DIFFERENCE_MS_MIN: f64 = 10.0;

impl Metric {
    pub const fn latency(
        name: &'static str,
        label: &'static str,
        read: fn(&RunSample) -> Option<f64>,
    ) -> Self {
        Self {
            name,
            label,
            read,
            more_is_worse: true,
        }
    }

    fn values(&self, runs: &[RunSample]) -> Vec<f64> {
        runs.iter()
            .filter(|run| !run.generator_limited)
            .filter_map(self.read)
            .filter(|value| value.is_finite() && *value >= 0.0)
            .collect()
    }

    /// A value as people read it.
    pub fn text(&self, value: f64) -> String {
        if self.more_is_worse {
            milliseconds(value)
        } else {
            format!("{} calls per second", decimal(value, 1))
        }
    }

    /// Whether `other` is worse than `one` by this factor. No division: a median may be zero.
    pub fn is_worse_by(&self, one: f64, other: f64, factor: f64) -> bool {
        let (small, large) = if self.more_is_worse {
            (one, other)
        } else {
            (other, one)
        };
        large > small && large >= small * factor
    }
}

/// What the runs of two sides can prove.
#[derive(Clone, Copy)]
pub struct Evidence {
    /// Whether a test of so many runs can be certain at all, even if the sides do not overlap.
    is_enough: bool,
    /// Whether all runs of one side lie beyond all of the other.
    is_separated: bool,
    is_single: bool,
}

impl Evidence {
    pub fn of(before: &[f64], after: &[f64]) -> Self {
        // Two-sided, the runs in perfect order, and the strictest of the corrected tests, of which
        // error rates are one.
        let tests = float_len(TESTED.len() + 1);
        let best = 2.0 / orders(before.len(), after.len()) * tests;
        let is_below =
            |one: &[f64], other: &[f64]| one.iter().all(|low| other.iter().all(|high| low < high));
        Self {
            is_enough: best < P_MAX,
            is_separated: is_below(before, after) || is_below(after, before),
            is_single: before.len().min(after.len()) == 1,
        }
    }

    pub fn is_enough(self) -> bool {
        self.is_enough
    }

    /// Whether a difference with this corrected p is no accident. Of many comparisons of equal
    /// servers one in forty would be an alarm at [`P_MAX`], so that runs that overlap need more.
    pub fn is_certain(self, adjusted_p: Option<f64>) -> bool {
        let limit = if self.is_separated {
            P_MAX
        } else {
            P_OVERLAPPING_MAX
        };
        self.is_enough && adjusted_p.is_some_and(|p| p < limit)
    }

    /// Why nothing was decided.
    fn note(self) -> &'static str {
        match self.is_enough {
            true => "",
            false if self.is_single => "; a single run, too few runs for a test",
            false => "; too few runs for a test",
        }
    }
}

/// In how many ways the runs of two sides can be ordered: the binomial of all and one side.
fn orders(first: usize, second: usize) -> f64 {
    (1..=first.min(second))
        .map(|place| float_len(first.max(second) + place) / float_len(place))
        .product()
}

/// Compares every metric but p99. `errors_p` is the p of error rates, which is tested with the
/// others; its corrected value is returned.
pub fn compare_all(
    baseline: &[RunSample],
    current: &[RunSample],
    errors_p: Option<f64>,
) -> (Vec<MetricComparison>, Option<f64>) {
    let is_started = |run: &RunSample| run.startup_ms.is_some();
    let has_startups = baseline.iter().any(is_started) && current.iter().any(is_started);
    let tested = || TESTED.iter().chain(has_startups.then_some(&STARTUP));
    let measured: Vec<_> = tested()
        .map(|metric| measure(metric, baseline, current))
        .collect();
    let p_values = measured.iter().map(|(comparison, _)| comparison.p_value);
    let adjusted = adjust(&p_values.chain([errors_p]).collect::<Vec<_>>());
    let decided = tested().zip(measured).zip(&adjusted).map(
        |((metric, (mut comparison, evidence)), adjusted_p)| {
            comparison.adjusted_p = *adjusted_p;
            decide(metric, &mut comparison, evidence);
            comparison
        },
    );
    (decided.collect(), adjusted.last().copied().flatten())
}

/// The numbers of a metric, still without a verdict, and what they can bear.
fn measure(
    metric: &Metric,
    baseline: &[RunSample],
    current: &[RunSample],
) -> (MetricComparison, Evidence) {
    let (before, after) = (metric.values(baseline), metric.values(current));
    let (baseline_median, current_median) = (median(&before), median(&after));
    let interval = ratio_interval(&before, &after);
    let comparison = MetricComparison {
        metric: metric.name.to_owned(),
        baseline_median,
        current_median,
        ratio: baseline_median
            .zip(current_median)
            .and_then(|(before, after)| ratio(after, before)),
        ratio_low: interval.map(|(low, _)| low),
        ratio_high: interval.map(|(_, high)| high),
        p_value: mann_whitney::test(&before, &after).map(|result| result.p_value),
        adjusted_p: None,
        change: Change::Inconclusive,
        sentence: String::new(),
    };
    (comparison, Evidence::of(&before, &after))
}

/// The 95 % interval of the ratio, from the ratios of all pairs of runs in order.
fn ratio_interval(before: &[f64], after: &[f64]) -> Option<(f64, f64)> {
    pair_interval(before, after, |before, after| {
        let ratio = after / before;
        // Zero over zero: the same.
        if ratio.is_nan() { 1.0 } else { ratio }
    })
}

/// The 95 % interval of how the sides relate, from all pairs of runs in order.
pub fn pair_interval(
    before: &[f64],
    after: &[f64],
    relate: fn(f64, f64) -> f64,
) -> Option<(f64, f64)> {
    let rank = mann_whitney::interval_rank(before.len(), after.len())?;
    let pairs = before
        .iter()
        .flat_map(|before| after.iter().map(move |after| relate(*before, *after)));
    let mut pairs: Vec<f64> = pairs.collect();
    pairs.sort_by(f64::total_cmp);
    let (low, high) = (pairs.get(rank - 1)?, pairs.get(pairs.len() - rank)?);
    Some((finite(*low)?, finite(*high)?))
}

fn decide(metric: &Metric, comparison: &mut MetricComparison, evidence: Evidence) {
    let label = metric.label;
    let Some((before, after)) = comparison.baseline_median.zip(comparison.current_median) else {
        comparison.sentence = format!("{label} was not measured on both sides.");
        return;
    };
    let is_certain = evidence.is_certain(comparison.adjusted_p);
    let is_small =
        metric.name == STARTUP.name && (after - before).abs() < STARTUP_DIFFERENCE_MS_MIN;
    comparison.change = if is_small {
        Change::Unchanged
    } else if is_certain && metric.is_worse_by(before, after, RATIO_MIN) {
        Change::Regressed
    } else if is_certain && metric.is_worse_by(after, before, RATIO_MIN) {
        Change::Improved
    } else if evidence.is_enough && comparison.is_within_margin() {
        Change::Unchanged
    } else {
        Change::Inconclusive
    };
    let change = match comparison.change {
        Change::Regressed => "is worse",
        Change::Improved => "is better",
        Change::Unchanged => "is unchanged",
        Change::Inconclusive => "may or may not have changed",
    };
    comparison.sentence = format!(
        "{label} {change}: {} before, {} now{}{}.",
        metric.text(before),
        metric.text(after),
        ratio_text(comparison),
        evidence.note()
    );
}

/// The ratio in brackets, with its interval where there is one.
fn ratio_text(comparison: &MetricComparison) -> String {
    comparison.ratio.map_or(String::new(), |ratio| {
        let ratio = decimal(ratio, 3);
        match comparison.ratio_low.zip(comparison.ratio_high) {
            Some((low, high)) => format!(
                " (× {ratio}, 95 % interval {} to {})",
                decimal(low, 3),
                decimal(high, 3)
            ),
            None => format!(" (× {ratio})"),
        }
    })
}

impl MetricComparison {
    fn found(&self) -> Option<&'static Metric> {
        let mut all = TESTED.iter().chain([&STARTUP, &P99]);
        all.find(|it| it.name == self.metric)
    }

    /// What tables call it.
    pub fn label(&self) -> String {
        let known = self.found().map(|it| it.label.to_lowercase());
        known.unwrap_or_else(|| self.metric.clone())
    }

    /// Whether it is a rate, else a time.
    pub fn is_rate(&self) -> bool {
        self.found().is_some_and(|it| !it.more_is_worse)
    }

    /// Whether it is the startup, which says nothing of the load.
    pub fn is_startup(&self) -> bool {
        self.metric == STARTUP.name
    }

    /// Whether it is the startup, and nothing is known of it.
    pub fn is_open_startup(&self) -> bool {
        self.is_startup() && self.change == Change::Inconclusive
    }

    fn is_within_margin(&self) -> bool {
        let is_high = |high| high <= 1.0 + UNCHANGED_MARGIN;
        self.ratio_low >= Some(1.0 - UNCHANGED_MARGIN) && self.ratio_high.is_some_and(is_high)
    }

    /// How many runs a side would decide: the interval's width shrinks with the square root of
    /// their number, and must get down to ±5 %, or to the distance of the ratio from 1.
    pub fn runs_to_try(&self, runs: usize) -> usize {
        let most = RUNS_MAX.max(runs);
        let least = RUNS_DEFAULT.max(runs + 1).min(most);
        match self.ratio_low.zip(self.ratio_high) {
            None => least,
            Some((low, high)) => {
                let distance = self.ratio.map_or(0.0, |ratio| (ratio - 1.0).abs());
                let narrower = (high - low) / (2.0 * distance.max(UNCHANGED_MARGIN));
                let wanted = (float_len(runs) * narrower * narrower).ceil();
                truncated_len(wanted).clamp(least, most)
            }
        }
    }
}

// p99, compared only where the user set a limit: it rests on few calls, and differs from run to
// run more than the others.

const P99: Metric = Metric::latency("p99_ms", "p99", |run| run.p99_ms);

/// A limit is broken when the whole interval of the ratio lies beyond it.
pub fn compare(baseline: &[RunSample], current: &[RunSample], limit: f64) -> MetricComparison {
    // Ten calls beyond it, over all runs of a side: fewer are luck.
    let is_supported = [baseline, current]
        .into_iter()
        .all(|runs| percentile::is_supported(succeeded(runs), 99.0));
    let (mut comparison, evidence) = if is_supported {
        measure(&P99, baseline, current)
    } else {
        measure(&P99, &[], &[])
    };
    match comparison.baseline_median.zip(comparison.current_median) {
        Some((before, after)) if !limit.is_nan() => {
            let is_certain = comparison.ratio_low.is_some_and(|low| low > limit);
            let (change, verb) = match (evidence.is_enough, after > before * limit, is_certain) {
                (true, false, _) => (Change::Unchanged, "stays within"),
                (true, true, true) => (Change::Regressed, "exceeds"),
                _ => (Change::Inconclusive, "may exceed"),
            };
            comparison.change = change;
            comparison.sentence = format!(
                "p99 {verb} the allowed ratio of {}: {} before, {} now{}{}.",
                crate::prelude::decimal(limit, 3),
                P99.text(before),
                P99.text(after),
                ratio_text(&comparison),
                evidence.note()
            );
        }
        _ if !is_supported => {
            "p99 says nothing: it needs 1000 successful calls a side."
                .clone_into(&mut comparison.sentence);
        }
        _ => "p99 was not measured on both sides.".clone_into(&mut comparison.sentence),
    }
    comparison
}

fn succeeded(runs: &[RunSample]) -> u64 {
    runs.iter()
        .map(|run| run.attempted.saturating_sub(run.failed))
        .fold(0, u64::saturating_add)
}

// Holm's correction: several tests at once, and still at most 5 % false alarms in all.
//
// With m values of p in ascending order, the adjusted one is p'₍ᵢ₎ = max over j ≤ i of
// (m − j + 1) · p₍ⱼ₎, at most 1 (Holm, *A Simple Sequentially Rejective Multiple Test Procedure*,
// 1979).

/// Adjusts each p for the others. What was not tested (`None`) does not count.
fn adjust(p_values: &[Option<f64>]) -> Vec<Option<f64>> {
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
mod holm_tests {
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
        assert_eq!(
            adjust(&[Some(0.5), None, Some(0.25)]),
            [Some(0.5), None, Some(0.5)]
        );
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
