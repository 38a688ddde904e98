//! From what was measured and noted to a report. Pure: live and from a trace, the same input gives
//! the same report.

mod detect;
mod errors;
mod faults;
mod frames;
mod judge;
mod meaning;
mod measure;
mod resources;
mod starts;

use mcprove_score::machine::MachineSample;
use mcprove_trace::stream::OWN_LIMIT;

use crate::drive::scenario::Judging;
use crate::prelude::*;

/// What a report is made of: what was measured, and the facts that the run noted.
#[derive(Opaque)]
pub struct RunFacts<'a> {
    pub metrics: &'a Metrics,
    /// All tool calls, and those of the phases that count, together and by tool.
    total: CallMetrics,
    measured: CallMetrics,
    tools: BTreeMap<String, CallMetrics>,
    pub header: &'a Header,
    pub ending: Ending,
    /// Whether it has no end: what is only noted at the end is not known.
    was_killed: bool,
    pub phases: Vec<PhaseFact>,
    load_ended: Option<LoadEndedFact>,
    endings: Vec<EndingsFact>,
    checks: Vec<CheckFact>,
    machine: Vec<MachineSample>,
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum AssembleError {
    /// A fact does not have its form.
    #[error(transparent)]
    Fact(#[from] FactError),
    /// The scenario that was given does not fit the run.
    #[error("{0}")]
    Scenario(Diagnostic),
}

/// The report of a run, which ended now unless its facts say when; none when its first event is missing. What a
/// scenario of another crate concludes is known where it is among `known`.
pub fn assemble(
    metrics: &Metrics,
    known: &[Scenario],
    ending: Option<Ending>,
) -> Result<Option<Report>, AssembleError> {
    let Some(mut header) = metrics.first::<Header>()? else {
        return Ok(None);
    };
    if let ScenarioKind::Custom(custom) = &mut header.scenario.kind {
        custom.adopt(known).map_err(AssembleError::Scenario)?;
    }
    let ending = ending.or(metrics.first()?);
    let mut phases: Vec<PhaseFact> = metrics.facts()?;
    // One that is noted again, now that its end is known, is the same.
    phases.reverse();
    phases.sort_by_key(|phase| phase.index);
    phases.dedup_by_key(|phase| phase.index);
    let is_measured = |index| is_measured(&phases, index);
    let machine: Vec<MachineFact> = metrics.facts()?;
    let facts = RunFacts {
        metrics,
        total: metrics.total(),
        measured: metrics.total_of(is_measured),
        tools: metrics.tools_of(is_measured),
        header: &header,
        was_killed: ending.is_none(),
        ending: ending.unwrap_or_else(|| cut_off(metrics)),
        phases,
        load_ended: metrics.first()?,
        endings: metrics.facts()?,
        checks: metrics.facts()?,
        machine: machine.into_iter().map(|fact| fact.0).collect(),
    };
    Ok(Some(facts.report()?))
}

/// Whether the calls of a phase count.
fn is_measured(phases: &[PhaseFact], index: u16) -> bool {
    phases
        .iter()
        .any(|phase| phase.measured && phase.index == index)
}

/// The ending of a run that was killed: as far as its events go.
fn cut_off(metrics: &Metrics) -> Ending {
    let seconds = metrics.seconds.keys().map(|(_, second)| second + 1).max();
    let moments = [
        seconds.map(Duration::from_secs),
        metrics.usage.last().map(|usage| usage.at),
        metrics.notes.last().map(|note| note.at),
    ];
    Ending {
        duration: moments.into_iter().flatten().max().unwrap_or_default(),
        interrupted: true,
    }
}

impl RunFacts<'_> {
    /// The facts of one type, in order of time.
    pub fn all<F: Fact>(&self) -> FactResult<Vec<F>> {
        self.metrics.facts()
    }

    /// The first fact of a type.
    pub fn first<F: Fact>(&self) -> FactResult<Option<F>> {
        self.metrics.first()
    }

    /// How calls are judged.
    fn judging(&self) -> Judging {
        self.header.scenario.kind.as_type().judging()
    }

    fn report(&self) -> FactResult<Report> {
        let mut report = self.measure()?;
        if let Some(limit) = self.first::<OwnLimit>()? {
            // What was measured with less than was asked for says nothing about the server.
            let sentence = format!("{limit}, so nothing is judged.");
            let mut verdict = Verdict::inconclusive(OWN_LIMIT, sentence, limit.hint());
            verdict.numbers = limit.numbers();
            report.verdicts.push(verdict);
            return Ok(report.conclude());
        }
        self.detect(&mut report)?;
        self.judge(&mut report)?;
        self.grade(&mut report);
        advise_by_transport(&mut report);
        report.meaning = self.sentences(&report);
        Ok(report.conclude())
    }

    /// The phase of that name.
    pub fn phase(&self, name: &str) -> Option<&PhaseFact> {
        self.phases.iter().find(|phase| phase.name == name)
    }

    /// The calls of a phase, by tool.
    pub fn tools_in(&self, phase: &str) -> Option<&BTreeMap<String, CallMetrics>> {
        self.metrics.phases.get(&self.phase(phase)?.index)
    }

    /// Calls of a phase that failed, and beside them those that a rate limit refused. One that was answered late did not fail.
    pub fn failed_and_refused(&self, phase: &PhaseFact) -> (u64, u64) {
        let calls = self.metrics.phases.get(&phase.index).into_iter().flatten();
        let refused = calls.map(|(_, calls)| calls.rate_limited).sum();
        (self.failed_in(phase).saturating_sub(refused), refused)
    }

    /// The phases whose calls count.
    fn measured_phases(&self) -> impl Iterator<Item = &PhaseFact> {
        self.phases.iter().filter(|phase| phase.measured)
    }

    /// The phases of control calls; those of older runs are known by their name.
    fn control_phases(&self) -> impl Iterator<Item = &PhaseFact> {
        let phases = self.phases.iter();
        phases.filter(|phase| phase.control || phase.name == ALONE && !phase.measured)
    }

    fn is_measured(&self, index: u16) -> bool {
        is_measured(&self.phases, index)
    }

    /// Whether sessions were given up for good.
    fn has_lost_sessions(&self) -> bool {
        self.metrics.count_notes(GaveUpFact::NAME) > 0
    }

    /// Whether the load ended clearly before its time, and not because there were enough calls.
    fn ended_early(&self) -> bool {
        let load = self
            .phases
            .iter()
            .filter(|phase| !phase.control && phase.name != ALONE);
        let planned = load.filter_map(|phase| phase.until).max();
        let is_counted = self.header.scenario.load.calls.is_some();
        let ended = self.load_ended.filter(|_| !is_counted);
        let ended = ended.map(|ended| ended.at + Duration::from_millis(100));
        ended
            .zip(planned)
            .is_some_and(|(ended, planned)| ended < planned)
    }

    /// Calls that never answered, whatever they were made for.
    fn deadlocks(&self) -> u64 {
        count_of(&self.total, ErrorCategory::Deadlock)
    }

    /// Calls that were still queued when they were given up.
    fn queued(&self) -> u64 {
        self.metrics.count_notes(QueuedFact::NAME)
    }

    /// Calls that ended without an answer at the timeout that was set for them.
    fn timed_out(&self) -> u64 {
        count_of(&self.total, ErrorCategory::Timeout).saturating_sub(self.queued())
    }

    /// Calls that count and were answered late.
    fn late(&self) -> u64 {
        count_of(&self.measured, ErrorCategory::Hang)
    }

    /// Whether calls without an answer are told: where the run was interrupted or killed, and its scenario leaves none.
    fn reports_unanswered(&self) -> bool {
        self.ending.interrupted && !self.judging().leaves_calls
    }

    /// Calls without an answer when the run was interrupted.
    fn unanswered(&self) -> u64 {
        let hung = self.hung_unanswered();
        if self.reports_unanswered() {
            let repeated = self.metrics.count_notes(SessionExpiredFact::NAME);
            return hung.max(without_answer(&self.total).saturating_sub(repeated));
        }
        hung
    }

    /// Of these, calls that were past the hang threshold.
    fn hung_unanswered(&self) -> u64 {
        u64::try_from(self.metrics.hung_unanswered)
            .ok()
            .filter(|_| self.ending.interrupted)
            .unwrap_or_default()
    }
}

/// What a server writes to stderr can only be shown where we started it.
fn advise_by_transport(report: &mut Report) {
    if !matches!(report.server_info.transport.as_str(), "http" | "sse" | "ws") {
        return;
    }
    for verdict in &mut report.verdicts {
        verdict.hint = verdict.hint.take().map(Message::without_flags);
    }
}

fn count_of(calls: &CallMetrics, category: ErrorCategory) -> u64 {
    calls.errors.get(&category).copied().unwrap_or_default()
}

/// Calls that were sent and have no end, or that we gave up.
fn without_answer(calls: &CallMetrics) -> u64 {
    let ended = calls.succeeded() + calls.failures() + calls.lost_to_faults;
    calls.sent.saturating_sub(ended)
}

pub use resources::cpu_used;

pub fn samples(
    report: &Report,
    value: impl Fn(&ProcessSample) -> Option<f64>,
) -> Vec<(Duration, f64)> {
    report
        .process
        .samples
        .iter()
        .filter_map(|sample| Some((sample.at, value(sample)?)))
        .collect()
}

pub fn per_second(count: u64, time: Duration) -> f64 {
    if time.is_zero() {
        return 0.0;
    }
    float(count) / time.as_secs_f64()
}

/// p99, or the maximum where there are too few calls for it.
pub fn tail_ms(phase: &PhaseReport) -> Option<f64> {
    let latency = &phase.latency_ms;
    latency
        .supported(0.99)
        .or(latency.slowest())
        .map(as_milliseconds)
}

/// How many values of a histogram stand for all of them where a detector wants values.
const QUANTILES: u32 = 200;

/// Values that stand for all of a histogram, in milliseconds: as many as there are, or evenly
/// spread ones where they are too many.
pub fn spread(calls: &CallMetrics) -> Vec<f64> {
    let histogram = &calls.latency_ns;
    let count = u32::try_from(histogram.len())
        .unwrap_or(u32::MAX)
        .min(QUANTILES);
    (0..count)
        .map(|place| (f64::from(place) + 0.5) / f64::from(count))
        .map(|quantile| Duration::from_nanos(histogram.value_at_quantile(quantile)))
        .map(as_milliseconds)
        .collect()
}

/// The phase in which calls are made one at a time after a load.
pub const ALONE: &str = "alone";
/// The phase in which each tool is called alone before a load, with two tokens.
pub const CONTROL: &str = "control";
/// The phase in which calls are made alone after a load, to compare their replies with those of the load.
pub const COMPARISON: &str = "comparison";
/// The phase in which fast tools are called beside a slow one after a load.
pub const BESIDE: &str = "beside";

#[cfg(test)]
mod tests;
