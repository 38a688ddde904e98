//! A fault as a map of its keys, as files and notes have it.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::spec::FaultSpec;
use super::text::parse_kind;

impl FaultSpec {
    /// The keys that were set, with the kind first; [`FaultSpec::from_map`] takes them back.
    ///
    /// ```
    /// use mcprove_fault::FaultSpec;
    ///
    /// let fault: FaultSpec = "slow:250,tool=search,calls=2-".parse().unwrap();
    /// let map = fault.to_map();
    /// assert_eq!(map["delay_ms"], 250);
    /// assert_eq!(FaultSpec::from_map(&map).unwrap(), fault);
    /// ```
    pub fn to_map(&self) -> Map<String, Value> {
        let mut map = Map::new();
        let mut put = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                map.insert(key.to_owned(), value);
            }
        };
        put("kind", Some(self.kind.name().into()));
        put("name", Some(self.name.clone().into()));
        put("tool", self.target.tool.clone().map(Value::from));
        put("server", self.target.server.clone().map(Value::from));
        let calls = self.calls.as_ref().map(ToString::to_string);
        put("calls", calls.map(Value::from));
        put("rate", self.rate.map(Value::from));
        put("seed", self.seed.map(Value::from));
        for (key, value) in &self.settings {
            put(key, Some(value.clone()));
        }
        map
    }

    /// The fault with these keys.
    pub fn from_map(map: &Map<String, Value>) -> Result<Self, super::FaultError> {
        let kind = map.get("kind").and_then(Value::as_str).unwrap_or_default();
        let mut spec = Self::new(parse_kind(kind)?);
        for (key, value) in map.iter().filter(|(key, _)| *key != "kind") {
            spec.set(key, value.clone())?;
        }
        spec.check()?;
        Ok(spec)
    }
}

impl Serialize for FaultSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_map().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for FaultSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let map = Map::deserialize(deserializer)?;
        Self::from_map(&map).map_err(D::Error::custom)
    }
}
