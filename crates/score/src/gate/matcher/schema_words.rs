//! The everyday part of JSON Schema in plain words: `{ minimum: 0.7 }` is `at least 0.7`.

use std::slice;
use std::sync::LazyLock;

use mcprove_settings::phrase;
use mcprove_trace::canonical;
use mcprove_trace::word_lists::WordLists;
use serde_json::{Map, Value};

use super::difference::short;
use super::one_of::choices;

/// The lists of `schema_words.txt`.
static LISTS: LazyLock<WordLists> =
    LazyLock::new(|| WordLists::parse(include_str!("schema_words.txt")));

/// Every keyword.
pub fn keywords() -> impl Iterator<Item = &'static str> {
    LISTS.words("known")
}

/// Whether a keyword demands something of a value of this kind; `None` where it demands nothing of any.
pub fn is_about(keyword: &str, value: &Value) -> Option<bool> {
    let kind = match value {
        Value::Number(_) => "about Numbers",
        Value::String(_) => "about Texts",
        Value::Array(_) => "about Lists",
        Value::Object(_) => "about Maps",
        Value::Null | Value::Bool(_) => "",
    };
    let mut lists = LISTS.names().filter(|list| list.starts_with("about "));
    let has = |list: &str| LISTS.has(list, keyword);
    lists.any(has).then(|| has("about Any") || has(kind))
}

/// The schemas that stand under a keyword.
pub fn schemas_in<'a>(keyword: &str, value: &'a Value) -> Vec<&'a Value> {
    match value {
        Value::Object(schemas) if LISTS.has("schemas by name", keyword) => {
            schemas.values().collect()
        }
        Value::Array(schemas) if LISTS.has("schemas in a list", keyword) => {
            schemas.iter().collect()
        }
        schema if LISTS.has("a schema", keyword) => vec![schema],
        _ => Vec::new(),
    }
}

/// What a schema demands, in plain words; `None` where it demands more than has words here.
pub fn describe(schema: &Value) -> Option<String> {
    let keywords = match schema {
        Value::Bool(true) => return Some("anything".to_owned()),
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
        .collect::<Option<Vec<String>>>()?;
    if said.is_empty() {
        Some("anything".to_owned())
    } else {
        Some(said.join(", "))
    }
}

/// One keyword in words.
fn say(keyword: &str, value: &Value, schema: &Map<String, Value>) -> Option<String> {
    // In drafts before 6 an exclusive bound is a switch beside the bound.
    if schema
        .get("exclusiveMinimum")
        .is_some_and(Value::is_boolean)
        || schema
            .get("exclusiveMaximum")
            .is_some_and(Value::is_boolean)
    {
        return None;
    }
    let said = |list: &str| {
        LISTS
            .lines(list)
            .iter()
            .find_map(|line| line.strip_prefix(keyword)?.strip_prefix(' '))
    };
    let number = canonical::text(value);
    if let Some(words) = said("of a number") {
        return Some(format!("{words} {number}"));
    }
    if let Some((least, noun)) = said("of a count").and_then(|words| words.rsplit_once(' ')) {
        return Some(format!(
            "{least} {}",
            phrase::count(number.parse().ok()?, noun)
        ));
    }
    match keyword {
        "type" => types(value),
        "const" => Some(format!("exactly {}", short(value))),
        "enum" => Some(choices(value.as_array()?)),
        "pattern" => Some(format!("a text that matches the pattern {}", short(value))),
        "format" => Some(format!("a text of the format {}", value.as_str()?)),
        "required" => required(value),
        _ => None,
    }
}

fn types(value: &Value) -> Option<String> {
    let name = |value: &Value| {
        LISTS
            .lines("types")
            .iter()
            .find_map(|line| line.strip_prefix(value.as_str()?)?.strip_prefix(' '))
    };
    let types = value
        .as_array()
        .map_or(slice::from_ref(value), Vec::as_slice);
    Some(
        types
            .iter()
            .map(name)
            .collect::<Option<Vec<&str>>>()?
            .join(" or "),
    )
}

fn required(value: &Value) -> Option<String> {
    let keys = value.as_array()?.iter().map(Value::as_str);
    let names = keys.collect::<Option<Vec<&str>>>()?;
    if names.is_empty() {
        return Some("a map with any keys".to_owned());
    }
    Some(format!("a map with {}", phrase::names(&names)))
}
