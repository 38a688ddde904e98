//! Keys that are not known, counted and told.

use std::collections::BTreeSet;

use super::super::few::many;
use crate::phrase;

/// Different keys of one kind of object that are told apart.
const NAMES_MAX: usize = 1000;

/// The unknown keys of a file.
#[derive(Default)]
pub(super) struct UnknownKeys {
    kinds: Vec<UnknownKeysOf>,
}

/// The unknown keys of all objects of one kind.
struct UnknownKeysOf {
    noun: &'static str,
    names: BTreeSet<String>,
    count: usize,
    first: String,
}

impl UnknownKeys {
    /// Counts a key once more, if it is known to be unknown.
    pub(super) fn count(&mut self, noun: &'static str, name: &str) -> bool {
        let kind = self.kinds.iter_mut().find(|kind| kind.noun == noun);
        match kind.filter(|kind| kind.names.contains(name)) {
            Some(kind) => {
                kind.count += 1;
                true
            }
            None => false,
        }
    }

    /// Adds a key.
    pub(super) fn add(&mut self, noun: &'static str, name: &str, place: impl FnOnce() -> String) {
        let kind = self.kinds.iter_mut().find(|kind| kind.noun == noun);
        if let Some(kind) = kind {
            kind.count += 1;
            if kind.names.len() < NAMES_MAX {
                kind.names.insert(name.to_owned());
            }
            return;
        }
        self.kinds.push(UnknownKeysOf {
            noun,
            names: BTreeSet::from([name.to_owned()]),
            count: 1,
            first: place(),
        });
    }

    /// What a reader should know of them: one note for each kind of object.
    pub(super) fn notes(self) -> Vec<String> {
        let kinds = self.kinds.into_iter();
        kinds
            .map(|kind| {
                let names: Vec<String> = kind.names.into_iter().collect();
                let (are, were) = match names.len() {
                    1 => ("is no key", "was"),
                    _ => ("are no keys", "were"),
                };
                let places = match kind.count {
                    1 => format!("at {}", kind.first),
                    count => format!("in {}, first at {}", many(count, "place"), kind.first),
                };
                let listed = phrase::names(&names);
                format!(
                    "{listed} {are} of {} and {were} not read: {places}",
                    kind.noun
                )
            })
            .collect()
    }
}
