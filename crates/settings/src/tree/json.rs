//! JSON as positioned values.
//!
//! YAML takes nearly all JSON, and knows where values stand; what only JSON has (characters written as
//! two escapes, keys such as `<<`) is read without places.

use super::{Parsed, Source, SyntaxError, yaml};
use crate::prelude::*;

pub fn parse(source: &Source) -> Parsed {
    let value: Value = serde_json::from_str(&source.text).map_err(|error| {
        let start = source.offset(error.line() as u64, error.column() as u64);
        vec![SyntaxError {
            span: start..start,
            message: format!("not valid JSON: {}", words(&error)).into(),
            hint: "check the commas, quotes and brackets around this place".into(),
            gist: "not valid JSON",
        }]
    })?;
    let placed = yaml::parse(source).ok().filter(|(root, repeats)| {
        repeats.is_empty() && root.to_json().is_ok_and(|same| same == value)
    });
    Ok(placed.unwrap_or_else(|| (Node::new(value.into()), Vec::new())))
}

/// What the parser says, without the place that is told anyway.
fn words(error: &serde_json::Error) -> String {
    let words = error.to_string();
    match words.split_once(" at line ") {
        Some((words, _)) => words.to_owned(),
        None => words,
    }
}

impl From<Value> for Data {
    fn from(value: Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Boolean(value),
            Value::Number(number) => {
                let whole = number
                    .as_i64()
                    .map(i128::from)
                    .or_else(|| number.as_u64().map(i128::from));
                let fraction = || Self::Number(number.as_f64().unwrap_or(f64::NAN));
                whole.map_or_else(fraction, Self::Integer)
            }
            Value::String(text) => Self::Text(text),
            Value::Array(values) => {
                Self::List(values.into_iter().map(|it| Node::new(it.into())).collect())
            }
            Value::Object(fields) => {
                let fields = fields.into_iter();
                Self::Table(
                    fields
                        .map(|(name, it)| Field::new(&name, it.into()))
                        .collect(),
                )
            }
        }
    }
}
