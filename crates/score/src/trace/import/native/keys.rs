//! Goes through the keys of a trace, and through nothing else of it. A key that is most likely
//! another one, written in another way, is an error: what stands there would be lost, and a score
//! could rest on its absence. Any other unknown key is told and left out.

use std::borrow::Cow;
use std::fmt::{Formatter, Result as Written};

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::super::ImportError;
use super::super::document::{Document, Element};
use super::shape::{Object, Shape};
use super::unknown::UnknownKeys;
use crate::phrase;
use crate::registry::nearest;

/// Characters from which on a slip is told from another word.
const SLIP_CHARS_MIN: usize = 5;

/// Looks at every key of a value of the file.
pub(super) fn check<'a>(
    document: &Document<'a>,
    element: &Element<'a>,
    object: &'static Object,
    unknown: &mut UnknownKeys,
) -> Result<(), ImportError> {
    let mut walk = Walk {
        element: element.clone(),
        way: Vec::new(),
        unknown,
        refused: None,
    };
    let seed = Inside {
        shape: Shape::Object(object),
        walk: &mut walk,
    };
    let checked = document.visit(element.json, seed);
    match (checked, walk.refused) {
        (Err(place), Some(refused)) => Err(ImportError {
            line: place.line,
            column: place.column,
            ..refused
        }),
        (checked, _) => checked,
    }
}

/// A step on the way to a value.
enum Step {
    Key(&'static str),
    Index(usize),
}

/// The way through one value of the file.
struct Walk<'w, 'a> {
    element: Element<'a>,
    way: Vec<Step>,
    unknown: &'w mut UnknownKeys,
    /// Why the value is refused.
    refused: Option<ImportError>,
}

/// The path at the end of a way.
fn path(way: &[Step], key: &str) -> String {
    let steps = way.iter().map(|step| match step {
        Step::Key(key) => format!("{key}."),
        Step::Index(index) => format!("[{index}]."),
    });
    let path: String = steps.chain([key.to_owned()]).collect();
    path.replace(".[", "[")
}

impl Walk<'_, '_> {
    fn refuse<E: Error>(&mut self, key: &str, message: String, hint: String) -> E {
        self.refused = Some(ImportError {
            path: Some(path(&self.way, key)),
            ..ImportError::shape(message, hint)
        });
        E::custom("refused")
    }

    /// A key that no object of this kind has. Where the key that may be meant is there too, it is
    /// something else.
    fn unknown<E: Error>(
        &mut self,
        object: &Object,
        key: &str,
        has: impl Fn(&str) -> bool,
    ) -> Result<(), E> {
        if self.unknown.count(object.noun, key) {
            return Ok(());
        }
        let is_there = |meant: &str| has(meant.split('.').next().unwrap_or(meant));
        if let Some(meant) = meant(object, key).filter(|meant| !is_there(meant)) {
            let message = format!(
                "{} is no key of {}; did you mean {}?",
                phrase::name(key),
                object.noun,
                phrase::name(meant)
            );
            let known: Vec<&str> = object.names().collect();
            let hint = format!("the keys of {} are {}", object.noun, known.join(", "));
            return Err(self.refuse(key, message, hint));
        }
        let place = || self.element.place(&path(&self.way, key));
        self.unknown.add(object.noun, key, place);
        Ok(())
    }

    fn twice<E: Error>(&mut self, object: &Object, key: &str) -> E {
        let message = format!("the key {} stands here twice", phrase::name(key));
        let hint = format!(
            "{} has each key once: keep the one that is meant",
            object.noun
        );
        self.refuse(key, message, hint)
    }
}

/// The key that is most likely meant by another one.
fn meant(object: &Object, key: &str) -> Option<&'static str> {
    let bare = bare(key);
    let mut others = object.other_names.iter();
    let known = object.names();
    known
        .clone()
        .find(|name| self::bare(name) == bare)
        .or_else(|| Some(others.find(|(other, _)| self::bare(other) == bare)?.1))
        .or_else(|| {
            let is_long = key.chars().count() >= SLIP_CHARS_MIN;
            is_long.then(|| nearest(known, key)).flatten()
        })
}

/// A key without what spelling adds to it: `isError`, `is-error` and `IS_ERROR` are one.
fn bare(key: &str) -> String {
    key.chars()
        .filter(|c| !matches!(c, '_' | '-' | ' '))
        .flat_map(char::to_lowercase)
        .collect()
}

/// Goes through what has this shape; what has another one is left to whoever reads it.
struct Inside<'s, 'w, 'a> {
    shape: Shape,
    walk: &'s mut Walk<'w, 'a>,
}

impl<'de> DeserializeSeed<'de> for Inside<'_, '_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        match self.shape {
            Shape::Object(_) | Shape::List(_) => deserializer.deserialize_any(self),
            _ => deserializer.deserialize_ignored_any(IgnoredAny).map(drop),
        }
    }
}

impl<'de> Visitor<'de> for Inside<'_, '_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut Formatter<'_>) -> Written {
        formatter.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let Shape::List(object) = self.shape else {
            while items.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(());
        };
        for index in 0.. {
            self.walk.way.push(Step::Index(index));
            let item = Inside {
                shape: Shape::Object(object),
                walk: self.walk,
            };
            let is_item = items.next_element_seed(item)?.is_some();
            self.walk.way.pop();
            if !is_item {
                break;
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let Shape::Object(object) = self.shape else {
            while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(());
        };
        // One bit for each key that was seen: no object has as many keys as there are bits.
        let mut seen = 0_u32;
        let mut unknown = Vec::new();
        while let Some(name) = members.next_key_seed(NameOf(object))? {
            let (place, key) = match name {
                Name::Known(place, key) => (place, key),
                Name::Unknown(name) => {
                    unknown.push(name.into_owned());
                    members.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            let bit = 1_u32 << place;
            if seen & bit != 0 {
                return Err(self.walk.twice(object, key.name));
            }
            seen |= bit;
            self.walk.way.push(Step::Key(key.name));
            members.next_value_seed(Inside {
                shape: key.shape,
                walk: self.walk,
            })?;
            self.walk.way.pop();
        }
        let has = |name: &str| {
            let place = object.keys.iter().position(|key| key.name == name);
            place.is_some_and(|place| seen & (1 << place) != 0)
        };
        for key in unknown {
            self.walk.unknown(object, &key, has)?;
        }
        Ok(())
    }
}

/// A key of an object, with its place among those that are known.
enum Name<'de> {
    Known(usize, &'static super::shape::Key),
    Unknown(Cow<'de, str>),
}

/// Finds a key among those of an object.
struct NameOf(&'static Object);

impl NameOf {
    fn find<'de>(&self, name: &str) -> Option<Name<'de>> {
        let keys = self.0.keys;
        let place = keys.iter().position(|key| key.name == name)?;
        Some(Name::Known(place, keys.get(place)?))
    }
}

impl<'de> DeserializeSeed<'de> for NameOf {
    type Value = Name<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Name<'de>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for NameOf {
    type Value = Name<'de>;

    fn expecting(&self, formatter: &mut Formatter<'_>) -> Written {
        formatter.write_str("a key")
    }

    fn visit_borrowed_str<E: Error>(self, name: &'de str) -> Result<Name<'de>, E> {
        let known = self.find(name);
        Ok(known.unwrap_or(Name::Unknown(Cow::Borrowed(name))))
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Name<'de>, E> {
        let known = self.find(name);
        Ok(known.unwrap_or_else(|| Name::Unknown(Cow::Owned(name.to_owned()))))
    }
}
