//! Secrets that show by themselves in a text: keys of known services, `Bearer …`, `password=…`, and
//! passwords in addresses.

use super::names;
use crate::prelude::*;
use crate::secret::known::replaced;
use crate::secret::{SECRET_PREFIXES, has_secret_prefix, is_scheme};

/// A shorter word is none of the keys of services.
const KEY_CHARS_MIN: usize = 12;
/// What follows `Bearer` is longer than this.
const BEARER_CHARS_MIN: usize = 8;

/// The text without them, if it has any.
pub fn redact(text: &str) -> Option<String> {
    replaced(text, ranges(text))
}

/// Where they are, in order.
pub fn ranges(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut before = None;
    for (begin, word) in words(text) {
        let done = found.last().map_or(0, |range| range.end);
        if begin >= done {
            found.extend(secret_of(text, (begin, word), before));
            before = Some((begin, word));
        }
    }
    found
}

/// How far behind a cut a secret is looked for.
const BEHIND_CUT_MAX: usize = 8 * 1024;

/// Where they are before a cut, with those that go on behind it.
pub fn ranges_to(text: &str, end: usize) -> Vec<Range<usize>> {
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
    text.get(line..word)
        .unwrap_or_default()
        .trim_ascii_end()
        .iter()
        .rposition(|byte| !is_of_value(*byte))
        .map_or(line, |at| line + at + 1)
}

/// What a text with such secrets has, in any case: how words begin that are secrets, and what announces one.
pub fn signs() -> impl Iterator<Item = &'static str> {
    SECRET_PREFIXES
        .split(' ')
        .chain(["bearer", "basic", "=", "://"])
}

/// The words of letters, digits and `_-.~`, and where each begins. The letter of an escape in the text of a file is of no
/// word.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let is_start = |byte: &u8| is_of_word(*byte) || *byte == b'\\';
            let begin = at + text.as_bytes()[at..].iter().position(is_start)?;
            let rest = &text.as_bytes()[begin..];
            at = begin
                + match rest {
                    [b'\\', b'n' | b'r' | b't', ..] => 2,
                    [b'\\', ..] => 1,
                    _ => rest.iter().take_while(|byte| is_of_word(**byte)).count(),
                };
            if rest[0] != b'\\' {
                return Some((begin, &text[begin..at]));
            }
        }
    })
}

const fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'~')
}

/// What of the text is a secret, because of this word.
fn secret_of(
    text: &str,
    (begin, word): (usize, &str),
    before: Option<(usize, &str)>,
) -> Option<Range<usize>> {
    let key = word.trim_end_matches('.');
    let has_digit = |text: &str| text.bytes().any(|byte| byte.is_ascii_digit());
    let is_key = key.len() >= KEY_CHARS_MIN && has_digit(key) && has_secret_prefix(key);
    if is_key {
        return Some(begin..begin + key.len());
    }
    let (start, before) = before?;
    let between = text.get(start + before.len()..begin)?;
    let value_end = || {
        let rest = &text[begin..];
        let is_of_value = |byte: u8| is_of_word(byte) || matches!(byte, b'+' | b'/' | b'=' | b'%');
        let length = rest.bytes().position(|byte| !is_of_value(byte));
        begin + length.unwrap_or(rest.len())
    };
    if between.chars().all(char::is_whitespace) && is_scheme(before) {
        let end = value_end();
        let value = &text[begin..end];
        return (value.len() >= BEARER_CHARS_MIN && has_digit(value)).then_some(begin..end);
    }
    if between == "=" && names::is_secret(before, word) {
        return Some(begin..value_end());
    }
    // `scheme://user:password@host`
    let is_user = text[..start].ends_with("://");
    if between == ":" && is_user {
        let rest = &text[begin..];
        let end = rest.find(['@', '/', ' ', '"'])?;
        let is_password = rest[end..].starts_with('@');
        return is_password.then_some(begin..begin + end);
    }
    None
}
