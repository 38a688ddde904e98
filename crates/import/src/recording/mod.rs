//! Reads our own `trace.jsonl`, also as a mock or a proxy records it: each `tools/call` that was sent
//! is a call, and the line that ends it, found by session and request id, its result. What the agent
//! said is not in a recording.
//!
//! Each thread writes its lines in one piece, so lines of several threads are not in order: calls
//! are put in the order of their time, then of their line. The time taken is that from the first line
//! to the last. All sessions of a recording are one run: an agent that connects again after its
//! connection broke goes on with its task.
//!
//! The annotations of a tool are those of the lists that were answered. Sessions that take turns are of several
//! clients; one that begins after the last call of another goes on with it.
//!
//! Five notes tell what no line of a request can: `recording_started`, which server it is; `fault`, that
//! a fault struck a call; `behind`, what the server answered behind it; `cancelled`, that the client cancelled it, which an error of the category
//! `Cancelled` says too; and `left`, that the client of a session left, for which whatever it waits for ends
//! a little later. A call that was cancelled and has no end has an unknown result. Nor is
//! a result what the client could not read, by the kind of the fault. When the client noticed each
//! fault and had recovered from it is worked out [from the times](marks). Whoever records may be killed: a last
//! line that is not whole is left out, and told.

mod marks;
mod notes;
mod timeline;

use std::collections::BTreeMap;

use mcprove_settings::number::finite;
use mcprove_settings::phrase;
use mcprove_trace::{
    AgentRun, Conversation, ErrorCategory, FaultKind, FaultMark, Heard, Json, RealAnswer, ToolCall,
    ToolHints, ToolResult, TraceRecord,
};
use serde::Deserialize;
use serde_json::Value;

use self::marks::Call;
use self::notes::{Cancellations, Fault, Note, Servers};
use self::timeline::Moment;
use super::document::Document;
use super::lenient::Text;
use super::named_count::{HAS_ONE_ALREADY, NamedCount, many};
use super::names::{self, mcp_result};
use super::{ImportError, ImportedRun};

/// The version of the format.
const TRACE_FORMAT: &str = "trace.v1";

/// Names a request.
type Key = (Option<u32>, Option<u64>);

/// What was read so far.
#[derive(Default)]
struct Recording {
    calls: Vec<(f64, Key, ToolCall)>,
    /// The ids that clients gave their calls, as JSON.
    client_ids: BTreeMap<Key, String>,
    /// What servers answered behind faults.
    behind: BTreeMap<Key, RealAnswer>,
    /// What the server says of its tools.
    hints: BTreeMap<String, ToolHints>,
    /// How each request ended.
    ends: BTreeMap<Key, End>,
    /// The fault that struck each request, and when.
    faults: BTreeMap<Key, (Moment, Fault)>,
    cancelled: Cancellations,
    /// When each session is heard of first.
    sessions: BTreeMap<Option<u32>, Moment>,
    servers: Servers,
    cut_arguments: NamedCount,
    cut_results: NamedCount,
    /// Ends of requests that ended already.
    repeated: NamedCount,
    /// Faults of requests that met one already.
    more_faults: NamedCount,
    /// The first and the last time, in seconds.
    times: Option<(f64, f64)>,
}

/// The parameters of a call.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Params {
    name: Text,
    arguments: Value,
    #[serde(rename = "_meta")]
    meta: Value,
}

/// How a request ended.
struct End {
    /// When the first answer came that can be read, and whether it was an error.
    answered: Option<(Moment, bool)>,
    /// When something came first that cannot be read.
    unread: Option<Moment>,
    is_error: bool,
    result: Value,
    tool: String,
}

/// Reads a recording.
pub fn read(document: &Document<'_>) -> Result<ImportedRun, ImportError> {
    let mut recording = Recording::default();
    let (whole, cut) = document.without_cut_line();
    for element in whole {
        let record = document.parse(element.json);
        record
            .and_then(|record| recording.add(record))
            .map_err(|error| element.locate(error))?;
    }
    let mut imported = recording.finish();
    if cut.is_some() {
        let note = "the last line is not whole, left out: the recording was broken off";
        imported.notes.push(note.to_owned());
    }
    Ok(imported)
}

impl Recording {
    fn add(&mut self, record: TraceRecord) -> Result<(), ImportError> {
        if let Some(schema) = &record.schema
            && schema != TRACE_FORMAT
        {
            let error = ImportError::shape(
                format!("the schema is {}, not {TRACE_FORMAT}", phrase::name(schema)),
                "use a version of mcprove that knows this schema",
            );
            return Err(error.within("schema"));
        }
        let (first, last) = self.times.unwrap_or((record.ts, record.ts));
        self.times = Some((first.min(record.ts), last.max(record.ts)));
        let at = Moment::at_seconds(record.ts);
        if record.kind == "scenario_event" {
            return self.add_note(at, record);
        }
        if record.session.is_some() {
            let began = self.sessions.entry(record.session).or_insert(at);
            *began = at.min(*began);
        }
        if record.method.as_deref() == Some("tools/list") && record.kind == "response" {
            self.add_hints(record.result.as_ref());
        }
        if record.method.as_deref() != Some("tools/call") {
            return Ok(());
        }
        match record.kind.as_str() {
            "request" => self.add_call(record),
            "response" | "error" => self.add_end(at, record),
            _ => {}
        }
        Ok(())
    }

    fn add_note(&mut self, at: Moment, record: TraceRecord) -> Result<(), ImportError> {
        let note = serde_json::from_value(record.data.unwrap_or_default());
        let note: Note = note.unwrap_or_default();
        let session = *note.session;
        match (record.name.as_deref().unwrap_or_default(), note.key()) {
            ("recording_started", _) => self.servers.add(None, &note.server),
            ("left", _) if session.is_some() => self.cancelled.add_left(at, session),
            ("notification", _) if note.is_cancellation() => {
                self.cancelled.add_said(at, session, note.cancelled_id());
            }
            ("cancelled", Some(key)) => self.cancelled.add(at, key),
            ("behind", Some(key)) => {
                self.behind.extend(note.answer.map(|answer| (key, answer)));
            }
            ("fault", Some(key)) => return self.add_fault(at, key, note),
            _ => {}
        }
        Ok(())
    }

    fn add_fault(&mut self, at: Moment, key: Key, mut note: Note) -> Result<(), ImportError> {
        let kind: FaultKind = serde_json::from_value(note.kind.take()).map_err(|error| {
            let hint = "use the version of mcprove that made the recording";
            ImportError::shape(error.to_string(), hint).within("data.kind")
        })?;
        if !kind.is_fault() {
            return Ok(());
        }
        self.servers.add(key.0, &note.server);
        let fault = note.into_fault(kind);
        if let Some((first, before)) = self.faults.get_mut(&key) {
            self.more_faults.push(&fault.tool);
            // Lines need not be in order: the first in time is the one that struck.
            if at < *first {
                (*first, *before) = (at, fault);
            }
        } else {
            self.faults.insert(key, (at, fault));
        }
        Ok(())
    }

    fn add_call(&mut self, record: TraceRecord) {
        let has_params = record.params.is_some();
        let params = serde_json::from_value(record.params.unwrap_or_default());
        let params: Params = params.unwrap_or_default();
        let name = record.tool.or(params.name.0).unwrap_or_default();
        let args = match record.cut {
            // A part of them would be taken for the whole.
            Some(_) => {
                self.cut_arguments.push(&name);
                Json::default()
            }
            None if !has_params => Json::default(),
            None => names::arguments(params.arguments),
        };
        let call = ToolCall {
            meta: names::meta(params.meta),
            name,
            args,
            ..ToolCall::default()
        };
        let key = (record.session, record.request_id);
        if let Some(id) = record.client_id {
            self.client_ids.insert(key, id.to_string());
        }
        self.calls.push((record.ts, key, call));
    }

    fn add_hints(&mut self, listed: Option<&Value>) {
        let tools = listed.and_then(|listed| listed.get("tools"));
        for tool in tools.and_then(Value::as_array).into_iter().flatten() {
            let name = tool.get("name").and_then(Value::as_str);
            let hints = tool.get("annotations").cloned();
            let hints = hints.and_then(|hints| serde_json::from_value(hints).ok());
            if let Some((name, hints)) = name.zip(hints) {
                self.hints.insert(name.to_owned(), hints);
            }
        }
    }

    fn add_end(&mut self, at: Moment, record: TraceRecord) {
        let tool = record.tool.unwrap_or_default();
        let key = (record.session, record.request_id);
        let category = record.error.as_ref().map(|error| error.category);
        let (is_error, result) = match (record.error, record.cut) {
            (Some(error), _) => (true, serde_json::to_value(error).unwrap_or_default()),
            // A result with `isError` is recorded as an error, whole or not.
            (None, Some(cut)) => {
                self.cut_results.push(&tool);
                (record.kind == "error", Value::String(cut))
            }
            (None, None) => {
                let (is_error, result) = mcp_result(record.result.unwrap_or_default());
                (is_error.unwrap_or(record.kind == "error"), result)
            }
        };
        let mut end = End {
            answered: None,
            unread: None,
            is_error,
            result,
            tool,
        };
        match category {
            Some(ErrorCategory::Cancelled) => self.cancelled.add(at, key),
            Some(ErrorCategory::Malformed) => end.unread = Some(at),
            _ => end.answered = Some((at, is_error)),
        }
        if let Some(before) = self.ends.get(&key) {
            self.repeated.push(&before.tool);
            end.answered = end.answered.into_iter().chain(before.answered).min();
            end.unread = end.unread.into_iter().chain(before.unread).min();
        }
        self.ends.insert(key, end);
    }

    fn finish(mut self) -> ImportedRun {
        self.calls
            .sort_by(|(left, ..), (right, ..)| left.total_cmp(right));
        let mut run = AgentRun {
            conversation: duration_ms(self.times).map(|duration_ms| Conversation {
                duration_ms: Some(duration_ms),
                ..Conversation::default()
            }),
            ..AgentRun::default()
        };
        let clients = self.clients();
        let said: BTreeMap<Key, Moment> = self.said_cancellations();
        let mut given_up = self.cancelled.finish();
        let mut timed = Vec::new();
        let [mut unanswered, mut cancelled, mut unread] = <[NamedCount; 3]>::default();
        for (call_index, (ts, key, mut call)) in self.calls.into_iter().enumerate() {
            call.server = self.servers.of(key.0);
            call.client = clients.get(&key.0).copied();
            call.annotations = self.hints.get(&call.name).copied();
            let mut fault = self.faults.remove(&key);
            if let Some((_, fault)) = &mut fault {
                let answer = self.behind.get(&key).copied();
                fault.mark.real_answer = answer.or(fault.mark.real_answer);
            }
            let began = Moment::at_seconds(ts);
            let struck = fault.as_ref().map(|(at, fault)| (*at, fault.mark.kind));
            let is_unheard = struck.is_some_and(|(_, kind)| kind.heard() == Heard::Nothing);
            let cancelled_at = given_up.cancelled.remove(&key);
            // What cannot be read ended nothing for the client, whatever the recording made of it.
            let cancelled_at = cancelled_at.or_else(|| {
                let said = said.get(&key).filter(|_| is_unheard);
                said.map(|at| [*at, *at])
            });
            let end = self.ends.remove(&key);
            timed.push(Call {
                began,
                session: key.0,
                answered: end.as_ref().and_then(|end| end.answered),
                unread: end.as_ref().and_then(|end| end.unread),
                cancelled: cancelled_at.and_then(|at| at.into_iter().find(|at| *at >= began)),
                left: given_up.left.get(&key.0).copied(),
                struck,
            });
            match end {
                Some(end) if end.is_error || !is_unheard => run.tool_results.push(ToolResult {
                    call_index,
                    is_error: Some(end.is_error),
                    result: end.result.into(),
                }),
                Some(_) => unread.push(&call.name),
                None if cancelled_at.is_some() => cancelled.push(&call.name),
                None => unanswered.push(&call.name),
            }
            if let Some((_, fault)) = fault {
                run.faults.push(FaultMark {
                    call_index,
                    ..fault.mark
                });
            }
            run.tool_calls.push(call);
        }
        if !run.faults.is_empty() {
            let last = self.times.map(|(_, last)| Moment::at_seconds(last));
            marks::set(&mut run, &timed, &self.sessions, last.unwrap_or_default());
        }
        let mut orphans = NamedCount::default();
        for end in self.ends.values() {
            orphans.push(&end.tool);
        }
        let mut strays = NamedCount::default();
        for (_, fault) in self.faults.values() {
            strays.push(&fault.tool);
        }
        let told = [
            self.cut_arguments
                .note("call", "with arguments that were cut, so they are unknown"),
            self.cut_results
                .note("result", "cut, kept in part as a text"),
            unanswered.note(
                "call",
                "without an end in the recording, the result is unknown",
            ),
            cancelled.note("call", "cancelled by the client, the result is unknown"),
            unread.note(
                "result",
                "that the client could not get for its fault, left out",
            ),
            orphans.note("result", "without a call in the recording, left out"),
            self.repeated.note("result", HAS_ONE_ALREADY),
            strays.note("fault", "without a tool call in the recording, left out"),
            self.more_faults
                .note("fault", "of a call that met one already, the first counts"),
        ];
        let mut notes: Vec<String> = told.into_iter().flatten().collect();
        if run.tool_calls.is_empty() {
            notes.push(format!("the recording has {}", many(0, "tool call")));
        }
        ImportedRun { run, notes }
    }

    /// The client of each session, where there are several: a session that begins after the last call of
    /// another goes on with that one.
    fn clients(&self) -> BTreeMap<Option<u32>, u32> {
        let mut last_calls: BTreeMap<Option<u32>, Moment> = BTreeMap::new();
        for (ts, key, _) in &self.calls {
            let at = Moment::at_seconds(*ts);
            let last = last_calls.entry(key.0).or_insert(at);
            *last = at.max(*last);
        }
        let mut sessions: Vec<(Moment, Option<u32>)> = last_calls
            .keys()
            .map(|session| {
                let began = self.sessions.get(session).copied();
                (began.unwrap_or_default(), *session)
            })
            .collect();
        sessions.sort_unstable();
        // The last call of each client so far.
        let mut ends: Vec<Moment> = Vec::new();
        let mut clients = BTreeMap::new();
        for (began, session) in sessions {
            let last = last_calls.get(&session).copied().unwrap_or_default();
            let gone_on_with = (0..ends.len())
                .filter(|client| ends.get(*client).is_some_and(|end| *end < began))
                .max_by_key(|client| ends.get(*client).copied());
            let client = gone_on_with.unwrap_or(ends.len());
            match ends.get_mut(client) {
                Some(end) => *end = last.max(*end),
                None => ends.push(last),
            }
            clients.insert(session, u32::try_from(client).unwrap_or(u32::MAX));
        }
        if ends.len() < 2 {
            clients.clear();
        }
        clients
    }

    /// When clients said that they cancel their calls, by the ids that they gave them.
    fn said_cancellations(&self) -> BTreeMap<Key, Moment> {
        let calls = self.calls.iter();
        let said = calls.filter_map(|(ts, key, _)| {
            let id = self.client_ids.get(key)?;
            let began = Moment::at_seconds(*ts);
            Some((*key, self.cancelled.said_of(key.0, id, began)?))
        });
        said.collect()
    }
}

/// From the first time to the last, in milliseconds, to the microsecond in which times are written.
fn duration_ms(times: Option<(f64, f64)>) -> Option<f64> {
    let (first, last) = times?;
    let microseconds = ((last - first) * 1e6).round();
    // One moment is no duration.
    finite(microseconds / 1e3).filter(|duration| *duration > 0.0)
}
