//! Going on with a recording that is there: a client that starts its server anew starts the one who records
//! anew too, and what it does then belongs to the same story.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;

use super::file::{ENDED, Origin, STARTED};

/// The longest line that a recording has: a result, cut, and what stands around it.
const LINE_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// How far apart the sessions of recordings begin that may still be going on.
const SESSIONS_APART: u32 = 1_000;

/// A recording to go on with.
pub(super) struct Before {
    /// The file, at its end.
    pub file: File,
    /// The time since the recording began.
    pub elapsed: Duration,
    /// The first number that no session has.
    pub next_session: u32,
}

#[derive(Deserialize)]
struct Line {
    ts: f64,
    session: Option<u32>,
    name: Option<String>,
    data: Option<serde_json::Value>,
}

/// What the lines of a recording tell.
#[derive(Default)]
struct Told {
    started_at_ms: Option<u64>,
    last: f64,
    next_session: u32,
    /// How many have begun and not ended.
    open: u32,
}

/// Opens the recording at `path`; `None` if nothing is there yet.
pub(super) fn open(path: &Path, now: &Origin) -> io::Result<Option<Before>> {
    let file = match OpenOptions::new().read(true).append(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let told = read(&file)?;
    let Some(started_at_ms) = told.started_at_ms else {
        return Ok(None);
    };
    let elapsed = Duration::from_millis(now.started_at_ms.saturating_sub(started_at_ms));
    // Where the clock was set back, the end of what is there.
    let last = Duration::try_from_secs_f64(told.last).unwrap_or_default();
    // One that has not ended was killed, or goes on and may number further sessions.
    let apart = match told.open {
        0 => 0,
        _ => SESSIONS_APART * (1 + std::process::id() % SESSIONS_APART),
    };
    Ok(Some(Before {
        elapsed: elapsed.max(last),
        next_session: told.next_session.saturating_add(apart),
        file,
    }))
}

fn read(file: &File) -> io::Result<Told> {
    let mut told = Told::default();
    let mut lines = BufReader::new(file);
    let mut text = Vec::new();
    loop {
        text.clear();
        let bytes = (&mut lines)
            .take(LINE_BYTES_MAX)
            .read_until(b'\n', &mut text)?;
        if bytes == 0 {
            return Ok(told);
        }
        let line = text.strip_suffix(b"\n").ok_or_else(not_a_recording)?;
        told.add(&serde_json::from_slice(line).map_err(|_| not_a_recording())?)?;
    }
}

impl Told {
    fn add(&mut self, line: &Line) -> io::Result<()> {
        if self.started_at_ms.is_none() {
            let started = begin(line.name.as_deref(), line.data.as_ref())?;
            self.started_at_ms = Some(started);
        }
        match line.name.as_deref() {
            Some(STARTED) => self.open += 1,
            Some(ENDED) => self.open = self.open.saturating_sub(1),
            _ => {}
        }
        self.last = self.last.max(line.ts);
        let noted = line.data.as_ref().and_then(|data| data.get("session"));
        let noted = noted.and_then(serde_json::Value::as_u64);
        let noted = noted.and_then(|session| u32::try_from(session).ok());
        for session in [line.session, noted].into_iter().flatten() {
            let next = session.checked_add(1).ok_or_else(not_a_recording)?;
            self.next_session = self.next_session.max(next);
        }
        Ok(())
    }
}

/// When a recording with this first line began.
fn begin(name: Option<&str>, data: Option<&serde_json::Value>) -> io::Result<u64> {
    let origin = data
        .filter(|_| name == Some(STARTED))
        .and_then(|data| Origin::deserialize(data).ok());
    Ok(origin.ok_or_else(not_a_recording)?.started_at_ms)
}

fn not_a_recording() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        "it is not a whole recording that could be gone on with",
    )
}
