//! Secrets that are known: what the environment, the command line and files gave. They are found however they are
//! spelled, and where a text was cut in the middle of one.
//!
//! [`AhoCorasick`] finds where a text may have one, in one pass; what is written there is compared with the secret
//! letter by letter, as [`readings`] has them.

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use super::redactor::plain;
use super::spelling::{beginnings, behind_backslashes, may_be_cut, may_begin, readings};
use super::{REDACTED, forms};
use crate::prelude::*;

/// What stands where a text was cut.
const CUT: &str = "…";
/// A shorter secret in the name of a field is taken for that name.
const NAME_CHARS_MIN: usize = 8;
/// A shorter part of a secret beside a cut gives nothing away.
const PART_CHARS_MIN: usize = 4;
/// What is left of a spelling that was cut within is not longer.
const REST_BYTES_MAX: usize = 9;
/// How long a quote behind the mark of a cut may be, escaped and all.
const QUOTES_MAX: usize = 4;
/// How many bytes a character of a secret takes at most, for each of its own: none takes more at the depths that occur.
const SPELLED_BYTES_MAX: usize = 12;

/// The characters of a secret.
type Letters = Vec<char>;

/// Knows secrets, and finds them.
pub struct KnownSecrets {
    /// As they were given, with those that are too short to be secrets.
    pub values: BTreeSet<String>,
    /// In all their forms.
    secrets: Vec<Letters>,
    /// How they may begin, and signs of what shows by itself that it is a secret.
    beginnings: AhoCorasick,
    /// For each beginning, which secrets have it; a sign is none's.
    owners: Vec<Vec<usize>>,
    /// For each byte, which secrets may begin with it.
    by_first: Vec<BTreeSet<usize>>,
    numbers: BTreeSet<String>,
    /// How many bytes the longest of them may take.
    pub span_max: usize,
}

pub static NONE: LazyLock<Arc<KnownSecrets>> = LazyLock::new(|| Arc::new(KnownSecrets::new([])));

/// How far a text goes along with a secret.
#[derive(Default)]
struct Along {
    /// Where the secret ends, if all of it is there.
    end: Option<usize>,
    /// Whether it may go on where the text ends.
    is_cut: bool,
}

impl KnownSecrets {
    /// Those of these values that are secrets.
    pub fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        let values: BTreeSet<String> = secrets.into_iter().collect();
        let mut all = BTreeSet::new();
        for secret in &values {
            forms::add(secret, &mut all);
        }
        let numbers = values.iter().filter(|value| forms::is_long_number(value));
        let secrets: Vec<Letters> = all.iter().map(|form| form.chars().collect()).collect();
        let mut owners: BTreeMap<Vec<u8>, Vec<usize>> = BTreeMap::new();
        let mut by_first = vec![BTreeSet::new(); 256];
        for (index, secret) in secrets.iter().enumerate() {
            if let [one, two, ..] = secret.as_slice() {
                for beginning in beginnings(*one, *two) {
                    by_first[usize::from(beginning[0])].insert(index);
                    owners.entry(beginning).or_default().push(index);
                }
            }
        }
        // A secret may begin as a sign does: that is found twice then, and stays a sign.
        let signs = plain::signs().map(|sign| (sign.as_bytes().to_vec(), Vec::new()));
        let (beginnings, owners): (Vec<_>, Vec<_>) = signs.chain(owners).unzip();
        let finder = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::DFA))
            .build(beginnings);
        Self {
            numbers: numbers.cloned().collect(),
            beginnings: finder.expect("one or two bytes of each secret"),
            owners,
            by_first,
            span_max: secrets.iter().map(span_max).max().unwrap_or(0),
            secrets,
            values,
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
        let is_meant = |secret: &Letters| secret.len() >= NAME_CHARS_MIN;
        replaced(name, self.all_in(name.as_bytes(), false, &is_meant))
    }

    /// Where they are in a text. `is_cut` says that the text goes on behind its end, or was broken off there.
    pub fn found(&self, text: &[u8], is_cut: bool) -> Vec<Range<usize>> {
        self.all_in(text, is_cut, &|_| true)
    }

    /// Whether one may be in a text, or something that shows by itself that it is a secret: fast, and sure where it says
    /// no.
    pub fn may_have(&self, text: &[u8]) -> bool {
        self.beginnings.find_overlapping_iter(text).any(|it| {
            let owners = &self.owners[it.pattern()];
            owners.is_empty() || owners.iter().any(|own| self.end(*own, text, it.start()).is_some())
        })
            // Beside the mark of a cut there may be a part of one.
            || !self.secrets.is_empty() && memchr::memmem::find(text, CUT.as_bytes()).is_some()
    }

    /// Whether one reaches over several tokens of a text that is JSON.
    pub fn is_across_tokens(&self, json: &str) -> bool {
        let is_mark = |letter: &char| ['"', '{', '}', '[', ']', ',', ':'].contains(letter);
        let is_meant = |secret: &Letters| secret.iter().any(is_mark);
        self.secrets.iter().any(is_meant)
            && self.whole_in(json.as_bytes(), &is_meant).next().is_some()
    }

    /// Where one may begin that goes on behind the end of a text; the length of the text if none does.
    pub fn pending(&self, text: &[u8]) -> usize {
        let from = text.len().saturating_sub(self.span_max);
        let goes_on = |at: &usize| {
            self.by_first[usize::from(text[*at])]
                .iter()
                .any(|own| along(&self.secrets[*own], text, *at, 0).is_cut)
        };
        (from..text.len()).find(goes_on).unwrap_or(text.len())
    }

    /// Where a secret ends that begins here.
    fn end(&self, secret: usize, text: &[u8], from: usize) -> Option<usize> {
        along(&self.secrets[secret], text, from, PART_CHARS_MIN).end
    }

    /// Where the secrets that are meant are whole.
    fn whole_in<'a>(
        &'a self,
        text: &'a [u8],
        is_meant: &'a dyn Fn(&Letters) -> bool,
    ) -> impl Iterator<Item = Range<usize>> + 'a {
        self.beginnings
            .find_overlapping_iter(text)
            .flat_map(move |it| {
                self.owners[it.pattern()]
                    .iter()
                    .filter(|own| is_meant(&self.secrets[**own]))
                    .filter_map(move |own| Some(it.start()..self.end(*own, text, it.start())?))
            })
    }

    /// Where the secrets that are meant are, whole or in part.
    fn all_in(
        &self,
        text: &[u8],
        is_cut: bool,
        is_meant: &dyn Fn(&Letters) -> bool,
    ) -> Vec<Range<usize>> {
        if self.secrets.is_empty() {
            return Vec::new();
        }
        let mut found: Vec<Range<usize>> = self.whole_in(text, is_meant).collect();
        let cuts = memchr::memmem::find_iter(text, CUT.as_bytes())
            .map(|at| at..at + CUT.len())
            .chain(is_cut.then_some(text.len()..text.len()));
        // What stands before a cut begins behind the one before, so that no part is looked at often.
        let mut begin = 0;
        for cut in cuts {
            let (before, after) = (&text[begin..cut.start], &text[cut.end..]);
            for secret in self.secrets.iter().filter(|it| is_meant(it)) {
                // What was taken out already is no part of anything.
                if !before.ends_with(REDACTED.as_bytes()) {
                    let part = beginning_at_end(secret, before);
                    found.extend(part.map(|at| begin + at..cut.start));
                }
                if !after.starts_with(REDACTED.as_bytes()) {
                    let part = end_at_beginning(secret, after);
                    found.extend(part.map(|end| cut.end..cut.end + end));
                }
            }
            begin = cut.end;
        }
        found
    }
}

/// How many bytes a secret may take.
fn span_max(secret: &Letters) -> usize {
    let bytes: usize = secret.iter().map(|letter| letter.len_utf8()).sum();
    bytes.saturating_mul(SPELLED_BYTES_MAX)
}

/// Where a part of a secret begins with which a text ends, if it is long enough.
fn beginning_at_end(secret: &Letters, text: &[u8]) -> Option<usize> {
    let from = text.len().saturating_sub(span_max(secret));
    let mut places = from..text.len().saturating_sub(PART_CHARS_MIN - 1);
    places.find(|at| along(secret, text, *at, PART_CHARS_MIN).is_cut)
}

/// Where a part of a secret ends with which a text begins, if it is long enough.
fn end_at_beginning(secret: &Letters, text: &[u8]) -> Option<usize> {
    // The rest of a text may be quoted behind the mark of the cut.
    let is_quote = |byte: &&u8| matches!(**byte, b'"' | b'\'' | b'\\');
    let quotes = text.iter().take(QUOTES_MAX).take_while(is_quote).count();
    let last = secret.len().saturating_sub(PART_CHARS_MIN);
    (1..=last).find_map(|skipped| {
        let (before, rest) = secret.split_at(skipped);
        let is_plain = before.last().is_some_and(char::is_ascii_alphanumeric);
        // The character before it may have been cut within.
        let most = if is_plain { 0 } else { REST_BYTES_MAX };
        (0..=quotes.max(most)).find_map(|from| along(rest, text, from, PART_CHARS_MIN).end)
    })
}

/// How far a text goes along with a secret from here on. A part of fewer than `chars_min` characters at the end of the
/// text is none.
fn along(secret: &[char], text: &[u8], from: usize, chars_min: usize) -> Along {
    let rest = text.get(from..).unwrap_or_default();
    let is_plain =
        |(own, there): &(&char, &u8)| own.is_ascii_alphanumeric() && **own == char::from(**there);
    let plain = secret.iter().zip(rest).take_while(is_plain).count();
    let next = secret.get(plain).zip(rest.get(plain));
    if next.is_some_and(|(own, there)| !may_begin(*own, *there)) {
        return Along::default();
    }
    // All places where what was read so far may end: few spellings can be read in two ways.
    let mut places = vec![from + plain];
    let mut is_cut = false;
    for (count, own) in secret.iter().enumerate().skip(plain) {
        let mut ends = Vec::new();
        for place in places {
            let rest = text.get(place..).unwrap_or_default();
            is_cut |= count >= chars_min && may_be_cut(*own, rest);
            let mut found = readings(text, place);
            if count > 0 && secret[count - 1] == '\\' && !own.is_ascii_alphanumeric() {
                // The backslash of an escape may have been taken for that of the secret.
                behind_backslashes(text, place, &mut found);
            }
            // What has several lines may be written on one.
            let same = found
                .into_iter()
                .filter(|(it, _)| it == own || *it == ' ' && own.is_control());
            ends.extend(same.map(|(_, end)| end));
        }
        ends.sort_unstable();
        ends.dedup();
        places = ends;
        if places.is_empty() {
            break;
        }
    }
    let end = places.last().copied();
    // One that is whole is cut nowhere.
    let is_cut = is_cut && end.is_none();
    Along { end, is_cut }
}

/// The ranges in order; those that have something in common are one.
pub fn merged(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
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

/// Bytes with `<redacted>` in these ranges.
pub fn replaced_bytes(bytes: &[u8], ranges: Vec<Range<usize>>) -> Vec<u8> {
    let mut changed = Vec::with_capacity(bytes.len());
    // How far they are copied.
    let mut done = 0;
    for range in merged(ranges) {
        changed.extend_from_slice(&bytes[done..range.start]);
        changed.extend_from_slice(REDACTED.as_bytes());
        done = range.end;
    }
    changed.extend_from_slice(&bytes[done..]);
    changed
}

/// The text with `<redacted>` in these ranges, if there are any.
pub fn replaced(text: &str, ranges: Vec<Range<usize>>) -> Option<String> {
    // A spelling that was cut may end within a character.
    let whole =
        |it: Range<usize>| text.floor_char_boundary(it.start)..text.ceil_char_boundary(it.end);
    let ranges: Vec<Range<usize>> = ranges.into_iter().map(whole).collect();
    let changed = (!ranges.is_empty()).then(|| replaced_bytes(text.as_bytes(), ranges))?;
    Some(String::from_utf8_lossy(&changed).into_owned())
}

#[cfg(test)]
mod tests;
