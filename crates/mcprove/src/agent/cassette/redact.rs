//! Taking secrets out of what is written down: cassettes, traces, reports.
//!
//! Taken out are the values that the environment gave ([`Environment::secrets`]), in every form in which they
//! may come back ([`KnownSecrets`]); what stands in JSON under a name like `api_key`
//! ([`names`]); and what shows by itself that it is a key ([`plain`]). In its place stands `<redacted>`.
//!
//! JSON stays JSON: only texts in it change, and everything else keeps its bytes. What is done depends on
//! the text alone that it is done to, and done twice it changes nothing more, so that a request that is built
//! from redacted answers is the redacted request.

mod json;
mod names;
mod plain;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeSet;

use mcprove_score::trace::AgentRun;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::secret::{KnownSecrets, REDACTED, blot_out};
use crate::suite::plan::Environment;

pub use crate::secret::SECRET_CHARS_MIN;

/// How deep JSON in texts of JSON is looked into.
const NESTED_MAX: usize = 6;
/// How many places of one exchange are told.
pub const PLACES_MAX: usize = 50;

/// Knows secrets, and takes them out.
///
/// ```
/// use mcprove::agent::cassette::Redactor;
///
/// let redactor = Redactor::new(["hunter22".to_owned()]);
/// assert_eq!(redactor.text("it is hunter22!"), "it is <redacted>!");
/// assert_eq!(redactor.text(r#"{"api_key":"abc-1234","n": 1}"#), r#"{"api_key":"<redacted>","n": 1}"#);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Redactor {
    /// What the environment gave.
    known: KnownSecrets,
}

/// A text without secrets, and where they were.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted<'a> {
    /// The text.
    pub text: Cow<'a, str>,
    /// Where something was taken out, as paths into JSON; an empty one is the text itself.
    pub places: Vec<String>,
}

impl Redactor {
    /// One that knows these secrets, besides what it recognises.
    pub fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        Self {
            known: KnownSecrets::new(secrets),
        }
    }

    /// One that knows what the environment gave so far.
    pub fn of(environment: &Environment) -> Self {
        Self::new(environment.secrets())
    }

    /// One that knows what the environment gave so far, but for the words of these names.
    pub fn beside(environment: &Environment, names: &BTreeSet<String>) -> Self {
        Self::new(environment.secrets_beside(names))
    }

    /// Whether a number in JSON is a secret.
    pub(crate) fn has_number(&self, number: &str) -> bool {
        self.known.has_number(number)
    }

    /// The text without secrets.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.redact(text).text
    }

    /// The text without secrets, and where they were.
    pub fn redact<'a>(&self, text: &'a str) -> Redacted<'a> {
        let mut places = Vec::new();
        let changed = self.content(text, &String::new, 0, &mut places);
        Redacted {
            text: changed.map_or(Cow::Borrowed(text), Cow::Owned),
            places,
        }
    }

    /// Something that is written as JSON, without secrets. `None` if it is no JSON, or is none of its kind any more.
    pub fn of_json<T: Serialize + DeserializeOwned>(&self, it: &T) -> Option<T> {
        let text = serde_json::to_string(it).ok()?;
        serde_json::from_str(&self.text(&text)).ok()
    }

    /// A run without secrets.
    pub fn run(&self, run: &AgentRun) -> AgentRun {
        self.of_json(run).unwrap_or_default()
    }

    /// Blots secrets out in a piece of a file, which keeps its length. `is_end` says that the file ends with it.
    pub(crate) fn blot(&self, piece: &mut [u8], is_end: bool) -> bool {
        let mut is_changed = self.known.blot(piece, is_end);
        let text = String::from_utf8_lossy(piece);
        // With what is no text, nothing would stand where it is.
        let found = match text {
            Cow::Borrowed(text) => plain::ranges(text),
            Cow::Owned(_) => Vec::new(),
        };
        for range in found {
            blot_out(piece, range);
            is_changed = true;
        }
        is_changed
    }

    /// What a text becomes, if it has secrets: JSON is looked into, anything else is words.
    fn content(
        &self,
        text: &str,
        path: &dyn Fn() -> String,
        depth: usize,
        places: &mut Vec<String>,
    ) -> Option<String> {
        if depth < NESTED_MAX && json::is_json(text) {
            return json::redact(self, text, &path(), depth, places);
        }
        let changed = self.words(text)?;
        if places.len() < PLACES_MAX {
            places.push(path());
        }
        Some(changed)
    }

    /// What the name of a field becomes, if it has secrets. Short ones are taken for what the field is called.
    pub(crate) fn name(&self, name: &str) -> Option<String> {
        let changed = self.known.name(name);
        let now = changed.as_deref().unwrap_or(name);
        plain::redact(now).or(changed)
    }

    /// What a text that is no JSON becomes, if it has secrets.
    fn words(&self, text: &str) -> Option<String> {
        let changed = self.known.text(text);
        let now = changed.as_deref().unwrap_or(text);
        plain::redact(now).or(changed)
    }
}

/// Bytes that are no text stand as characters of nobody's meanwhile, from this one on.
const BYTES_AS_CHARS: u32 = 0x0010_ff00;

impl Redactor {
    /// Bytes that are no text, without the secrets in them, if they have any; everything else in them stays.
    pub(super) fn bytes(&self, bytes: &[u8]) -> Option<(Vec<u8>, Vec<String>)> {
        let mut text = String::with_capacity(bytes.len());
        let as_chars = |bytes: &[u8], text: &mut String| {
            let letters = bytes.iter().map(|byte| BYTES_AS_CHARS + u32::from(*byte));
            text.extend(letters.filter_map(char::from_u32));
        };
        let mut buffer = [0; 4];
        for chunk in bytes.utf8_chunks() {
            for letter in chunk.valid().chars() {
                // Or these would be taken for bytes.
                if u32::from(letter) >= BYTES_AS_CHARS {
                    as_chars(letter.encode_utf8(&mut buffer).as_bytes(), &mut text);
                } else {
                    text.push(letter);
                }
            }
            as_chars(chunk.invalid(), &mut text);
        }
        let redacted = self.redact(&text);
        let Cow::Owned(changed) = redacted.text else {
            return None;
        };
        let mut bytes = Vec::with_capacity(changed.len());
        for letter in changed.chars() {
            match u32::from(letter).checked_sub(BYTES_AS_CHARS) {
                Some(byte) => bytes.extend(u8::try_from(byte)),
                None => bytes.extend_from_slice(letter.encode_utf8(&mut buffer).as_bytes()),
            }
        }
        Some((bytes, redacted.places))
    }
}

/// Whether a text that was redacted is this one: what was taken out may have been anything.
pub fn fits(redacted: &str, text: &str) -> bool {
    if redacted == text {
        return true;
    }
    let mut parts = redacted.split(REDACTED);
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let mut last = None;
    for part in parts {
        // Only the last part must stand at the end, so it waits.
        if let Some(part) = last.replace(part) {
            let part: &str = part;
            match rest.find(part).and_then(|at| rest.get(at + part.len()..)) {
                Some(behind) => rest = behind,
                None => return false,
            }
        }
    }
    last.is_some_and(|last| rest.ends_with(last))
}
