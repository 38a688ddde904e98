//! What providers send in more than one form: what has another type than expected is unknown.

use crate::prelude::*;
use std::ops::Deref;

/// A value of a type, if there is one.
#[derive(Debug, Clone)]
pub struct Maybe<Known>(pub Option<Known>);

/// A text, if there is one.
pub type Text = Maybe<String>;

impl<Known> Default for Maybe<Known> {
    fn default() -> Self {
        Self(None)
    }
}

impl<Known> Deref for Maybe<Known> {
    type Target = Option<Known>;

    fn deref(&self) -> &Option<Known> {
        &self.0
    }
}

impl Text {
    /// The text, or none.
    pub fn or_empty(&self) -> &str {
        self.as_deref().unwrap_or_default()
    }
}

impl<'de, Known: DeserializeOwned> Deserialize<'de> for Maybe<Known> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Ok(Self(serde_json::from_value(value).ok()))
    }
}
