//! From the stretches of a run to what a fault did.

use super::prelude::*;

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
            let last = hurt
                .iter()
                .flatten()
                .filter(runs_into)
                .map(|other| other.1)
                .fold(back, f64::max);
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

// The stretches of a run around a fault: which are before, during and after it.

/// What a tool was like before the fault, to compare with.
pub struct Baseline {
    /// Above this a call is slow, in nanoseconds.
    pub slow_from_ns: u64,
    /// The share of calls that were.
    pub slow_fraction: f64,
}

impl Baseline {
    /// What is slow from here on; none with too few calls.
    pub fn of(stretch: &TimeBucket) -> Option<Self> {
        let count = stretch.latency_ns.count();
        let quantile = [0.99, 0.95, 0.5]
            .into_iter()
            .find(|quantile| percentile::is_supported(count, quantile * 100.0))?;
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
    pub tools: BTreeMap<String, TimeBucket>,
    pub stretches: u64,
    /// How long it is.
    pub secs: f64,
}

impl Phase {
    pub fn total(&self) -> TimeBucket {
        let mut total = TimeBucket::default();
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
        self.others
            .iter()
            .any(|other| self.place_of(number, *other) == 1)
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
    pub fn after(&self) -> (Vec<&'a BTreeMap<String, TimeBucket>>, bool) {
        static EMPTY: BTreeMap<String, TimeBucket> = BTreeMap::new();
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
        self.numbers_after()
            .next()
            .map_or(self.window.1, |number| self.begin_of(number))
    }
}

/// Whether a share is higher by more than chance and [`SHARE_RISE_MAX`].
pub fn has_risen(part: u64, of: u64, usual: f64) -> bool {
    wilson(part, of).is_some_and(|estimate| estimate.low > usual + SHARE_RISE_MAX)
}

/// Whether clearly more calls failed than before.
pub fn fails_more(before: &TimeBucket, now: &TimeBucket) -> bool {
    before.calls() >= CALLS_BEFORE_MIN
        && now.failures() >= CALLS_HIT_MIN
        && has_risen(now.failures(), now.calls(), before.failure_share())
}

/// Whether clearly more calls were slow than before.
pub fn is_slower(before: &TimeBucket, now: &TimeBucket) -> bool {
    Baseline::of(before).is_some_and(|baseline| {
        let slow = now.latency_ns.count_above(baseline.slow_from_ns);
        slow >= CALLS_HIT_MIN && has_risen(slow, now.latency_ns.count(), baseline.slow_fraction)
    })
}

/// The numbers of a stretch, for people.
pub fn phase_of(stretch: &TimeBucket, duration_secs: f64) -> ImpactPhase {
    let at = |quantile: f64| {
        let count = stretch.latency_ns.count();
        let value = stretch.latency_ns.quantile(quantile)?;
        percentile::is_supported(count, quantile * 100.0).then(|| float(value) / 1e6)
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
