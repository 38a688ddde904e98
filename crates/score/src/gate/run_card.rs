//! The part of a [`Scorecard`] that is about one run, for the metric that scores it.

use super::scorecard::{Absence, targets_in};
use crate::prelude::*;

/// What is listed of one run, before the rest is only counted.
const FOUND_MAX: usize = 20;

/// What one metric tells of one run, before the rest is only counted: the others have something to
/// tell too.
const FOUND_PER_METRIC: usize = 5;

/// Where a metric puts what it computes of one run.
#[derive(mcprove_settings::setting::Opaque)]
pub struct RunCard<'a> {
    card: &'a mut Scorecard,
    about: &'static About,
    run: usize,
}

impl Scorecard {
    /// The part that is about one run.
    pub fn run(&mut self, about: &'static About, run: usize) -> RunCard<'_> {
        RunCard {
            card: self,
            about,
            run,
        }
    }
}

impl RunCard<'_> {
    fn targets(&mut self) -> Option<&mut RunTargets> {
        self.card.runs.get_mut(self.run)
    }

    /// Notes the value of a target.
    pub fn set(&mut self, target: &str, value: impl Into<Value>) {
        if let Some(run) = self.targets() {
            run.targets.insert(target.into(), value.into());
        }
    }

    /// Notes the targets of the metric that are fields of a report; what is true or false is 1 or 0.
    pub fn put(&mut self, report: &impl Serialize) {
        for (target, value) in targets_in(self.about, report) {
            self.set(target, value);
        }
    }

    /// Notes that what a target is the time of never happened: no gate on it holds.
    pub fn set_never_happened(&mut self, target: &str) {
        self.leave_out(target, Absence::Never);
    }

    /// Notes that what a target is about could not come up: no gate looks at it.
    pub fn set_not_applicable(&mut self, target: &str) {
        self.leave_out(target, Absence::NotApplicable);
    }

    fn leave_out(&mut self, target: &str, why: Absence) {
        self.set(target, Value::Null);
        self.card.absent.insert((target.into(), self.run), why);
    }

    /// Notes that the default gate of the metric does not hold.
    pub fn fail(
        &mut self,
        target: &str,
        expected: impl Into<Value>,
        actual: impl Into<Value>,
        what: impl Into<Diagnostic>,
    ) {
        let failure = GateFailure::of_run(self.run, target, expected, actual, what);
        self.card.default_gate.fail(failure);
    }

    /// Notes that the default gate of the metric cannot be judged.
    pub fn cannot_judge(&mut self, error: ScoreError) {
        self.card.default_gate.error(error.of_run(self.run));
    }

    /// Notes that a limit of the block is exceeded, whatever the block expects.
    pub fn exceed(
        &mut self,
        target: &str,
        expected: impl Into<Value>,
        actual: impl Into<Value>,
        what: impl Into<Diagnostic>,
    ) {
        let failure = GateFailure::of_run(self.run, target, expected, actual, what);
        self.card.limits.fail(failure);
    }

    /// Notes that a limit of the block cannot be judged.
    pub fn cannot_limit(&mut self, error: ScoreError) {
        self.card.limits.error(error.of_run(self.run));
    }

    /// Notes that something cannot be judged, whatever the gates are.
    pub fn error(&mut self, error: ScoreError) {
        self.card.error(error.of_run(self.run));
    }

    /// Tells the reader something about the numbers of all runs of which this is noted: it begins and ends
    /// so, with the runs between.
    pub fn note(&mut self, begin: &'static str, end: &'static str) {
        let notes = &mut self.card.run_notes;
        match notes.iter_mut().find(|note| note.0 == [begin, end]) {
            Some((_, runs)) => runs.push(self.run),
            None => notes.push(([begin, end], vec![self.run])),
        }
    }

    /// Adds what was found, in a whole sentence that names the call; there are no gates on it. Only the first few
    /// are kept.
    pub fn add_finding(&mut self, sentence: impl Into<Message>) {
        if let Some(run) = self.targets() {
            match run.found.len() {
                length if length < FOUND_MAX => run.found.push(sentence.into()),
                FOUND_MAX => run.found.push("and more of this kind".into()),
                _ => {}
            }
        }
    }

    /// Adds what was found: the first few in a sentence each, then how many more there are of `count`.
    pub fn add_first_findings(
        &mut self,
        count: u64,
        noun: &str,
        found: impl IntoIterator<Item = Message>,
    ) {
        let mut listed = 0;
        for words in found.into_iter().take(FOUND_PER_METRIC) {
            self.add_finding(words.whole());
            listed += 1;
        }
        if count > listed {
            let more = counted(count - listed, &format!("more {noun}"));
            self.add_finding(sentence!("and {more}").whole());
        }
    }

    /// Notes what was found, for programs; there are no gates on it.
    pub fn detail(&mut self, report: impl Serialize) {
        let name = self.about.name.to_owned();
        if let (Some(run), Ok(report)) = (self.targets(), serde_json::to_value(report)) {
            run.details.insert(name, report);
        }
    }
}
