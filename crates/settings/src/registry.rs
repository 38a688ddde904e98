//! The shape of every registry: a scenario, probe, fault, metric, matcher, reporter or built-in
//! server is one file plus one [`Entry`] in its folder's `ENTRIES`.
//!
//! From the entries come the names on the command line, the `--explain` texts, the JSON Schema
//! and the table in the docs, so a new one cannot be half-added.

use serde::Serialize;
use serde_json::{Map, Value, json};
use strsim::osa_distance;

/// One thing that can be chosen by name and built from settings.
pub struct Entry<Built> {
    /// The name, in `snake_case`; `-` is accepted for `_`.
    pub name: &'static str,
    /// What it is, in one line.
    pub explanation: &'static str,
    /// What can be set, with defaults.
    pub settings: &'static [Setting],
    /// Builds it from settings that [`Entry::resolve`] has completed.
    pub build: fn(&Settings) -> Built,
}

/// One thing that can be set on an [`Entry`].
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// The name, in `snake_case`.
    pub name: &'static str,
    /// What it does, in one line.
    pub explanation: &'static str,
    /// The value when none is given; also decides the type.
    pub default: DefaultValue,
}

/// The default of a [`Setting`], which also is its type.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(untagged)]
pub enum DefaultValue {
    /// A whole number from zero up.
    Integer(u64),
    /// A whole number that may be negative.
    Signed(i64),
    /// Any number.
    Number(f64),
    /// Yes or no.
    Boolean(bool),
    /// A text.
    Text(&'static str),
}

/// Settings with every default filled in and every type checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings(Map<String, Value>);

/// Why a name or its settings were refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// No entry or setting has this name; perhaps another one was meant.
    #[error("unknown name {name:?}{}", .suggestion.map_or(String::new(), |it| format!("; did you mean {it:?}?")))]
    Unknown {
        /// The name that was given.
        name: String,
        /// The nearest known name.
        suggestion: Option<&'static str>,
    },
    /// A setting has a value of the wrong type.
    #[error("{name:?} must be {expected}")]
    WrongType {
        /// The setting.
        name: &'static str,
        /// The type that it takes.
        expected: &'static str,
    },
}

impl DefaultValue {
    /// The value itself.
    pub fn value(self) -> Value {
        json!(self)
    }

    const fn type_name(self) -> &'static str {
        match self {
            Self::Integer(_) | Self::Signed(_) => "integer",
            Self::Number(_) => "number",
            Self::Boolean(_) => "boolean",
            Self::Text(_) => "string",
        }
    }

    fn accepts(self, value: &Value) -> bool {
        match self {
            Self::Integer(_) => value.is_u64(),
            Self::Signed(_) => value.is_i64(),
            Self::Number(_) => value.is_number(),
            Self::Boolean(_) => value.is_boolean(),
            Self::Text(_) => value.is_string(),
        }
    }
}

impl Settings {
    /// A whole number; zero when there is no such setting.
    pub fn integer(&self, name: &str) -> u64 {
        self.0.get(name).and_then(Value::as_u64).unwrap_or_default()
    }

    /// A whole number that may be negative; zero when there is no such setting.
    pub fn signed(&self, name: &str) -> i64 {
        self.0.get(name).and_then(Value::as_i64).unwrap_or_default()
    }

    /// A number; zero when there is no such setting.
    pub fn number(&self, name: &str) -> f64 {
        self.0.get(name).and_then(Value::as_f64).unwrap_or_default()
    }

    /// Yes or no; no when there is no such setting.
    pub fn boolean(&self, name: &str) -> bool {
        self.0
            .get(name)
            .and_then(Value::as_bool)
            .unwrap_or_default()
    }

    /// A text; empty when there is no such setting.
    pub fn text(&self, name: &str) -> &str {
        self.0.get(name).and_then(Value::as_str).unwrap_or_default()
    }
}

impl<Built> Entry<Built> {
    /// Completes `given` with the defaults and checks names and types.
    pub fn resolve(&self, given: &Map<String, Value>) -> Result<Settings, RegistryError> {
        let mut settings: Map<String, Value> = self
            .settings
            .iter()
            .map(|setting| (setting.name.to_owned(), setting.default.value()))
            .collect();
        for (name, value) in given {
            let setting = find_named(self.settings.iter().map(|setting| setting.name), name)
                .and_then(|index| self.settings.get(index).ok_or_else(|| unknown(name, None)))?;
            if !setting.default.accepts(value) {
                let expected = setting.default.type_name();
                return Err(RegistryError::WrongType {
                    name: setting.name,
                    expected,
                });
            }
            settings.insert(setting.name.to_owned(), value.clone());
        }
        Ok(Settings(settings))
    }

    /// Builds the thing from `given` and the defaults.
    pub fn build_with(&self, given: &Map<String, Value>) -> Result<Built, RegistryError> {
        self.resolve(given).map(|settings| (self.build)(&settings))
    }

    /// The JSON Schema of the settings.
    pub fn schema(&self) -> Value {
        let properties: Map<String, Value> = self
            .settings
            .iter()
            .map(|setting| {
                let schema = json!({
                    "type": setting.default.type_name(),
                    "default": setting.default.value(),
                    "description": setting.explanation,
                });
                (setting.name.to_owned(), schema)
            })
            .collect();
        json!({ "type": "object", "description": self.explanation, "properties": properties, "additionalProperties": false })
    }
}

/// Finds an entry by name, taking `-` for `_`.
///
/// ```
/// use mcprove_settings::registry::{self, Entry};
///
/// const ENTRIES: &[Entry<u8>] =
///     &[Entry { name: "slow_init", explanation: "starts slowly", settings: &[], build: |_| 1 }];
/// assert_eq!(registry::find(ENTRIES, "slow-init").unwrap().name, "slow_init");
/// let error = registry::find(ENTRIES, "slow_int").map(|entry| entry.name).unwrap_err();
/// assert_eq!(error.to_string(), r#"unknown name "slow_int"; did you mean "slow_init"?"#);
/// ```
pub fn find<'a, Built>(
    entries: &'a [Entry<Built>],
    name: &str,
) -> Result<&'a Entry<Built>, RegistryError> {
    let index = find_named(entries.iter().map(|entry| entry.name), name)?;
    entries.get(index).ok_or_else(|| unknown(name, None))
}

fn find_named(
    names: impl Iterator<Item = &'static str> + Clone,
    wanted: &str,
) -> Result<usize, RegistryError> {
    let normal = wanted.replace('-', "_");
    names
        .clone()
        .position(|name| name == normal)
        .ok_or_else(|| unknown(wanted, nearest(names, &normal)))
}

fn unknown(name: &str, suggestion: Option<&'static str>) -> RegistryError {
    RegistryError::Unknown {
        name: name.to_owned(),
        suggestion,
    }
}

/// The known name closest to `wanted`, if one is close enough to be a slip of the keyboard: a character too many, too
/// few or wrong, or two neighbours swapped.
pub fn nearest<'a>(names: impl Iterator<Item = &'a str>, wanted: &str) -> Option<&'a str> {
    let limit = (wanted.chars().count() / 3).max(1);
    names
        .map(|name| (osa_distance(name, wanted), name))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRIES: &[Entry<u64>] = &[
        Entry {
            name: "crash",
            explanation: "exits",
            settings: &[Setting {
                name: "every",
                explanation: "which call",
                default: DefaultValue::Integer(100),
            }],
            build: |settings| settings.integer("every"),
        },
        Entry {
            name: "leak",
            explanation: "leaks",
            settings: &[],
            build: |_| 0,
        },
    ];

    #[test]
    fn defaults_apply_unless_given() {
        let crash = find(ENTRIES, "crash").unwrap();
        assert_eq!(crash.build_with(&Map::new()).unwrap(), 100);
        let given = json!({ "every": 3 });
        assert_eq!(crash.build_with(given.as_object().unwrap()).unwrap(), 3);
    }

    #[test]
    fn wrong_settings_are_refused() {
        let crash = find(ENTRIES, "crash").unwrap();
        let wrong_type = json!({ "every": "x" });
        let error = crash.resolve(wrong_type.as_object().unwrap()).unwrap_err();
        assert_eq!(error.to_string(), "\"every\" must be integer");
        let wrong_name = json!({ "evry": 1 });
        let error = crash.resolve(wrong_name.as_object().unwrap()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "unknown name \"evry\"; did you mean \"every\"?"
        );
    }

    #[test]
    fn distances() {
        assert_eq!(nearest(["add", "echo"].into_iter(), "ehco"), Some("echo"));
        assert_eq!(nearest(["deadlock", "leak"].into_iter(), "zzzzzz"), None);
    }

    #[test]
    fn schema_has_defaults() {
        let schema = find(ENTRIES, "crash").unwrap().schema();
        assert_eq!(schema["properties"]["every"]["default"], 100);
    }
}
