//! How severe a log message is.

use serde::de::IntoDeserializer;
use serde::de::value::Error;

use crate::prelude::*;

/// A level of the protocol, mildest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// Details for developers.
    #[default]
    Debug,
    /// What happens.
    Info,
    /// What happens and matters.
    Notice,
    /// What may become a problem.
    Warning,
    /// What went wrong.
    Error,
    /// A part that failed.
    Critical,
    /// What somebody must see to at once.
    Alert,
    /// Nothing works.
    Emergency,
}

impl FromStr for LogLevel {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let level = Self::deserialize(text.into_deserializer());
        level.map_err(|_: self::Error| format!("unknown log level {text:?}"))
    }
}
