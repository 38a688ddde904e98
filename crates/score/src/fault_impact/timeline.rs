//! The stretches of a run around a fault: which are before, during and after it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::{
    CALLS_BEFORE_MIN, CALLS_HIT_MIN, ImpactPhase, LATENCY_FACTOR, LATENCY_SLACK_MS, SHARE_RISE_MAX,
    Stretch, Timeline,
};
use crate::compare::proportion::wilson;
use crate::percentile::is_supported;
use crate::prelude::{float, share, truncated};

/// What a tool was like before the fault, to compare with.
pub struct Baseline {
    /// Above this a call is slow, in nanoseconds.
    pub slow_from_ns: u64,
    /// The share of calls that were.
    pub slow_fraction: f64,
}

/// The stretches before, during and after a fault, added up by tool.
#[derive(Default)]
pub struct Phases {
    pub tools: [BTreeMap<String, Stretch>; 3],
    pub stretches: [u64; 3],
    width_secs: f64,
}

/// A run as one fault sees it: as long as the load was the same, without what other faults did.
pub struct View<'a> {
    pub timeline: &'a Timeline,
    /// From when the fault was on until the last call that it struck was let go.
    pub window: (f64, f64),
    /// Whether the load changed meanwhile.
    pub load_changed: bool,
    numbers: Range<u64>,
    others: Vec<(f64, f64)>,
}

impl Baseline {
    /// What is slow from here on; none with too few calls.
    pub fn of(stretch: &Stretch) -> Option<Self> {
        let count = stretch.latency_ns.count();
        let quantile = [0.99, 0.95, 0.5]
            .into_iter()
            .find(|quantile| is_supported(count, quantile * 100.0))?;
        let usual = float(stretch.latency_ns.quantile(quantile)?);
        let slow_from_ns = truncated(usual * LATENCY_FACTOR + LATENCY_SLACK_MS * 1e6);
        Some(Self {
            slow_from_ns,
            slow_fraction: share(stretch.latency_ns.count_above(slow_from_ns), count)?,
        })
    }
}

impl Phases {
    pub fn total(&self, index: usize) -> Stretch {
        let mut total = Stretch::default();
        for stretch in self.tools.get(index).into_iter().flat_map(BTreeMap::values) {
            total.add(stretch);
        }
        total
    }

    /// How long one of the three is.
    pub fn secs(&self, index: usize) -> f64 {
        float(self.stretches.get(index).copied().unwrap_or_default()) * self.width_secs
    }

    /// The tools that were called in any of the three.
    pub fn names(&self) -> BTreeSet<&String> {
        self.tools.iter().flat_map(BTreeMap::keys).collect()
    }
}

impl Timeline {
    /// The numbers of the stretches in which calls were made from beginning to end.
    fn numbers(&self, (from, until): (f64, f64)) -> Range<u64> {
        if self.width_secs > 0.0 {
            truncated((from / self.width_secs).ceil())..truncated(until / self.width_secs)
        } else {
            0..0
        }
    }

    /// Whether something was on all the time: then it is how the run is, and disturbs no comparison.
    fn is_throughout(&self, (from, until): (f64, f64)) -> bool {
        from <= self.span.0 + self.width_secs && until >= self.span.1 - self.width_secs
    }
}

impl<'a> View<'a> {
    pub fn new(timeline: &'a Timeline, window: (f64, f64), others: &[(f64, f64)]) -> Self {
        let changes = || timeline.load_changes.iter().copied();
        let from = changes()
            .filter(|change| *change <= window.0)
            .fold(timeline.span.0, f64::max);
        let until = changes()
            .filter(|change| *change >= window.1 && *change > from)
            .fold(timeline.span.1, f64::min);
        let others = others.iter().copied();
        Self {
            timeline,
            window,
            load_changed: changes().any(|change| change > window.0 && change < window.1),
            numbers: timeline.numbers((from, until)),
            others: others
                .filter(|other| !timeline.is_throughout(*other))
                .collect(),
        }
    }

    fn begin_of(&self, number: u64) -> f64 {
        float(number) * self.timeline.width_secs
    }

    /// Before, during or after.
    fn place_of(&self, number: u64, (from, until): (f64, f64)) -> usize {
        let begin = self.begin_of(number);
        if begin + self.timeline.width_secs <= from {
            0
        } else if begin < until || begin <= from {
            1
        } else {
            2
        }
    }

    /// Whether another fault was on in a stretch.
    fn is_others(&self, number: u64) -> bool {
        let mut others = self.others.iter();
        others.any(|other| self.place_of(number, *other) == 1)
    }

    pub fn split(&self, window: (f64, f64)) -> Phases {
        let mut phases = Phases {
            width_secs: self.timeline.width_secs,
            ..Phases::default()
        };
        let own = |number: &u64| !self.is_others(*number);
        for number in self.numbers.clone().filter(own) {
            let place = self.place_of(number, window);
            phases.stretches[place] += 1;
            for (tool, stretch) in self.timeline.stretches.get(&number).into_iter().flatten() {
                let sum = phases.tools[place].entry(tool.clone());
                sum.or_default().add(stretch);
            }
        }
        phases
    }

    /// The stretches after the fault, until another one is on, and whether that cuts them short.
    pub fn after(&self) -> (Vec<&'a BTreeMap<String, Stretch>>, bool) {
        static EMPTY: BTreeMap<String, Stretch> = BTreeMap::new();
        let mut numbers = self
            .numbers
            .clone()
            .skip_while(|number| self.place_of(*number, self.window) < 2);
        let timeline = self.timeline;
        let stretches = numbers
            .by_ref()
            .take_while(|number| !self.is_others(*number))
            .map(|number| timeline.stretches.get(&number).unwrap_or(&EMPTY))
            .collect();
        let is_cut = self
            .numbers
            .clone()
            .any(|number| self.place_of(number, self.window) == 2 && self.is_others(number));
        (stretches, is_cut)
    }

    /// When the first stretch after the fault begins, in seconds.
    pub fn first_after(&self) -> f64 {
        let mut numbers = self.numbers.clone();
        let first = numbers.find(|number| self.place_of(*number, self.window) == 2);
        first.map_or(self.window.1, |number| self.begin_of(number))
    }
}

/// Whether a share is higher by more than chance and [`SHARE_RISE_MAX`].
pub fn has_risen(part: u64, of: u64, usual: f64) -> bool {
    wilson(part, of).is_some_and(|estimate| estimate.low > usual + SHARE_RISE_MAX)
}

/// Whether clearly more calls failed than before.
pub fn fails_more(before: &Stretch, now: &Stretch) -> bool {
    before.calls() >= CALLS_BEFORE_MIN
        && now.failures() >= CALLS_HIT_MIN
        && has_risen(now.failures(), now.calls(), before.failure_share())
}

/// Whether clearly more calls were slow than before.
pub fn is_slower(before: &Stretch, now: &Stretch) -> bool {
    Baseline::of(before).is_some_and(|baseline| {
        let slow = now.latency_ns.count_above(baseline.slow_from_ns);
        slow >= CALLS_HIT_MIN && has_risen(slow, now.latency_ns.count(), baseline.slow_fraction)
    })
}

/// The numbers of a stretch, for people.
pub fn phase_of(stretch: &Stretch, duration_secs: f64) -> ImpactPhase {
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
