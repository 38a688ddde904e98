//! What tools with side effects did: writes that can be counted, and failures that are used up.

use std::collections::{BTreeMap, HashSet};

use crate::prelude::*;

/// The most names that are kept of each kind.
const NAMES_MAX: usize = 10_000;

/// The memory of the lab. Everything in it is bounded.
#[derive(Default)]
pub struct State {
    writes: Mutex<Writes>,
    attempts: Mutex<Attempts>,
}

#[derive(Default)]
struct Attempts {
    counts: HashMap<String, u64>,
    /// The names, the one that came first in front.
    order: VecDeque<String>,
}

#[derive(Default)]
struct Writes {
    counts: BTreeMap<String, Count>,
    /// The idempotency keys that were seen, each with the key of its write.
    seen: HashSet<(String, String)>,
}

/// What was written under a key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// How many writes had an effect.
    pub applied: u64,
    /// How many came again with an idempotency key that was seen.
    pub repeated: u64,
}

/// There is no room for another name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("more than {NAMES_MAX} names; make room with count and reset")]
pub struct Full;

impl State {
    /// Writes, unless the idempotency key was seen with this key; says whether, and what the count is.
    pub fn write(&self, key: &str, idempotency_key: Option<&str>) -> Result<(bool, Count), Full> {
        let mut writes = lock(&self.writes);
        let Writes { counts, seen } = &mut *writes;
        if counts.len() >= NAMES_MAX && !counts.contains_key(key) {
            return Err(Full);
        }
        let is_new = match idempotency_key {
            None => true,
            Some(token) => {
                let token = (key.to_owned(), token.to_owned());
                if seen.len() >= NAMES_MAX && !seen.contains(&token) {
                    return Err(Full);
                }
                seen.insert(token)
            }
        };
        let count = counts.entry(key.to_owned()).or_default();
        if is_new {
            count.applied += 1;
        } else {
            count.repeated += 1;
        }
        Ok((is_new, *count))
    }

    /// What was written under a key.
    pub fn count(&self, key: &str) -> Count {
        let writes = lock(&self.writes);
        writes.counts.get(key).copied().unwrap_or_default()
    }

    /// How many writes each key has had, and all together.
    pub fn counts(&self) -> (Fields, u64) {
        let writes = lock(&self.writes);
        let total = writes.counts.values().map(|count| count.applied).sum();
        let counts = writes
            .counts
            .iter()
            .map(|(key, count)| (key.clone(), json!(count.applied)))
            .collect();
        (counts, total)
    }

    /// Forgets what was written under a key, or everything.
    pub fn forget_writes(&self, key: Option<&str>) {
        let mut writes = lock(&self.writes);
        match key {
            None => *writes = Writes::default(),
            Some(key) => {
                writes.counts.remove(key);
                writes.seen.retain(|(of, _)| of != key);
            }
        }
    }

    /// The number of this attempt under a key, from one. Where there are too many keys, the one that
    /// came first is forgotten.
    pub fn attempt(&self, key: &str) -> u64 {
        let mut attempts = lock(&self.attempts);
        let Attempts { counts, order } = &mut *attempts;
        if let Some(attempt) = counts.get_mut(key) {
            *attempt += 1;
            return *attempt;
        }
        if counts.len() >= NAMES_MAX
            && let Some(oldest) = order.pop_front()
        {
            counts.remove(&oldest);
        }
        order.push_back(key.to_owned());
        counts.insert(key.to_owned(), 1);
        1
    }

    /// Begins to count the attempts under a key again.
    pub fn forget_attempts(&self, key: &str) {
        let mut attempts = lock(&self.attempts);
        if attempts.counts.remove(key).is_some() {
            attempts.order.retain(|known| known != key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_with_the_same_idempotency_key_happens_once() {
        let state = State::default();
        assert!(state.write("a", Some("t")).unwrap().0);
        let (is_new, count) = state.write("a", Some("t")).unwrap();
        assert!(!is_new);
        assert_eq!((count.applied, count.repeated), (1, 1));
        // The same token means another write under another key.
        assert!(state.write("b", Some("t")).unwrap().0);
        assert!(state.write("a", None).unwrap().0);
        assert_eq!(state.count("a").applied, 2);
        assert_eq!(state.counts().1, 3);
        state.forget_writes(Some("a"));
        assert_eq!(state.count("a"), Count::default());
        assert!(state.write("a", Some("t")).unwrap().0);
        state.forget_writes(None);
        assert_eq!(state.counts().1, 0);
    }

    #[test]
    fn the_memory_has_an_end() {
        let state = State::default();
        for number in 0..NAMES_MAX {
            state.write(&number.to_string(), None).unwrap();
            state.attempt(&number.to_string());
        }
        assert_eq!(state.write("one more", None), Err(Full));
        assert_eq!(state.attempt("0"), 2);
        // The oldest makes room, and begins again when it comes again.
        assert_eq!(state.attempt("one more"), 1);
        assert_eq!(state.attempt("one more"), 2);
        assert_eq!(state.attempt("1"), 2);
        assert_eq!(state.attempt("0"), 1);
        assert_eq!(state.attempt("1"), 1);
        state.forget_attempts("one more");
        assert_eq!(state.attempt("one more"), 1);
        assert!(lock(&state.attempts).order.len() <= NAMES_MAX);
        assert!(state.write("0", None).is_ok());
    }
}
