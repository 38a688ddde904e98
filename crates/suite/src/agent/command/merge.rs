//! What several proxies wrote down, as one run: one agent, its calls in the order of the clock.
//!
//! A recording is of one server, and its importer takes sessions that go on at the same time for several clients.
//! Those of one agent with several servers are one client, so their lines are put into one
//! recording, as one session: times count from the first beginning, requests are numbered anew, and tools
//! get the name of their server before theirs until they are read.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read as _};
use std::time::UNIX_EPOCH;

use mcprove_import::{Format, import_as};
use mcprove_settings::number::count;
use mcprove_trace::AgentRun;
use serde::Deserialize;
use serde_json::{Value, json};

use super::process::{Ended, How};
use super::proxies::Written;
use super::reached::never_reached;
use super::setup::Kept;
use super::{CommandRun, of_file};
use crate::error::TestError;

/// The largest recording that is read; the rest is left out.
const RECORDING_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// The name of the line that says when the agent ended.
const ENDED: &str = "agent_ended";
/// The name of the line that says when the client of a session left.
const LEFT: &str = "left";

/// Reads what the proxies of these servers wrote down until their agent ended.
pub(super) fn merge(
    names: &[&str],
    written: &[Written],
    ended: &Ended,
) -> Result<CommandRun, TestError> {
    let mut texts = Vec::new();
    for (name, written) in names.iter().zip(written) {
        let missing = match (&written.kept, &ended.how) {
            (Kept::Lost(reason), _) => Some(reason.as_str()),
            // An agent that was ended may not have come to its first call.
            (Kept::Unbegun, How::Done) => Some("its proxy ended before it could record"),
            (Kept::Unbegun | Kept::All, _) => None,
        };
        if let Some(reason) = missing {
            return Err(TestError::new(
                format!("the recording of the server {name:?} is not complete: {reason}"),
                "check the space on the disk of the temporary folder; let the agent close its servers' input, or end them with SIGTERM, instead of SIGKILL",
            ));
        }
        let text = text_of(written).map_err(|error| {
            let what = format!("the recording of the server {name:?} cannot be read");
            of_file(what, &error)
        })?;
        if let Some(message) = never_reached(&text) {
            return Err(TestError::new(
                format!("the server {name:?} could not be started or reached: {message}"),
                format!(
                    "check the command or the address of {name:?} under `servers`, and try it by itself: mcprove probe"
                ),
            ));
        }
        // A server that the agent never started has none.
        if !text.trim().is_empty() {
            texts.push((*name, until(text, ended)));
        }
    }
    merge_texts(&texts)
}

fn text_of(written: &Written) -> io::Result<String> {
    let file = match std::fs::File::open(&written.path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(String::new()),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    file.take(RECORDING_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A recording that goes on until its agent ended, though nothing passed any more. An agent that ended by itself
/// has left its servers by then: over HTTP nothing else tells, for a client need not end its session.
pub(super) fn until(mut text: String, end: &Ended) -> String {
    let ended = end.at.duration_since(UNIX_EPOCH).unwrap_or_default();
    let ended = u64::try_from(ended.as_millis()).unwrap_or(u64::MAX);
    let lasted = started(&text).and_then(|started| ended.checked_sub(started));
    let lasted = lasted.and_then(|lasted| u32::try_from(lasted).ok());
    // Nothing may stand behind a line that is cut.
    if let Some(lasted) = lasted.filter(|_| text.ends_with('\n')) {
        let time = f64::from(lasted) / 1e3;
        let sessions = match end.how {
            How::TimedOut => BTreeSet::new(),
            How::Done | How::Failed { .. } => still_there(&text),
        };
        let left = sessions.into_iter().map(|session| left_line(time, session));
        let over = json!({ "ts": time, "kind": "scenario_event", "name": ENDED, "message": "" });
        for line in left.chain([over]) {
            text.push_str(&line.to_string());
            text.push('\n');
        }
    }
    text
}

/// The line that says that the client of a session left.
fn left_line(time: f64, session: u64) -> Value {
    json!({
        "ts": time,
        "kind": "scenario_event",
        "name": LEFT,
        "message": "",
        "data": { "session": session },
    })
}

/// The sessions of a recording whose client did not leave.
fn still_there(text: &str) -> BTreeSet<u64> {
    let mut sessions = BTreeSet::new();
    for line in text.lines() {
        let Ok(line) = serde_json::from_str::<SessionLine>(line) else {
            continue;
        };
        let Some(session) = line.session.or(line.data.session) else {
            continue;
        };
        if line.name.as_deref() == Some(LEFT) {
            sessions.remove(&session);
        } else {
            sessions.insert(session);
        }
    }
    sessions
}

/// What a line says of its session.
#[derive(Deserialize)]
struct SessionLine {
    name: Option<String>,
    session: Option<u64>,
    #[serde(default)]
    data: SessionData,
}

/// What stands there in some lines.
#[derive(Default, Deserialize)]
struct SessionData {
    session: Option<u64>,
}

pub(super) fn merge_texts(texts: &[(&str, String)]) -> Result<CommandRun, TestError> {
    let (server, text) = match texts {
        [] => {
            return Ok(CommandRun {
                run: AgentRun::default(),
                notes: vec!["the agent started none of its servers".to_owned()],
            });
        }
        [(server, text)] => (*server, text.clone()),
        [(server, _), ..] => (*server, as_one(texts)),
    };
    let imported = import_as(&text, Format::Recording).map_err(|error| {
        TestError::new(
            format!("what the proxy of the server {server:?} wrote down cannot be read: {error}"),
            "run it again; an agent that kills its servers may cut what they write",
        )
    })?;
    let mut run = imported.trace.runs.into_iter().next().unwrap_or_default();
    for call in &mut run.tool_calls {
        if texts.len() < 2 {
            call.server = Some(server.to_owned());
            continue;
        }
        let owner = texts.iter().find_map(|(name, _)| {
            let tool = call.name.strip_prefix(prefix(name).as_str())?;
            Some(((*name).to_owned(), tool.to_owned()))
        });
        if let Some((server, tool)) = owner {
            call.server = Some(server);
            call.name = tool;
        }
    }
    let mut notes = imported.notes;
    for note in &mut notes {
        for (name, _) in texts {
            *note = note.replace(&prefix(name), "");
        }
    }
    Ok(CommandRun { run, notes })
}

/// What stands before the names of a server's tools until they are read. No name has such a character.
fn prefix(server: &str) -> String {
    format!("{server}\u{1}")
}

/// A line, as far as it is changed.
type Line = serde_json::Map<String, Value>;

/// The lines of all recordings as those of one session.
fn as_one(texts: &[(&str, String)]) -> String {
    let mut lines: Vec<(f64, Value)> = Vec::new();
    let mut left: Option<f64> = None;
    let mut open: BTreeSet<(usize, u64)> = BTreeSet::new();
    let mut numbers = Numbers::default();
    let first = texts.iter().filter_map(|(_, text)| started(text)).min();
    for (place, (server, text)) in texts.iter().enumerate() {
        let later = started(text).zip(first).map(|(own, first)| own - first);
        // A recording lasts hours at most, so that no digit is lost.
        let later = later.and_then(|later| u32::try_from(later).ok());
        let offset = f64::from(later.unwrap_or_default()) / 1e3;
        for line in text.lines() {
            let Ok(Value::Object(mut line)) = serde_json::from_str(line) else {
                // Cut where its writer was killed.
                continue;
            };
            let time = line.get("ts").and_then(Value::as_f64).unwrap_or_default() + offset;
            let session = line
                .get("session")
                .or_else(|| line.get("data")?.get("session"))
                .and_then(Value::as_u64)
                .unwrap_or_default();
            match line.get("name").and_then(Value::as_str) {
                Some(LEFT) => {
                    left = Some(left.map_or(time, |left| left.max(time)));
                    open.remove(&(place, session));
                    continue;
                }
                Some(ENDED) => {}
                _ => {
                    open.insert((place, session));
                }
            }
            rewrite(&mut line, (place, session), server, &mut numbers);
            line.insert("ts".to_owned(), json!(time));
            line.remove("schema");
            lines.push((time, Value::Object(line)));
        }
    }
    if let Some(time) = left.filter(|_| open.is_empty()) {
        lines.push((time, left_line(time, 0)));
    }
    lines.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let texts: Vec<String> = lines.iter().map(|(_, line)| line.to_string()).collect();
    texts.join("\n")
}

/// When a recording began, in milliseconds since 1970: its first line says so.
fn started(text: &str) -> Option<u64> {
    let first: Value = serde_json::from_str(text.lines().next()?).ok()?;
    first.get("data")?.get("started_at_ms")?.as_u64()
}

/// The numbers of requests in the one session, by recording, session and number there.
type Numbers = BTreeMap<(usize, u64, u64), u64>;

/// Gives an object the one session, and its request a number there.
fn renumber(object: &mut Line, (place, session): (usize, u64), numbers: &mut Numbers) {
    if let Some(own) = object.get_mut("session") {
        *own = json!(0);
    }
    if let Some(request) = object.get_mut("request_id")
        && let Some(number) = request.as_u64()
    {
        let next = count(numbers.len());
        *request = json!(numbers.entry((place, session, number)).or_insert(next));
    }
}

/// Makes a line one of the one session.
fn rewrite(line: &mut Line, key: (usize, u64), server: &str, numbers: &mut Numbers) {
    let (place, session) = key;
    let own_id = |id: &Value| Value::from(format!("{place}.{session}.{id}"));
    let own_tool = |name: &str| format!("{}{name}", prefix(server));
    renumber(line, key, numbers);
    if let Some(id) = line.get_mut("client_id") {
        *id = own_id(id);
    }
    if let Some(Value::String(tool)) = line.get_mut("tool") {
        *tool = own_tool(tool);
    }
    let is_list = line.get("method").and_then(Value::as_str) == Some("tools/list");
    if is_list && let Some(tools) = line.get_mut("result").and_then(|it| it.get_mut("tools")) {
        for tool in tools.as_array_mut().into_iter().flatten() {
            if let Some(Value::String(name)) = tool.get_mut("name") {
                *name = own_tool(name);
            }
        }
    }
    let Some(Value::Object(data)) = line.get_mut("data") else {
        return;
    };
    renumber(data, key, numbers);
    if let Some(id) = data
        .get_mut("params")
        .and_then(|it| it.get_mut("requestId"))
    {
        *id = own_id(id);
    }
    // Which server it is, tools tell; two names of one session tell nothing.
    data.remove("server");
}
