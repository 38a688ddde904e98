//! A fault in one line, as after `--fault`: the kind, what it is about after a colon, and where it
//! strikes after commas.
//!
//! ```
//! use mcprove_fault::FaultSpec;
//!
//! let fault: FaultSpec = "slow:1000,tool=search,calls=1-3,7".parse().unwrap();
//! assert_eq!(fault.target.tool.as_deref(), Some("search"));
//! assert_eq!(fault.to_string(), "slow:1000,tool=search,calls=1-3,7");
//! ```

use std::fmt;
use std::str::FromStr;

use mcprove_settings::registry::nearest;
use mcprove_trace::{FaultKind, fault_names};
use serde_json::Value;

use super::error::FaultError;
use super::spec::{FaultSpec, settings_of};

impl FromStr for FaultSpec {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = text.split(',');
        let head = parts.next().unwrap_or_default();
        let (name, argument) = match head.split_once(':') {
            Some((name, argument)) => (name.trim(), Some(argument)),
            None => (head.trim(), None),
        };
        let kind = parse_kind(name)?;
        let mut spec = Self::new(kind);
        let mut given = Vec::new();
        if let Some(argument) = argument {
            given = set_argument(&mut spec, name, argument)?;
        }
        for (key, value) in pairs(parts)? {
            let normal = key.replace('-', "_");
            if given.contains(&normal) {
                return Err(FaultError::Twice { key });
            }
            given.push(normal);
            spec.set(&key, scalar(&key, &value))?;
        }
        spec.check()?;
        Ok(spec)
    }
}

/// The kind with this name; both `-` and `_` will do.
pub fn parse_kind(name: &str) -> Result<FaultKind, FaultError> {
    name.parse().map_err(|()| {
        let near = nearest(fault_names(), &name.replace('-', "_"));
        FaultError::UnknownKind {
            name: name.to_owned(),
            suggestion: near.map(|near| near.replace('_', "-")),
        }
    })
}

/// What stands after the colon: the settings of the kind in their order, with `-` between.
/// Returns their names.
fn set_argument(
    spec: &mut FaultSpec,
    name: &str,
    argument: &str,
) -> Result<Vec<String>, FaultError> {
    let settings = settings_of(spec.kind);
    let values: Vec<&str> = match settings {
        [] => {
            return Err(FaultError::NoArgument {
                name: name.to_owned(),
            });
        }
        // The one value may be negative.
        [_] => vec![argument],
        settings => argument.splitn(settings.len(), '-').collect(),
    };
    let mut given = Vec::new();
    for (setting, value) in settings.iter().zip(values) {
        spec.set(setting.name, scalar(setting.name, value.trim()))?;
        given.push(setting.name.to_owned());
    }
    Ok(given)
}

/// `key=value`, and what follows a comma inside of a value: `calls=1-3,7` is one pair.
fn pairs<'a>(parts: impl Iterator<Item = &'a str>) -> Result<Vec<(String, String)>, FaultError> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    for part in parts {
        match (part.split_once('='), pairs.last_mut()) {
            (Some((key, value)), _) => {
                pairs.push((key.trim().to_owned(), value.trim().to_owned()));
            }
            (None, Some((key, value))) if key == "calls" => {
                value.push(',');
                value.push_str(part.trim());
            }
            (None, _) => {
                return Err(FaultError::NotAPair {
                    part: part.trim().to_owned(),
                });
            }
        }
    }
    Ok(pairs)
}

/// A number where it is one, else a text; names and ordinals are always texts.
fn scalar(key: &str, text: &str) -> Value {
    let is_text = matches!(key, "name" | "tool" | "server" | "calls");
    let number = serde_json::from_str::<Value>(text).ok();
    match number.filter(|number| number.is_number() && !is_text) {
        Some(number) => number,
        None => Value::String(text.to_owned()),
    }
}

impl fmt::Display for FaultSpec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.kind.name().replace('_', "-"))?;
        let settings = settings_of(self.kind);
        let given = |name: &str| match name {
            "rate" => self.rate.map(Value::from),
            name => self.settings.get(name).cloned(),
        };
        let arguments: Vec<Option<Value>> =
            settings.iter().map(|setting| given(setting.name)).collect();
        if arguments.iter().any(Option::is_some) {
            let all = settings.iter().zip(&arguments);
            let all = all.map(|(setting, argument)| match argument {
                Some(value) => value.to_string(),
                None => setting.default_words().to_owned(),
            });
            write!(formatter, ":{}", all.collect::<Vec<_>>().join("-"))?;
        }
        let mut pair = |key: &str, value: Option<String>| match value {
            Some(value) => write!(formatter, ",{key}={value}"),
            None => Ok(()),
        };
        if self.name != self.kind.name() {
            pair("name", Some(self.name.clone()))?;
        }
        pair("tool", self.target.tool.clone())?;
        pair("server", self.target.server.clone())?;
        let is_argument = settings.iter().any(|setting| setting.name == "rate");
        pair(
            "rate",
            self.rate
                .filter(|_| !is_argument)
                .map(|rate| rate.to_string()),
        )?;
        pair("seed", self.seed.map(|seed| seed.to_string()))?;
        pair("calls", self.calls.as_ref().map(ToString::to_string))
    }
}
