//! Secrets that are known: what the environment gave. They are taken out of whatever is written down, in every
//! form in which they may come back, and where a text was cut in the middle of one.

use std::collections::BTreeSet;

use serde_json::Value;

use super::REDACTED;
use super::forms;

/// What stands where a text was cut.
const CUT: &str = "…";
/// How a trace goes on behind a value that was cut.
const CUT_IN_TRACE: &str = "\",\"cut_bytes\":";
/// A shorter part of a secret beside a cut gives nothing away.
const PART_BYTES_MIN: usize = 4;
/// In files a shorter word of letters alone may be part of the format, which must stay readable.
const FILE_WORD_BYTES_MIN: usize = 8;

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
pub struct KnownSecrets {
    /// Every form of every secret, the longest first: one may be a part of another.
    forms: Vec<String>,
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
        let mut forms: Vec<String> = all.into_iter().collect();
        forms.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        Self { forms, numbers }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.forms.is_empty()
    }

    /// Whether a number in JSON is one of them.
    pub(crate) fn has_number(&self, number: &str) -> bool {
        self.numbers.contains(number)
    }

    /// What a text becomes, if it has secrets.
    pub fn text(&self, text: &str) -> Option<String> {
        let mut changed: Option<String> = None;
        for form in &self.forms {
            let now = changed.as_deref().unwrap_or(text);
            if now.contains(form.as_str()) {
                changed = Some(now.replace(form.as_str(), REDACTED));
            }
        }
        let now = changed.as_deref().unwrap_or(text);
        self.without_parts(now).or(changed)
    }

    /// Takes them out of a text.
    pub(crate) fn mask(&self, text: &mut String) {
        if let Some(changed) = self.text(text) {
            *text = changed;
        }
    }

    /// Takes them out of all texts of a value, and the names in it.
    pub(crate) fn mask_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.mask(text),
            Value::Array(values) => values.iter_mut().for_each(|value| self.mask_value(value)),
            Value::Object(fields) => {
                for (mut name, mut value) in std::mem::take(fields) {
                    self.mask(&mut name);
                    self.mask_value(&mut value);
                    fields.insert(name, value);
                }
            }
            Value::Number(number) if self.has_number(&number.to_string()) => {
                *value = Value::from(REDACTED);
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Blots them out in a piece of a file. What stands in their place is as long, so that nothing that was
    /// counted changes, and a number stays one. `is_end` says that the file ends with it.
    pub(crate) fn blot(&self, piece: &mut [u8], is_end: bool) -> bool {
        let forms = || self.forms.iter().filter(|form| is_for_files(form));
        let mut is_changed = false;
        for form in forms() {
            let found: Vec<usize> = memchr::memmem::find_iter(piece, form.as_bytes()).collect();
            for begin in found {
                let end = begin + form.len();
                if !is_number(form) || stands_alone(piece, begin, end) {
                    fill(piece, begin, end);
                    is_changed = true;
                }
            }
        }
        let mut cuts = Vec::new();
        for mark in [CUT, CUT_IN_TRACE] {
            let found = memchr::memmem::find_iter(piece, mark.as_bytes());
            cuts.extend(found.map(|at| (at, at + mark.len())));
        }
        if is_end {
            cuts.push((piece.len(), piece.len()));
        }
        for (before, after) in cuts {
            let part = piece.get(..before).unwrap_or_default();
            if let Some(length) = longest(forms(), |form| beginning_at_end(form, part)) {
                fill(piece, before.saturating_sub(length), before);
                is_changed = true;
            }
            let part = piece.get(after..).unwrap_or_default();
            if let Some(length) = longest(forms(), |form| end_at_beginning(form, part)) {
                fill(piece, after, after + length);
                is_changed = true;
            }
        }
        is_changed
    }

    /// What a text becomes, if parts of secrets stand where it was cut.
    fn without_parts(&self, text: &str) -> Option<String> {
        let mut changed = String::new();
        // How far the text is copied.
        let mut done = 0;
        for (at, mark) in text.match_indices(CUT) {
            let Some(before) = text.get(done..at) else {
                continue;
            };
            let part = before.as_bytes();
            let length = longest(self.forms.iter(), |form| beginning_at_end(form, part));
            if let Some(length) = length.filter(|_| !before.ends_with(REDACTED)) {
                changed.push_str(text.get(done..at - length).unwrap_or_default());
                changed.push_str(REDACTED);
                done = at;
            }
            let end = at + mark.len();
            let after = text.get(end..).unwrap_or_default();
            let part = after.as_bytes();
            let length = longest(self.forms.iter(), |form| end_at_beginning(form, part));
            if let Some(length) = length.filter(|_| !after.starts_with(REDACTED)) {
                changed.push_str(text.get(done..end).unwrap_or_default());
                changed.push_str(REDACTED);
                done = end + length;
            }
        }
        if done == 0 {
            return None;
        }
        changed.push_str(text.get(done..).unwrap_or_default());
        Some(changed)
    }
}

fn longest<'a>(
    forms: impl Iterator<Item = &'a String>,
    length: impl Fn(&str) -> Option<usize>,
) -> Option<usize> {
    forms.filter_map(|form| length(form)).max()
}

/// How many bytes a text ends with that a secret begins with, if enough.
fn beginning_at_end(form: &str, text: &[u8]) -> Option<usize> {
    let lengths = (PART_BYTES_MIN..form.len()).rev();
    lengths
        .filter(|length| form.is_char_boundary(*length))
        .find(|length| text.ends_with(form.as_bytes().get(..*length).unwrap_or_default()))
}

/// How many bytes a text begins with that a secret ends with, if enough.
fn end_at_beginning(form: &str, text: &[u8]) -> Option<usize> {
    let longest = form.len().checked_sub(PART_BYTES_MIN)?;
    let part = |begin: usize| form.as_bytes().get(begin..).unwrap_or_default();
    (1..=longest)
        .filter(|begin| form.is_char_boundary(*begin))
        .find(|begin| text.starts_with(part(*begin)))
        .map(|begin| form.len() - begin)
}

fn is_for_files(form: &str) -> bool {
    let is_word = form
        .bytes()
        .all(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    !is_word || form.len() >= FILE_WORD_BYTES_MIN
}

fn is_number(form: &str) -> bool {
    form.parse::<f64>().is_ok()
}

/// Whether a number is not a part of another.
fn stands_alone(piece: &[u8], begin: usize, end: usize) -> bool {
    let is_of_number =
        |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_digit() || *byte == b'.');
    let before = begin.checked_sub(1).and_then(|at| piece.get(at));
    !is_of_number(before) && !is_of_number(piece.get(end))
}

fn fill(piece: &mut [u8], begin: usize, end: usize) {
    if let Some(part) = piece.get_mut(begin..end) {
        let is_number = std::str::from_utf8(part).is_ok_and(is_number);
        part.fill(if is_number { b'9' } else { b'*' });
    }
}

#[cfg(test)]
mod tests;
