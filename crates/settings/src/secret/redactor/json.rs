//! Secrets in JSON: in its texts, under the names of its fields, and in JSON within its texts. Whatever has
//! none keeps its bytes.

use std::fmt::Write as _;

use serde::de::IgnoredAny;

use super::{Redactor, Rules, names, note};
use crate::prelude::*;
use crate::secret::REDACTED;

/// Whether a text is an object or a list.
pub fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '[']) && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Whether a character of ASCII is written by its number, in which nothing would be seen from outside.
pub fn has_escaped_ascii(text: &str) -> bool {
    memchr::memmem::find_iter(text.as_bytes(), b"\\u00")
        .filter_map(|at| text.as_bytes().get(at + 4))
        .any(|digit| matches!(digit, b'2'..=b'7'))
}

/// Whether a text is an `HdrHistogram`, compressed and in Base64.
fn is_histogram(text: &str) -> bool {
    let is_of_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
    text.starts_with("HISTFAAA") && text.bytes().all(is_of_base64)
}

/// An object or a list that the reader is in.
#[derive(Default)]
struct Level<'a> {
    /// The key that a value of an object follows; that of the list, for all values of a list.
    name: Option<Cow<'a, str>>,
    /// The place in a list.
    index: Option<usize>,
}

struct Reader<'a, 'r> {
    redactor: &'r Redactor,
    path: &'r str,
    rules: Rules,
    levels: Vec<Level<'a>>,
}

/// What a text that is JSON becomes, if it has secrets.
pub fn redact(
    redactor: &Redactor,
    text: &str,
    path: &str,
    rules: Rules,
    places: &mut Vec<String>,
) -> Option<String> {
    let levels = Vec::new();
    let mut reader = Reader {
        redactor,
        path,
        rules,
        levels,
    };
    let mut changed = String::new();
    // How far the text is copied, and read.
    let (mut done, mut end) = (0, 0);
    while let Some(byte) = text.as_bytes().get(end) {
        let begin = end;
        end = end_of_token(text.as_bytes(), begin);
        let token = &text[begin..end];
        let with = match byte {
            b'"' => reader.text(token, places),
            b'-' | b'0'..=b'9' => reader.number(token, places),
            other => {
                reader.mark(*other);
                None
            }
        };
        if let Some(with) = with {
            changed.push_str(&text[done..begin]);
            changed.push_str(&Value::from(with).to_string());
            done = end;
        }
    }
    changed.push_str(&text[done..]);
    (done > 0).then_some(changed)
}

impl<'a> Reader<'a, '_> {
    /// Follows a bracket or a comma.
    fn mark(&mut self, mark: u8) {
        match (mark, self.levels.last_mut()) {
            (b'{', _) => self.levels.push(Level::default()),
            (b'[', last) => {
                let name = last.and_then(|last| last.name.clone());
                let index = Some(0);
                self.levels.push(Level { name, index });
            }
            (b'}' | b']', _) => drop(self.levels.pop()),
            (
                b',',
                Some(Level {
                    index: Some(index), ..
                }),
            ) => *index += 1,
            (b',', Some(last)) => last.name = None,
            _ => {}
        }
    }

    /// What a text becomes, if it has secrets.
    fn text(&mut self, token: &'a str, places: &mut Vec<String>) -> Option<String> {
        let inside = token.get(1..token.len() - 1).unwrap_or_default();
        let decoded = if inside.contains('\\') {
            // Half a character is JSON, but no text: it is looked at as it is written.
            Cow::Owned(serde_json::from_str(token).unwrap_or_else(|_| inside.to_owned()))
        } else {
            Cow::Borrowed(inside)
        };
        let name = match self.levels.last_mut() {
            Some(Level {
                name: key @ None,
                index: None,
            }) => {
                *key = Some(decoded.clone());
                let changed = self.redactor.name(&decoded)?;
                note(places, || self.place());
                return Some(changed);
            }
            last => last.and_then(|last| last.name.as_deref()),
        };
        let name = name.filter(|_| self.rules.names);
        if name.is_some_and(|name| names::is_secret(name, &decoded)) {
            let is_new = decoded != REDACTED;
            return is_new.then(|| {
                note(places, || self.place());
                REDACTED.to_owned()
            });
        }
        // Measured, and no histogram any more if a part of it were taken for a secret.
        if !self.rules.numbers && is_histogram(&decoded) {
            return None;
        }
        let rules = self.rules.deeper();
        self.redactor
            .content(&decoded, &|| self.place(), rules, places)
    }

    fn number(&self, number: &str, places: &mut Vec<String>) -> Option<String> {
        let is_secret = self.rules.numbers && self.redactor.known.has_number(number);
        is_secret.then(|| {
            note(places, || self.place());
            REDACTED.to_owned()
        })
    }

    /// The path to where the reader is. Names of fields are told without secrets.
    fn place(&self) -> String {
        let mut path = self.path.to_owned();
        for level in &self.levels {
            match level {
                // Writing to a text cannot fail.
                Level {
                    index: Some(index), ..
                } => drop(write!(path, "[{index}]")),
                Level {
                    name: Some(key), ..
                } => {
                    if !path.is_empty() {
                        path.push('.');
                    }
                    let words = self.redactor.name(key);
                    path.push_str(words.as_deref().unwrap_or(key));
                }
                _ => {}
            }
        }
        path
    }
}

/// Where the token that begins here ends: a text, a number, or any other byte alone.
fn end_of_token(bytes: &[u8], begin: usize) -> usize {
    let is_of_number = |byte: &u8| byte.is_ascii_digit() || b"-+.eE".contains(byte);
    let mut at = begin + 1;
    if bytes[begin] == b'"' {
        while let Some(byte) = bytes.get(at) {
            at += if *byte == b'\\' { 2 } else { 1 };
            if *byte == b'"' {
                return at;
            }
        }
    } else if bytes[begin] == b'-' || bytes[begin].is_ascii_digit() {
        at += bytes[at..]
            .iter()
            .take_while(|byte| is_of_number(byte))
            .count();
    }
    at.min(bytes.len())
}
