use proptest::prelude::*;

use super::*;
use crate::testing::{floats, maybe_floats};
use crate::verdict::Outcome;

fn ms(milliseconds: f64) -> Duration {
    Duration::from_secs_f64(milliseconds / 1000.0)
}

fn evaluate(measured: &Measured, limits: &Limits, limited: Option<&Message>) -> Evaluation {
    super::evaluate(measured, limits, limited, &MachineReport::default())
}

/// Ten thousand calls: every percentile is supported.
fn measured() -> Measured {
    Measured {
        tool: None,
        count: 10_000,
        min: Some(ms(0.5)),
        p50: Some(ms(10.0)),
        p95: Some(ms(100.0)),
        p99: Some(ms(812.34)),
        p999: Some(ms(900.0)),
        max: Some(ms(1000.0)),
        attempted: 10_100,
        failed: 100,
        memory_growth_mb: Some(20.0),
        startup: Some(ms(400.0)),
        failed_starts: 0,
        coverage: 0.75,
    }
}

#[test]
fn other_work_excuses_what_it_can_explain() {
    let machine = |noise_share| MachineReport {
        noise_share: Some(noise_share),
        ..MachineReport::default()
    };
    let p50 = |limit_ms| Limits {
        p50_latency: Some(ms(limit_ms)),
        ..Limits::default()
    };
    for (limits, noise, is_excused) in [
        (p99(500.0), 0.05, false),
        (p99(500.0), 0.3, true),
        // Half of the calls took twice as long as allowed, or ten times.
        (p50(5.0), 0.3, false),
        (p50(5.0), 0.4, true),
        (p50(1.0), 0.5, false),
        // Even the fastest call took longer.
        (p50(0.4), 1.0, false),
        (p99(0.4), 1.0, false),
    ] {
        let evaluation = super::evaluate(&measured(), &limits, None, &machine(noise));
        let found = (evaluation.violations.len(), evaluation.inconclusive.len());
        let expected = if is_excused { (0, 1) } else { (1, 0) };
        assert_eq!(found, expected, "{limits:?} {noise}");
    }
    let evaluation = super::evaluate(&measured(), &p99(500.0), None, &machine(0.3));
    assert_eq!(
        evaluation.inconclusive[0].sentence,
        "The limit p99_latency could not be judged: it was 812.3ms, but other programs kept this machine busy and may have added to it."
    );
    let held = super::evaluate(&measured(), &p99(900.0), None, &machine(1.0)).held;
    assert_eq!(held, [ThresholdKind::P99Latency]);
}

fn p99(limit_ms: f64) -> Limits {
    Limits {
        p99_latency: Some(ms(limit_ms)),
        ..Limits::default()
    }
}

#[test]
fn no_limit_says_nothing() {
    assert_eq!(
        evaluate(&measured(), &Limits::default(), None),
        Evaluation::default()
    );
}

#[test]
fn limits_that_hold_are_named() {
    let limits = Limits {
        p50_latency: Some(ms(10.0)),
        p95_latency: Some(ms(101.0)),
        p99_latency: Some(ms(900.0)),
        p999_latency: Some(ms(900.0)),
        error_rate: Some(0.01),
        memory_growth_mb: Some(20.0),
        startup: Some(ms(400.0)),
        min_coverage: Some(0.75),
    };
    let evaluation = evaluate(&measured(), &limits, Some(&"use more drivers".into()));
    assert_eq!(evaluation.held.len(), 8);
    assert!(evaluation.violations.is_empty() && evaluation.inconclusive.is_empty());
}

#[test]
fn violations_show_both_sides() {
    let limits = Limits {
        p50_latency: Some(ms(9.999)),
        p99_latency: Some(ms(500.0)),
        error_rate: Some(0.005),
        memory_growth_mb: Some(15.5),
        ..Limits::default()
    };
    let evaluation = evaluate(&measured(), &limits, None);
    let shown: Vec<_> = evaluation
        .violations
        .iter()
        .map(|v| (v.metric.name(), v.expected.as_str(), v.actual.as_str()))
        .collect();
    assert_eq!(
        shown,
        [
            ("p50_latency", "<=9.999ms", "10ms"),
            ("p99_latency", "<=500ms", "812.3ms"),
            ("error_rate", "<=0.5%", "0.99%"),
            ("memory_growth_mb", "<=15.5MB", "20MB"),
        ]
    );
}

#[test]
fn a_violation_never_looks_like_it_holds() {
    let cases = [
        (500.0, 500.02, "500.02ms"),
        (500.0, 500.000_001, "500.000001ms"),
        (0.04, 0.08, "0.08ms"),
    ];
    for (limit, actual, shown) in cases {
        let measured = Measured {
            p99: Some(ms(actual)),
            ..measured()
        };
        let evaluation = evaluate(&measured, &p99(limit), None);
        assert_eq!(evaluation.violations[0].actual, shown);
    }
}

#[test]
fn the_wire_names_are_stable() {
    let measured = Measured {
        tool: Some("search".into()),
        ..measured()
    };
    let violation = &evaluate(&measured, &p99(500.0), None).violations[0];
    assert_eq!(
        serde_json::to_string(violation).unwrap(),
        r#"{"metric":"p99_latency","expected":"<=500ms","actual":"812.3ms","tool":"search"}"#
    );
    for kind in [
        ThresholdKind::P50Latency,
        ThresholdKind::P95Latency,
        ThresholdKind::P99Latency,
        ThresholdKind::P999Latency,
        ThresholdKind::ErrorRate,
        ThresholdKind::MemoryGrowthMb,
    ] {
        assert_eq!(serde_json::to_string(&kind).unwrap(), format!("\"{kind}\""));
    }
}

#[test]
fn an_unsupported_percentile_looks_at_the_maximum() {
    let few = Measured {
        count: 999,
        p99: Some(ms(1.0)),
        ..measured()
    };
    assert_eq!(
        evaluate(&few, &p99(1000.0), None).held,
        [ThresholdKind::P99Latency]
    );
    let evaluation = evaluate(&few, &p99(999.0), None);
    assert!(evaluation.violations.is_empty() && evaluation.held.is_empty());
    let verdict = &evaluation.inconclusive[0];
    assert_eq!(verdict.outcome, Outcome::Inconclusive);
    assert_eq!(verdict.detector, "p99_latency");
    assert_eq!(
        verdict.sentence,
        "The limit p99_latency could not be judged: 999 calls are too few for p99, and the slowest took 1000ms."
    );
    assert_eq!(
        verdict.hint,
        Some("make at least 1 more call in the same run".into())
    );
}

#[test]
fn a_limited_generator_makes_a_violation_inconclusive() {
    let evaluation = evaluate(&measured(), &p99(500.0), Some(&"use more drivers".into()));
    assert!(evaluation.violations.is_empty());
    assert_eq!(
        evaluation.inconclusive[0].hint,
        Some("use more drivers".into())
    );
    assert!(
        evaluation.inconclusive[0]
            .sentence
            .rendered()
            .contains("the load generator itself was the limit")
    );
    let errors = Limits {
        error_rate: Some(0.0),
        ..Limits::default()
    };
    assert_eq!(
        evaluate(&measured(), &errors, Some(&"x".into()))
            .violations
            .len(),
        1
    );
}

#[test]
fn nothing_measured_is_inconclusive() {
    let limits = Limits {
        p50_latency: Some(ms(1.0)),
        error_rate: Some(0.01),
        memory_growth_mb: Some(1.0),
        ..Limits::default()
    };
    let evaluation = evaluate(&Measured::default(), &limits, None);
    let sentences: Vec<String> = evaluation
        .inconclusive
        .iter()
        .map(|verdict| verdict.sentence.rendered())
        .collect();
    assert!(
        sentences[0].ends_with("no call succeeded."),
        "{sentences:?}"
    );
    assert!(sentences[1].ends_with("no call was made."), "{sentences:?}");
    assert!(
        sentences[2].contains("the server's memory was not sampled"),
        "{sentences:?}"
    );
    assert!(evaluation.held.is_empty() && evaluation.violations.is_empty());
    let unknown = Limits {
        error_rate: Some(f64::NAN),
        ..Limits::default()
    };
    assert_eq!(evaluate(&measured(), &unknown, None).inconclusive.len(), 1);
}

proptest! {
    #[test]
    fn every_limit_ends_in_one_list(
        count in 0_u64..20_000,
        latencies in prop::array::uniform5(any::<Option<Duration>>()),
        (attempted, failed) in any::<(u64, u64)>(),
        memory in maybe_floats(),
        (limit, error_rate, memory_limit) in (any::<Duration>(), floats(), floats()),
        limited in any::<bool>(),
    ) {
        let [p50, p95, p99, p999, max] = latencies;
        let measured = Measured { tool: None, count, p50, p95, p99, p999, max, attempted, failed, memory_growth_mb: memory, ..Measured::default() };
        let limits = Limits {
            p50_latency: Some(limit), p95_latency: Some(limit), p99_latency: Some(limit), p999_latency: Some(limit),
            error_rate: Some(error_rate), memory_growth_mb: Some(memory_limit), ..Limits::default()
        };
        let evaluation = evaluate(&measured, &limits, limited.then_some(&"x".into()));
        let total = evaluation.held.len() + evaluation.violations.len() + evaluation.inconclusive.len();
        prop_assert_eq!(total, 6);
    }
}

#[test]
fn starts_and_coverage_have_limits() {
    let limits = Limits {
        startup: Some(ms(399.0)),
        min_coverage: Some(0.8),
        ..Limits::default()
    };
    let evaluation = evaluate(&measured(), &limits, None);
    let shown: Vec<_> = evaluation
        .violations
        .iter()
        .map(|it| (it.metric.name(), it.expected.as_str(), it.actual.as_str()))
        .collect();
    assert_eq!(
        shown,
        [
            ("startup", "<=399ms", "400ms"),
            ("min_coverage", ">=80%", "75%")
        ]
    );
    // A start that failed may have taken for ever.
    let limits = Limits {
        startup: Some(ms(500.0)),
        ..Limits::default()
    };
    let failed = Measured {
        failed_starts: 1,
        ..measured()
    };
    let evaluation = evaluate(&failed, &limits, None);
    assert_eq!(evaluation.inconclusive.len(), 1, "{evaluation:?}");
}
