//! What a validation will cost, found before it is done.
//!
//! A validator applies schemas one by one; a few references that each refer twice to the next make
//! that exponential. The walk here applies what the validator would apply, counts, and stops at a
//! limit. It comes before every validation.

use super::document::objects;
use crate::prelude::*;

/// Keywords with one schema for the same value.
const SINGLE: [&str; 4] = ["not", "if", "then", "else"];
/// Keywords with a list of schemas for the same value.
const LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
/// Keywords with schemas for the same value, by the names of properties.
const DEPENDENT: [&str; 2] = ["dependentSchemas", "dependencies"];
/// Keywords with one schema for each property.
const EACH_PROPERTY: [&str; 2] = ["additionalProperties", "unevaluatedProperties"];
/// Keywords with schemas for the items.
const EACH_ITEM: [&str; 5] = [
    "items",
    "additionalItems",
    "unevaluatedItems",
    "contains",
    "prefixItems",
];
/// `unevaluated…` looks at everything beside it again to see what it has covered.
const UNEVALUATED_FACTOR: usize = 3;

/// The count of steps so far, over all attempts, and the way from the root to where the walk is.
pub struct Cost<'document, 'schema> {
    document: &'document Document<'schema>,
    steps: usize,
    place: String,
    references: Vec<&'schema Value>,
    depth: usize,
    /// No value yet: only what the schema alone costs.
    is_preparing: bool,
}

impl<'document, 'schema> Cost<'document, 'schema> {
    pub const fn new(document: &'document Document<'schema>) -> Self {
        Self {
            document,
            steps: 0,
            place: String::new(),
            references: Vec::new(),
            depth: 0,
            is_preparing: false,
        }
    }

    /// Counts what it takes to prepare the `unevaluated…` keywords of a schema.
    pub fn add_preparation(&mut self, root: &'schema Value) -> Result<()> {
        self.is_preparing = true;
        let objects = objects(root);
        for object in objects.filter(|it| it.as_object().is_some_and(has_unevaluated)) {
            self.walk(object, &Value::Null)?;
        }
        Ok(())
    }

    /// Counts what it takes to validate a value; an error where that is too much, or where the
    /// value would be checked by a remote schema.
    pub fn add_validation(&mut self, schema: &'schema Value, value: &Value) -> Result<()> {
        self.place.clear();
        self.references.clear();
        self.depth = 0;
        self.walk(schema, value)
    }

    fn walk(&mut self, schema: &'schema Value, value: &Value) -> Result<()> {
        self.steps += 1;
        if self.steps > VALIDATION_STEPS_MAX || self.depth > VALIDATION_DEPTH_MAX {
            return Err(ArgumentsError::too_much_work(
                &self.place,
                "validation",
                VALIDATION_STEPS_MAX,
            ));
        }
        let Value::Object(keywords) = schema else {
            return Ok(());
        };
        self.depth += 1;
        let rounds = if has_unevaluated(keywords) {
            UNEVALUATED_FACTOR
        } else {
            1
        };
        for _ in 0..rounds {
            self.walk_in_place(keywords, value)?;
            self.walk_below(keywords, value)?;
        }
        self.depth -= 1;
        Ok(())
    }

    fn walk_in_place(
        &mut self,
        keywords: &'schema Map<String, Value>,
        value: &Value,
    ) -> Result<()> {
        let given = |keyword: &&str| keywords.get(*keyword);
        for reference in REFERENCES.iter().filter_map(given) {
            let Value::String(reference) = reference else {
                continue;
            };
            match self.document.resolve(reference) {
                // A reference that returns to itself at the same value adds nothing.
                Target::Here(target)
                    if !self.references.iter().any(|it| std::ptr::eq(*it, target)) =>
                {
                    self.references.push(target);
                    self.walk(target, value)?;
                    self.references.pop();
                }
                Target::Remote if !self.is_preparing => {
                    return Err(ArgumentsError::RemoteReference {
                        place: self.place.clone(),
                        reference: reference.clone(),
                    });
                }
                // The validator was built: it knows what the rest means.
                _ => {}
            }
        }
        let single = SINGLE.iter().filter_map(given);
        let lists = LISTS.iter().filter_map(given).filter_map(Value::as_array);
        let dependent = DEPENDENT.iter().filter_map(given);
        let dependent = dependent.filter_map(Value::as_object).flat_map(Map::values);
        for part in single.chain(lists.flatten()).chain(dependent) {
            self.walk(part, value)?;
        }
        Ok(())
    }

    fn walk_below(&mut self, keywords: &'schema Map<String, Value>, value: &Value) -> Result<()> {
        let named = |keyword| keywords.get(keyword).and_then(Value::as_object);
        let given = |keyword: &&str| keywords.get(*keyword);
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    let declared = named("properties").and_then(|map| map.get(name));
                    let patterns = named("patternProperties").into_iter().flat_map(Map::values);
                    // Additional properties are those that are not declared.
                    let others = EACH_PROPERTY.iter().filter(|_| declared.is_none());
                    let others = others.filter_map(given);
                    for part in declared.into_iter().chain(patterns).chain(others) {
                        self.walk_member(part, member, name)?;
                    }
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    let parts = EACH_ITEM.iter().filter_map(given);
                    let parts = parts.filter_map(|part| match part {
                        Value::Array(tuple) => tuple.get(index),
                        schema => Some(schema),
                    });
                    for part in parts {
                        self.walk_member(part, item, &index.to_string())?;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn walk_member(&mut self, schema: &'schema Value, value: &Value, name: &str) -> Result<()> {
        let length = self.place.len();
        self.place.push('/');
        self.place.push_str(name);
        // References may return now: the value has become smaller.
        let references = std::mem::take(&mut self.references);
        self.walk(schema, value)?;
        self.references = references;
        self.place.truncate(length);
        Ok(())
    }
}

fn has_unevaluated(keywords: &Map<String, Value>) -> bool {
    keywords.contains_key("unevaluatedProperties") || keywords.contains_key("unevaluatedItems")
}
