//! When all was as before a fault: each tool, and all of them together.

use std::collections::BTreeMap;

use super::timeline::{Baseline, View, has_risen};
use super::{
    AFTER_SECS_MIN, CALLS_BEFORE_MIN, CALLS_HIT_MIN, EXPECTED_CALLS, OpenReason, Recovery,
    STEADY_SECS, Stretch,
};
use crate::prelude::*;

/// Whether all was back, and when.
pub struct Recovered {
    pub recovery: Recovery,
    /// After the end of the fault.
    pub secs: Option<f64>,
    pub open: Option<OpenReason>,
    /// Tools that were not, or of which that is not known.
    pub not_back: Vec<String>,
}

/// The calls of a stretch or of several, by what they were expected to be.
#[derive(Clone, Copy, Default)]
struct Tally {
    calls: f64,
    failures: f64,
    timed: f64,
    slow: f64,
    /// As many would have failed as before the fault.
    usually_failed: f64,
    /// As many would have been slow.
    usually_slow: f64,
}

/// What a tool was like before: the share of its calls that failed, and how long they took.
type Usual = (f64, Option<Baseline>);

/// How one tool, or all, came back.
enum Return {
    /// In this stretch, counted from the first after the fault.
    At(usize),
    Not,
    Open,
}

impl Recovered {
    pub fn open(reason: OpenReason) -> Self {
        Self {
            recovery: Recovery::Unknown,
            secs: None,
            open: Some(reason),
            not_back: Vec::new(),
        }
    }
}

/// When all was as before; the fault itself ended at `end`.
pub fn of(view: &View<'_>, end: f64) -> Recovered {
    let width = view.timeline.width_secs;
    let phases = view.split(view.window);
    let before = phases.total(0);
    if view.load_changed {
        return Recovered::open(OpenReason::LoadChanged);
    }
    if before.calls() < CALLS_BEFORE_MIN {
        return Recovered::open(OpenReason::FewBefore);
    }
    let (after, is_cut) = view.after();
    let steady = truncated_len((STEADY_SECS / width).ceil()).max(1);
    let too_short = if is_cut {
        OpenReason::OtherFault
    } else if view.window.1 - end > STEADY_SECS {
        OpenReason::HeldTooLong
    } else {
        OpenReason::ShortAfter
    };
    if after.len() < steady {
        return Recovered::open(too_short);
    }
    let baselines: BTreeMap<&str, Usual> = phases.tools[0]
        .iter()
        .filter(|(_, stretch)| stretch.calls() >= CALLS_BEFORE_MIN)
        .map(|(tool, stretch)| {
            (
                tool.as_str(),
                (stretch.failure_share(), Baseline::of(stretch)),
            )
        })
        .collect();
    let usual = before.failure_share();
    let series = |only: Option<&str>| -> Vec<Tally> {
        let stretch = |tools: &&BTreeMap<String, Stretch>| {
            let chosen = tools
                .iter()
                .filter(|(tool, _)| only.is_none_or(|only| only == tool.as_str()));
            chosen
                .map(|(tool, stretch)| tally(stretch, baselines.get(tool.as_str()), usual))
                .sum()
        };
        after.iter().map(stretch).collect()
    };
    let look = |only: Option<&str>, calls_before: u64| {
        let rate = float(calls_before) / float(phases.stretches[0].max(1));
        let enough = truncated_len((EXPECTED_CALLS / rate).ceil());
        let has_time = float_len(after.len()) * width >= AFTER_SECS_MIN;
        match find(&series(only), steady.max(enough), rate) {
            Return::Not if !has_time => Return::Open,
            found => found,
        }
    };
    let (mut not_back, mut open) = (Vec::new(), Vec::new());
    let all = look(None, before.calls());
    let mut latest = match all {
        Return::At(place) => place,
        _ => 0,
    };
    for (tool, stretch) in &phases.tools[0] {
        if stretch.calls() < CALLS_BEFORE_MIN {
            continue;
        }
        match look(Some(tool), stretch.calls()) {
            Return::At(place) => latest = latest.max(place),
            Return::Not => not_back.push(tool.clone()),
            Return::Open => open.push(tool.clone()),
        }
    }
    if matches!(all, Return::Not) || !not_back.is_empty() {
        return Recovered {
            recovery: Recovery::NotBack,
            secs: None,
            open: None,
            not_back,
        };
    }
    if matches!(all, Return::Open) || !open.is_empty() {
        let reason = match (&all, is_cut) {
            (Return::At(_), false) => OpenReason::RareTools,
            _ => too_short,
        };
        return Recovered {
            not_back: open,
            ..Recovered::open(reason)
        };
    }
    // The first stretch after the fault begins a little after it, which is our own doing.
    let since = view.first_after() + float_len(latest) * width;
    let secs = if latest == 0 {
        0.0
    } else {
        since - view.window.1
    };
    Recovered {
        recovery: Recovery::Back,
        secs: Some(secs.max(0.0)),
        open: None,
        not_back: Vec::new(),
    }
}

/// The first stretch from which on so many are not disturbed; `rate` calls are expected in each.
fn find(series: &[Tally], length: usize, rate: f64) -> Return {
    let between = |from: usize, until: usize| -> Tally {
        let tallies = series.get(from..until).unwrap_or_default();
        tallies.iter().copied().sum()
    };
    let count = series.len();
    let silences = silences(series);
    // A pause in which calls were to be expected, however many come before and after it.
    let has_pause = |from: usize, until: usize| {
        (from..until).any(|place| {
            let silent = silences.get(place).copied().unwrap_or_default();
            rate * float_len(silent.min(place + 1 - from)) >= EXPECTED_CALLS
        })
    };
    let is_calm =
        |from: usize, until: usize| !between(from, until).is_disturbed() && !has_pause(from, until);
    let whole_windows = 0..(count + 1).saturating_sub(length);
    if let Some(from) = whole_windows
        .clone()
        .find(|from| is_calm(*from, from + length))
    {
        return Return::At(from);
    }
    // Not one whole while: what is left of the run may still say something.
    let expected = |from: usize| rate * float_len(count - from);
    let says_enough = |from: usize| expected(from) >= EXPECTED_CALLS / 2.0;
    if whole_windows.is_empty() {
        return match (says_enough(0), is_calm(0, count)) {
            (true, true) => Return::At(0),
            (true, false) if !ends_calm(length.min(count), count, &says_enough, &is_calm) => {
                Return::Not
            }
            _ => Return::Open,
        };
    }
    if ends_calm(length, count, &says_enough, &is_calm) {
        Return::Open
    } else {
        Return::Not
    }
}

/// For each stretch, how many in a row up to it are without a call.
fn silences(series: &[Tally]) -> Vec<usize> {
    let lengths = series.iter().scan(0, |silent, tally| {
        *silent = if tally.calls < 1.0 { *silent + 1 } else { 0 };
        Some(*silent)
    });
    lengths.collect()
}

/// Whether the last stretches, half as many as would do, look as before.
fn ends_calm(
    length: usize,
    count: usize,
    says_enough: &impl Fn(usize) -> bool,
    is_calm: &impl Fn(usize, usize) -> bool,
) -> bool {
    let from = count.saturating_sub(length);
    let until = count.saturating_sub(length.div_ceil(2));
    (from..=until).any(|from| says_enough(from) && is_calm(from, count))
}

fn tally(stretch: &Stretch, usual: Option<&Usual>, usual_share: f64) -> Tally {
    let calls = float(stretch.calls());
    let failure_share = usual.map_or(usual_share, |(share, _)| *share);
    let mut tally = Tally {
        calls,
        failures: float(stretch.failures()),
        usually_failed: failure_share * calls,
        ..Tally::default()
    };
    if let Some((_, Some(baseline))) = usual {
        tally.timed = float(stretch.latency_ns.count());
        tally.slow = float(stretch.latency_ns.count_above(baseline.slow_from_ns));
        tally.usually_slow = baseline.slow_fraction * tally.timed;
    }
    tally
}

impl std::iter::Sum for Tally {
    fn sum<Tallies: Iterator<Item = Self>>(tallies: Tallies) -> Self {
        tallies.fold(Self::default(), |sum, other| Self {
            calls: sum.calls + other.calls,
            failures: sum.failures + other.failures,
            timed: sum.timed + other.timed,
            slow: sum.slow + other.slow,
            usually_failed: sum.usually_failed + other.usually_failed,
            usually_slow: sum.usually_slow + other.usually_slow,
        })
    }
}

impl Tally {
    /// Whether clearly more calls failed or were slow than before, or none ended at all.
    fn is_disturbed(&self) -> bool {
        let has_more = |part: f64, of: f64, usually: f64| {
            let least = float(CALLS_HIT_MIN).min(of);
            let usual = if of > 0.0 { usually / of } else { 0.0 };
            part >= least && part > 0.0 && has_risen(truncated(part), truncated(of), usual)
        };
        self.calls < 1.0
            || has_more(self.failures, self.calls, self.usually_failed)
            || has_more(self.slow, self.timed, self.usually_slow)
    }
}
