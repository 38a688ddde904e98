//! Secrets that are known: what the environment gave. They are taken out of whatever is written down, however
//! they are spelled there, and where a text was cut in the middle of one.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use super::REDACTED;
use super::forms;
use super::pattern::Pattern;

/// What stands where a text was cut.
const CUT: &str = "…";
/// How a trace goes on behind a value that was cut.
const CUT_IN_TRACE: &str = "\",\"cut_bytes\":";
/// In files a shorter word of letters alone may be part of the format, which must stay readable.
const FILE_WORD_BYTES_MIN: usize = 8;
/// A shorter secret in the name of a field is taken for that name.
const NAME_CHARS_MIN: usize = 8;
/// How many values a byte has.
const BYTES: usize = 256;

/// Knows secrets, and takes them out.
///
/// ```
/// use mcprove::secret::KnownSecrets;
///
/// let secrets = KnownSecrets::new(["hunter22\"".to_owned()]);
/// assert_eq!(secrets.text(r#"{"a":"hunter22\""}"#).as_deref(), Some(r#"{"a":"<redacted>"}"#));
/// assert_eq!(secrets.text("it is hunt…").as_deref(), Some("it is <redacted>…"));
/// assert_eq!(secrets.text("nothing"), None);
/// ```
#[derive(Debug, Clone, Default)]
pub struct KnownSecrets(Option<Arc<Known>>);

#[derive(Debug)]
struct Known {
    patterns: Vec<Pattern>,
    /// For each pair of bytes, in one bit, whether a secret may begin with it.
    pairs: Vec<u64>,
    /// For each byte, which secrets may begin with it.
    by_first: Vec<Vec<usize>>,
    /// Secrets that are numbers.
    numbers: BTreeSet<String>,
}

impl KnownSecrets {
    /// Those of these values that are secrets.
    pub fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        let mut all = BTreeSet::new();
        let mut numbers = BTreeSet::new();
        for secret in secrets {
            forms::add(&secret, &mut all);
            if forms::is_long_number(&secret) {
                numbers.insert(secret);
            }
        }
        if all.is_empty() {
            return Self(None);
        }
        let patterns: Vec<Pattern> = all.iter().map(|form| Pattern::new(form)).collect();
        Self(Some(Arc::new(Known::new(patterns, numbers))))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Whether a number in JSON is one of them.
    pub(crate) fn has_number(&self, number: &str) -> bool {
        let known = self.0.as_ref();
        known.is_some_and(|known| known.numbers.contains(number))
    }

    /// What a text becomes, if it has secrets.
    pub fn text(&self, text: &str) -> Option<String> {
        self.without(text, |_| true)
    }

    /// What the name of a field becomes, if it has secrets that no name is likely to have.
    pub(crate) fn name(&self, name: &str) -> Option<String> {
        self.without(name, |pattern| {
            pattern.value.chars().count() >= NAME_CHARS_MIN
        })
    }

    fn without(&self, text: &str, is_meant: impl Fn(&Pattern) -> bool) -> Option<String> {
        let known = self.0.as_ref()?;
        let mut found = known.found(text.as_bytes(), &is_meant);
        found.extend(known.parts(text, &is_meant));
        replaced(text, merged(found))
    }

    /// Blots them out in a piece of a file. What stands in their place is as long, so that nothing that was
    /// counted changes, and a number stays one. `is_end` says that the file ends with it.
    pub(crate) fn blot(&self, piece: &mut [u8], is_end: bool) -> bool {
        let Some(known) = &self.0 else {
            return false;
        };
        let mut found = known.found(piece, &is_for_files);
        found.retain(|range| {
            let is_number = piece.get(range.clone()).is_some_and(is_number);
            !is_number || stands_alone(piece, range)
        });
        let mut cuts: Vec<Range<usize>> = Vec::new();
        for mark in [CUT, CUT_IN_TRACE] {
            let places = memchr::memmem::find_iter(piece, mark.as_bytes());
            cuts.extend(places.map(|at| at..at + mark.len()));
        }
        cuts.sort_unstable_by_key(|cut| cut.start);
        if is_end {
            cuts.push(piece.len()..piece.len());
        }
        found.extend(known.beside(piece, cuts, &is_for_files));
        for range in &found {
            blot_out(piece, range.clone());
        }
        !found.is_empty()
    }
}

impl Known {
    fn new(patterns: Vec<Pattern>, numbers: BTreeSet<String>) -> Self {
        let mut pairs = vec![0_u64; BYTES * BYTES / 64];
        let mut by_first = vec![Vec::new(); BYTES];
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
                        let (word, bit) = place_of(first, second);
                        if let Some(word) = pairs.get_mut(word) {
                            *word |= bit;
                        }
                    }
                }
            }
        }
        Self {
            patterns,
            pairs,
            by_first,
            numbers,
        }
    }

    /// Where the secrets are that are meant.
    fn found(&self, text: &[u8], is_meant: &dyn Fn(&Pattern) -> bool) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        for (at, pair) in text.windows(2).enumerate() {
            let [first, second] = *pair else { continue };
            let (word, bit) = place_of(first, second);
            if self.pairs.get(word).is_none_or(|word| word & bit == 0) {
                continue;
            }
            let own = self.by_first.get(usize::from(first));
            for index in own.into_iter().flatten() {
                let pattern = self.patterns.get(*index).filter(|it| is_meant(it));
                found.extend(pattern.and_then(|it| Some(at..it.end(text, at)?)));
            }
        }
        found
    }

    /// Where parts of secrets are, beside the marks of cuts in a text.
    fn parts(&self, text: &str, is_meant: &dyn Fn(&Pattern) -> bool) -> Vec<Range<usize>> {
        let cuts = text
            .match_indices(CUT)
            .map(|(at, mark)| at..at + mark.len());
        self.beside(text.as_bytes(), cuts.collect(), is_meant)
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
fn merged(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
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

/// The text with something else in these ranges, if there are any.
fn replaced(text: &str, ranges: Vec<Range<usize>>) -> Option<String> {
    let mut changed = String::with_capacity(text.len());
    // How far the text is copied.
    let mut done = 0;
    for range in ranges {
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

fn is_for_files(pattern: &Pattern) -> bool {
    let value = pattern.value.as_bytes();
    let is_word = value
        .iter()
        .all(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
    !is_word || value.len() >= FILE_WORD_BYTES_MIN
}

fn is_number(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok_and(|text| text.parse::<f64>().is_ok())
}

/// Whether a number is not a part of another.
fn stands_alone(piece: &[u8], range: &Range<usize>) -> bool {
    let is_of_number =
        |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_digit() || *byte == b'.');
    let before = range.start.checked_sub(1).and_then(|at| piece.get(at));
    !is_of_number(before) && !is_of_number(piece.get(range.end))
}

/// Blots out a part of a file; a number stays one.
pub(crate) fn blot_out(piece: &mut [u8], range: Range<usize>) {
    if let Some(part) = piece.get_mut(range) {
        part.fill(if is_number(part) { b'9' } else { b'*' });
    }
}

#[cfg(test)]
mod tests;
