//! Which rows are wanted.

use mcprove_settings::message::Diagnostic;
use mcprove_trace::canonical;

use crate::prelude::*;

/// Which rows are wanted, and in which order. Every condition that is set must hold.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filter {
    /// Requests that came at this time or later.
    pub since: Option<SystemTime>,
    /// Requests that came at this time or before.
    pub until: Option<SystemTime>,
    /// Calls of this tool.
    pub tool: Option<String>,
    /// Those that went well, or those that did not.
    pub success: Option<bool>,
    /// Errors of this category.
    pub category: Option<String>,
    /// Requests of this session.
    pub session: Option<String>,
    /// Requests with this method.
    pub method: Option<String>,
    /// Requests with these parameters.
    pub arguments: Vec<ArgumentFilter>,
    /// Rows after the one with this id.
    pub after: Option<i64>,
    /// At most this many rows.
    pub limit: Option<u64>,
    /// Which rows come first.
    pub order: Order,
}

/// Which rows come first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Order {
    /// The latest.
    #[default]
    NewestFirst,
    /// The earliest.
    OldestFirst,
}

/// A parameter that a request must have.
///
/// ```
/// use mcprove_lab::audit::ArgumentFilter;
///
/// let filter: ArgumentFilter = "options.retries[0]=3".parse().unwrap();
/// assert!(filter.accepts(r#"{"options":{"retries":[3,4]}}"#));
/// assert!(!filter.accepts(r#"{"options":{"retries":[4]}}"#));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ArgumentFilter {
    /// The name as it was written.
    name: String,
    /// The way to the parameter, as a JSON pointer.
    pointer: String,
    value: String,
}

impl std::str::FromStr for ArgumentFilter {
    type Err = Diagnostic;

    /// `NAME=VALUE`. The name may lead into objects and arrays: `options.retries[0]`, also as
    /// `$.options.retries[0]`.
    fn from_str(text: &str) -> Result<Self, Diagnostic> {
        let error = || {
            let message = format!("{text:?} is not of the form NAME=VALUE");
            Diagnostic::new(message, "for example options.retries[0]=3")
        };
        let (name, value) = text.split_once('=').ok_or_else(error)?;
        let name = name.strip_prefix("$.").unwrap_or(name);
        Ok(Self {
            name: name.to_owned(),
            pointer: pointer(name).ok_or_else(error)?,
            value: value.to_owned(),
        })
    }
}

/// The JSON pointer of a name that may lead into objects and arrays.
fn pointer(name: &str) -> Option<String> {
    let mut pointer = String::new();
    for part in name.split('.') {
        let (member, items) = part.split_at(part.find('[').unwrap_or(part.len()));
        if member.is_empty() {
            return None;
        }
        pointer.push('/');
        pointer.push_str(&member.replace('~', "~0").replace('/', "~1"));
        for item in items.split_inclusive(']') {
            let index = item.strip_prefix('[')?.strip_suffix(']')?;
            let index: usize = index.parse().ok()?;
            pointer.push('/');
            pointer.push_str(&index.to_string());
        }
    }
    Some(pointer)
}

impl ArgumentFilter {
    /// Whether parameters, as JSON, have the value at its place. A name with dots in it is found
    /// too. A text is compared as it is, everything else as JSON: `3`, `true`, `null`, `[1,2]`.
    pub fn accepts(&self, parameters: &str) -> bool {
        let Ok(parameters) = serde_json::from_str::<Value>(parameters) else {
            return false;
        };
        let found = parameters.pointer(&self.pointer);
        found
            .or_else(|| parameters.get(&self.name))
            .is_some_and(|found| self.equals(found))
    }

    /// 1 and 1.0 are the same.
    fn equals(&self, found: &Value) -> bool {
        let is_same = |wanted: String| wanted == canonical::text(found);
        found.as_str() == Some(&self.value) || canonical::canonical(&self.value).is_ok_and(is_same)
    }
}

impl Filter {
    /// Whether the parameters of a row are as wanted. What was cut cannot be known.
    pub fn accepts_arguments(&self, row: &AuditRow) -> bool {
        self.arguments.is_empty()
            || !row.parameters_cut
                && row.parameters.as_deref().is_some_and(|parameters| {
                    self.arguments
                        .iter()
                        .all(|argument| argument.accepts(parameters))
                })
    }
}

#[cfg(test)]
mod tests;
