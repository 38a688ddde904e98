mod simulated;

use proptest::prelude::*;

use super::*;
use crate::testing::{floats, maybe_floats};

/// A small linear congruential generator (Knuth's MMIX constants): the same numbers every time.
struct Lcg(u64);

impl Lcg {
    /// From 0 to 1.
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        f64::from(u32::try_from(self.0 >> 32).unwrap()) / f64::from(u32::MAX)
    }

    /// Nearly normal around 1 with this deviation: the sum of twelve uniforms.
    fn noise(&mut self, deviation: f64) -> f64 {
        let sum: f64 = (0..12).map(|_| self.next()).sum();
        1.0 + deviation * (sum - 6.0)
    }

    /// Runs whose every metric is `slower` times the usual one, with its own noise.
    fn runs(&mut self, count: usize, slower: f64, deviation: f64) -> Vec<RunSample> {
        (0..count)
            .map(|_| {
                run(
                    10.0 * slower * self.noise(deviation),
                    40.0 * slower * self.noise(deviation),
                    1000.0 / slower * self.noise(deviation),
                )
            })
            .collect()
    }
}

fn run(p50_ms: f64, p95_ms: f64, throughput_per_s: f64) -> RunSample {
    RunSample {
        p50_ms: Some(p50_ms),
        p95_ms: Some(p95_ms),
        p99_ms: Some(p95_ms * 2.0),
        throughput_per_s,
        attempted: 10_000,
        ..RunSample::default()
    }
}

/// Runs that differ by a percent, and are slower by a factor.
fn runs(count: u32, slower: f64) -> Vec<RunSample> {
    (0..count)
        .map(|i| {
            let wobble = 1.0 + f64::from(i) / 1000.0;
            run(
                10.0 * slower * wobble,
                40.0 * slower * wobble,
                1000.0 / slower / wobble,
            )
        })
        .collect()
}

fn against(baseline: &[RunSample], current: &[RunSample]) -> Comparison {
    compare(baseline, current, &CompareLimits::default())
}

#[test]
fn a_clear_slowdown_regresses_every_metric() {
    let comparison = against(&runs(8, 1.0), &runs(8, 1.2));
    assert_eq!(comparison.change, Change::Regressed);
    assert!(
        comparison
            .metrics
            .iter()
            .all(|metric| metric.change == Change::Regressed)
    );
    let p50 = &comparison.metrics[0];
    assert!((p50.ratio.unwrap() - 1.2).abs() < 1e-9);
    assert!(
        p50.ratio_low.unwrap() < 1.2 && p50.ratio_high.unwrap() > 1.2,
        "{p50:?}"
    );
    assert!((p50.p_value.unwrap() - 2.0 / 12_870.0).abs() < 1e-9);
    assert!((p50.adjusted_p.unwrap() - 6.0 / 12_870.0).abs() < 1e-9);
    assert!(
        p50.sentence.starts_with(
            "p50 is worse: 10 ms before, 12 ms now (× 1.2, 95 % interval 1.196 to 1.204)."
        ),
        "{}",
        p50.sentence
    );
    assert_eq!((comparison.single_run, comparison.runs), (false, (8, 8)));
    assert_eq!(comparison.advice, None);
}

#[test]
fn faster_is_an_improvement_and_the_same_is_unchanged() {
    assert_eq!(
        against(&runs(8, 1.2), &runs(8, 1.0)).change,
        Change::Improved
    );
    let same = against(&runs(8, 1.0), &runs(8, 1.0));
    assert_eq!(same.change, Change::Unchanged, "{same:?}");
    let slightly = against(&runs(8, 1.0), &runs(8, 1.04));
    assert_eq!(
        slightly.change,
        Change::Unchanged,
        "significant, and too small to matter"
    );
}

fn advice_of(comparison: &Comparison) -> String {
    comparison.advice.clone().unwrap_or_default().rendered()
}

#[test]
fn few_or_noisy_runs_are_inconclusive_with_a_number_to_try() {
    let few = against(&runs(3, 1.0), &runs(3, 1.2));
    assert_eq!(few.change, Change::Inconclusive);
    assert_eq!(advice_of(&few), "compare more runs: `runs = 8`");
    let mut random = Lcg(3);
    let clear = against(&random.runs(4, 1.0, 0.05), &random.runs(4, 1.25, 0.05));
    assert_eq!(clear.change, Change::Inconclusive, "four runs prove little");
    assert_eq!(advice_of(&clear), "compare more runs: `runs = 8`");
    let mut random = Lcg(7);
    let noisy = against(&random.runs(8, 1.0, 0.1), &random.runs(8, 1.0, 0.1));
    assert_eq!(noisy.change, Change::Inconclusive);
    let advice = noisy.advice.unwrap().rendered();
    let wanted: usize = advice
        .strip_prefix("compare more runs: `runs = ")
        .and_then(|rest| rest.strip_suffix('`'))
        .unwrap()
        .parse()
        .unwrap();
    assert!((9..=RUNS_MAX).contains(&wanted), "{advice}");
}

#[test]
fn too_few_runs_for_a_test_decide_nothing() {
    for count in 1..=4 {
        for slower in [1.0, 1.29, 2.5, 0.4] {
            let few = against(&runs(count, 1.0), &runs(count, slower));
            assert_eq!(few.change, Change::Inconclusive, "{count} runs, {slower}");
            assert!(few.decides_nothing());
            assert_eq!(few.single_run, count == 1);
            assert_eq!(advice_of(&few), "compare more runs: `runs = 8`");
            for metric in &few.metrics {
                assert_eq!(metric.change, Change::Inconclusive, "{metric:?}");
                assert!(metric.sentence.contains("too few runs for a test"));
                assert_eq!(metric.sentence.contains("single run"), count == 1);
            }
        }
    }
    let enough = against(&runs(5, 1.0), &runs(5, 1.1));
    assert_eq!(enough.change, Change::Regressed, "five can be tested");
    let same = against(&runs(5, 1.0), &runs(5, 1.0));
    assert!(!same.decides_nothing(), "{same:?}");
}

/// Unless nothing works any more: that is no matter of chance.
#[test]
fn a_side_that_always_fails_is_found_in_two_runs() {
    let failing = |count| -> Vec<RunSample> {
        let run = RunSample {
            attempted: 100,
            failed: 100,
            ..RunSample::default()
        };
        vec![run; count]
    };
    let found = |count| against(&runs(2, 1.0), &failing(count)).errors.change;
    assert_eq!(found(2), Change::Regressed);
    assert_eq!(found(1), Change::Inconclusive, "a quota may be used up");
    let gone = against(&failing(2), &runs(2, 1.0));
    assert_eq!(gone.errors.change, Change::Improved);
    assert!(!gone.decides_nothing());
}

#[test]
fn a_server_that_serves_nothing_regresses() {
    let dead = vec![
        RunSample {
            attempted: 100,
            failed: 100,
            ..RunSample::default()
        };
        8
    ];
    let comparison = against(&runs(8, 1.0), &dead);
    assert_eq!(comparison.change, Change::Regressed);
    assert_eq!(
        comparison.metrics[2].change,
        Change::Regressed,
        "{:?}",
        comparison.metrics[2]
    );
    assert_eq!(comparison.metrics[0].change, Change::Inconclusive);
    assert_eq!(comparison.errors.change, Change::Regressed);
}

#[test]
fn error_rates_of_the_runs_are_compared() {
    let failing = |failed: u64, attempted: u64| {
        runs(8, 1.0)
            .into_iter()
            .map(|run| RunSample {
                attempted,
                failed,
                ..run
            })
            .collect::<Vec<_>>()
    };
    let cases = [
        (0, 0, 1000, None, Change::Unchanged),
        (0, 1, 1000, None, Change::Regressed),
        (0, 1, 1000, Some(0.01), Change::Unchanged),
        (10, 0, 1000, None, Change::Improved),
        (1, 2, 10, None, Change::Inconclusive),
        (100, 115, 1000, Some(0.01), Change::Inconclusive),
        (100, 150, 1000, Some(0.01), Change::Regressed),
    ];
    for (before, after, attempted, error_rate_increase, change) in cases {
        let limits = CompareLimits {
            error_rate_increase,
            ..CompareLimits::default()
        };
        let comparison = compare(
            &failing(before, attempted),
            &failing(after, attempted),
            &limits,
        );
        assert_eq!(
            comparison.errors.change, change,
            "{before} {after}: {:?}",
            comparison.errors
        );
    }
    let none = against(&failing(0, 0), &failing(0, 10));
    assert_eq!(none.errors.change, Change::Inconclusive);
}

#[test]
fn new_deadlocks_need_no_statistics_and_new_hangs_two_runs() {
    let with = |count: u32, deadlocks: u64, hangs: u64| {
        let mut runs = runs(count, 1.0);
        runs[0].deadlocks = deadlocks;
        runs[0].hangs = hangs;
        runs
    };
    let new = against(&with(8, 0, 0), &with(8, 1, 1));
    assert_eq!(
        (new.change, new.deadlocks.change, new.hangs.change),
        (Change::Regressed, Change::Regressed, Change::Inconclusive)
    );
    assert_eq!(
        new.hangs.sentence,
        "1 in 1 of 8 runs now, 0 before: a second run with one would decide."
    );
    let one_late = against(&with(8, 0, 0), &with(8, 0, 50));
    assert_eq!(one_late.change, Change::Inconclusive);
    let advice = one_late.advice.unwrap().rendered();
    assert!(advice.contains("16"), "{advice}");
    let mut two = with(8, 0, 1);
    two[5].hangs = 1;
    assert_eq!(
        against(&with(8, 0, 0), &two).hangs.change,
        Change::Regressed
    );
    assert_eq!(
        new.deadlocks.sentence,
        "New: 1 deadlock, 0 deadlocks before."
    );
    let allowed = CompareLimits {
        new_deadlocks: 1,
        ..CompareLimits::default()
    };
    assert_eq!(
        compare(&with(8, 0, 0), &with(8, 1, 0), &allowed)
            .deadlocks
            .change,
        Change::Unchanged
    );
    let old = against(&with(8, 2, 2), &with(8, 2, 9));
    assert_eq!(
        (old.deadlocks.change, old.hangs.change),
        (Change::Unchanged, Change::Unchanged)
    );
    let more = against(&with(8, 2, 0), &with(8, 3, 0));
    assert_eq!(more.deadlocks.change, Change::Regressed);
    let scaled = against(&with(4, 2, 0), &with(8, 4, 0));
    assert_eq!(scaled.deadlocks.change, Change::Unchanged);
    let gone = against(&with(8, 2, 2), &with(8, 0, 0));
    assert_eq!(
        (gone.deadlocks.change, gone.hangs.change),
        (Change::Improved, Change::Improved)
    );
}

#[test]
fn p99_is_looked_at_only_with_a_limit() {
    assert_eq!(against(&runs(8, 1.0), &runs(8, 1.0)).metrics.len(), 3);
    let limits = CompareLimits {
        p99_ratio: Some(1.1),
        ..CompareLimits::default()
    };
    let cases = [
        (1, 1.09, Change::Inconclusive),
        (4, 1.31, Change::Inconclusive),
        (8, 1.09, Change::Unchanged),
        (8, 1.101, Change::Inconclusive),
        (8, 1.12, Change::Regressed),
    ];
    for (count, slower, change) in cases {
        let comparison = compare(&runs(count, 1.0), &runs(count, slower), &limits);
        assert_eq!(
            comparison.metrics[3].change, change,
            "{:?}",
            comparison.metrics[3]
        );
    }
    let unknown = vec![
        RunSample {
            p99_ms: None,
            ..run(1.0, 2.0, 3.0)
        };
        8
    ];
    let comparison = compare(&unknown, &unknown, &limits);
    assert_eq!(comparison.metrics[3].change, Change::Inconclusive);
    assert_eq!(
        comparison.advice.map(|advice| advice.rendered()).as_deref(),
        Some("make more calls in each run: there are too few for `p99_ms`")
    );
}

#[test]
fn a_p99_of_too_few_calls_says_nothing() {
    let few = |slower| {
        let run = RunSample {
            attempted: 100,
            ..runs(1, slower).remove(0)
        };
        vec![run; 9]
    };
    let limits = CompareLimits {
        p99_ratio: Some(1.1),
        ..CompareLimits::default()
    };
    let comparison = compare(&few(1.0), &few(2.0), &limits);
    assert_eq!(comparison.metrics[3].change, Change::Inconclusive);
    assert!(comparison.metrics[3].sentence.contains("1000"));
    let ten = |slower| [few(slower), few(slower)].concat();
    let comparison = compare(&ten(1.0), &ten(2.0), &limits);
    assert_eq!(comparison.metrics[3].change, Change::Regressed);
}

#[test]
fn times_do_not_count_where_the_generator_was_the_limit() {
    let limited = |slower: f64, failed: u64| {
        let mut runs = runs(8, slower);
        for run in &mut runs {
            run.generator_limited = true;
            run.failed = failed;
        }
        runs
    };
    let comparison = against(&runs(8, 1.0), &limited(2.0, 0));
    assert_eq!(comparison.change, Change::Inconclusive);
    let advice = comparison.advice.unwrap();
    assert!(
        advice
            .rendered()
            .starts_with("mcprove itself was the limit in 8 of 16 runs"),
        "{advice:?}"
    );
    let failing = against(&runs(8, 1.0), &limited(1.0, 5000));
    assert_eq!(failing.change, Change::Regressed, "failures count");
    let mut some = runs(8, 1.2);
    some[0].generator_limited = true;
    assert_eq!(
        against(&runs(8, 1.0), &some).change,
        Change::Regressed,
        "the other seven are enough"
    );
}

#[test]
fn no_runs_are_inconclusive() {
    for (baseline, current) in [
        (vec![], vec![]),
        (runs(8, 1.0), vec![]),
        (vec![], runs(1, 1.0)),
    ] {
        let comparison = against(&baseline, &current);
        assert_eq!(comparison.change, Change::Inconclusive);
        assert!(
            comparison
                .advice
                .unwrap()
                .rendered()
                .contains("nothing to compare")
        );
    }
}

#[test]
fn identical_servers_rarely_regress() {
    let mut random = Lcg(1);
    let tries = 400;
    for deviation in [0.02, 0.05, 0.15] {
        let regressed = (0..tries)
            .filter(|_| {
                let (baseline, current) = (
                    random.runs(8, 1.0, deviation),
                    random.runs(8, 1.0, deviation),
                );
                against(&baseline, &current).change == Change::Regressed
            })
            .count();
        assert!(
            regressed * 20 <= tries,
            "{regressed} of {tries} at {deviation}"
        );
    }
}

#[test]
fn a_fifth_slower_is_always_found() {
    let mut random = Lcg(2);
    for attempt in 0..400 {
        let (baseline, current) = (random.runs(8, 1.0, 0.05), random.runs(8, 1.2, 0.05));
        assert_eq!(
            against(&baseline, &current).change,
            Change::Regressed,
            "attempt {attempt}"
        );
    }
}

fn any_run() -> impl Strategy<Value = RunSample> {
    (
        prop::array::uniform3(maybe_floats()),
        floats(),
        prop::array::uniform4(any::<u64>()),
        any::<bool>(),
    )
        .prop_map(
            |(
                [p50_ms, p95_ms, p99_ms],
                throughput_per_s,
                [attempted, failed, deadlocks, hangs],
                generator_limited,
            )| {
                RunSample {
                    p50_ms,
                    p95_ms,
                    p99_ms,
                    throughput_per_s,
                    attempted,
                    failed,
                    deadlocks,
                    hangs,
                    startup_ms: None,
                    generator_limited,
                }
            },
        )
}

proptest! {
    #[test]
    fn every_number_is_finite(
        baseline in prop::collection::vec(any_run(), 0..7),
        current in prop::collection::vec(any_run(), 0..7),
        p99_ratio in maybe_floats(),
        error_rate_increase in maybe_floats(),
        new_deadlocks in any::<u64>(),
    ) {
        let comparison = compare(&baseline, &current, &CompareLimits { p99_ratio, error_rate_increase, new_deadlocks, ..CompareLimits::default() });
        for metric in &comparison.metrics {
            for value in [metric.baseline_median, metric.current_median, metric.ratio, metric.ratio_low, metric.ratio_high, metric.p_value, metric.adjusted_p] {
                prop_assert!(value.is_none_or(f64::is_finite), "{metric:?}");
            }
        }
        prop_assert_eq!(comparison.advice.is_some(), comparison.change == Change::Inconclusive);
        let json = serde_json::to_string(&comparison).unwrap();
        prop_assert_eq!(serde_json::from_str::<Comparison>(&json).unwrap(), comparison);
    }
}

#[test]
fn a_slower_start_is_a_regression_and_a_noisy_one_leaves_nothing_open() {
    let side = |factor: f64, base: f64| -> Vec<RunSample> {
        let runs = runs(8, 1.0).into_iter().zip(0..);
        runs.map(|(run, index)| RunSample {
            startup_ms: Some(base * factor + f64::from(index % 3)),
            ..run
        })
        .collect()
    };
    let limits = CompareLimits::default();
    let change = |factor, base| {
        let comparison = compare(&side(1.0, base), &side(factor, base), &limits);
        let startup = comparison
            .metrics
            .iter()
            .find(|it| it.metric == "startup_ms");
        (startup.unwrap().change, comparison.change)
    };
    assert_eq!(change(1.0, 200.0).1, Change::Unchanged);
    let slower = change(1.5, 200.0);
    assert_eq!(slower, (Change::Regressed, Change::Regressed));
    // Half as long again, and yet nothing that anybody waits for.
    assert_eq!(change(1.5, 10.0).0, Change::Unchanged);
    // Where one side does not know it, it is not compared.
    let comparison = compare(&runs(8, 1.0), &side(1.0, 200.0), &limits);
    assert_eq!(comparison.metrics.len(), 3);
}
