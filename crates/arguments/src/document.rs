//! The schema as a document: its size, and what its references mean.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;

use jsonschema::Validator;
use serde_json::{Map, Value};

use super::ArgumentsError;
use super::limits::{MAKING_STEPS_MAX, PATTERNS_MAX, SCHEMA_DEPTH_MAX, SCHEMA_VALUES_MAX};
use super::validation::compile_pattern;

/// Refuses schemas that no recursive reader should be given.
pub(super) fn check_size(schema: &Value) -> Result<(), ArgumentsError> {
    let mut values = 0_usize;
    let mut patterns = 0_usize;
    let mut open = vec![(schema, 1_usize)];
    while let Some((value, depth)) = open.pop() {
        values += 1;
        if depth > SCHEMA_DEPTH_MAX {
            return Err(ArgumentsError::SchemaTooLarge {
                what: "nesting",
                limit: SCHEMA_DEPTH_MAX,
            });
        }
        if values > SCHEMA_VALUES_MAX {
            return Err(ArgumentsError::SchemaTooLarge {
                what: "values",
                limit: SCHEMA_VALUES_MAX,
            });
        }
        match value {
            Value::Array(items) => open.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(map) => {
                patterns += usize::from(map.get("pattern").is_some_and(Value::is_string));
                let named = map.get("patternProperties").and_then(Value::as_object);
                patterns += named.map_or(0, Map::len);
                open.extend(map.values().map(|item| (item, depth + 1)));
            }
            _ => {}
        }
    }
    if patterns > PATTERNS_MAX {
        return Err(ArgumentsError::SchemaTooLarge {
            what: "patterns",
            limit: PATTERNS_MAX,
        });
    }
    Ok(())
}

/// What a reference leads to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Target<'schema> {
    /// A schema of this document.
    Here(&'schema Value),
    /// Another document.
    Remote,
    /// Nothing.
    Missing,
}

/// A schema with its anchors and patterns, and how often it was read.
pub(super) struct Document<'schema> {
    root: &'schema Value,
    steps: Cell<usize>,
    names: OnceCell<BTreeMap<String, &'schema Value>>,
    /// Patterns compiled so far; none where the pattern cannot be.
    patterns: RefCell<BTreeMap<&'schema str, Option<Validator>>>,
}

impl<'schema> Document<'schema> {
    pub(super) const fn new(root: &'schema Value) -> Self {
        Self {
            root,
            steps: Cell::new(0),
            names: OnceCell::new(),
            patterns: RefCell::new(BTreeMap::new()),
        }
    }

    pub(super) const fn root(&self) -> &'schema Value {
        self.root
    }

    /// Counts work; an error when it becomes too much.
    pub(super) fn step(&self, place: &str, count: usize) -> Result<(), ArgumentsError> {
        self.steps.set(self.steps.get().saturating_add(count));
        if self.steps.get() <= MAKING_STEPS_MAX {
            return Ok(());
        }
        Err(ArgumentsError::TooMuchWork {
            place: place.to_owned(),
            what: "making values",
            limit: MAKING_STEPS_MAX,
        })
    }

    /// Whether a text matches a `pattern` of the schema.
    pub(super) fn matches(&self, pattern: &'schema str, text: &str) -> bool {
        self.patterns
            .borrow_mut()
            .entry(pattern)
            .or_insert_with(|| compile_pattern(pattern))
            .as_ref()
            .is_some_and(|validator| validator.is_valid(&Value::from(text)))
    }

    /// Follows a `$ref`. Nothing outside of the document is ever looked at.
    pub(super) fn resolve(&self, reference: &str) -> Target<'schema> {
        let own_name = self.root.get("$id").and_then(Value::as_str);
        let reference = own_name
            .map(|name| name.trim_end_matches('#'))
            .filter(|name| !name.is_empty())
            .and_then(|name| reference.strip_prefix(name))
            .filter(|rest| rest.is_empty() || rest.starts_with('#'))
            .unwrap_or(reference);
        if reference.is_empty() || reference == "#" {
            return Target::Here(self.root);
        }
        if reference.starts_with("#/") {
            let pointer = decode_percent(reference.trim_start_matches('#'));
            return pointer
                .and_then(|pointer| self.root.pointer(&pointer))
                .map_or(Target::Missing, Target::Here);
        }
        let names = self.names.get_or_init(|| collect_names(self.root));
        match names.get(reference) {
            Some(schema) => Target::Here(schema),
            None if reference.starts_with('#') => Target::Missing,
            None => Target::Remote,
        }
    }
}

/// Anchors as `#name`, embedded schemas by their `$id`.
fn collect_names(root: &Value) -> BTreeMap<String, &Value> {
    let mut names = BTreeMap::new();
    let mut open = vec![root];
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(map) => {
                for keyword in ["$anchor", "$dynamicAnchor"] {
                    if let Some(Value::String(name)) = map.get(keyword) {
                        names.entry(format!("#{name}")).or_insert(value);
                    }
                }
                for keyword in ["$id", "id"] {
                    if let Some(Value::String(name)) = map.get(keyword) {
                        names.entry(name.clone()).or_insert(value);
                    }
                }
                open.extend(map.values());
            }
            _ => {}
        }
    }
    names
}

fn decode_percent(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let high = char::from(rest.next()?).to_digit(16)?;
            let low = char::from(rest.next()?).to_digit(16)?;
            bytes.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn follows_local_references_only() {
        let schema = json!({
            "$id": "https://example.com/tool",
            "$defs": {
                "a b": {"const": 1}, "c/d": {"const": 2},
                "e": {"$anchor": "here", "const": 3},
                "f": {"$id": "https://example.com/inner", "const": 4}
            }
        });
        let document = Document::new(&schema);
        let rows = [
            ("#/$defs/a%20b", Some(1)),
            ("#/$defs/c~1d", Some(2)),
            ("#here", Some(3)),
            ("https://example.com/inner", Some(4)),
            ("https://example.com/tool#/$defs/e", Some(3)),
            ("#/$defs/none", None),
            ("#none", None),
            ("#/%zz", None),
        ];
        for (reference, expected) in rows {
            let expected = expected.map(|number| json!(number));
            match document.resolve(reference) {
                Target::Here(found) => assert_eq!(found.get("const"), expected.as_ref()),
                other => assert_eq!((other, expected), (Target::Missing, None), "{reference}"),
            }
        }
        assert_eq!(document.resolve("#"), Target::Here(&schema));
        for reference in [
            "https://example.com/other",
            "file:///etc/passwd",
            "other.json#/a",
        ] {
            assert_eq!(document.resolve(reference), Target::Remote);
        }
    }

    #[test]
    fn refuses_deep_and_wide_schemas() {
        let mut deep = json!({});
        for _ in 0..SCHEMA_DEPTH_MAX {
            deep = Value::Array(vec![deep]);
        }
        assert!(check_size(&deep).is_err());
        assert!(check_size(&json!({"enum": vec![0; SCHEMA_VALUES_MAX]})).is_err());
        assert!(check_size(&json!({"enum": vec![0; 1_000]})).is_ok());
    }
}
