use proptest::prelude::*;

use super::*;
use crate::breaking_point::{self, RampStep};
use crate::drift;
use crate::growth::Progress;
use crate::spike_recovery::{self, PhaseCalls, Quartiles, SpikeInput, ToolRecovery};
use crate::testing::maybe_floats;
use crate::throughput_drift::{self, LoadInterval, SteadyLoad};
use crate::verdict::{Outcome, Verdict};

const SECOND: Duration = Duration::from_secs(1);

/// A neighbour on a machine of two processors: from when to when, in seconds, and which share of the time it takes away.
#[derive(Debug, Clone, Copy)]
struct Neighbour {
    from: f64,
    until: f64,
    share: f64,
}

impl Neighbour {
    /// The share that it takes in the second that begins then.
    fn takes(&self, second: u32) -> f64 {
        let begin = f64::from(second);
        let overlap = self.until.min(begin + 1.0) - self.from.max(begin);
        overlap.max(0.0) * self.share
    }

    fn sample(&self, second: u32) -> MachineSample {
        let taken = self.takes(second);
        MachineSample {
            until: SECOND * (second + 1),
            length: SECOND,
            cores: 2,
            busy: Some(1.2 + taken),
            steal: Some(0.0),
            ours: Some(1.2),
            // Threads of ours make each other wait, too.
            waited: Some(taken + 0.3),
            pressure: Some(0.5),
            late: 0.0,
        }
    }

    fn samples(&self) -> Vec<MachineSample> {
        (0..40).map(|second| self.sample(second)).collect()
    }

    fn report(&self, from: u32, until: u32) -> MachineReport {
        judge(&self.samples(), SECOND * from..SECOND * until)
    }

    /// What is left of a speed of 1 in a second: caches that got cold cost more than the time that was taken.
    fn leaves(&self, second: u32) -> f64 {
        (1.0 - 1.2 * self.takes(second)).max(0.02)
    }

    fn mean(&self, from: u32, until: u32) -> f64 {
        let all = (from..until).map(|second| self.leaves(second));
        mean(all).unwrap()
    }

    /// A ramp of ten steps of four seconds, on a server that is as fast as `speed` says at each.
    fn ramp(&self, speed: impl Fn(u32) -> f64) -> Verdict {
        let steps: Vec<RampStep> = (0..10)
            .map(|step| {
                let (from, until) = (step * 4, step * 4 + 4);
                let throughput = speed(step) * self.mean(from, until);
                RampStep {
                    concurrent: 1 + step * 9,
                    rate_per_s: None,
                    calls: truncated(throughput * 4.0).max(1),
                    errors: 0,
                    refused: 0,
                    p99_ms: Some(5.0),
                    throughput_per_s: throughput,
                    begun_per_s: throughput,
                    is_whole: true,
                    met_fault: false,
                    machine: self.report(from, until),
                    is_repetition: false,
                }
            })
            .collect();
        breaking_point::verdict(&steps, breaking_point::find(&steps).as_ref())
    }

    /// A soak of forty seconds.
    fn soak(&self, speed: impl Fn(u32) -> f64) -> [Option<Verdict>; 2] {
        let intervals: Vec<LoadInterval> = (0..40)
            .map(|second| {
                let rate = speed(second) * self.leaves(second);
                LoadInterval {
                    from: SECOND * second,
                    until: SECOND * (second + 1),
                    length: SECOND,
                    completed: truncated(rate),
                    mean_ms: Some(4000.0 / rate),
                    has_failures: false,
                }
            })
            .collect();
        let machine = over_time(&self.samples(), SECOND * 8..SECOND * 40);
        let cpu_us = Progress::new();
        let load = SteadyLoad {
            intervals: &intervals,
            warmup: SECOND * 8,
            is_open: false,
            cpu_us: &cpu_us,
            machine,
            noise_at_end: at_end(&self.samples(), SECOND * 8..SECOND * 40),
        };
        let means: Vec<_> = intervals
            .iter()
            .filter_map(|it| Some((it.until, it.mean_ms?)))
            .collect();
        let drifted = drift::detect(&means, SECOND * 8, 0.5, machine);
        let slowed = throughput_drift::detect(&load);
        [
            slowed.as_ref().map(throughput_drift::verdict),
            Some(drift::verdict(&drifted)),
        ]
    }

    /// A spike at ten seconds for ten, on a server that is that fast after it.
    fn spike(&self, after: f64) -> Verdict {
        let phase = |from, until, speed: f64| PhaseCalls {
            duration_secs: f64::from(until - from),
            calls: 500,
            errors: 0,
            ended_per_s: 1000.0 * speed * self.mean(from, until),
            p50_ms: Some(5.0 / speed),
            p99_ms: Some(50.0 / speed),
        };
        let times = |from, until, speed: f64| {
            let p50_ms = 5.0 / speed / self.mean(from, until);
            Quartiles {
                count: 500,
                p25_ms: p50_ms * 0.8,
                p50_ms,
                p75_ms: p50_ms * 1.2,
            }
        };
        let tool = ToolRecovery {
            tool: "echo".to_owned(),
            before: times(0, 10, 1.0),
            after: times(20, 40, after),
        };
        spike_recovery::verdict(&spike_recovery::judge(&SpikeInput {
            baseline: phase(0, 10, 1.0),
            burst: phase(10, 20, 1.0),
            recovery: phase(20, 40, after),
            tools: vec![tool],
            settling: None,
            longest_pause_secs: 0.0,
            machine: self.report(20, 40),
        }))
    }
}

/// A machine that does nothing else.
const NOBODY: Neighbour = Neighbour {
    from: 0.0,
    until: 0.0,
    share: 0.0,
};

fn is_finding(verdict: &Verdict) -> bool {
    verdict.outcome == Outcome::Finding
}

#[test]
fn other_work_counts_only_while_we_wait() {
    let sample = MachineSample {
        until: SECOND,
        length: SECOND,
        cores: 8,
        busy: Some(3.0),
        steal: Some(0.0),
        ours: Some(1.0),
        waited: Some(0.02),
        pressure: Some(0.9),
        late: 0.0,
    };
    let noise = |change: fn(&mut MachineSample)| {
        let mut sample = sample;
        change(&mut sample);
        truncated((sample.noise() * 100.0).round())
    };
    assert_eq!(noise(|_| ()), 2, "there is room for all");
    assert_eq!(noise(|it| it.waited = Some(4.0)), 100);
    assert_eq!(noise(|it| it.ours = Some(2.9)), 2);
    assert_eq!(
        noise(|it| (it.waited, it.ours) = (Some(4.0), Some(2.9))),
        10,
        "it is our own crowd"
    );
    assert_eq!(noise(|it| it.waited = None), 90);
    assert_eq!(noise(|it| it.steal = Some(0.5)), 52);
    assert_eq!(noise(|it| it.late = 0.4), 40);
    assert_eq!(noise(|it| it.busy = None), 0);
    assert_eq!(noise(|it| it.busy = Some(f64::NAN)), 0);
}

#[test]
fn a_range_is_judged_by_the_samples_in_it() {
    let neighbour = Neighbour {
        from: 20.0,
        until: 40.0,
        share: 0.8,
    };
    let early = neighbour.report(0, 20);
    assert_eq!((early.state(), early.busy), (Machine::Quiet, false));
    let late = neighbour.report(20, 40);
    assert_eq!((late.state(), late.busy), (Machine::Noisy, true));
    assert!((late.noise_share.unwrap() - 0.8).abs() < 1e-9);
    assert!(late.explains(300.0, 1000.0) && !early.explains(300.0, 1000.0));
    assert!((neighbour.report(10, 30).noise_share.unwrap() - 0.4).abs() < 1e-9);
    assert_eq!(
        late.describe().unwrap(),
        "busy; other work may have taken 80% of the time, 0.8 of 2 processors"
    );
    let samples = neighbour.samples();
    assert_eq!(over_time(&samples, SECOND * 5..SECOND * 40), Machine::Noisy);
    assert_eq!(over_time(&samples, SECOND * 5..SECOND * 20), Machine::Quiet);
    // At the end it was quiet, so that nothing excuses a slow end; at the start it was not.
    let early = Neighbour {
        from: 0.0,
        until: 10.0,
        share: 0.8,
    };
    assert_eq!(
        over_time(&early.samples(), SECOND * 5..SECOND * 40),
        Machine::Unknown
    );
    assert_eq!(over_time(&[], SECOND..SECOND * 40), Machine::Unknown);
    assert_eq!(judge(&[], SECOND..SECOND * 40), MachineReport::default());
    assert_eq!(MachineReport::default().describe(), None);
}

#[test]
fn what_is_real_is_found_on_a_quiet_machine() {
    assert!(is_finding(&NOBODY.ramp(|step| if step < 6 {
        1000.0
    } else {
        250.0
    })));
    let [throughput, latency] = NOBODY.soak(|second| if second < 20 { 1000.0 } else { 400.0 });
    assert!(is_finding(&throughput.unwrap()));
    assert!(
        !is_finding(&latency.unwrap()),
        "6 ms more are less than its limit"
    );
    let [throughput, _] = NOBODY.soak(|second| 5000.0 / (1.0 + f64::from(second)).sqrt());
    assert!(is_finding(&throughput.unwrap()));
    assert!(is_finding(&NOBODY.spike(0.1)));
}

proptest! {
    #[test]
    fn a_healthy_server_beside_a_neighbour_has_no_finding(
        from in 0.0..40.0_f64,
        length in 0.0..40.0_f64,
        share in 0.0..1.0_f64,
    ) {
        let neighbour = Neighbour { from, until: from + length, share };
        // More clients are served faster, up to a point.
        let ramp = neighbour.ramp(|step| 500.0 * f64::from(step.min(4) + 1));
        prop_assert!(!is_finding(&ramp), "{ramp:?}");
        for verdict in neighbour.soak(|_| 1000.0).into_iter().flatten() {
            prop_assert!(!is_finding(&verdict), "{verdict:?}");
        }
        let spike = neighbour.spike(1.0);
        prop_assert!(!is_finding(&spike), "{spike:?}");
    }

    #[test]
    fn what_is_real_is_found_beside_a_small_neighbour(
        from in 0.0..40.0_f64,
        length in 0.0..40.0_f64,
        share in 0.0..0.08_f64,
        left in 0.02..0.15_f64,
    ) {
        let neighbour = Neighbour { from, until: from + length, share };
        let ramp = neighbour.ramp(|step| if step < 6 { 1000.0 } else { 1000.0 * left });
        prop_assert!(is_finding(&ramp), "{ramp:?}");
        let [throughput, _] = neighbour.soak(|second| if second < 20 { 1000.0 } else { 1000.0 * left });
        prop_assert!(is_finding(&throughput.clone().unwrap()), "{throughput:?}");
        let spike = neighbour.spike(left);
        prop_assert!(is_finding(&spike), "{spike:?}");
    }

    #[test]
    fn every_number_is_finite(
        values in prop::collection::vec((0_u64..100, 0_u64..5, maybe_floats(), maybe_floats(), maybe_floats(), maybe_floats()), 0..9),
    ) {
        let samples: Vec<MachineSample> = values.into_iter().map(|(until, length, busy, ours, waited, steal)| MachineSample {
            until: SECOND * u32::try_from(until).unwrap(),
            length: SECOND * u32::try_from(length).unwrap(),
            busy, ours, waited, steal,
            ..MachineSample::default()
        }).collect();
        let report = judge(&samples, SECOND * 5..SECOND * 60);
        for value in [report.noise_share, report.others_cores, report.own_cores, report.waited_share, report.steal_cores] {
            prop_assert!(value.is_none_or(f64::is_finite), "{report:?}");
        }
        prop_assert!(report.noise_share.is_none_or(|noise| (0.0..=1.0).contains(&noise)));
    }
}

#[test]
fn a_wait_that_is_only_counted_when_it_ends_was_noise_before() {
    let sample = |number: u32, ours, waited| MachineSample {
        until: SECOND * number,
        length: SECOND,
        cores: 2,
        busy: Some(2.0),
        ours: Some(ours),
        waited: Some(waited),
        ..MachineSample::default()
    };
    // All the second second long, a thread of ours waited for a processor.
    let samples = [
        sample(1, 1.0, 0.0),
        sample(2, 0.0, 0.0),
        sample(3, 0.5, 1.5),
    ];
    let noise = |from, until| judge(&samples, SECOND * from..SECOND * until).noise_share;
    assert_eq!(noise(0, 1), Some(0.0));
    assert_eq!(noise(1, 2), Some(1.0));
}
