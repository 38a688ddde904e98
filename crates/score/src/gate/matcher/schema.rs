//! `schema`: the value is valid under the given JSON Schema, of 2020-12 unless its `$schema` names
//! another draft. It is compiled when it is read, and what is wrong with it is an error then. A
//! reference to another document is an error too: nothing is ever fetched. `format` is checked, and a
//! keyword that looks like a slip (`minimun`) is refused, since JSON Schema would ignore it and let
//! everything pass.

use jsonschema::error::ValidationErrorKind;
use jsonschema::paths::LocationSegment;
use jsonschema::{ValidationError, Validator};
use mcprove_settings::json_schema::{self, Remote};
use mcprove_trace::word_lists::WordLists;

use super::choices;
use super::compare::{Places, short};
use crate::gate::path::{key_step, kind};
use crate::prelude::*;

/// The lists of `schema_words.txt`.
static LISTS: LazyLock<WordLists> =
    LazyLock::new(|| WordLists::parse(include_str!("schema_words.txt")));

/// Compiles a schema.
pub fn compile(given: &Value) -> DiagnosticResult<Validator> {
    match given {
        Value::Object(keywords) => {
            refuse_slips(given)?;
            let names: Vec<&String> = keywords.keys().collect();
            // A map without any keyword that JSON Schema knows.
            if !names.is_empty() && !names.iter().any(|name| LISTS.has("known", name)) {
                return Err(Diagnostic::new(
                    sentence!("JSON Schema knows none of {}", quoted_names(&names)),
                    "a map with certain keys is { schema: { properties: { … }, required: [ … ] } }; \
                     to compare values, use subset or exact",
                ));
            }
        }
        Value::Bool(_) => {}
        other => {
            return Err(Diagnostic::new(
                format!("a schema is a map, not {}", kind(other)),
                "write { schema: { minimum: 0.7 } }",
            ));
        }
    }
    json_schema::compile(given, None, Remote::Refused).map_err(|error| explain(&error))
}

/// Refuses a keyword that JSON Schema does not know but that is close to one that it knows, in a schema
/// and in those inside it.
fn refuse_slips(schema: &Value) -> DiagnosticResult {
    let Value::Object(keywords) = schema else {
        return Ok(());
    };
    for keyword in keywords
        .keys()
        .filter(|keyword| !LISTS.has("known", keyword))
    {
        if let Some(close) = nearest(LISTS.words("known"), keyword) {
            return Err(Diagnostic::new(
                format!("JSON Schema has no keyword {keyword:?}; did you mean {close:?}?"),
                "JSON Schema ignores what it does not know, so everything would pass",
            ));
        }
    }
    for (keyword, value) in keywords {
        // Reading bounds how deep schemas nest.
        match value {
            Value::Object(schemas) if LISTS.has("schemas by name", keyword) => {
                schemas.values().try_for_each(refuse_slips)?;
            }
            Value::Array(schemas) if LISTS.has("schemas in a list", keyword) => {
                schemas.iter().try_for_each(refuse_slips)?;
            }
            schema if LISTS.has("a schema", keyword) => refuse_slips(schema)?,
            _ => {}
        }
    }
    Ok(())
}

/// Why a schema cannot be used.
fn explain(error: &ValidationError<'_>) -> Diagnostic {
    let reason = phrase::text(&error.to_string());
    if matches!(error.kind(), ValidationErrorKind::Referencing(_)) {
        return Diagnostic::new(
            format!("the schema refers to what is not in it, and nothing is fetched: {reason}"),
            sentence!("put what it refers to under `$defs`, and refer to it as \"#/$defs/…\""),
        );
    }
    let place = place(error);
    let at = if place.is_empty() {
        String::new()
    } else {
        format!(" at {place}")
    };
    Diagnostic::new(
        format!("the JSON Schema is malformed{at}: {reason}"),
        "see https://json-schema.org for what a schema may hold",
    )
}

/// Where an error is inside the value, as a path goes on.
fn place(error: &ValidationError<'_>) -> String {
    let steps = error
        .instance_path()
        .into_iter()
        .map(|segment| match segment {
            LocationSegment::Property(key) => key_step(&key),
            LocationSegment::Index(index) => format!("[{index}]"),
        });
    steps.collect()
}

/// Where a value breaks a schema.
pub fn difference(given: &Value, validator: &Validator, actual: &Value) -> Option<Difference> {
    let mut places = Places::default();
    for error in validator.iter_errors(actual) {
        if places.is_full() {
            break;
        }
        let (expected, words) = demand(given, &error);
        let found: &Value = error.instance();
        let words = sentence!("expected {words}, got {}", short(found));
        places.add(&place(&error), expected, Some(found), words);
    }
    places.into_difference()
}

/// The keyword that a value breaks, and what it demands in plain words.
fn demand(given: &Value, error: &ValidationError<'_>) -> (Value, Message) {
    let pointer = error.schema_path().as_str();
    let keyword = pointer.rsplit('/').next().unwrap_or_default();
    let expected = given.pointer(pointer).map_or_else(
        || given.clone(),
        |value| {
            json!({
            keyword: value}
            )
        },
    );
    let words = words(&expected)
        .unwrap_or_else(|| sentence!("what the schema allows ({})", error.masked()));
    (expected, words.edited(phrase::text))
}

/// Whether a schema demands something of values of this kind: JSON Schema lets a text pass any
/// `maximum`, and that proves nothing. One without demands lets everything pass, and means it.
pub fn is_about(given: &Value, actual: &Value) -> bool {
    let kind = match actual {
        Value::Number(_) => "about Numbers",
        Value::String(_) => "about Texts",
        Value::Array(_) => "about Lists",
        Value::Object(_) => "about Maps",
        Value::Null | Value::Bool(_) => "",
    };
    let demands = |keyword: &&String| {
        LISTS
            .names()
            .filter(|list| list.starts_with("about "))
            .any(|list| LISTS.has(list, keyword))
    };
    let mut keywords = given
        .as_object()
        .into_iter()
        .flat_map(Map::keys)
        .filter(demands)
        .peekable();
    let is_of_kind = |keyword: &String| {
        ["about Any", kind]
            .iter()
            .any(|list| LISTS.has(list, keyword))
    };
    keywords.peek().is_none() || keywords.any(is_of_kind)
}

/// What a schema demands, in plain words; `None` where it demands more than has words here.
pub fn words(schema: &Value) -> Option<Message> {
    let keywords = match schema {
        Value::Bool(true) => return Some("anything".into()),
        Value::Object(keywords) => keywords,
        _ => return None,
    };
    let is_said = keywords
        .keys()
        .all(|keyword| LISTS.has("said", keyword) || LISTS.has("annotations", keyword));
    if !is_said {
        return None;
    }
    let said = LISTS
        .words("said")
        .filter_map(|keyword| Some(say(keyword, keywords.get(keyword)?, keywords)))
        .collect::<Option<Vec<Message>>>()?;
    if said.is_empty() {
        Some("anything".into())
    } else {
        Some(Message::join(said, ", "))
    }
}

/// One keyword in words.
fn say(keyword: &str, value: &Value, schema: &Map<String, Value>) -> Option<Message> {
    // In drafts before 6 an exclusive bound is a switch beside the bound.
    let is_switch = |name: &str| schema.get(name).is_some_and(Value::is_boolean);
    if is_switch("exclusiveMinimum") || is_switch("exclusiveMaximum") {
        return None;
    }
    let number = canonical::text(value);
    if let Some(words) = listed("of a number", keyword) {
        return Some(sentence!("{words} {number}"));
    }
    if let Some(words) = listed("of a count", keyword) {
        let (least, noun) = words.rsplit_once(' ')?;
        let counted = counted(number.parse().ok()?, noun);
        return Some(sentence!("{least} {counted}"));
    }
    let list = value
        .as_array()
        .map_or(slice::from_ref(value), Vec::as_slice);
    let texts = || {
        list.iter()
            .map(Value::as_str)
            .collect::<Option<Vec<&str>>>()
    };
    Some(match keyword {
        "type" => texts()?
            .into_iter()
            .map(|name| listed("types", name))
            .collect::<Option<Vec<&str>>>()?
            .join(" or ")
            .into(),
        "const" => sentence!("exactly {}", short(value)),
        "enum" => choices(value.as_array()?).into(),
        "pattern" => sentence!("a text that matches the pattern {}", short(value)),
        "format" => sentence!("a text of the format {}", value.as_str()?),
        "required" if value.is_array() && list.is_empty() => "a map with any keys".into(),
        "required" if value.is_array() => sentence!("a map with {}", quoted_names(&texts()?)),
        _ => return None,
    })
}

/// What stands behind a word in a list.
fn listed(list: &str, word: &str) -> Option<&'static str> {
    LISTS
        .lines(list)
        .iter()
        .find_map(|line| line.strip_prefix(word)?.strip_prefix(' '))
}
