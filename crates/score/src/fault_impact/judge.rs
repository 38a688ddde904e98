//! From the stretches of a run to what a fault did.

use std::collections::BTreeMap;

use super::recovery::{self, Recovered};
use super::timeline::{View, fails_more, is_slower, phase_of};
use super::{
    CALLS_BEFORE_MIN, CALLS_HIT_MIN, FaultFacts, FaultImpact, OpenReason, Recovery, STEADY_SECS,
    STRETCHES_PER_LIMIT, Stretch, Timeline, ToolImpact,
};

/// From when until when, in seconds.
type Span = (f64, f64);

/// Compares the times before, during and after each fault. What one fault did, until all was back, is
/// not charged to another.
pub fn judge_all(faults: &[FaultFacts], timeline: &Timeline) -> Vec<FaultImpact> {
    let plain: Vec<Option<Span>> = faults.iter().map(FaultFacts::held_window).collect();
    let first: Vec<FaultImpact> = judge_each(faults, &plain, timeline);
    let hurt = hurt_spans(&plain, &first, timeline.span.1);
    judge_each(faults, &hurt, timeline)
}

/// From the start of each fault until all was back, as far as is known.
fn hurt_spans(windows: &[Option<Span>], impacts: &[FaultImpact], end: f64) -> Vec<Option<Span>> {
    let mut hurt: Vec<Option<Span>> = windows
        .iter()
        .zip(impacts)
        .map(|(window, impact)| {
            let (from, until) = (*window)?;
            let back = match impact.recovery {
                Recovery::Back => until + impact.recovery_secs.unwrap_or_default(),
                Recovery::NotBack => end,
                Recovery::Unknown => until + STEADY_SECS,
            };
            Some((from, back))
        })
        .collect();
    // One that runs into another lasts as long as that: whose the damage is cannot be told. The latest
    // come first, for others may run into them.
    let mut order: Vec<usize> = (0..hurt.len()).collect();
    let start = |index: &usize| {
        windows
            .get(*index)
            .copied()
            .flatten()
            .map_or(0.0, |span| span.0)
    };
    order.sort_by(|one, other| start(other).total_cmp(&start(one)));
    for index in order {
        let (Some(Some((from, back))), Some(impact)) =
            (hurt.get(index).copied(), impacts.get(index))
        else {
            continue;
        };
        if impact.open != Some(OpenReason::OtherFault) {
            continue;
        }
        let runs_into = |other: &&Span| other.0 >= from && other.0 <= back + STEADY_SECS;
        let last = hurt
            .iter()
            .flatten()
            .filter(runs_into)
            .map(|other| other.1)
            .fold(back, f64::max);
        if let Some(span) = hurt.get_mut(index) {
            *span = Some((from, last));
        }
    }
    hurt
}

/// Each fault, without the stretches that the spans of the others touch.
fn judge_each(
    faults: &[FaultFacts],
    spans: &[Option<Span>],
    timeline: &Timeline,
) -> Vec<FaultImpact> {
    let judge_one = |(index, facts): (usize, &FaultFacts)| {
        let others: Vec<Span> = spans
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != index)
            .filter_map(|(_, span)| *span)
            .collect();
        judge(facts, &others, timeline)
    };
    faults.iter().enumerate().map(judge_one).collect()
}

impl FaultFacts {
    /// From its start until the last call that it struck was let go.
    pub fn held_window(&self) -> Option<Span> {
        let (from, until) = self.window?;
        Some((from, until.max(self.released_secs.unwrap_or(until))))
    }
}

/// Compares the times before, during and after a fault; other faults were on in `others`.
pub fn judge(facts: &FaultFacts, others: &[Span], timeline: &Timeline) -> FaultImpact {
    let view = facts
        .held_window()
        .map(|window| View::new(timeline, window, others));
    let recovered = match (&view, facts.window) {
        (Some(view), Some((_, end))) => recovery::of(view, end),
        _ => Recovered::open(OpenReason::FewBefore),
    };
    let recovered = recovered.measured_for(facts.max_recovery_secs, timeline.width_secs);
    let phases = view
        .as_ref()
        .map(|view| view.split(view.window))
        .unwrap_or_default();
    // A crash takes but a moment, and what it does lasts until all is back.
    let hurt = view.as_ref().map(|view| {
        let (from, until) = view.window;
        let back = match recovered.recovery {
            Recovery::NotBack => timeline.span.1,
            _ => until + recovered.secs.unwrap_or_default(),
        };
        view.split((from, back))
    });
    let hurt = hurt.unwrap_or_default();
    let is_alike = view.as_ref().is_some_and(|view| !view.load_changed);
    let tool_of = |name: &String| {
        let of = |tools: Option<&BTreeMap<String, Stretch>>| {
            let stretch = tools.and_then(|tools| tools.get(name));
            stretch.cloned().unwrap_or_default()
        };
        let [before, during, after] = phases.tools.each_ref().map(|tools| of(Some(tools)));
        let until_back = of(hurt.tools.get(1));
        ToolImpact {
            tool: name.clone(),
            is_aimed_at: facts.tool.as_ref().is_none_or(|tool| tool == name),
            is_judged: is_alike
                && before.calls() >= CALLS_BEFORE_MIN
                && until_back.calls() >= CALLS_HIT_MIN,
            before: phase_of(&before, phases.secs(0)),
            during: phase_of(&during, phases.secs(1)),
            after: phase_of(&after, phases.secs(2)),
            until_back: phase_of(&until_back, hurt.secs(1)),
            fails_more: is_alike && fails_more(&before, &until_back),
            is_slower: is_alike && is_slower(&before, &until_back),
        }
    };
    let tools: Vec<ToolImpact> = phases.names().into_iter().map(tool_of).collect();
    let suffered = tools
        .iter()
        .filter(|tool| !tool.is_aimed_at && (tool.fails_more || tool.is_slower))
        .map(|tool| tool.tool.clone())
        .collect();
    let [before, during, after] =
        [0, 1, 2].map(|index| phase_of(&phases.total(index), phases.secs(index)));
    let until = facts.window.map(|(_, until)| until);
    FaultImpact {
        fault: facts.name.clone(),
        kind: facts.kind.clone(),
        tool: facts.tool.clone(),
        from_secs: facts.window.map(|(from, _)| from),
        until_secs: until,
        released_secs: facts.released_secs.filter(|secs| Some(*secs) > until),
        struck: facts.struck.clone(),
        before,
        during,
        after,
        recovery: recovered.recovery,
        recovery_secs: recovered.secs,
        open: recovered.open,
        not_back: recovered.not_back,
        max_recovery_secs: facts.max_recovery_secs,
        others_may_suffer: facts.others_may_suffer,
        suffered,
        tools,
    }
}

impl Recovered {
    /// The same, or open where the stretches are too long to measure the limit with: whatever happens in
    /// one of them may have taken all of it, or a moment.
    fn measured_for(self, limit: Option<f64>, width_secs: f64) -> Self {
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
