//! Puts a run together from the messages of a conversation, in the order in which they come.

use mcprove_settings::phrase;
use mcprove_trace::{AgentRun, Conversation, StopReason, Tokens, ToolCall, Turn};
use serde_json::Value;

use super::calls::Calls;
use super::turn::OpenTurn;
use super::{ImportedRun, names, tokens};

/// A run that is being put together.
#[derive(Debug, Default)]
pub struct RunBuilder {
    model: Option<String>,
    pub calls: Calls,
    turns: Vec<OpenTurn>,
    /// The place of the turn that is open.
    current: usize,
    /// What a source tells of the whole run, whatever its messages tell.
    pub whole: Conversation,
    pub final_response: Option<String>,
    notes: Vec<String>,
}

impl RunBuilder {
    /// Begins a turn; what comes next belongs to it. Returns its place.
    pub fn open(&mut self, role: &'static str) -> usize {
        self.current = self.turns.len();
        self.turns.push(OpenTurn::new(role));
        self.current
    }

    /// Begins a turn of an agent that works for this one: what it says is not said here.
    pub fn open_aside(&mut self, role: &'static str) -> usize {
        let place = self.open(role);
        if let Some(turn) = self.turn() {
            turn.is_aside = true;
        }
        place
    }

    /// Goes back to a turn.
    pub fn resume(&mut self, place: usize) {
        self.current = place;
    }

    /// Begins a turn of the agent, unless the last one is such.
    pub fn open_or_resume_agent(&mut self) {
        match self.turns.last() {
            Some(turn) if turn.is_of_agent() => self.current = self.turns.len() - 1,
            _ => {
                self.open("assistant");
            }
        }
    }

    fn turn(&mut self) -> Option<&mut OpenTurn> {
        self.turns.get_mut(self.current)
    }

    /// The turns of this agent and its user.
    fn own_turns(&self) -> impl DoubleEndedIterator<Item = &OpenTurn> {
        self.turns.iter().filter(|turn| !turn.is_aside)
    }

    /// Something is said. What is `joined` continues the last words; else it is a paragraph.
    pub fn say(&mut self, text: &str, is_joined: bool) {
        if let Some(turn) = self.turn() {
            turn.say(text, is_joined);
        }
    }

    /// A tool is called.
    pub fn call(&mut self, id: &str, call: ToolCall) {
        self.calls.call(id, call);
        if let Some(turn) = self.turn() {
            turn.has_calls = true;
            turn.last_words = None;
        }
    }

    /// A call is answered.
    pub fn result(&mut self, id: &str, is_error: Option<bool>, result: Value) {
        if let Some(turn) = self.turn() {
            turn.has_results = true;
            turn.last_words = None;
        }
        self.calls.result(id, is_error, result);
    }

    /// Why the reply ended, in the words of the provider.
    pub fn stop(&mut self, reason: Option<&str>) {
        if let (Some(turn), Some(reason)) = (self.turn(), reason) {
            turn.stop = Some(reason.to_owned());
        }
    }

    /// What the reply took. Told again of the same reply, the larger counts hold.
    pub fn usage(&mut self, usage: &Value) {
        if let (Some(turn), Some(told)) = (self.turn(), tokens::usage(usage)) {
            let before = turn.tokens.unwrap_or(told);
            turn.tokens = Some(tokens::larger(before, told));
        }
    }

    /// The model, unless it is known.
    pub fn model(&mut self, model: Option<&str>) {
        if self.model.is_none() {
            self.model = model.map(str::to_owned);
        }
    }

    /// Tells the reader something about the run.
    pub fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// The provider failed, and says so.
    pub fn fail(&mut self, error: &Value) {
        self.whole.stop_reason = Some(StopReason::Error);
        let message = error.get("message").unwrap_or(error);
        let words = message
            .as_str()
            .map_or_else(|| message.to_string(), str::to_owned);
        let note = format!("the provider reported an error: {}", phrase::text(&words));
        self.notes.push(note);
    }

    /// Whether nothing was said but what the model was told beforehand, and nothing ended.
    pub fn is_empty(&self) -> bool {
        self.own_turns().all(OpenTurn::is_of_system) && self.whole.stop_reason.is_none()
    }

    /// Whether nothing came yet.
    pub fn is_new(&self) -> bool {
        self.turns.is_empty()
    }

    /// Whether the agent spoke last, after its calls.
    pub fn has_last_words(&self) -> bool {
        let last = self.turns.last();
        last.is_some_and(|turn| turn.is_of_agent() && turn.last_words.is_some())
    }

    /// Whether this run begins with all of another one, and goes on: an agent sends everything again
    /// with each request. Two runs that are the same are two, unless one was never answered.
    pub fn repeats(&self, earlier: &Self) -> bool {
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
    pub fn absorb(&mut self, earlier: Self) {
        for (turn, before) in self.turns.iter_mut().zip(earlier.turns) {
            turn.tokens = turn.tokens.or(before.tokens);
        }
        self.model = self.model.take().or(earlier.model);
    }

    /// The run.
    pub fn finish(mut self) -> ImportedRun {
        let told = self.whole.stop_reason;
        self.whole.stop_reason = told.or_else(|| self.stop_reason());
        let told = self.final_response.take();
        let final_response = told.or_else(|| self.last_words(self.whole.stop_reason));
        if self.whole.tokens.is_none() {
            // Every reply takes tokens, whoever made it.
            let replies = self.turns.iter().filter(|turn| turn.is_of_agent());
            let replies: Vec<Option<Tokens>> = replies.map(|turn| turn.tokens).collect();
            self.whole.tokens = tokens::total(&replies, &mut self.notes);
        }
        self.notes.extend(self.calls.notes());
        let own = self.turns.into_iter().filter(|turn| !turn.is_aside);
        let turns: Vec<Turn> = own.map(OpenTurn::close).collect();
        let mut of_user = turns.iter().filter(|turn| turn.role == "user");
        let prompt = of_user.find_map(|turn| turn.text.clone());
        let (tool_calls, tool_results) = self.calls.finish();
        let run = AgentRun {
            model: self.model,
            prompt,
            final_response,
            tool_calls,
            tool_results,
            conversation: Some(Conversation {
                turns: Some(turns),
                ..self.whole
            }),
            ..AgentRun::default()
        };
        ImportedRun {
            run,
            notes: self.notes,
        }
    }

    /// Why the last reply ended, if nothing came after it.
    fn stop_reason(&mut self) -> Option<StopReason> {
        let last = self.own_turns().last().filter(|turn| turn.is_of_agent())?;
        let reason = last.stop.clone()?;
        names::stop_reason(&reason, &mut self.notes)
    }

    /// What the agent said in the end: nothing, if it was done without a word; unknown, if its
    /// last reply only calls tools.
    fn last_words(&self, stop_reason: Option<StopReason>) -> Option<String> {
        let last = self.own_turns().rfind(|turn| turn.is_of_agent())?;
        let is_done = !last.has_calls && stop_reason == Some(StopReason::Completed);
        match &last.last_words {
            Some(words) if !words.trim().is_empty() => Some(words.clone()),
            _ => is_done.then(String::new),
        }
    }
}
