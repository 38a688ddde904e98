//! The stretches of a run around a fault: which are before, during and after it.

use std::ops::Range;

use super::{
    CALLS_BEFORE_MIN, CALLS_HIT_MIN, ImpactPhase, LATENCY_FACTOR, LATENCY_SLACK_MS, SHARE_RISE_MAX,
    Span, Stretch, Timeline,
};
use crate::compare::proportion::wilson;
use crate::percentile::is_supported;
use crate::prelude::*;

/// What a tool was like before the fault, to compare with.
pub struct Baseline {
    /// Above this a call is slow, in nanoseconds.
    pub slow_from_ns: u64,
    /// The share of calls that were.
    pub slow_fraction: f64,
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

/// The stretches before, during or after a fault, added up by tool.
#[derive(Default)]
pub struct Phase {
    pub tools: BTreeMap<String, Stretch>,
    pub stretches: u64,
    /// How long it is.
    pub secs: f64,
}

impl Phase {
    pub fn total(&self) -> Stretch {
        let mut total = Stretch::default();
        self.tools.values().for_each(|stretch| total.add(stretch));
        total
    }
}

/// A run as one fault sees it: as long as the load was the same, without what other faults did.
pub struct View<'a> {
    pub timeline: &'a Timeline,
    /// From when the fault was on until the last call that it struck was let go.
    pub window: Span,
    /// Whether the load changed meanwhile.
    pub load_changed: bool,
    /// The numbers of the stretches in which calls were made from beginning to end.
    numbers: Range<u64>,
    others: Vec<Span>,
}

impl<'a> View<'a> {
    pub fn new(timeline: &'a Timeline, window: Span, others: &[Span]) -> Self {
        let (span, width) = (timeline.span, timeline.width_secs);
        let changes = || timeline.load_changes.iter().copied();
        let from = changes()
            .filter(|change| *change <= window.0)
            .fold(span.0, f64::max);
        let until = changes()
            .filter(|change| *change >= window.1 && *change > from)
            .fold(span.1, f64::min);
        // What was on all the time is how the run is, and disturbs no comparison.
        let is_throughout = |other: &Span| other.0 <= span.0 + width && other.1 >= span.1 - width;
        let others = others.iter().copied();
        Self {
            timeline,
            window,
            load_changed: changes().any(|change| change > window.0 && change < window.1),
            numbers: if width > 0.0 {
                truncated((from / width).ceil())..truncated(until / width)
            } else {
                0..0
            },
            others: others.filter(|other| !is_throughout(other)).collect(),
        }
    }

    fn begin_of(&self, number: u64) -> f64 {
        float(number) * self.timeline.width_secs
    }

    /// Before, during or after.
    fn place_of(&self, number: u64, (from, until): Span) -> usize {
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

    /// What was before, during and after a time.
    pub fn split(&self, window: Span) -> [Phase; 3] {
        let mut phases: [Phase; 3] = Default::default();
        let own = |number: &u64| !self.is_others(*number);
        for number in self.numbers.clone().filter(own) {
            let phase = &mut phases[self.place_of(number, window)];
            phase.stretches += 1;
            phase.secs = float(phase.stretches) * self.timeline.width_secs;
            for (tool, stretch) in self.timeline.stretches.get(&number).into_iter().flatten() {
                phase.tools.entry(tool.clone()).or_default().add(stretch);
            }
        }
        phases
    }

    /// The numbers of the stretches after the fault.
    fn numbers_after(&self) -> impl Iterator<Item = u64> {
        let is_after = |number: &u64| self.place_of(*number, self.window) == 2;
        self.numbers.clone().filter(is_after)
    }

    /// The stretches after the fault, until another one is on, and whether that cuts them short.
    pub fn after(&self) -> (Vec<&'a BTreeMap<String, Stretch>>, bool) {
        static EMPTY: BTreeMap<String, Stretch> = BTreeMap::new();
        let timeline = self.timeline;
        let stretches = self
            .numbers_after()
            .take_while(|number| !self.is_others(*number))
            .map(|number| timeline.stretches.get(&number).unwrap_or(&EMPTY))
            .collect();
        let is_cut = self.numbers_after().any(|number| self.is_others(number));
        (stretches, is_cut)
    }

    /// When the first stretch after the fault begins, in seconds.
    pub fn first_after(&self) -> f64 {
        let first = self.numbers_after().next();
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
