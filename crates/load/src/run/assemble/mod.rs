//! From what was measured and noted to a report. Pure: live and from a trace, the same input gives
//! the same report.

mod detect;
mod faults;
pub(crate) mod figures;
mod judge;
mod measure;
mod times;
mod unanswered;

use std::time::Duration;

use mcprove_score::verdict::Verdict;
use mcprove_trace::stream::{Metrics, OWN_LIMIT};

use super::header::{ENDED, Ending, Header, STARTED};
use super::interpret;
use super::notes::{self, Notes, PhaseRecord};
use super::report::{Model, Report};
use crate::drive::scenario::Judging;

/// What a report is made of.
pub(crate) struct Assembly<'a> {
    pub metrics: &'a Metrics,
    pub header: &'a Header,
    pub ending: Ending,
    /// Whether it has no end: what is only noted at the end is not known.
    was_killed: bool,
    pub notes: Notes,
}

/// The report of a run; none when its first event is missing.
pub(crate) fn assemble(metrics: &Metrics) -> Option<Report> {
    let header: Header = notes::first(metrics, STARTED)?;
    let ending = notes::first(metrics, ENDED);
    let assembly = Assembly {
        metrics,
        header: &header,
        was_killed: ending.is_none(),
        ending: ending.unwrap_or_else(|| cut_off(metrics)),
        notes: Notes::read(metrics),
    };
    Some(assembly.report())
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

impl Assembly<'_> {
    /// How calls are judged.
    fn judging(&self) -> Judging {
        self.header.scenario.kind.as_type().judging()
    }

    fn report(&self) -> Report {
        let scenario = &self.header.scenario;
        let measured = self.metrics.total_of(|phase| self.is_measured(phase));
        let mut report = Report::empty(scenario.kind.clone());
        report.run_id.clone_from(&self.header.run_id);
        report.started_at = self.header.started_at();
        report.duration = self.ending.duration;
        report.interrupted = self.ending.interrupted;
        report.partial = self.ending.interrupted || self.ended_early() || self.has_lost_sessions();
        report.rate = scenario.load.rate;
        report.model = if report.rate.is_some() {
            Model::Open
        } else {
            Model::Closed
        };
        report.sessions = scenario.load.sessions;
        report.seed = self.header.seed;
        report.server_info = self.notes.server.clone();
        report.server_info.target.clone_from(&self.header.target);
        if self.header.has_trace {
            report.trace_path = "trace.jsonl".into();
        }
        self.measure(&mut report, &measured);
        if let Some(limit) = self.notes.own_limit {
            // What was measured with less than was asked for says nothing about the server.
            let sentence = format!("{limit}, so nothing is judged.");
            let mut verdict = Verdict::inconclusive(OWN_LIMIT, sentence, limit.hint());
            verdict.numbers = limit.numbers();
            report.verdicts.push(verdict);
            return report.conclude();
        }
        self.detect(&mut report, &measured);
        self.judge(&mut report, &measured);
        self.grade(&mut report);
        report.meaning = interpret::sentences(&report, &self.times());
        report.conclude()
    }

    fn phase(&self, index: u16) -> Option<&PhaseRecord> {
        self.notes.phases.iter().find(|phase| phase.index == index)
    }

    fn is_measured(&self, index: u16) -> bool {
        self.phase(index).is_some_and(|phase| phase.measured)
    }

    /// Whether sessions were given up for good.
    fn has_lost_sessions(&self) -> bool {
        self.metrics.count_notes("seat_gave_up") > 0
    }

    /// Whether the load ended clearly before its time, and not because there were enough calls.
    fn ended_early(&self) -> bool {
        let planned = self
            .notes
            .phases
            .iter()
            .filter(|phase| phase.name != ALONE)
            .filter_map(|phase| phase.until)
            .max();
        let (Some(planned), Some(ended)) = (planned, self.notes.load_ended) else {
            return false;
        };
        let is_counted = self.header.scenario.load.calls.is_some();
        !is_counted && ended.at + Duration::from_millis(100) < planned
    }
}

/// The name of the phase in which calls are made one at a time.
pub(crate) const ALONE: &str = "alone";

#[cfg(test)]
mod tests;
