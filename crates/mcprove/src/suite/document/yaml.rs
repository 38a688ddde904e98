//! YAML as positioned values.

mod error;

use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Location, Spanned};

use super::{Data, Field, Node, Source, SyntaxError};

/// How deep lists and tables may be in each other.
const DEPTH_MAX: usize = 64;
/// The stack for that: each level takes up to 50 kB in a build that is not optimised, more than the
/// threads of a runtime have.
const STACK_BYTES: usize = 16 * 1024 * 1024;

/// What YAML holds, before its places are turned into bytes.
enum Raw {
    Null,
    Boolean(bool),
    Integer(i128),
    Number(f64),
    Text(String),
    List(Vec<Spanned<Raw>>),
    Table(Vec<(Spanned<String>, Spanned<Raw>)>),
}

pub(super) fn parse(source: &Source, report: &mut dyn FnMut(SyntaxError)) -> Option<Node> {
    let read = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
        let reading = thread.spawn_scoped(scope, || read(source)).ok()?;
        reading.join().ok()
    });
    let unread = || SyntaxError {
        span: 0..0,
        message: "no thread could read the YAML".into(),
        hint: "try again when fewer programs run, or write the file as TOML".into(),
    };
    read.unwrap_or_else(|| Err(unread())).map_err(report).ok()
}

fn read(source: &Source) -> Result<Node, SyntaxError> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_depth: DEPTH_MAX },
        with_snippet: false,
        non_finite_float_policy: serde_saphyr::options::NonFiniteFloatPolicy::PassThrough,
        // Only `true` and `false`: `on`, `no` and the like are texts, as YAML 1.2 has it.
        strict_booleans: true,
    };
    // Comments alone are an empty document, for which the parser has no value.
    let read: Result<Option<Spanned<Raw>>, _> =
        serde_saphyr::from_str_with_options(&source.text, options);
    match read {
        Ok(Some(raw)) => Ok(node(source, raw)),
        Ok(None) => Ok(Node {
            data: Data::Null,
            span: 0..0,
        }),
        Err(error) => {
            let (message, hint) = error::describe(&error);
            Err(SyntaxError {
                span: error
                    .location()
                    .map_or(0..0, |location| bytes(source, &location)),
                message,
                hint,
            })
        }
    }
}

fn node(source: &Source, raw: Spanned<Raw>) -> Node {
    let span = bytes(source, &raw.referenced);
    let data = match raw.value {
        Raw::Null => Data::Null,
        Raw::Boolean(value) => Data::Boolean(value),
        Raw::Integer(value) => Data::Integer(value),
        Raw::Number(value) => Data::Number(value),
        Raw::Text(text) => Data::Text(text),
        Raw::List(values) => Data::List(
            values
                .into_iter()
                .map(|value| node(source, value))
                .collect(),
        ),
        Raw::Table(fields) => Data::Table(
            fields
                .into_iter()
                .map(|(name, value)| Field {
                    span: bytes(source, &name.referenced),
                    name: name.value,
                    value: node(source, value),
                })
                .collect(),
        ),
    };
    Node { data, span }
}

fn bytes(source: &Source, location: &Location) -> Range<usize> {
    let index = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
    let span = location.span();
    let (Some(offset), Some(length)) = (span.byte_offset(), span.byte_len()) else {
        let start = source.offset(location.line(), location.column());
        return start..start;
    };
    let start = index(offset);
    start..start.saturating_add(index(length))
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_none<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Raw, D::Error> {
        Raw::deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Raw, E> {
        Ok(Raw::Boolean(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Raw, E> {
        Ok(Raw::Integer(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Raw, E> {
        Ok(Raw::Integer(value.into()))
    }

    fn visit_i128<E>(self, value: i128) -> Result<Raw, E> {
        Ok(Raw::Integer(value))
    }

    fn visit_u128<E: serde::de::Error>(self, value: u128) -> Result<Raw, E> {
        let value = i128::try_from(value).map_err(|_| E::custom("the number is too large"))?;
        Ok(Raw::Integer(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Raw, E> {
        Ok(Raw::Number(value))
    }

    fn visit_str<E>(self, text: &str) -> Result<Raw, E> {
        Ok(Raw::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Raw, E> {
        Ok(Raw::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Raw, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = sequence.next_element()? {
            values.push(value);
        }
        Ok(Raw::List(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Raw, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = map.next_entry()? {
            fields.push(field);
        }
        Ok(Raw::Table(fields))
    }
}
