//! Secrets in JSON: in its texts, under the names of its fields, and in JSON within its texts. Whatever has
//! none keeps its bytes.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde::de::IgnoredAny;

use super::{PLACES_MAX, Redactor, Rules, names};
use crate::secret::REDACTED;

/// Whether a text is an object or a list.
pub(super) fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '[']) && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Whether a character of ASCII is written by its number, in which nothing would be seen from outside.
pub(super) fn has_escaped_ascii(text: &str) -> bool {
    let escapes = memchr::memmem::find_iter(text.as_bytes(), b"\\u00");
    let mut digits = escapes.filter_map(|at| text.as_bytes().get(at + 4));
    digits.any(|digit| matches!(digit, b'2'..=b'7'))
}

/// Where in a document the reader is.
enum Level<'a> {
    /// In an object, behind this key.
    Object(Option<Cow<'a, str>>),
    /// In a list, at this index; the name is that of the list.
    List(usize, Option<Cow<'a, str>>),
}

struct Reader<'a, 'r> {
    redactor: &'r Redactor,
    text: &'a str,
    path: &'r str,
    rules: Rules,
    depth: usize,
    levels: Vec<Level<'a>>,
    changed: String,
    /// How far the text is copied.
    done: usize,
}

/// What a text that is JSON becomes, if it has secrets.
pub(super) fn redact(
    redactor: &Redactor,
    text: &str,
    path: &str,
    (rules, depth): (Rules, usize),
    places: &mut Vec<String>,
) -> Option<String> {
    let mut reader = Reader {
        redactor,
        text,
        path,
        rules,
        depth,
        levels: Vec::new(),
        changed: String::new(),
        done: 0,
    };
    reader.read(places);
    if reader.done == 0 {
        return None;
    }
    let rest = text.get(reader.done..).unwrap_or_default();
    reader.changed.push_str(rest);
    Some(reader.changed)
}

impl<'a> Reader<'a, '_> {
    fn read(&mut self, places: &mut Vec<String>) {
        let bytes = self.text.as_bytes();
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'"' => {
                    let end = end_of_text(bytes, at);
                    self.text_at(at, end, places);
                    at = end;
                    continue;
                }
                b'{' => self.levels.push(Level::Object(None)),
                b'[' => {
                    let name = self.name().map(|name| Cow::Owned(name.to_owned()));
                    self.levels.push(Level::List(0, name));
                }
                b'}' | b']' => drop(self.levels.pop()),
                b',' => match self.levels.last_mut() {
                    Some(Level::Object(key)) => *key = None,
                    Some(Level::List(index, _)) => *index += 1,
                    None => {}
                },
                b'-' | b'0'..=b'9' => {
                    let rest = bytes.get(at..).unwrap_or_default();
                    let length = rest.iter().position(|byte| !is_of_number(*byte));
                    let end = at + length.unwrap_or(rest.len());
                    self.number_at(at, end, places);
                    at = end;
                    continue;
                }
                _ => {}
            }
            at += 1;
        }
    }

    /// The name under which a value stands here.
    fn name(&self) -> Option<&str> {
        match self.levels.last()? {
            Level::Object(name) | Level::List(_, name) => name.as_deref(),
        }
    }

    fn text_at(&mut self, begin: usize, end: usize, places: &mut Vec<String>) {
        let inside = self.text.get(begin + 1..end.saturating_sub(1));
        let inside = inside.unwrap_or_default();
        let decoded: Cow<'a, str> = if inside.contains('\\') {
            let text = self.text.get(begin..end).unwrap_or_default();
            // Half a character is JSON, but no text: it is looked at as it is written.
            Cow::Owned(serde_json::from_str(text).unwrap_or_else(|_| inside.to_owned()))
        } else {
            Cow::Borrowed(inside)
        };
        if let Some(Level::Object(key @ None)) = self.levels.last_mut() {
            *key = Some(decoded.clone());
            if let Some(changed) = self.redactor.name(&decoded) {
                self.note(places);
                self.replace(begin, end, &serde_json::Value::from(changed).to_string());
            }
            return;
        }
        let name = self.name();
        let name = name.filter(|_| self.rules.names);
        let is_secret = name.is_some_and(|name| names::is_secret(name, &decoded));
        let changed = if is_secret {
            let is_new = decoded != REDACTED;
            if is_new {
                self.note(places);
            }
            is_new.then(|| REDACTED.to_owned())
        } else {
            let deeper = (self.rules, self.depth + 1);
            self.redactor
                .content(&decoded, &|| self.place(), deeper, places)
        };
        if let Some(changed) = changed {
            self.replace(begin, end, &serde_json::Value::from(changed).to_string());
        }
    }

    fn number_at(&mut self, begin: usize, end: usize, places: &mut Vec<String>) {
        let number = self.text.get(begin..end).unwrap_or_default();
        if self.rules.numbers && self.redactor.known.has_number(number) {
            self.note(places);
            self.replace(begin, end, &format!("\"{REDACTED}\""));
        }
    }

    fn note(&self, places: &mut Vec<String>) {
        if places.len() < PLACES_MAX {
            places.push(self.place());
        }
    }

    /// The path to where the reader is. Names of fields are told without secrets.
    fn place(&self) -> String {
        let mut path = self.path.to_owned();
        for level in &self.levels {
            match level {
                Level::Object(Some(key)) => {
                    if !path.is_empty() {
                        path.push('.');
                    }
                    let words = self.redactor.name(key);
                    path.push_str(words.as_deref().unwrap_or(key));
                }
                // Writing to a text cannot fail.
                Level::List(index, _) => drop(write!(path, "[{index}]")),
                Level::Object(None) => {}
            }
        }
        path
    }

    fn replace(&mut self, begin: usize, end: usize, with: &str) {
        let before = self.text.get(self.done..begin).unwrap_or_default();
        self.changed.push_str(before);
        self.changed.push_str(with);
        self.done = end;
    }
}

/// Where the text that begins here ends, behind its quote.
fn end_of_text(bytes: &[u8], begin: usize) -> usize {
    let mut at = begin + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

const fn is_of_number(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E')
}
