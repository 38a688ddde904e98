//! Which tests of suites are run: by name, by tag, by what failed last time, and by share. Pure.
//!
//! A test is chosen when a filter finds it (or there is none), one of the tags has it (or there is none)
//! and no excluded tag does, and, of the tests that failed last time, it is one or its suite was never run. What is chosen is then
//! shared out.

mod nothing;

use std::str::FromStr;

use mcprove_settings::message::{message, setting};
use regex::{Regex, RegexBuilder};
use thiserror::Error;

use super::last_failed::FailedTests;
use super::listing::TestOf;

pub use nothing::NothingSelected;

/// The largest compiled pattern, in bytes.
const PATTERN_BYTES_MAX: usize = 1024 * 1024;
/// The most parts that tests are shared out over.
const SHARDS_MAX: usize = 100_000;

/// Which tests are run; all of them unless something is given.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Parts of names, or patterns; one must fit.
    pub filters: Vec<Filter>,
    /// Tags; one must be had, and none that is excluded.
    pub tags: Vec<TagRule>,
    /// Only those that failed last time.
    pub last_failed: Option<FailedTests>,
    /// Only this share of what is left.
    pub shard: Option<Shard>,
}

/// Finds tests by name.
#[derive(Debug, Clone)]
pub struct Filter {
    text: String,
    pattern: Option<Regex>,
}

/// Finds tests by tag: `slow`, or `!slow` for those that do not have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TagRule {
    /// The tag.
    pub tag: String,
    /// Whether tests with it are left out.
    pub is_excluded: bool,
}

/// One of several shares: `2/3` is the second of three.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    index: usize,
    count: usize,
}

/// Why a choice cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SelectionError {
    /// A pattern that is none.
    #[error("{0:?} is not a pattern: {1}")]
    Pattern(String, String),
    /// Nothing to look for.
    #[error("it is empty")]
    Empty,
    /// A share that is none.
    #[error("a share is written as 2/3, the second of three, not {0:?}")]
    Shard(String),
}

/// The tests that were chosen.
#[derive(Debug, Clone)]
pub struct Chosen<'a> {
    /// In the order of the files.
    pub tests: Vec<TestOf<'a>>,
    /// What is odd about the choice.
    pub warnings: Vec<String>,
}

impl FromStr for Filter {
    type Err = SelectionError;

    /// A part of a name; or, between slashes, a pattern (regular expression).
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.is_empty() {
            return Err(SelectionError::Empty);
        }
        let inside = text
            .strip_prefix('/')
            .and_then(|rest| rest.strip_suffix('/'));
        let pattern = inside.filter(|inside| !inside.is_empty()).map(|inside| {
            let mut builder = RegexBuilder::new(inside);
            let built = builder.size_limit(PATTERN_BYTES_MAX).build();
            built.map_err(|error| {
                let reason = error.to_string();
                let last = reason.lines().last().unwrap_or_default().trim();
                let reason = last.strip_prefix("error: ").unwrap_or(last);
                SelectionError::Pattern(text.to_owned(), reason.to_owned())
            })
        });
        Ok(Self {
            text: text.to_owned(),
            pattern: pattern.transpose()?,
        })
    }
}

impl Filter {
    /// Whether it finds the test. One with `::` in it looks at `FILE::NAME`, any other at the name.
    pub fn finds(&self, file: &str, name: &str) -> bool {
        if !self.text.contains("::") {
            return self.finds_in(name);
        }
        // Files are named with either slash.
        let file = file.replace('\\', "/");
        self.finds_in(&format!("{file}::{name}"))
    }

    fn finds_in(&self, text: &str) -> bool {
        match &self.pattern {
            Some(pattern) => pattern.is_match(text),
            None => text.contains(&self.text),
        }
    }
}

impl FromStr for TagRule {
    type Err = SelectionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (tag, is_excluded) = match text.strip_prefix('!') {
            Some(tag) => (tag, true),
            None => (text, false),
        };
        if tag.trim().is_empty() {
            return Err(SelectionError::Empty);
        }
        Ok(Self {
            tag: tag.trim().to_owned(),
            is_excluded,
        })
    }
}

impl FromStr for Shard {
    type Err = SelectionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = text.split_once('/').and_then(|(index, count)| {
            let index = index.trim().parse::<usize>().ok()?;
            let count = count.trim().parse::<usize>().ok()?;
            Some((index, count))
        });
        parts
            .filter(|(index, count)| (1..=*count).contains(index) && *count <= SHARDS_MAX)
            .map(|(index, count)| Self { index, count })
            .ok_or_else(|| SelectionError::Shard(text.to_owned()))
    }
}

impl Shard {
    /// Whether the test at this place belongs to the share. Each place belongs to exactly one, and the
    /// shares differ by one test at most.
    pub fn has(self, place: usize) -> bool {
        place % self.count == self.index - 1
    }
}

impl std::fmt::Display for Shard {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}/{}", self.index, self.count)
    }
}

impl Selection {
    /// Chooses from the tests. That there is nothing to run is an error, which says why.
    pub fn choose<'a>(&self, all: &[TestOf<'a>]) -> Result<Chosen<'a>, NothingSelected> {
        let is_found = |test: &&TestOf<'_>| {
            self.is_named(test) && self.is_tagged(test) && self.has_failed(test)
        };
        let found: Vec<TestOf<'a>> = all.iter().filter(is_found).copied().collect();
        if found.is_empty() {
            return Err(nothing::explain(self, all));
        }
        let count = found.len();
        let places = found.into_iter().enumerate();
        let tests: Vec<TestOf<'a>> = places
            .filter(|(place, _)| self.shard.is_none_or(|shard| shard.has(*place)))
            .map(|(_, test)| test)
            .collect();
        match self.shard {
            Some(shard) if tests.is_empty() => Err(nothing::of_shard(shard, count)),
            _ => Ok(Chosen {
                tests,
                warnings: self.warnings(all),
            }),
        }
    }

    fn is_named(&self, test: &TestOf<'_>) -> bool {
        let finds = |filter: &Filter| filter.finds(&test.plan.file, test.name());
        self.filters.is_empty() || self.filters.iter().any(finds)
    }

    fn is_tagged(&self, test: &TestOf<'_>) -> bool {
        let has = |rule: &&TagRule| test.head().tags.contains(&rule.tag);
        let mut wanted = self.tags.iter().filter(|rule| !rule.is_excluded).peekable();
        let mut unwanted = self.tags.iter().filter(|rule| rule.is_excluded);
        let is_wanted = wanted.peek().is_none() || wanted.any(|rule| has(&rule));
        is_wanted && !unwanted.any(|rule| has(&rule))
    }

    fn has_failed(&self, test: &TestOf<'_>) -> bool {
        let failed = self.last_failed.as_ref();
        // Of a suite that was never run nothing is known to pass.
        failed.is_none_or(|failed| failed.has(test.plan, test.name()) || !failed.knows(test.plan))
    }

    /// What finds nothing, though something else does: most likely a slip.
    fn warnings(&self, all: &[TestOf<'_>]) -> Vec<String> {
        let filters = self.filters.iter().filter_map(|filter| {
            let finds = |test: &TestOf<'_>| filter.finds(&test.plan.file, test.name());
            (!all.iter().any(finds)).then(|| {
                message![
                    setting("filter"),
                    format!(" {:?} finds no test", filter.text)
                ]
                .text()
            })
        });
        let tags = self.tags.iter().filter_map(|rule| {
            let has = |test: &TestOf<'_>| test.head().tags.contains(&rule.tag);
            (!all.iter().any(has)).then(|| format!("no test has the tag {:?}", rule.tag))
        });
        filters.chain(tags).chain(self.never_run(all)).collect()
    }

    /// The suites that the file of failed tests does not know.
    fn never_run(&self, all: &[TestOf<'_>]) -> Vec<String> {
        let Some(failed) = &self.last_failed else {
            return Vec::new();
        };
        let mut files: Vec<&str> = all
            .iter()
            .filter(|test| !failed.knows(test.plan))
            .map(|test| test.plan.file.as_str())
            .collect();
        files.dedup();
        let told = files.into_iter();
        told.map(|file| format!("{file} was never run before: all its tests are chosen"))
            .collect()
    }
}

#[cfg(test)]
mod tests;
