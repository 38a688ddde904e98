//! The calls of a run that is being put together, and their results.
//!
//! A result finds its call by its id: the first call with that id that has none yet, so that
//! providers that use an id again do no harm. What finds no call is counted and told.

use std::collections::{BTreeMap, VecDeque};

use serde_json::Value;

use super::few::{Few, HAS_ONE_ALREADY};
use crate::trace::{Json, ToolCall, ToolResult};

/// Calls and results, in the order in which they come.
#[derive(Debug, Default)]
pub(super) struct Calls {
    made: Vec<ToolCall>,
    /// The id of each call.
    ids: Vec<String>,
    results: Vec<ToolResult>,
    /// The place in `results` of the result of each call.
    places: Vec<Option<usize>>,
    asked: BTreeMap<String, Asked>,
    orphans: Few,
    repeated: Few,
    texts: Few,
    unfinished: Few,
}

/// The calls that have the same id.
#[derive(Debug)]
struct Asked {
    /// Those without a result.
    waiting: VecDeque<usize>,
    /// The one that was answered last.
    answered: usize,
}

impl Calls {
    /// A tool is called.
    pub(super) fn call(&mut self, id: &str, call: ToolCall) {
        let place = self.made.len();
        self.made.push(call);
        self.ids.push(id.to_owned());
        self.places.push(None);
        self.asked
            .entry(id.to_owned())
            .or_insert_with(|| Asked {
                waiting: VecDeque::new(),
                answered: place,
            })
            .waiting
            .push_back(place);
    }

    /// A call is answered.
    pub(super) fn result(&mut self, id: &str, is_error: Option<bool>, result: Value) {
        let Some(asked) = self.asked.get_mut(id) else {
            self.orphans
                .push(if id.is_empty() { "without an id" } else { id });
            return;
        };
        asked.answered = asked.waiting.pop_front().unwrap_or(asked.answered);
        let call_index = asked.answered;
        let answer = ToolResult {
            call_index,
            is_error,
            result: result.into(),
        };
        let earlier = self.places.get(call_index).copied().flatten();
        if let Some(earlier) = earlier.and_then(|place| self.results.get_mut(place)) {
            *earlier = answer;
            let name = self.made.get(call_index).map_or("", |call| &call.name);
            self.repeated.push(name);
            return;
        }
        if let Some(place) = self.places.get_mut(call_index) {
            *place = Some(self.results.len());
        }
        self.results.push(answer);
    }

    /// The arguments of a call, which are JSON inside a text. Nothing, and null, are no arguments.
    pub(super) fn arguments(&mut self, tool: &str, arguments: Value) -> Json {
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
    pub(super) fn unfinished(&mut self, tool: &str) {
        self.unfinished.push(tool);
    }

    /// Whether these are the first calls of others.
    pub(super) fn are_first_of(&self, whole: &Self) -> bool {
        self.made.len() <= whole.made.len()
            && self
                .ids
                .iter()
                .zip(&whole.ids)
                .all(|(one, other)| one == other)
            && self
                .made
                .iter()
                .zip(&whole.made)
                .all(|(one, other)| one == other)
    }

    /// What a reader should know of what did not fit.
    pub(super) fn notes(&self) -> impl Iterator<Item = String> + use<> {
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
    pub(super) fn finish(mut self) -> (Vec<ToolCall>, Vec<ToolResult>) {
        self.results.sort_by_key(|result| result.call_index);
        (self.made, self.results)
    }
}
