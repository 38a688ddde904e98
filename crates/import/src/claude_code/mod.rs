//! Reads sessions of Claude Code: the file that it keeps, and what it prints with
//! `--output-format stream-json`. Each line has a `type`; those of the user and of the assistant
//! have a `message` in the form of the Anthropic API. [`sessions`] tells which session a line is of.
//!
//! A reply is written in several lines with the same message id, each with the blocks that are
//! new and with the usage so far: they are one turn, and nothing is counted twice ([`reply`]). The
//! calls of sub-agents (`isSidechain`, `parent_tool_use_id`) are calls of the run, with a `caller`;
//! what they say is another conversation and is left out, unless the session has nothing else. The
//! time taken is that from the first message to the last.

mod reply;

use self::reply::Reply;
use super::anthropic::{self, Content};
use crate::prelude::*;

/// The model of messages that Claude Code made up itself.
const SYNTHETIC: &str = "<synthetic>";

/// A line of a session.
struct Line<'a, 'd> {
    element: &'d Element<'a>,
    kind: Kind,
    /// Whether it belongs to a sub-agent.
    is_aside: bool,
}

/// What a line is.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    User,
    Assistant,
    Result,
    #[serde(other)]
    Other,
}

impl Kind {
    /// Whether it is of the user or of the assistant.
    fn is_turn(self) -> bool {
        matches!(self, Self::User | Self::Assistant)
    }
}

/// What tells where a line belongs.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Header {
    #[serde(rename = "type")]
    kind: Maybe<Kind>,
    session_id: Text,
    #[serde(rename = "session_id")]
    printed_session_id: Text,
    uuid: Text,
    parent_uuid: Text,
    is_sidechain: Maybe<bool>,
    #[serde(rename = "parent_tool_use_id")]
    parent: Option<IgnoredAny>,
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

/// Reads every session.
pub fn read(document: &Document<'_>) -> Result<Vec<ImportedRun>> {
    let mut runs = Vec::new();
    for lines in sessions(document)? {
        let is_of_sub_agent = lines
            .iter()
            .filter(|line| line.kind.is_turn())
            .all(|line| line.is_aside);
        let mut session = Session::default();
        for line in &lines {
            let is_aside = line.is_aside && !is_of_sub_agent;
            let read = session.line(document, line, is_aside);
            line.element.locate(read)?;
        }
        if !session.builder.is_empty() {
            let is_of_sub_agent = is_of_sub_agent && lines.iter().any(|line| line.is_aside);
            runs.push(session.finish(is_of_sub_agent));
        }
    }
    if runs.is_empty() {
        return refuse(
            "the session has no messages",
            "a session has lines of the types `user` and `assistant`, each with a `message`",
        );
    }
    Ok(runs)
}

/// The lines of each session, in the order in which the sessions begin. A session that is taken up again may go on under
/// another id: its first message then names one of the other session as its parent.
fn sessions<'a, 'd>(document: &'d Document<'a>) -> Result<Vec<Vec<Line<'a, 'd>>>> {
    let mut sessions: Vec<Vec<Line<'a, 'd>>> = vec![Vec::new()];
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    // The session of each line, by the id of the line.
    let mut of_lines: BTreeMap<String, usize> = BTreeMap::new();
    let mut current = 0;
    for element in &document.elements {
        let header: Header = element.locate(document.parse(element.json))?;
        let kind = header.kind.unwrap_or(Kind::Other);
        if let Some(id) = header.session_id.0.or(header.printed_session_id.0) {
            if let Some(place) = places.get(&id) {
                current = *place;
            } else if kind.is_turn() {
                // What is no message does not begin a session.
                let next = if places.is_empty() { 0 } else { sessions.len() };
                let parent = header
                    .parent_uuid
                    .as_ref()
                    .and_then(|id| of_lines.get(id))
                    .copied();
                current = parent.unwrap_or(next);
                places.insert(id, current);
            }
        }
        if let Maybe(Some(id)) = header.uuid {
            of_lines.entry(id).or_insert(current);
        }
        if current == sessions.len() {
            sessions.push(Vec::new());
        }
        sessions[current].push(Line {
            element,
            kind,
            is_aside: *header.is_sidechain == Some(true) || header.parent.is_some(),
        });
    }
    Ok(sessions)
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
    fn line<'a>(&mut self, document: &Document<'a>, line: &Line<'a, '_>, is_aside: bool) -> Result {
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

    fn message(&mut self, role: &'static str, line: Written, is_aside: bool) -> Result {
        if let Some(id) = line.uuid.as_ref()
            && !self.lines.insert(id.clone())
        {
            return Ok(());
        }
        let Some(mut message) = line.message else {
            return refuse(
                sentence!("the line of type `{role}` has no `message`"),
                "this is not a complete session of Claude Code",
            );
        };
        let time = line.timestamp.as_deref();
        if let Some(time) = time.and_then(milliseconds) {
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
        // Begins a turn, or goes on with a reply and leaves of the message what is new.
        match message.id.0.take() {
            Some(id) if self.replies.contains_key(&id) => {
                if let Some(reply) = self.replies.get_mut(&id) {
                    self.builder.current = reply.place;
                    reply.keep_what_is_new(&mut message.content, time);
                }
            }
            id => {
                self.builder.open(role);
                if let Some(turn) = self.builder.turn() {
                    turn.is_aside = is_aside;
                }
                if let Some(id) = id {
                    let mut reply = Reply::new(self.builder.current);
                    reply.keep_what_is_new(&mut message.content, time);
                    self.replies.insert(id, reply);
                }
            }
        }
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
        anthropic::add_body(&mut self.builder, message).within("message")
    }

    fn result(&mut self, outcome: Outcome) {
        let notes = &mut self.builder.notes;
        let stop_reason = match outcome.subtype.or_empty() {
            "success" if *outcome.is_error != Some(true) => Some(StopReason::Completed),
            "success" | "error_during_execution" | "error_max_structured_output_retries" => {
                Some(StopReason::Error)
            }
            "error_max_turns" => Some(StopReason::TurnBudget),
            "error_max_budget_usd" => {
                notes.push(
                    "the run had no money left, which counts as `token_budget` here".to_owned(),
                );
                Some(StopReason::TokenBudget)
            }
            other => {
                let outcome = phrase::name(other);
                notes.push(format!(
                    "the outcome {outcome} does not say how the run ended"
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

    fn finish(mut self, is_of_sub_agent: bool) -> ImportedRun {
        let builder = &mut self.builder;
        if is_of_sub_agent {
            builder
                .notes
                .push("this is the session of a sub-agent".to_owned());
        }
        if self.calls_aside > 0 {
            let calls = many(self.calls_aside, "call");
            let note = format!("{calls} of sub-agents (sidechains), each with a `caller`");
            builder.notes.push(note);
        }
        // One moment is no duration.
        let taken = self
            .times
            .map(|(first, last)| last - first)
            .filter(|taken| *taken > 0.0);
        builder.whole.duration_ms = builder.whole.duration_ms.or(taken);
        if self.has_failed {
            builder.whole.stop_reason = Some(StopReason::Error);
        }
        self.builder.finish()
    }
}

/// Milliseconds from the beginning of 1970 to a time such as `2026-02-19T14:30:00.125Z` (RFC 3339). Only
/// differences of them are used, so there is no clock here.
#[expect(
    clippy::cast_precision_loss,
    reason = "microseconds are exact for 285 years, and only differences count"
)]
fn milliseconds(text: &str) -> Option<f64> {
    let time = chrono::DateTime::parse_from_rfc3339(text).ok()?;
    Some(time.timestamp_micros() as f64 / 1000.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn times() {
        for (text, expected) in [
            ("1970-01-01T00:00:00Z", 0.0),
            ("1970-01-01T00:00:00.250Z", 250.0),
            ("1969-12-31T23:59:59Z", -1000.0),
            ("2000-02-29T12:00:00Z", 951_825_600_000.0),
            ("2000-03-01T00:00:00Z", 951_868_800_000.0),
            ("2026-11-15T23:40:01.5+01:00", 1_794_782_401_500.0),
            ("2026-11-15t22:40:01.5z", 1_794_782_401_500.0),
            ("2026-11-15 17:10:01.5-05:30", 1_794_782_401_500.0),
            ("2016-12-31T23:59:60Z", 1_483_228_800_000.0),
        ] {
            assert_eq!(milliseconds(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_time() {
        for text in [
            "",
            "2026-11-15",
            "2026-11-15T22:40:01",
            "2026-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-11-15T24:00:00Z",
            "2026-11-15T22:60:00Z",
            "2026-11-15T22:40:61Z",
            "2026-11-15T22:40:01.x5Z",
            "2026-11-15T22:40:01+1:00",
            "2026-11-15T22:40:01+25:00",
            "2026-11-15T22:40:01Zulu",
            "+026-11-15T22:40:01Z",
            "26-11-15T22:40:01Z",
            "2026-11-15T22:40Z",
            "1763246401500",
        ] {
            assert_eq!(milliseconds(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_time_or_not(text in "\\PC*") {
            if let Some(time) = milliseconds(&text) {
                prop_assert!(time.is_finite());
            }
        }

        #[test]
        fn a_day_later_is_a_day_more(year in 1..9999_i32, month in 1..=12_i32, day in 1..=27_i32) {
            let at = |day| milliseconds(&format!("{year:04}-{month:02}-{day:02}T00:00:00Z"));
            prop_assert_eq!(at(day + 1), at(day).map(|time| time + 86_400_000.0));
        }
    }
}
