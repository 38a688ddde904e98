//! From the stretches of a run to what a fault did.

use super::timeline::{Phase, View, fails_more, is_slower, phase_of};
use super::{
    CALLS_BEFORE_MIN, CALLS_HIT_MIN, FaultFacts, FaultImpact, OpenReason, Recovery, STEADY_SECS,
    Span, Timeline, ToolImpact, recovery,
};
use crate::prelude::*;

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
    let span = |(window, impact): (&Option<Span>, &FaultImpact)| {
        let (from, until) = (*window)?;
        let back = match impact.recovery {
            Recovery::Back => until + impact.recovery_secs.unwrap_or_default(),
            Recovery::NotBack => end,
            Recovery::Unknown => until + STEADY_SECS,
        };
        Some((from, back))
    };
    let mut hurt: Vec<Option<Span>> = windows.iter().zip(impacts).map(span).collect();
    // One that runs into another lasts as long as that: whose the damage is cannot be told. The latest
    // come first, for others may run into them.
    let mut order: Vec<usize> = (0..hurt.len()).collect();
    let start = |index: usize| windows[index].map_or(0.0, |span| span.0);
    order.sort_by(|one, other| start(*other).total_cmp(&start(*one)));
    for index in order {
        if let Some((from, back)) = hurt[index]
            && impacts[index].open == Some(OpenReason::OtherFault)
        {
            let runs_into = |other: &&Span| other.0 >= from && other.0 <= back + STEADY_SECS;
            let others = hurt.iter().flatten().filter(runs_into);
            let last = others.map(|other| other.1).fold(back, f64::max);
            hurt[index] = Some((from, last));
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
        let others = spans
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != index);
        let others: Vec<Span> = others.filter_map(|(_, span)| *span).collect();
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
    let nothing = Timeline::default();
    let view = match facts.held_window() {
        Some(window) => View::new(timeline, window, others),
        // Where the fault never was on, there is nothing before, during or after it.
        None => View::new(&nothing, Span::default(), &[]),
    };
    let until_secs = facts.window.map(|(_, until)| until);
    let recovered = recovery::of(&view, until_secs.unwrap_or_default())
        .measured_for(facts.max_recovery_secs, timeline.width_secs);
    let phases = view.split(view.window);
    // A crash takes but a moment, and what it does lasts until all is back.
    let (from, until) = view.window;
    let back = match recovered.recovery {
        Recovery::NotBack => timeline.span.1,
        _ => until + recovered.secs.unwrap_or_default(),
    };
    let [_, hurt, _] = view.split((from, back));
    let is_alike = !view.load_changed;
    let tool_of = |name: &String| {
        let of = |phase: &Phase| phase.tools.get(name).cloned().unwrap_or_default();
        let [before, during, after] = phases.each_ref().map(|it| phase_of(&of(it), it.secs));
        let (usual, until_back) = (of(&phases[0]), of(&hurt));
        ToolImpact {
            tool: name.clone(),
            is_aimed_at: facts.tool.as_ref().is_none_or(|tool| tool == name),
            is_judged: is_alike
                && usual.calls() >= CALLS_BEFORE_MIN
                && until_back.calls() >= CALLS_HIT_MIN,
            before,
            during,
            after,
            until_back: phase_of(&until_back, hurt.secs),
            fails_more: is_alike && fails_more(&usual, &until_back),
            is_slower: is_alike && is_slower(&usual, &until_back),
        }
    };
    // The tools that were called in any of the three.
    let names: BTreeSet<&String> = phases.iter().flat_map(|it| it.tools.keys()).collect();
    let tools: Vec<ToolImpact> = names.into_iter().map(tool_of).collect();
    let suffered = tools
        .iter()
        .filter(|tool| !tool.is_aimed_at && (tool.fails_more || tool.is_slower))
        .map(|tool| tool.tool.clone())
        .collect();
    let [before, during, after] = phases.map(|phase| phase_of(&phase.total(), phase.secs));
    FaultImpact {
        fault: facts.name.clone(),
        kind: facts.kind.clone(),
        tool: facts.tool.clone(),
        from_secs: facts.window.map(|(from, _)| from),
        until_secs,
        released_secs: facts.released_secs.filter(|secs| Some(*secs) > until_secs),
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
