//! The variables of the environment that a recording used: noted while it is made, given back when it is replayed.
//!
//! A replay needs none of them. What was a secret is `<redacted>` then, as it is in the cassette; what is too
//! short for one is what it was; what was not set is not set.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use mcprove_settings::secret::{REDACTED, Redactor};

use crate::plan::Environment;
use mcprove_settings::sync::lock;

/// The variables that were looked up and had a value.
#[derive(Debug, Clone, Default)]
pub struct Variables(Arc<Mutex<BTreeMap<String, String>>>);

impl Variables {
    /// The environment, of which this notes what is asked for.
    pub fn watch(&self, environment: &Environment) -> Environment {
        let (variables, environment) = (self.clone(), environment.clone());
        Environment::new(move |name| {
            let value = environment.get(name)?;
            lock(&variables.0).insert(name.to_owned(), value.clone());
            Some(value)
        })
    }

    /// As a cassette has them, with its secrets taken out.
    pub fn redacted(&self, redactor: &Redactor) -> BTreeMap<String, Option<String>> {
        let used = lock(&self.0);
        let redacted = used.iter().map(|(name, value)| {
            let text = redactor.text(value);
            let is_kept = text != REDACTED;
            (name.clone(), is_kept.then(|| text.into_owned()))
        });
        redacted.collect()
    }
}

/// The environment of a replay.
pub fn recorded(variables: &BTreeMap<String, Option<String>>) -> Environment {
    let variables = variables.clone();
    Environment::new(move |name| {
        let value = variables.get(name)?.clone();
        Some(value.unwrap_or_else(|| REDACTED.to_owned()))
    })
}
