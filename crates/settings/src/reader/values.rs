//! Values of one form each: what is of another form is a problem, and reads as absent.

use std::fmt::Display;

use super::{SHOWN_MAX, near, one_of};
use crate::prelude::*;

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
    /// A value of the wrong form, which reads as absent.
    pub fn refuse<T>(
        &mut self,
        field: &Field,
        expected: &str,
        hint: impl Into<Message>,
    ) -> Option<T> {
        self.wrong(field, expected, hint);
        None
    }

    /// Takes down that a section lacks what it must have.
    pub fn missing(&mut self, section: &Section<'_>, name: &str, value: &'static str) {
        let message = sentence!("{} has no {}", section.label, setting(name));
        let hint = Part::Assignment(name.to_owned().into(), value.into());
        self.problem(section.span(), message, sentence!("add {hint}"));
    }

    /// A text that is not empty.
    pub fn text<'n>(&mut self, section: &Section<'n>, name: &str) -> Option<&'n str> {
        self.text_of(section.get(name)?)
    }

    /// The same of an entry at hand.
    pub fn text_of<'n>(&mut self, field: &'n Field) -> Option<&'n str> {
        let hint = match &field.value.data {
            Data::Text(text) if text.contains('\0') => {
                return self.refuse(
                    field,
                    "a text without control characters",
                    "take out the character U+0000",
                );
            }
            Data::Text(text) if text.trim().is_empty() => {
                "write something between the quotes, or leave it out"
            }
            Data::Text(text) => return Some(text),
            Data::Null => "write the text after the key",
            Data::List(_) | Data::Table(_) => "write one text",
            _ => "put it in quotes",
        };
        self.refuse(field, "a text that is not empty", hint)
    }

    /// Yes or no.
    pub fn boolean_of(&mut self, field: &Field) -> Option<Data> {
        match &field.value.data {
            value @ Data::Boolean(_) => Some(value.clone()),
            _ => self.refuse(
                field,
                "true or false",
                "write true or false, without quotes",
            ),
        }
    }

    /// A time; `least` is the shortest that makes sense.
    pub fn duration_of(&mut self, field: &Field, least: Least) -> Option<Data> {
        let expected = match least {
            Least::Zero => "a duration such as 250ms, 5s, 2m or 1h",
            Least::MoreThanZero => "a duration of more than 0, such as 250ms, 5s, 2m or 1h",
        };
        let with_unit = |number: &dyn Display| format!("write it with its unit: \"{number}s\"");
        let hint = match &field.value.data {
            Data::Integer(number) if *number > 0 => with_unit(number),
            Data::Number(number) if *number > 0.0 => with_unit(number),
            _ => "units are ms, s, m and h, as in \"30s\"".to_owned(),
        };
        let duration = match &field.value.data {
            Data::Integer(0) => Some(Duration::ZERO),
            Data::Text(text) => parse_duration(text).ok(),
            _ => None,
        };
        match duration.filter(|it| !it.is_zero() || least == Least::Zero) {
            Some(duration) if duration <= TIME_MAX => Some(field.value.data.clone()),
            Some(_) => self.refuse(field, "at most a year", "give a shorter time"),
            None => self.refuse(field, expected, hint),
        }
    }

    /// A whole number in a range.
    pub fn integer_of(&mut self, field: &Field, least: u64, most: u64) -> Option<Data> {
        if let Some(value) = field.value.integer()
            && (i128::from(least)..=i128::from(most)).contains(&value)
        {
            return Some(Data::Integer(value));
        }
        let expected = format!("a whole number from {least} to {most}");
        let hint = match &field.value.data {
            Data::Text(text) if text.trim().parse::<u64>().is_ok() => "leave out the quotes".into(),
            Data::Integer(value) if *value > i128::from(most) => format!("use at most {most}"),
            _ => format!("use {least} or more, without a fraction"),
        };
        self.refuse(field, &expected, hint)
    }

    /// A number that `is_allowed`; whole ones are welcome too.
    pub fn number_of(
        &mut self,
        field: &Field,
        expected: &str,
        is_allowed: impl FnOnce(f64) -> bool,
    ) -> Option<f64> {
        let value = match field.value.data {
            // Where a whole number is too large for a double, the nearest one is used.
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
                self.refuse(field, expected, hint)
            }
        }
    }

    /// A size in bytes, as a number or with its unit.
    pub fn size_of(&mut self, field: &Field) -> Option<usize> {
        let size = match &field.value.data {
            Data::Integer(value) => parse_size(&value.to_string()).ok(),
            Data::Text(text) => parse_size(text).ok(),
            _ => None,
        };
        let expected = "a size such as 65536, \"64KiB\" or \"16MiB\"";
        size.or_else(|| self.refuse(field, expected, "units are KiB, MiB and GiB"))
    }

    /// A seed: a number, or a text of digits where a number would be too large for other readers.
    pub fn seed_of(&mut self, field: &Field) -> Option<Data> {
        let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let seed = match &field.value.data {
            Data::Integer(value) => u64::try_from(*value).ok(),
            Data::Text(text) if is_digits(text) => text.parse().ok(),
            _ => None,
        };
        let seed = seed.map(|seed| Data::Integer(seed.into()));
        let expected = "a whole number from 0 to 18446744073709551615";
        seed.or_else(|| self.refuse(field, expected, "choose any number in this range"))
    }

    /// A value as JSON; every number in it that JSON cannot hold is a problem.
    pub fn json_of(&mut self, node: &Node) -> Option<Value> {
        for node in node.beyond_json() {
            let message = match node.data {
                Data::Integer(_) => "a whole number beyond 64 bits is not kept exactly",
                _ => "JSON has no such number",
            };
            self.problem(&node.span, message, "write it as a text, or leave it out");
        }
        node.to_json().ok()
    }

    /// One of a few names; `-` and `_` are the same.
    pub fn choice_of(
        &mut self,
        node: &Node,
        name: &str,
        known: &[&'static str],
    ) -> Option<&'static str> {
        let Some(text) = node.text() else {
            let message = sentence!("{} must be a text, not {}", setting(name), node.kind());
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
            let message = sentence!("unknown {} {shown:?}", setting(name));
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
    pub fn texts_of(&mut self, field: &Field) -> Option<Vec<String>> {
        let hint = "write [\"one\", \"two\"]";
        let nodes = self.list(field, hint);
        let mut texts = Vec::new();
        for node in nodes {
            match node.text() {
                Some(text) if !text.contains('\0') => texts.push(text.to_owned()),
                _ => {
                    let message = sentence!(
                        "{} must hold texts, not {}",
                        setting(&field.name),
                        node.kind()
                    );
                    self.problem(&node.span, message, hint);
                }
            }
        }
        Some(texts)
    }
}
