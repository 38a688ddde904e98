//! The last words of an agent: a text, or one object of JSON with `final_response`.

use mcprove_trace::{Tokens, Turn};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// What an agent says in the end.
const FINAL_RESPONSE: &str = "final_response";
/// The tokens that it took.
const TOKENS: &str = "tokens";
/// The turns of the conversation.
const TURNS: &str = "turns";
/// The model that it asked.
const MODEL: &str = "model";

/// What an agent says of its run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Output {
    /// What it says to its user.
    pub final_response: String,
    /// The model that it asked.
    pub model: Option<String>,
    /// The tokens that it took.
    pub tokens: Option<Tokens>,
    /// The turns of the conversation.
    pub turns: Option<Vec<Turn>>,
}

impl Output {
    /// The output as a text, whatever it is.
    pub fn text(stdout: &str) -> Self {
        Self {
            final_response: stdout.trim().to_owned(),
            ..Self::default()
        }
    }

    /// Reads standard output: all of it is the text, unless it is an object that says so itself. Such an object must be
    /// right: what is wrong with it comes back, with its place.
    pub fn read(stdout: &str) -> Result<Self, String> {
        let text = stdout.trim();
        let object: Option<Map<String, Value>> = serde_json::from_str(text).ok();
        let is_ours = |object: &Map<String, Value>| {
            let mut keys = [FINAL_RESPONSE, TOKENS, TURNS].into_iter();
            keys.any(|key| object.contains_key(key))
        };
        let Some(mut object) = object.filter(is_ours) else {
            return Ok(Self::text(stdout));
        };
        let final_response = field(&mut object, FINAL_RESPONSE)?;
        Ok(Self {
            final_response: final_response.ok_or("final_response: it is missing")?,
            model: field(&mut object, MODEL)?,
            tokens: field(&mut object, TOKENS)?,
            turns: turns(&mut object)?,
        })
    }
}

/// What stands under this key; null is nothing.
fn field<Field: DeserializeOwned>(
    object: &mut Map<String, Value>,
    key: &str,
) -> Result<Option<Field>, String> {
    let value = object.remove(key).unwrap_or_default();
    serde_json::from_value(value).map_err(|error| format!("{key}: {error}"))
}

fn turns(object: &mut Map<String, Value>) -> Result<Option<Vec<Turn>>, String> {
    let Some(turns): Option<Vec<Value>> = field(object, TURNS)? else {
        return Ok(None);
    };
    let turns = turns.into_iter().enumerate().map(|(index, turn)| {
        let turn: Result<Turn, _> = serde_json::from_value(turn);
        turn.map_err(|error| format!("{TURNS}[{index}]: {error}"))
    });
    turns.collect::<Result<_, String>>().map(Some)
}
