//! Redacting whatever is written down or shown: traces, logs, recordings, cassettes, reports, messages.
//!
//! Redacted are values that are known ([`KnownSecrets`]), in every form in which they may come back; what stands
//! in JSON under a name like `api_key` ([`names`], not in traces); and what shows by itself that it is a key
//! ([`plain`]). In its place stands `<redacted>`.
//!
//! JSON stays JSON: only texts in it change, and everything else keeps its bytes. What is done depends on
//! the text alone that it is done to, and done twice it changes nothing more, so that a request that is built
//! from redacted answers is the redacted request. A text is redacted before it is cut; streams are
//! [`StreamRedactor`](super::StreamRedactor)'s.

mod json;
pub mod names;
pub mod plain;

#[cfg(test)]
mod tests;

use serde::de::{DeserializeOwned, IgnoredAny};

use super::known::{KnownSecrets, NONE, replaced};
use super::{REDACTED, shifted, sources};
use crate::prelude::*;

/// How deep JSON in texts of JSON is looked into.
const NESTED_MAX: usize = 6;
/// How many places of one exchange are told.
pub const PLACES_MAX: usize = 50;

/// Knows secrets, and takes them out.
///
/// ```
/// use mcprove_settings::secret::Redactor;
///
/// let redactor = Redactor::new(["hunter22".to_owned()]);
/// assert_eq!(redactor.text("it is hunter22!"), "it is <redacted>!");
/// assert_eq!(redactor.text(r#"{"api_key":"abc-1234","n": 1}"#), r#"{"api_key":"<redacted>","n": 1}"#);
/// ```
#[derive(Clone)]
pub struct Redactor {
    pub known: Arc<KnownSecrets>,
}

impl Default for Redactor {
    fn default() -> Self {
        let known = Arc::clone(&NONE);
        Self { known }
    }
}

/// What else in JSON is a secret.
#[derive(Clone, Copy)]
struct Rules {
    /// A text under a name like `api_key`.
    names: bool,
    /// A number that is a known secret.
    numbers: bool,
    /// In how many texts of JSON this JSON is.
    depth: usize,
}

impl Rules {
    const fn new(names: bool, numbers: bool) -> Self {
        let depth = 0;
        Self {
            names,
            numbers,
            depth,
        }
    }

    const fn deeper(self) -> Self {
        let depth = self.depth + 1;
        Self { depth, ..self }
    }
}

/// What others said.
const OF_OTHERS: Rules = Rules::new(true, true);
/// Traces: the names in them are those of arguments, and each line costs time.
const OF_TRACES: Rules = Rules::new(false, true);
/// Reports: their numbers are measured.
const OF_REPORTS: Rules = Rules::new(false, false);

/// A text without secrets, and where they were.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted<'a> {
    pub text: Cow<'a, str>,
    /// Where something was taken out, as paths into JSON; an empty one is the text itself.
    pub places: Vec<String>,
}

impl Redactor {
    /// One that knows the variables of this process with names of secrets.
    pub fn of_process() -> Self {
        Self::new(sources::inherited())
    }

    /// The same, with further secrets.
    pub fn with_secrets(&self, secrets: impl IntoIterator<Item = String>) -> Self {
        Self::new(self.known.values.iter().cloned().chain(secrets))
    }

    /// One that knows these secrets, and the passwords within them, besides what it recognises.
    pub fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        let with_passwords = secrets.into_iter().flat_map(|value| {
            let within = sources::within(&value);
            std::iter::once(value).chain(within)
        });
        Self {
            known: Arc::new(KnownSecrets::new(with_passwords)),
        }
    }

    /// Whether a number in JSON is a secret.
    pub fn has_number(&self, number: &str) -> bool {
        self.known.has_number(number)
    }

    /// The text without secrets.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.redact(text).text
    }

    /// The text without secrets, and where they were.
    pub fn redact<'a>(&self, text: &'a str) -> Redacted<'a> {
        let mut places = Vec::new();
        let changed = self.content(text, &String::new, OF_OTHERS, &mut places);
        Redacted {
            text: or_as_it_is(changed, text),
            places,
        }
    }

    /// Something that is written as JSON, without secrets. `None` if it is no JSON, or is none of its kind any more.
    pub fn of_json<T: Serialize + DeserializeOwned>(&self, it: &T) -> Option<T> {
        let text = serde_json::to_string(it).ok()?;
        serde_json::from_slice(self.text(&text).as_bytes()).ok()
    }

    /// A report without the secrets that it quotes; `None` if it has none.
    pub fn report<T: Serialize + DeserializeOwned>(
        &self,
        report: &T,
    ) -> serde_json::Result<Option<T>> {
        let text = serde_json::to_string_pretty(report)?;
        if !self.known.may_have(text.as_bytes()) {
            return Ok(None);
        }
        let changed = json::redact(self, &text, "", OF_REPORTS, &mut Vec::new());
        changed
            .map(|text| serde_json::from_slice(text.as_bytes()))
            .transpose()
    }

    /// A text that is not JSON without secrets, as fast as can be where it has none.
    pub fn plain<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let may_have = self.known.may_have(text.as_bytes());
        or_as_it_is(may_have.then(|| self.words(text)).flatten(), text)
    }

    /// JSON of a trace without secrets: JSON again, whatever is in it.
    pub fn json<'a>(&self, json: &'a str) -> Cow<'a, str> {
        if !self.known.may_have(json.as_bytes()) && !json::has_escaped_ascii(json) {
            return Cow::Borrowed(json);
        }
        if serde_json::from_str::<IgnoredAny>(json).is_err() {
            // Too deep to be looked into, or none.
            let words = self.words(json);
            return or_as_it_is(words.map(|text| Value::from(text).to_string()), json);
        }
        let changed = json::redact(self, json, "", OF_TRACES, &mut Vec::new());
        let changed = or_as_it_is(changed, json);
        if self.known.is_across_tokens(&changed) {
            return Cow::Owned(Value::from(REDACTED).to_string());
        }
        changed
    }

    /// The first part of a text, up to this byte, without secrets and without the beginning of one: where a secret
    /// goes on behind the cut, it is redacted whole.
    pub fn cut<'a>(&self, text: &'a str, end: usize) -> Cow<'a, str> {
        let end = text.floor_char_boundary(end);
        let part = text.get(..end).unwrap_or(text);
        let is_whole = part.len() == text.len();
        let mut found = self.known.found(part.as_bytes(), !is_whole);
        found.extend(plain::ranges_to(text, end));
        or_as_it_is(replaced(part, found), part)
    }

    /// Where the secrets are in a piece of a stream. `is_end` says that the stream ends with it.
    pub fn ranges(&self, piece: &[u8], is_end: bool) -> Vec<Range<usize>> {
        if !is_end && !self.known.may_have(piece) {
            return Vec::new();
        }
        let mut found = self.known.found(piece, is_end);
        let mut at = 0;
        for chunk in piece.utf8_chunks() {
            found.extend(shifted(plain::ranges(chunk.valid()), at));
            at += chunk.valid().len() + chunk.invalid().len();
        }
        found
    }

    /// What a text becomes, if it has secrets: JSON is looked into, anything else is words.
    fn content(
        &self,
        text: &str,
        path: &dyn Fn() -> String,
        rules: Rules,
        places: &mut Vec<String>,
    ) -> Option<String> {
        if rules.depth < NESTED_MAX && json::is_json(text) {
            let changed = json::redact(self, text, &path(), rules, places);
            // A secret may be JSON itself.
            let now = changed.as_deref().unwrap_or(text);
            return if rules.depth > 0 && self.known.is_across_tokens(now) {
                Some(REDACTED.to_owned())
            } else {
                changed
            };
        }
        let changed = self.words(text)?;
        note(places, path);
        Some(changed)
    }

    /// The name of a method or a tool, in which short secrets are taken for a part of it.
    pub fn field<'a>(&self, name: &'a str) -> Cow<'a, str> {
        let may_have = self.known.may_have(name.as_bytes());
        or_as_it_is(may_have.then(|| self.name(name)).flatten(), name)
    }

    /// What the name of a field becomes, if it has secrets. Short ones are taken for what the field is called.
    pub fn name(&self, name: &str) -> Option<String> {
        let changed = self.known.name(name);
        let now = changed.as_deref().unwrap_or(name);
        plain::redact(now).or(changed)
    }

    /// What a text that is not JSON becomes, if it has secrets.
    fn words(&self, text: &str) -> Option<String> {
        let changed = self.known.text(text);
        let now = changed.as_deref().unwrap_or(text);
        plain::redact(now).or(changed)
    }
}

/// What a text became; itself if it has no secrets.
fn or_as_it_is(changed: Option<String>, text: &str) -> Cow<'_, str> {
    changed.map_or(Cow::Borrowed(text), Cow::Owned)
}

/// Adds where something was taken out.
fn note(places: &mut Vec<String>, path: impl Fn() -> String) {
    if places.len() < PLACES_MAX {
        places.push(path());
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Redactor").finish_non_exhaustive()
    }
}

/// Bytes that are no text stand as characters of nobody's meanwhile, from this one on.
const BYTES_AS_CHARS: u32 = 0x0010_ff00;

impl Redactor {
    /// Bytes that are no text, without the secrets in them, if they have any; everything else in them stays.
    pub fn bytes(&self, bytes: &[u8]) -> Option<(Vec<u8>, Vec<String>)> {
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
    let parts: Vec<&str> = redacted.split(REDACTED).collect();
    let [first, middle @ .., last] = parts.as_slice() else {
        return redacted == text;
    };
    let rest = middle.iter().fold(text.strip_prefix(first), |rest, part| {
        Some(rest?.split_once(part)?.1)
    });
    rest.is_some_and(|rest| rest.ends_with(last))
}
