//! The last words of an agent: a text, or one object of JSON with `final_response`.

use mcprove_score::trace::{Tokens, Turn};
use serde::Deserialize;

/// What an agent says of its run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub(super) struct Output {
    /// What it says to its user.
    pub final_response: String,
    /// The model that it asked.
    #[serde(default)]
    pub model: Option<String>,
    /// The tokens that it took.
    #[serde(default)]
    pub tokens: Option<Tokens>,
    /// The turns of the conversation.
    #[serde(default)]
    pub turns: Option<Vec<Turn>>,
}

impl Output {
    /// Reads standard output: all of it is the text, unless it is an object that says so itself.
    pub fn read(stdout: &str) -> Self {
        let text = stdout.trim();
        if text.starts_with('{')
            && let Ok(output) = serde_json::from_str(text)
        {
            return output;
        }
        Self {
            final_response: text.to_owned(),
            ..Self::default()
        }
    }
}
