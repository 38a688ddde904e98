//! What a validation will cost, found before it is done.
//!
//! A validator applies schemas one by one; a few references that each refer twice to the next make
//! that exponential. The walk here applies what the validator would apply, counts, and stops at a
//! limit. It comes before every validation.

use serde_json::{Map, Value};

use super::ArgumentsError;
use super::document::{Document, REFERENCES, Target, objects};
use super::limits::{VALIDATION_DEPTH_MAX, VALIDATION_STEPS_MAX};

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

/// The count of steps so far, over all attempts.
pub(super) struct Cost<'document, 'schema> {
    document: &'document Document<'schema>,
    steps: usize,
}

/// The way from the root to where the walk is.
struct Way<'schema> {
    place: String,
    references: Vec<&'schema Value>,
    depth: usize,
    /// No value yet: only what the schema alone costs.
    preparing: bool,
}

impl<'document, 'schema> Cost<'document, 'schema> {
    pub(super) const fn new(document: &'document Document<'schema>) -> Self {
        Self { document, steps: 0 }
    }

    /// Counts what it takes to prepare the `unevaluated…` keywords of a schema.
    pub(super) fn add_preparation(&mut self, root: &'schema Value) -> Result<(), ArgumentsError> {
        let objects = objects(root);
        for object in objects.filter(|it| it.as_object().is_some_and(has_unevaluated)) {
            self.walk(object, &Value::Null, &mut Way::start(true))?;
        }
        Ok(())
    }

    /// Counts what it takes to validate a value; an error where that is too much, or where the
    /// value would be checked by a remote schema.
    pub(super) fn add_validation(
        &mut self,
        schema: &'schema Value,
        value: &Value,
    ) -> Result<(), ArgumentsError> {
        self.walk(schema, value, &mut Way::start(false))
    }

    fn walk(
        &mut self,
        schema: &'schema Value,
        value: &Value,
        way: &mut Way<'schema>,
    ) -> Result<(), ArgumentsError> {
        self.steps += 1;
        if self.steps > VALIDATION_STEPS_MAX || way.depth > VALIDATION_DEPTH_MAX {
            return Err(ArgumentsError::too_much_work(
                &way.place,
                "validation",
                VALIDATION_STEPS_MAX,
            ));
        }
        let Value::Object(keywords) = schema else {
            return Ok(());
        };
        way.depth += 1;
        let rounds = if has_unevaluated(keywords) {
            UNEVALUATED_FACTOR
        } else {
            1
        };
        for _ in 0..rounds {
            self.walk_in_place(keywords, value, way)?;
            self.walk_below(keywords, value, way)?;
        }
        way.depth -= 1;
        Ok(())
    }

    fn walk_in_place(
        &mut self,
        keywords: &'schema Map<String, Value>,
        value: &Value,
        way: &mut Way<'schema>,
    ) -> Result<(), ArgumentsError> {
        for reference in REFERENCES
            .iter()
            .filter_map(|keyword| keywords.get(*keyword)?.as_str())
        {
            match self.document.resolve(reference) {
                Target::Here(target) => {
                    // A reference that returns to itself at the same value adds nothing.
                    if !way
                        .references
                        .iter()
                        .any(|seen| std::ptr::eq(*seen, target))
                    {
                        way.references.push(target);
                        self.walk(target, value, way)?;
                        way.references.pop();
                    }
                }
                Target::Remote if !way.preparing => {
                    return Err(ArgumentsError::RemoteReference {
                        place: way.place.clone(),
                        reference: reference.to_owned(),
                    });
                }
                // The validator was built: it knows what the rest means.
                Target::Remote | Target::Missing => {}
            }
        }
        let given = |keyword: &&str| keywords.get(*keyword);
        let single = SINGLE.iter().filter_map(given);
        let lists = LISTS.iter().filter_map(given).filter_map(Value::as_array);
        let dependent = DEPENDENT.iter().filter_map(given);
        let dependent = dependent.filter_map(Value::as_object).flat_map(Map::values);
        for part in single.chain(lists.flatten()).chain(dependent) {
            self.walk(part, value, way)?;
        }
        Ok(())
    }

    fn walk_below(
        &mut self,
        keywords: &'schema Map<String, Value>,
        value: &Value,
        way: &mut Way<'schema>,
    ) -> Result<(), ArgumentsError> {
        let named = |keyword| keywords.get(keyword).and_then(Value::as_object);
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    let declared = named("properties").and_then(|map| map.get(name));
                    let patterns = named("patternProperties").into_iter().flat_map(Map::values);
                    // Additional properties are those that are not declared.
                    let others = EACH_PROPERTY
                        .iter()
                        .filter(|_| declared.is_none())
                        .filter_map(|keyword| keywords.get(*keyword));
                    for part in declared.into_iter().chain(patterns).chain(others) {
                        self.walk_member(part, member, name, way)?;
                    }
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    for part in EACH_ITEM
                        .iter()
                        .filter_map(|keyword| keywords.get(*keyword))
                    {
                        let part = match part {
                            Value::Array(tuple) => tuple.get(index),
                            schema => Some(schema),
                        };
                        if let Some(part) = part {
                            self.walk_member(part, item, &index.to_string(), way)?;
                        }
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn walk_member(
        &mut self,
        schema: &'schema Value,
        value: &Value,
        name: &str,
        way: &mut Way<'schema>,
    ) -> Result<(), ArgumentsError> {
        let length = way.place.len();
        way.place.push('/');
        way.place.push_str(name);
        // References may return now: the value has become smaller.
        let references = std::mem::take(&mut way.references);
        let result = self.walk(schema, value, way);
        way.references = references;
        way.place.truncate(length);
        result
    }
}

impl Way<'_> {
    const fn start(preparing: bool) -> Self {
        Self {
            place: String::new(),
            references: Vec::new(),
            depth: 0,
            preparing,
        }
    }
}

fn has_unevaluated(keywords: &Map<String, Value>) -> bool {
    keywords.contains_key("unevaluatedProperties") || keywords.contains_key("unevaluatedItems")
}
