//! Letters for people in a hurry: latency, errors, and concurrency where it was measured.
//!
//! | | A | B | C | D | F |
//! |---|---|---|---|---|---|
//! | latency: median of calls made one at a time | ≤ 50 ms | ≤ 200 | ≤ 1000 | ≤ 5000 | more |
//! | errors: failed / attempted | ≤ 0.1 % | ≤ 1 % | ≤ 5 % | ≤ 10 % | more, or any deadlock |
//! | concurrency: clients at the breaking point | ≥ 256 | ≥ 64 | ≥ 16 | ≥ 4 | fewer |
//!
//! Latency is graded one call at a time, so the grade does not depend on the concurrency that
//! somebody picked. The overall grade is the worst one, and agrees with the verdict: D at best for a run that fails
//! (fast answers to the wrong caller are no good answers), D at worst for one that passes, none for one that is
//! inconclusive. What was not measured has no grade.

use crate::prelude::*;

/// A letter; A is best.
#[data(Copy, Eq, PartialOrd, Ord, Hash)]
pub enum Grade {
    /// Very good.
    A,
    /// Good.
    B,
    /// Fair.
    C,
    /// Poor.
    D,
    /// Failed.
    F,
}

/// The grades of a run.
#[data(Default, Eq)]
pub struct Grades {
    /// How fast one call is.
    pub latency: Option<Grade>,
    /// How many calls fail.
    pub errors: Option<Grade>,
    /// How many clients it takes; only where a ramp found a breaking point.
    pub concurrency: Option<Grade>,
    /// The worst of them; D at best where the run fails, D at worst where it passes, none where it is inconclusive.
    pub overall: Option<Grade>,
    /// Why, by the name of the grade.
    pub reasons: BTreeMap<String, Message>,
}

/// What is graded.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GradeInput {
    /// Median latency of calls made one at a time, in milliseconds.
    pub alone_median_ms: Option<f64>,
    /// Calls made.
    pub attempted: u64,
    /// Calls that failed.
    pub failed: u64,
    /// Calls never answered.
    pub deadlocks: u64,
    /// Concurrent clients at which it broke, where that was looked for.
    pub breaking_concurrent: Option<u32>,
    /// What makes the run fail: detectors with a critical finding, limits that were not kept.
    pub failures: Vec<String>,
    /// Whether there is not enough evidence for a verdict.
    pub is_inconclusive: bool,
}

/// The best overall grade of a run that fails, and the worst of one that passes.
pub const BORDER: Grade = Grade::D;

/// Grades a run.
pub fn grade(input: &GradeInput) -> Grades {
    let Some(failed_share) = share(input.failed, input.attempted) else {
        return Grades {
            reasons: [("overall".to_owned(), "no call was made".into())].into(),
            ..Grades::default()
        };
    };
    let nothing_succeeded = input.failed >= input.attempted;
    let median_ms = input
        .alone_median_ms
        .filter(|ms| ms.is_finite() && *ms >= 0.0 && !nothing_succeeded);
    let latency = median_ms.map(|ms| at_most(ms, [50.0, 200.0, 1000.0, 5000.0]));
    let latency_reason = match median_ms.map(milliseconds) {
        Some(ms) => format!("one call at a time takes {ms} at the median"),
        None if nothing_succeeded => "no call succeeded".to_owned(),
        None => "no call was made on its own".to_owned(),
    };
    let errors = Some(if input.deadlocks > 0 || nothing_succeeded {
        Grade::F
    } else {
        at_most(failed_share, [0.001, 0.01, 0.05, 0.1])
    });
    let errors_reason = if input.deadlocks > 0 {
        format!("{} without an answer", counted(input.deadlocks, "call"))
    } else {
        format!(
            "{} of {} failed ({})",
            input.failed,
            counted(input.attempted, "call"),
            percent(failed_share)
        )
    };
    let concurrency = input
        .breaking_concurrent
        .map(|concurrent| match concurrent {
            256.. => Grade::A,
            64.. => Grade::B,
            16.. => Grade::C,
            4.. => Grade::D,
            _ => Grade::F,
        });
    let worst = latency.max(errors).max(concurrency);
    let (overall, overall_reason) = match worst {
        _ if input.is_inconclusive => (None, Some("the run is inconclusive".into())),
        Some(worst) if !input.failures.is_empty() && worst < BORDER => {
            let names = quoted_names(&input.failures);
            (
                Some(BORDER),
                Some(sentence!("capped at {BORDER:?} by {names}")),
            )
        }
        Some(worst) if input.failures.is_empty() && worst > BORDER => {
            let reason = format!("no lower than {BORDER:?}, because the run passed");
            (Some(BORDER), Some(reason.into()))
        }
        worst => (worst, None),
    };
    let breaks = input
        .breaking_concurrent
        .map(|at| format!("it breaks at {at} concurrent"));
    let reasons = [
        ("latency", Some(latency_reason.into())),
        ("errors", Some(errors_reason.into())),
        ("concurrency", breaks.map(Message::from)),
        ("overall", overall_reason),
    ];
    Grades {
        latency,
        errors,
        concurrency,
        overall,
        reasons: reasons
            .into_iter()
            .filter_map(|(name, reason)| Some((name.to_owned(), reason?)))
            .collect(),
    }
}

fn at_most(value: f64, limits: [f64; 4]) -> Grade {
    [Grade::A, Grade::B, Grade::C, Grade::D]
        .into_iter()
        .zip(limits)
        .find_map(|(grade, limit)| (value <= limit).then_some(grade))
        .unwrap_or(Grade::F)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::maybe_floats;

    fn input(alone_median_ms: f64, attempted: u64, failed: u64) -> GradeInput {
        GradeInput {
            alone_median_ms: Some(alone_median_ms),
            attempted,
            failed,
            ..GradeInput::default()
        }
    }

    #[test]
    fn letters_follow_the_table() {
        for (ms, letter) in [
            (0.0, Grade::A),
            (50.0, Grade::A),
            (50.1, Grade::B),
            (200.0, Grade::B),
            (1000.0, Grade::C),
            (5000.0, Grade::D),
            (5000.1, Grade::F),
        ] {
            assert_eq!(grade(&input(ms, 10, 0)).latency, Some(letter), "{ms} ms");
        }
        for (failed, letter) in [
            (0, Grade::A),
            (1, Grade::A),
            (2, Grade::B),
            (10, Grade::B),
            (50, Grade::C),
            (100, Grade::D),
            (101, Grade::F),
            (1000, Grade::F),
        ] {
            assert_eq!(
                grade(&input(1.0, 1000, failed)).errors,
                Some(letter),
                "{failed} failed"
            );
        }
        for (concurrent, letter) in [
            (u32::MAX, Grade::A),
            (256, Grade::A),
            (255, Grade::B),
            (64, Grade::B),
            (16, Grade::C),
            (4, Grade::D),
            (3, Grade::F),
            (0, Grade::F),
        ] {
            let input = GradeInput {
                breaking_concurrent: Some(concurrent),
                ..input(1.0, 10, 0)
            };
            assert_eq!(grade(&input).concurrency, Some(letter), "{concurrent}");
        }
    }

    #[test]
    fn the_worst_grade_is_the_overall_one() {
        let grades = grade(&GradeInput {
            breaking_concurrent: Some(20),
            ..input(100.0, 1000, 0)
        });
        assert_eq!(grades.overall, Some(Grade::C));
        assert_eq!(grades.reasons["concurrency"], "it breaks at 20 concurrent");
        assert_eq!(grades.reasons["errors"], "0 of 1,000 calls failed (0%)");
        let grades = grade(&GradeInput {
            deadlocks: 1,
            failures: vec!["deadlock".to_owned()],
            ..input(1.0, 1000, 1)
        });
        assert_eq!(
            (grades.errors, grades.overall),
            (Some(Grade::F), Some(Grade::F))
        );
        assert_eq!(grades.reasons["errors"], "1 call without an answer");
    }

    #[test]
    fn a_run_that_fails_has_no_good_grade() {
        let failed = |median_ms, failures: &[&str]| {
            grade(&GradeInput {
                failures: failures.iter().map(ToString::to_string).collect(),
                ..input(median_ms, 1000, 0)
            })
        };
        let grades = failed(1.0, &["isolation", "p99_latency"]);
        assert_eq!(
            (grades.latency, grades.errors, grades.overall),
            (Some(Grade::A), Some(Grade::A), Some(Grade::D))
        );
        assert_eq!(
            grades.reasons["overall"],
            "capped at D by `isolation` and `p99_latency`"
        );
        let worse = failed(9000.0, &["isolation"]);
        assert_eq!(worse.overall, Some(Grade::F));
        assert!(!worse.reasons.contains_key("overall"));
        assert_eq!(failed(1.0, &[]).overall, Some(Grade::A));
    }

    #[test]
    fn what_was_not_measured_has_no_grade() {
        let nothing = grade(&input(1.0, 0, 0));
        assert_eq!(
            (nothing.latency, nothing.errors, nothing.overall),
            (None, None, None)
        );
        let failed = grade(&GradeInput {
            failures: vec!["success".to_owned()],
            ..input(1.0, 5, 5)
        });
        assert_eq!(
            (failed.latency, failed.errors, failed.overall),
            (None, Some(Grade::F), Some(Grade::F))
        );
        let unknown = grade(&input(f64::NAN, 5, 0));
        assert_eq!(
            (unknown.latency, unknown.concurrency, unknown.overall),
            (None, None, Some(Grade::A))
        );
    }

    #[test]
    fn it_agrees_with_the_verdict() {
        let passed = grade(&input(9000.0, 1000, 450));
        assert_eq!(
            (passed.latency, passed.errors, passed.overall),
            (Some(Grade::F), Some(Grade::F), Some(Grade::D))
        );
        assert_eq!(
            passed.reasons["overall"],
            "no lower than D, because the run passed"
        );
        let unclear = grade(&GradeInput {
            is_inconclusive: true,
            ..input(1.0, 1000, 0)
        });
        assert_eq!((unclear.errors, unclear.overall), (Some(Grade::A), None));
    }

    proptest! {
        #[test]
        fn overall_is_never_better_than_a_part(ms in maybe_floats(), attempted in any::<u64>(), failed in any::<u64>(), deadlocks in 0_u64..2, breaking in any::<Option<u32>>(), failures in prop::collection::vec("[a-z]{1,8}", 0..3)) {
            let grades = grade(&GradeInput { alone_median_ms: ms, attempted, failed, deadlocks, breaking_concurrent: breaking, failures: failures.clone(), is_inconclusive: false });
            if !failures.is_empty() && attempted > 0 {
                prop_assert!(grades.overall >= Some(BORDER));
            }
            for part in [grades.latency, grades.errors, grades.concurrency] {
                let is_capped = failures.is_empty() && grades.overall == Some(BORDER);
                prop_assert!(part <= grades.overall || is_capped);
            }
        }
    }
}
