//! The trace sink: one JSON object per line (`trace.v1`), written through per-thread buffers.

use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use mcprove_score::trace::Event;

use super::trace_line::write_line;
use super::{Shard, Sink, SinkError};
use crate::private_file;
use crate::secret::Redactor;

/// The format of a trace, which its first line carries.
pub const TRACE_FORMAT: &str = "trace.v1";
/// How large a trace may become, unless set otherwise. What comes after is counted as dropped.
pub const TRACE_BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// How many bytes of a result are kept, unless set otherwise.
pub const TRACE_VALUE_BYTES_MAX: usize = 1024;
/// A thread's buffer is handed over at this size.
const BUFFER_BYTES: usize = 64 * 1024;
const NAME: &str = "trace file";

/// Writes every event to a file.
pub struct TraceFile {
    output: Arc<Mutex<Output>>,
    value_bytes_max: usize,
    redactor: Redactor,
}

/// What a finished trace holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TraceSummary {
    /// Events written.
    pub written: u64,
    /// Events that came after the size cap.
    pub dropped: u64,
    /// Values that were kept in part only.
    pub cut: u64,
    /// The size of the file.
    pub bytes: u64,
}

struct Output {
    writer: Box<dyn Write + Send>,
    bytes_max: u64,
    summary: TraceSummary,
    /// Whether something is missing. From then on nothing is written, the end of the run neither:
    /// by that a reader knows that the trace is not whole.
    is_broken: bool,
}

impl TraceFile {
    /// Creates (or empties) the file at `path`, which only its owner may read.
    pub fn create(path: &Path) -> io::Result<Self> {
        Ok(Self::to_writer(Box::new(private_file::create(path)?)))
    }

    /// Writes to anything.
    pub fn to_writer(writer: Box<dyn Write + Send>) -> Self {
        let output = Output {
            writer,
            bytes_max: TRACE_BYTES_MAX,
            summary: TraceSummary::default(),
            is_broken: false,
        };
        Self {
            output: Arc::new(Mutex::new(output)),
            value_bytes_max: TRACE_VALUE_BYTES_MAX,
            redactor: Redactor::default(),
        }
    }

    /// Sets which secrets are known. They are redacted before a line is put together.
    #[must_use]
    pub fn with_redactor(mut self, redactor: Redactor) -> Self {
        self.redactor = redactor;
        self
    }

    /// Sets how large the trace may become.
    #[must_use]
    pub fn with_bytes_max(self, bytes_max: u64) -> Self {
        self.output
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .bytes_max = bytes_max;
        self
    }

    /// Sets how many bytes of a result are kept.
    #[must_use]
    pub fn with_value_bytes_max(mut self, value_bytes_max: usize) -> Self {
        self.value_bytes_max = value_bytes_max;
        self
    }

    /// What was written so far.
    pub fn summary(&self) -> TraceSummary {
        self.output
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .summary
    }
}

impl Sink for TraceFile {
    fn name(&self) -> &'static str {
        NAME
    }

    fn shard(&self) -> Box<dyn Shard> {
        Box::new(TraceShard {
            output: Arc::clone(&self.output),
            value_bytes_max: self.value_bytes_max,
            redactor: self.redactor.clone(),
            buffer: Vec::with_capacity(BUFFER_BYTES + 4096),
            events: 0,
            cut: 0,
        })
    }
}

struct TraceShard {
    output: Arc<Mutex<Output>>,
    value_bytes_max: usize,
    redactor: Redactor,
    buffer: Vec<u8>,
    events: u64,
    cut: u64,
}

impl Shard for TraceShard {
    fn record(&mut self, event: &Event<'_>) -> Result<(), SinkError> {
        if write_line(
            &mut self.buffer,
            event,
            self.value_bytes_max,
            &self.redactor,
        ) {
            self.cut += 1;
        }
        self.events += 1;
        if self.buffer.len() >= BUFFER_BYTES {
            self.merge()
        } else {
            Ok(())
        }
    }

    fn merge(&mut self) -> Result<(), SinkError> {
        if self.events == 0 {
            return Ok(());
        }
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        if output.summary == TraceSummary::default() {
            tag(&mut self.buffer);
        }
        let bytes = self.buffer.len() as u64;
        if output.is_broken || output.summary.bytes + bytes > output.bytes_max {
            output.is_broken = true;
            output.summary.dropped += self.events;
        } else {
            let written = output
                .writer
                .write_all(&self.buffer)
                .and_then(|()| output.writer.flush());
            if let Err(error) = written {
                output.is_broken = true;
                return Err(SinkError {
                    sink: NAME,
                    reason: error.to_string(),
                });
            }
            output.summary.bytes += bytes;
            output.summary.written += self.events;
            output.summary.cut += self.cut;
        }
        self.buffer.clear();
        self.events = 0;
        self.cut = 0;
        Ok(())
    }
}

/// Puts the format into the first line, an object like every line.
fn tag(lines: &mut Vec<u8>) {
    let tag = format!("\"schema\":\"{TRACE_FORMAT}\",");
    if lines.first() == Some(&b'{') {
        lines.splice(1..1, tag.into_bytes());
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use mcprove_score::trace::{EventKind, TraceRecord};

    use super::*;

    #[test]
    fn the_first_line_alone_has_the_format() {
        let written = tempfile::NamedTempFile::new().unwrap();
        let trace = TraceFile::create(written.path()).unwrap();
        let (mut one, mut other) = (trace.shard(), trace.shard());
        for shard in [&mut one, &mut other] {
            for _ in 0..2 {
                let kind = EventKind::Crash { message: "gone" };
                let at = Duration::ZERO;
                shard.record(&Event { at, kind }).unwrap();
            }
        }
        other.merge().unwrap();
        one.merge().unwrap();
        let text = std::fs::read_to_string(written.path()).unwrap();
        let formats: Vec<Option<String>> = text
            .lines()
            .map(|line| TraceRecord::parse(line).unwrap().schema)
            .collect();
        assert_eq!(formats, [Some(TRACE_FORMAT.to_owned()), None, None, None]);
        assert_eq!(trace.summary().bytes, text.len() as u64);
    }

    #[test]
    fn past_the_cap_events_are_counted_as_dropped() {
        let trace = TraceFile::to_writer(Box::new(Vec::new())).with_bytes_max(200);
        let mut shard = trace.shard();
        for _ in 0..10 {
            let kind = EventKind::ScenarioEvent {
                name: "phase",
                message: "warm-up",
                data: "",
            };
            shard
                .record(&Event {
                    at: Duration::ZERO,
                    kind,
                })
                .unwrap();
            shard.merge().unwrap();
        }
        let summary = trace.summary();
        assert!(summary.bytes <= 200);
        assert_eq!(summary.written + summary.dropped, 10);
        assert!(summary.dropped > 0);
    }
}
