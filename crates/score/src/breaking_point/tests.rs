use proptest::prelude::*;

use super::*;
use crate::testing::{floats, maybe_floats};
use crate::verdict::Outcome;

fn step(concurrent: u32, calls: u64, errors: u64, p99_ms: f64, throughput_per_s: f64) -> RampStep {
    RampStep {
        concurrent,
        calls,
        errors,
        refused: 0,
        p99_ms: Some(p99_ms),
        throughput_per_s,
        begun_per_s: throughput_per_s,
        is_whole: true,
        rate_per_s: None,
        met_fault: false,
        machine: MachineReport::default(),
        is_repetition: false,
    }
}

fn judged(steps: &[RampStep]) -> Verdict {
    verdict(steps, find(steps).as_ref())
}

#[test]
fn what_a_ramp_did_not_reach_was_not_coped_with() {
    let steps = [
        step(1, 10, 0, 10.0, 10.0),
        step(2, 10, 0, 10.0, 10.0),
        step(64, 0, 0, 0.0, 0.0),
    ];
    let verdict = verdict(&steps, None);
    assert!(
        verdict.sentence.rendered().contains("up to 2 concurrent"),
        "{verdict:?}"
    );
}

#[test]
fn a_server_that_scales_has_no_breaking_point() {
    let steps = [
        step(1, 100, 0, 10.0, 100.0),
        step(2, 200, 0, 10.0, 200.0),
        step(4, 400, 4, 12.0, 390.0),
    ];
    assert_eq!(find(&steps), None);
    let verdict = judged(&steps);
    assert_eq!(verdict.outcome, Outcome::Pass);
    assert_eq!(verdict.numbers["last_good_concurrent"], 4);
    assert!(verdict.numbers["concurrent"].is_null());
}

#[test]
fn errors_break_it() {
    let steps = [step(1, 100, 0, 10.0, 100.0), step(2, 100, 16, 10.0, 84.0)];
    let point = find(&steps).unwrap();
    assert_eq!((point.concurrent, point.kind), (2, BreakingKind::Errors));
    assert_eq!(
        (point.error_share, point.last_good_concurrent),
        (0.16, Some(1))
    );
    let verdict = judged(&steps);
    assert!(verdict.is_failure());
    assert_eq!(
        verdict.sentence,
        "The server starts to fail at 2 concurrent calls: 16% of them end in an error."
    );
    let few = [step(1, 20, 4, 10.0, 100.0), step(2, 100, 5, 10.0, 95.0)];
    assert_eq!(find(&few), None, "4 errors are too few, 5 % is allowed");
}

#[test]
fn saturation_passes() {
    let steps = [
        step(1, 100, 0, 10.0, 100.0),
        step(8, 400, 0, 20.0, 400.0),
        step(32, 410, 0, 80.0, 410.0),
    ];
    let point = find(&steps).unwrap();
    assert_eq!((point.concurrent, point.kind), (32, BreakingKind::Latency));
    assert_eq!((point.p99_ms, point.first_p99_ms), (Some(80.0), Some(10.0)));
    let verdict = judged(&steps);
    assert_eq!(verdict.outcome, Outcome::Pass);
    assert!(
        verdict.sentence.rendered().contains("saturates at 32"),
        "{:?}",
        verdict.sentence
    );
    let scaling = [step(1, 100, 0, 10.0, 100.0), step(8, 400, 0, 80.0, 110.1)];
    assert_eq!(find(&scaling), None, "throughput still grows by 10 %");
}

#[test]
fn a_collapse_is_a_warning() {
    let steps = [step(1, 20, 0, 10.0, 90.0), step(2, 5, 0, 10.0, 29.0)];
    let point = find(&steps).unwrap();
    assert_eq!(
        (point.kind, point.best_throughput_per_s),
        (BreakingKind::Collapse, Some(90.0))
    );
    let verdict = judged(&steps);
    assert_eq!(
        (verdict.outcome, verdict.severity),
        (Outcome::Finding, Severity::Warning)
    );
    assert_eq!(
        verdict.sentence,
        "Throughput collapses at 2 concurrent calls: from 90 to 29 calls per second."
    );
    let few = [step(1, 19, 0, 10.0, 90.0), step(2, 5, 0, 10.0, 29.0)];
    assert_eq!(find(&few), None);
}

#[test]
fn ties_go_to_the_worst_and_the_first_step_wins() {
    let all = [step(1, 100, 0, 10.0, 100.0), step(2, 100, 50, 90.0, 1.0)];
    assert_eq!(find(&all).unwrap().kind, BreakingKind::Errors);
    let two = [step(1, 100, 0, 10.0, 100.0), step(2, 100, 0, 90.0, 1.0)];
    assert_eq!(find(&two).unwrap().kind, BreakingKind::Collapse);
    let same = [
        step(1, 100, 0, 10.0, 100.0),
        step(2, 100, 50, 10.0, 50.0),
        step(3, 100, 90, 10.0, 40.0),
    ];
    assert_eq!(find(&same).unwrap().concurrent, 2);
}

#[test]
fn saturation_does_not_hide_later_errors() {
    let steps = [
        step(1, 100, 0, 10.0, 100.0),
        step(8, 100, 0, 80.0, 100.0),
        step(64, 100, 40, 900.0, 60.0),
    ];
    assert_eq!(find(&steps).unwrap().concurrent, 8);
    let verdict = judged(&steps);
    assert!(verdict.is_failure(), "{verdict:?}");
    assert_eq!(verdict.numbers["concurrent"], 64);
    assert_eq!(verdict.numbers["saturated_concurrent"], 8);
}

#[test]
fn calls_that_fail_from_the_first_step_on_are_no_breaking_point() {
    let cases: [(&str, [u64; 3], Option<u32>); 7] = [
        ("a tool that always fails", [50, 52, 49], None),
        ("every call", [100, 100, 100], None),
        ("only the first step", [50, 0, 0], None),
        ("a little more by chance", [10, 12, 15], None),
        ("more of what fails from the start", [10, 12, 60], None),
        ("within the limit, then clearly more", [3, 5, 60], Some(30)),
        ("from the second step on", [0, 40, 40], Some(10)),
    ];
    for (case, errors, expected) in cases {
        let steps: Vec<RampStep> = [1, 10, 30]
            .into_iter()
            .zip(errors)
            .map(|(concurrent, errors)| step(concurrent, 100, errors, 10.0, 100.0))
            .collect();
        let point = find(&steps);
        assert_eq!(point.map(|point| point.concurrent), expected, "{case}");
        let outcome = match expected {
            Some(_) => Outcome::Finding,
            None => Outcome::Inconclusive,
        };
        assert_eq!(judged(&steps).outcome, outcome, "{case}");
    }
    let few = [step(1, 2, 2, 0.0, 0.0), step(9, 8, 8, 0.0, 0.0)];
    assert_eq!(
        judged(&few).outcome,
        Outcome::Inconclusive,
        "none succeeded"
    );
    let saturated = [step(1, 100, 50, 1.0, 50.0), step(9, 100, 50, 9.0, 50.0)];
    assert_eq!(judged(&saturated).outcome, Outcome::Inconclusive);
    let verdict = judged(&[step(1, 275, 138, 10.0, 50.0), step(9, 100, 50, 10.0, 50.0)]);
    assert_eq!(
        verdict.sentence,
        "50.18% of the calls already fail at 1 concurrent call, and 50% at 9 concurrent calls: where the server breaks under load cannot be determined."
    );
}

#[test]
fn one_of_many_steps_of_a_tool_that_always_fails_a_little_is_no_breaking_point() {
    // 3 % fail from the first step on, in some steps more by chance.
    let errors = [3, 2, 4, 3, 1, 3, 5, 2, 3, 10];
    let steps: Vec<RampStep> = (1..)
        .zip(errors)
        .map(|(concurrent, errors)| step(concurrent, 100, errors, 10.0, 100.0))
        .collect();
    assert_eq!(find(&steps), None);
    // A few failed calls are no failing server.
    let few = [step(1, 60, 0, 10.0, 60.0), step(2, 60, 5, 10.0, 60.0)];
    assert_eq!(judged(&few).outcome, Outcome::Pass);
}

#[test]
fn steps_that_were_cut_short_are_not_judged() {
    let cut = |concurrent| RampStep {
        is_whole: false,
        ..step(concurrent, 1, 0, 900.0, 0.1)
    };
    let none = |concurrent| step(concurrent, 0, 0, 0.0, 0.0);
    let good = |concurrent| step(concurrent, 1_000, 0, 10.0, 1_000.0);
    let cases = [
        (vec![good(1), cut(10), none(19)], Outcome::Inconclusive),
        (vec![cut(1), none(10), none(19)], Outcome::Inconclusive),
        (vec![good(1), good(10), cut(19)], Outcome::Pass),
        (vec![good(1), good(10), none(19)], Outcome::Pass),
        (vec![good(5)], Outcome::Pass),
    ];
    for (steps, outcome) in cases {
        assert_eq!(find(&steps), None, "{steps:?}");
        assert_eq!(judged(&steps).outcome, outcome, "{steps:?}");
    }
    let verdict = judged(&[good(1), good(10), none(19), none(28)]);
    assert_eq!(
        verdict.sentence,
        "The server handles up to 10 concurrent calls; the ramp ended there, before its last step of 28 concurrent calls."
    );
    assert_eq!(verdict.numbers["last_good_concurrent"], 10);
    let failing = [good(1), step(10, 100, 50, 10.0, 50.0), none(19)];
    assert!(judged(&failing).is_failure(), "what was found stays found");
}

#[test]
fn on_a_schedule_rates_are_told_and_falling_behind_is_saturation() {
    let paced = |rate, throughput, p99_ms| RampStep {
        rate_per_s: Some(rate),
        ..step(1, 1_000, 0, p99_ms, throughput)
    };
    // Less than a tenth more than before, but all that was asked for.
    let keeps_up = [paced(100.0, 100.0, 1.0), paced(105.0, 105.0, 6.0)];
    assert_eq!(find(&keeps_up), None);
    assert_eq!(
        judged(&keeps_up).sentence,
        "The server handles up to 105 calls per second; the ramp found no breaking point."
    );
    assert_eq!(judged(&keeps_up).numbers["last_good_rate_per_s"], 105.0);
    let drops = [paced(100.0, 100.0, 1.0), paced(500.0, 300.0, 1.0)];
    assert_eq!(find(&drops).unwrap().kind, BreakingKind::Latency);
    let lags = RampStep {
        begun_per_s: 500.0,
        ..paced(500.0, 300.0, 1.0)
    };
    let lags = [paced(100.0, 100.0, 1.0), lags];
    assert_eq!(find(&lags), None, "all began, and end in the next step");
    let falls_behind = [paced(100.0, 100.0, 1.0), paced(500.0, 300.0, 900.0)];
    let point = find(&falls_behind).unwrap();
    assert_eq!(point.kind, BreakingKind::Latency);
    assert_eq!(point.load(), "500 calls per second");
    assert_eq!(point.last_good_load().unwrap(), "100 calls per second");
    assert_eq!(
        judged(&falls_behind).sentence,
        "The server saturates at 500 calls per second: calls that come faster only wait longer (p99 900 ms, 1 ms at the first step), which is queueing, not a bug."
    );
}

#[test]
fn nothing_measured_is_inconclusive() {
    assert_eq!(judged(&[]).outcome, Outcome::Inconclusive);
    assert_eq!(
        judged(&[step(1, 0, 0, 0.0, 0.0)]).outcome,
        Outcome::Inconclusive
    );
}

proptest! {
    #[test]
    fn every_number_is_finite(steps in prop::collection::vec((any::<u32>(), 0_u64..1_000, 0_u64..1_000, maybe_floats(), floats()), 0..6)) {
        let steps: Vec<RampStep> = steps.into_iter().map(|(concurrent, calls, errors, p99_ms, throughput_per_s)| {
            RampStep { concurrent, calls, errors, refused: 0, p99_ms, throughput_per_s, begun_per_s: throughput_per_s, is_whole: concurrent % 3 > 0, rate_per_s: None, met_fault: concurrent % 7 == 1, machine: MachineReport::default(), is_repetition: concurrent % 11 == 1 }
        }).collect();
        let point = find(&steps);
        if let Some(point) = &point {
            for value in [point.p99_ms, point.first_p99_ms, point.throughput_per_s, point.best_throughput_per_s] {
                prop_assert!(value.is_none_or(f64::is_finite), "{point:?}");
            }
            prop_assert!((0.0..=1.0).contains(&point.error_share));
        }
        verdict(&steps, point.as_ref());
    }
}

#[test]
fn steps_in_which_a_fault_was_on_say_nothing() {
    let mut steps: Vec<RampStep> = [4, 8, 12, 16]
        .map(|concurrent| step(concurrent, 200, 0, 5.0, f64::from(concurrent) * 50.0))
        .to_vec();
    steps[2].throughput_per_s = 20.0;
    // Neither a collapse, nor good enough to refute one.
    steps[3].throughput_per_s = 150.0;
    assert!(find(&steps).is_some());
    steps[2].met_fault = true;
    assert_eq!(find(&steps), None);
    assert_eq!(verdict(&steps, None).outcome, Outcome::Pass);
    steps[3].met_fault = true;
    let open = verdict(&steps, find(&steps).as_ref());
    assert_eq!(open.outcome, Outcome::Inconclusive);
    assert!(
        open.sentence
            .rendered()
            .contains("up to 8 concurrent calls"),
        "{open:?}"
    );
    for step in &mut steps {
        step.met_fault = true;
    }
    let open = verdict(&steps, find(&steps).as_ref());
    assert!(
        open.sentence.rendered().contains("in every step"),
        "{open:?}"
    );
}

fn noisy(noise_share: f64) -> MachineReport {
    MachineReport {
        noise_share: Some(noise_share),
        others_cores: Some(noise_share),
        ..MachineReport::default()
    }
}

/// Steps with these successful calls per second.
fn ramp(throughputs: &[(u32, f64)]) -> Vec<RampStep> {
    let steps = throughputs.iter();
    steps
        .map(|(concurrent, throughput)| step(*concurrent, 1_000, 0, 5.0, *throughput))
        .collect()
}

fn repetition(concurrent: u32, throughput: f64, noise: f64) -> RampStep {
    RampStep {
        is_repetition: true,
        machine: noisy(noise),
        ..step(concurrent, 1_000, 0, 5.0, throughput)
    }
}

#[test]
fn a_later_step_refutes_a_dip() {
    let steps = ramp(&[(1, 1000.0), (10, 3000.0), (19, 700.0), (28, 2900.0)]);
    assert_eq!(find(&steps), None);
    assert_eq!(to_repeat(&steps), None);
    assert_eq!(judged(&steps).outcome, Outcome::Pass);
    let steps = ramp(&[(1, 1000.0), (10, 3000.0), (19, 700.0), (28, 600.0)]);
    assert_eq!(find(&steps).unwrap().kind, BreakingKind::Collapse);
    assert_eq!(to_repeat(&steps), Some(19));
    // A peak of the latency that more clients outgrow is no saturation.
    let mut steps = ramp(&[(1, 1000.0), (10, 1050.0), (19, 3000.0)]);
    steps[1].p99_ms = Some(80.0);
    assert_eq!(find(&steps), None);
}

#[test]
fn a_collapse_that_other_work_can_explain_is_inconclusive() {
    let mut steps = ramp(&[(1, 1000.0), (10, 3000.0), (19, 400.0)]);
    for (noise, is_found) in [(0.05, true), (0.3, true), (0.6, false), (1.0, false)] {
        steps[2].machine = noisy(noise);
        assert_eq!(find(&steps).is_some(), is_found, "{noise}");
        let outcome = if is_found {
            Outcome::Finding
        } else {
            Outcome::Inconclusive
        };
        assert_eq!(judged(&steps).outcome, outcome, "{noise}");
    }
    let open = judged(&steps);
    assert_eq!(
        open.sentence,
        "Throughput fell from 3,000 to 400 calls per second at 19 concurrent calls, but other work on this machine can explain that."
    );
    assert_eq!(
        open.hint.unwrap(),
        "run it again while the machine does nothing else"
    );
    // It hides no errors.
    steps.push(step(28, 1_000, 900, 5.0, 10.0));
    assert!(judged(&steps).is_failure());
}

#[test]
fn repetitions_decide() {
    for (case, first_noise, [throughput, noise], expected) in [
        ("as good as it was", 0.0, [2800.0, 0.0], Outcome::Pass),
        ("a noisy moment", 0.9, [2800.0, 0.9], Outcome::Pass),
        ("again", 0.0, [400.0, 0.0], Outcome::Finding),
        (
            "again when it is quiet",
            0.9,
            [400.0, 0.0],
            Outcome::Finding,
        ),
        ("never quiet", 0.9, [400.0, 0.9], Outcome::Inconclusive),
    ] {
        let mut steps = ramp(&[(1, 1000.0), (10, 3000.0), (19, 400.0)]);
        steps[2].machine = noisy(first_noise);
        steps.push(repetition(19, 300.0, 0.9));
        steps.push(repetition(19, throughput, noise));
        assert_eq!(judged(&steps).outcome, expected, "{case}");
    }
}
