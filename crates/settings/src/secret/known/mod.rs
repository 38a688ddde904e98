//! Secrets that are known: what the environment, the command line and files gave. They are found however they are
//! spelled, and where a text was cut in the middle of one.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

use super::REDACTED;
use super::forms;
use super::pattern::Pattern;
use super::redactor::plain;

/// What stands where a text was cut.
const CUT: &str = "…";
/// A shorter secret in the name of a field is taken for that name.
const NAME_CHARS_MIN: usize = 8;
/// How many values a byte has.
const BYTES: usize = 256;

/// Knows secrets, and finds them.
pub(super) struct KnownSecrets {
    /// As they were given, with those that are too short to be secrets.
    pub values: BTreeSet<String>,
    patterns: Vec<Pattern>,
    /// For each pair of bytes, in one bit, whether a secret may begin with it, or something that shows by itself that
    /// it is one.
    pairs: Box<[u64; BYTES * BYTES / 64]>,
    /// For each byte, which secrets may begin with it.
    by_first: Vec<Vec<usize>>,
    /// Secrets that are numbers.
    numbers: BTreeSet<String>,
    /// How many bytes the longest of them may take.
    pub span_max: usize,
}

/// None.
pub(super) static NONE: LazyLock<Arc<KnownSecrets>> =
    LazyLock::new(|| Arc::new(KnownSecrets::new([])));

impl KnownSecrets {
    /// Those of these values that are secrets.
    pub fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        let values: BTreeSet<String> = secrets.into_iter().collect();
        let mut all = BTreeSet::new();
        for secret in &values {
            forms::add(secret, &mut all);
        }
        let numbers = values.iter().filter(|value| forms::is_long_number(value));
        let numbers = numbers.cloned().collect();
        let patterns: Vec<Pattern> = all.iter().map(|form| Pattern::new(form)).collect();
        let mut pairs = Box::new([0_u64; BYTES * BYTES / 64]);
        let mut by_first = vec![Vec::new(); BYTES];
        let mut note = |first: u8, second: u8| {
            let (word, bit) = place_of(first, second);
            if let Some(word) = pairs.get_mut(word) {
                *word |= bit;
            }
        };
        plain::each_pair(&mut note);
        for first in 0..=u8::MAX {
            for (index, pattern) in patterns.iter().enumerate() {
                if !pattern.may_begin_with_byte(first) {
                    continue;
                }
                if let Some(own) = by_first.get_mut(usize::from(first)) {
                    own.push(index);
                }
                for second in 0..=u8::MAX {
                    if pattern.may_begin_with(first, second) {
                        note(first, second);
                    }
                }
            }
        }
        Self {
            values,
            span_max: patterns.iter().map(Pattern::span_max).max().unwrap_or(0),
            patterns,
            pairs,
            by_first,
            numbers,
        }
    }

    /// Whether a number in JSON is one of them.
    pub fn has_number(&self, number: &str) -> bool {
        self.numbers.contains(number)
    }

    /// What a text becomes, if it has secrets.
    pub fn text(&self, text: &str) -> Option<String> {
        replaced(text, self.found(text.as_bytes(), false))
    }

    /// What the name of a field becomes, if it has secrets that no name is likely to have.
    pub fn name(&self, name: &str) -> Option<String> {
        let is_meant = |pattern: &Pattern| pattern.value.chars().count() >= NAME_CHARS_MIN;
        replaced(name, self.all_in(name.as_bytes(), false, &is_meant))
    }

    /// Where they are in a text. `is_cut` says that the text goes on behind its end, or was broken off there.
    pub fn found(&self, text: &[u8], is_cut: bool) -> Vec<Range<usize>> {
        self.all_in(text, is_cut, &|_| true)
    }

    /// Whether one may be in a text, or something that shows by itself that it is a secret: fast, and sure where it says
    /// no.
    pub fn may_have(&self, text: &[u8]) -> bool {
        let mut is_there = false;
        self.each_candidate(text, |at, own| {
            let mut own = own.iter().filter_map(|index| self.patterns.get(*index));
            is_there |= plain::has_sign(text, at) || own.any(|it| it.end(text, at).is_some());
            is_there
        });
        // Beside the mark of a cut there may be a part of one.
        is_there
            || !self.patterns.is_empty() && memchr::memmem::find(text, CUT.as_bytes()).is_some()
    }

    /// Whether one reaches over several tokens of a text that is JSON.
    pub fn is_across_tokens(&self, json: &str) -> bool {
        let is_meant = Pattern::has_marks_of_json;
        self.patterns.iter().any(is_meant) && !self.whole_in(json.as_bytes(), &is_meant).is_empty()
    }

    /// Where one may begin that goes on behind the end of a text; the length of the text if none does.
    pub fn pending(&self, text: &[u8]) -> usize {
        let from = text.len().saturating_sub(self.span_max);
        let goes_on = |at: &usize| {
            let first = text.get(*at).copied().unwrap_or_default();
            let own = self.by_first.get(usize::from(first));
            let mut own = own.into_iter().flatten();
            own.any(|index| {
                let pattern = self.patterns.get(*index);
                pattern.is_some_and(|it| it.may_go_on(text, *at))
            })
        };
        (from..text.len()).find(goes_on).unwrap_or(text.len())
    }

    /// Calls `look` with each place where something may begin, and the secrets that may; until it says that this is
    /// enough.
    fn each_candidate(&self, text: &[u8], mut look: impl FnMut(usize, &[usize]) -> bool) {
        for (at, pair) in text.windows(2).enumerate() {
            let [first, second] = *pair else { continue };
            let (word, bit) = place_of(first, second);
            if self.pairs.get(word).is_none_or(|word| word & bit == 0) {
                continue;
            }
            let own = self.by_first.get(usize::from(first));
            if look(at, own.map_or(&[], Vec::as_slice)) {
                return;
            }
        }
    }

    /// Where the secrets that are meant are whole.
    fn whole_in(&self, text: &[u8], is_meant: &dyn Fn(&Pattern) -> bool) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        self.each_candidate(text, |at, own| {
            for index in own {
                let pattern = self.patterns.get(*index).filter(|it| is_meant(it));
                found.extend(pattern.and_then(|it| Some(at..it.end(text, at)?)));
            }
            false
        });
        found
    }

    /// Where the secrets that are meant are, whole or in part.
    fn all_in(
        &self,
        text: &[u8],
        is_cut: bool,
        is_meant: &dyn Fn(&Pattern) -> bool,
    ) -> Vec<Range<usize>> {
        if self.patterns.is_empty() {
            return Vec::new();
        }
        let mut found = self.whole_in(text, is_meant);
        let cuts = memchr::memmem::find_iter(text, CUT.as_bytes());
        let mut cuts: Vec<Range<usize>> = cuts.map(|at| at..at + CUT.len()).collect();
        if is_cut {
            cuts.push(text.len()..text.len());
        }
        found.extend(self.beside(text, cuts, is_meant));
        found
    }

    /// Where parts of secrets are, beside these cuts, which are in order.
    fn beside(
        &self,
        text: &[u8],
        cuts: Vec<Range<usize>>,
        is_meant: &dyn Fn(&Pattern) -> bool,
    ) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        // What stands before a cut begins behind the one before, so that no part is looked at often.
        let mut begin = 0;
        for cut in cuts {
            let before = text.get(begin..cut.start).unwrap_or_default();
            let after = text.get(cut.end..).unwrap_or_default();
            for pattern in self.patterns.iter().filter(|it| is_meant(it)) {
                // What was taken out already is no part of anything.
                if !before.ends_with(REDACTED.as_bytes()) {
                    let part = pattern.beginning_at_end(before);
                    found.extend(part.map(|at| begin + at..cut.start));
                }
                if !after.starts_with(REDACTED.as_bytes()) {
                    let part = pattern.end_at_beginning(after);
                    found.extend(part.map(|end| cut.end..cut.end + end));
                }
            }
            begin = cut.end;
        }
        found
    }
}

fn place_of(first: u8, second: u8) -> (usize, u64) {
    let pair = usize::from(first) * BYTES + usize::from(second);
    (pair / 64, 1 << (pair % 64))
}

/// The ranges in order; those that have something in common are one.
pub(super) fn merged(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    let mut merged: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

/// The text with `<redacted>` in these ranges, if there are any.
pub(super) fn replaced(text: &str, ranges: Vec<Range<usize>>) -> Option<String> {
    let mut changed = String::with_capacity(text.len());
    // How far the text is copied.
    let mut done = 0;
    for range in merged(ranges) {
        // A spelling that was cut may end within a character.
        let start = text.floor_char_boundary(range.start).max(done);
        let end = text.ceil_char_boundary(range.end);
        changed.push_str(text.get(done..start).unwrap_or_default());
        changed.push_str(REDACTED);
        done = end.max(done);
    }
    if done == 0 {
        return None;
    }
    changed.push_str(text.get(done..).unwrap_or_default());
    Some(changed)
}

#[cfg(test)]
mod tests;
