//! Reads sessions of Claude Code: the file that it keeps, and what it prints with
//! `--output-format stream-json`. Each line has a `type`; those of the user and of the assistant
//! have a `message` in the form of the Anthropic API. [`lines`] tells which session a line is of.
//!
//! A reply is written in several lines with the same message id, each with the blocks that are
//! new and with the usage so far: they are one turn, and nothing is counted twice ([`reply`]). The
//! calls of sub-agents (`isSidechain`, `parent_tool_use_id`) are calls of the run, with a `caller`;
//! what they say is another conversation and is left out, unless the session has nothing else. The
//! time taken is that from the first message to the last.

mod lines;
mod reply;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use self::lines::Line;
use self::reply::Reply;
use super::builder::RunBuilder;
use super::document::Document;
use super::few::many;
use super::names::{take_text, text};
use super::{ImportError, ImportedRun, anthropic, timestamp, tokens};
use crate::phrase;
use crate::trace::StopReason;

/// The model of messages that Claude Code made up itself.
const SYNTHETIC: &str = "<synthetic>";

/// Reads every session.
pub(super) fn read(document: &Document<'_>) -> Result<Vec<ImportedRun>, ImportError> {
    let mut runs = Vec::new();
    for lines in lines::sessions(document)? {
        let session = read_session(document, &lines)?;
        if !session.builder.is_empty() {
            runs.push(session.finish());
        }
    }
    if runs.is_empty() {
        return Err(ImportError::shape(
            "the session has no messages",
            "a session has lines of the types `user` and `assistant`, each with a `message`",
        ));
    }
    Ok(runs)
}

fn read_session(document: &Document<'_>, lines: &[Line<'_>]) -> Result<Session, ImportError> {
    let is_of_sub_agent = !lines.iter().any(|line| line.is_turn && !line.is_aside);
    let mut session = Session::default();
    for line in lines {
        let is_aside = line.is_aside && !is_of_sub_agent;
        document
            .parse(line.element.json)
            .and_then(|read| session.line(read, is_aside))
            .map_err(|error| line.element.locate(error))?;
    }
    if is_of_sub_agent && lines.iter().any(|line| line.is_aside) {
        session.builder.note("this is the session of a sub-agent");
    }
    if session.calls_aside > 0 {
        let note = format!(
            "{} of sub-agents (sidechains), each with a `caller`",
            many(session.calls_aside, "call")
        );
        session.builder.note(note);
    }
    Ok(session)
}

/// A session that is being read.
#[derive(Debug, Default)]
struct Session {
    builder: RunBuilder,
    /// Lines that were read: a session that is taken up again repeats some.
    lines: BTreeSet<String>,
    /// The replies, by their message id.
    replies: BTreeMap<String, Reply>,
    /// The first and the last time.
    times: Option<(f64, f64)>,
    /// Whether the last thing that happened is that the API failed.
    has_failed: bool,
    /// Calls of sub-agents.
    calls_aside: usize,
}

impl Session {
    fn line(&mut self, mut line: Map<String, Value>, is_aside: bool) -> Result<(), ImportError> {
        if let Some(id) = text(&line, "uuid")
            && !self.lines.insert(id.to_owned())
        {
            return Ok(());
        }
        match take_text(&mut line, "type").as_deref() {
            Some("user") => self.message("user", line, is_aside),
            Some("assistant") => self.message("assistant", line, is_aside),
            Some("result") => {
                self.result(&mut line);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn message(
        &mut self,
        role: &'static str,
        mut line: Map<String, Value>,
        is_aside: bool,
    ) -> Result<(), ImportError> {
        let is_set =
            |line: &Map<String, Value>, key: &str| line.get(key) == Some(&Value::Bool(true));
        let Some(Value::Object(mut message)) = line.remove("message") else {
            return Err(ImportError::shape(
                format!("the line of type `{role}` has no `message`"),
                "this is no whole session of Claude Code",
            ));
        };
        if let Some(time) = text(&line, "timestamp").and_then(timestamp::milliseconds) {
            let (first, last) = self.times.unwrap_or((time, time));
            self.times = Some((first.min(time), last.max(time)));
        }
        if is_set(&line, "isApiErrorMessage") {
            self.has_failed |= !is_aside;
            return Ok(());
        }
        // What Claude Code tells the model on its own is not said by the user.
        if is_set(&line, "isMeta") || is_set(&line, "isCompactSummary") {
            keep_results(&mut message);
            if !message.contains_key("content") {
                return Ok(());
            }
        }
        if !is_aside {
            self.has_failed = false;
            let model = text(&message, "model").filter(|model| *model != SYNTHETIC);
            self.builder.model(model);
        }
        self.open(role, &line, &mut message, is_aside);
        if is_aside {
            self.calls_aside += name_caller(&mut message, &line);
        }
        anthropic::add_body(&mut self.builder, &mut message)
            .map_err(|error| error.within("message"))
    }

    /// Begins a turn, or goes on with a reply and leaves of the message what is new.
    fn open(
        &mut self,
        role: &'static str,
        line: &Map<String, Value>,
        message: &mut Map<String, Value>,
        is_aside: bool,
    ) {
        let id = text(message, "id").map(str::to_owned);
        if let Some(reply) = id.as_ref().and_then(|id| self.replies.get_mut(id)) {
            self.builder.resume(reply.place);
            reply.keep_what_is_new(message, text(line, "timestamp"));
            return;
        }
        let place = if is_aside {
            self.builder.open_aside(role)
        } else {
            self.builder.open(role)
        };
        if let Some(id) = id {
            let mut reply = Reply::new(place);
            reply.keep_what_is_new(message, text(line, "timestamp"));
            self.replies.insert(id, reply);
        }
    }

    /// The last line of what is printed: the outcome of the whole run.
    fn result(&mut self, line: &mut Map<String, Value>) {
        let is_error = line.get("is_error") == Some(&Value::Bool(true));
        let subtype = text(line, "subtype").unwrap_or_default();
        let stop_reason = match subtype {
            "success" if !is_error => Some(StopReason::Completed),
            "success" | "error_during_execution" | "error_max_structured_output_retries" => {
                Some(StopReason::Error)
            }
            "error_max_turns" => Some(StopReason::TurnBudget),
            "error_max_budget_usd" => {
                self.builder
                    .note("the run had no money left, which counts as `token_budget` here");
                Some(StopReason::TokenBudget)
            }
            other => {
                self.builder.note(format!(
                    "the outcome {} does not tell how the run ended",
                    phrase::name(other)
                ));
                None
            }
        };
        let whole = self.builder.whole();
        whole.stop_reason = stop_reason;
        whole.tokens = line.get("usage").and_then(tokens::usage);
        let duration = line.get("duration_ms").and_then(Value::as_f64);
        whole.duration_ms = duration.filter(|duration| *duration >= 0.0);
        if stop_reason == Some(StopReason::Completed) {
            whole.final_response = take_text(line, "result");
        }
    }

    fn finish(mut self) -> ImportedRun {
        let whole = self.builder.whole();
        if whole.duration_ms.is_none() {
            // One moment is no duration.
            let taken = self.times.map(|(first, last)| last - first);
            whole.duration_ms = taken.filter(|taken| *taken > 0.0);
        }
        if self.has_failed {
            whole.stop_reason = Some(StopReason::Error);
        }
        self.builder.finish()
    }
}

/// Leaves the results of tools in a message, and nothing else; without any, no content.
fn keep_results(message: &mut Map<String, Value>) {
    if let Some(Value::Array(blocks)) = message.get_mut("content") {
        blocks.retain(|block| {
            let kind = block.get("type").and_then(Value::as_str);
            kind.is_some_and(|kind| kind.ends_with("tool_result"))
        });
        if !blocks.is_empty() {
            return;
        }
    }
    message.remove("content");
}

/// Says of each call in a message that a sub-agent made it, unless its own caller is told. Returns how
/// many calls there are.
fn name_caller(message: &mut Map<String, Value>, line: &Map<String, Value>) -> usize {
    let mut caller = json!({"type": "sidechain"});
    for (key, told) in [("agent_id", "agentId"), ("tool_id", "parent_tool_use_id")] {
        if let Some(id) = text(line, told) {
            caller[key] = Value::from(id);
        }
    }
    let Some(Value::Array(blocks)) = message.get_mut("content") else {
        return 0;
    };
    let mut calls = 0;
    for block in blocks.iter_mut().filter_map(Value::as_object_mut) {
        if !text(block, "type").is_some_and(|kind| kind.ends_with("tool_use")) {
            continue;
        }
        calls += 1;
        if super::names::caller(block.get("caller").cloned()).is_none() {
            block.insert("caller".to_owned(), caller.clone());
        }
    }
    calls
}
