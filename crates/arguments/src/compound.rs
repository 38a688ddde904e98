//! Objects and arrays: what is required, and as little else as the schema lets through.

use crate::prelude::*;

/// Optional properties that the fuller variant of an object has.
const OPTIONAL_MAX: usize = 50;

/// An object in the making.
struct Object<'made, 'work, 'schema> {
    making: &'made mut Making<'work, 'schema>,
    requirements: &'made Requirements<'schema>,
    members: Map<String, Value>,
}

impl<'schema> Making<'_, 'schema> {
    /// Variant zero has the required properties only, variant one the optional ones too; the
    /// others have other values.
    pub fn object(
        &mut self,
        requirements: &Requirements<'schema>,
        variant: usize,
    ) -> Result<Value> {
        let needs = requirements
            .most("minProperties")
            .max(requirements.required.len() as u64);
        let least = requirements.within("properties", needs, PROPERTIES_MAX)?;
        let salt = variant.saturating_sub(1);
        let carrier = match self.carriers {
            Carriers::Optional(name) if requirements.place.is_empty() => Some(name),
            _ => None,
        };
        let mut object = Object {
            making: self,
            requirements,
            members: Map::new(),
        };
        for name in requirements.required.iter().copied().chain(carrier) {
            if !object.members.contains_key(name) {
                object.add(name, salt)?;
            }
        }
        if variant == 1 {
            object.add_declared(object.members.len() + OPTIONAL_MAX)?;
        }
        if object.members.len() < least {
            object.add_declared(least)?;
            object.add_invented(least)?;
        }
        Ok(Value::Object(object.members))
    }

    /// Variant zero is the shortest array; variant one has one item more; the others have other
    /// values, and what the array must contain at other positions.
    pub fn array(&mut self, requirements: &Requirements<'schema>, variant: usize) -> Result<Value> {
        let contained = requirements.contained();
        let sum = |sum: u64, (_, least): &(_, u64)| sum.saturating_add(*least);
        let needs = requirements
            .most("minItems")
            .max(contained.iter().fold(0, sum));
        let count = requirements.within("items", needs, ITEMS_MAX)? + usize::from(variant == 1);
        let wanted = contained.into_iter().flat_map(|(schema, least)| {
            std::iter::repeat_n(schema, usize::try_from(least).unwrap_or(0))
        });
        let wanted: Vec<&'schema Value> = wanted.collect();
        let is_unique = requirements.all(&["uniqueItems"]).any(|it| *it == true);

        let variants = self.variants;
        if is_unique {
            self.variants = variants.max(count + VARIANTS);
        }
        let salt = variant.saturating_sub(1);
        let items = (0..count).try_fold(Vec::with_capacity(count), |mut items, index| {
            let mut schemas = requirements.of_item(index);
            // What must be contained moves on with the variant.
            schemas.extend(wanted.get((index + salt) % count).copied());
            let place = format!("{}/{index}", requirements.place);
            items.push(if is_unique {
                self.other_item(place, &schemas, &items, salt)?
            } else {
                self.value(&place, &schemas, salt)?
            });
            Ok(items)
        });
        self.variants = variants;
        items.map(Value::Array)
    }

    /// An item that differs from all before.
    fn other_item(
        &mut self,
        place: String,
        schemas: &[&'schema Value],
        known: &[Value],
        salt: usize,
    ) -> Result<Value> {
        for turn in 0..self.variants {
            let item = self.value(&place, schemas, salt + known.len() + turn)?;
            self.document.step(&place, known.len() / 16)?;
            if !known.contains(&item) {
                return Ok(item);
            }
        }
        Err(ArgumentsError::unsatisfiable(
            place,
            "no further item that differs from all before was found",
            "check `uniqueItems` and `minItems`, or give the arguments by hand",
        ))
    }
}

impl Object<'_, '_, '_> {
    fn add(&mut self, name: &str, salt: usize) -> Result<()> {
        let step = name.replace('~', "~0").replace('/', "~1");
        let place = format!("{}/{step}", self.requirements.place);
        let document = self.making.document;
        let schemas = self.requirements.of_member(document, &place, name)?;
        if schemas.iter().any(|schema| **schema == false) {
            return Err(ArgumentsError::unsatisfiable(
                place,
                "the property is needed, yet the schema forbids it",
                "declare it under `properties`, or allow additional properties",
            ));
        }
        let value = self.making.value(&place, &schemas, salt)?;
        self.members.insert(name.to_owned(), value);
        Ok(())
    }

    /// Adds those of these properties that can be made, up to a count: the object does without the others. The first
    /// reason why one is missing is kept.
    fn add_some<'n>(
        &mut self,
        names: impl IntoIterator<Item = &'n String>,
        count: usize,
        failure: &mut Option<ArgumentsError>,
    ) -> Result<()> {
        for name in names {
            if self.members.len() >= count {
                break;
            }
            if !self.members.contains_key(name)
                && let Err(error) = self.add(name, 0)
            {
                error.keep_in(failure)?;
            }
        }
        Ok(())
    }

    /// Adds declared properties, up to a count.
    fn add_declared(&mut self, count: usize) -> Result<()> {
        let declared = self.requirements.names("properties");
        self.add_some(declared, count, &mut None)
    }

    /// Adds properties of any name the schema allows, up to a count.
    fn add_invented(&mut self, count: usize) -> Result<()> {
        let requirements = self.requirements;
        let patterns = requirements.names("patternProperties");
        let patterns: Vec<Pattern> = patterns.filter_map(|it| Pattern::parse(it)).collect();
        let rules: Vec<&Value> = requirements.all(&["propertyNames"]).collect();
        let mut failure = None;
        // Twice the count: some names are taken, some do not go through.
        for attempt in 0..2 * count + self.making.variants {
            if self.members.len() >= count {
                return Ok(());
            }
            let names: Vec<String> = if rules.is_empty() {
                let written = patterns.iter().filter_map(|it| it.write(attempt, 0));
                let plain = format!("property{attempt}");
                std::iter::once(plain).chain(written).collect()
            } else {
                let place = format!("{}/(name)", requirements.place);
                self.making
                    .value(&place, &rules, attempt)?
                    .as_str()
                    .map(str::to_owned)
                    .into_iter()
                    .collect()
            };
            self.add_some(&names, count, &mut failure)?;
        }
        if self.members.len() >= count {
            return Ok(());
        }
        Err(failure.unwrap_or_else(|| {
            let found = self.members.len();
            ArgumentsError::unsatisfiable(
                &requirements.place,
                format!("needs {count} properties, and only {found} were found"),
                "check `minProperties` and `propertyNames`, or give the arguments by hand",
            )
        }))
    }
}
