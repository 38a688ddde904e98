//! Variables of the environment in texts of a suite: `${NAME}`, or `${NAME:-otherwise}`.
//!
//! They are filled in where a text is used. What was filled in from the environment is a secret: it is
//! noted, so that whoever writes something down can take it out. Not so what is no secret to anybody: the paths of
//! this machine, and what is part of the name of a server, a tool or a model.

use mcprove_settings::secret;

use crate::prelude::*;

/// Tells the value of a variable, if it has one.
type Lookup = dyn Fn(&str) -> Option<String> + Send + Sync;

/// Where the values of variables come from.
#[derive(Clone)]
pub struct Environment {
    lookup: Arc<Lookup>,
    used: Arc<Mutex<BTreeSet<String>>>,
    /// Names that the suites tell.
    names: Arc<Mutex<BTreeSet<String>>>,
}

/// Why a text cannot be filled in.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FillError {
    /// Nobody says what it is.
    #[error("the variable {0} is not set")]
    Unset(String),
    /// The text ends within a variable.
    #[error("`${{` has no end in {0:?}")]
    Open(String),
}

/// A shorter value may be a part of any name.
const NOT_OF_NAME_CHARS_MIN: usize = 8;

/// Whether a value may be a part of a name that a server or a model chose: a password that one of them put
/// into a name stays a secret.
fn is_of_name(value: &str) -> bool {
    let is_of_word = |byte: u8| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'-' | b'.');
    value.chars().count() < NOT_OF_NAME_CHARS_MIN || value.bytes().all(is_of_word)
}

/// A part of a text.
pub enum Part<'t> {
    /// As it stands.
    Plain(&'t str),
    /// `$${`, which stands for `${`.
    Escape,
    /// `${name}`, or `${name:-otherwise}`.
    Variable {
        name: &'t str,
        whole: &'t str,
        otherwise: Option<&'t str>,
    },
    /// `${name:-${other}}`: a variable within a variable, which nobody fills in.
    Nested(&'t str),
    /// `${` without an end, and everything after it.
    Open(&'t str),
}

pub fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(begin) = rest.find("${") {
        let (before, after) = rest.split_at(begin);
        let inside = after.strip_prefix("${").unwrap_or_default();
        if let Some(before) = before.strip_suffix('$') {
            parts.push(Part::Plain(before));
            parts.push(Part::Escape);
            rest = inside;
            continue;
        }
        parts.push(Part::Plain(before));
        let Some((variable, behind)) = inside.split_once('}') else {
            parts.push(Part::Open(after));
            return parts;
        };
        if variable.contains("${") {
            let end = end_of_nested(after);
            let (whole, behind) = after.split_at_checked(end).unwrap_or((after, ""));
            parts.push(Part::Nested(whole));
            rest = behind;
            continue;
        }
        let (name, otherwise) = match variable.split_once(":-") {
            Some((name, otherwise)) => (name, Some(otherwise)),
            None => (variable, None),
        };
        let whole = after.strip_suffix(behind).unwrap_or(after);
        parts.push(Part::Variable {
            name,
            whole,
            otherwise,
        });
        rest = behind;
    }
    parts.push(Part::Plain(rest));
    parts
}

/// Where a text that begins with a variable within a variable has closed all of them; its whole length where
/// it does not.
fn end_of_nested(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut before = ' ';
    for (index, character) in text.char_indices() {
        match character {
            '{' if before == '$' => depth += 1,
            '}' if depth == 1 => return index + 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        before = character;
    }
    text.len()
}

/// The texts of a server that may name variables: its arguments, its environment, its address and its headers.
pub fn texts_of(server: &mut Server) -> impl Iterator<Item = &mut String> {
    let (url, headers) = match &mut server.transport {
        Transport::Stdio | Transport::Memory(_) => (None, None),
        Transport::Http { url, headers }
        | Transport::Sse { url, headers }
        | Transport::WebSocket { url, headers } => (Some(url), Some(headers)),
    };
    let headers = headers.into_iter().flat_map(BTreeMap::values_mut);
    server
        .args
        .iter_mut()
        .chain(server.env.values_mut())
        .chain(url)
        .chain(headers)
}

impl Environment {
    /// That of this process. What is a secret by its name is noted at once: processes inherit it, and may tell it.
    pub fn of_process() -> Self {
        let environment = Self::new(|name| std::env::var(name).ok());
        for secret in secret::inherited() {
            environment.note(&secret);
        }
        environment
    }

    /// One of these values.
    pub fn new(lookup: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self {
            lookup: Arc::new(lookup),
            used: Arc::default(),
            names: Arc::default(),
        }
    }

    /// The value of a variable, if it has one; it is a secret from now on.
    pub fn get(&self, name: &str) -> Option<String> {
        let value = (self.lookup)(name)?;
        self.note(&value);
        Some(value)
    }

    /// Takes a value for a secret, unless it is a path of this machine.
    pub fn note(&self, value: &str) {
        if secret::is_path(value) {
            return;
        }
        lock(&self.used).insert(value.to_owned());
    }

    /// Takes a name that a suite tells for one: no part of it is a secret.
    pub fn note_name(&self, name: &str) {
        lock(&self.names).insert(name.to_owned());
    }

    /// All secrets so far.
    pub fn secrets(&self) -> BTreeSet<String> {
        self.secrets_beside(&BTreeSet::new())
    }

    /// All secrets so far but the words of these names, which servers and models chose.
    pub fn secrets_beside(&self, names: &BTreeSet<String>) -> BTreeSet<String> {
        let (own, used) = (lock(&self.names), lock(&self.used));
        let is_in =
            |names: &BTreeSet<String>, value: &str| names.iter().any(|name| name.contains(value));
        let secrets = used.iter().filter(|value| {
            let is_name = is_in(&own, value) || is_of_name(value) && is_in(names, value);
            !is_name
        });
        secrets.cloned().collect()
    }

    /// Redacts all secrets so far.
    pub fn redactor(&self) -> Redactor {
        Redactor::new(self.secrets())
    }

    /// The text with its variables filled in; `$${` stands for `${`.
    pub fn fill(&self, text: &str) -> Result<String, FillError> {
        let filled = parts(text).into_iter().map(|part| match part {
            Part::Plain(text) | Part::Nested(text) => Ok(text.to_owned()),
            Part::Escape => Ok("${".to_owned()),
            Part::Open(_) => Err(FillError::Open(text.to_owned())),
            Part::Variable {
                name, otherwise, ..
            } => match (self.get(name), otherwise) {
                // As in shells: `:-` is for what is not set, and for what is empty.
                (None, Some(otherwise)) => Ok(otherwise.to_owned()),
                (Some(value), Some(otherwise)) if value.is_empty() => Ok(otherwise.to_owned()),
                (Some(value), _) => Ok(value),
                (None, None) => Err(FillError::Unset(name.to_owned())),
            },
        });
        filled.collect()
    }

    /// The server with the variables in its texts filled in. The program and the host have none.
    pub fn fill_server(&self, server: &Server) -> Result<Server, FillError> {
        let mut server = server.clone();
        for text in texts_of(&mut server) {
            *text = self.fill(text)?;
        }
        Ok(server)
    }

    /// The same for every text in a value.
    pub fn fill_value(&self, value: &Value) -> Result<Value, FillError> {
        let mut filled = value.clone();
        self.fill_in(&mut filled)?;
        Ok(filled)
    }

    fn fill_in(&self, value: &mut Value) -> Result<(), FillError> {
        match value {
            Value::String(text) => *text = self.fill(text)?,
            Value::Array(values) => values
                .iter_mut()
                .try_for_each(|value| self.fill_in(value))?,
            Value::Object(fields) => fields
                .values_mut()
                .try_for_each(|value| self.fill_in(value))?,
            _ => {}
        }
        Ok(())
    }
}

impl std::fmt::Debug for Environment {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Values are secrets.
        formatter
            .debug_struct("Environment")
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
