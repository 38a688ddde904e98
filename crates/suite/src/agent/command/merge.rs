//! What several proxies wrote down, as one run: one agent, its calls in the order of the clock.
//!
//! A recording is of one server, and its importer takes sessions that go on at the same time for several clients.
//! Those of one agent with several servers are one client, so their lines are put into one
//! recording, as one session: times count from the first beginning, requests are numbered again, and tools
//! get the name of their server before theirs until they are read.
use std::io::Read as _;

use mcprove_import::{BEFORE_TOOL, import_records, read_records};
use mcprove_trace::TraceRecord;

use super::process::{Ended, How};
use super::proxies::Written;
use super::setup::Kept;
use super::{CommandRun, of_file};
use crate::prelude::*;

/// The largest recording that is read; the rest is left out.
const RECORDING_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// The name of the line that says when the agent ended.
const ENDED: &str = "agent_ended";
/// The name of the line that says when the client of a session left.
const LEFT: &str = "left";

/// Reads what the proxies of these servers wrote down until their agent ended.
pub fn merge(recordings: &[Written], ended: &Ended) -> DiagnosticResult<CommandRun> {
    let mut texts = Vec::new();
    for written in recordings {
        let name = written.name.as_str();
        let missing = match (&written.kept, &ended.how) {
            (Kept::Lost(reason), _) => Some(reason.as_str()),
            // An agent that was ended may not have come to its first call.
            (Kept::Unbegun, How::Done) => Some("its proxy ended before it could record"),
            (Kept::Unbegun | Kept::All, _) => None,
        };
        if let Some(reason) = missing {
            return Err(Diagnostic::new(
                format!("the recording of the server {name:?} is not complete: {reason}"),
                "check the space on the disk of the temporary folder; let the agent close its servers' input, or end them with SIGTERM, instead of SIGKILL",
            ));
        }
        let text = text_of(written).map_err(|error| {
            let what = format!("the recording of the server {name:?} cannot be read");
            of_file(what, &error)
        })?;
        if let Some(message) = never_reached(&readable(&text)) {
            return Err(Diagnostic::new(
                format!("the server {name:?} could not be started or reached: {message}"),
                sentence!(
                    "check the command or the address of {name:?} under `servers`, and try it by itself: mcprove probe"
                ),
            ));
        }
        // A server that the agent never started has none.
        if !text.trim().is_empty() {
            texts.push((name, text));
        }
    }
    merge_texts(&texts, Some(ended))
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

/// The lines of a recording, but for those that were cut where their writer was killed.
fn readable(text: &str) -> Vec<TraceRecord> {
    text.lines()
        .map(serde_json::from_str)
        .filter_map(Result::ok)
        .collect()
}

/// Why the server of a recording was never there for its agent, which says nothing of the agent: it gave no answer at
/// all, and its end or a failed connection was seen before the agent left. Of one that a fault struck nothing is known.
fn never_reached(records: &[TraceRecord]) -> Option<&str> {
    let mut why = None;
    let mut has_client_left = false;
    for record in records {
        match (record.kind.as_str(), record.name.as_deref(), &record.error) {
            ("response", ..) | (_, Some("fault"), _) => return None,
            (_, Some(LEFT), _) => has_client_left = true,
            // It tells the status, which a broken connection does not.
            ("crash", ..) => why = record.message.as_deref().or(why),
            ("error", _, Some(error)) => match error.category {
                // An answer, if an unkind one.
                ErrorCategory::ServerError
                | ErrorCategory::ProtocolError
                | ErrorCategory::ToolError => return None,
                ErrorCategory::Cancelled => {}
                _ if has_client_left => {}
                _ => why = why.or(Some(&error.message)),
            },
            _ => {}
        }
    }
    why
}

/// The run in these recordings of servers, until its agent ended.
pub fn merge_texts(
    texts: &[(&str, String)],
    ended: Option<&Ended>,
) -> DiagnosticResult<CommandRun> {
    let Some((server, _)) = texts.first() else {
        return Ok(CommandRun {
            run: AgentRun::default(),
            notes: vec!["the agent started none of its servers".to_owned()],
        });
    };
    let is_one = texts.len() == 1;
    let (mut tapes, mut cut) = (Vec::new(), None);
    let imported = texts.iter().try_for_each(|(_, text)| {
        let mut records = if is_one {
            let (records, note) = read_records(text)?;
            cut = note;
            records
        } else {
            readable(text)
        };
        // Nothing may stand behind a line that is cut.
        if let Some(ended) = ended.filter(|_| text.ends_with('\n')) {
            until(&mut records, ended);
        }
        tapes.push(records);
        Ok(())
    });
    let names: Vec<&str> = texts.iter().map(|(name, _)| *name).collect();
    let imported = imported.and_then(|()| {
        import_records(if is_one {
            tapes.remove(0)
        } else {
            as_one(&names, tapes)
        })
    });
    let (mut run, mut notes) = imported.map_err(|error| {
        Diagnostic::new(
            format!("what the proxy of the server {server:?} wrote down cannot be read: {error}"),
            "run it again; an agent that kills its servers may cut what they write",
        )
    })?;
    notes.extend(cut);
    for call in &mut run.tool_calls {
        if is_one {
            call.server = Some((*server).to_owned());
        } else if let Some((server, tool)) = call.name.split_once(BEFORE_TOOL) {
            call.server = Some(server.to_owned());
            call.name = tool.to_owned();
        }
    }
    Ok(CommandRun { run, notes })
}

/// Lets a recording go on until its agent ended, though nothing passed any more. An agent that ended by itself
/// has left its servers by then: over HTTP nothing else tells, for a client need not end its session.
fn until(records: &mut Vec<TraceRecord>, end: &Ended) {
    let ended = end.at.duration_since(UNIX_EPOCH).unwrap_or_default();
    let started = started(records).map(u128::from);
    let lasted = started.and_then(|started| ended.as_millis().checked_sub(started));
    let Some(lasted) = lasted.and_then(|lasted| u32::try_from(lasted).ok()) else {
        return;
    };
    let time = f64::from(lasted) / 1e3;
    // The sessions whose client did not leave.
    let mut open = BTreeSet::new();
    for record in &*records {
        if let Some(session) = session_of(record) {
            if record.name.as_deref() == Some(LEFT) {
                open.remove(&session);
            } else {
                open.insert(session);
            }
        }
    }
    if !matches!(end.how, How::TimedOut) {
        records.extend(open.into_iter().map(|session| left(time, session)));
    }
    records.push(event(time, ENDED, None));
}

fn event(ts: f64, name: &str, data: Option<Value>) -> TraceRecord {
    TraceRecord {
        ts,
        kind: "scenario_event".to_owned(),
        name: Some(name.to_owned()),
        data,
        ..TraceRecord::default()
    }
}

/// That the client of a session left.
fn left(time: f64, session: u64) -> TraceRecord {
    event(time, LEFT, Some(json!({ "session": session })))
}

fn session_of(record: &TraceRecord) -> Option<u64> {
    let in_data = || record.data.as_ref()?.get("session")?.as_u64();
    record.session.map(u64::from).or_else(in_data)
}

/// When a recording began, in milliseconds since 1970: its first line says so.
fn started(records: &[TraceRecord]) -> Option<u64> {
    records
        .first()?
        .data
        .as_ref()?
        .get("started_at_ms")?
        .as_u64()
}

/// The lines of all recordings as those of one session.
fn as_one(servers: &[&str], tapes: Vec<Vec<TraceRecord>>) -> Vec<TraceRecord> {
    let mut all: Vec<TraceRecord> = Vec::new();
    let mut last_left: Option<f64> = None;
    let mut open: BTreeSet<(usize, u64)> = BTreeSet::new();
    let mut numbers = Numbers::default();
    let first = tapes.iter().filter_map(|records| started(records)).min();
    for (place, (server, records)) in servers.iter().zip(tapes).enumerate() {
        let later = started(&records).zip(first).map(|(own, first)| own - first);
        // A recording lasts hours at most, so that no digit is lost.
        let later = later.and_then(|later| u32::try_from(later).ok());
        let offset = f64::from(later.unwrap_or_default()) / 1e3;
        for mut record in records {
            record.ts += offset;
            let key = (place, session_of(&record).unwrap_or_default());
            match record.name.as_deref() {
                Some(LEFT) => {
                    last_left = Some(last_left.map_or(record.ts, |last| last.max(record.ts)));
                    open.remove(&key);
                    continue;
                }
                Some(ENDED) => {}
                _ => {
                    open.insert(key);
                }
            }
            rewrite(&mut record, key, server, &mut numbers);
            all.push(record);
        }
    }
    all.extend(
        last_left
            .filter(|_| open.is_empty())
            .map(|time| left(time, 0)),
    );
    all.sort_by(|one, other| one.ts.total_cmp(&other.ts));
    all
}

/// The numbers of requests in the one session, by recording, session and number there.
type Numbers = BTreeMap<((usize, u64), u64), u64>;

/// Makes a line one of the one session.
fn rewrite(record: &mut TraceRecord, key: (usize, u64), server: &str, numbers: &mut Numbers) {
    let (place, session) = key;
    let own_id = |id: &Value| Value::from(format!("{place}.{session}.{id}"));
    let own_tool = |name: &str| format!("{server}{BEFORE_TOOL}{name}");
    let mut own_number = |number: u64| {
        let next = count(numbers.len());
        *numbers.entry((key, number)).or_insert(next)
    };
    record.schema = None;
    record.session = record.session.map(|_| 0);
    record.request_id = record.request_id.map(&mut own_number);
    record.client_id = record.client_id.as_ref().map(own_id);
    record.tool = record.tool.as_deref().map(own_tool);
    if record.method.as_deref() == Some("tools/list")
        && let Some(Value::Array(tools)) = record.result.as_mut().and_then(|it| it.get_mut("tools"))
    {
        for tool in tools {
            if let Some(Value::String(name)) = tool.get_mut("name") {
                *name = own_tool(name);
            }
        }
    }
    let Some(Value::Object(data)) = &mut record.data else {
        return;
    };
    if let Some(session) = data.get_mut("session") {
        *session = json!(0);
    }
    if let Some(request) = data.get_mut("request_id")
        && let Some(number) = request.as_u64()
    {
        *request = json!(own_number(number));
    }
    if let Some(id) = data
        .get_mut("params")
        .and_then(|it| it.get_mut("requestId"))
    {
        *id = own_id(id);
    }
    // Which server it is, tools tell; two names of one session tell nothing.
    data.remove("server");
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASKED: &str = r#"{"ts":1,"kind":"request","request_id":1,"method":"initialize"}"#;
    const REFUSED: &str = r#"{"ts":1,"kind":"error","request_id":1,"method":"initialize","error":{"category":"Disconnected","message":"refused"}}"#;
    const CRASHED: &str = r#"{"ts":1,"kind":"crash","message":"exit status: 3"}"#;
    const ANSWERED: &str = r#"{"ts":1,"kind":"response","request_id":1,"method":"initialize"}"#;
    const UNKIND: &str = r#"{"ts":1,"kind":"error","request_id":1,"error":{"category":"ServerError","message":"no"}}"#;
    const STRUCK: &str = r#"{"ts":1,"kind":"scenario_event","name":"fault","message":""}"#;
    const LEFT: &str = r#"{"ts":1,"kind":"scenario_event","name":"left","message":""}"#;

    #[test]
    fn a_server_that_answers_nothing_and_fails_was_never_there() {
        for (lines, expected) in [
            (vec![ASKED, REFUSED], Some("refused")),
            (vec![ASKED, REFUSED, LEFT], Some("refused")),
            (vec![CRASHED], Some("exit status: 3")),
            (vec![ASKED, REFUSED, CRASHED], Some("exit status: 3")),
            (vec![], None),
            (vec![ASKED, LEFT], None),
            (vec![ASKED, LEFT, REFUSED], None),
            (vec![ASKED, REFUSED, ASKED, ANSWERED], None),
            (vec![ASKED, ANSWERED, CRASHED], None),
            (vec![ASKED, UNKIND, CRASHED], None),
            (vec![ASKED, STRUCK, CRASHED], None),
        ] {
            let text = lines.join("\n");
            assert_eq!(never_reached(&readable(&text)), expected, "{text}");
        }
    }
}
