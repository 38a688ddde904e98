//! What has been said so far, whoever the provider is.

use super::ModelContent;
use crate::agent::WireNames;
use crate::prelude::*;

/// What has been said so far.
#[derive(Debug, Clone, Default)]
pub struct Conversation {
    /// Message by message.
    pub messages: Vec<Message>,
    /// Where code of the model runs.
    pub container: Option<String>,
}

/// One message.
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
    /// Which call.
    pub id: String,
    /// What it answered.
    pub shown: Vec<ModelContent>,
    /// Whether it is an error.
    pub is_error: bool,
}

/// Everything that a request is made of.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    /// The model, and how it is to answer.
    pub model: &'a ModelPlan,
    /// What it is told before all else.
    pub system: Option<&'a str>,
    /// The tools that it has.
    pub tools: &'a [OfferedTool],
    /// What they are called towards it.
    pub names: &'a WireNames,
    /// What has been said.
    pub conversation: &'a Conversation,
}

impl<'a> Question<'a> {
    /// The tools with their names towards the model.
    pub(super) fn named_tools(&self) -> impl Iterator<Item = (&'a str, &'a OfferedTool)> {
        let names = self.names;
        let tools = self.tools.iter().enumerate();
        tools.filter_map(move |(place, tool)| Some((names.name(place)?, tool)))
    }
}
