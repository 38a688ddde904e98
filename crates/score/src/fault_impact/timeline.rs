//! The stretches of a run around a fault: which are before, during and after it, and which are disturbed.

use std::collections::BTreeMap;
use std::ops::Range;

use super::{
    AFTER_SECS_MIN, CALLS_BEFORE_MIN, CALLS_HIT_MIN, EXPECTED_MIN, ImpactPhase, LATENCY_FACTOR,
    LATENCY_SLACK_MS, Recovery, SHARE_RISE_MAX, STEADY_SECS, Stretch, Timeline,
};
use crate::compare::proportion::wilson;
use crate::number::{float, share};
use crate::percentile::is_supported;

/// What a tool was like before the fault, to compare with.
struct Baseline {
    /// Above this a call is slow, in nanoseconds.
    slow_from_ns: u64,
    /// The share of calls that were.
    slow_share: f64,
}

/// The stretches before, during and after a fault, added up by tool.
#[derive(Default)]
pub(super) struct Phases {
    pub tools: [BTreeMap<String, Stretch>; 3],
    pub stretches: [u64; 3],
}

impl Stretch {
    /// Adds the calls of another one.
    pub fn add(&mut self, other: &Self) {
        self.latency_ns.add(&other.latency_ns);
        self.failed = self.failed.saturating_add(other.failed);
        self.lost = self.lost.saturating_add(other.lost);
    }

    fn failures(&self) -> u64 {
        self.failed.saturating_add(self.lost)
    }

    fn calls(&self) -> u64 {
        self.latency_ns.count().saturating_add(self.failures())
    }

    /// What is slow from here on; none with too few calls.
    fn baseline(&self) -> Option<Baseline> {
        let count = self.latency_ns.count();
        let quantile = [0.99, 0.95, 0.5]
            .into_iter()
            .find(|quantile| is_supported(count, quantile * 100.0))?;
        let usual = float(self.latency_ns.quantile(quantile)?);
        let slow_from_ns = whole(usual * LATENCY_FACTOR + LATENCY_SLACK_MS * 1e6);
        Some(Baseline {
            slow_from_ns,
            slow_share: share(self.latency_ns.count_above(slow_from_ns), count)?,
        })
    }
}

impl Phases {
    pub fn total(&self, index: usize) -> Stretch {
        let mut total = Stretch::default();
        let tools = self.tools.get(index).into_iter();
        tools
            .flat_map(BTreeMap::values)
            .for_each(|stretch| total.add(stretch));
        total
    }
}

impl Timeline {
    /// The numbers of the stretches in which calls were made from beginning to end.
    fn numbers(&self) -> Range<u64> {
        if self.width_secs > 0.0 {
            let (from, until) = self.span;
            whole(from / self.width_secs)..whole(until / self.width_secs)
        } else {
            0..0
        }
    }

    fn begin_of(&self, number: u64) -> f64 {
        float(number) * self.width_secs
    }

    /// Before, during or after.
    fn place_of(&self, number: u64, (from, until): (f64, f64)) -> usize {
        let begin = self.begin_of(number);
        if begin + self.width_secs <= from {
            0
        } else if begin < until || begin <= from {
            1
        } else {
            2
        }
    }

    pub(super) fn split(&self, window: (f64, f64)) -> Phases {
        let mut phases = Phases::default();
        let empty = BTreeMap::new();
        for number in self.numbers() {
            let place = self.place_of(number, window);
            if let Some(count) = phases.stretches.get_mut(place) {
                *count += 1;
            }
            if let Some(sums) = phases.tools.get_mut(place) {
                for (tool, stretch) in self.stretches.get(&number).unwrap_or(&empty) {
                    sums.entry(tool.clone()).or_default().add(stretch);
                }
            }
        }
        phases
    }

    /// When all was as before, in seconds after the end of the fault.
    pub(super) fn recovery(&self, phases: &Phases, window: (f64, f64)) -> (Recovery, Option<f64>) {
        let before = phases.total(0);
        let [stretches_before, _, stretches_after] = phases.stretches;
        let steady = whole((STEADY_SECS / self.width_secs).ceil()).max(1);
        if before.calls() < CALLS_BEFORE_MIN || stretches_after < steady {
            return (Recovery::Unknown, None);
        }
        let baselines: BTreeMap<&str, Baseline> = phases
            .tools
            .first()
            .into_iter()
            .flatten()
            .filter_map(|(tool, stretch)| Some((tool.as_str(), stretch.baseline()?)))
            .collect();
        let expected = float(before.calls()) / float(stretches_before.max(1));
        let mut calm = 0;
        for number in self.numbers() {
            if self.place_of(number, window) < 2 {
                continue;
            }
            let tools = self.stretches.get(&number);
            if is_disturbed(tools, &before, &baselines, expected) {
                calm = 0;
            } else {
                calm += 1;
            }
            if calm == steady {
                let since = self.begin_of(number + 1 - steady);
                let first_after = self
                    .numbers()
                    .find(|number| self.place_of(*number, window) == 2);
                // The first stretch after the fault begins a little after it, which is our own doing.
                let is_first = first_after == Some(number + 1 - steady);
                let secs = if is_first { 0.0 } else { since - window.1 };
                return (Recovery::Back, Some(secs.max(0.0)));
            }
        }
        if float(stretches_after) * self.width_secs < AFTER_SECS_MIN {
            (Recovery::Unknown, None)
        } else {
            (Recovery::NotBack, None)
        }
    }
}

fn is_disturbed(
    tools: Option<&BTreeMap<String, Stretch>>,
    before: &Stretch,
    baselines: &BTreeMap<&str, Baseline>,
    expected: f64,
) -> bool {
    let mut all = Stretch::default();
    let (mut slow, mut timed, mut usually_slow) = (0, 0, 0.0);
    for (tool, stretch) in tools.into_iter().flatten() {
        all.add(stretch);
        if let Some(baseline) = baselines.get(tool.as_str()) {
            let count = stretch.latency_ns.count();
            slow += stretch.latency_ns.count_above(baseline.slow_from_ns);
            timed += count;
            usually_slow += baseline.slow_share * float(count);
        }
    }
    if all.calls() == 0 {
        return expected >= EXPECTED_MIN;
    }
    let usual_share = if timed > 0 {
        usually_slow / float(timed)
    } else {
        0.0
    };
    fails_more(before, &all, 1) || has_risen(slow, timed, usual_share)
}

/// Whether a share is higher by more than chance and [`SHARE_RISE_MAX`].
fn has_risen(part: u64, of: u64, usual: f64) -> bool {
    wilson(part, of).is_some_and(|estimate| estimate.low > usual + SHARE_RISE_MAX)
}

/// Whether clearly more calls failed than before, and not fewer than `least`.
pub(super) fn fails_more(before: &Stretch, now: &Stretch, least: u64) -> bool {
    let Some(usual) = share(before.failures(), before.calls()) else {
        return false;
    };
    before.calls() >= CALLS_BEFORE_MIN
        && now.failures() >= least
        && has_risen(now.failures(), now.calls(), usual)
}

/// Whether clearly more calls were slow than before.
pub(super) fn is_slower(before: &Stretch, now: &Stretch) -> bool {
    before.baseline().is_some_and(|baseline| {
        let slow = now.latency_ns.count_above(baseline.slow_from_ns);
        slow >= CALLS_HIT_MIN && has_risen(slow, now.latency_ns.count(), baseline.slow_share)
    })
}

/// The numbers of a stretch, for people.
pub(super) fn phase_of(stretch: &Stretch, duration_secs: f64) -> ImpactPhase {
    let at = |quantile: f64| {
        let count = stretch.latency_ns.count();
        let value = stretch.latency_ns.quantile(quantile)?;
        is_supported(count, quantile * 100.0).then(|| float(value) / 1e6)
    };
    ImpactPhase {
        duration_secs,
        calls: stretch.calls(),
        failed: stretch.failures(),
        error_rate: share(stretch.failures(), stretch.calls()),
        p50_ms: at(0.5),
        p95_ms: at(0.95),
        p99_ms: at(0.99),
    }
}

/// A number without its fraction, from 0 up.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast from float saturates, and what is no number becomes 0"
)]
fn whole(value: f64) -> u64 {
    value as u64
}
