//! Puts a run together from the messages of a conversation, in the order in which they come: the turns, the calls and
//! their results.
//!
//! A result finds its call by its id: the first call with that id that has none yet, so that
//! providers that use an id again do no harm. What finds no call is counted and told.

use crate::prelude::*;

/// A run that is being put together.
#[derive(Debug, Default)]
pub struct RunBuilder {
    pub model: Option<String>,
    calls: Vec<BuiltCall>,
    /// The calls that have the same id.
    asked: BTreeMap<String, Asked>,
    pub turns: Vec<OpenTurn>,
    /// The place of the turn that is open.
    pub current: usize,
    /// What a source tells of the whole run, whatever its messages tell.
    pub whole: Conversation,
    pub final_response: Option<String>,
    pub notes: Vec<String>,
    orphans: NamedCount,
    repeated: NamedCount,
    texts: NamedCount,
    /// Calls that their provider says are not whole.
    pub unfinished: NamedCount,
}

/// A turn to which more can come.
#[derive(Debug, Default)]
pub struct OpenTurn {
    role: &'static str,
    text: Option<String>,
    /// What was said after the last call in it.
    last_words: Option<String>,
    /// Whether it is of an agent that works for this one: what it says is not said here.
    pub is_aside: bool,
    has_calls: bool,
    has_results: bool,
    tokens: Option<Tokens>,
    /// Why the reply ended, in the words of the provider.
    stop: Option<String>,
}

/// A call, its id, and its result.
#[derive(Debug)]
struct BuiltCall {
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

impl OpenTurn {
    /// Whether it is a reply of the model.
    fn is_of_agent(&self) -> bool {
        self.role == "assistant"
    }
}

/// Adds a text, as a paragraph or joined to what is there.
fn append(to: &mut Option<String>, text: &str, is_joined: bool) {
    let whole = to.get_or_insert_default();
    if !is_joined && !whole.is_empty() && !text.is_empty() {
        whole.push('\n');
    }
    whole.push_str(text);
}

impl RunBuilder {
    /// Begins a turn; what comes next belongs to it.
    pub fn open(&mut self, role: &'static str) {
        self.current = self.turns.len();
        self.turns.push(OpenTurn {
            role,
            ..OpenTurn::default()
        });
    }

    /// Begins a turn of the agent, unless the last one is such.
    pub fn open_or_resume_agent(&mut self) {
        if self.turns.last().is_some_and(OpenTurn::is_of_agent) {
            self.current = self.turns.len() - 1;
        } else {
            self.open("assistant");
        }
    }

    pub fn turn(&mut self) -> Option<&mut OpenTurn> {
        self.turns.get_mut(self.current)
    }

    /// The turns of this agent and its user.
    fn own_turns(&self) -> impl DoubleEndedIterator<Item = &OpenTurn> {
        self.turns.iter().filter(|turn| !turn.is_aside)
    }

    /// Something is said. What is `joined` continues the last words; else it is a paragraph.
    pub fn say(&mut self, text: &str, is_joined: bool) {
        if let Some(turn) = self.turn() {
            // After a call everything is a new paragraph.
            append(&mut turn.text, text, is_joined && turn.last_words.is_some());
            append(&mut turn.last_words, text, is_joined);
        }
    }

    pub fn call(&mut self, id: &str, call: ToolCall) {
        let place = self.calls.len();
        self.asked
            .entry(id.to_owned())
            .or_default()
            .waiting
            .push_back(place);
        self.calls.push(BuiltCall {
            id: id.to_owned(),
            call,
            result: None,
        });
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
        let Some(asked) = self.asked.get_mut(id) else {
            let name = if id.is_empty() { "without an id" } else { id };
            return self.orphans.push(name);
        };
        asked.answered = asked.waiting.pop_front().unwrap_or(asked.answered);
        let made = &mut self.calls[asked.answered];
        if made.result.replace((is_error, result.into())).is_some() {
            self.repeated.push(&made.call.name);
        }
    }

    /// The arguments of a call, which are JSON inside a text. Nothing, and null, are no arguments.
    pub fn arguments(&mut self, tool: &str, arguments: Value) -> Json {
        match arguments {
            Value::String(text) if text.trim().is_empty() => Json::empty(),
            Value::String(text) => serde_json::from_str(&text).map_or_else(
                |_| {
                    self.texts.push(tool);
                    Value::String(text).into()
                },
                names::arguments,
            ),
            arguments => names::arguments(arguments),
        }
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
        self.model = self.model.take().or_else(|| model.map(str::to_owned));
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
        self.own_turns().all(|turn| turn.role == "system") && self.whole.stop_reason.is_none()
    }

    /// Whether the agent spoke last, after its calls.
    pub fn has_last_words(&self) -> bool {
        self.turns
            .last()
            .is_some_and(|turn| turn.is_of_agent() && turn.last_words.is_some())
    }

    /// Whether this run begins with all of another one, and goes on: an agent sends everything again
    /// with each request. Two runs that are the same are two, unless one was never answered.
    pub fn repeats(&self, earlier: &Self) -> bool {
        let is_answered = earlier.turns.iter().any(OpenTurn::is_of_agent);
        let is_longer = self.turns.len() > earlier.turns.len();
        let mut turns = earlier.turns.iter().zip(&self.turns);
        let mut calls = earlier.calls.iter().zip(&self.calls);
        (is_longer || !is_answered)
            && self.turns.len() >= earlier.turns.len()
            && self.calls.len() >= earlier.calls.len()
            && turns.all(|(one, other)| {
                one.role == other.role && one.text == other.text && one.has_calls == other.has_calls
            })
            && calls.all(|(one, other)| one.id == other.id && one.call == other.call)
    }

    /// Takes over what only an earlier request told: what each reply took.
    pub fn absorb(&mut self, earlier: Self) {
        for (turn, before) in self.turns.iter_mut().zip(earlier.turns) {
            turn.tokens = turn.tokens.or(before.tokens);
        }
        self.model = self.model.take().or(earlier.model);
    }

    pub fn finish(mut self) -> ImportedRun {
        let own: Vec<&OpenTurn> = self.own_turns().collect();
        // Why the last reply ended, if nothing came after it.
        let stop = own.last().filter(|turn| turn.is_of_agent());
        let stop = stop.and_then(|turn| turn.stop.clone());
        let last = own
            .iter()
            .rfind(|turn| turn.is_of_agent())
            .map(|turn| (turn.has_calls, turn.last_words.clone()));
        let told = self.whole.stop_reason;
        self.whole.stop_reason = told.or_else(|| names::stop_reason(&stop?, &mut self.notes));
        // What the agent said in the end: nothing, if it was done without a word; unknown, if its last reply only
        // calls tools.
        let is_done = self.whole.stop_reason == Some(StopReason::Completed);
        let said = last.and_then(|(has_calls, words)| match words {
            Some(words) if !words.trim().is_empty() => Some(words),
            _ => (is_done && !has_calls).then(String::new),
        });
        if self.whole.tokens.is_none() {
            // Every reply takes tokens, whoever made it.
            let replies: Vec<Option<Tokens>> = self
                .turns
                .iter()
                .filter(|turn| turn.is_of_agent())
                .map(|turn| turn.tokens)
                .collect();
            self.whole.tokens = tokens::total(&replies, &mut self.notes);
        }
        let counted = [
            self.orphans.note("result", "without a call, left out"),
            self.repeated.note("result", HAS_ONE_ALREADY),
            self.texts
                .note("call", "with arguments that are not JSON, kept as a text"),
            self.unfinished
                .note("call", "that its provider calls incomplete"),
        ];
        self.notes.extend(counted.into_iter().flatten());
        let turns: Vec<Turn> = self
            .turns
            .into_iter()
            .filter(|turn| !turn.is_aside)
            .map(|turn| {
                // Anthropic has results in messages of the user.
                let is_tool = turn.role == "user" && turn.text.is_none() && turn.has_results;
                Turn {
                    role: if is_tool { "tool" } else { turn.role }.to_owned(),
                    text: turn.text.filter(|text| !text.is_empty()),
                }
            })
            .collect();
        let mut of_user = turns.iter().filter(|turn| turn.role == "user");
        let mut run = AgentRun {
            model: self.model,
            prompt: of_user.find_map(|turn| turn.text.clone()),
            final_response: self.final_response.or(said),
            ..AgentRun::default()
        };
        for (call_index, made) in self.calls.into_iter().enumerate() {
            let result = made.result.map(|(is_error, result)| ToolResult {
                call_index,
                is_error,
                result,
            });
            run.tool_results.extend(result);
            run.tool_calls.push(made.call);
        }
        run.conversation = Some(Conversation {
            turns: Some(turns),
            ..self.whole
        });
        ImportedRun {
            run,
            notes: self.notes,
        }
    }
}
