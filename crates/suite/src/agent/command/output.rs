//! The last words of an agent: a text, or one object of JSON with `final_response`.

use mcprove_trace::Turn;
use serde::de::DeserializeOwned;

use crate::prelude::*;

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
        let object: Option<Map<String, Value>> = serde_json::from_str(stdout.trim()).ok();
        let is_ours = |object: &Map<String, Value>| {
            let mut keys = ["final_response", "tokens", "turns"].into_iter();
            keys.any(|key| object.contains_key(key))
        };
        let Some(mut object) = object.filter(is_ours) else {
            return Ok(Self::text(stdout));
        };
        // Null is nothing.
        let mut field = |key: &str| object.remove(key).unwrap_or_default();
        let final_response: Option<String> = read("final_response", field("final_response"))?;
        Ok(Self {
            final_response: final_response.ok_or("final_response: it is missing")?,
            model: read("model", field("model"))?,
            tokens: read("tokens", field("tokens"))?,
            turns: match read::<Option<Vec<Value>>>("turns", field("turns"))? {
                None => None,
                Some(turns) => {
                    let turns = turns.into_iter().enumerate();
                    let turns = turns.map(|(index, turn)| read(&format!("turns[{index}]"), turn));
                    Some(turns.collect::<Result<_, _>>()?)
                }
            },
        })
    }
}

fn read<Field: DeserializeOwned>(place: &str, value: Value) -> Result<Field, String> {
    serde_json::from_value(value).map_err(|error| format!("{place}: {error}"))
}
