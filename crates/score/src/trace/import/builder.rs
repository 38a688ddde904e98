//! Puts a run together from the messages of a conversation, in the order in which they come.

use serde_json::Value;

use super::ImportedRun;
use super::calls::Calls;
use super::names::{Ending, ending};
use super::tokens;
use super::turn::OpenTurn;
use crate::phrase;
use crate::trace::{AgentRun, Conversation, Json, StopReason, Tokens, ToolCall, Turn};

/// A run that is being put together.
#[derive(Debug, Default)]
pub(super) struct RunBuilder {
    model: Option<String>,
    calls: Calls,
    turns: Vec<OpenTurn>,
    /// Turns of agents that work for this one: what they say is not said here.
    aside: Vec<OpenTurn>,
    current: Place,
    /// What is told of the whole run, where it is.
    whole: Whole,
    notes: Vec<String>,
}

/// Where a turn stands.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Place {
    is_aside: bool,
    index: usize,
}

/// What a source tells of the whole run, whatever its messages tell.
#[derive(Debug, Default)]
pub(super) struct Whole {
    pub(super) tokens: Option<Tokens>,
    pub(super) stop_reason: Option<StopReason>,
    pub(super) final_response: Option<String>,
    pub(super) duration_ms: Option<f64>,
}

impl RunBuilder {
    /// Begins a turn; what comes next belongs to it. Returns its place.
    pub(super) fn open(&mut self, role: &'static str) -> Place {
        self.current = Place {
            is_aside: false,
            index: self.turns.len(),
        };
        self.turns.push(OpenTurn::new(role));
        self.current
    }

    /// Begins a turn of an agent that works for this one.
    pub(super) fn open_aside(&mut self, role: &'static str) -> Place {
        self.current = Place {
            is_aside: true,
            index: self.aside.len(),
        };
        self.aside.push(OpenTurn::new(role));
        self.current
    }

    /// Goes back to a turn.
    pub(super) fn resume(&mut self, place: Place) {
        self.current = place;
    }

    /// Begins a turn of the agent, unless the last one is such.
    pub(super) fn open_or_resume_agent(&mut self) {
        match self.turns.last() {
            Some(turn) if turn.is_of_agent() => {
                self.current = Place {
                    is_aside: false,
                    index: self.turns.len() - 1,
                };
            }
            _ => {
                self.open("assistant");
            }
        }
    }

    fn turn(&mut self) -> Option<&mut OpenTurn> {
        let turns = if self.current.is_aside {
            &mut self.aside
        } else {
            &mut self.turns
        };
        turns.get_mut(self.current.index)
    }

    /// Something is said. What is `joined` continues the last words; else it is a paragraph.
    pub(super) fn say(&mut self, text: &str, is_joined: bool) {
        if let Some(turn) = self.turn() {
            turn.say(text, is_joined);
        }
    }

    /// A tool is called.
    pub(super) fn call(&mut self, id: &str, call: ToolCall) {
        self.calls.call(id, call);
        if let Some(turn) = self.turn() {
            turn.has_calls = true;
            turn.last_words = None;
        }
    }

    /// A call is answered.
    pub(super) fn result(&mut self, id: &str, is_error: Option<bool>, result: Value) {
        if let Some(turn) = self.turn() {
            turn.has_results = true;
            turn.last_words = None;
        }
        self.calls.result(id, is_error, result);
    }

    /// The arguments of a call, which are JSON inside a text.
    pub(super) fn arguments(&mut self, tool: &str, arguments: Value) -> Json {
        self.calls.arguments(tool, arguments)
    }

    /// A call that its provider says is not whole.
    pub(super) fn unfinished(&mut self, tool: &str) {
        self.calls.unfinished(tool);
    }

    /// Why the reply ended, in the words of the provider.
    pub(super) fn stop(&mut self, reason: Option<&str>) {
        if let (Some(turn), Some(reason)) = (self.turn(), reason) {
            turn.stop = Some(reason.to_owned());
        }
    }

    /// What the reply took. Told again of the same reply, the larger counts hold.
    pub(super) fn usage(&mut self, usage: &Value) {
        if let (Some(turn), Some(told)) = (self.turn(), tokens::usage(usage)) {
            let before = turn.tokens.unwrap_or(told);
            turn.tokens = Some(tokens::larger(before, told));
        }
    }

    /// The model, unless it is known.
    pub(super) fn model(&mut self, model: Option<&str>) {
        if self.model.is_none() {
            self.model = model.map(str::to_owned);
        }
    }

    /// What is told of the whole run.
    pub(super) fn whole(&mut self) -> &mut Whole {
        &mut self.whole
    }

    /// Tells the reader something about the run.
    pub(super) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// The provider failed, and says so.
    pub(super) fn fail(&mut self, error: &Value) {
        self.whole.stop_reason = Some(StopReason::Error);
        let message = error.get("message").unwrap_or(error);
        let words = message
            .as_str()
            .map_or_else(|| message.to_string(), str::to_owned);
        let note = format!("the provider reported an error: {}", phrase::text(&words));
        self.notes.push(note);
    }

    /// Whether nothing was said but what the model was told beforehand, and nothing ended.
    pub(super) fn is_empty(&self) -> bool {
        self.turns.iter().all(OpenTurn::is_of_system) && self.whole.stop_reason.is_none()
    }

    /// Whether nothing came yet.
    pub(super) fn is_new(&self) -> bool {
        self.turns.is_empty()
    }

    /// Whether the agent spoke last, after its calls.
    pub(super) fn has_last_words(&self) -> bool {
        self.turns
            .last()
            .is_some_and(|turn| turn.is_of_agent() && turn.last_words.is_some())
    }

    /// Whether this run begins with all of another one, and goes on: an agent sends everything again
    /// with each request. Two runs that are the same are two, unless one was never answered.
    pub(super) fn repeats(&self, earlier: &Self) -> bool {
        let is_answered = earlier.turns.iter().any(OpenTurn::is_of_agent);
        let is_longer = self.turns.len() > earlier.turns.len();
        let has_same_turns = self.turns.len() >= earlier.turns.len()
            && earlier
                .turns
                .iter()
                .zip(&self.turns)
                .all(|(one, other)| one.is_same(other));
        (is_longer || !is_answered) && has_same_turns && earlier.calls.are_first_of(&self.calls)
    }

    /// Takes over what only an earlier request told: what each reply took.
    pub(super) fn absorb(&mut self, earlier: Self) {
        for (turn, before) in self.turns.iter_mut().zip(earlier.turns) {
            turn.tokens = turn.tokens.or(before.tokens);
        }
        self.model = self.model.take().or(earlier.model);
    }

    /// The run.
    pub(super) fn finish(mut self) -> ImportedRun {
        let stop_reason = self.whole.stop_reason.or_else(|| self.stop_reason());
        let final_response = match self.whole.final_response.take() {
            Some(told) => Some(told),
            None => self.final_response(stop_reason),
        };
        // Every reply takes tokens, whoever made it.
        let replies: Vec<Option<Tokens>> = self
            .turns
            .iter()
            .chain(&self.aside)
            .filter(|turn| turn.is_of_agent())
            .map(|turn| turn.tokens)
            .collect();
        let tokens = match self.whole.tokens {
            Some(told) => Some(told),
            None => tokens::total(&replies, &mut self.notes),
        };
        self.notes.extend(self.calls.notes());
        let turns: Vec<Turn> = self.turns.into_iter().map(OpenTurn::close).collect();
        let prompt = turns
            .iter()
            .find(|turn| turn.role == "user" && turn.text.is_some())
            .and_then(|turn| turn.text.clone());
        let (tool_calls, tool_results) = self.calls.finish();
        let run = AgentRun {
            model: self.model,
            prompt,
            final_response,
            tool_calls,
            tool_results,
            conversation: Some(Conversation {
                stop_reason,
                duration_ms: self.whole.duration_ms,
                tokens,
                turns: Some(turns),
                ..Conversation::default()
            }),
            faults: Vec::new(),
            passed: None,
        };
        ImportedRun {
            run,
            notes: self.notes,
        }
    }

    /// Why the last reply ended, if nothing came after it.
    fn stop_reason(&mut self) -> Option<StopReason> {
        let last = self.turns.last().filter(|turn| turn.is_of_agent())?;
        let reason = last.stop.as_deref()?;
        match ending(reason) {
            Ending::Because(stop_reason) => Some(stop_reason),
            Ending::WentOn => None,
            Ending::Unheard => {
                let note = format!(
                    "the last reply stopped because of {}, which does not tell how the run ended",
                    phrase::name(reason)
                );
                self.notes.push(note);
                None
            }
        }
    }

    /// What the agent said in the end: nothing, if it was done without a word; unknown, if its
    /// last reply only calls tools.
    fn final_response(&self, stop_reason: Option<StopReason>) -> Option<String> {
        let last = self.turns.iter().rfind(|turn| turn.is_of_agent())?;
        let is_done = !last.has_calls && stop_reason == Some(StopReason::Completed);
        match &last.last_words {
            Some(words) if !words.trim().is_empty() => Some(words.clone()),
            _ => is_done.then(String::new),
        }
    }
}
