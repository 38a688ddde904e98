use proptest::prelude::*;

use super::*;
use crate::testing::{floats, maybe_floats};
use crate::verdict::Outcome;

/// A phase of one second.
fn phase(calls: u64, errors: u64, ended_per_s: f64) -> PhaseCalls {
    PhaseCalls {
        duration_secs: 1.0,
        calls,
        errors,
        ended_per_s,
        p50_ms: Some(2.0),
        p99_ms: Some(9.0),
    }
}

/// Calls that take from half to one and a half times the median.
fn quartiles(count: u64, p50_ms: f64) -> Quartiles {
    Quartiles {
        count,
        p25_ms: p50_ms * 0.75,
        p50_ms,
        p75_ms: p50_ms * 1.25,
    }
}

fn tool(before: Quartiles, after: Quartiles) -> ToolRecovery {
    ToolRecovery {
        tool: "echo".to_owned(),
        before,
        after,
    }
}

/// A server that nothing is wrong with.
fn healthy() -> SpikeInput {
    SpikeInput {
        baseline: phase(500, 0, 500.0),
        burst: phase(900, 0, 900.0),
        recovery: phase(480, 0, 480.0),
        tools: vec![tool(quartiles(500, 2.0), quartiles(480, 2.1))],
        settling: Some(settling(480, 0, 480.0)),
        longest_pause_secs: 0.0,
        machine: MachineReport::default(),
    }
}

/// The 20 seconds after the burst.
fn settling(calls: u64, errors: u64, ended_per_s: f64) -> Settling {
    Settling {
        calls: PhaseCalls {
            duration_secs: 20.0,
            ..phase(calls, errors, ended_per_s)
        },
        tools: Vec::new(),
    }
}

fn judged(input: &SpikeInput) -> Verdict {
    verdict(&judge(input))
}

#[test]
fn a_server_that_recovers_passes() {
    let verdict = judged(&healthy());
    assert_eq!(verdict.outcome, Outcome::Pass, "{verdict:?}");
    assert_eq!(
        verdict.sentence,
        "The server recovers from the burst: after it `echo` takes 2.1 ms at the median, 2 ms before."
    );
    assert_eq!(verdict.numbers["burst_p99_to_p50"], 4.5);
    assert_eq!(verdict.numbers["burst_error_share"], 0.0);
}

#[test]
fn a_queue_that_empties_is_a_recovery() {
    let cases = [
        (4.0, 10, Outcome::Pass),
        (3.0, 10, Outcome::Finding),
        // Slow, and about as many calls begin as end.
        (4.0, 60, Outcome::Finding),
    ];
    for (ended_per_s, calls, expected) in cases {
        let seconds = |calls, ended_per_s| PhaseCalls {
            duration_secs: 20.0,
            ..phase(calls, 0, ended_per_s)
        };
        let input = SpikeInput {
            baseline: seconds(80, 4.0),
            burst: seconds(120, 4.0),
            recovery: seconds(calls, ended_per_s),
            tools: vec![tool(quartiles(80, 2_500.0), quartiles(10, 20_000.0))],
            ..healthy()
        };
        assert_eq!(
            judged(&input).outcome,
            expected,
            "{ended_per_s} per second, {calls} begun"
        );
    }
}

#[test]
fn a_median_that_stays_high_is_found() {
    let cases = [
        ("100 times", 2.0, 200.0, 10, true),
        ("3 times", 3.0, 9.0, 10, true),
        ("under 3 times", 10.0, 29.0, 500, false),
        ("under 5 ms more", 0.5, 5.4, 500, false),
        ("too few calls", 2.0, 200.0, 9, false),
    ];
    for (case, before_ms, after_ms, count, is_found) in cases {
        let input = SpikeInput {
            tools: vec![tool(quartiles(500, before_ms), quartiles(count, after_ms))],
            ..healthy()
        };
        assert_eq!(judged(&input).is_failure(), is_found, "{case}");
    }
    let input = SpikeInput {
        tools: vec![tool(quartiles(500, 2.33), quartiles(75, 200.4))],
        ..healthy()
    };
    assert_eq!(
        judged(&input).sentence,
        "The server does not recover from the burst: a call of `echo` takes 200.4 ms after it at the median, 2.33 ms before."
    );
}

#[test]
fn less_than_a_second_is_too_short_to_blame_the_server() {
    let mut input = SpikeInput {
        tools: vec![tool(quartiles(500, 2.0), quartiles(83, 21.5))],
        ..healthy()
    };
    assert!(judged(&input).is_failure());
    input.recovery.duration_secs = 0.5;
    assert_eq!(judged(&input).outcome, Outcome::Inconclusive);
}

#[test]
fn a_tool_that_is_fast_or_slow_by_turns_is_not_judged_by_its_median() {
    let mixed = |p50_ms| Quartiles {
        count: 100,
        p25_ms: 1.0,
        p50_ms,
        p75_ms: 100.0,
    };
    let input = SpikeInput {
        tools: vec![tool(mixed(1.0), mixed(100.0))],
        ..healthy()
    };
    assert_eq!(judged(&input).outcome, Outcome::Pass);
}

#[test]
fn one_tool_that_stays_slow_is_enough() {
    let input = SpikeInput {
        tools: vec![
            tool(quartiles(100, 2.0), quartiles(100, 2.0)),
            tool(quartiles(100, 10.0), quartiles(100, 50.0)),
            tool(quartiles(100, 0.1), quartiles(100, 1.0)),
        ],
        ..healthy()
    };
    let verdict = judged(&input);
    assert!(verdict.is_failure());
    // Not the one that grew by a larger factor, which is no more than a scheduler's whim.
    assert!(
        verdict.sentence.rendered().contains("takes 50 ms"),
        "{verdict:?}"
    );
}

#[test]
fn errors_that_stay_are_found_and_those_of_the_burst_are_a_warning() {
    let cases = [
        ("none", (0, 0, 0), Outcome::Pass, Severity::Info),
        ("all along", (250, 450, 240), Outcome::Pass, Severity::Info),
        ("after", (0, 0, 48), Outcome::Finding, Severity::Critical),
        ("hardly more", (0, 0, 26), Outcome::Pass, Severity::Info),
        ("burst", (0, 300, 0), Outcome::Finding, Severity::Warning),
        ("both", (0, 300, 48), Outcome::Finding, Severity::Critical),
        (
            "the rest",
            (0, 800, 48),
            Outcome::Finding,
            Severity::Warning,
        ),
    ];
    for (case, (before, burst, after), outcome, severity) in cases {
        let input = SpikeInput {
            baseline: phase(500, before, 500.0),
            burst: phase(900, burst, 900.0),
            recovery: phase(480, after, 480.0),
            ..healthy()
        };
        let verdict = judged(&input);
        assert_eq!(
            (verdict.outcome, verdict.severity),
            (outcome, severity),
            "{case}: {verdict:?}"
        );
    }
}

#[test]
fn a_server_that_stops_is_found_and_one_that_empties_its_queue_is_not() {
    let after = |ended_per_s| SpikeInput {
        recovery: phase(0, 0, ended_per_s),
        tools: vec![tool(quartiles(500, 2.0), Quartiles::default())],
        ..healthy()
    };
    assert!(judged(&after(0.0)).is_failure());
    assert_eq!(judged(&after(400.0)).outcome, Outcome::Inconclusive);
    let mut short = after(0.0);
    short.recovery.duration_secs = 0.03;
    assert_eq!(judged(&short).outcome, Outcome::Inconclusive);
}

#[test]
fn a_server_that_recovers_later_passes_and_the_verdict_states_when() {
    // A circuit breaker that is open for a while.
    let mut input = SpikeInput {
        settling: Some(settling(500, 300, 500.0)),
        ..healthy()
    };
    let verdict = judged(&input);
    assert_eq!(verdict.outcome, Outcome::Pass, "{verdict:?}");
    assert_eq!(
        verdict.sentence,
        "The server recovers from the burst within 20 s: after it `echo` takes 2.1 ms at the median, 2 ms before."
    );
    // In a short run it is still open.
    input.recovery = phase(480, 300, 480.0);
    assert!(judged(&input).is_failure());
    input.settling = None;
    let verdict = judged(&input);
    assert_eq!(verdict.severity, Severity::Warning, "{verdict:?}");
    assert_eq!(
        verdict.sentence,
        "The server has not recovered from the burst within 1 s: 62.5% of the calls after it fail, 0% before."
    );
}

#[test]
fn a_pause_is_no_end_unless_it_is_far_longer_than_those_before() {
    let silent = |seconds: f64, longest_pause_secs| SpikeInput {
        recovery: PhaseCalls {
            duration_secs: seconds,
            ..phase(0, 0, 0.0)
        },
        settling: None,
        longest_pause_secs,
        tools: vec![tool(quartiles(500, 2.0), Quartiles::default())],
        ..healthy()
    };
    let severity = |input| judged(&input).severity;
    assert_eq!(severity(silent(1.7, 0.0)), Severity::Warning);
    assert_eq!(severity(silent(5.0, 0.0)), Severity::Critical);
    let pausing = judged(&silent(5.0, 1.5));
    assert_eq!(pausing.outcome, Outcome::Inconclusive, "{pausing:?}");
}

#[test]
fn a_burst_that_did_not_happen_is_inconclusive() {
    let none = PhaseCalls::default();
    let input = SpikeInput {
        burst: none,
        recovery: none,
        tools: vec![tool(quartiles(500, 2.0), Quartiles::default())],
        ..healthy()
    };
    let verdict = judged(&input);
    assert_eq!(verdict.outcome, Outcome::Inconclusive);
    assert_eq!(
        verdict.sentence,
        "The run ended before the burst, so nothing is known about it."
    );
    assert_eq!(
        judged(&SpikeInput::default()).outcome,
        Outcome::Inconclusive
    );
}

fn any_phase() -> impl Strategy<Value = PhaseCalls> {
    (
        floats(),
        0_u64..100,
        0_u64..100,
        floats(),
        maybe_floats(),
        maybe_floats(),
    )
        .prop_map(
            |(duration_secs, calls, errors, ended_per_s, p50_ms, p99_ms)| PhaseCalls {
                duration_secs,
                calls,
                errors,
                ended_per_s,
                p50_ms,
                p99_ms,
            },
        )
}

proptest! {
    #[test]
    fn whatever_is_measured_has_a_verdict(baseline in any_phase(), burst in any_phase(), recovery in any_phase(), before in floats(), after in floats()) {
        let tools = vec![tool(quartiles(20, before), quartiles(20, after))];
        let report = judge(&SpikeInput { baseline, burst, recovery, tools, settling: None, longest_pause_secs: 0.0, machine: MachineReport::default() });
        prop_assert!(report.burst_p99_to_p50.is_none_or(f64::is_finite));
        let verdict = verdict(&report);
        prop_assert!(verdict.numbers.len() == 14, "{verdict:?}");
    }
}
