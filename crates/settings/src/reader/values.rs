//! Values of one form each: what is of another form is a problem, and reads as absent.

use std::ops::RangeInclusive;
use std::time::Duration;

use super::{Reader, SHOWN_MAX, Section, near, one_of};
use crate::message::{Message, message, setting};
use crate::quantity::{parse_duration, parse_size};
use crate::text::shorten;
use crate::tree::{Data, Field, Node};

/// The longest time that can be asked for; clocks are safe to add it to.
const TIME_MAX: Duration = Duration::from_hours(366 * 24);

/// How many names are listed besides the one that was probably meant.
const KNOWN_MAX: usize = 15;

/// The shortest time that makes sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Least {
    /// None at all.
    Zero,
    /// Some.
    MoreThanZero,
}

impl Reader<'_> {
    /// A text that is not empty.
    pub fn text<'n>(&mut self, section: &Section<'n>, name: &str) -> Option<&'n str> {
        self.text_of(section.get(name)?)
    }

    /// The same of an entry at hand.
    pub fn text_of<'n>(&mut self, field: &'n Field) -> Option<&'n str> {
        match field.value.text() {
            Some(text) if text.contains('\0') => {
                let hint = "take out the character U+0000";
                self.wrong(field, "a text without control characters", hint);
                None
            }
            Some(text) if text.trim().is_empty() => {
                let hint = "write something between the quotes, or leave the key out";
                self.wrong(field, "a text that is not empty", hint);
                None
            }
            Some(text) => Some(text),
            None => {
                let hint = match &field.value.data {
                    Data::Null => "write the text after the key",
                    Data::List(_) | Data::Table(_) => "write one text",
                    _ => "put it in quotes",
                };
                self.wrong(field, "a text that is not empty", hint);
                None
            }
        }
    }

    /// Yes or no.
    pub fn boolean(&mut self, section: &Section<'_>, name: &str) -> Option<bool> {
        self.boolean_of(section.get(name)?)
    }

    /// The same of an entry at hand.
    pub fn boolean_of(&mut self, field: &Field) -> Option<bool> {
        if let Data::Boolean(value) = field.value.data {
            Some(value)
        } else {
            self.wrong(
                field,
                "true or false",
                "write true or false, without quotes",
            );
            None
        }
    }

    /// A time; `least` is the shortest that makes sense.
    pub fn duration(
        &mut self,
        section: &Section<'_>,
        name: &str,
        least: Least,
    ) -> Option<Duration> {
        let field = section.get(name)?;
        self.duration_of(field, least)
    }

    /// The same of an entry at hand.
    pub fn duration_of(&mut self, field: &Field, least: Least) -> Option<Duration> {
        let expected = match least {
            Least::Zero => "a duration such as 250ms, 5s, 2m or 1h",
            Least::MoreThanZero => "a duration of more than 0, such as 250ms, 5s, 2m or 1h",
        };
        let hint = match &field.value.data {
            Data::Integer(number) if *number > 0 => {
                format!("write it with its unit: \"{number}s\"")
            }
            Data::Number(number) if *number > 0.0 => {
                format!("write it with its unit: \"{number}s\"")
            }
            _ => "units are ms, s, m and h, as in \"30s\"".to_owned(),
        };
        let duration = match &field.value.data {
            Data::Integer(0) => Some(Duration::ZERO),
            Data::Text(text) => parse_duration(text).ok(),
            _ => None,
        };
        match duration {
            Some(Duration::ZERO) if least == Least::MoreThanZero => {
                self.wrong(field, expected, hint);
                None
            }
            Some(duration) if duration <= TIME_MAX => Some(duration),
            Some(_) => {
                self.wrong(field, "at most a year", "give a shorter time");
                None
            }
            None => {
                self.wrong(field, expected, hint);
                None
            }
        }
    }

    /// A whole number in a range.
    pub fn integer(
        &mut self,
        section: &Section<'_>,
        name: &str,
        range: RangeInclusive<u64>,
    ) -> Option<u64> {
        self.integer_of(section.get(name)?, range)
    }

    /// The same of an entry at hand.
    pub fn integer_of(&mut self, field: &Field, range: RangeInclusive<u64>) -> Option<u64> {
        if let Some(value) = field.value.integer()
            && let Ok(value) = u64::try_from(value)
            && range.contains(&value)
        {
            return Some(value);
        }
        let (least, most) = (range.start(), range.end());
        let expected = format!("a whole number from {least} to {most}");
        let hint = match &field.value.data {
            Data::Text(text) if text.trim().parse::<u64>().is_ok() => "leave out the quotes".into(),
            Data::Integer(value) if *value > i128::from(*most) => format!("use at most {most}"),
            _ => format!("use {least} or more, without a fraction"),
        };
        self.wrong(field, &expected, hint);
        None
    }

    /// A whole number in a range that fits 32 bits.
    pub fn count(
        &mut self,
        section: &Section<'_>,
        name: &str,
        range: RangeInclusive<u32>,
    ) -> Option<u32> {
        let range = u64::from(*range.start())..=u64::from(*range.end());
        let value = self.integer(section, name, range)?;
        u32::try_from(value).ok()
    }

    /// A number that `is_allowed`; whole ones are welcome too.
    pub fn number(
        &mut self,
        section: &Section<'_>,
        name: &str,
        expected: &str,
        is_allowed: fn(f64) -> bool,
    ) -> Option<f64> {
        self.number_of(section.get(name)?, expected, is_allowed)
    }

    /// The same of an entry at hand.
    pub fn number_of(
        &mut self,
        field: &Field,
        expected: &str,
        is_allowed: impl FnOnce(f64) -> bool,
    ) -> Option<f64> {
        let value = match field.value.data {
            // Where a whole number is too large for a double, the nearest one will do.
            #[allow(clippy::cast_precision_loss)]
            Data::Integer(value) => Some(value as f64),
            Data::Number(value) => Some(value),
            _ => None,
        };
        match value {
            Some(value) if value.is_finite() && is_allowed(value) => Some(value),
            _ => {
                let hint = match value {
                    Some(_) => "give a number in this range",
                    None => "write a plain number, without quotes or a unit",
                };
                self.wrong(field, expected, hint);
                None
            }
        }
    }

    /// A size in bytes, as a number or with its unit.
    pub fn size(&mut self, section: &Section<'_>, name: &str) -> Option<usize> {
        self.size_of(section.get(name)?)
    }

    /// The same of an entry at hand.
    pub fn size_of(&mut self, field: &Field) -> Option<usize> {
        let size = match &field.value.data {
            Data::Integer(value) => parse_size(&value.to_string()).ok(),
            Data::Text(text) => parse_size(text).ok(),
            _ => None,
        };
        if size.is_none() {
            let expected = "a size such as 65536, \"64KiB\" or \"16MiB\"";
            self.wrong(field, expected, "units are KiB, MiB and GiB");
        }
        size
    }

    /// A seed: a number, or a text of digits where a number would be too large for other readers.
    pub fn seed_of(&mut self, field: &Field) -> Option<u64> {
        let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let seed = match &field.value.data {
            Data::Integer(value) => u64::try_from(*value).ok(),
            Data::Text(text) if is_digits(text) => text.parse().ok(),
            _ => None,
        };
        if seed.is_none() {
            let expected = "a whole number from 0 to 18446744073709551615";
            self.wrong(field, expected, "any such number will do");
        }
        seed
    }

    /// One of a few names; `-` and `_` are the same.
    pub fn choice(
        &mut self,
        section: &Section<'_>,
        name: &str,
        known: &[&'static str],
    ) -> Option<&'static str> {
        let field = section.get(name)?;
        self.choice_of(&field.value, name, known)
    }

    /// The same of a value at hand.
    pub fn choice_of(
        &mut self,
        node: &Node,
        name: &str,
        known: &[&'static str],
    ) -> Option<&'static str> {
        let Some(text) = node.text() else {
            let message = message![setting(name), " must be a text, not ", node.kind()];
            self.problem(&node.span, message, one_of(known));
            return None;
        };
        let normal = text.replace('-', "_");
        let found = known
            .iter()
            .find(|known| known.replace('-', "_") == normal)
            .copied();
        if found.is_none() {
            let hint = near(known, text).map_or_else(
                || one_of(known),
                |close| match known.len() {
                    0..=KNOWN_MAX => format!("did you mean {close:?}? {}", one_of(known)),
                    _ => format!("did you mean {close:?}?"),
                },
            );
            let shown = shorten(text, SHOWN_MAX);
            let message = message![setting(name), format!(" does not know {shown:?}")];
            self.problem(&node.span, message, hint);
        }
        found
    }

    /// The elements of a list; a problem and none when it is no list.
    pub fn list<'n>(&mut self, field: &'n Field, hint: impl Into<Message>) -> &'n [Node] {
        if let Data::List(nodes) = &field.value.data {
            nodes
        } else {
            self.wrong(field, "a list", hint);
            &[]
        }
    }

    /// The texts of a list.
    pub fn texts(&mut self, section: &Section<'_>, name: &str) -> Option<Vec<String>> {
        self.texts_of(section.get(name)?)
    }

    /// The same of an entry at hand.
    pub fn texts_of(&mut self, field: &Field) -> Option<Vec<String>> {
        let hint = "write [\"one\", \"two\"]";
        let nodes = self.list(field, hint);
        let mut texts = Vec::new();
        for node in nodes {
            match node.text() {
                Some(text) if !text.contains('\0') => texts.push(text.to_owned()),
                _ => {
                    let message =
                        message![setting(&field.name), " must hold texts, not ", node.kind()];
                    self.problem(&node.span, message, hint);
                }
            }
        }
        Some(texts)
    }
}
