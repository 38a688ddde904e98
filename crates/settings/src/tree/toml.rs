//! TOML as positioned values.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::ERRORS_MAX;
use crate::outside::OTHER;

use super::{Parsed, Source, SyntaxError};
use crate::prelude::*;

pub fn parse(source: &Source) -> Parsed {
    let (table, errors) = DeTable::parse_recoverable(&source.text);
    let errors = errors.iter().enumerate().map(|(index, error)| {
        let span = error.span().unwrap_or(0..0);
        // Those beyond are counted only.
        let is_told = index < ERRORS_MAX;
        let hint = if is_told {
            hint(&source.text, span.start)
        } else {
            ""
        };
        SyntaxError {
            span,
            message: format!("not valid TOML: {}", error.message()).into(),
            hint: hint.into(),
            gist: "not valid TOML",
        }
    });
    let mut errors: Vec<SyntaxError> = errors.collect();
    // What was recovered after an error would only lead to more of them.
    if errors.is_empty() {
        let span = table.span();
        let root = table_node(table.into_inner(), span, &mut errors);
        if errors.is_empty() {
            return Ok((root, errors));
        }
    }
    Err(errors)
}

/// What the text at the error looks like.
fn hint(text: &str, start: usize) -> &'static str {
    let (before, after) = text.split_at(text.floor_char_boundary(start));
    let begin = before.rsplit('\n').next().unwrap_or_default();
    let line = begin.to_owned() + after.lines().next().unwrap_or_default();
    let is_like_yaml = line
        .split_once(':')
        .is_some_and(|(name, _)| !name.contains(['=', '"', '\'', '#']));
    if is_like_yaml {
        "this looks like YAML: give the file the ending .yml"
    } else {
        "a line is `name = value`; texts and durations need quotes"
    }
}

fn table_node(table: DeTable<'_>, span: Range<usize>, errors: &mut Vec<SyntaxError>) -> Node {
    let mut fields: Vec<Field> = table
        .into_iter()
        .map(|(name, value)| Field {
            span: name.span(),
            name: name.into_inner().into_owned(),
            value: node(value, errors),
        })
        .collect();
    fields.sort_by_key(|field| field.span.start);
    Node {
        data: Data::Table(fields),
        span,
    }
}

fn node(value: Spanned<DeValue<'_>>, errors: &mut Vec<SyntaxError>) -> Node {
    let span = value.span();
    let mut no_number = |text: &str| {
        errors.push(SyntaxError {
            span: span.clone(),
            message: format!("{text} is not a number that can be held").into(),
            hint: "write a smaller number".into(),
            gist: OTHER,
        });
        Data::Null
    };
    let data = match value.into_inner() {
        DeValue::String(text) => Data::Text(text.into_owned()),
        DeValue::Integer(integer) => {
            match i128::from_str_radix(integer.as_str(), integer.radix()) {
                Ok(value) => Data::Integer(value),
                Err(_) => no_number(integer.as_str()),
            }
        }
        DeValue::Float(float) => match float.as_str().parse() {
            Ok(value) => Data::Number(value),
            Err(_) => no_number(float.as_str()),
        },
        DeValue::Boolean(value) => Data::Boolean(value),
        DeValue::Datetime(date) => Data::Text(date.to_string()),
        DeValue::Array(values) => Data::List(
            values
                .into_iter()
                .map(|value| node(value, errors))
                .collect(),
        ),
        DeValue::Table(table) => return table_node(table, span, errors),
    };
    Node { data, span }
}
