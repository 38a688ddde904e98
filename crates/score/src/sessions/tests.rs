use proptest::prelude::*;

use super::*;
use crate::testing::floats;

fn each_second(value: impl Fn(f64) -> f64) -> Vec<(Duration, f64)> {
    (0..=100_u32)
        .map(|s| (Duration::from_secs(s.into()), value(f64::from(s))))
        .collect()
}

fn churn() -> ChurnInput {
    ChurnInput {
        run: Duration::from_secs(100),
        opened: 100,
        abandoned: 100,
        progress: (0..=100).map(|s| (Duration::from_secs(s), s)).collect(),
        rss: each_second(|_| 40.0),
        descriptors: each_second(|_| 12.0),
        ..ChurnInput::default()
    }
}

fn concluded(input: &ChurnInput) -> [Verdict; 2] {
    let verdicts = verdicts(&judge(input, &LeakSettings::default()));
    verdicts.try_into().unwrap()
}

#[test]
fn a_clean_server_passes_both() {
    let [leak, leftovers] = concluded(&churn());
    assert_eq!(
        (leak.detector.as_str(), leak.outcome),
        ("session_leak", Outcome::Pass)
    );
    assert_eq!(
        (leftovers.detector.as_str(), leftovers.outcome),
        ("leftovers", Outcome::Pass)
    );
    assert_eq!(
        leak.sentence,
        "The server releases its sessions: 0 descriptors more after 100 sessions."
    );
}

#[test]
fn what_only_abandoned_sessions_leave_behind_may_have_a_timeout() {
    use crate::verdict::Severity::{Critical, Warning};

    let cases = [
        (None, Critical),
        (Some((0.0, 0.0)), Warning),
        (Some((24.0, 24.0)), Warning),
        // Earlier ones were let go of in the meantime.
        (Some((-30.0, -30.0)), Warning),
        (Some((60.0, 0.0)), Critical),
        (Some((0.0, 60.0)), Critical),
    ];
    for (closed, severity) in cases {
        let [leak, _] = concluded(&ChurnInput {
            abandoned: 50,
            rss: each_second(|t| t),
            descriptors: each_second(|t| t),
            closed: closed.map(|(descriptors, rss_mb)| ClosedSessions {
                sessions: 50,
                after_secs: 3.2,
                growth: [rss_mb, descriptors, 0.0, 0.0],
            }),
            ..churn()
        });
        assert_eq!(leak.severity, severity, "{closed:?}: {leak:?}");
    }
}

#[test]
fn descriptors_and_memory_leak_alone() {
    let cases = [
        (
            churn().rss,
            each_second(|t| 12.0 + t * 0.5),
            "40 descriptors more after 100 sessions.",
        ),
        (
            each_second(|t| t),
            churn().descriptors,
            "80 MB (1,000 kB per session) more after 100 sessions.",
        ),
        (
            each_second(|t| t),
            each_second(|t| t),
            "80 descriptors and 80 MB (1,000 kB per session) more after 100 sessions.",
        ),
    ];
    for (rss, descriptors, end) in cases {
        let [leak, _] = concluded(&ChurnInput {
            rss,
            descriptors,
            ..churn()
        });
        assert!(leak.is_failure(), "{leak:?}");
        assert!(
            leak.sentence.rendered().ends_with(end),
            "{:?}",
            leak.sentence
        );
    }
}

#[test]
fn threads_and_processes_leak_too() {
    let growing = || each_second(|t| 5.0 + t);
    let cases = [
        (growing(), vec![], "80 threads more after 100 sessions."),
        (
            growing(),
            growing(),
            "80 processes and 80 threads more after 100 sessions.",
        ),
    ];
    for (threads, processes, end) in cases {
        let [leak, _] = concluded(&ChurnInput {
            threads,
            processes,
            ..churn()
        });
        assert!(leak.is_failure(), "{leak:?}");
        let said = leak.sentence.rendered();
        assert!(said.ends_with(end), "{said}");
    }
    // A pool that is full, and one that grows now and then.
    for threads in [
        each_second(|t| 5.0 + t.min(40.0)),
        each_second(|t| 5.0 + t / 5.0),
    ] {
        let [leak, _] = concluded(&ChurnInput { threads, ..churn() });
        assert_eq!(leak.outcome, Outcome::Pass, "{leak:?}");
    }
}

#[test]
fn memory_is_judged_for_each_session() {
    // 200 kB of each: 16 MB after the warm-up.
    let little = ChurnInput {
        rss: each_second(|t| 40.0 + t * 0.2),
        ..churn()
    };
    let [leak, _] = concluded(&little);
    assert_eq!(
        (leak.outcome, leak.severity),
        (Outcome::Finding, Severity::Warning)
    );
    assert_eq!(
        leak.sentence,
        "The server's memory grows with every session: 16 MB (200 kB per session) more after 100 sessions, and still growing."
    );
    let many = ChurnInput {
        opened: 500,
        progress: vec![(Duration::from_secs(100), 500)],
        rss: each_second(|t| 40.0 + t * 0.4),
        ..little
    };
    assert!(concluded(&many)[0].is_failure());
    let passing = [
        each_second(|t| 40.0 + t * 0.04),
        each_second(|t| 40.0 + t.min(60.0) * 0.5),
        each_second(|t| 40.0 + t % 20.0),
    ];
    for rss in passing {
        let [leak, _] = concluded(&ChurnInput { rss, ..churn() });
        assert_eq!(leak.outcome, Outcome::Pass, "{leak:?}");
    }
}

#[test]
fn more_sessions_are_opened_while_the_memory_grows() {
    let readings = |rss: &dyn Fn(f64) -> f64| -> Vec<(u64, f64)> {
        (0..=20)
            .map(|place| (place * 5, rss(float(place * 5))))
            .collect()
    };
    let cases = [
        (readings(&|s| 40.0 + 0.2 * s), true),
        (readings(&|s| 40.0 + 0.01 * s), false),
        (readings(&|s| 40.0 + 0.5 * s.min(50.0)), false),
        (readings(&|s| 40.0 + 2.0 * s), false),
        (vec![], false),
        (vec![(0, 1.0)], false),
    ];
    for (readings, expected) in cases {
        assert_eq!(
            needs_more_sessions(&readings, 50.0),
            expected,
            "{readings:?}"
        );
    }
}

#[test]
fn little_or_few_descriptors_are_no_leak() {
    let slow = ChurnInput {
        descriptors: each_second(|t| t * 0.49),
        ..churn()
    };
    assert_eq!(concluded(&slow)[0].outcome, Outcome::Pass);
    let few = ChurnInput {
        opened: 10,
        abandoned: 10,
        descriptors: each_second(|t| t * 0.19),
        progress: vec![(Duration::from_secs(100), 10)],
        ..churn()
    };
    assert_eq!(concluded(&few)[0].outcome, Outcome::Pass);
    let polite = ChurnInput {
        abandoned: 0,
        descriptors: each_second(|t| t * 0.6),
        ..churn()
    };
    assert!(
        concluded(&polite)[0].is_failure(),
        "opened sessions count when none is abandoned"
    );
}

#[test]
fn what_is_unsure_or_unknown_is_inconclusive() {
    let noisy = each_second(|t| t + if t % 2.0 < 1.0 { 0.0 } else { 400.0 });
    let cases = [
        (
            ChurnInput {
                descriptors: noisy.clone(),
                ..churn()
            },
            "too uneven",
        ),
        (
            ChurnInput {
                rss: noisy,
                ..churn()
            },
            "too uneven",
        ),
        (
            ChurnInput {
                rss: vec![],
                descriptors: vec![],
                ..churn()
            },
            "not sampled often enough",
        ),
        (
            ChurnInput {
                opened: 0,
                ..churn()
            },
            "No session could be opened",
        ),
    ];
    for (input, part) in cases {
        let [leak, _] = concluded(&input);
        assert_eq!(leak.outcome, Outcome::Inconclusive, "{leak:?}");
        assert!(
            leak.sentence.rendered().contains(part),
            "{:?}",
            leak.sentence
        );
    }
    let one_known = [
        ChurnInput {
            rss: vec![],
            ..churn()
        },
        ChurnInput {
            descriptors: vec![],
            ..churn()
        },
    ];
    for input in one_known {
        assert_eq!(concluded(&input)[0].outcome, Outcome::Pass);
    }
}

#[test]
fn processes_left_behind_are_found() {
    let [_, left] = concluded(&ChurnInput {
        leftovers: 3,
        zombies: 1,
        ..churn()
    });
    assert!(left.is_failure());
    assert_eq!(
        left.sentence,
        "Server processes outlive their session: 3 still running after 100 sessions."
    );
    let [_, zombies] = concluded(&ChurnInput {
        zombies: 2,
        ..churn()
    });
    assert_eq!(
        (zombies.outcome, zombies.severity),
        (Outcome::Finding, Severity::Warning)
    );
    let [_, nothing] = concluded(&ChurnInput {
        opened: 0,
        ..churn()
    });
    assert_eq!(nothing.outcome, Outcome::Inconclusive);
}

proptest! {
    #[test]
    fn every_number_is_finite(
        counts in prop::array::uniform5(any::<u64>()),
        run in any::<Duration>(),
        rss in prop::collection::vec((0_u64..1_000_000, floats()), 0..12),
        descriptors in prop::collection::vec((0_u64..1_000_000, floats()), 0..12),
    ) {
        let timed = |samples: Vec<(u64, f64)>| samples.into_iter().map(|(s, v)| (Duration::from_secs(s), v)).collect();
        let [opened, failed_opens, abandoned, leftovers, zombies] = counts;
        let input = ChurnInput { run, opened, failed_opens, abandoned, progress: vec![(Duration::from_secs(50), opened)], threads: timed(rss.clone()), rss: timed(rss), descriptors: timed(descriptors), leftovers, zombies, ..ChurnInput::default() };
        let report = judge(&input, &LeakSettings::default());
        let descriptors = &report.descriptors;
        for value in [descriptors.growth, descriptors.growth_per_session, descriptors.r_squared, report.memory.growth_mb] {
            prop_assert!(value.is_none_or(f64::is_finite), "{report:?}");
        }
        prop_assert_eq!(verdicts(&report).len(), 2);
    }
}
