//! Objects: the required properties, and as few others as the schema lets through.

use serde_json::{Map, Value};

use super::ArgumentsError;
use super::limits::PROPERTIES_MAX;
use super::pattern::Pattern;
use super::place::{Carriers, Making};
use super::requirements::Requirements;

/// Optional properties that the fuller variant of an object has.
const OPTIONAL_MAX: usize = 50;

impl<'schema> Making<'_, 'schema> {
    /// Variant zero has the required properties only, variant one the optional ones too; the
    /// others have other values.
    pub(super) fn object(
        &mut self,
        place: &str,
        requirements: &Requirements<'schema>,
        variant: usize,
    ) -> Result<Value, ArgumentsError> {
        let least = usize::try_from(requirements.members_min).unwrap_or(usize::MAX);
        if least.max(requirements.required.len()) > PROPERTIES_MAX {
            return Err(ArgumentsError::OverLimit {
                place: place.to_owned(),
                what: "properties",
                needs: requirements
                    .members_min
                    .max(requirements.required.len() as u64)
                    .to_string(),
                limit: PROPERTIES_MAX,
            });
        }
        let salt = variant.saturating_sub(1);
        let mut members = Map::new();
        for name in &requirements.required {
            let value = self.member(place, requirements, name, salt)?;
            members.insert((*name).to_owned(), value);
        }
        if let Carriers::Optional(name) = self.carriers
            && place.is_empty()
            && !members.contains_key(name)
        {
            let value = self.member(place, requirements, name, salt)?;
            members.insert(name.to_owned(), value);
        }
        if variant == 1 {
            let all = members.len() + OPTIONAL_MAX;
            self.add_declared(place, requirements, all, &mut members)?;
        }
        if members.len() < least {
            self.add_declared(place, requirements, least, &mut members)?;
            self.add_invented(place, requirements, least, &mut members)?;
        }
        Ok(Value::Object(members))
    }

    fn member(
        &mut self,
        place: &str,
        requirements: &Requirements<'schema>,
        name: &str,
        salt: usize,
    ) -> Result<Value, ArgumentsError> {
        let step = name.replace('~', "~0").replace('/', "~1");
        let place = format!("{place}/{step}");
        let schemas = self.member_schemas(&place, requirements, name)?;
        if schemas.iter().any(|schema| **schema == Value::Bool(false)) {
            return Err(ArgumentsError::Unsatisfiable {
                place,
                reason: "the property is needed, yet the schema forbids it".to_owned(),
                hint: "declare it under `properties`, or allow additional properties",
            });
        }
        self.value(&place, &schemas, salt)
    }

    /// Every schema that applies to a property.
    fn member_schemas(
        &self,
        place: &str,
        requirements: &Requirements<'schema>,
        name: &str,
    ) -> Result<Vec<&'schema Value>, ArgumentsError> {
        let mut schemas = Vec::new();
        for members in &requirements.members {
            let known = schemas.len();
            schemas.extend(members.declared.and_then(|declared| declared.get(name)));
            for (pattern, schema) in members.patterns.into_iter().flatten() {
                self.document.step(place, 1)?;
                if self.document.matches(pattern, name) {
                    schemas.push(schema);
                }
            }
            if schemas.len() == known {
                schemas.extend(members.others);
            }
        }
        if schemas.is_empty() {
            schemas.clone_from(&requirements.unevaluated_members);
        }
        Ok(schemas)
    }

    /// Adds declared properties that can be made, up to a count.
    fn add_declared(
        &mut self,
        place: &str,
        requirements: &Requirements<'schema>,
        count: usize,
        members: &mut Map<String, Value>,
    ) -> Result<(), ArgumentsError> {
        let declared = requirements.members.iter().filter_map(|part| part.declared);
        for name in declared.flat_map(Map::keys) {
            if members.len() >= count {
                break;
            }
            if members.contains_key(name) {
                continue;
            }
            match self.member(place, requirements, name, 0) {
                Ok(value) => {
                    members.insert(name.clone(), value);
                }
                Err(error) if error.is_final() => return Err(error),
                // It is optional: the object does without.
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// Adds properties of any name the schema allows, up to a count.
    fn add_invented(
        &mut self,
        place: &str,
        requirements: &Requirements<'schema>,
        count: usize,
        members: &mut Map<String, Value>,
    ) -> Result<(), ArgumentsError> {
        let patterns: Vec<Pattern> = requirements
            .members
            .iter()
            .filter_map(|part| part.patterns)
            .flat_map(Map::keys)
            .filter_map(|pattern| Pattern::parse(pattern))
            .collect();
        let mut failure = None;
        // Twice the count: some names are taken, some do not go through.
        for attempt in 0..2 * count + self.variants {
            if members.len() >= count {
                return Ok(());
            }
            let mut names = vec![format!("property{attempt}")];
            names.extend(
                patterns
                    .iter()
                    .filter_map(|pattern| pattern.write(attempt, 0)),
            );
            if !requirements.names.is_empty() {
                let invented =
                    self.value(&format!("{place}/(name)"), &requirements.names, attempt)?;
                names = invented.as_str().map(str::to_owned).into_iter().collect();
            }
            for name in names {
                if members.len() >= count || members.contains_key(&name) {
                    continue;
                }
                match self.member(place, requirements, &name, 0) {
                    Ok(value) => {
                        members.insert(name, value);
                    }
                    Err(error) if error.is_final() => return Err(error),
                    Err(error) => failure = failure.or(Some(error)),
                }
            }
        }
        if members.len() >= count {
            return Ok(());
        }
        Err(failure.unwrap_or_else(|| ArgumentsError::Unsatisfiable {
            place: place.to_owned(),
            reason: format!(
                "needs {count} properties, and only {} were found",
                members.len()
            ),
            hint: "check `minProperties` and `propertyNames`, or give the arguments by hand",
        }))
    }
}
