//! Puts the spans of one trace together to a run.

use super::messages::{Message, Messages, Time};
use super::nesting;
use super::span::{Kind, ModelSpan, Span, ToolSpan};
use crate::prelude::*;

/// What a trace is about.
#[derive(Default)]
struct Parts {
    tools: Vec<ToolSpan>,
    /// What the messages of all replies tell of calls.
    messages: Messages,
    /// The replies of the agent itself.
    replies: Vec<ModelSpan>,
    /// The replies of agents that its tools are.
    replies_in_tools: Vec<ModelSpan>,
    agents: Vec<ModelSpan>,
    /// Spans that tell of a call or a reply again.
    told_again: usize,
}

/// Reads a trace.
pub fn read(mut spans: Vec<Span>) -> ImportedRun {
    spans.sort_by_key(|span| (span.start.unwrap_or(u64::MAX), span.place));
    let duration_ms = duration_ms(&spans);
    let mut parts = part(spans);
    let mut notes = Vec::new();
    if parts.told_again > 0 {
        notes.push(format!(
            "{} of a call or reply that another span has too, counted once",
            many(parts.told_again, "span")
        ));
    }
    let without_span = std::mem::take(&mut parts.messages).add_to(&mut parts.tools);
    notes.extend(without_span.note("call", "without a span, read from the messages"));
    // Without any reply of its own, the agent is whoever replied.
    if parts.replies.is_empty() {
        parts.replies.append(&mut parts.replies_in_tools);
    }
    let tokens = token_sum(&parts, &mut notes);
    let stop_reason = stop_reason(&parts, &mut notes);
    let speakers = || parts.replies.iter().chain(&parts.agents);
    let mut run = AgentRun {
        model: speakers().find_map(|span| span.model.clone()),
        prompt: speakers().find_map(first_of_user),
        final_response: final_response(&parts),
        conversation: Some(Conversation {
            stop_reason,
            duration_ms,
            tokens,
            turns: turns(&parts.replies),
            ..Conversation::default()
        }),
        ..AgentRun::default()
    };
    let mut without_arguments = NamedCount::default();
    for (call_index, tool) in parts.tools.into_iter().enumerate() {
        if !tool.has_arguments {
            without_arguments.push(&tool.call.name);
        }
        let result = tool.result.map(|result| ToolResult {
            call_index,
            is_error: tool.is_error,
            result: result.into(),
        });
        run.tool_results.extend(result);
        run.tool_calls.push(tool.call);
    }
    notes.extend(without_arguments.note("call", "without recorded arguments, which are unknown"));
    ImportedRun { run, notes }
}

/// From the first start to the last end.
fn duration_ms(spans: &[Span]) -> Option<f64> {
    let start = spans.iter().filter_map(|span| span.start).min()?;
    let end = spans.iter().filter_map(|span| span.end).max()?;
    Some(float(end.checked_sub(start)?) / 1e6)
}

/// Sorts the spans by what they are about; those that tell again only add what is missing.
fn part(mut spans: Vec<Span>) -> Parts {
    let nesting = nesting::find(&spans);
    let mut parts = Parts::default();
    for (at, teller) in nesting.tellers.into_iter().enumerate() {
        if teller != at {
            parts.told_again += 1;
            let inner = std::mem::replace(&mut spans[at].kind, Kind::Other);
            spans[teller].kind.add(inner);
        }
    }
    let mut agents = Vec::new();
    for (span, is_in_tool) in spans.into_iter().zip(nesting.is_in_tool) {
        let (start, end) = times(&span);
        match span.kind {
            Kind::Tool(tool) => parts.tools.push(ToolSpan {
                time: start,
                ..tool
            }),
            Kind::Model(reply) => {
                parts.messages.hear(&reply, start, end, true);
                if is_in_tool {
                    parts.replies_in_tools.push(reply);
                } else {
                    parts.replies.push(reply);
                }
            }
            Kind::Agent(agent) => agents.push((agent, start, end, is_in_tool)),
            Kind::Other => {}
        }
    }
    // An agent as a whole says what its replies said, where they have spans.
    for (agent, start, end, is_in_tool) in agents {
        parts.messages.hear(&agent, start, end, false);
        if !is_in_tool {
            parts.agents.push(agent);
        }
    }
    parts
}

/// When a span began and ended; without a time it is last.
fn times(span: &Span) -> (Time, Time) {
    let start = span.start.unwrap_or(u64::MAX);
    let end = span.end.map_or(start, |end| end.max(start));
    ((start, span.place), (end, span.place))
}

/// Every reply takes tokens, whoever made it; without replies, what the agent sums up.
fn token_sum(parts: &Parts, notes: &mut Vec<String>) -> Option<Tokens> {
    let mut spans: Vec<&ModelSpan> = parts.replies.iter().collect();
    spans.extend(&parts.replies_in_tools);
    if spans.is_empty() {
        return parts.agents.iter().find_map(|agent| agent.tokens);
    }
    let told: Vec<Option<Tokens>> = spans.into_iter().map(|span| span.tokens).collect();
    tokens::total(&told, notes)
}

fn stop_reason(parts: &Parts, notes: &mut Vec<String>) -> Option<StopReason> {
    let last = parts.replies.last().or_else(|| parts.agents.first())?;
    if last.has_failed {
        return Some(StopReason::Error);
    }
    let in_message = || last.output.first()?.finish_reason.as_deref();
    let reason = last.finish_reason.as_deref().or_else(in_message)?;
    names::stop_reason(reason, notes)
}

/// What the last reply says, unless it calls tools; or what the agent as a whole said.
fn final_response(parts: &Parts) -> Option<String> {
    let words = |span: &ModelSpan| {
        span.output
            .first()
            .filter(|message| !message.has_calls())?
            .said()
    };
    parts
        .replies
        .last()
        .and_then(words)
        .or_else(|| parts.agents.first().and_then(words))
}

/// What was said; unknown where one reply does not tell.
fn turns(replies: &[ModelSpan]) -> Option<Vec<Turn>> {
    let mut turns: Vec<Turn> = replies
        .first()?
        .input
        .iter()
        .map(|message| turn(message, "user"))
        .collect();
    for reply in replies {
        turns.push(turn(reply.output.first()?, "assistant"));
    }
    Some(turns)
}

fn turn(message: &Message, role: &str) -> Turn {
    let told = names::role(message.role.or_empty());
    Turn {
        role: told.unwrap_or(role).to_owned(),
        text: message.said(),
    }
}

fn first_of_user(span: &ModelSpan) -> Option<String> {
    span.input
        .iter()
        .find(|message| message.role.or_empty() == "user")?
        .said()
}

impl Kind {
    /// Adds what a span inside tells of the same thing.
    pub fn add(&mut self, inner: Self) {
        match (self, inner) {
            (Self::Tool(outer), Self::Tool(inner)) => outer.add(inner),
            (Self::Model(outer), Self::Model(inner)) => outer.add(inner),
            _ => {}
        }
    }
}

impl ToolSpan {
    /// Whether nothing says that another call is of another server.
    pub fn may_have_server_of(&self, other: &Self) -> bool {
        self.call
            .server
            .as_ref()
            .zip(other.call.server.as_ref())
            .is_none_or(|(one, other)| one == other)
    }

    /// Adds what something else tells of the same call.
    pub fn add(&mut self, inner: Self) {
        self.id = self.id.take().or(inner.id);
        if !self.has_arguments && inner.has_arguments {
            self.call.args = inner.call.args;
            self.has_arguments = true;
        }
        self.call.server = self.call.server.take().or(inner.call.server);
        // A framework may hand the model an error as if it were a result.
        if self.is_error.is_none() || inner.is_error == Some(true) {
            self.is_error = inner.is_error;
        }
        self.result = self.result.take().or(inner.result);
    }
}

impl ModelSpan {
    fn add(&mut self, inner: Self) {
        self.model = self.model.take().or(inner.model);
        self.tokens = self.tokens.or(inner.tokens);
        self.finish_reason = self.finish_reason.take().or(inner.finish_reason);
        if self.input.is_empty() {
            self.input = inner.input;
        }
        if self.output.is_empty() {
            self.output = inner.output;
        }
    }
}
