//! Everything that is asked of one place in the arguments, gathered from all schemas that apply.
//!
//! References and `allOf` are merged. Of `anyOf`, `oneOf` and `if` one branch each is taken: a
//! trail says which, so that moving it on visits every combination. What is left out (`not`, the
//! branches not taken) is checked by the validation at the end.
//!
//! What was merged is kept as the list of schemas; what they say together is read off it when it is needed.

use crate::prelude::*;

/// A type of JSON Schema, by its name.
pub type JsonType = &'static str;

/// Every type, the most telling argument first.
const TYPES: [JsonType; 7] = [
    "string", "integer", "number", "boolean", "object", "array", "null",
];

/// What one place has to satisfy.
#[derive(Debug, Clone, Default)]
pub struct Requirements<'schema> {
    /// The place, as a JSON pointer into the arguments.
    pub place: String,
    /// A `false` schema applies.
    pub impossible: bool,
    /// The schemas that apply, in order.
    pub parts: Vec<&'schema Map<String, Value>>,
    /// The types allowed, in the order of the schema.
    types: Option<Vec<JsonType>>,
    pub required: BTreeSet<&'schema str>,
    /// Targets of the references followed.
    pub references: Vec<&'schema Value>,
}

impl<'schema> Requirements<'schema> {
    /// What the schemas say under these keywords, in their order.
    pub fn all(&self, keywords: &[&str]) -> impl Iterator<Item = &'schema Value> {
        self.parts
            .iter()
            .copied()
            .flatten()
            .filter(|(keyword, _)| keywords.contains(&keyword.as_str()))
            .map(|(_, value)| value)
    }

    /// The texts under these keywords.
    pub fn texts(&self, keywords: &[&str]) -> impl Iterator<Item = &'schema str> {
        self.all(keywords).filter_map(Value::as_str)
    }

    /// The largest count under a keyword.
    pub fn most(&self, keyword: &str) -> u64 {
        self.all(&[keyword]).map(count).max().unwrap_or(0)
    }

    /// The smallest count under a keyword.
    pub fn least(&self, keyword: &str) -> Option<u64> {
        self.all(&[keyword]).map(count).min()
    }

    /// How many there must be, if that is not too many.
    pub fn within(&self, what: &'static str, needs: u64, limit: usize) -> Result<usize> {
        let count = usize::try_from(needs).ok();
        count
            .filter(|count| *count <= limit)
            .ok_or_else(|| ArgumentsError::over_limit(&self.place, what, &needs, limit))
    }

    /// The names in the objects under a keyword.
    pub fn names(&self, keyword: &str) -> impl Iterator<Item = &'schema String> {
        self.parts
            .iter()
            .filter_map(move |part| part.get(keyword))
            .filter_map(Value::as_object)
            .flat_map(Map::keys)
    }

    /// The lists under a keyword, and the values under others, each as a list of one.
    fn lists(&self, list: &str, single: &[&str]) -> impl Iterator<Item = &'schema [Value]> {
        self.parts
            .iter()
            .copied()
            .flatten()
            .filter_map(move |(keyword, value)| {
                if keyword == list {
                    return value.as_array().map(Vec::as_slice);
                }
                single
                    .contains(&keyword.as_str())
                    .then(|| std::slice::from_ref(value))
            })
    }

    /// `const` and `enum`: a value has to be in each.
    pub fn listed(&self) -> impl Iterator<Item = &'schema [Value]> {
        self.lists("enum", &["const"])
    }

    /// `default` and `examples`.
    pub fn suggested(&self) -> impl Iterator<Item = &'schema Value> {
        self.lists("examples", &["default", "example"]).flatten()
    }

    /// Bounds as they are written: a number, and whether the number itself is out.
    fn bounds(&self, keyword: &str, exclusive: &str) -> Vec<(&'schema Value, bool)> {
        let bounds = self.parts.iter().flat_map(|part| {
            let other = part.get(exclusive);
            let bound = part.get(keyword);
            let bound = bound.map(|number| (number, other.is_some_and(|it| *it == true)));
            let other = other.filter(|number| number.is_number());
            bound.into_iter().chain(other.map(|number| (number, true)))
        });
        bounds.collect()
    }

    /// The bounds from below.
    pub fn lower_bounds(&self) -> Vec<(&'schema Value, bool)> {
        self.bounds("minimum", "exclusiveMinimum")
    }

    /// The bounds from above.
    pub fn upper_bounds(&self) -> Vec<(&'schema Value, bool)> {
        self.bounds("maximum", "exclusiveMaximum")
    }

    /// Schemas that some items must match, and how many.
    pub fn contained(&self) -> Vec<(&'schema Value, u64)> {
        let contained = self.parts.iter().filter_map(|part| {
            let least = part.get("minContains").map_or(1, count);
            Some((part.get("contains")?, least))
        });
        contained.collect()
    }

    /// Every schema that applies to the item at an index: `prefixItems` and `items`, or the older `items` list and
    /// `additionalItems`.
    pub fn of_item(&self, index: usize) -> Vec<&'schema Value> {
        let schemas = self.parts.iter().filter_map(|part| {
            let (first, others) = match (part.get("prefixItems"), part.get("items")) {
                (Some(Value::Array(first)), others) => (first.as_slice(), others),
                (_, Some(Value::Array(first))) => (first.as_slice(), part.get("additionalItems")),
                (_, others) => (&[][..], others),
            };
            first.get(index).or(others)
        });
        self.or_unevaluated(schemas.collect(), "unevaluatedItems")
    }

    /// Every schema that applies to a property.
    pub fn of_member(
        &self,
        document: &Document<'schema>,
        place: &str,
        name: &str,
    ) -> Result<Vec<&'schema Value>> {
        let mut schemas = Vec::new();
        for part in &self.parts {
            let known = schemas.len();
            let object = |keyword| part.get(keyword).and_then(Value::as_object);
            schemas.extend(object("properties").and_then(|declared| declared.get(name)));
            for (pattern, schema) in object("patternProperties").into_iter().flatten() {
                document.step(place, 1)?;
                if document.matches(pattern, name) {
                    schemas.push(schema);
                }
            }
            if schemas.len() == known {
                schemas.extend(part.get("additionalProperties"));
            }
        }
        Ok(self.or_unevaluated(schemas, "unevaluatedProperties"))
    }

    /// The schemas, or those for what nothing else applies to.
    fn or_unevaluated(&self, schemas: Vec<&'schema Value>, keyword: &str) -> Vec<&'schema Value> {
        if schemas.is_empty() {
            return self.all(&[keyword]).collect();
        }
        schemas
    }

    /// The types to try, in order; those that keywords hint at first, where none is named.
    pub fn types_to_try(&self) -> Vec<JsonType> {
        if let Some(types) = &self.types {
            return types.clone();
        }
        let keywords = self.parts.iter().flat_map(|part| part.keys());
        let mut types = Vec::with_capacity(TYPES.len());
        for kind in keywords.filter_map(|it| hinted(it)).chain(TYPES) {
            if !types.contains(&kind) {
                types.push(kind);
            }
        }
        types
    }

    /// Whether a listed or suggested value may stand here.
    pub fn admits(&self, value: &Value) -> bool {
        let is_of_type = |kind: &JsonType| match (*kind, value) {
            ("integer", Value::Number(number)) => {
                number.as_f64().is_some_and(|it| it.fract() == 0.0)
            }
            ("number", Value::Number(_))
            | ("string", Value::String(_))
            | ("boolean", Value::Bool(_))
            | ("object", Value::Object(_))
            | ("array", Value::Array(_))
            | ("null", Value::Null) => true,
            _ => false,
        };
        let types = self.types.as_ref();
        types.is_none_or(|types| types.iter().any(is_of_type))
            && self.listed().all(|list| list.contains(value))
    }

    /// Leaves only types that are named here too: an integer is a number.
    fn narrow_types(&mut self, value: &Value) {
        let names = match value {
            Value::Array(names) => names.as_slice(),
            name => std::slice::from_ref(name),
        };
        let types: Vec<JsonType> = names
            .iter()
            .filter_map(Value::as_str)
            .filter_map(|name| TYPES.into_iter().find(|known| *known == name))
            .collect();
        let both = |one: JsonType, other: &JsonType| match (one, *other) {
            (one, other) if one == other => Some(one),
            ("integer", "number") | ("number", "integer") => Some("integer"),
            _ => None,
        };
        self.types = Some(match self.types.take() {
            None => types,
            Some(known) => known
                .into_iter()
                .filter_map(|kind| types.iter().find_map(|other| both(kind, other)))
                .collect(),
        });
    }
}

/// The keywords that are about a type, for schemas that name none.
const HINTS: [(JsonType, &str); 4] = [
    (
        "object",
        "properties required additionalProperties patternProperties minProperties propertyNames",
    ),
    (
        "string",
        "minLength maxLength pattern format contentEncoding contentMediaType",
    ),
    (
        "number",
        "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf",
    ),
    (
        "array",
        "items prefixItems minItems maxItems uniqueItems contains",
    ),
];

/// The type that a keyword is about.
fn hinted(keyword: &str) -> Option<JsonType> {
    let mut hints = HINTS.iter();
    Some(hints.find(|(_, keywords)| has_word(keywords, keyword))?.0)
}

/// A count as schemas write it: `3` or `3.0`.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn count(value: &Value) -> u64 {
    // The conversion saturates; a negative count is none.
    value
        .as_u64()
        .or_else(|| value.as_f64().map(|number| number as u64))
        .unwrap_or(0)
}

/// Which branch is taken at every fork of a schema, and the next combination after it.
///
/// A branch may have forks of its own, so that the number of forks changes with every combination.
/// A trail remembers the forks met last time; moving on changes the last one that has a branch
/// left, and forgets what came after.
#[derive(Debug, Default)]
pub struct Trail {
    /// The branch that is taken, and of how many.
    forks: Vec<(usize, usize)>,
    met: usize,
}

impl Trail {
    /// The branch to take at the next fork, of so many.
    fn take(&mut self, count: usize) -> usize {
        if self.met == self.forks.len() {
            self.forks.push((0, count));
        }
        let taken = self.forks.get(self.met).map_or(0, |(taken, _)| *taken);
        self.met += 1;
        taken
    }

    /// Moves on to the next combination; false after the last one.
    pub fn advance(&mut self) -> bool {
        self.forks.truncate(self.met);
        self.met = 0;
        while let Some((taken, count)) = self.forks.last_mut() {
            *taken += 1;
            if taken < count {
                return true;
            }
            self.forks.pop();
        }
        false
    }
}

/// Merges schemas into requirements.
struct Merge<'reader, 'schema> {
    document: &'reader Document<'schema>,
    /// Which branches to take, if any are taken.
    trail: Option<&'reader mut Trail>,
    rotation: &'reader dyn Fn(usize) -> usize,
    found: Requirements<'schema>,
    dependent: Vec<(&'schema str, &'schema Value)>,
    in_place: Vec<&'schema Value>,
    depth: usize,
}

/// Merges what applies at a place: with one combination of branches, or without any.
pub fn merge<'schema>(
    document: &Document<'schema>,
    place: &str,
    schemas: &[&'schema Value],
    trail: Option<&mut Trail>,
    rotation: &dyn Fn(usize) -> usize,
) -> Result<Requirements<'schema>> {
    let mut merge = Merge {
        document,
        trail,
        rotation,
        found: Requirements {
            place: place.to_owned(),
            ..Requirements::default()
        },
        dependent: Vec::new(),
        in_place: Vec::new(),
        depth: 0,
    };
    merge.add_all(schemas.iter().copied())?;
    // A required property may bring more schemas, and those more required properties.
    while let Some(index) = merge
        .dependent
        .iter()
        .position(|(name, _)| merge.found.required.contains(name))
    {
        let (_, dependent) = merge.dependent.swap_remove(index);
        match dependent {
            Value::Array(names) => merge.require(names),
            schema => merge.add(schema)?,
        }
    }
    Ok(merge.found)
}

impl<'schema> Merge<'_, 'schema> {
    fn add_all(&mut self, schemas: impl IntoIterator<Item = &'schema Value>) -> Result<()> {
        schemas.into_iter().try_for_each(|schema| self.add(schema))
    }

    fn add(&mut self, schema: &'schema Value) -> Result<()> {
        let Value::Object(keywords) = schema else {
            self.found.impossible |= *schema == false;
            return Ok(());
        };
        let place = &self.found.place;
        if self.depth >= IN_PLACE_DEPTH_MAX {
            return Err(ArgumentsError::over_limit(
                place,
                "schemas one inside the other",
                &format!("over {IN_PLACE_DEPTH_MAX}"),
                IN_PLACE_DEPTH_MAX,
            ));
        }
        self.document.step(place, 1 + keywords.len() / 16)?;
        self.depth += 1;
        self.found.parts.push(keywords);
        if let Some(value) = keywords.get("type") {
            self.found.narrow_types(value);
        }
        self.require(list(keywords, "required"));
        for keyword in ["dependentSchemas", "dependencies", "dependentRequired"] {
            let dependent = keywords.get(keyword).and_then(Value::as_object);
            let room = PROPERTIES_MAX.saturating_sub(self.dependent.len());
            let dependent = dependent.into_iter().flatten().take(room);
            self.dependent
                .extend(dependent.map(|(name, value)| (name.as_str(), value)));
        }
        let references = REFERENCES
            .iter()
            .filter_map(|keyword| keywords.get(*keyword)?.as_str());
        for reference in references {
            self.follow(reference)?;
        }
        self.add_all(list(keywords, "allOf"))?;
        self.take_branches(keywords)?;
        self.depth -= 1;
        Ok(())
    }

    fn follow(&mut self, reference: &str) -> Result<()> {
        let place = self.found.place.clone();
        let reference = reference.to_owned();
        match self.document.resolve(&reference) {
            // A reference that returns to itself at the same place asks nothing more.
            Target::Here(target) if self.in_place.iter().any(|it| std::ptr::eq(*it, target)) => {
                Ok(())
            }
            Target::Here(target) => {
                self.found.references.push(target);
                self.in_place.push(target);
                let result = self.add(target);
                self.in_place.pop();
                result
            }
            Target::Remote => Err(ArgumentsError::RemoteReference { place, reference }),
            Target::Missing => Err(ArgumentsError::UnresolvedReference { place, reference }),
        }
    }

    fn take_branches(&mut self, keywords: &'schema Map<String, Value>) -> Result<()> {
        for keyword in ["anyOf", "oneOf"] {
            let branches = list(keywords, keyword);
            if let (Some(trail), false) = (&mut self.trail, branches.is_empty()) {
                let branch = trail.take(branches.len()) + (self.rotation)(branches.len());
                self.add_all(branches.get(branch % branches.len()))?;
            }
        }
        if let (Some(condition), Some(trail)) = (keywords.get("if"), &mut self.trail) {
            // Small values often satisfy a conditional as they are: first without any branch.
            match trail.take(3) {
                1 => self.add_all([condition].into_iter().chain(keywords.get("then")))?,
                2 => self.add_all(keywords.get("else"))?,
                _ => {}
            }
        }
        Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visits_every_combination_once() {
        let mut trail = Trail::default();
        let mut seen = Vec::new();
        loop {
            let first = trail.take(3);
            // Only the second branch forks again.
            let second = (first == 1).then(|| trail.take(2));
            seen.push((first, second));
            if !trail.advance() {
                break;
            }
        }
        assert_eq!(seen, [(0, None), (1, Some(0)), (1, Some(1)), (2, None)]);
    }
}
