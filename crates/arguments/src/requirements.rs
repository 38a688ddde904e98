//! Everything that is asked of one place in the arguments, gathered from all schemas that apply.
//!
//! References and `allOf` are merged. Of `anyOf`, `oneOf` and `if` one branch each is taken: a
//! trail says which, so that moving it on visits every combination. What is left out (`not`, the
//! branches not taken) is checked by the validation at the end.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::ArgumentsError;
use super::document::{Document, Target};
use super::kind::Kind;
use super::limits::{IN_PLACE_DEPTH_MAX, PROPERTIES_MAX};
use super::trail::Trail;

/// The `properties` of one schema, with what it says about all others.
#[derive(Debug, Clone, Copy)]
pub(super) struct Members<'schema> {
    pub(super) declared: Option<&'schema Map<String, Value>>,
    pub(super) patterns: Option<&'schema Map<String, Value>>,
    pub(super) others: Option<&'schema Value>,
}

/// The items of one schema: the first ones, then all others.
#[derive(Debug, Clone, Copy)]
pub(super) struct Items<'schema> {
    pub(super) first: &'schema [Value],
    pub(super) others: Option<&'schema Value>,
}

/// A bound as it is written: a number, and whether the number itself is out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bound<'schema> {
    pub(super) number: &'schema Value,
    pub(super) exclusive: bool,
}

/// What one place has to satisfy.
#[derive(Debug, Clone, Default)]
pub(super) struct Requirements<'schema> {
    /// A `false` schema applies.
    pub(super) impossible: bool,
    /// The types allowed, in the order of the schema.
    pub(super) kinds: Option<Vec<Kind>>,
    /// The types that keywords hint at.
    pub(super) hinted: Vec<Kind>,
    /// `const` and `enum`: a value has to be in each.
    pub(super) listed: Vec<&'schema [Value]>,
    /// `default` and `examples`.
    pub(super) suggested: Vec<&'schema Value>,
    /// What is said of the value.
    pub(super) descriptions: Vec<&'schema str>,
    pub(super) length_min: u64,
    pub(super) length_max: Option<u64>,
    pub(super) patterns: Vec<&'schema str>,
    pub(super) formats: Vec<&'schema str>,
    pub(super) lower: Vec<Bound<'schema>>,
    pub(super) upper: Vec<Bound<'schema>>,
    pub(super) multiples: Vec<&'schema Value>,
    pub(super) items: Vec<Items<'schema>>,
    /// For items that nothing else applies to.
    pub(super) unevaluated_items: Vec<&'schema Value>,
    pub(super) items_min: u64,
    pub(super) unique: bool,
    /// Schemas that some items must match, and how many.
    pub(super) contained: Vec<(&'schema Value, u64)>,
    pub(super) members: Vec<Members<'schema>>,
    /// For properties that nothing else applies to.
    pub(super) unevaluated_members: Vec<&'schema Value>,
    pub(super) members_min: u64,
    pub(super) required: BTreeSet<&'schema str>,
    pub(super) names: Vec<&'schema Value>,
    /// Targets of the references followed.
    pub(super) references: Vec<&'schema Value>,
}

/// Merges schemas into requirements.
pub(super) struct Merge<'reader, 'schema> {
    document: &'reader Document<'schema>,
    place: &'reader str,
    /// Which branches to take, if any are taken.
    trail: Option<&'reader mut Trail>,
    rotation: &'reader dyn Fn(usize) -> usize,
    found: Requirements<'schema>,
    dependent: Vec<(&'schema str, &'schema Value)>,
    in_place: Vec<&'schema Value>,
    depth: usize,
}

/// Merges what applies at a place, without any branch.
pub(super) fn merge_common<'schema>(
    document: &Document<'schema>,
    place: &str,
    schemas: &[&'schema Value],
) -> Result<Requirements<'schema>, ArgumentsError> {
    let mut merge = Merge::new(document, place, None, &|_| 0);
    merge.run(schemas)?;
    Ok(merge.found)
}

/// Merges what applies at a place, with one combination of branches.
pub(super) fn merge_branches<'schema>(
    document: &Document<'schema>,
    place: &str,
    schemas: &[&'schema Value],
    trail: &mut Trail,
    rotation: &dyn Fn(usize) -> usize,
) -> Result<Requirements<'schema>, ArgumentsError> {
    let mut merge = Merge::new(document, place, Some(trail), rotation);
    merge.run(schemas)?;
    Ok(merge.found)
}

impl<'reader, 'schema> Merge<'reader, 'schema> {
    fn new(
        document: &'reader Document<'schema>,
        place: &'reader str,
        trail: Option<&'reader mut Trail>,
        rotation: &'reader dyn Fn(usize) -> usize,
    ) -> Self {
        Self {
            document,
            place,
            trail,
            rotation,
            found: Requirements::default(),
            dependent: Vec::new(),
            in_place: Vec::new(),
            depth: 0,
        }
    }

    fn run(&mut self, schemas: &[&'schema Value]) -> Result<(), ArgumentsError> {
        for schema in schemas {
            self.add(schema)?;
        }
        // A required property may bring more schemas, and those more required properties.
        while let Some(index) = self
            .dependent
            .iter()
            .position(|(name, _)| self.found.required.contains(name))
        {
            let (_, dependent) = self.dependent.swap_remove(index);
            match dependent {
                Value::Array(names) => self.require(names),
                schema => self.add(schema)?,
            }
        }
        Ok(())
    }

    fn add(&mut self, schema: &'schema Value) -> Result<(), ArgumentsError> {
        let Value::Object(keywords) = schema else {
            self.found.impossible |= *schema == Value::Bool(false);
            return Ok(());
        };
        if self.depth >= IN_PLACE_DEPTH_MAX {
            return Err(ArgumentsError::OverLimit {
                place: self.place.to_owned(),
                what: "schemas one inside the other",
                needs: format!("over {IN_PLACE_DEPTH_MAX}"),
                limit: IN_PLACE_DEPTH_MAX,
            });
        }
        self.document.step(self.place, 1 + keywords.len() / 16)?;
        self.depth += 1;
        for (keyword, value) in keywords {
            if let Some(kind) = Kind::of_keyword(keyword) {
                self.found.hinted.push(kind);
            }
            self.found.add_scalar_keyword(keyword, value, keywords);
        }
        self.found.add_items(keywords);
        self.add_members(keywords);
        for reference in ["$ref", "$dynamicRef", "$recursiveRef"]
            .iter()
            .filter_map(|keyword| keywords.get(*keyword)?.as_str())
        {
            self.follow(reference)?;
        }
        for part in list(keywords, "allOf") {
            self.add(part)?;
        }
        self.take_branches(keywords)?;
        self.depth -= 1;
        Ok(())
    }

    fn follow(&mut self, reference: &str) -> Result<(), ArgumentsError> {
        match self.document.resolve(reference) {
            Target::Here(target) => {
                // A reference that returns to itself at the same place asks nothing more.
                if self.in_place.iter().any(|seen| std::ptr::eq(*seen, target)) {
                    return Ok(());
                }
                self.found.references.push(target);
                self.in_place.push(target);
                let result = self.add(target);
                self.in_place.pop();
                result
            }
            Target::Remote => Err(ArgumentsError::RemoteReference {
                place: self.place.to_owned(),
                reference: reference.to_owned(),
            }),
            Target::Missing => Err(ArgumentsError::UnresolvedReference {
                place: self.place.to_owned(),
                reference: reference.to_owned(),
            }),
        }
    }

    fn take_branches(
        &mut self,
        keywords: &'schema Map<String, Value>,
    ) -> Result<(), ArgumentsError> {
        for keyword in ["anyOf", "oneOf"] {
            let branches = list(keywords, keyword);
            if !branches.is_empty() {
                let Some(trail) = &mut self.trail else {
                    continue;
                };
                let branch = trail.take(branches.len()) + (self.rotation)(branches.len());
                if let Some(branch) = branches.get(branch % branches.len()) {
                    self.add(branch)?;
                }
            }
        }
        if let (Some(condition), Some(trail)) = (keywords.get("if"), &mut self.trail) {
            // Small values often satisfy a conditional as they are: first without any branch.
            match trail.take(3) {
                1 => {
                    self.add(condition)?;
                    if let Some(consequence) = keywords.get("then") {
                        self.add(consequence)?;
                    }
                }
                2 => {
                    if let Some(alternative) = keywords.get("else") {
                        self.add(alternative)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn add_members(&mut self, keywords: &'schema Map<String, Value>) {
        let object = |keyword| keywords.get(keyword).and_then(Value::as_object);
        let members = Members {
            declared: object("properties"),
            patterns: object("patternProperties"),
            others: keywords.get("additionalProperties"),
        };
        self.found
            .unevaluated_members
            .extend(keywords.get("unevaluatedProperties"));
        if members.declared.is_some() || members.patterns.is_some() || members.others.is_some() {
            self.found.members.push(members);
        }
        self.require(list(keywords, "required"));
        for keyword in ["dependentSchemas", "dependencies", "dependentRequired"] {
            for (name, value) in object(keyword).into_iter().flatten() {
                if self.dependent.len() < PROPERTIES_MAX {
                    self.dependent.push((name, value));
                }
            }
        }
    }

    /// Adds required names, one more than the limit at most: enough to see that it is exceeded.
    fn require(&mut self, names: &'schema [Value]) {
        let names = names.iter().filter_map(Value::as_str);
        let room = (PROPERTIES_MAX + 1).saturating_sub(self.found.required.len());
        self.found.required.extend(names.take(room));
    }
}

fn list<'schema>(keywords: &'schema Map<String, Value>, keyword: &str) -> &'schema [Value] {
    keywords
        .get(keyword)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}
