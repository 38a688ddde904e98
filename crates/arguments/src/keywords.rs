//! The keywords that constrain a value by itself, read into requirements.

use serde_json::{Map, Value};

use super::kind::Kind;
use super::requirements::{Bound, Items, Requirements};

impl<'schema> Requirements<'schema> {
    /// Adds one keyword; one of a wrong type is left to the validation.
    pub(super) fn add_scalar_keyword(
        &mut self,
        keyword: &str,
        value: &'schema Value,
        beside: &'schema Map<String, Value>,
    ) {
        match keyword {
            "type" => self.add_kinds(value),
            "const" => self.listed.push(std::slice::from_ref(value)),
            "enum" => self.listed.extend(value.as_array().map(Vec::as_slice)),
            "default" | "example" => self.suggested.push(value),
            "examples" => self
                .suggested
                .extend(value.as_array().into_iter().flatten()),
            "description" => self.descriptions.extend(value.as_str()),
            "minLength" => self.length_min = self.length_min.max(count(value)),
            "maxLength" => {
                let length = count(value);
                self.length_max = Some(self.length_max.map_or(length, |known| known.min(length)));
            }
            "pattern" => self.patterns.extend(value.as_str()),
            "format" | "contentEncoding" | "contentMediaType" => {
                self.formats.extend(value.as_str());
            }
            "minimum" => self.lower.push(Bound {
                number: value,
                exclusive: beside.get("exclusiveMinimum") == Some(&Value::Bool(true)),
            }),
            "maximum" => self.upper.push(Bound {
                number: value,
                exclusive: beside.get("exclusiveMaximum") == Some(&Value::Bool(true)),
            }),
            "exclusiveMinimum" if value.is_number() => self.lower.push(Bound {
                number: value,
                exclusive: true,
            }),
            "exclusiveMaximum" if value.is_number() => self.upper.push(Bound {
                number: value,
                exclusive: true,
            }),
            "multipleOf" => self.multiples.push(value),
            "minItems" => self.items_min = self.items_min.max(count(value)),
            "uniqueItems" => self.unique |= *value == Value::Bool(true),
            "contains" => {
                let least = beside.get("minContains").map_or(1, count);
                self.contained.push((value, least));
            }
            "minProperties" => self.members_min = self.members_min.max(count(value)),
            "propertyNames" => self.names.push(value),
            _ => {}
        }
    }

    /// Adds `prefixItems` and `items`, or the older `items` list and `additionalItems`.
    pub(super) fn add_items(&mut self, keywords: &'schema Map<String, Value>) {
        self.unevaluated_items
            .extend(keywords.get("unevaluatedItems"));
        let (first, others) = match (keywords.get("prefixItems"), keywords.get("items")) {
            (Some(Value::Array(first)), others) => (first.as_slice(), others),
            (_, Some(Value::Array(first))) => (first.as_slice(), keywords.get("additionalItems")),
            (_, Some(others)) => (&[][..], Some(others)),
            _ => return,
        };
        self.items.push(Items { first, others });
    }

    fn add_kinds(&mut self, value: &Value) {
        let names = match value {
            Value::Array(names) => names.as_slice(),
            name => std::slice::from_ref(name),
        };
        let kinds: Vec<Kind> = names
            .iter()
            .filter_map(|name| Kind::from_name(name.as_str()?))
            .collect();
        self.kinds = Some(match self.kinds.take() {
            None => kinds,
            Some(known) => known
                .into_iter()
                .filter_map(|kind| kinds.iter().find_map(|other| kind.meet(*other)))
                .collect(),
        });
    }

    /// The kinds to try, in order.
    pub(super) fn kinds_to_try(&self) -> Vec<Kind> {
        if let Some(kinds) = &self.kinds {
            return kinds.clone();
        }
        let mut kinds = Vec::with_capacity(Kind::ALL.len());
        for kind in self.hinted.iter().chain(&Kind::ALL) {
            if !kinds.contains(kind) {
                kinds.push(*kind);
            }
        }
        kinds
    }

    /// Whether a listed or suggested value may stand here.
    pub(super) fn admits(&self, value: &Value) -> bool {
        let kind_fits = self
            .kinds
            .as_ref()
            .is_none_or(|kinds| kinds.iter().any(|kind| kind.includes(value)));
        kind_fits && self.listed.iter().all(|list| list.contains(value))
    }
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
