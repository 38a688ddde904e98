//! Reading a trace again: its lines as the events that they were (the counterpart of `trace_line.rs` in the crate
//! `trace`), and these into metrics.
//!
//! Parameters and results are skipped, not read: they are what a server sent, which may be deeper
//! or larger than any parser wants, and no report depends on them.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};

use mcprove_settings::input;
use mcprove_settings::outside::{LINKED, is_linked};
use mcprove_settings::quantity::from_milliseconds;
use mcprove_trace::TraceError;
use mcprove_trace::stream::SinkResult;

use super::format;
use crate::prelude::*;

/// The longest line that is read.
const LINE_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Why a trace could not be read.
#[derive(Debug, thiserror::Error)]
pub enum TraceReadError {
    /// The file could not be read.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// A line is none of a trace.
    #[error("{path}:{line}: {reason}")]
    Line {
        /// The file.
        path: String,
        /// The line, counted from 1.
        line: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// The file is of another version.
    #[error(transparent)]
    Format(#[from] FormatError),
}

impl UserError for TraceReadError {
    fn hint(&self) -> Message {
        match self {
            Self::Io { .. } => "check the path and its permissions".into(),
            Self::Line { .. } => {
                "give a recording of a proxy, a log of a mock, or the directory of a run".into()
            }
            Self::Format(error) => error.hint(),
        }
    }
}

/// How the reading of a trace ended.
pub enum End {
    /// At the last line that was wanted.
    Wanted,
    /// With the file.
    File,
    /// With the file, whose last line is not whole and cannot be read for this reason.
    Cut(String),
}

/// The lines of a trace.
pub struct TraceReader<'p> {
    path: &'p Path,
    reader: BufReader<File>,
    /// The lines so far.
    pub lines: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl<'p> TraceReader<'p> {
    pub fn open(path: &'p Path) -> Result<Self, TraceReadError> {
        let file = input::open_file(path).map_err(io_error(path))?;
        Ok(Self {
            path,
            reader: BufReader::new(file),
            lines: 0,
            bytes: 0,
        })
    }

    /// Reads the events into `metrics`. `see` is told each line, its event and whether the metrics took it, and says
    /// whether it is the last that is wanted.
    pub fn read_into(
        &mut self,
        metrics: &MetricsSink,
        mut see: impl FnMut(&Line<'_>, &Event<'_>, SinkResult) -> SinkResult<bool>,
    ) -> Result<End, TraceReadError> {
        let mut shard = metrics.shard();
        let mut text = Vec::new();
        let end = loop {
            text.clear();
            let length = (&mut self.reader)
                .take(LINE_BYTES_MAX)
                .read_until(b'\n', &mut text)
                .map_err(io_error(self.path))? as u64;
            if length == 0 {
                break End::File;
            }
            self.lines += 1;
            self.bytes += length;
            let is_whole = text.ends_with(b"\n");
            if !is_whole && length == LINE_BYTES_MAX {
                return Err(self.wrong(format!("longer than {LINE_BYTES_MAX} bytes")));
            }
            // The first one says of which version the trace is.
            if self.lines == 1 && is_whole {
                format::check(self.path, &text, format::TRACE)?;
            }
            let line = match Line::parse(&text) {
                Ok(line) => line,
                Err(reason) if !is_whole => break End::Cut(reason),
                Err(reason) => return Err(self.wrong(reason)),
            };
            let event = line.event().map_err(|reason| self.wrong(reason))?;
            let taken = see(&line, &event, shard.record(&event));
            if taken.map_err(|error| self.wrong(error.reason))? {
                break End::Wanted;
            }
        };
        // The metrics hand over in any case.
        let _ = shard.merge();
        Ok(end)
    }

    /// What is wrong with the line that came last.
    pub fn wrong(&self, reason: String) -> TraceReadError {
        let is_linked = is_linked(self.path);
        TraceReadError::Line {
            path: self.path.display().to_string(),
            line: self.lines,
            reason: if is_linked { LINKED.to_owned() } else { reason },
        }
    }
}

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> TraceReadError {
    let path = path.display().to_string();
    |source| TraceReadError::Io { path, source }
}

/// What of a line a report depends on.
#[derive(Deserialize)]
pub struct Line<'a> {
    ts: f64,
    #[serde(borrow)]
    kind: Cow<'a, str>,
    session: Option<u32>,
    request_id: Option<u64>,
    method: Option<String>,
    tool: Option<String>,
    error: Option<TraceError>,
    duration_ms: Option<f64>,
    wait_ms: Option<f64>,
    phase: Option<u16>,
    rss_mb: Option<f64>,
    cpu_pct: Option<f64>,
    threads: Option<u32>,
    descriptors: Option<u32>,
    processes: Option<u32>,
    name: Option<String>,
    message: Option<String>,
    #[serde(borrow)]
    data: Option<&'a RawValue>,
}

impl<'a> Line<'a> {
    fn parse(line: &'a [u8]) -> Result<Self, String> {
        serde_json::from_slice(line).map_err(|error| format!("not a line of trace.v1: {error}"))
    }

    /// The name of a note.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The data of a note.
    pub fn data(&self) -> &str {
        self.data.map(RawValue::get).unwrap_or_default()
    }

    /// The event that it was written from.
    fn event(&self) -> Result<Event<'_>, String> {
        let message = self.message.as_deref().unwrap_or_default();
        let kind = match self.kind.as_ref() {
            "request" | "response" | "error" => self.call()?,
            "hang" => EventKind::Hang {
                request: self.request()?,
                hung_for: self.duration()?,
            },
            "deadlock" => EventKind::Deadlock {
                request: self.request()?,
                hung_for: self.duration()?,
            },
            "crash" => EventKind::Crash { message },
            "process_sample" => EventKind::ProcessSample {
                rss_mb: self.need(self.rss_mb, "rss_mb")?,
                cpu_pct: self.need(self.cpu_pct, "cpu_pct")?,
                threads: self.threads,
                descriptors: self.descriptors,
                processes: self.need(self.processes, "processes")?,
            },
            "scenario_event" => EventKind::ScenarioEvent {
                name: self.need(self.name(), "name")?,
                message,
                data: self.data(),
            },
            other => return Err(format!("no event is of the kind {other:?}")),
        };
        // To the nearest microsecond, which is what was written.
        let at = Duration::try_from_secs_f64(self.ts).ok();
        let at = at
            .and_then(|at| u64::try_from((at.as_nanos() + 500) / 1000).ok())
            .ok_or_else(|| no_time("ts", self.ts))?;
        Ok(Event {
            at: Duration::from_micros(at),
            kind,
        })
    }

    /// A request, or how it ended.
    fn call(&self) -> Result<EventKind<'_>, String> {
        let request = self.request()?;
        let method = self.need(self.method.as_deref(), "method")?;
        let tool = self.tool.as_deref();
        let tag = CallTag {
            phase: self.phase.unwrap_or_default(),
            wait: milliseconds(self.wait_ms.unwrap_or_default(), "wait_ms")?,
        };
        Ok(match self.kind.as_ref() {
            "request" => EventKind::Request {
                request,
                method,
                tool,
                params: "",
                client_id: "",
                tag,
            },
            "response" => EventKind::Response {
                request,
                method,
                tool,
                duration: self.duration()?,
                result: "",
                tag,
            },
            _ => {
                let error = self.need(self.error.as_ref(), "error")?;
                EventKind::Error {
                    request,
                    method,
                    tool,
                    duration: self.duration()?,
                    failure: CallFailure {
                        category: error.category,
                        message: &error.message,
                        code: error.code,
                        server_message: "",
                        answer: "",
                    },
                    tag,
                }
            }
        })
    }

    fn request(&self) -> Result<RequestKey, String> {
        Ok(RequestKey {
            session: self.need(self.session, "session")?,
            id: self.need(self.request_id, "request_id")?,
        })
    }

    fn duration(&self) -> Result<Duration, String> {
        milliseconds(self.need(self.duration_ms, "duration_ms")?, "duration_ms")
    }

    fn need<T>(&self, field: Option<T>, name: &str) -> Result<T, String> {
        field.ok_or_else(|| format!("a {} without {name}", self.kind))
    }
}

fn milliseconds(value: f64, name: &str) -> Result<Duration, String> {
    from_milliseconds(value).map_err(|_| no_time(name, value))
}

fn no_time(name: &str, value: f64) -> String {
    format!("{name} is {value}, which is not a time")
}

#[cfg(test)]
mod tests;
