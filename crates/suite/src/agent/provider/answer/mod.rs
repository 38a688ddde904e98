//! What a model answered, whoever its provider is.

use crate::prelude::*;

/// An answer of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelAnswer {
    /// What it says.
    pub text: String,
    /// The tools that it calls, in its order.
    pub uses: Vec<ToolUse>,
    /// Why it ends here.
    pub stop: Stop,
    /// The tokens that it took, as far as they are told.
    pub tokens: Option<Tokens>,
    /// What is sent back with the next question, in the form of the provider; none where there is nothing.
    pub kept: Option<Json>,
    /// Where its code runs, to be named with the next question.
    pub container: Option<String>,
}

/// A call of a tool in an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolUse {
    /// By which its result is told apart.
    pub id: String,
    /// The name of the tool towards the model.
    pub name: String,
    /// Its arguments.
    pub arguments: Arguments,
    /// Who calls, where it is not the model itself but code that it wrote.
    pub caller: Option<Value>,
}

/// The arguments of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Arguments {
    /// An object, as it came.
    Given(Json),
    /// What is no object.
    Bad {
        /// It, as it came.
        raw: String,
        /// What is wrong with it.
        why: String,
    },
}

impl Arguments {
    /// The object in a JSON text; an empty text is an empty object.
    pub(super) fn of_text(text: &str) -> Self {
        if text.trim().is_empty() {
            return Self::Given(Json::empty());
        }
        match serde_json::from_str::<Json>(text) {
            Ok(json) => Self::of_json(json),
            Err(error) => Self::Bad {
                raw: text.to_owned(),
                why: format!("they are no JSON: {error}"),
            },
        }
    }

    /// The object that a value is; null is an empty one.
    pub(super) fn of_json(json: Json) -> Self {
        if json.is_null() {
            Self::Given(Json::empty())
        } else if json.text().starts_with('{') {
            Self::Given(json)
        } else {
            Self::Bad {
                raw: json.text().to_owned(),
                why: "they are no JSON object".to_owned(),
            }
        }
    }
}

/// Why an answer ends where it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// The model is done, for now.
    Done,
    /// It waits for the results of its calls.
    Calls,
    /// Its answer was longer than it may be: the last call may be incomplete.
    Cut,
    /// The provider asks to be asked again, with this answer.
    Paused,
    /// The model, or its provider, declines: why, in the words of the provider.
    Declined(String),
    /// Another reason, in the words of the provider.
    Other(String),
}

#[cfg(test)]
mod tests;
