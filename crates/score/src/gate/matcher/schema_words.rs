//! The everyday part of JSON Schema in plain words: `{ minimum: 0.7 }` is `at least 0.7`.

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

/// The kinds of values that a keyword is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    Any,
    Numbers,
    Texts,
    Lists,
    Maps,
}

impl Subject {
    /// Whether a value is one of these.
    pub fn is_kind_of(self, value: &Value) -> bool {
        match self {
            Self::Any => true,
            Self::Numbers => value.is_number(),
            Self::Texts => value.is_string(),
            Self::Lists => value.is_array(),
            Self::Maps => value.is_object(),
        }
    }
}

/// What a keyword demands something of; `None` where it demands nothing.
pub fn subject(keyword: &str) -> Option<Subject> {
    let subjects = [
        ("about Any", Subject::Any),
        ("about Numbers", Subject::Numbers),
        ("about Texts", Subject::Texts),
        ("about Lists", Subject::Lists),
        ("about Maps", Subject::Maps),
    ];
    let mut subjects = subjects.into_iter();
    subjects.find_map(|(list, subject)| LISTS.has(list, keyword).then_some(subject))
}

/// The schemas that stand under a keyword.
pub fn schemas_in<'a>(keyword: &str, value: &'a Value) -> Vec<&'a Value> {
    match (keyword, value) {
        (
            "$defs" | "definitions" | "properties" | "patternProperties" | "dependentSchemas"
            | "dependencies",
            Value::Object(schemas),
        ) => schemas.values().collect(),
        ("allOf" | "anyOf" | "oneOf" | "prefixItems" | "items", Value::Array(schemas)) => {
            schemas.iter().collect()
        }
        (
            "items"
            | "additionalItems"
            | "additionalProperties"
            | "propertyNames"
            | "contains"
            | "not"
            | "if"
            | "then"
            | "else"
            | "unevaluatedItems"
            | "unevaluatedProperties",
            schema,
        ) => vec![schema],
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
    let number = canonical::text(value);
    let counted = |least: &str, noun: &str| {
        let count = phrase::count(canonical::text(value).parse().ok()?, noun);
        Some(format!("{least} {count}"))
    };
    match keyword {
        "type" => types(value),
        "const" => Some(format!("exactly {}", short(value))),
        "enum" => Some(choices(value.as_array()?)),
        "minimum" => Some(format!("at least {number}")),
        "exclusiveMinimum" => Some(format!("more than {number}")),
        "maximum" => Some(format!("at most {number}")),
        "exclusiveMaximum" => Some(format!("less than {number}")),
        "multipleOf" => Some(format!("a multiple of {number}")),
        "minLength" => counted("at least", "character"),
        "maxLength" => counted("at most", "character"),
        "minItems" => counted("at least", "element"),
        "maxItems" => counted("at most", "element"),
        "minProperties" => counted("at least", "key"),
        "maxProperties" => counted("at most", "key"),
        "pattern" => Some(format!("a text that matches the pattern {}", short(value))),
        "format" => Some(format!("a text of the format {}", value.as_str()?)),
        "required" => required(value),
        _ => None,
    }
}

fn types(value: &Value) -> Option<String> {
    let name = |value: &Value| {
        let name = match value.as_str()? {
            "string" => "a text",
            "number" => "a number",
            "integer" => "a whole number",
            "boolean" => "true or false",
            "array" => "a list",
            "object" => "a map",
            "null" => "null",
            _ => return None,
        };
        Some(name)
    };
    match value {
        Value::Array(types) => {
            let names = types.iter().map(name).collect::<Option<Vec<&str>>>()?;
            Some(names.join(" or "))
        }
        single => Some(name(single)?.to_owned()),
    }
}

fn required(value: &Value) -> Option<String> {
    let names = match value {
        Value::Array(keys) => keys
            .iter()
            .map(Value::as_str)
            .collect::<Option<Vec<&str>>>()?,
        _ => return None,
    };
    if names.is_empty() {
        return Some("a map with any keys".to_owned());
    }
    Some(format!("a map with {}", phrase::names(&names)))
}
