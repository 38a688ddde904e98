//! When all was as before a fault: each tool, and all of them together.

use super::prelude::*;

/// Whether all was back, and when.
pub struct Recovered {
    pub recovery: Recovery,
    /// After the end of the fault.
    pub secs: Option<f64>,
    pub open: Option<OpenReason>,
    /// Tools that were not, or of which that is not known.
    pub not_back: Vec<String>,
}

impl Recovered {
    fn new(recovery: Recovery) -> Self {
        Self {
            recovery,
            secs: None,
            open: None,
            not_back: Vec::new(),
        }
    }

    fn open(reason: OpenReason) -> Self {
        Self {
            open: Some(reason),
            ..Self::new(Recovery::Unknown)
        }
    }

    /// The same, or open where the stretches are too long to measure the limit with: whatever happens in
    /// one of them may have taken all of it, or a moment.
    pub fn measured_for(self, limit: Option<f64>, width_secs: f64) -> Self {
        let (Recovery::Back, Some(limit)) = (self.recovery, limit) else {
            return self;
        };
        let is_coarse = width_secs * STRETCHES_PER_LIMIT > limit.max(STEADY_SECS);
        let is_over_anyway = self.secs.is_some_and(|secs| secs - width_secs > limit);
        if is_coarse && !is_over_anyway {
            Self::open(OpenReason::CoarseStretches)
        } else {
            self
        }
    }
}

/// Some of the calls of a stretch or of several: how many there were, how many of them were bad, and how many
/// would have been as before the fault.
#[derive(Clone, Copy, Default)]
struct Part {
    calls: f64,
    bad: f64,
    usually_bad: f64,
}

/// The calls that failed, and those that were slow.
type Tally = [Part; 2];

/// When all was as before; the fault itself ended at `end`.
pub fn of(view: &View<'_>, end: f64) -> Recovered {
    let width = view.timeline.width_secs;
    let [before, ..] = view.split(view.window);
    let total = before.total();
    if view.load_changed {
        return Recovered::open(OpenReason::LoadChanged);
    }
    if total.calls() < CALLS_BEFORE_MIN {
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
    let often_called = before
        .tools
        .iter()
        .filter(|(_, stretch)| stretch.calls() >= CALLS_BEFORE_MIN);
    let often_called: BTreeMap<&String, (&TimeBucket, Option<Baseline>)> = often_called
        .map(|(tool, stretch)| (tool, (stretch, Baseline::of(stretch))))
        .collect();
    let tally = |only: Option<&String>, tools: &BTreeMap<String, TimeBucket>| {
        let mut sum = Tally::default();
        for (tool, stretch) in tools {
            if only.is_none_or(|only| only == tool) {
                let usual = often_called.get(tool);
                let share = usual.map_or(&total, |(usual, _)| usual).failure_share();
                let baseline = usual.and_then(|(_, baseline)| baseline.as_ref());
                sum = add(sum, tally_of(stretch, share, baseline));
            }
        }
        sum
    };
    let look = |only: Option<&String>, calls_before: u64| {
        let rate = float(calls_before) / float(before.stretches.max(1));
        let enough = truncated_len((EXPECTED_CALLS / rate).ceil());
        let has_time = float_len(after.len()) * width >= AFTER_SECS_MIN;
        let series: Vec<Tally> = after.iter().map(|tools| tally(only, tools)).collect();
        match find(&series, steady.max(enough), rate) {
            Err(Recovery::NotBack) if !has_time => Err(Recovery::Unknown),
            found => found,
        }
    };
    let all = look(None, total.calls());
    let each = often_called.iter();
    let each: Vec<(&String, Result<usize, Recovery>)> = each
        .map(|(tool, (stretch, _))| (*tool, look(Some(tool), stretch.calls())))
        .collect();
    let tools_that = |recovery: Recovery| -> Vec<String> {
        each.iter()
            .filter(|(_, found)| *found == Err(recovery))
            .map(|(tool, _)| (*tool).clone())
            .collect()
    };
    let (not_back, open) = (tools_that(Recovery::NotBack), tools_that(Recovery::Unknown));
    if all == Err(Recovery::NotBack) || !not_back.is_empty() {
        return Recovered {
            not_back,
            ..Recovered::new(Recovery::NotBack)
        };
    }
    if all.is_err() || !open.is_empty() {
        let is_rare = all.is_ok() && !is_cut;
        return Recovered {
            not_back: open,
            ..Recovered::open(if is_rare {
                OpenReason::RareTools
            } else {
                too_short
            })
        };
    }
    let places = each.iter().map(|(_, found)| found).chain([&all]);
    // The first stretch after the fault begins a little after it, which is our own doing.
    let secs = match places.flatten().max() {
        None | Some(0) => 0.0,
        Some(latest) => view.first_after() + float_len(*latest) * width - view.window.1,
    };
    Recovered {
        secs: Some(secs.max(0.0)),
        ..Recovered::new(Recovery::Back)
    }
}

/// The first stretch from which on so many are not disturbed, counted from the first after the fault; `rate`
/// calls are expected in each.
fn find(series: &[Tally], length: usize, rate: f64) -> Result<usize, Recovery> {
    let count = series.len();
    // For each stretch, how many in a row up to it are without a call.
    let silences: Vec<usize> = series
        .iter()
        .scan(0, |silent, [failed, _]| {
            *silent = if failed.calls < 1.0 { *silent + 1 } else { 0 };
            Some(*silent)
        })
        .collect();
    let is_calm = |from: usize, until: usize| {
        // A pause in which calls were to be expected, however many come before and after it.
        let is_pause = |place: usize| {
            rate * float_len(silences[place].min(place + 1 - from)) >= EXPECTED_CALLS
        };
        let sum = series[from..until]
            .iter()
            .copied()
            .fold(Tally::default(), add);
        !is_disturbed(sum) && !(from..until).any(is_pause)
    };
    let mut whole_windows = 0..(count + 1).saturating_sub(length);
    if let Some(from) = whole_windows.find(|from| is_calm(*from, from + length)) {
        return Ok(from);
    }
    // Not one whole while: what is left of the run may still say something.
    let says_enough = |from: usize| rate * float_len(count - from) >= EXPECTED_CALLS / 2.0;
    let is_too_long = length > count;
    if is_too_long && says_enough(0) && is_calm(0, count) {
        return Ok(0);
    }
    // Whether the last stretches, half as many as would do, look as before.
    let length = length.min(count);
    let mut ends = count - length..=count - length.div_ceil(2);
    let ends_calm = ends.any(|from| says_enough(from) && is_calm(from, count));
    Err(if ends_calm || (is_too_long && !says_enough(0)) {
        Recovery::Unknown
    } else {
        Recovery::NotBack
    })
}

/// The calls of a stretch: so large a share usually failed, and so many were slow.
fn tally_of(stretch: &TimeBucket, failure_share: f64, baseline: Option<&Baseline>) -> Tally {
    let calls = float(stretch.calls());
    let failed = Part {
        calls,
        bad: float(stretch.failures()),
        usually_bad: failure_share * calls,
    };
    let slow = baseline.map(|baseline| {
        let calls = float(stretch.latency_ns.count());
        Part {
            calls,
            bad: float(stretch.latency_ns.count_above(baseline.slow_from_ns)),
            usually_bad: baseline.slow_fraction * calls,
        }
    });
    [failed, slow.unwrap_or_default()]
}

fn add([failed, slow]: Tally, [others_failed, others_slow]: Tally) -> Tally {
    [(failed, others_failed), (slow, others_slow)].map(|(one, other)| Part {
        calls: one.calls + other.calls,
        bad: one.bad + other.bad,
        usually_bad: one.usually_bad + other.usually_bad,
    })
}

/// Whether clearly more calls failed or were slow than before, or none ended at all.
fn is_disturbed(tally: Tally) -> bool {
    let has_more = |part: Part| {
        let least = float(CALLS_HIT_MIN).min(part.calls);
        let usual = if part.calls > 0.0 {
            part.usually_bad / part.calls
        } else {
            0.0
        };
        let (bad, calls) = (truncated(part.bad), truncated(part.calls));
        part.bad >= least && part.bad > 0.0 && has_risen(bad, calls, usual)
    };
    tally[0].calls < 1.0 || tally.into_iter().any(has_more)
}
