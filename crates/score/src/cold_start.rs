//! Whether the first call pays for work that belongs in the start.
//!
//! Each iteration starts a fresh server and makes two calls. The medians are compared: a finding
//! when the first call takes at least 10 times the second **and** at least 500 ms longer. The factor
//! alone would blame a fast tool for a cold cache; the difference alone, a slow tool for its noise.

use crate::prelude::*;

pub const ID: &str = "cold_start";

/// The first call must take this many times the second one.
pub const RATIO_MIN: f64 = 10.0;

/// The first call must take this much longer than the second one, in milliseconds.
pub const DIFFERENCE_MS_MIN: f64 = 500.0;

/// One start of the server.
#[data(Copy)]
pub struct ColdStartSample {
    /// From spawning to the answer to the handshake, in milliseconds.
    pub ready_ms: f64,
    /// The first call, in milliseconds.
    pub first_call_ms: f64,
    /// The second call, in milliseconds.
    pub second_call_ms: f64,
}

/// The medians over all starts; `None` without one.
#[data(open)]
pub struct ColdStartReport {
    /// Starts measured, without those that have a value that is not finite.
    pub iterations: usize,
    /// From spawning to the answer to the handshake.
    pub ready_ms: Option<f64>,
    /// The first call.
    pub first_call_ms: Option<f64>,
    /// The second call.
    pub second_call_ms: Option<f64>,
    /// First call over second; `None` when the second took no time.
    pub ratio: Option<f64>,
    /// Whether the first call does work that belongs in the start.
    pub is_lazy: bool,
    /// Whether the second call had the arguments of the first.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub same_arguments: bool,
}

/// Compares first and second calls.
pub fn judge(samples: &[ColdStartSample]) -> ColdStartReport {
    let usable: Vec<[f64; 3]> = samples
        .iter()
        .map(|start| [start.ready_ms, start.first_call_ms, start.second_call_ms])
        .filter(|times| times.iter().all(|time| time.is_finite()))
        .collect();
    let [ready_ms, first_call_ms, second_call_ms] = [0, 1, 2].map(|which: usize| {
        median(
            &usable
                .iter()
                .map(|times| times[which])
                .collect::<Vec<f64>>(),
        )
    });
    let both = first_call_ms.zip(second_call_ms);
    ColdStartReport {
        iterations: usable.len(),
        ready_ms,
        first_call_ms,
        second_call_ms,
        ratio: both.and_then(|(first, second)| ratio(first, second)),
        is_lazy: both.is_some_and(|(first, second)| {
            first >= RATIO_MIN * second && first - second >= DIFFERENCE_MS_MIN
        }),
        same_arguments: false,
    }
}

/// The verdict `cold_start`; a lazy start is critical.
pub fn verdict(report: &ColdStartReport) -> Verdict {
    let verdict = match report.first_call_ms.zip(report.second_call_ms) {
        None => Verdict::inconclusive(
            ID,
            "No start of the server reached two answered calls.",
            sentence!(
                "read the server's stderr{}, or give arguments that the tool accepts ({})",
                tee_stderr(),
                setting("args")
            ),
        ),
        Some((first, second)) => {
            let (first, second) = (milliseconds(first), milliseconds(second));
            if report.is_lazy && report.same_arguments {
                Verdict::warning(
                    ID,
                    format!(
                        "The first call after a start takes {first}, the second {second}; but the second call had the same arguments, so it may have been answered from a cache."
                    ),
                    sentence!(
                        "name a tool for which arguments with a text or a number can be made ({})",
                        setting("tool_call")
                    ),
                )
            } else if report.is_lazy {
                Verdict::critical(
                    ID,
                    format!(
                        "The first call after a start takes {first}, the second {second}: the first user waits for work that belongs in the start."
                    ),
                    "import, connect and load before answering the handshake, not in the first call",
                )
            } else {
                Verdict::pass(
                    ID,
                    format!("The first call after a start takes {first}, the second {second}."),
                )
            }
        }
    };
    verdict.numbers_in(report)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::floats;
    use crate::verdict::Outcome;

    fn sample(first_call_ms: f64, second_call_ms: f64) -> ColdStartSample {
        ColdStartSample {
            ready_ms: 80.0,
            first_call_ms,
            second_call_ms,
        }
    }

    #[test]
    fn both_the_factor_and_the_difference_must_be_met() {
        let cases = [
            (600.0, 5.0, true),
            (550.0, 50.0, true),
            (550.0, 50.1, false),
            (5_000.0, 501.0, false),
            (499.0, 0.5, false),
            (500.0, 0.0, true),
            (5.0, 5.0, false),
        ];
        for (first, second, lazy) in cases {
            let report = judge(&[sample(first, second)]);
            assert_eq!(report.is_lazy, lazy, "{first} {second}");
            assert_eq!(verdict(&report).is_failure(), lazy, "{first} {second}");
            let cached = ColdStartReport {
                same_arguments: true,
                ..report
            };
            assert!(verdict(&cached).severity != Severity::Critical);
        }
    }

    #[test]
    fn medians_are_compared() {
        let report = judge(&[
            sample(900.0, 4.0),
            sample(5.0, 5.0),
            sample(800.0, 6.0),
            sample(f64::NAN, 1.0),
        ]);
        assert_eq!(report.iterations, 3);
        assert_eq!(report.ready_ms, Some(80.0));
        assert_eq!(
            (report.first_call_ms, report.second_call_ms),
            (Some(800.0), Some(5.0))
        );
        assert_eq!(report.ratio, Some(160.0));
        assert!(report.is_lazy);
    }

    #[test]
    fn no_start_is_inconclusive() {
        let report = judge(&[]);
        assert_eq!(
            (report.iterations, report.ready_ms, report.ratio),
            (0, None, None)
        );
        assert_eq!(verdict(&report).outcome, Outcome::Inconclusive);
    }

    proptest! {
        #[test]
        fn every_number_is_finite(values in prop::collection::vec((floats(), floats(), floats()), 0..8)) {
            let samples: Vec<_> = values.into_iter().map(|(ready_ms, first_call_ms, second_call_ms)| {
                ColdStartSample { ready_ms, first_call_ms, second_call_ms }
            }).collect();
            let report = judge(&samples);
            for value in [report.ready_ms, report.first_call_ms, report.second_call_ms, report.ratio] {
                prop_assert!(value.is_none_or(f64::is_finite), "{report:?}");
            }
            verdict(&report);
        }
    }
}
