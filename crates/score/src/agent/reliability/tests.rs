use crate::gate::Expectation;
use crate::gate::Gates;
use mcprove_trace::AgentTrace;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::gate::Matcher;
use crate::testing::floats;

/// `+` passed, `-` failed.
fn outcomes_of(text: &str) -> Vec<bool> {
    text.chars().map(|outcome| outcome == '+').collect()
}

#[test]
fn the_numbers_of_the_documentation() {
    let last = summarize(&outcomes_of("+++-"));
    assert_eq!(last.decay_curve, [100, 100, 100, 31], "31.64 is cut");
    assert_eq!(last.graceful_degradation, 60);
    assert_eq!(last.variance_amplification, 87, "86.6 is rounded");
    assert_eq!(summarize(&outcomes_of("-+++")).graceful_degradation, 90);
}

#[test]
fn outcomes_sum_up() {
    // Outcomes; pass@k, pass^k, variance amplification, graceful degradation; decay curve.
    let cases: [(&str, [u64; 4], &[u64]); 9] = [
        ("", [0, 0, 0, 0], &[]),
        ("+", [100, 100, 0, 100], &[100]),
        ("-", [0, 0, 0, 0], &[0]),
        ("+-", [100, 0, 100, 33], &[100, 25]),
        ("-+", [100, 0, 100, 66], &[0, 25]),
        ("++++", [100, 100, 0, 100], &[100, 100, 100, 100]),
        ("----", [0, 0, 0, 0], &[0, 0, 0, 0]),
        ("+-+-", [100, 0, 100, 40], &[100, 25, 29, 6]),
        ("-+++", [100, 0, 87, 90], &[0, 25, 29, 31]),
    ];
    for (text, [at_k, hat_k, variance, graceful], curve) in cases {
        let summary = summarize(&outcomes_of(text));
        assert_eq!(summary.pass_at_k, at_k, "{text}");
        assert_eq!(summary.passhat_k, hat_k, "{text}");
        assert_eq!(summary.variance_amplification, variance, "{text}");
        assert_eq!(summary.graceful_degradation, graceful, "{text}");
        assert_eq!(summary.decay_curve, curve, "{text}");
    }
}

#[test]
fn the_unbiased_estimator_counts_draws() {
    // 3 of 4 passed: 3/4, 3/6 pairs, 1/4 triples, no quadruple.
    let summary = summarize(&outcomes_of("+-++"));
    assert_eq!(summary.passhat_k_unbiased_curve, [0.75, 0.5, 0.25, 0.0]);
    assert_eq!(summary.passhat_k_unbiased, Some(0.0));
    let all = summarize(&[true; 5]);
    assert_eq!(all.passhat_k_unbiased, Some(1.0));
    assert_eq!(summarize(&[]).passhat_k_unbiased, None);
}

#[test]
fn the_interval_is_wilsons() {
    let summary = summarize(&[false; 20]);
    assert_eq!(summary.wilson_low, Some(0.0));
    assert!((summary.wilson_high.unwrap() - 0.1611).abs() < 5e-5);
    assert_eq!(summarize(&[]).wilson_low, None);
}

/// 100 · over^exponent / under^exponent, cut, with as many digits as it takes.
fn exact_percent(over: u64, under: u64, exponent: u64) -> u64 {
    let times = |number: &mut Vec<u64>, factor: u64| {
        let mut carry = 0;
        for digit in number.iter_mut() {
            let product = *digit * factor + carry;
            (*digit, carry) = (product % 1_000_000_000, product / 1_000_000_000);
        }
        if carry > 0 {
            number.push(carry);
        }
    };
    let (mut power_over, mut power_under) = (vec![1], vec![1]);
    for _ in 0..exponent {
        times(&mut power_over, over);
        times(&mut power_under, under);
    }
    times(&mut power_over, 100);
    let at_least = |whole: u64| {
        let mut scaled = power_under.clone();
        times(&mut scaled, whole);
        let order = scaled.len().cmp(&power_over.len());
        order
            .then_with(|| scaled.iter().rev().cmp(power_over.iter().rev()))
            .is_le()
    };
    (1..=100)
        .take_while(|whole| at_least(*whole))
        .last()
        .unwrap_or(0)
}

#[test]
fn the_curve_is_cut_at_the_right_place() {
    for runs in 1..=150_u64 {
        for passes in runs.saturating_sub(8)..runs {
            let expected = if passes == 0 {
                0
            } else {
                exact_percent(passes, runs, runs)
            };
            assert_eq!(power_percent(passes, runs), expected, "{passes} of {runs}");
        }
    }
    assert_eq!(power_percent(1_000_000_000, 1_000_000_000), 100);
    assert_eq!(power_percent(999_999_999, 1_000_000_000), 36, "1/e");
}

#[test]
fn run_counts_of_the_documentation() {
    assert_eq!(recommend_runs(0.05, 95), Ok(385));
    assert!((confidence_band(100, 95).unwrap() - 0.098).abs() < 1e-12);
}

#[test]
fn run_counts() {
    let cases = [
        (0.05, 90, 271),
        (0.05, 99, 664),
        (0.1, 95, 97),
        (0.01, 95, 9604),
        (0.098, 95, 100),
        (0.5, 95, 4),
        (0.99, 95, 1),
    ];
    for (half_width, confidence, runs) in cases {
        assert_eq!(
            recommend_runs(half_width, confidence),
            Ok(runs),
            "{half_width}"
        );
    }
    for half_width in [0.0, -0.1, 1.0, 7.0, f64::NAN, f64::INFINITY, 1e-300] {
        let error = recommend_runs(half_width, 95).unwrap_err();
        assert!(error.to_string().contains("half-width"), "{error}");
    }
    for confidence in [0, 50, 94, 100, u32::MAX] {
        let expected = ReliabilityError::Confidence(confidence);
        assert_eq!(recommend_runs(0.05, confidence), Err(expected));
        assert_eq!(confidence_band(9, confidence), Err(expected));
    }
    assert_eq!(confidence_band(0, 95), Err(ReliabilityError::NoRuns));
}

fn trace_of(outcomes: &[Option<bool>]) -> AgentTrace {
    let run = |passed: &Option<bool>| AgentRun {
        passed: *passed,
        ..AgentRun::default()
    };
    AgentTrace::new(outcomes.iter().map(run).collect())
}

fn scored(outcomes: &[Option<bool>], gates: &Gates) -> Result<Scorecard, ScoreError> {
    let trace = trace_of(outcomes);
    crate::testing::gated(&Reliability, &trace, gates)
}

fn with_block() -> Gates {
    Gates::default().with(&Reliability, ())
}

#[test]
fn every_target_is_set() {
    let card = scored(&[Some(true), Some(false)], &Gates::default()).unwrap();
    for target in Reliability::ABOUT.targets {
        assert!(card.value(target.name).is_some(), "{}", target.name);
    }
    assert_eq!(card.value("reliability.runs"), Some(&json!(2)));
    assert_eq!(card.value("reliability.pass_at_k"), Some(&json!(100)));
    assert_eq!(card.value("reliability.passhat_k"), Some(&json!(0)));
    assert_eq!(
        card.value("reliability.decay_curve"),
        Some(&json!([100, 25]))
    );
}

#[test]
fn a_missing_outcome_is_an_error_under_the_block() {
    let outcomes = [Some(true), None, Some(true), None];
    let error = scored(&outcomes, &with_block()).unwrap_err();
    assert_eq!(error.run, Some(1));
    assert_eq!(
        error.message,
        "the trace does not say whether runs 1 and 3 passed"
    );
    let card = scored(&outcomes, &Gates::default()).unwrap();
    assert_eq!(card.value("reliability.runs"), None);
    assert_eq!(
        card.found.notes,
        ["Reliability is not computed: the trace does not say whether runs 1 and 3 passed."]
    );
    let card = scored(&[None, None], &Gates::default()).unwrap();
    assert!(card.overall.is_empty() && card.found.notes.is_empty());
    assert!(scored(&[], &with_block()).is_err());
}

#[test]
fn there_is_no_default_gate() {
    let gates = with_block();
    let failed = crate::gate::score(&trace_of(&[Some(false)]), &gates);
    assert!(failed.failures.is_empty());
    let own = Expectation {
        target: "reliability.passhat_k".into(),
        matcher: Matcher::from_value(&json!({ "exact": 100 })).unwrap(),
    };
    let gates = Gates::default().expecting(&Reliability, (), vec![own]);
    let failed = crate::gate::score(&trace_of(&[Some(false)]), &gates);
    assert_eq!(failed.failures.len(), 1);
}

proptest! {
    #[test]
    fn every_number_is_in_range(outcomes in prop::collection::vec(any::<bool>(), 0..60)) {
        let summary = summarize(&outcomes);
        prop_assert!(summary.decay_curve.iter().all(|percent| *percent <= 100));
        prop_assert_eq!(summary.decay_curve.len(), outcomes.len());
        for percent in [summary.variance_amplification, summary.graceful_degradation] {
            prop_assert!(percent <= 100);
        }
        let curve = &summary.passhat_k_unbiased_curve;
        prop_assert!(curve.iter().all(|chance| (0.0..=1.0).contains(chance)), "{curve:?}");
        prop_assert!(curve.is_sorted_by(|one, next| one >= next), "{curve:?}");
        prop_assert!(summary.wilson_low <= summary.wilson_high);
    }

    #[test]
    fn only_the_decay_and_the_degradation_depend_on_the_order(
        mut outcomes in prop::collection::vec(any::<bool>(), 0..40),
    ) {
        let before = summarize(&outcomes);
        outcomes.sort_unstable();
        let after = summarize(&outcomes);
        prop_assert!(after.graceful_degradation >= before.graceful_degradation, "failures first");
        let neutral = |summary: ReliabilitySummary| ReliabilitySummary {
            decay_curve: Vec::new(),
            graceful_degradation: 0,
            ..summary
        };
        prop_assert_eq!(neutral(before), neutral(after));
    }

    #[test]
    fn a_pass_more_never_hurts(
        mut outcomes in prop::collection::vec(any::<bool>(), 1..40),
        place in any::<prop::sample::Index>(),
    ) {
        *place.get_mut(&mut outcomes) = false;
        let worse = summarize(&outcomes);
        *place.get_mut(&mut outcomes) = true;
        let better = summarize(&outcomes);
        prop_assert!(better.graceful_degradation >= worse.graceful_degradation);
        prop_assert!(better.passhat_k >= worse.passhat_k);
        prop_assert!(better.wilson_low >= worse.wilson_low);
        let curves = better.decay_curve.iter().zip(&worse.decay_curve);
        prop_assert!(curves.into_iter().all(|(better, worse)| better >= worse));
    }

    #[test]
    fn advice_is_total_and_keeps_its_word(half_width in floats(), confidence in prop::sample::select(vec![90_u32, 95, 99])) {
        if let Ok(runs) = recommend_runs(half_width, confidence) {
            let band = confidence_band(runs, confidence).unwrap();
            prop_assert!(band <= half_width * (1.0 + 1e-9), "{runs} {band}");
        } else {
            prop_assert!(!(1e-7..1.0).contains(&half_width));
        }
    }

    #[test]
    fn narrower_takes_more_runs(one in 0.001..0.999_f64, other in 0.001..0.999_f64) {
        let (narrow, wide) = (one.min(other), one.max(other));
        prop_assert!(recommend_runs(narrow, 95).unwrap() >= recommend_runs(wide, 95).unwrap());
        prop_assert!(recommend_runs(one, 99).unwrap() >= recommend_runs(one, 90).unwrap());
    }
}
