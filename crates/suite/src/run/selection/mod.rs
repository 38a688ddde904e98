//! Which tests of suites are run: by name, by tag, by what failed last time, and by share. Pure.
//!
//! A test is chosen when a filter finds it (or there is none), one of the tags has it (or there is none)
//! and no excluded tag does, and, of the tests that failed last time, it is one or its suite was never run. What is chosen is then
//! shared out.

mod nothing;

use std::str::FromStr;

use regex::{Regex, RegexBuilder};

use super::last_failed::FailedTests;
use crate::prelude::*;

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

/// The text, where it says anything.
fn given(text: &str) -> DiagnosticResult<&str> {
    if text.is_empty() {
        return Err(Diagnostic::new(
            "it is empty",
            "give a part of a name, or a tag",
        ));
    }
    Ok(text)
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
    type Err = Diagnostic;

    /// A part of a name; or, between slashes, a pattern (regular expression).
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let inside = given(text)?.strip_prefix('/');
        let inside = inside.and_then(|rest| rest.strip_suffix('/'));
        let pattern = inside.filter(|inside| !inside.is_empty()).map(|inside| {
            let mut builder = RegexBuilder::new(inside);
            builder.size_limit(PATTERN_BYTES_MAX).build()
        });
        let pattern = pattern.transpose().map_err(|error| {
            let reason = error.to_string();
            let last = reason.lines().last().unwrap_or_default().trim();
            let reason = last.strip_prefix("error: ").unwrap_or(last);
            let message = format!("{text:?} is not a pattern: {reason}");
            Diagnostic::new(message, "without the slashes it is a part of a name")
        })?;
        Ok(Self {
            text: text.to_owned(),
            pattern,
        })
    }
}

impl Filter {
    /// Whether it finds the test. One with `::` in it looks at `FILE::NAME`, any other at the name.
    fn finds(&self, test: &TestOf<'_>) -> bool {
        let mut searched = test.name().to_owned();
        if self.text.contains("::") {
            // Files are named with either slash.
            let file = test.plan.file.replace('\\', "/");
            searched = format!("{file}::{searched}");
        }
        match &self.pattern {
            Some(pattern) => pattern.is_match(&searched),
            None => searched.contains(&self.text),
        }
    }
}

impl FromStr for TagRule {
    type Err = Diagnostic;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let tag = text.strip_prefix('!');
        Ok(Self {
            tag: given(tag.unwrap_or(text).trim())?.to_owned(),
            is_excluded: tag.is_some(),
        })
    }
}

impl FromStr for Shard {
    type Err = Diagnostic;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |text: &str| text.trim().parse::<usize>().ok();
        text.split_once('/')
            .and_then(|(index, count)| number(index).zip(number(count)))
            .filter(|(index, count)| (1..=*count).contains(index) && *count <= SHARDS_MAX)
            .map(|(index, count)| Self { index, count })
            .ok_or_else(|| {
                let hint = "write I/N with I from 1 to N, such as 2/3";
                Diagnostic::new(format!("{text:?} is not a share"), hint)
            })
    }
}

impl Shard {
    /// Whether the test at this place belongs to the share. Each place belongs to exactly one, and the
    /// shares differ by one test at most.
    pub fn has(self, place: usize) -> bool {
        place % self.count == self.index - 1
    }
}

impl TagRule {
    fn is_had_by(&self, test: &TestOf<'_>) -> bool {
        test.head().tags.contains(&self.tag)
    }
}

impl Selection {
    /// Chooses from the tests. That there is nothing to run is an error, which says why.
    pub fn choose<'a>(&self, all: &[TestOf<'a>]) -> DiagnosticResult<Chosen<'a>> {
        let mut tests: Vec<TestOf<'a>> = all.to_vec();
        tests.retain(|test| self.is_named(test) && self.is_tagged(test) && self.has_failed(test));
        if tests.is_empty() {
            return Err(nothing::explain(self, all));
        }
        if let Some(shard) = self.shard {
            let (count, mut places) = (tests.len(), 0..);
            tests.retain(|_| places.next().is_some_and(|place| shard.has(place)));
            if tests.is_empty() {
                return Err(nothing::of_shard(shard, count));
            }
        }
        let warnings = self.warnings(all);
        Ok(Chosen { tests, warnings })
    }

    fn is_named(&self, test: &TestOf<'_>) -> bool {
        self.filters.is_empty() || self.filters.iter().any(|filter| filter.finds(test))
    }

    fn is_tagged(&self, test: &TestOf<'_>) -> bool {
        let (unwanted, wanted): (Vec<&TagRule>, Vec<&TagRule>) =
            self.tags.iter().partition(|rule| rule.is_excluded);
        (wanted.is_empty() || wanted.iter().any(|rule| rule.is_had_by(test)))
            && !unwanted.iter().any(|rule| rule.is_had_by(test))
    }

    fn has_failed(&self, test: &TestOf<'_>) -> bool {
        let failed = self.last_failed.as_ref();
        // Of a suite that was never run nothing is known to pass.
        failed.is_none_or(|failed| failed.has(test.plan, test.name()) || !failed.knows(test.plan))
    }

    /// What finds nothing, though something else does: most likely a slip. And the suites that the file of failed tests
    /// does not know.
    fn warnings(&self, all: &[TestOf<'_>]) -> Vec<String> {
        let filters = self
            .filters
            .iter()
            .filter(|filter| !all.iter().any(|test| filter.finds(test)));
        let filters = filters.map(|filter| {
            let words = format!(" {:?} finds no test", filter.text);
            sentence!("{}{words}", setting("filter")).rendered()
        });
        let tags = self
            .tags
            .iter()
            .filter(|rule| !all.iter().any(|test| rule.is_had_by(test)));
        let tags = tags.map(|rule| format!("no test has the tag {:?}", rule.tag));
        let mut files: Vec<&str> = Vec::new();
        if let Some(failed) = &self.last_failed {
            let unknown = all.iter().filter(|test| !failed.knows(test.plan));
            files.extend(unknown.map(|test| test.plan.file.as_str()));
            files.dedup();
        }
        let files = files
            .into_iter()
            .map(|file| format!("{file} was never run before: all its tests are chosen"));
        filters.chain(tags).chain(files).collect()
    }
}

#[cfg(test)]
mod tests;
