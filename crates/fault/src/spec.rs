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

use mcprove_settings::reader::meant;
use mcprove_settings::registry::nearest;
use mcprove_settings::setting::{set, values};

use super::ordinals::Ordinals;
use crate::prelude::*;

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

impl From<ConfigErrors> for FaultError {
    fn from(errors: ConfigErrors) -> Self {
        let first = errors.0.first().map(ConfigError::messages);
        let (message, hint) = first.unwrap_or_default();
        Self::new(message, hint.unwrap_or_default())
    }
}

/// Which calls a fault is aimed at. Neither tool nor server means all calls.
#[sparse]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Settings)]
pub struct FaultTarget {
    /// Only calls of this tool.
    #[setting]
    pub tool: Option<String>,
    /// Only calls to this server.
    #[setting]
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
#[stored(Default, Settings)]
#[serde(try_from = "Map<String, Value>")]
pub struct FaultSpec {
    /// What kind it is.
    pub kind: FaultKind,
    /// Its name in reports. It takes no part in the choice of the calls that it strikes.
    #[setting(otherwise = "its kind")]
    pub name: String,
    /// Which calls it is aimed at.
    #[serde(flatten)]
    #[setting(flatten)]
    pub target: FaultTarget,
    /// The share of these calls that it strikes.
    #[setting(kind = SHARE, otherwise = "all")]
    pub rate: Option<f64>,
    /// The seed of its choices, if it has one of its own.
    #[setting(kind = Kind::Seed)]
    pub seed: Option<u64>,
    // It may hold commas, so it comes last in a line.
    /// Which of these calls it strikes, by order of arrival from 1: "1-3,7" or "5-".
    #[setting(otherwise = "all")]
    pub calls: Option<Ordinals>,
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
            ..Self::default()
        }
    }

    /// Sets what is set by `key` in a file or after `--fault`: a setting of the kind, `tool`, `server`,
    /// `calls`, `rate`, `seed` or `name`. A text may stand for a number.
    pub fn set(&mut self, key: &str, value: Value) -> Result<(), FaultError> {
        let normal = key.replace('-', "_");
        let keys = Self::keys(self.kind);
        let Some(setting) = keys.iter().find(|it| it.name == normal) else {
            let names: Vec<&str> = keys.iter().map(|it| it.name).collect();
            let near = nearest(names.iter().copied(), &normal);
            return Err(FaultError::new(
                format!("a fault of kind {} has no {key:?}", self.kind.name()),
                meant(near, format!("it has {}", names.join(", "))),
            ));
        };
        let data = match value {
            Value::String(text) => setting.kind.parse(&text),
            other => other.into(),
        };
        let document = Document::empty("a fault");
        let mut reader = Reader::new(&document);
        self.put(&mut reader, &Field::new(&normal, data));
        reader.finish()?;
        Ok(())
    }

    /// The keys that [`FaultSpec::set`] knows for a fault of this kind.
    pub fn keys(kind: FaultKind) -> Vec<&'static Setting> {
        let common = Self::declared();
        let own = settings_of(kind).iter();
        let own = own.filter(|own| common.iter().all(|it| it.name != own.name));
        common.iter().chain(own).collect()
    }

    /// Sets one of its keys from an entry; what does not fit is a problem.
    pub fn put(&mut self, reader: &mut Reader<'_>, field: &Field) {
        if !set(self, reader, field)
            && let Some(setting) = setting_of(self.kind, &field.name)
            && let Some(data) = setting.kind.check(reader, field)
            && let Ok(value) = Node::new(data).to_json()
        {
            self.settings.insert(setting.name.to_owned(), value);
        }
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
        let settings = settings_of(parse_kind(name)?);
        if argument.is_some() && settings.is_empty() {
            let message = format!("{name} takes nothing after a colon");
            return Err(FaultError::new(message, ""));
        }
        // The settings of the kind in their order, with `-` between; the only one may be negative.
        let values = argument
            .into_iter()
            .flat_map(|it| it.splitn(settings.len(), '-'));
        let names = settings.iter().map(|it| it.name.to_owned());
        let own = names.zip(values.map(|value| value.trim().to_owned()));
        let mut map = Map::from_iter([("kind".to_owned(), name.into())]);
        for (key, value) in own.chain(pairs(parts)?) {
            if map.insert(key.replace('-', "_"), value.into()).is_some() {
                return Err(FaultError::new(format!("{key} is given twice"), ""));
            }
        }
        map.try_into()
    }
}

impl fmt::Display for FaultSpec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.kind.name().replace('_', "-"))?;
        let given = self.to_map();
        let settings = settings_of(self.kind);
        if settings.iter().any(|it| given.contains_key(it.name)) {
            let values = settings.iter().map(|setting| {
                let value = given.get(setting.name).map(Value::to_string);
                value.unwrap_or_else(|| setting.default_words().to_owned())
            });
            write!(formatter, ":{}", values.collect::<Vec<_>>().join("-"))?;
        }
        for (setting, data) in values(self) {
            let is_default = setting.name == Self::NAME.name && self.name == self.kind.name();
            let is_said = is_default || setting_of(self.kind, setting.name).is_some();
            if let (false, Some(value)) = (is_said, data.plain()) {
                write!(formatter, ",{}={value}", setting.name)?;
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
