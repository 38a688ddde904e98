//! Secrets that show by themselves in a text: keys of known services, `Bearer …`, `password=…`, and
//! passwords in addresses.

use std::ops::Range;

use super::names;
use crate::secret::known::replaced;
use crate::secret::{has_secret_prefix, is_scheme};

/// A shorter word is none of the keys of services.
const KEY_CHARS_MIN: usize = 12;
/// What follows `Bearer` is longer than this.
const BEARER_CHARS_MIN: usize = 8;

/// The text without them, if it has any.
pub(super) fn redact(text: &str) -> Option<String> {
    replaced(text, ranges(text))
}

/// Where they are, in order.
pub(super) fn ranges(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut words = Words { text, at: 0 };
    let mut before: Option<Word<'_>> = None;
    while let Some(word) = words.next() {
        if word.text.is_empty() {
            continue;
        }
        let secret = secret_of(text, word, before);
        before = Some(word);
        let done = found.last().map_or(0, |range| range.end);
        let Some((begin, end)) = secret.filter(|(begin, _)| *begin >= done) else {
            continue;
        };
        found.push(begin..end);
        words.at = words.at.max(end);
    }
    found
}

/// How far behind a cut a secret is looked for.
const BEHIND_CUT_MAX: usize = 8 * 1024;

/// Where they are before a cut, with those that go on behind it.
pub(super) fn ranges_to(text: &str, end: usize) -> Vec<Range<usize>> {
    let whole = text.floor_char_boundary(end.saturating_add(BEHIND_CUT_MAX));
    let mut found = ranges(text.get(..whole).unwrap_or(text));
    found.retain_mut(|range| {
        range.end = range.end.min(end);
        range.start < range.end
    });
    found
}

/// Where a secret may begin that goes on behind the end of a text, in the last line of it.
pub fn pending(text: &[u8]) -> usize {
    let is_of_value =
        |byte: u8| is_of_word(byte) || matches!(byte, b'+' | b'/' | b'=' | b'%' | b':' | b'@');
    let line = memchr::memrchr(b'\n', text).map_or(0, |at| at + 1);
    let word = text
        .iter()
        .rposition(|byte| !is_of_value(*byte))
        .map_or(0, |at| at + 1);
    // The word before may announce it.
    let before = text.get(line..word).unwrap_or_default().trim_ascii_end();
    let before = before.iter().rposition(|byte| !is_of_value(*byte));
    before.map_or(line, |at| line + at + 1)
}

/// How words begin that are secrets or announce one, in small letters.
const SIGNS: &[&[u8]] = &[
    b"sk-", b"sk_", b"rk_", b"aiza", b"gh", b"glpat-", b"xox", b"eyj", b"akia", b"hvs.", b"bearer",
    b"basic", b"=", b"://",
];

/// Calls `note` with each pair of bytes that a sign begins with.
pub fn each_pair(mut note: impl FnMut(u8, u8)) {
    for sign in SIGNS {
        let first = sign.first().copied().unwrap_or_default();
        let seconds: Vec<u8> = match sign.get(1) {
            Some(second) => vec![*second, second.to_ascii_uppercase()],
            None => (0..=u8::MAX).collect(),
        };
        for first in [first, first.to_ascii_uppercase()] {
            for second in &seconds {
                note(first, *second);
            }
        }
    }
}

/// Whether a sign of a secret begins here.
pub fn has_sign(text: &[u8], at: usize) -> bool {
    let rest = text.get(at..).unwrap_or_default();
    SIGNS.iter().any(|sign| {
        rest.get(..sign.len())
            .is_some_and(|there| there.eq_ignore_ascii_case(sign))
    })
}

/// A word of letters, digits and `_-.~`, and where it is.
#[derive(Clone, Copy)]
struct Word<'a> {
    text: &'a str,
    begin: usize,
    end: usize,
}

struct Words<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Words<'a> {
    fn next(&mut self) -> Option<Word<'a>> {
        let bytes = self.text.as_bytes();
        let rest = bytes.get(self.at..)?;
        let mut begin = self.at + rest.iter().position(|byte| is_of_word(*byte))?;
        // In the text of a file, the letter of an escape is none of the word.
        let is_escaped = begin.checked_sub(1).and_then(|at| bytes.get(at)) == Some(&b'\\');
        if is_escaped && matches!(bytes.get(begin), Some(b'n' | b'r' | b't')) {
            begin += 1;
        }
        let length = bytes
            .get(begin..)?
            .iter()
            .position(|byte| !is_of_word(*byte));
        let end = length.map_or(bytes.len(), |length| begin + length);
        self.at = end;
        Some(Word {
            text: self.text.get(begin..end)?,
            begin,
            end,
        })
    }
}

const fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'~')
}

/// What of the text is a secret, because of this word.
fn secret_of(text: &str, word: Word<'_>, before: Option<Word<'_>>) -> Option<(usize, usize)> {
    let key = word.text.trim_end_matches('.');
    let has_digit = |text: &str| text.bytes().any(|byte| byte.is_ascii_digit());
    let is_key = key.len() >= KEY_CHARS_MIN && has_digit(key) && has_secret_prefix(key);
    if is_key {
        return Some((word.begin, word.begin + key.len()));
    }
    let before = before?;
    let between = text.get(before.end..word.begin)?;
    let value_end = || {
        let rest = text.get(word.begin..).unwrap_or_default();
        let is_of_value = |byte: u8| is_of_word(byte) || matches!(byte, b'+' | b'/' | b'=' | b'%');
        let length = rest.bytes().position(|byte| !is_of_value(byte));
        word.begin + length.unwrap_or(rest.len())
    };
    if between.chars().all(char::is_whitespace) && is_scheme(before.text) {
        let end = value_end();
        let value = text.get(word.begin..end)?;
        return (value.len() >= BEARER_CHARS_MIN && has_digit(value)).then_some((word.begin, end));
    }
    if between == "=" && names::is_secret(before.text, word.text) {
        return Some((word.begin, value_end()));
    }
    // `scheme://user:password@host`
    let is_user = text
        .get(..before.begin)
        .is_some_and(|text| text.ends_with("://"));
    if between == ":" && is_user {
        let rest = text.get(word.begin..)?;
        let end = rest.find(['@', '/', ' ', '"'])?;
        let is_password = rest.get(end..)?.starts_with('@');
        return is_password.then_some((word.begin, word.begin + end));
    }
    None
}
