//! Arrays: as few items as the schema lets through.

use serde_json::Value;

use super::ArgumentsError;
use super::limits::{ITEMS_MAX, VARIANTS};
use super::place::Making;
use super::requirements::Requirements;

impl<'schema> Making<'_, 'schema> {
    /// Variant zero is the shortest array; variant one has one item more; the others have other
    /// values, and what the array must contain at other positions.
    pub(super) fn array(
        &mut self,
        place: &str,
        requirements: &Requirements<'schema>,
        variant: usize,
    ) -> Result<Value, ArgumentsError> {
        let contained: u64 = requirements
            .contained
            .iter()
            .fold(0, |sum, (_, least)| sum.saturating_add(*least));
        let needs = requirements.items_min.max(contained);
        let count = usize::try_from(needs).unwrap_or(usize::MAX);
        if count > ITEMS_MAX {
            return Err(ArgumentsError::OverLimit {
                place: place.to_owned(),
                what: "items",
                needs: needs.to_string(),
                limit: ITEMS_MAX,
            });
        }
        let count = count + usize::from(variant == 1);
        let salt = variant.saturating_sub(1);
        let wanted: Vec<&'schema Value> = requirements
            .contained
            .iter()
            .flat_map(|(schema, least)| {
                std::iter::repeat_n(*schema, usize::try_from(*least).unwrap_or(0))
            })
            .collect();

        let variants = self.variants;
        if requirements.unique {
            self.variants = variants.max(count + VARIANTS);
        }
        let mut items = Vec::with_capacity(count);
        for index in 0..count {
            let mut schemas = item_schemas(requirements, index);
            // What must be contained moves on with the variant.
            let position = (index + salt) % count;
            schemas.extend(wanted.get(position).copied());
            let item = self.item(place, &schemas, &items, salt, requirements.unique);
            match item {
                Ok(item) => items.push(item),
                Err(error) => {
                    self.variants = variants;
                    return Err(error);
                }
            }
        }
        self.variants = variants;
        Ok(Value::Array(items))
    }

    fn item(
        &mut self,
        place: &str,
        schemas: &[&'schema Value],
        known: &[Value],
        salt: usize,
        unique: bool,
    ) -> Result<Value, ArgumentsError> {
        let place = format!("{place}/{}", known.len());
        if !unique {
            return self.value(&place, schemas, salt);
        }
        for turn in 0..self.variants {
            let item = self.value(&place, schemas, salt + known.len() + turn)?;
            self.document.step(&place, known.len() / 16)?;
            if !known.contains(&item) {
                return Ok(item);
            }
        }
        Err(ArgumentsError::Unsatisfiable {
            place,
            reason: "no further item that differs from all before was found".to_owned(),
            hint: "check `uniqueItems` and `minItems`, or give the arguments by hand",
        })
    }
}

/// Every schema that applies to the item at an index.
fn item_schemas<'schema>(
    requirements: &Requirements<'schema>,
    index: usize,
) -> Vec<&'schema Value> {
    let schemas: Vec<&'schema Value> = requirements
        .items
        .iter()
        .filter_map(|items| items.first.get(index).or(items.others))
        .collect();
    if schemas.is_empty() {
        return requirements.unevaluated_items.clone();
    }
    schemas
}
