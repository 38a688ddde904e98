//! A fault as the user describes it: a map of its keys in a file, or one line as after `--fault`: the kind, what it is
//! about after a colon, and where it strikes after commas.
//!
//! ```
//! use mcprove_fault::FaultSpec;
//!
//! let fault: FaultSpec = "slow:1000,tool=search,calls=1-3,7".parse().unwrap();
//! assert_eq!(fault.target.tool.as_deref(), Some("search"));
//! assert_eq!(fault.to_string(), "slow:1000,tool=search,calls=1-3,7");
//! ```

use std::fmt::Write as _;

use mcprove_settings::kind::{SHARE, WHOLE};
use mcprove_settings::reader::meant;
use mcprove_settings::registry::nearest;

use super::ordinals::Ordinals;
use crate::prelude::*;

/// What every fault has besides the settings of its kind.
const COMMON: [&str; 6] = ["name", "tool", "server", "calls", "rate", "seed"];

/// What is wrong with a fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub struct FaultError(Diagnostic);

impl FaultError {
    fn new(message: impl Into<Message>, hint: impl Into<Message>) -> Self {
        Self(Diagnostic::new(message, hint))
    }
}

impl UserError for FaultError {
    fn inner(&self) -> Option<&dyn UserError> {
        Some(&self.0)
    }
}

/// Which calls a fault is aimed at. Neither tool nor server means all calls.
#[sparse]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct FaultTarget {
    /// Only calls of this tool.
    pub tool: Option<String>,
    /// Only calls to this server.
    pub server: Option<String>,
}

impl FaultTarget {
    /// Whether a call of this tool of this server is meant.
    pub fn matches(&self, server: &str, tool: &str) -> bool {
        self.tool.as_deref().is_none_or(|wanted| wanted == tool)
            && self.server.as_deref().is_none_or(|wanted| wanted == server)
    }
}

/// A fault as the user wrote it, checked.
#[sparse]
#[stored]
#[serde(try_from = "Map<String, Value>")]
pub struct FaultSpec {
    /// What kind it is.
    pub kind: FaultKind,
    /// Its name in reports. It takes no part in the choice of the calls that it strikes.
    pub name: String,
    /// Which calls it is aimed at.
    #[serde(flatten)]
    pub target: FaultTarget,
    /// Which of these calls it strikes, by order of arrival; `None` for all.
    pub calls: Option<Ordinals>,
    /// What share of these calls it strikes, from 0 to 1; `None` for all.
    pub rate: Option<f64>,
    /// The seed of its choices, if it has one of its own.
    pub seed: Option<u64>,
    /// Settings of the kind, by name; what is not set has its default.
    #[serde(flatten)]
    pub settings: Map<String, Value>,
}

impl FaultSpec {
    /// A fault of this kind that strikes every call, named after its kind.
    pub fn new(kind: FaultKind) -> Self {
        Self {
            kind,
            name: kind.name().to_owned(),
            target: FaultTarget::default(),
            calls: None,
            rate: None,
            seed: None,
            settings: Map::new(),
        }
    }

    /// Sets what is set by `key` in a file or after `--fault`: a setting of the kind, `tool`, `server`,
    /// `calls`, `rate`, `seed` or `name`.
    pub fn set(&mut self, key: &str, value: Value) -> Result<(), FaultError> {
        let normal = key.replace('-', "_");
        let keys = Self::keys(self.kind);
        if keys.contains(&normal.as_str()) {
            let set = self.put(&normal, value);
            return set.map_err(|problem| FaultError::new(format!("{key} {problem}"), ""));
        }
        let near = nearest(keys.iter().copied(), &normal);
        let (kind, known) = (self.kind.name(), keys.join(", "));
        Err(FaultError::new(
            format!("a fault of kind {kind} has no {key:?}"),
            meant(near, format!("it has {known}")),
        ))
    }

    /// The keys that [`FaultSpec::set`] knows for a fault of this kind.
    pub fn keys(kind: FaultKind) -> Vec<&'static str> {
        let own = settings_of(kind).iter().map(|setting| setting.name);
        let own = own.filter(|name| !COMMON.contains(name));
        COMMON.into_iter().chain(own).collect()
    }

    /// Sets one of the keys of the kind; what is wrong with the value.
    pub fn put(&mut self, name: &str, value: Value) -> Result<(), String> {
        let text = || match &value {
            Value::String(text) if !text.is_empty() => Ok(text.clone()),
            _ => Err("must be a text"),
        };
        match name {
            "name" => self.name = text()?,
            "tool" => self.target.tool = Some(text()?),
            "server" => self.target.server = Some(text()?),
            "calls" => self.calls = Some(ordinals(&value)?),
            "rate" => {
                check_kind(SHARE, &value)?;
                self.rate = value.as_f64();
            }
            "seed" => {
                check_kind(WHOLE, &value)?;
                self.seed = value.as_u64();
            }
            _ => {
                if let Some(setting) = setting_of(self.kind, name) {
                    check_kind(setting.kind, &value)?;
                }
                self.settings.insert(name.to_owned(), value);
            }
        }
        Ok(())
    }

    /// What takes part in its choices by chance: the kind, the aim, and the settings that are not the
    /// default. Neither `rate`, so that a higher one strikes the same calls and more, nor the name, which
    /// depends on the other faults.
    pub fn identity(&self) -> String {
        let mut text = self.kind.name().to_owned();
        let aims = [("tool", &self.target.tool), ("server", &self.target.server)];
        for (key, aim) in aims {
            if let Some(aim) = aim {
                // Writing to a text does not fail.
                let _ = write!(text, ",{key}={aim:?}");
            }
        }
        for setting in settings_of(self.kind) {
            let given = self.settings.get(setting.name);
            if let Some(value) =
                given.filter(|value| Some(*value) != setting.default_value().as_ref())
            {
                let _ = write!(text, ",{}={value}", setting.name);
            }
        }
        text
    }

    /// The last look, when everything is set.
    pub fn check(&self) -> Result<(), FaultError> {
        let setting = |name: &str| {
            let default = setting_of(self.kind, name)?.default_value();
            self.settings.get(name).or(default.as_ref())?.as_u64()
        };
        match (setting("min_ms"), setting("max_ms")) {
            (Some(min), Some(max)) if min > max => Err(FaultError::new(
                format!("min_ms must not be above max_ms, which is {max}"),
                "",
            )),
            _ => Ok(()),
        }
    }

    /// The keys that were set, with the kind first; [`FaultSpec::try_from`] takes them back.
    ///
    /// ```
    /// use mcprove_fault::FaultSpec;
    ///
    /// let fault: FaultSpec = "slow:250,tool=search,calls=2-".parse().unwrap();
    /// let map = fault.to_map();
    /// assert_eq!(map["delay_ms"], 250);
    /// assert_eq!(FaultSpec::try_from(map).unwrap(), fault);
    /// ```
    pub fn to_map(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(map)) => map,
            _ => Map::new(),
        }
    }
}

impl TryFrom<Map<String, Value>> for FaultSpec {
    type Error = FaultError;

    fn try_from(mut map: Map<String, Value>) -> Result<Self, FaultError> {
        let kind = map.remove("kind");
        let kind = kind.as_ref().and_then(Value::as_str).unwrap_or_default();
        let mut spec = Self::new(parse_kind(kind)?);
        for (key, value) in map {
            spec.set(&key, value)?;
        }
        spec.check()?;
        Ok(spec)
    }
}

impl FromStr for FaultSpec {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = text.split(',');
        let head = parts.next().unwrap_or_default();
        let (name, argument) = match head.split_once(':') {
            Some((name, argument)) => (name.trim(), Some(argument)),
            None => (head.trim(), None),
        };
        let mut spec = Self::new(parse_kind(name)?);
        let settings = settings_of(spec.kind);
        if argument.is_some() && settings.is_empty() {
            let message = format!("{name} takes nothing after a colon");
            return Err(FaultError::new(message, ""));
        }
        // The settings of the kind in their order, with `-` between; the only one may be negative.
        let values = argument
            .into_iter()
            .flat_map(|it| it.splitn(settings.len(), '-'));
        let mut given = HashSet::new();
        for (setting, value) in settings.iter().zip(values) {
            spec.set(setting.name, scalar(setting.name, value.trim()))?;
            given.insert(setting.name.to_owned());
        }
        for (key, value) in pairs(parts)? {
            if !given.insert(key.replace('-', "_")) {
                return Err(FaultError::new(format!("{key} is given twice"), ""));
            }
            spec.set(&key, scalar(&key, &value))?;
        }
        spec.check()?;
        Ok(spec)
    }
}

impl fmt::Display for FaultSpec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.kind.name().replace('_', "-"))?;
        let mut given = self.to_map();
        given.remove("kind");
        if self.name == self.kind.name() {
            given.remove("name");
        }
        let settings = settings_of(self.kind);
        if settings.iter().any(|it| given.contains_key(it.name)) {
            let values = settings
                .iter()
                .map(|setting| match given.remove(setting.name) {
                    Some(value) => value.to_string(),
                    None => setting.default_words().to_owned(),
                });
            write!(formatter, ":{}", values.collect::<Vec<_>>().join("-"))?;
        }
        // The ordinals may hold commas, so they come last.
        for key in ["name", "tool", "server", "rate", "seed", "calls"] {
            match (given.remove(key), self.rate) {
                (None, _) => {}
                (Some(Value::String(text)), _) => write!(formatter, ",{key}={text}")?,
                // Unlike in JSON, a share that is whole has no fraction.
                (Some(_), Some(rate)) if key == "rate" => write!(formatter, ",{key}={rate}")?,
                (Some(value), _) => write!(formatter, ",{key}={value}")?,
            }
        }
        Ok(())
    }
}

/// Tells faults apart that have no name but that of their kind: the second `slow` becomes `slow-2`.
///
/// ```
/// use mcprove_fault::{FaultSpec, make_distinct};
///
/// let mut faults = ["hang,tool=a", "hang,tool=b"].map(|text| text.parse::<FaultSpec>().unwrap());
/// make_distinct(faults.iter_mut());
/// assert_eq!(faults.map(|fault| fault.name), ["hang", "hang-2"]);
/// ```
pub fn make_distinct<'f>(faults: impl Iterator<Item = &'f mut FaultSpec>) {
    let mut seen = HashSet::new();
    for fault in faults {
        for number in 2.. {
            let is_default = fault.name.starts_with(fault.kind.name());
            if seen.insert(fault.name.clone()) || !is_default {
                break;
            }
            fault.name = format!("{}-{number}", fault.kind.name());
        }
    }
}

/// The setting of a kind with this name.
pub fn setting_of(kind: FaultKind, name: &str) -> Option<&'static Setting> {
    settings_of(kind)
        .iter()
        .find(|setting| setting.name == name)
}

/// The kind with this name; both `-` and `_` are accepted.
fn parse_kind(name: &str) -> Result<FaultKind, FaultError> {
    name.parse().map_err(|()| {
        let near = nearest(fault_names(), &name.replace('-', "_"));
        FaultError::new(format!("no fault is called {name:?}"), meant(near, ""))
    })
}

/// What is wrong with the value of a setting of a kind.
fn check_kind(kind: Kind, value: &Value) -> Result<(), String> {
    let is_right = match kind {
        Kind::Whole(least, most) => value
            .as_u64()
            .is_some_and(|value| (least..=most).contains(&value)),
        Kind::Number(range) => value.as_f64().is_some_and(|value| range.contains(value)),
        _ => value.is_i64(),
    };
    if is_right {
        return Ok(());
    }
    Err(format!("must be a {}, not {value}", kind.describe()))
}

fn ordinals(value: &Value) -> Result<Ordinals, String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) if number.is_u64() => number.to_string(),
        Value::Array(numbers) if !numbers.is_empty() => {
            let texts: Vec<String> = numbers.iter().map(Value::to_string).collect();
            texts.join(",")
        }
        _ => return Err("must be ordinals, such as \"1-3,7\"".to_owned()),
    };
    text.parse().map_err(|error| format!("{error}"))
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
                return Err(FaultError::new(
                    format!("{:?} is not key=value", part.trim()),
                    "for instance tool=search, calls=1-3, rate=0.2, seed=7",
                ));
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
