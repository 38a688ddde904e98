//! What is known of the attempts at one write so far, and what one more attempt is.

use super::outcome::Outcome;
use crate::prelude::*;

/// What is known of the attempts at one write so far.
#[derive(Default)]
pub struct Attempts {
    /// One that succeeded without a key.
    succeeded: Option<usize>,
    /// One that succeeded with a key.
    succeeded_with_key: Option<usize>,
    /// Those that were executed, though the client did not hear of it.
    executed: Unheard,
    /// Those that may have been executed.
    unknown: Unheard,
    /// The keys of all of these.
    keys: BTreeSet<String>,
    /// The last that a fault kept from being executed.
    kept_off: Option<(usize, FaultKind)>,
}

/// What one more attempt at a write is.
pub enum Repetition {
    /// A write made twice, or perhaps.
    Duplicate {
        repeats: usize,
        is_confirmed: bool,
        reason: String,
    },
    /// Safe: the same write under the same key, or of a tool that writes the same.
    Protected,
}

impl Attempts {
    /// What one more attempt repeats, with this key; `None` for nothing.
    pub fn repeated(&self, key: Option<&String>, is_idempotent: bool) -> Option<Repetition> {
        if is_idempotent {
            return self.may_be_made().then_some(Repetition::Protected);
        }
        // Without a key the server cannot tell it from what succeeded, whatever key that had.
        if let (None, Some(repeats)) = (key, self.succeeded.or(self.succeeded_with_key)) {
            return Some(Repetition::Duplicate {
                repeats,
                is_confirmed: true,
                reason: "had succeeded".to_owned(),
            });
        }
        let certain = self.executed.unsafe_for(key).map(|attempt| (attempt, true));
        let perhaps = || Some((self.unknown.unsafe_for(key)?, false));
        if let Some((attempt, is_confirmed)) = certain.or_else(perhaps) {
            return Some(Repetition::Duplicate {
                repeats: attempt.index,
                is_confirmed,
                reason: attempt.reason.clone(),
            });
        }
        key.is_some_and(|key| self.keys.contains(key))
            .then_some(Repetition::Protected)
    }

    /// Notes what became of one attempt.
    pub fn note(&mut self, index: usize, key: Option<String>, outcome: Outcome) {
        if outcome == Outcome::NotExecuted {
            return;
        }
        self.keys.extend(key.clone());
        match outcome {
            Outcome::NotExecuted => {}
            Outcome::Executed => {
                let succeeded = match key {
                    None => &mut self.succeeded,
                    Some(_) => &mut self.succeeded_with_key,
                };
                *succeeded = Some(index);
            }
            Outcome::Unheard { is_certain, reason } => {
                let attempt = Attempt { index, key, reason };
                if is_certain {
                    self.executed.note(attempt);
                } else {
                    self.unknown.note(attempt);
                }
            }
        }
    }

    /// Notes that a fault kept one from being executed.
    pub fn note_kept_off(&mut self, index: usize, fault: FaultKind) {
        self.kept_off = Some((index, fault));
    }

    /// The last attempt that a fault kept off, where nothing was made of the write at all.
    pub fn lost(&self) -> Option<(usize, FaultKind)> {
        self.kept_off.filter(|_| !self.may_be_made())
    }

    fn may_be_made(&self) -> bool {
        self.succeeded.is_some()
            || self.succeeded_with_key.is_some()
            || self.executed.first.is_some()
            || self.unknown.first.is_some()
    }
}

/// Attempts whose success nobody heard of: the first, and the first with another key than that.
#[derive(Default)]
struct Unheard {
    first: Option<Attempt>,
    other: Option<Attempt>,
}

struct Attempt {
    index: usize,
    key: Option<String>,
    reason: String,
}

impl Unheard {
    fn note(&mut self, attempt: Attempt) {
        match &self.first {
            None => self.first = Some(attempt),
            Some(first) if first.key != attempt.key && self.other.is_none() => {
                self.other = Some(attempt);
            }
            Some(_) => {}
        }
    }

    /// One that may not be repeated with this key: the same key makes it safe; no key never does.
    fn unsafe_for(&self, key: Option<&String>) -> Option<&Attempt> {
        [&self.first, &self.other]
            .into_iter()
            .flatten()
            .find(|attempt| key.is_none() || attempt.key.as_ref() != key)
    }
}
