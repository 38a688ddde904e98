//! The API keys that let a client in over the network.

use std::hint::black_box;

use mcprove_settings::message::{Message, UserError};

use crate::prelude::*;

/// What is asked of a client without a key.
const REALM: &str = "Bearer realm=\"mcprove lab\"";
/// The most keys.
const KEYS_MAX: usize = 1_000;
/// The longest key; no header carries much more.
const KEY_BYTES_MAX: usize = 4_096;

/// How keys are written.
#[doc(hidden)]
pub const KEY_FORM: &str = "write NAME=KEY or KEY, without spaces";

/// Why a key is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// There is nothing in it.
    #[error("an API key is empty")]
    Empty,
    /// No header could carry it.
    #[error(
        "the API key of {0:?} has characters that no header carries, or is longer than {KEY_BYTES_MAX}"
    )]
    Unusable(String),
    /// More than one user has the same name.
    #[error("two API keys have the name {0:?}")]
    Twice(String),
    /// There are too many.
    #[error("there are more than {KEYS_MAX} API keys")]
    TooMany,
}

impl UserError for KeyError {
    fn hint(&self) -> Message {
        KEY_FORM.into()
    }
}

/// A line of a file whose key is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct KeyLineError {
    /// The line, from 1.
    pub line: usize,
    /// Why.
    pub problem: KeyError,
}

impl UserError for KeyLineError {
    fn hint(&self) -> Message {
        self.problem.hint()
    }
}

/// The keys of a server, by the name of their users. Without any, everybody is let in.
#[derive(Clone, Default)]
pub struct ApiKeys(Vec<(String, String)>);

impl fmt::Debug for ApiKeys {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.names()).finish()
    }
}

impl ApiKeys {
    /// Adds a key, written `NAME=KEY` or `KEY`; one without a name is called `key-` and its number.
    ///
    /// ```
    /// use mcprove_lab::ApiKeys;
    ///
    /// let mut keys = ApiKeys::default();
    /// keys.add("ada=k1").unwrap();
    /// keys.add("c2VjcmV0Cg==").unwrap();
    /// assert_eq!(keys.names().collect::<Vec<_>>(), ["ada", "key-2"]);
    /// ```
    pub fn add(&mut self, text: &str) -> Result<(), KeyError> {
        let text = text.trim();
        let is_name = |name: &str| {
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.@-".contains(&byte);
            !name.is_empty() && name.bytes().all(is_plain)
        };
        // What Base64 ends with parts no name from a key.
        let named = text
            .split_once('=')
            .filter(|(name, key)| is_name(name) && !key.trim_matches('=').is_empty());
        let (name, key) = match named {
            Some((name, key)) => (name.to_owned(), key),
            None => (format!("key-{}", self.0.len() + 1), text),
        };
        let is_usable = key.bytes().all(|byte| byte.is_ascii_graphic());
        if key.is_empty() {
            Err(KeyError::Empty)
        } else if !is_usable || key.len() > KEY_BYTES_MAX {
            Err(KeyError::Unusable(name))
        } else if self.names().any(|known| known == name) {
            Err(KeyError::Twice(name))
        } else if self.0.len() >= KEYS_MAX {
            Err(KeyError::TooMany)
        } else {
            self.0.push((name, key.to_owned()));
            Ok(())
        }
    }

    /// Adds the keys in a text: one in each line, empty lines and those that begin with `#` left out.
    pub fn add_lines(&mut self, text: &str) -> Result<(), KeyLineError> {
        let lines = (1..).zip(text.lines().map(str::trim));
        for (line, key) in lines.filter(|(_, key)| !key.is_empty() && !key.starts_with('#')) {
            self.add(key)
                .map_err(|problem| KeyLineError { line, problem })?;
        }
        Ok(())
    }

    /// Whether everybody is let in.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The names of the users.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// The keys, which nothing that is written down may have.
    pub fn secrets(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|(_, key)| key.clone())
    }

    /// Who sent these headers.
    pub(crate) fn authorise(&self, headers: &HeaderMap) -> Result<Option<Identity>, Unauthorised> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let header = |name| headers.get(name).map(http::HeaderValue::as_bytes);
        let bearer = header("authorization").and_then(|value| {
            let (scheme, token) = value.split_at_checked(BEARER.len())?;
            scheme.eq_ignore_ascii_case(BEARER).then_some(token)
        });
        let presented = [bearer, header("x-api-key")];
        let refusal = |error: &str, reason: &str| Unauthorised {
            challenge: format!("{REALM}{error}"),
            reason: reason.to_owned(),
        };
        if presented == [None, None] {
            let reason = "an API key is missing; send Authorization: Bearer KEY or X-Api-Key: KEY";
            return Err(refusal("", reason));
        }
        let user = presented
            .into_iter()
            .flatten()
            .fold(None, |found, key| self.find(key.trim_ascii()).or(found));
        let user = user
            .ok_or_else(|| refusal(", error=\"invalid_token\"", "the API key is not known here"))?;
        Ok(Some(Identity {
            user: user.to_owned(),
            auth_type: "api_key",
        }))
    }

    /// Whose key it is. Looks at all of them to the end, so that the time it takes tells nothing.
    fn find(&self, presented: &[u8]) -> Option<&str> {
        self.0.iter().fold(None, |found, (name, key)| {
            are_same(key.as_bytes(), presented)
                .then_some(name.as_str())
                .or(found)
        })
    }
}

const BEARER: &[u8] = b"bearer ";

/// Compares without stopping at the first difference. Takes as long as the presented key is long,
/// which whoever presents it knows.
fn are_same(key: &[u8], presented: &[u8]) -> bool {
    let mut difference = u8::from(key.len() != presented.len());
    for (place, byte) in presented.iter().enumerate() {
        let expected = key.get(place).copied().unwrap_or_default();
        difference = black_box(difference | (byte ^ expected));
    }
    black_box(difference) == 0
}

#[cfg(test)]
mod tests;
