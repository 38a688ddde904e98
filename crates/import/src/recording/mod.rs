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

use mcprove_settings::number::finite;
use mcprove_trace::stream::TRACE_FORMAT;

use self::marks::Call;
use self::notes::Note;
use self::timeline::TimePoint;
use crate::native::check_schema;
use crate::prelude::*;

/// What is told of a recording whose last line is not whole.
const BROKEN_OFF: &str = "the last line is not whole, left out: the recording was broken off";
/// How late a cancellation is noted at most after the client said so, in milliseconds.
const NOTED_LATE_MS: i64 = 1_000;

/// Names a session; none is that of a recording without sessions.
type SessionId = Option<u32>;
/// Names a request.
type Key = (SessionId, Option<u64>);

/// What was read so far.
#[derive(Default)]
struct Recording {
    /// The calls, and when they began, in seconds.
    calls: Vec<(f64, Key, ToolCall)>,
    requests: BTreeMap<Key, Request>,
    sessions: BTreeMap<SessionId, Session>,
    /// All servers that are named.
    servers: BTreeSet<String>,
    /// What the server says of its tools.
    hints: BTreeMap<String, ToolHints>,
    cut_arguments: NamedCount,
    cut_results: NamedCount,
    /// Ends of requests that ended already.
    repeated: NamedCount,
    /// Faults of requests that met one already.
    more_faults: NamedCount,
    /// The first and the last time, in seconds.
    times: Option<(f64, f64)>,
}

/// What is known of a request besides its call.
#[derive(Default)]
struct Request {
    /// The id that its client gave it, as JSON.
    client_id: Option<String>,
    /// When the first answer came that can be read, and whether it was an error.
    answered: Option<(TimePoint, bool)>,
    /// When something came first that cannot be read.
    unread: Option<TimePoint>,
    end: Option<End>,
    /// The fault that struck it, and when.
    fault: Option<(TimePoint, Fault)>,
    /// What the server answered behind the fault.
    behind: Option<RealAnswer>,
    /// When its client most likely said that it cancels it, and when that was noted. Whoever works on a request notes it
    /// a little after its client said so, by the next call of which it may be overtaken; what the client says does not
    /// name the request as a recording does.
    cancelled: Option<[TimePoint; 2]>,
}

/// What is known of a session and its client.
#[derive(Default)]
struct Session {
    /// When it is heard of first.
    began: Option<TimePoint>,
    /// When its client left.
    left: Option<TimePoint>,
    /// When its client said that it cancels something; and of which request, by the id that it gave it.
    said: BTreeSet<TimePoint>,
    said_of: BTreeMap<String, Vec<TimePoint>>,
    /// The servers that notes name. A call that met no fault is of the same server as those of its session that did, or
    /// the retry of a call would be taken for another one.
    servers: BTreeSet<String>,
}

/// A fault that struck a call.
struct Fault {
    tool: String,
    /// The mark of it, without its call and times.
    mark: FaultMark,
}

/// How a request ended.
struct End {
    is_error: bool,
    result: Value,
    tool: String,
}

/// Reads a recording.
pub fn read(document: &Document<'_>) -> Result<ImportedRun> {
    let mut recording = Recording::default();
    let (whole, cut) = document.without_cut_line();
    for element in whole {
        let record = document.parse(element.json);
        element.locate(record.and_then(|record| recording.add(record)))?;
    }
    let mut imported = recording.finish();
    imported.notes.extend(cut.map(|_| BROKEN_OFF.to_owned()));
    Ok(imported)
}

/// The lines of a recording, and what is to be told of the last one where it is cut.
pub fn read_records(text: &str) -> Result<(Vec<TraceRecord>, Option<String>)> {
    let document = Document::read(text)?;
    let (whole, cut) = document.without_cut_line();
    let records = whole
        .iter()
        .map(|element| element.locate(document.parse(element.json)));
    Ok((
        records.collect::<Result<_, _>>()?,
        cut.map(|_| BROKEN_OFF.to_owned()),
    ))
}

/// The run in the lines of a recording, and what a reader should know of it.
pub fn import_records(records: Vec<TraceRecord>) -> Result<(AgentRun, Vec<String>)> {
    let mut recording = Recording::default();
    for (line, record) in (1..).zip(records) {
        recording.add(record).map_err(|error| ImportError {
            line: Some(line),
            ..error
        })?;
    }
    let ImportedRun { run, notes } = recording.finish();
    Ok((run, notes))
}

/// The earlier of a moment that is known and another one.
fn set_earlier<T: Ord + Copy>(known: &mut Option<T>, at: T) {
    *known = Some(known.map_or(at, |known| known.min(at)));
}

impl Recording {
    fn session(&mut self, session: SessionId) -> &mut Session {
        self.sessions.entry(session).or_default()
    }

    fn request(&mut self, key: Key) -> &mut Request {
        self.requests.entry(key).or_default()
    }

    fn add(&mut self, record: TraceRecord) -> Result {
        if let Some(schema) = &record.schema {
            check_schema(&schema.as_str().into(), TRACE_FORMAT)?;
        }
        let (first, last) = self.times.unwrap_or((record.ts, record.ts));
        self.times = Some((first.min(record.ts), last.max(record.ts)));
        let at = TimePoint::at_seconds(record.ts);
        if record.kind == "scenario_event" {
            return self.add_note(at, record);
        }
        if record.session.is_some() {
            set_earlier(&mut self.session(record.session).began, at);
        }
        match (record.method.as_deref(), record.kind.as_str()) {
            (Some("tools/list"), "response") => self.add_hints(record.result.as_ref()),
            (Some("tools/call"), "request") => self.add_call(record),
            (Some("tools/call"), "response" | "error") => self.add_end(at, record),
            _ => {}
        }
        Ok(())
    }

    fn add_note(&mut self, at: TimePoint, record: TraceRecord) -> Result {
        let note: Note =
            serde_json::from_value(record.data.unwrap_or_default()).unwrap_or_default();
        let session = *note.session;
        match (record.name.as_deref().unwrap_or_default(), note.key()) {
            ("recording_started", _) => self.add_server(None, note.server.0),
            ("left", _) if session.is_some() => set_earlier(&mut self.session(session).left, at),
            ("notification", _) if note.is_cancellation() => {
                let session = self.session(session);
                session.said.insert(at);
                if let Some(id) = note.params.get("requestId") {
                    session.said_of.entry(id.to_string()).or_default().push(at);
                }
            }
            ("cancelled", Some(key)) => self.add_cancelled(at, key),
            ("behind", Some(key)) => {
                let behind = &mut self.request(key).behind;
                *behind = note.answer.or(*behind);
            }
            ("fault", Some(key)) => return self.add_fault(at, key, note),
            _ => {}
        }
        Ok(())
    }

    fn add_server(&mut self, session: SessionId, server: Option<String>) {
        if let Some(server) = server.filter(|server| !server.is_empty()) {
            self.servers.insert(server.clone());
            self.session(session).servers.insert(server);
        }
    }

    fn add_cancelled(&mut self, at: TimePoint, key: Key) {
        set_earlier(&mut self.request(key).cancelled, [at, at]);
    }

    fn add_fault(&mut self, at: TimePoint, key: Key, mut note: Note) -> Result {
        let kind: FaultKind = serde_json::from_value(note.kind.take()).map_err(|error| {
            ImportError::shape(
                error.to_string(),
                "use the version of mcprove that made the recording",
            )
            .within("data.kind")
        })?;
        if !kind.is_fault() {
            return Ok(());
        }
        self.add_server(key.0, note.server.0.take());
        let fault = note.into_fault(kind);
        let known = &mut self.requests.entry(key).or_default().fault;
        if known.is_some() {
            self.more_faults.push(&fault.tool);
        }
        // Lines need not be in order: the first in time is the one that struck.
        if known.as_ref().is_none_or(|(first, _)| at < *first) {
            *known = Some((at, fault));
        }
        Ok(())
    }

    fn add_call(&mut self, record: TraceRecord) {
        let has_params = record.params.is_some();
        let mut params = record.params.unwrap_or_default();
        let mut param = |name: &str| params.get_mut(name).map(Value::take).unwrap_or_default();
        let called = || Some(param("name").as_str()?.to_owned());
        let name = record.tool.or_else(called).unwrap_or_default();
        let args = match record.cut {
            // A part of them would be taken for the whole.
            Some(_) => {
                self.cut_arguments.push(&name);
                Json::default()
            }
            None if !has_params => Json::default(),
            None => names::arguments(param("arguments")),
        };
        let call = ToolCall {
            meta: names::meta(param("_meta")),
            name,
            args,
            ..ToolCall::default()
        };
        let key = (record.session, record.request_id);
        if let Some(id) = record.client_id {
            self.request(key).client_id = Some(id.to_string());
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

    fn add_end(&mut self, at: TimePoint, record: TraceRecord) {
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
        let request = self.request(key);
        match category {
            Some(ErrorCategory::Cancelled) => set_earlier(&mut request.cancelled, [at, at]),
            Some(ErrorCategory::Malformed) => set_earlier(&mut request.unread, at),
            _ => set_earlier(&mut request.answered, (at, is_error)),
        }
        let end = End {
            is_error,
            result,
            tool,
        };
        if let Some(before) = request.end.replace(end) {
            self.repeated.push(&before.tool);
        }
    }

    fn finish(mut self) -> ImportedRun {
        self.calls
            .sort_by(|(left, ..), (right, ..)| left.total_cmp(right));
        self.settle_cancellations();
        let clients = self.clients();
        let mut run = AgentRun {
            conversation: duration_ms(self.times).map(|duration_ms| Conversation {
                duration_ms: Some(duration_ms),
                ..Conversation::default()
            }),
            ..AgentRun::default()
        };
        let mut timed = Vec::new();
        let [mut unanswered, mut cancelled, mut unread] = <[NamedCount; 3]>::default();
        let [mut orphans, mut strays] = <[NamedCount; 2]>::default();
        for (call_index, (ts, key, mut call)) in self.calls.into_iter().enumerate() {
            let began = TimePoint::at_seconds(ts);
            let request = self.requests.remove(&key).unwrap_or_default();
            let session = self.sessions.entry(key.0).or_default();
            call.server = only(&self.servers).or_else(|| only(&session.servers));
            call.client = clients.get(&key.0).copied();
            call.annotations = self.hints.get(&call.name).copied();
            let struck = request
                .fault
                .as_ref()
                .map(|(at, fault)| (*at, fault.mark.kind));
            let is_unheard =
                struck.is_some_and(|(_, kind)| kind.client_view() == ClientView::Nothing);
            let cancelled_at = request.cancelled.or_else(|| {
                // What cannot be read ended nothing for the client, whatever the recording made of it.
                let id = request.client_id.filter(|_| is_unheard)?;
                let said = session.said_of.get(&id)?.iter();
                let said = *said.filter(|at| **at >= began).min()?;
                Some([said, said])
            });
            timed.push(Call {
                began,
                session: key.0,
                session_began: session.began,
                answered: request.answered,
                unread: request.unread,
                cancelled: cancelled_at.and_then(|at| at.into_iter().find(|at| *at >= began)),
                left: session.left,
                struck,
            });
            match request.end {
                Some(end) if end.is_error || !is_unheard => run.tool_results.push(ToolResult {
                    call_index,
                    is_error: Some(end.is_error),
                    result: end.result.into(),
                }),
                Some(_) => unread.push(&call.name),
                None if cancelled_at.is_some() => cancelled.push(&call.name),
                None => unanswered.push(&call.name),
            }
            run.faults.extend(request.fault.map(|(_, fault)| FaultMark {
                call_index,
                real_answer: request.behind.or(fault.mark.real_answer),
                ..fault.mark
            }));
            run.tool_calls.push(call);
        }
        if !run.faults.is_empty() {
            let last = self.times.map(|(_, last)| TimePoint::at_seconds(last));
            marks::set(&mut run, &timed, last.unwrap_or_default());
        }
        // What is left is of no call.
        for request in self.requests.values() {
            if let Some(end) = &request.end {
                orphans.push(&end.tool);
            }
            if let Some((_, fault)) = &request.fault {
                strays.push(&fault.tool);
            }
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

    /// Finds when clients said that they cancel what was noted as cancelled. What ends once its client is gone ends for
    /// that.
    fn settle_cancellations(&mut self) {
        let mut cancelled: Vec<_> = self
            .requests
            .iter_mut()
            .filter_map(|(key, request)| {
                let [_, at] = request.cancelled?;
                Some((at, key.0, &mut request.cancelled))
            })
            .collect();
        cancelled.sort_by_key(|(at, ..)| *at);
        for (at, session, cancelled) in cancelled {
            let session = self.sessions.entry(session).or_default();
            let from = at.plus_ms(-NOTED_LATE_MS);
            if let Some(said) = session.said.range(from..=at).next_back().copied() {
                session.said.remove(&said);
                *cancelled = Some([said, at]);
            } else if session.left.is_some_and(|left| left <= at) {
                *cancelled = None;
            }
        }
    }

    /// The client of each session, where there are several: a session that begins after the last call of
    /// another goes on with that one.
    fn clients(&self) -> BTreeMap<SessionId, u32> {
        let mut last_calls: BTreeMap<SessionId, TimePoint> = BTreeMap::new();
        for (ts, key, _) in &self.calls {
            // They are in the order of their time.
            last_calls.insert(key.0, TimePoint::at_seconds(*ts));
        }
        let began = |session| self.sessions.get(session)?.began;
        let mut sessions: Vec<(TimePoint, SessionId, TimePoint)> = last_calls
            .iter()
            .map(|(session, last)| (began(session).unwrap_or_default(), *session, *last))
            .collect();
        sessions.sort_unstable();
        // The last call of each client so far.
        let mut ends: Vec<TimePoint> = Vec::new();
        let mut clients = BTreeMap::new();
        for (began, session, last) in sessions {
            let client = ends
                .iter()
                .enumerate()
                .filter(|(_, end)| **end < began)
                .max_by_key(|(_, end)| **end)
                .map_or(ends.len(), |(client, _)| client);
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
}

/// The only one of these.
fn only(servers: &BTreeSet<String>) -> Option<String> {
    servers.first().filter(|_| servers.len() == 1).cloned()
}

/// From the first time to the last, in milliseconds, to the microsecond in which times are written.
fn duration_ms(times: Option<(f64, f64)>) -> Option<f64> {
    let (first, last) = times?;
    let microseconds = ((last - first) * 1e6).round();
    // One moment is no duration.
    finite(microseconds / 1e3).filter(|duration| *duration > 0.0)
}
