//! What is known of the attempts at one write so far, and what one more attempt is.

use super::DuplicateWrite;
use super::outcome::Outcome;
use super::writes::Write;
use crate::prelude::*;

/// What is known of the attempts at one write so far.
#[derive(Default)]
pub struct Attempts {
    /// One that succeeded without a key.
    succeeded: Option<usize>,
    /// One that succeeded with a key.
    succeeded_with_key: Option<usize>,
    /// Those that were executed, though the client did not hear of it: the first, and the first with another
    /// key than that.
    executed: [Option<Attempt>; 2],
    /// Those that may have been executed, likewise.
    unknown: [Option<Attempt>; 2],
    /// The keys of all of these.
    keys: BTreeSet<String>,
    /// The last that a fault kept from being executed.
    pub kept_off: Option<(usize, FaultKind)>,
}

struct Attempt {
    index: usize,
    key: Option<String>,
    reason: String,
}

/// What one more attempt at a write is.
pub enum Repetition {
    /// A write made twice, or perhaps.
    Duplicate(DuplicateWrite),
    /// Safe: the same write under the same key, or of a tool that writes the same.
    Protected,
}

impl Attempts {
    /// What one more attempt repeats; `None` for nothing.
    pub fn repeated(&self, write: &Write<'_>) -> Option<Repetition> {
        if write.is_idempotent {
            return self.may_be_made().then_some(Repetition::Protected);
        }
        let key = write.key.as_ref();
        let duplicate = |repeats: usize, is_confirmed: bool, reason: &str| {
            Some(Repetition::Duplicate(DuplicateWrite {
                call_index: write.index,
                repeats,
                name: write.call.name.clone(),
                is_confirmed,
                reason: reason.to_owned(),
            }))
        };
        // Without a key the server cannot tell it from what succeeded, whatever key that had.
        if let (None, Some(repeats)) = (key, self.succeeded.or(self.succeeded_with_key)) {
            return duplicate(repeats, true, "had succeeded");
        }
        for (attempts, is_certain) in [(&self.executed, true), (&self.unknown, false)] {
            let mut attempts = attempts.iter().flatten();
            // The same key makes it safe; no key never does.
            let is_unsafe = |attempt: &&Attempt| key.is_none() || attempt.key.as_ref() != key;
            if let Some(attempt) = attempts.find(is_unsafe) {
                return duplicate(attempt.index, is_certain, &attempt.reason);
            }
        }
        key.is_some_and(|key| self.keys.contains(key))
            .then_some(Repetition::Protected)
    }

    /// Notes what became of one attempt.
    pub fn note(&mut self, index: usize, key: Option<String>, outcome: Outcome) {
        if outcome != Outcome::NotExecuted {
            self.keys.extend(key.clone());
        }
        match (outcome, key) {
            (Outcome::NotExecuted, _) => {}
            (Outcome::Executed, None) => self.succeeded = Some(index),
            (Outcome::Executed, Some(_)) => self.succeeded_with_key = Some(index),
            (Outcome::Unheard { is_certain, reason }, key) => {
                let [first, other] = if is_certain {
                    &mut self.executed
                } else {
                    &mut self.unknown
                };
                let is_other = first.as_ref().is_some_and(|first| first.key != key);
                let attempt = Attempt { index, key, reason };
                if is_other {
                    other.get_or_insert(attempt);
                } else {
                    first.get_or_insert(attempt);
                }
            }
        }
    }

    /// The last attempt that a fault kept off, where nothing was made of the write at all.
    pub fn lost(&self) -> Option<(usize, FaultKind)> {
        self.kept_off.filter(|_| !self.may_be_made())
    }

    fn may_be_made(&self) -> bool {
        let unheard = self.executed.iter().chain(&self.unknown).flatten();
        let succeeded = self.succeeded.or(self.succeeded_with_key);
        succeeded.is_some() || unheard.count() > 0
    }
}
