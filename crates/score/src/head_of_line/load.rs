//! The same in a load of several tools, which need not be made for it.
//!
//! That a fast tool takes long under load shows nothing yet: its calls may queue behind each other, or the machine may be
//! busy. So after the load the fast tools are called beside a single call of the slow one. A finding needs all of these:
//!
//! - under load the fast tool takes as long as a blocked one would, by the limits of [`detect`](super::detect);
//! - under load it takes at least twice as long as all calls in flight would, one after the other, if all were its own;
//! - beside one call of the slow tool it waits too: at least half as long as that takes;
//! - the processors were not busy.

use super::{ALONE_FACTOR_MIN, DIFFERENCE_MS_MIN, ID, SLOW_FACTOR_MIN, SLOW_SHARE_MIN};
use crate::prelude::*;
use crate::verdict::Verdict;

/// How long a slow tool takes at least.
pub const SLOW_MS_MIN: f64 = 20.0;
/// How many times as long as all calls in flight would take in a row.
const OWN_QUEUE_FACTOR_MIN: f64 = 2.0;
/// The share of a slow call that a blocked fast one takes beside it at least.
const BESIDE_SHARE_MIN: f64 = 0.5;
/// How many times longer than alone it takes beside a slow call at least.
const BESIDE_FACTOR_MIN: f64 = 5.0;
/// The share of all processors from which on the machine is busy.
const BUSY_SHARE: f64 = 0.8;

/// Medians of one tool, in milliseconds; `None` where there are no calls.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolTimes {
    /// Its name.
    pub name: String,
    /// Alone.
    pub alone_p50: Option<f64>,
    /// Under load.
    pub loaded_p50: Option<f64>,
    /// Beside one call of the slow tool.
    pub beside_p50: Option<f64>,
}

/// A load of several tools.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LoadMix {
    /// The tools.
    pub tools: Vec<ToolTimes>,
    /// Calls in flight at most.
    pub concurrent: u32,
    /// The share of all processors that the server kept busy, where that is known.
    pub busy_share: Option<f64>,
}

/// The tools that are compared.
struct Pair<'a> {
    fast: &'a ToolTimes,
    fast_alone: f64,
    fast_loaded: f64,
    slow: &'a ToolTimes,
    slow_alone: f64,
}

impl Pair<'_> {
    /// Whether the fast tool takes as long under load as one that is blocked.
    fn is_slowed(&self, concurrent: u32) -> bool {
        let own_queue = f64::from(concurrent) * self.fast_alone;
        self.fast_loaded >= SLOW_SHARE_MIN * self.slow_alone
            && self.fast_loaded >= ALONE_FACTOR_MIN * self.fast_alone
            && self.fast_loaded >= OWN_QUEUE_FACTOR_MIN * own_queue
            && self.fast_loaded - self.fast_alone >= DIFFERENCE_MS_MIN
    }

    /// Whether it waits for one call of the slow tool, where that was tried.
    fn waits(&self) -> Option<bool> {
        let beside = finite(self.fast.beside_p50?)?;
        let slow = self.slow.beside_p50.unwrap_or(self.slow_alone);
        Some(
            beside >= BESIDE_SHARE_MIN * slow.min(self.slow_alone)
                && beside >= BESIDE_FACTOR_MIN * self.fast_alone,
        )
    }
}

/// The verdict `head_of_line` of a load; none where no tool is much slower than another. Blocking is a warning: from
/// outside, a server that works on one call at a time by design looks the same.
pub fn load_verdict(mix: &LoadMix) -> Option<Verdict> {
    let usable = |value: Option<f64>| value.and_then(finite).filter(|value| *value > 0.0);
    let tools = mix.tools.iter();
    let slow = tools
        .clone()
        .filter_map(|tool| Some((tool, usable(tool.alone_p50)?)))
        .max_by(|(_, one), (_, other)| one.total_cmp(other))
        .filter(|(_, alone)| *alone >= SLOW_MS_MIN)?;
    let pairs: Vec<Pair<'_>> = tools
        .filter_map(|fast| {
            let pair = Pair {
                fast,
                fast_alone: usable(fast.alone_p50)?,
                fast_loaded: usable(fast.loaded_p50)?,
                slow: slow.0,
                slow_alone: slow.1,
            };
            (pair.slow_alone >= SLOW_FACTOR_MIN * pair.fast_alone).then_some(pair)
        })
        .collect();
    let is_busy = mix.busy_share.is_some_and(|share| share >= BUSY_SHARE);
    let most_slowed = |is_wanted: &dyn Fn(&Pair<'_>) -> bool| {
        pairs
            .iter()
            .filter(|pair| is_wanted(pair))
            .max_by(|one, other| one.fast_loaded.total_cmp(&other.fast_loaded))
    };
    let blocked = most_slowed(&|pair| pair.is_slowed(mix.concurrent) && pair.waits() == Some(true));
    let unclear = most_slowed(&|pair| pair.is_slowed(mix.concurrent));
    let pair = blocked.or(unclear).or(most_slowed(&|_| true))?;
    let verdict = verdict(pair, blocked.is_some(), unclear.is_some(), is_busy);
    Some(
        verdict
            .number("fast_alone_p50_ms", pair.fast_alone)
            .number("fast_loaded_p50_ms", pair.fast_loaded)
            .number("fast_beside_p50_ms", pair.fast.beside_p50)
            .number("slow_alone_p50_ms", pair.slow_alone)
            .number("slow_loaded_p50_ms", pair.slow.loaded_p50),
    )
}

fn verdict(pair: &Pair<'_>, is_blocked: bool, is_slowed: bool, is_busy: bool) -> Verdict {
    let (fast, slow) = (quoted(&pair.fast.name), quoted(&pair.slow.name));
    let alone = milliseconds(pair.fast_alone);
    let loaded = milliseconds(pair.fast_loaded);
    let slow_alone = milliseconds(pair.slow_alone);
    if !is_slowed {
        return Verdict::pass(
            ID,
            sentence!(
                "Fast calls do not wait for slow ones: {fast} takes {loaded} under load beside {slow} ({slow_alone} alone), and {alone} alone."
            ),
        );
    }
    let beside = pair.fast.beside_p50.map(milliseconds);
    let slowed = sentence!("{fast} takes {alone} alone, and {loaded} under load beside {slow}");
    match beside {
        Some(beside) if is_blocked && !is_busy => Verdict::warning(
            ID,
            sentence!(
                "{slowed}: it waits for slow calls. While one call of {slow} ran ({slow_alone} alone), {fast} took {beside}."
            ),
            "run tools concurrently: keep slow or blocking work off the thread or loop that reads requests (in Python `await asyncio.sleep`, not `time.sleep`; a worker thread for blocking code)",
        ),
        _ if is_busy => Verdict::inconclusive(
            ID,
            sentence!("{slowed}, but the processors were busy, which may be the reason."),
            sentence!("lower {}, and run again", setting("concurrent")),
        ),
        Some(beside) => Verdict::inconclusive(
            ID,
            sentence!(
                "{slowed}. It does not wait for a single call of {slow} ({beside} beside one), so calls queue for another reason: too few workers, or a limit."
            ),
            sentence!(
                "lower {} to find how many calls run at once",
                setting("concurrent")
            ),
        ),
        None => Verdict::inconclusive(
            ID,
            sentence!(
                "{slowed}, but it was not called beside a single call of {slow} to see whether it waits for it."
            ),
            sentence!("run the scenario `slow_mix` with both tools"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::{Outcome, Severity};

    fn times(name: &str, alone: f64, loaded: f64, beside: Option<f64>) -> ToolTimes {
        ToolTimes {
            name: name.to_owned(),
            alone_p50: Some(alone),
            loaded_p50: Some(loaded),
            beside_p50: beside,
        }
    }

    fn judged(fast: ToolTimes, concurrent: u32, busy_share: Option<f64>) -> Option<Verdict> {
        load_verdict(&LoadMix {
            tools: vec![fast, times("report", 200.0, 900.0, Some(200.0))],
            concurrent,
            busy_share,
        })
    }

    #[test]
    fn a_fast_tool_that_waits_for_a_slow_one_is_a_warning_with_both_figures() {
        let verdict = judged(times("ping", 1.0, 834.0, Some(180.0)), 10, Some(0.1)).unwrap();
        assert_eq!(
            (verdict.outcome, verdict.severity),
            (Outcome::Finding, Severity::Warning)
        );
        assert_eq!(
            verdict.sentence.rendered(),
            "`ping` takes 1 ms alone, and 834 ms under load beside `report`: it waits for slow calls. While one call of `report` ran (200 ms alone), `ping` took 180 ms."
        );
        assert_eq!(verdict.numbers["fast_alone_p50_ms"], 1.0);
        assert_eq!(verdict.numbers["fast_loaded_p50_ms"], 834.0);
    }

    #[test]
    fn what_another_cause_explains_is_no_finding() {
        let cases = [
            // Not slowed at all.
            (times("ping", 1.0, 3.0, Some(1.0)), 10, None, Outcome::Pass),
            // All in flight, one after the other, take nearly as long.
            (
                times("ping", 5.0, 450.0, Some(190.0)),
                50,
                None,
                Outcome::Pass,
            ),
            // Four workers that are all taken: one slow call holds up nobody.
            (
                times("ping", 1.0, 834.0, Some(1.2)),
                10,
                None,
                Outcome::Inconclusive,
            ),
            // It was not tried.
            (
                times("ping", 1.0, 834.0, None),
                10,
                None,
                Outcome::Inconclusive,
            ),
            // Nothing is left of the machine.
            (
                times("ping", 1.0, 834.0, Some(180.0)),
                10,
                Some(0.95),
                Outcome::Inconclusive,
            ),
        ];
        for (fast, concurrent, busy, outcome) in cases {
            let verdict = judged(fast, concurrent, busy).unwrap();
            assert_eq!(verdict.outcome, outcome, "{verdict:?}");
        }
    }

    #[test]
    fn nothing_is_said_where_no_tool_is_slow() {
        let tools = vec![times("report", 200.0, 900.0, None)];
        let only = LoadMix {
            tools,
            concurrent: 10,
            busy_share: None,
        };
        assert_eq!(load_verdict(&only), None);
        assert_eq!(judged(times("ping", 50.0, 800.0, None), 10, None), None);
        assert_eq!(judged(ToolTimes::default(), 10, None), None);
        assert_eq!(load_verdict(&LoadMix::default()), None);
        let even = times("ping", f64::NAN, f64::INFINITY, Some(f64::NAN));
        assert_eq!(judged(even, 10, None), None);
    }
}
