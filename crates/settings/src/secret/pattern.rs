//! A secret, and where a text has it: whole, or the beginning or the end of it where the text was cut.

use super::spelling::{Unit, is_escape, is_number, units};

/// A shorter part of a secret beside a cut gives nothing away.
const PART_CHARS_MIN: usize = 4;
/// What is left of a spelling that was cut within is not longer.
const REST_BYTES_MAX: usize = 9;

/// How long a quote behind the mark of a cut may be, escaped and all.
const QUOTES_MAX: usize = 4;

/// A secret, in any spelling.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    /// The secret itself.
    pub value: String,
    units: Vec<Unit>,
    /// The letters and digits that it begins with, which most write as they are.
    first: Vec<u8>,
}

/// How far a text goes along with a secret.
enum Along {
    /// To this place, where the secret ends.
    Whole(usize),
    /// To where the text ends.
    Cut,
    /// Not far enough.
    Not,
}

impl Pattern {
    pub fn new(value: &str) -> Self {
        let units = units(value);
        let plain = units.iter().map_while(|unit| match unit {
            Unit::Plain(byte) => Some(*byte),
            _ => None,
        });
        Self {
            first: plain.collect(),
            value: value.to_owned(),
            units,
        }
    }

    /// Whether it may be written with this byte first.
    pub fn may_begin_with_byte(&self, first: u8) -> bool {
        let unit = self.units.first();
        unit.is_some_and(|unit| unit.may_begin_with(first))
    }

    /// Whether it may be written with these bytes first.
    pub fn may_begin_with(&self, first: u8, second: u8) -> bool {
        match self.units.as_slice() {
            [Unit::Plain(own), two, ..] => {
                *own == first && two.may_begin_with(second) || is_number(first, second)
            }
            [one, ..] => one.may_begin_with(first),
            [] => false,
        }
    }

    /// Where it ends, if it begins here.
    pub fn end(&self, text: &[u8], from: usize) -> Option<usize> {
        let mut pairs = text.get(from..)?.iter().zip(&self.first);
        let other = pairs.find(|(there, own)| there != own);
        if other.is_some_and(|(there, _)| !is_escape(*there)) {
            return None;
        }
        match along(&self.units, text, from, PART_CHARS_MIN) {
            Along::Whole(end) => Some(end),
            Along::Cut | Along::Not => None,
        }
    }

    /// Whether it may begin here and go on behind the end of the text.
    pub fn may_go_on(&self, text: &[u8], from: usize) -> bool {
        matches!(along(&self.units, text, from, 0), Along::Cut)
    }

    /// How many bytes it takes at most. Most characters are written as they are, and none with more than twelve
    /// bytes at the depths that occur.
    pub fn span_max(&self) -> usize {
        self.value.len().saturating_mul(12)
    }

    /// Whether it could reach over several tokens of JSON.
    pub fn has_marks_of_json(&self) -> bool {
        self.value.contains(['"', '{', '}', '[', ']', ',', ':'])
    }

    /// Where a part of it begins with which a text ends, if it is long enough.
    pub fn beginning_at_end(&self, text: &[u8]) -> Option<usize> {
        let from = text.len().saturating_sub(self.span_max());
        let first = self.units.first()?;
        (from..text.len().saturating_sub(PART_CHARS_MIN - 1)).find(|at| {
            let begins = text
                .get(*at)
                .is_some_and(|byte| first.may_begin_with(*byte));
            begins && matches!(along(&self.units, text, *at, PART_CHARS_MIN), Along::Cut)
        })
    }

    /// Where a part of it ends with which a text begins, if it is long enough.
    pub fn end_at_beginning(&self, text: &[u8]) -> Option<usize> {
        // The rest of a text may be quoted behind the mark of the cut.
        let is_quote = |byte: &&u8| matches!(**byte, b'"' | b'\'' | b'\\');
        let quotes = text.iter().take(QUOTES_MAX).take_while(is_quote).count();
        (1..self.units.len()).find_map(|skipped| {
            let rest = self.units.get(skipped..)?;
            let first = rest.iter().take(PART_CHARS_MIN);
            if first.map(|unit| unit.chars()).sum::<usize>() < PART_CHARS_MIN {
                return None;
            }
            let is_plain = matches!(self.units.get(skipped - 1), Some(Unit::Plain(_)));
            // The character before it may have been cut within.
            let most = if is_plain { 0 } else { REST_BYTES_MAX };
            (0..=quotes.max(most)).find_map(|from| match along(rest, text, from, PART_CHARS_MIN) {
                Along::Whole(end) => Some(end),
                Along::Cut | Along::Not => None,
            })
        })
    }
}

/// A part of fewer than `chars_min` characters at the end of the text is none.
fn along(units: &[Unit], text: &[u8], from: usize, chars_min: usize) -> Along {
    // All places where what was read so far may end: few spellings can be read in two ways.
    let mut places = vec![from];
    let mut next = Vec::new();
    let mut is_cut = false;
    // The characters that were read so far.
    let mut count = 0;
    for unit in units {
        let mut is_escaped = false;
        if let (Unit::Plain(byte), [place]) = (unit, places.as_mut_slice()) {
            match text.get(*place) {
                Some(there) if there == byte => *place += 1,
                None if count >= chars_min => return Along::Cut,
                Some(there) if is_escape(*there) => is_escaped = true,
                _ => return not(is_cut),
            }
            if !is_escaped {
                count += 1;
                continue;
            }
        }
        next.clear();
        for place in &places {
            unit.ends(text, *place, &mut next);
            let rest = text.get(*place..).unwrap_or_default();
            // Of several backslashes, all but one may be there.
            let there = if rest.is_empty() { 0 } else { unit.chars() - 1 };
            is_cut |= count + there >= chars_min && unit.may_be_cut(rest);
        }
        next.sort_unstable();
        next.dedup();
        std::mem::swap(&mut places, &mut next);
        count += unit.chars();
        if places.is_empty() {
            return not(is_cut);
        }
    }
    places.last().map_or(Along::Not, |end| Along::Whole(*end))
}

const fn not(is_cut: bool) -> Along {
    if is_cut { Along::Cut } else { Along::Not }
}
