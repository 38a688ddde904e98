//! A line of a trace as the event that it was: the counterpart of `event/trace_line.rs`.
//!
//! Parameters and results are skipped, not read: they are what a server sent, which may be deeper
//! or larger than any parser wants, and no report depends on them.

use std::borrow::Cow;
use std::time::Duration;

use mcprove_settings::quantity::from_milliseconds;
use mcprove_trace::{CallFailure, CallTag, Event, EventKind, RequestKey, TraceError};
use serde::Deserialize;
use serde_json::value::RawValue;

/// What of a line a report depends on.
#[derive(Deserialize)]
pub(super) struct Line<'a> {
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
    /// Reads a line.
    pub fn parse(line: &'a [u8]) -> Result<Self, String> {
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
    pub fn event(&self) -> Result<Event<'_>, String> {
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
            "crash" => EventKind::Crash {
                message: self.message.as_deref().unwrap_or_default(),
            },
            "process_sample" => EventKind::ProcessSample {
                rss_mb: self.need(self.rss_mb, "rss_mb")?,
                cpu_pct: self.need(self.cpu_pct, "cpu_pct")?,
                threads: self.threads,
                descriptors: self.descriptors,
                processes: self.need(self.processes, "processes")?,
            },
            "scenario_event" => EventKind::ScenarioEvent {
                name: self.need(self.name.as_deref(), "name")?,
                message: self.message.as_deref().unwrap_or_default(),
                data: self.data(),
            },
            other => return Err(format!("no event is of the kind {other:?}")),
        };
        Ok(Event {
            at: self.at()?,
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

    /// To the nearest microsecond, which is what was written.
    fn at(&self) -> Result<Duration, String> {
        let at = Duration::try_from_secs_f64(self.ts).map_err(|_| no_time("ts", self.ts))?;
        let microseconds = (at.as_nanos() + 500) / 1000;
        u64::try_from(microseconds)
            .map(Duration::from_micros)
            .map_err(|_| no_time("ts", self.ts))
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
