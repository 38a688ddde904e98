//! A fault as the user describes it: in YAML, in TOML, or after `--fault`.

use std::collections::HashSet;
use std::fmt::Write as _;

use mcprove_settings::kind::Kind;
use mcprove_settings::registry::nearest;
use mcprove_settings::setting::Setting;
use mcprove_trace::FaultKind;
use serde_json::{Map, Value};

use super::error::FaultError;
use super::kind::entry_of;
use super::ordinals::Ordinals;

/// Which calls a fault is aimed at. Neither tool nor server means all calls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Target {
    /// Only calls of this tool.
    pub tool: Option<String>,
    /// Only calls to this server.
    pub server: Option<String>,
}

impl Target {
    /// Whether a call of this tool of this server is meant.
    pub fn matches(&self, server: &str, tool: &str) -> bool {
        self.tool.as_deref().is_none_or(|wanted| wanted == tool)
            && self.server.as_deref().is_none_or(|wanted| wanted == server)
    }
}

/// A fault as the user wrote it, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct FaultSpec {
    /// Its name in reports. It takes no part in the choice of the calls that it strikes.
    pub name: String,
    /// What kind it is.
    pub kind: FaultKind,
    /// Which calls it is aimed at.
    pub target: Target,
    /// Which of these calls it strikes, by order of arrival; `None` for all.
    pub calls: Option<Ordinals>,
    /// What share of these calls it strikes, from 0 to 1; `None` for all.
    pub rate: Option<f64>,
    /// The seed of its choices, if it has one of its own.
    pub seed: Option<u64>,
    /// Settings of the kind, by name; what is not set has its default.
    pub settings: Map<String, Value>,
}

impl FaultSpec {
    /// A fault of this kind that strikes every call, named after its kind.
    pub fn new(kind: FaultKind) -> Self {
        Self {
            name: kind.name().to_owned(),
            kind,
            target: Target::default(),
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
        let text = |value: &Value| match value {
            Value::String(text) if !text.is_empty() => Ok(text.clone()),
            _ => Err(wrong(key, "must be a text")),
        };
        match normal.as_str() {
            "name" => self.name = text(&value)?,
            "tool" => self.target.tool = Some(text(&value)?),
            "server" => self.target.server = Some(text(&value)?),
            "calls" => self.calls = Some(ordinals(&value)?),
            "rate" => self.rate = Some(rate(&value)?),
            "seed" => {
                let seed = value.as_u64();
                self.seed = Some(seed.ok_or_else(|| wrong(key, "must be a whole number from 0"))?);
            }
            _ => self.set_own(key, &normal, value)?,
        }
        Ok(())
    }

    /// The keys that [`FaultSpec::set`] knows for a fault of this kind.
    pub fn keys(kind: FaultKind) -> Vec<&'static str> {
        let common = ["name", "tool", "server", "calls", "rate", "seed"];
        let own = settings_of(kind).iter().map(|setting| setting.name);
        let own = own.filter(|name| !common.contains(name));
        common.into_iter().chain(own).collect()
    }

    fn set_own(&mut self, key: &str, normal: &str, value: Value) -> Result<(), FaultError> {
        let Some(setting) = setting_of(self.kind, normal) else {
            let keys = Self::keys(self.kind);
            return Err(FaultError::UnknownKey {
                kind: self.kind,
                key: key.to_owned(),
                suggestion: nearest(keys.iter().copied(), normal).map(str::to_owned),
                known: keys.join(", "),
            });
        };
        match setting.kind {
            Kind::Whole(..) if !value.is_u64() => return Err(wrong(key, unit_of(normal))),
            Kind::Signed if !value.is_i64() => {
                return Err(wrong(key, "must be a whole number"));
            }
            _ => {}
        }
        let (range, words) = match normal {
            "status" => (400..=599, "must be from 400 to 599"),
            "bytes" => (0..=BYTES_MAX, "must be at most 1073741824, a gibibyte"),
            name if name.ends_with("_ms") => (0..=DELAY_MS_MAX, "must be at most 86400000, a day"),
            _ => (0..=u64::MAX, ""),
        };
        if value.as_u64().is_some_and(|value| !range.contains(&value)) {
            return Err(wrong(key, words));
        }
        self.settings.insert(normal.to_owned(), value);
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
        if let (Some(min), Some(max)) = (setting("min_ms"), setting("max_ms"))
            && min > max
        {
            let problem = format!("must not be above max_ms, which is {max}");
            return Err(wrong("min_ms", &problem));
        }
        Ok(())
    }
}

/// Tells faults apart that have no name but that of their kind: the second `slow` becomes `slow-2`.
///
/// ```
/// use mcprove_fault::{FaultSpec, tell_apart};
///
/// let mut faults = ["hang,tool=a", "hang,tool=b"].map(|text| text.parse::<FaultSpec>().unwrap());
/// tell_apart(faults.iter_mut());
/// assert_eq!(faults.map(|fault| fault.name), ["hang", "hang-2"]);
/// ```
pub fn tell_apart<'f>(faults: impl Iterator<Item = &'f mut FaultSpec>) {
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

/// No delay is longer.
const DELAY_MS_MAX: u64 = 86_400_000;
/// No text is longer: it is made in memory.
const BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// The setting of a kind with this name.
pub fn setting_of(kind: FaultKind, name: &str) -> Option<&'static Setting> {
    settings_of(kind)
        .iter()
        .find(|setting| setting.name == name)
}

/// The settings of a kind.
pub fn settings_of(kind: FaultKind) -> &'static [Setting] {
    entry_of(kind).map_or(&[], |entry| (entry.settings)())
}

/// What a whole number stands for.
fn unit_of(name: &str) -> &'static str {
    match name {
        name if name.ends_with("_ms") => "must be a whole number of milliseconds",
        name if name.ends_with("_s") => "must be a whole number of seconds",
        "bytes" => "must be a whole number of bytes",
        _ => "must be a whole number from 0",
    }
}

fn wrong(key: &str, problem: &str) -> FaultError {
    FaultError::WrongValue {
        key: key.to_owned(),
        problem: problem.to_owned(),
    }
}

fn ordinals(value: &Value) -> Result<Ordinals, FaultError> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) if number.is_u64() => number.to_string(),
        Value::Array(numbers) if !numbers.is_empty() => {
            let texts: Vec<String> = numbers.iter().map(Value::to_string).collect();
            texts.join(",")
        }
        _ => return Err(wrong("calls", "must be ordinals, such as \"1-3,7\"")),
    };
    let ordinals = text.parse::<Ordinals>();
    ordinals.map_err(|error| wrong("calls", &error.to_string()))
}

fn rate(value: &Value) -> Result<f64, FaultError> {
    let rate = value.as_f64().filter(|rate| (0.0..=1.0).contains(rate));
    rate.ok_or_else(|| wrong("rate", "must be a number from 0 to 1"))
}
