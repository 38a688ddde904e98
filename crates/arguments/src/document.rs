//! The schema as a document: its size, and what its references mean.

use std::cell::{Cell, OnceCell, RefCell};

use percent_encoding::percent_decode_str;

use super::validation::{compile_pattern, find_failure};
use crate::prelude::*;

/// Keywords that refer to another schema.
pub const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// Every object in a schema, in whatever it stands.
pub fn objects(root: &Value) -> impl Iterator<Item = &Value> {
    let mut open = vec![root];
    std::iter::from_fn(move || {
        loop {
            let value = open.pop()?;
            match value {
                Value::Array(items) => open.extend(items),
                Value::Object(map) => {
                    open.extend(map.values());
                    return Some(value);
                }
                _ => {}
            }
        }
    })
}

/// Refuses schemas that no recursive reader should be given.
pub fn check_size(schema: &Value) -> Result<()> {
    let too_large = |what, limit| Err(ArgumentsError::SchemaTooLarge { what, limit });
    let mut values = 0_usize;
    let mut open = vec![(schema, 1_usize)];
    while let Some((value, depth)) = open.pop() {
        values += 1;
        if depth > SCHEMA_DEPTH_MAX {
            return too_large("nesting", SCHEMA_DEPTH_MAX);
        }
        if values > SCHEMA_VALUES_MAX {
            return too_large("values", SCHEMA_VALUES_MAX);
        }
        match value {
            Value::Array(items) => open.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(map) => open.extend(map.values().map(|item| (item, depth + 1))),
            _ => {}
        }
    }
    let patterns = objects(schema).map(|object| {
        let named = object["patternProperties"].as_object();
        let is_one = object["pattern"].is_string();
        named.map_or(0, Map::len) + usize::from(is_one)
    });
    if patterns.sum::<usize>() > PATTERNS_MAX {
        return too_large("patterns", PATTERNS_MAX);
    }
    Ok(())
}

/// What a reference leads to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Target<'schema> {
    /// A schema of this document.
    Here(&'schema Value),
    /// Another document.
    Remote,
    /// Nothing.
    Missing,
}

/// A schema with its anchors and patterns, and how often it was read.
pub struct Document<'schema> {
    pub root: &'schema Value,
    steps: Cell<usize>,
    names: OnceCell<BTreeMap<String, &'schema Value>>,
    /// Patterns compiled so far; none where the pattern cannot be.
    patterns: RefCell<BTreeMap<&'schema str, Option<Validator>>>,
}

impl<'schema> Document<'schema> {
    pub const fn new(root: &'schema Value) -> Self {
        Self {
            root,
            steps: Cell::new(0),
            names: OnceCell::new(),
            patterns: RefCell::new(BTreeMap::new()),
        }
    }

    /// Counts work; an error when it becomes too much.
    pub fn step(&self, place: &str, count: usize) -> Result<()> {
        self.steps.set(self.steps.get().saturating_add(count));
        if self.steps.get() <= MAKING_STEPS_MAX {
            return Ok(());
        }
        Err(ArgumentsError::too_much_work(
            place,
            "making values",
            MAKING_STEPS_MAX,
        ))
    }

    /// Whether a text matches a `pattern` of the schema.
    pub fn matches(&self, pattern: &'schema str, text: &str) -> bool {
        self.patterns
            .borrow_mut()
            .entry(pattern)
            .or_insert_with(|| compile_pattern(pattern))
            .as_ref()
            .is_some_and(|validator| find_failure(validator, &text.into()).is_none())
    }

    /// Follows a `$ref`. Nothing outside of the document is ever looked at.
    pub fn resolve(&self, reference: &str) -> Target<'schema> {
        let reference = self.root["$id"]
            .as_str()
            .map(|name| name.trim_end_matches('#'))
            .filter(|name| !name.is_empty())
            .and_then(|name| reference.strip_prefix(name))
            .filter(|rest| rest.is_empty() || rest.starts_with('#'))
            .unwrap_or(reference);
        if reference.is_empty() || reference == "#" {
            return Target::Here(self.root);
        }
        if reference.starts_with("#/") {
            let pointer = percent_decode_str(reference.trim_start_matches('#')).decode_utf8();
            let found = pointer.ok().and_then(|pointer| self.root.pointer(&pointer));
            return found.map_or(Target::Missing, Target::Here);
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
    for object in objects(root) {
        for (keyword, mark) in [
            ("$anchor", "#"),
            ("$dynamicAnchor", "#"),
            ("$id", ""),
            ("id", ""),
        ] {
            if let Some(Value::String(name)) = object.get(keyword) {
                names.entry(format!("{mark}{name}")).or_insert(object);
            }
        }
    }
    names
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
