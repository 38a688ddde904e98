//! TOML as positioned values.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::ERRORS_MAX;
use crate::outside::OTHER;

use super::{Data, Field, Node, Source, SyntaxError};

/// Tells whoever asked of a problem.
type Report<'a> = &'a mut dyn FnMut(SyntaxError);

pub(super) fn parse(source: &Source, report: Report<'_>) -> Option<Node> {
    let (table, errors) = DeTable::parse_recoverable(&source.text);
    for (index, error) in errors.iter().enumerate() {
        let span = error.span().unwrap_or(0..0);
        // Those beyond are counted only.
        let hint = if index < ERRORS_MAX {
            hint(&source.text, span.start)
        } else {
            ""
        };
        report(SyntaxError {
            span,
            message: format!("not valid TOML: {}", error.message()),
            hint: hint.into(),
            gist: "not valid TOML",
        });
    }
    let span = table.span();
    // What was recovered after an error would only lead to more of them.
    errors
        .is_empty()
        .then(|| table_node(table.into_inner(), span, report))
}

/// What the text at the error looks like.
fn hint(text: &str, start: usize) -> &'static str {
    let begin = text
        .get(..start.min(text.len()))
        .and_then(|before| before.rfind('\n'))
        .map_or(0, |index| index + 1);
    let line = text
        .get(begin..)
        .and_then(|rest| rest.lines().next())
        .unwrap_or_default();
    let is_like_yaml = line
        .split_once(':')
        .is_some_and(|(name, _)| !name.contains(['=', '"', '\'', '#']));
    if is_like_yaml {
        "this looks like YAML: give the file the ending .yml"
    } else {
        "a line is `name = value`; texts and durations stand in quotes"
    }
}

fn table_node(table: DeTable<'_>, span: Range<usize>, report: Report<'_>) -> Node {
    let mut fields: Vec<Field> = table
        .into_iter()
        .map(|(name, value)| Field {
            span: name.span(),
            name: name.into_inner().into_owned(),
            value: node(value, report),
        })
        .collect();
    fields.sort_by_key(|field| field.span.start);
    Node {
        data: Data::Table(fields),
        span,
    }
}

fn node(value: Spanned<DeValue<'_>>, report: Report<'_>) -> Node {
    let span = value.span();
    let mut no_number = |text: &str| {
        report(SyntaxError {
            span: span.clone(),
            message: format!("{text} is not a number that can be held"),
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
                .map(|value| node(value, report))
                .collect(),
        ),
        DeValue::Table(table) => return table_node(table, span, report),
    };
    Node { data, span }
}
