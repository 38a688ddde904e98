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

use mcprove_settings::phrase;
use mcprove_trace::StopReason;
use serde::Deserialize;
use serde_json::{Value, json};

use self::lines::{Kind, Line};
use self::reply::Reply;
use super::anthropic::{self, Content};
use super::builder::RunBuilder;
use super::document::Document;
use super::lenient::{Maybe, Text};
use super::named_count::many;
use super::names::caller;
use super::{ImportError, ImportedRun, timestamp, tokens};

/// The model of messages that Claude Code made up itself.
const SYNTHETIC: &str = "<synthetic>";

/// Reads every session.
pub fn read(document: &Document<'_>) -> Result<Vec<ImportedRun>, ImportError> {
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
    let mut turns = lines.iter().filter(|line| line.kind.is_turn());
    let is_of_sub_agent = turns.all(|line| line.is_aside);
    let mut session = Session::default();
    for line in lines {
        let is_aside = line.is_aside && !is_of_sub_agent;
        session
            .line(document, line, is_aside)
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

/// A message of a session.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Written {
    uuid: Text,
    message: Option<anthropic::Message>,
    timestamp: Text,
    is_api_error_message: Maybe<bool>,
    is_meta: Maybe<bool>,
    is_compact_summary: Maybe<bool>,
    agent_id: Text,
    #[serde(rename = "parent_tool_use_id")]
    tool_id: Text,
}

/// The last line of what is printed: the outcome of the whole run.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Outcome {
    subtype: Text,
    is_error: Maybe<bool>,
    result: Text,
    usage: Value,
    duration_ms: Maybe<f64>,
}

impl Session {
    fn line<'a>(
        &mut self,
        document: &Document<'a>,
        line: &Line<'a>,
        is_aside: bool,
    ) -> Result<(), ImportError> {
        let json = line.element.json;
        match line.kind {
            Kind::User => self.message("user", document.parse(json)?, is_aside),
            Kind::Assistant => self.message("assistant", document.parse(json)?, is_aside),
            Kind::Result => {
                self.result(document.parse(json)?);
                Ok(())
            }
            Kind::Other => Ok(()),
        }
    }

    fn message(
        &mut self,
        role: &'static str,
        line: Written,
        is_aside: bool,
    ) -> Result<(), ImportError> {
        if let Some(id) = line.uuid.as_ref()
            && !self.lines.insert(id.clone())
        {
            return Ok(());
        }
        let Some(mut message) = line.message else {
            return Err(ImportError::shape(
                format!("the line of type `{role}` has no `message`"),
                "this is not a complete session of Claude Code",
            ));
        };
        if let Some(time) = line.timestamp.as_deref().and_then(timestamp::milliseconds) {
            let (first, last) = self.times.unwrap_or((time, time));
            self.times = Some((first.min(time), last.max(time)));
        }
        if *line.is_api_error_message == Some(true) {
            self.has_failed |= !is_aside;
            return Ok(());
        }
        // What Claude Code tells the model on its own is not said by the user.
        if [*line.is_meta, *line.is_compact_summary].contains(&Some(true)) {
            let Content::Blocks(blocks) = &mut message.content else {
                return Ok(());
            };
            blocks.retain(anthropic::Block::is_result);
            if blocks.is_empty() {
                return Ok(());
            }
        }
        if !is_aside {
            self.has_failed = false;
            let model = message.model.as_deref().filter(|model| *model != SYNTHETIC);
            self.builder.model(model);
        }
        self.open(role, line.timestamp.as_deref(), &mut message, is_aside);
        if let (true, Content::Blocks(blocks)) = (is_aside, &mut message.content) {
            let mut sidechain = json!({"type": "sidechain"});
            for (key, id) in [("agent_id", line.agent_id), ("tool_id", line.tool_id)] {
                if let Maybe(Some(id)) = id {
                    sidechain[key] = Value::from(id);
                }
            }
            for block in blocks.iter_mut().filter(|block| block.is_call()) {
                self.calls_aside += 1;
                let told = caller(block.caller.take());
                block.caller = told.map_or_else(|| sidechain.clone(), |told| *told);
            }
        }
        anthropic::add_body(&mut self.builder, message).map_err(|error| error.within("message"))
    }

    /// Begins a turn, or goes on with a reply and leaves of the message what is new.
    fn open(
        &mut self,
        role: &'static str,
        time: Option<&str>,
        message: &mut anthropic::Message,
        is_aside: bool,
    ) {
        let known = message.id.as_ref().and_then(|id| self.replies.get_mut(id));
        if let Some(reply) = known {
            self.builder.resume(reply.place);
            reply.keep_what_is_new(&mut message.content, time);
            return;
        }
        let place = if is_aside {
            self.builder.open_aside(role)
        } else {
            self.builder.open(role)
        };
        if let Some(id) = message.id.0.take() {
            let mut reply = Reply::new(place);
            reply.keep_what_is_new(&mut message.content, time);
            self.replies.insert(id, reply);
        }
    }

    fn result(&mut self, outcome: Outcome) {
        let stop_reason = match outcome.subtype.or_empty() {
            "success" if *outcome.is_error != Some(true) => Some(StopReason::Completed),
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
                    "the outcome {} does not say how the run ended",
                    phrase::name(other)
                ));
                None
            }
        };
        let whole = &mut self.builder.whole;
        whole.stop_reason = stop_reason;
        whole.tokens = tokens::usage(&outcome.usage);
        whole.duration_ms = outcome.duration_ms.filter(|duration| *duration >= 0.0);
        if stop_reason == Some(StopReason::Completed) {
            self.builder.final_response = outcome.result.0;
        }
    }

    fn finish(mut self) -> ImportedRun {
        let whole = &mut self.builder.whole;
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
