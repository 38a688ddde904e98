//! Whether fast calls wait behind slow ones (head-of-line blocking).
//!
//! A fast tool is called alone, then while slow calls run beside it, and the medians are compared.
//! It is suspicious when all three hold for a fast call in the mix:
//!
//! - it takes at least a quarter as long as a slow call, which waits in the same queue: with few
//!   calls in flight there is not always a slow one ahead, with many there is;
//! - it takes at least 10 times as long as alone: the server is not merely a little busier;
//! - it takes at least 100 ms longer than alone: enough for a person to notice, and far more than
//!   a scheduler's noise.
//!
//! It is a finding, a warning, when the fast tool waits for a single slow call too ([`load_verdict`]).
//!
//! Fewer than five samples of a kind are inconclusive, and so is a slow tool that takes less than
//! 5 times the fast one: then there is no slow tool in the mix.

mod load;

use crate::prelude::*;

pub use load::{LoadMix, ToolTimes, load_verdict};

pub const ID: &str = "head_of_line";

/// Samples of each kind below which nothing is concluded.
pub const SAMPLES_MIN: usize = 5;
/// A slow tool takes at least this many times the fast one.
pub const SLOW_FACTOR_MIN: f64 = 5.0;
/// Share of the slow median that a blocked fast call takes at least.
pub const SLOW_SHARE_MIN: f64 = 0.25;
/// How many times longer than alone a blocked fast call takes at least.
pub const ALONE_FACTOR_MIN: f64 = 10.0;
/// How much longer than alone a blocked fast call takes at least, in milliseconds.
pub const DIFFERENCE_MS_MIN: f64 = 100.0;

/// Latencies of successful calls, in milliseconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MixInput {
    /// The fast tool, alone.
    pub fast_alone_ms: Vec<f64>,
    /// The fast tool, while slow calls run.
    pub fast_mixed_ms: Vec<f64>,
    /// The slow tool.
    pub slow_ms: Vec<f64>,
}

/// The medians of a mix, in milliseconds, over the samples that are finite.
#[data(open)]
pub struct HeadOfLineReport {
    /// Median of the fast tool alone.
    pub fast_alone_p50: Option<f64>,
    /// Median of the fast tool in the mix.
    pub fast_mixed_p50: Option<f64>,
    /// Median of the slow tool.
    pub slow_p50: Option<f64>,
    /// The smallest number of samples of one kind.
    pub samples: usize,
    /// What they say.
    pub outcome: Outcome,
}

/// Compares the medians.
pub fn detect(input: &MixInput) -> HeadOfLineReport {
    let kinds = [&input.fast_alone_ms, &input.fast_mixed_ms, &input.slow_ms];
    let samples = kinds
        .map(|values| values.iter().filter(|value| value.is_finite()).count())
        .into_iter()
        .min()
        .unwrap_or_default();
    let [fast_alone_p50, fast_mixed_p50, slow_p50] = kinds.map(|values| median(values));
    let outcome = match (fast_alone_p50, fast_mixed_p50, slow_p50) {
        (Some(alone), Some(mixed), Some(slow))
            if samples >= SAMPLES_MIN && slow >= SLOW_FACTOR_MIN * alone =>
        {
            let is_blocked = mixed >= SLOW_SHARE_MIN * slow
                && mixed >= ALONE_FACTOR_MIN * alone
                && mixed - alone >= DIFFERENCE_MS_MIN;
            Outcome::of(Some(!is_blocked), true)
        }
        _ => Outcome::Inconclusive,
    };
    HeadOfLineReport {
        fast_alone_p50,
        fast_mixed_p50,
        slow_p50,
        samples,
        outcome,
    }
}

/// Tools that took too long when the slow one was looked for, so that they were left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Their names.
    pub tools: Vec<String>,
    /// How long each had, in milliseconds.
    pub limit_ms: u64,
    /// Whether the slow one was named, and not looked for.
    pub is_named: bool,
}

impl LeftOut {
    /// What is to be known of them: who they are and why, and what to do.
    fn sentence_and_hint(&self) -> (Message, Message) {
        if self.tools.is_empty() {
            return (
                Message::default(),
                sentence!(
                    "name the fast tool, then a slow one ({}), or give arguments that make it slow",
                    setting("tool_call")
                ),
            );
        }
        let sentence = sentence!(
            " {} {} left out, because no answer came within {} when it was tried.",
            quoted_names(&self.tools),
            were(count(self.tools.len())),
            milliseconds(float(self.limit_ms))
        );
        (
            sentence,
            sentence!(
                "raise {} beyond what the slow tool takes, and name the fast tool, then the slow one ({})",
                setting("hang_timeout"),
                setting("tool_call")
            ),
        )
    }
}

/// The verdict `head_of_line` by the medians of the mix alone, where nothing had a [closer look](load_verdict): they do
/// not show whether fast calls wait for slow ones or for each other.
pub fn verdict(report: &HeadOfLineReport, left_out: &LeftOut) -> Verdict {
    let medians = [
        report.fast_alone_p50,
        report.fast_mixed_p50,
        report.slow_p50,
    ];
    let values = medians.map(Option::unwrap_or_default);
    // Whether the fast tool is about as fast in the mix.
    let is_even = values[1] - values[0] < DIFFERENCE_MS_MIN;
    let [alone, mixed, slow] = values.map(milliseconds);
    let verdict = match report.outcome {
        Outcome::Pass => Verdict::pass(
            ID,
            format!(
                "Fast calls do not wait for slow ones: {mixed} beside slow calls of {slow}, {alone} alone."
            ),
        ),
        Outcome::Finding => Verdict::warning(
            ID,
            format!(
                "Fast calls wait for slow ones, or all for each other: {mixed} beside slow calls of {slow}, {alone} alone."
            ),
            "run tools concurrently: keep slow or blocking work off the thread or loop that reads requests",
        ),
        Outcome::Inconclusive if report.samples < SAMPLES_MIN => Verdict::inconclusive(
            ID,
            format!(
                "Of one kind of call only {} succeeded, not enough to see whether fast calls wait for slow ones.",
                report.samples
            ),
            format!("run longer: at least {SAMPLES_MIN} calls of each kind are needed"),
        ),
        // All tools were tried, and what none of them does cannot happen.
        Outcome::Inconclusive if !left_out.is_named && left_out.tools.is_empty() && is_even => {
            Verdict::pass(
                ID,
                format!(
                    "No tool is slow, so none holds up others for long: the slowest takes {slow}, the fastest {mixed} beside it and {alone} alone."
                ),
            )
        }
        Outcome::Inconclusive => {
            let (why, hint) = left_out.sentence_and_hint();
            Verdict::inconclusive(
                ID,
                sentence!(
                    "There is no slow tool in the mix ({slow}, the fast one {alone}), so it cannot show whether fast calls wait.{why}"
                ),
                hint,
            )
        }
    };
    verdict
        .number("fast_alone_p50_ms", report.fast_alone_p50)
        .number("fast_mixed_p50_ms", report.fast_mixed_p50)
        .number("slow_p50_ms", report.slow_p50)
        .number("samples", report.samples)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::floats;

    fn mix(alone: f64, mixed: f64, slow: f64) -> MixInput {
        MixInput {
            fast_alone_ms: vec![alone; 5],
            fast_mixed_ms: vec![mixed; 5],
            slow_ms: vec![slow; 5],
        }
    }

    #[test]
    fn all_three_conditions_must_hold() {
        let cases = [
            (2.0, 250.0, 1000.0, Outcome::Finding),
            (2.0, 249.0, 1000.0, Outcome::Pass),
            (100.0, 999.0, 1000.0, Outcome::Pass),
            (100.0, 1000.0, 1000.0, Outcome::Finding),
            (1.0, 100.9, 101.0, Outcome::Pass),
            (1.0, 101.0, 101.0, Outcome::Finding),
            (2.0, 2.1, 1000.0, Outcome::Pass),
            (2.0, 900.0, 9.9, Outcome::Inconclusive),
        ];
        for (alone, mixed, slow, outcome) in cases {
            let report = detect(&mix(alone, mixed, slow));
            assert_eq!(report.outcome, outcome, "{report:?}");
            // The medians alone accuse nobody.
            assert!(!verdict(&report, &LeftOut::default()).is_failure());
        }
    }

    #[test]
    fn the_sentence_has_the_medians() {
        assert_eq!(
            verdict(&detect(&mix(2.0, 600.0, 1000.0)), &LeftOut::default()).sentence,
            "Fast calls wait for slow ones, or all for each other: 600 ms beside slow calls of 1,000 ms, 2 ms alone."
        );
    }

    #[test]
    fn few_samples_conclude_nothing() {
        let mut few = mix(2.0, 600.0, 1000.0);
        few.slow_ms[0] = f64::NAN;
        let report = detect(&few);
        assert_eq!((report.samples, report.outcome), (4, Outcome::Inconclusive));
        assert!(
            verdict(&report, &LeftOut::default())
                .sentence
                .rendered()
                .starts_with("Of one kind of call only 4")
        );
        assert_eq!(detect(&MixInput::default()).outcome, Outcome::Inconclusive);
        let fast = detect(&mix(2.0, 2.5, 3.0));
        assert_eq!(verdict(&fast, &LeftOut::default()).outcome, Outcome::Pass);
        let named = LeftOut {
            is_named: true,
            ..LeftOut::default()
        };
        let no_slow = verdict(&fast, &named);
        assert!(
            no_slow
                .sentence
                .rendered()
                .starts_with("There is no slow tool"),
            "{:?}",
            no_slow.sentence
        );
    }

    proptest! {
        #[test]
        fn every_number_is_finite(
            fast_alone_ms in prop::collection::vec(floats(), 0..9),
            fast_mixed_ms in prop::collection::vec(floats(), 0..9),
            slow_ms in prop::collection::vec(floats(), 0..9),
        ) {
            let report = detect(&MixInput { fast_alone_ms, fast_mixed_ms, slow_ms });
            for value in [report.fast_alone_p50, report.fast_mixed_p50, report.slow_p50] {
                prop_assert!(value.is_none_or(f64::is_finite), "{report:?}");
            }
            verdict(&report, &LeftOut::default());
        }
    }

    #[test]
    fn a_slow_tool_that_was_left_out_is_named_with_what_to_do() {
        let report = detect(&mix(0.2, 0.2, 0.25));
        let left_out = LeftOut {
            tools: vec!["sleep".into()],
            limit_ms: 5000,
            is_named: false,
        };
        let verdict = verdict(&report, &left_out);
        assert_eq!(verdict.outcome, Outcome::Inconclusive);
        let sentence = &verdict.sentence;
        assert!(
            sentence.rendered().ends_with(
                "`sleep` was left out, because no answer came within 5,000 ms when it was tried."
            ),
            "{sentence:?}"
        );
        let hint = verdict.hint.unwrap_or_default().rendered();
        assert!(hint.starts_with("raise `hang_timeout`"), "{hint}");
    }
}
