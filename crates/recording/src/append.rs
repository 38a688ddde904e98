//! Going on with a recording that is there: a client that starts its server again starts the one who records
//! again too, and what it does then belongs to the same story.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read};

use mcprove_fault::CallSite;
use mcprove_trace::TraceRecord;

use super::file::{ENDED, FLUSH_EVERY, Origin, STARTED};
use crate::prelude::*;

/// The longest line that a recording has: a result, cut, and what stands around it.
const LINE_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// How far apart the sessions of recordings begin that may still be going on.
const SESSIONS_APART: u32 = 1_000;

/// A recording to go on with; one that begins has nothing of it.
#[derive(Default)]
pub struct Before {
    /// The time since the recording began.
    pub elapsed: Duration,
    /// The first number that no session has.
    pub next_session: u32,
    /// The calls that came under the same faults.
    pub past: PastCalls,
}

/// What the lines of a recording hold.
#[derive(Default)]
struct RecordingState {
    /// How much of the file is whole lines.
    whole_bytes: u64,
    /// What comes after them.
    rest: Rest,
    past: PastCalls,
    /// Whether the faults of these lines are those of now.
    has_same_faults: bool,
    started_at_ms: Option<u64>,
    last: f64,
    next_session: u32,
    /// How many have begun and not ended.
    open: u32,
}

/// What a file has after its last line break.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Rest {
    #[default]
    Nothing,
    /// A line that is whole but for its line break.
    Line,
    /// A part of one.
    Cut,
}

/// Opens the recording at `path`, at its end; `None` if nothing is there yet.
pub fn open(path: &Path, now: &Origin) -> io::Result<Option<(File, Before)>> {
    let file = match private_file::open(path, OpenOptions::new().read(true).append(true)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut state = read(path, now)?;
    if state.rest != Rest::Nothing {
        // Another process may be about to write the rest of it.
        std::thread::sleep(FLUSH_EVERY);
        state = read(path, now)?;
    }
    let Some(started_at_ms) = state.started_at_ms else {
        return Ok(None);
    };
    match state.rest {
        Rest::Nothing => {}
        Rest::Line => (&file).write_all(b"\n")?,
        Rest::Cut => {
            // A file that is open for appending cannot be cut everywhere.
            OpenOptions::new()
                .write(true)
                .open(path)?
                .set_len(state.whole_bytes)?;
        }
    }
    let elapsed = Duration::from_millis(now.started_at_ms.saturating_sub(started_at_ms));
    // Where the clock was set back, the end of what is there.
    let last = Duration::try_from_secs_f64(state.last).unwrap_or_default();
    // One that has not ended was killed, or goes on and may number further sessions.
    let apart = match state.open {
        0 => 0,
        _ => SESSIONS_APART * (1 + std::process::id() % SESSIONS_APART),
    };
    let before = Before {
        elapsed: elapsed.max(last),
        next_session: state.next_session.saturating_add(apart),
        past: state.past,
    };
    Ok(Some((file, before)))
}

fn read(path: &Path, now: &Origin) -> io::Result<RecordingState> {
    let mut state = RecordingState::default();
    let mut lines = BufReader::new(File::open(path)?);
    let mut text = Vec::new();
    loop {
        text.clear();
        let bytes = (&mut lines)
            .take(LINE_BYTES_MAX)
            .read_until(b'\n', &mut text)?;
        if bytes == 0 {
            return Ok(state);
        }
        let whole = text.strip_suffix(b"\n");
        match serde_json::from_slice(whole.unwrap_or(&text)) {
            Ok(line) => state.add(line, now)?,
            // Only a recording is cut: the first line says that it is one.
            Err(error) if error.is_eof() && whole.is_none() && state.started_at_ms.is_some() => {
                state.rest = Rest::Cut;
                return Ok(state);
            }
            Err(_) => return Err(not_a_recording()),
        }
        if whole.is_none() {
            state.rest = Rest::Line;
            return Ok(state);
        }
        state.whole_bytes += u64::try_from(bytes).unwrap_or(u64::MAX);
    }
}

impl RecordingState {
    fn add(&mut self, line: TraceRecord, now: &Origin) -> io::Result<()> {
        let name = line.name.as_deref().unwrap_or_default();
        let data = line.data.unwrap_or_default();
        if name == STARTED {
            self.open += 1;
            let origin = Origin::deserialize(&data).map_err(|_| not_a_recording());
            self.has_same_faults = origin
                .as_ref()
                .is_ok_and(|it| it.faults == now.faults && it.server == now.server);
            if self.started_at_ms.is_none() {
                self.started_at_ms = Some(origin?.started_at_ms);
            }
        }
        // The first line says that it is a recording.
        if self.started_at_ms.is_none() {
            return Err(not_a_recording());
        }
        if name == ENDED {
            self.open = self.open.saturating_sub(1);
        }
        if self.has_same_faults
            && line.kind == "request"
            && line.method.as_deref() == Some("tools/call")
        {
            let arguments = line
                .params
                .as_ref()
                .and_then(|params| params.get("arguments"));
            self.past.add_call(CallSite {
                server: &now.server,
                tool: line.tool.as_deref().unwrap_or_default(),
                arguments: &arguments.map(Value::to_string).unwrap_or_default(),
            });
        }
        if self.has_same_faults
            && name == "fault"
            && let Some(fault) = data["fault"].as_str()
        {
            self.past.add_strike(fault);
        }
        self.last = self.last.max(line.ts);
        let noted = data
            .get("session")
            .and_then(Value::as_u64)
            .and_then(|session| u32::try_from(session).ok());
        for session in [line.session, noted].into_iter().flatten() {
            let next = session.checked_add(1).ok_or_else(not_a_recording)?;
            self.next_session = self.next_session.max(next);
        }
        Ok(())
    }
}

fn not_a_recording() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        "it is not a complete recording, so nothing can be appended",
    )
}
