//! Model providers: a conversation in, the bytes of a request out; the bytes of a reply in, an answer out.
//!
//! A provider is one file, its `mod` and its name in `providers!`. All of it is pure: [`super::wire`] carries the bytes,
//! and the same conversation has the same bytes every time, so that a recording can be found by them.

pub mod anthropic;
mod conversation;
pub mod open_ai;

use crate::prelude::*;

pub use super::model_content::ModelContent;
use conversation::of_tool;
pub use conversation::{
    Arguments, CallResult, Conversation, Message, ModelAnswer, Question, Stop, ToolUse,
};

/// How a model provider is spoken to.
#[derive(Opaque)]
pub struct Entry {
    /// Its name in files.
    pub name: &'static str,
    /// How the names of its models begin, which have no provider in a file.
    pub models: &'static str,
    /// Where it is, unless told.
    pub base_url: &'static str,
    /// The variable that tells where it is.
    pub base_url_env: &'static str,
    /// The variable that has its key, unless told.
    pub api_key_env: &'static str,
    /// The address behind the base.
    pub path: &'static str,
    /// Whether a base with a path has the version in it already: `http://localhost:11434/v1`.
    pub is_version_in_base: bool,
    /// The headers of a request with this key.
    pub headers: fn(key: Option<&str>) -> Vec<(&'static str, String)>,
    /// The body of a request.
    pub write: fn(question: &Question<'_>) -> Vec<u8>,
    /// What a reply with a status of success says.
    pub read: fn(body: &[u8]) -> Result<ModelAnswer, AnswerError>,
}

/// Providers and their names, by their modules.
macro_rules! providers {
    ($($module:ident),*) => {
        /// Every provider; the last has the models that no other has.
        pub const ENTRIES: &[&Entry] = &[$(&$module::ENTRY),*];
        /// The names of all of them.
        pub const NAMES: &[&str] = &[$($module::ENTRY.name),*];
    };
}

providers!(anthropic, open_ai);

/// The provider of this name, or else that of a model.
pub fn find(name: Option<&str>, model: &str) -> Option<&'static Entry> {
    let has_model = |entry: &Entry| model.starts_with(entry.models);
    let mut entries = ENTRIES.iter().copied();
    entries.find(|entry| name.map_or_else(|| has_model(entry), |name| entry.name == name))
}

/// Why a reply of a provider is no answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the reply of the model provider is not understood: {0}")]
pub struct AnswerError(pub String);

impl From<serde_json::Error> for AnswerError {
    fn from(error: serde_json::Error) -> Self {
        Self(format!("it is not the JSON that was expected, {error}"))
    }
}

/// What the body of a failure says went wrong: both providers have it in the same place.
fn error_of(body: &[u8]) -> Option<Value> {
    let mut body: Value = serde_json::from_slice(body).ok()?;
    body.get_mut("error").map(Value::take)
}

/// What a provider says went wrong, from the body of a failure.
pub(super) fn error_message(body: &[u8]) -> Option<String> {
    let error = error_of(body)?;
    let text = |key: &str| error.get(key).and_then(Value::as_str);
    let parts = [text("type"), error.as_str().or_else(|| text("message"))];
    let parts: Vec<&str> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(": "))
}

/// The status that the body of a failure names, where it is one of a failure.
pub(super) fn error_status(body: &[u8]) -> Option<u16> {
    let error = error_of(body)?;
    let code = ["code", "status"]
        .iter()
        .find_map(|name| error.get(name)?.as_u64());
    let code = code.and_then(|code| u16::try_from(code).ok());
    code.filter(|code| (400..600).contains(code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_model_tells_its_provider() {
        let found = |name, model| find(name, model).map(|entry| entry.name);
        assert_eq!(found(None, "claude-x"), Some("anthropic"));
        assert_eq!(found(None, "gpt-x"), Some("openai"));
        assert_eq!(found(Some("openai"), "claude-x"), Some("openai"));
        assert_eq!(NAMES, ["anthropic", "openai"]);
    }

    #[test]
    fn what_went_wrong_is_found() {
        for (body, expected) in [
            (
                r#"{"type":"error","error":{"type":"overloaded_error","message":"busy"}}"#,
                Some("overloaded_error: busy"),
            ),
            (
                r#"{"error":{"message":"no such model"}}"#,
                Some("no such model"),
            ),
            (r#"{"error":"no such model"}"#, Some("no such model")),
            (r#"{"ok":true}"#, None),
            ("<html>", None),
        ] {
            assert_eq!(
                error_message(body.as_bytes()).as_deref(),
                expected,
                "{body}"
            );
        }
    }
}
