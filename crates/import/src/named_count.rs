//! Things that are counted, and the first of them named: a note about a thousand of them stays a
//! note.

use mcprove_settings::{message, number};

use crate::prelude::*;

/// What stands between the names of a server and of its tool where the recordings of several servers are read as one.
/// No name has such a character.
pub const BEFORE_TOOL: char = '\u{1}';

/// What is told of results that come again.
pub const HAS_ONE_ALREADY: &str = "for a call that has one already, the last holds";

/// Names that are kept.
const NAMES_MAX: usize = 3;

/// Many things, few of them by name.
#[derive(Debug, Default)]
pub struct NamedCount {
    names: Vec<String>,
    count: usize,
}

impl NamedCount {
    /// One more, under the name that a tool has on its server.
    pub fn push(&mut self, name: &str) {
        self.count += 1;
        if self.names.len() < NAMES_MAX {
            let own = name.rsplit(BEFORE_TOOL).next().unwrap_or_default();
            self.names.push(own.to_owned());
        }
    }

    /// `3 results without a call, left out: a, b and c`; nothing of nothing.
    pub fn note(&self, noun: &str, what: &str) -> Option<String> {
        let names = self.names()?;
        Some(format!("{} {what}: {names}", many(self.count, noun)))
    }

    /// The first of them, and how many more; none of nothing.
    fn names(&self) -> Option<String> {
        let quoted: Vec<String> = self.names.iter().map(|name| phrase::name(name)).collect();
        match self.count - self.names.len() {
            _ if self.count == 0 => None,
            0 => Some(message::names(&self.names).rendered()),
            more => Some(format!("{} and {} more", quoted.join(", "), more)),
        }
    }
}

/// `1 line`, `20 lines`.
pub fn many(count: usize, noun: &str) -> String {
    phrase::count(number::count(count), noun)
}
