//! What has been said so far and what a model answered, whoever its provider is; and a tool, in the form that every
//! provider takes.

use super::ModelContent;
use crate::agent::WireNames;
use crate::prelude::*;

/// What has been said so far.
#[derive(Debug, Clone, Default)]
pub struct Conversation {
    pub messages: Vec<Message>,
    /// Where code of the model runs.
    pub container: Option<String>,
}

#[derive(Debug, Clone)]
pub enum Message {
    /// What the user says.
    User(String),
    /// What the model said, in the form of its provider.
    Model(Json),
    /// What its calls came to, all of one answer.
    Results(Vec<CallResult>),
}

/// What one call came to, as the model hears of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallResult {
    pub id: String,
    /// What it answered.
    pub shown: Vec<ModelContent>,
    pub is_error: bool,
}

/// Everything that a request is made of.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    /// The model, and how it is to answer.
    pub model: &'a ModelPlan,
    /// What it is told before all else.
    pub system: Option<&'a str>,
    pub tools: &'a [OfferedTool],
    /// What they are called towards it.
    pub names: &'a WireNames,
    /// What has been said.
    pub conversation: &'a Conversation,
}

impl<'a> Question<'a> {
    /// The tools with their names towards the model.
    pub fn named_tools(&self) -> impl Iterator<Item = (&'a str, &'a OfferedTool)> {
        let names = self.names;
        self.tools
            .iter()
            .enumerate()
            .filter_map(move |(place, tool)| Some((names.name(place)?, tool)))
    }
}

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
    pub fn of_text(text: &str) -> Self {
        if text.trim().is_empty() {
            return Self::Given(Json::empty());
        }
        match serde_json::from_str::<Json>(text) {
            Ok(json) => Self::of_json(json),
            Err(error) => Self::Bad {
                raw: text.to_owned(),
                why: format!("they are not valid JSON: {error}"),
            },
        }
    }

    /// The object that a value is; null is an empty one.
    pub fn of_json(json: Json) -> Self {
        if json.is_null() {
            Self::Given(Json::empty())
        } else if json.text().starts_with('{') {
            Self::Given(json)
        } else {
            Self::Bad {
                raw: json.text().to_owned(),
                why: "they are not a JSON object".to_owned(),
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
    /// Another reason.
    Other,
}

/// The schema, completed. What is no schema of an object stays as it is: the provider says so.
pub fn of_object(schema: &Value) -> Value {
    let mut fields = match schema {
        Value::Object(fields) => fields.clone(),
        Value::Null | Value::Bool(true) => Map::new(),
        other => return other.clone(),
    };
    fields.entry("type").or_insert_with(|| json!("object"));
    if fields.get("type") == Some(&json!("object")) {
        fields.entry("properties").or_insert_with(|| json!({}));
    }
    Value::Object(fields)
}

/// A tool as it is offered, with its schema under this key.
pub fn of_tool((name, tool): (&str, &OfferedTool), key: &str) -> Value {
    let mut fields = Map::new();
    fields.insert("name".to_owned(), name.into());
    fields.insert(key.to_owned(), of_object(&tool.input_schema));
    let description = tool.description.clone();
    fields.extend(description.map(|text| ("description".to_owned(), text.into())));
    Value::Object(fields)
}

#[cfg(test)]
mod tests;
