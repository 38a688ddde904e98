//! The calls of a run that is being put together, and their results.
//!
//! A result finds its call by its id: the first call with that id that has none yet, so that
//! providers that use an id again do no harm. What finds no call is counted and told.

use std::collections::{BTreeMap, VecDeque};

use mcprove_trace::{Json, ToolCall, ToolResult};
use serde_json::Value;

use super::named_count::{HAS_ONE_ALREADY, NamedCount};

/// Calls and results, in the order in which they come.
#[derive(Debug, Default)]
pub struct Calls {
    made: Vec<Made>,
    asked: BTreeMap<String, Asked>,
    orphans: NamedCount,
    repeated: NamedCount,
    texts: NamedCount,
    unfinished: NamedCount,
}

/// A call, its id, and its result.
#[derive(Debug)]
struct Made {
    id: String,
    call: ToolCall,
    result: Option<(Option<bool>, Json)>,
}

/// The calls that have the same id.
#[derive(Debug, Default)]
struct Asked {
    /// Those without a result.
    waiting: VecDeque<usize>,
    /// The one that was answered last.
    answered: usize,
}

impl Calls {
    /// A tool is called.
    pub fn call(&mut self, id: &str, call: ToolCall) {
        let asked = self.asked.entry(id.to_owned()).or_default();
        asked.waiting.push_back(self.made.len());
        self.made.push(Made {
            id: id.to_owned(),
            call,
            result: None,
        });
    }

    /// A call is answered.
    pub fn result(&mut self, id: &str, is_error: Option<bool>, result: Value) {
        let asked = self.asked.get_mut(id);
        let call = asked.and_then(|asked| {
            asked.answered = asked.waiting.pop_front().unwrap_or(asked.answered);
            self.made.get_mut(asked.answered)
        });
        match call {
            None if id.is_empty() => self.orphans.push("without an id"),
            None => self.orphans.push(id),
            Some(made) => {
                if made.result.replace((is_error, result.into())).is_some() {
                    self.repeated.push(&made.call.name);
                }
            }
        }
    }

    /// The arguments of a call, which are JSON inside a text. Nothing, and null, are no arguments.
    pub fn arguments(&mut self, tool: &str, arguments: Value) -> Json {
        match arguments {
            Value::Null => Json::empty(),
            Value::String(text) if text.trim().is_empty() => Json::empty(),
            Value::String(text) => match serde_json::from_str(&text) {
                Ok(Value::Null) => Json::empty(),
                Ok(arguments) => Value::into(arguments),
                Err(_) => {
                    self.texts.push(tool);
                    Value::String(text).into()
                }
            },
            arguments => arguments.into(),
        }
    }

    /// A call that its provider says is not whole.
    pub fn unfinished(&mut self, tool: &str) {
        self.unfinished.push(tool);
    }

    /// Whether these are the first calls of others.
    pub fn are_first_of(&self, whole: &Self) -> bool {
        let mut both = self.made.iter().zip(&whole.made);
        self.made.len() <= whole.made.len()
            && both.all(|(one, other)| one.id == other.id && one.call == other.call)
    }

    /// What a reader should know of what did not fit.
    pub fn notes(&self) -> impl Iterator<Item = String> + use<> {
        let told = [
            self.orphans.note("result", "without a call, left out"),
            self.repeated.note("result", HAS_ONE_ALREADY),
            self.texts
                .note("call", "with arguments that are not JSON, kept as a text"),
            self.unfinished
                .note("call", "that its provider calls incomplete"),
        ];
        told.into_iter().flatten()
    }

    /// The calls, and the results in their order.
    pub fn finish(self) -> (Vec<ToolCall>, Vec<ToolResult>) {
        let mut results = Vec::new();
        let calls = self.made.into_iter().enumerate().map(|(call_index, made)| {
            results.extend(made.result.map(|(is_error, result)| ToolResult {
                call_index,
                is_error,
                result,
            }));
            made.call
        });
        (calls.collect(), results)
    }
}
