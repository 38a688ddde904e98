//! YAML as positioned values.

mod error;
mod flow;
mod number;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::options::DuplicateKeyPolicy;
use serde_saphyr::{Location, Spanned};

use super::{Parsed, Source, SyntaxError};
use crate::own_limits::OwnLimit;
use crate::prelude::*;

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

/// Reads YAML.
pub fn parse(source: &Source) -> Parsed {
    let unread = |limit: Option<OwnLimit>| {
        let (message, hint) = match limit {
            Some(limit) => (sentence!("it cannot be read: {limit}"), limit.hint()),
            None => (
                "no thread could read the YAML".into(),
                "write the file as TOML".into(),
            ),
        };
        vec![SyntaxError {
            span: 0..0,
            message,
            hint,
            gist: "cannot be read",
        }]
    };
    std::thread::scope(|scope| {
        std::thread::Builder::new()
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, || read_all(source))
            .map_err(|error| unread(OwnLimit::of_start(&error)))?
            .join()
            .unwrap_or_else(|_| Err(unread(None)))
    })
}

fn read_all(source: &Source) -> Parsed {
    let error = match read(source, DuplicateKeyPolicy::Error) {
        Ok(root) => return Ok((root, Vec::new())),
        Err((error, true)) => error,
        Err((error, false)) => return Err(vec![error]),
    };
    // Once more, with both of them, so that nothing else that is wrong is hidden.
    let mut root = read(source, DuplicateKeyPolicy::LastWins).map_err(|(error, _)| vec![error])?;
    let mut repeats = Vec::new();
    drop_repeats(&mut root, &mut repeats);
    if repeats.is_empty() {
        // The parser chose between them itself.
        repeats.push(error);
    }
    Ok((root, repeats))
}

/// The tree; else what is wrong, and whether it is a key that is there twice.
fn read(source: &Source, repeats: DuplicateKeyPolicy) -> Result<Node, (SyntaxError, bool)> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_depth: DEPTH_MAX },
        with_snippet: false,
        duplicate_keys: repeats,
        non_finite_float_policy: serde_saphyr::options::NonFiniteFloatPolicy::PassThrough,
        // Only `true` and `false`: `on`, `no` and the like are texts, as YAML 1.2 has it.
        strict_booleans: true,
    };
    // Comments alone are an empty document, for which the parser has no value.
    let read: Result<Option<Spanned<Raw>>, _> =
        serde_saphyr::from_str_with_options(&source.text, options);
    match read {
        Ok(Some(raw)) => Ok(node(source, raw)),
        Ok(None) => Ok(Node::new(Data::Null)),
        Err(error) => {
            let span = error
                .location()
                .map_or(0..0, |location| bytes(source, &location));
            let unread = error::describe(&error, &source.text, span);
            Err((unread, error::is_repeat(&error)))
        }
    }
}

/// Keeps the first of keys with one name, and tells the others.
fn drop_repeats(node: &mut Node, repeats: &mut Vec<SyntaxError>) {
    match &mut node.data {
        Data::List(nodes) => {
            for node in nodes {
                drop_repeats(node, repeats);
            }
        }
        Data::Table(fields) => {
            let mut seen = BTreeSet::new();
            fields.retain_mut(|field| {
                let is_first = seen.insert(field.name.clone());
                if is_first {
                    drop_repeats(&mut field.value, repeats);
                } else {
                    repeats.push(error::twice(&field.name, field.span.clone()));
                }
                is_first
            });
        }
        _ => {}
    }
}

fn node(source: &Source, raw: Spanned<Raw>) -> Node {
    let span = bytes(source, &raw.referenced);
    let written = || number::written(&source.text, &bytes(source, &raw.defined));
    let data = match raw.value {
        Raw::Null => Data::Null,
        Raw::Boolean(value) => Data::Boolean(value),
        Raw::Integer(value) => written().unwrap_or(Data::Integer(value)),
        Raw::Number(value) => written().unwrap_or(Data::Number(value)),
        Raw::Text(text) => match written() {
            Some(number @ Data::Integer(_)) if text.starts_with(['0', '-', '+']) => number,
            _ => Data::Text(text),
        },
        Raw::List(values) => {
            let nodes = values.into_iter().map(|value| node(source, value));
            Data::List(nodes.collect())
        }
        Raw::Table(fields) => {
            let fields = fields.into_iter().map(|(name, value)| Field {
                span: bytes(source, &name.referenced),
                name: name.value,
                value: node(source, value),
            });
            Data::Table(fields.collect())
        }
    };
    Node { data, span }
}

fn bytes(source: &Source, location: &Location) -> Range<usize> {
    let index = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
    let span = location.span();
    let start = span.byte_offset().zip(span.byte_len());
    let (start, length) = start.map_or_else(
        || (source.offset(location.line(), location.column()), 0),
        |(start, length)| (index(start), index(length)),
    );
    start..start.saturating_add(length)
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

macro_rules! visits {
    ($($visit:ident($value:ty): $raw:ident,)*) => {$(
        fn $visit<E>(self, value: $value) -> Result<Raw, E> {
            Ok(Raw::$raw(value.into()))
        }
    )*};
}

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    visits! {
        visit_bool(bool): Boolean,
        visit_i64(i64): Integer,
        visit_u64(u64): Integer,
        visit_f64(f64): Number,
    }

    fn visit_str<E>(self, text: &str) -> Result<Raw, E> {
        Ok(Raw::Text(text.to_owned()))
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
