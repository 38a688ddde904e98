//! Why a fault cannot be what the user wrote.

use mcprove_trace::FaultKind;

/// What is wrong with a fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FaultError {
    /// No kind has this name.
    #[error("no fault is called {name:?}{}", did_you_mean(suggestion.as_deref()))]
    UnknownKind {
        /// The name that was given.
        name: String,
        /// The nearest known name.
        suggestion: Option<String>,
    },
    /// The kind takes nothing after a colon.
    #[error("{name} takes nothing after a colon")]
    NoArgument {
        /// The kind, as it was written.
        name: String,
    },
    /// Not `key=value`.
    #[error("{part:?} is not key=value; for instance tool=search, calls=1-3, rate=0.2, seed=7")]
    NotAPair {
        /// What was written.
        part: String,
    },
    /// A setting is given twice.
    #[error("{key} is given twice")]
    Twice {
        /// The setting.
        key: String,
    },
    /// The kind has no such setting.
    #[error("a fault of kind {} has no {key:?}{}; it has {known}", kind.name(), did_you_mean(suggestion.as_deref()))]
    UnknownKey {
        /// The kind.
        kind: FaultKind,
        /// The key that was given.
        key: String,
        /// The nearest known key.
        suggestion: Option<String>,
        /// All known keys.
        known: String,
    },
    /// A setting has a value that it cannot have.
    #[error("{key} {problem}")]
    WrongValue {
        /// The setting.
        key: String,
        /// What is wrong with it.
        problem: String,
    },
}

fn did_you_mean(suggestion: Option<&str>) -> String {
    match suggestion {
        Some(suggestion) => format!("; did you mean {suggestion:?}?"),
        None => String::new(),
    }
}
