//! The trace sink: one JSON object per line (`trace.v1`), written through per-thread buffers.

use std::io::Write;
use std::sync::{PoisonError, RwLock};

use super::trace_line::write_line;
use super::{Shard, SinkError, SinkResult};
use crate::TraceRecord;
use crate::prelude::*;

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
#[must_use]
pub struct TraceFile {
    output: Arc<Mutex<Output>>,
    value_bytes_max: usize,
    redactor: Arc<RwLock<Redactor>>,
}

/// What a finished trace holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TraceSummary {
    /// Events written.
    pub written: u64,
    /// The requests among them.
    pub requests: u64,
    /// Events that came after the size limit. Those that could not be written are with the failures of the
    /// [`EventStream`](super::EventStream).
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
    /// What is missing. From then on nothing is written, the end of the run neither: by that a reader knows
    /// that the trace is not whole.
    broken: Option<Broken>,
}

/// Why a trace is not whole.
enum Broken {
    /// It reached its size limit.
    Limit,
    /// It could not be written, for this reason.
    Failure(String),
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
            broken: None,
        };
        Self {
            output: Arc::new(Mutex::new(output)),
            value_bytes_max: TRACE_VALUE_BYTES_MAX,
            redactor: Arc::default(),
        }
    }

    /// Sets which secrets are known. They are redacted before a line is put together.
    pub fn with_redactor(mut self, redactor: Redactor) -> Self {
        self.redactor = Arc::new(RwLock::new(redactor));
        self
    }

    /// Has further secrets redacted from here on.
    pub fn add_secrets(&self, secrets: impl IntoIterator<Item = String>) {
        let mut redactor = self
            .redactor
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *redactor = redactor.with_secrets(secrets);
    }

    /// Sets how large the trace may become.
    pub fn with_bytes_max(self, bytes_max: u64) -> Self {
        lock(&self.output).bytes_max = bytes_max;
        self
    }

    /// Sets how many bytes of a result are kept.
    pub fn with_value_bytes_max(mut self, value_bytes_max: usize) -> Self {
        self.value_bytes_max = value_bytes_max;
        self
    }

    /// What was written so far.
    pub fn summary(&self) -> TraceSummary {
        lock(&self.output).summary
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
            redactor: Arc::clone(&self.redactor),
            buffer: Vec::with_capacity(BUFFER_BYTES + 4096),
            held: TraceSummary::default(),
        })
    }
}

struct TraceShard {
    output: Arc<Mutex<Output>>,
    value_bytes_max: usize,
    redactor: Arc<RwLock<Redactor>>,
    buffer: Vec<u8>,
    /// What the buffer holds.
    held: TraceSummary,
}

impl Shard for TraceShard {
    fn record(&mut self, event: &Event<'_>) -> SinkResult {
        let redactor = self.redactor.read().unwrap_or_else(PoisonError::into_inner);
        let is_cut = write_line(&mut self.buffer, event, self.value_bytes_max, &redactor);
        drop(redactor);
        self.held.written += 1;
        self.held.requests += u64::from(matches!(event.kind, EventKind::Request { .. }));
        self.held.cut += u64::from(is_cut);
        if self.buffer.len() >= BUFFER_BYTES {
            self.merge()
        } else {
            Ok(())
        }
    }

    fn merge(&mut self) -> SinkResult {
        if self.held.written == 0 {
            return Ok(());
        }
        let mut output = lock(&self.output);
        if output.summary == TraceSummary::default() {
            tag(&mut self.buffer);
        }
        let outcome = output.take(&self.buffer, std::mem::take(&mut self.held));
        self.buffer.clear();
        outcome
    }
}

impl Output {
    /// Writes the lines of these events.
    fn take(&mut self, lines: &[u8], held: TraceSummary) -> SinkResult {
        if self.broken.is_none() && self.summary.bytes + lines.len() as u64 > self.bytes_max {
            self.broken = Some(Broken::Limit);
        }
        let (reason, kept) = match &self.broken {
            Some(Broken::Limit) => {
                self.summary.dropped += held.written;
                return Ok(());
            }
            Some(Broken::Failure(reason)) => (reason.clone(), 0),
            None => match write_all(&mut self.writer, lines) {
                Ok(()) => {
                    self.add(lines, held);
                    return Ok(());
                }
                Err((error, written)) => (error.to_string(), written),
            },
        };
        self.broken = Some(Broken::Failure(reason.clone()));
        // What was written before the error; the last line may be a part of one.
        let mut whole = TraceSummary::default();
        let kept = lines.get(..kept).unwrap_or_default();
        let parts = kept.split_inclusive(|byte| *byte == b'\n');
        for line in parts.filter(|line| line.ends_with(b"\n")) {
            let record: Result<TraceRecord, _> = serde_json::from_slice(line);
            whole.written += 1;
            whole.requests += u64::from(record.is_ok_and(|record| record.kind == "request"));
        }
        self.add(kept, whole);
        Err(SinkError {
            sink: NAME,
            reason,
            events: held.written.saturating_sub(whole.written),
        })
    }

    fn add(&mut self, lines: &[u8], held: TraceSummary) {
        self.summary.bytes += lines.len() as u64;
        self.summary.written += held.written;
        self.summary.requests += held.requests;
        self.summary.cut += held.cut;
    }
}

/// Writes all of it, or says how much was written.
fn write_all(writer: &mut dyn Write, bytes: &[u8]) -> Result<(), (io::Error, usize)> {
    let mut written = 0;
    while let Some(rest) = bytes.get(written..).filter(|rest| !rest.is_empty()) {
        match writer.write(rest) {
            Ok(0) => return Err((io::ErrorKind::WriteZero.into(), written)),
            Ok(count) => written += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err((error, written)),
        }
    }
    writer.flush().map_err(|error| (error, written))
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

    use super::super::EventStream;
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

    /// A disk with so much room.
    struct Disk {
        room: usize,
    }

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let taken = bytes.len().min(self.room);
            self.room -= taken;
            match taken {
                0 => Err(io::ErrorKind::StorageFull.into()),
                taken => Ok(taken),
            }
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn on_a_full_disk_every_event_is_counted_and_no_limit_is_claimed() {
        let trace = Arc::new(TraceFile::to_writer(Box::new(Disk { room: 200 })));
        let stream = EventStream::new(vec![trace.clone()]);
        for _ in 0..2 {
            let recorder = stream.recorder();
            for _ in 0..10 {
                recorder.note("phase", "warm-up", &serde_json::Value::Null);
            }
            recorder.merge();
            // The sink is detached by now.
            recorder.note("phase", "warm-up", &serde_json::Value::Null);
        }
        let summary = trace.summary();
        assert!(summary.written > 0 && summary.bytes == 200, "{summary:?}");
        assert_eq!(summary.dropped, 0);
        let failures = stream.failures();
        let [failure] = failures.as_slice() else {
            panic!("{failures:?}");
        };
        assert_eq!(summary.written + failure.events, 22);
        let path = Path::new("trace.jsonl");
        let [lost] = &stream.losses(Some((&trace, path)))[..] else {
            panic!("{failures:?}");
        };
        assert!(!lost.is_limit, "{lost}");
        let told = format!("trace.jsonl: {} events were not written: ", failure.events);
        assert!(lost.to_string().starts_with(&told), "{lost}");
        assert!(!lost.reason.contains("limit"), "{lost}");
    }

    #[test]
    fn a_size_limit_is_told_as_one() {
        let trace = TraceFile::to_writer(Box::new(Vec::new())).with_bytes_max(1);
        let trace = Arc::new(trace);
        let stream = EventStream::new(vec![trace.clone()]);
        stream.recorder().note("x", "", &serde_json::Value::Null);
        let losses = stream.losses(Some((&trace, Path::new("trace.jsonl"))));
        let told: Vec<String> = losses.iter().map(ToString::to_string).collect();
        let expected = "trace.jsonl: 1 event was not written: its size limit was reached";
        assert_eq!(told, [expected]);
        assert!(losses.iter().all(|loss| loss.is_limit));
    }
}
