//! Finds what is wrong in a run that could not be read: it is parsed again, key by key, down to the
//! value that is to blame. Only a run with an error pays for this.

use serde::{Deserialize, Deserializer};

use super::super::ImportError;
use super::super::document::{Document, Outline};
use super::shape::{Object, Shape};
use crate::phrase;
use crate::trace::{FaultKind, Json, StopReason, whole};

/// A whole number from 0 up, as a trace has it.
struct Count;

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        whole::unsigned(deserializer).map(|_| Self)
    }
}

/// A whole number, as a trace has it.
struct Mark;

impl<'de> Deserialize<'de> for Mark {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        whole::signed(deserializer).map(|_| Self)
    }
}

/// The first thing in a value that has not the shape it should have.
pub(super) fn find<'a>(
    document: &Document<'a>,
    shape: Shape,
    json: &'a str,
) -> Option<ImportError> {
    match shape {
        Shape::Text => wrong::<String>(document, json),
        Shape::Flag => wrong::<bool>(document, json),
        Shape::Number => wrong::<f64>(document, json),
        Shape::Count => wrong::<Count>(document, json),
        Shape::Mark => wrong::<Mark>(document, json),
        Shape::StopReason => wrong::<StopReason>(document, json),
        Shape::FaultKind => wrong::<FaultKind>(document, json).map(|error| ImportError {
            hint: format!(
                "kinds of faults are {}",
                FaultKind::ALL.map(|(name, _)| name).join(", ")
            ),
            ..error
        }),
        Shape::Any => wrong::<Json>(document, json),
        Shape::Object(object) => find_in_object(document, object, json),
        Shape::List(object) => {
            let items = match document.list(json) {
                Ok(items) => items,
                Err(error) => return Some(error),
            };
            (0..)
                .zip(items)
                .find_map(|(index, item)| Some(find_in_object(document, object, item)?.at(index)))
        }
    }
}

fn find_in_object<'a>(
    document: &Document<'a>,
    object: &Object,
    json: &'a str,
) -> Option<ImportError> {
    let outline: Outline = match document.parse(json) {
        Ok(outline) => outline,
        Err(error) => return Some(error),
    };
    object.keys.iter().find_map(|key| {
        let value = outline.get(key.name).map(|value| value.get());
        let error = match value {
            None if key.is_required => missing(object, key.name),
            // Null is the same as absent.
            None => return None,
            Some("null") if !key.is_required => return None,
            Some(value) => find(document, key.shape, value)?,
        };
        Some(match value {
            None => error,
            Some(_) => error.within(key.name),
        })
    })
}

fn missing(object: &Object, key: &str) -> ImportError {
    let known: Vec<&str> = object.names().collect();
    ImportError::shape(
        format!(
            "{} is missing: {} must have it",
            phrase::name(key),
            object.noun
        ),
        format!("the keys of {} are {}", object.noun, known.join(", ")),
    )
}

fn wrong<'a, Wanted: Deserialize<'a>>(
    document: &Document<'a>,
    json: &'a str,
) -> Option<ImportError> {
    document.parse::<Wanted>(json).err()
}
