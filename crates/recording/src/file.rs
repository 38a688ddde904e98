//! The file of a recording: what it begins with, how often it is written out, how it ends.

use std::sync::Weak;
use std::sync::atomic::AtomicU32;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;
use std::time::UNIX_EPOCH;

use mcprove_settings::secret::{is_secret_name, secrets_of_named};
use mcprove_trace::stream::{Recorder, TraceFile};

use super::append::{self, Before};
use super::session::RecordedSession;
use crate::prelude::*;

/// The name of the first line of a recording, a note that holds an [`Origin`].
pub const STARTED: &str = "recording_started";
/// The name of the last line of a recording that was not broken off.
pub const ENDED: &str = "recording_ended";
/// How many different secrets of clients are known.
const SHOWN_MAX: usize = 64;
/// How many bytes of a result are kept; a longer one is cut.
pub const RESULT_BYTES_MAX: usize = 1024 * 1024;
/// How long a line stays in memory at most: what a kill can lose.
pub const FLUSH_EVERY: Duration = Duration::from_millis(50);

/// Who recorded what.
#[sparse]
#[data(Default, Eq)]
#[serde(default)]
pub struct Origin {
    /// What of mcprove recorded it: `proxy` or `mock`.
    pub by: String,
    /// The name of the server, as faults are aimed at it.
    pub server: String,
    /// How the server is reached, without secrets.
    pub target: String,
    /// When it started, in milliseconds since 1970.
    pub started_at_ms: u64,
    /// What decides random choices, where there are any.
    pub seed: Option<u64>,
    /// The faults, one line each.
    #[sparse]
    pub faults: Vec<String>,
    /// The version of mcprove.
    pub version: String,
}

impl Origin {
    /// A recording that begins now.
    pub fn new(by: &str, server: &str) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let milliseconds = since.map(|since| since.as_millis()).unwrap_or_default();
        Self {
            by: by.to_owned(),
            server: server.to_owned(),
            started_at_ms: u64::try_from(milliseconds).unwrap_or(u64::MAX),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ..Self::default()
        }
    }
}

/// What a recording holds so far.
#[sparse]
#[data(Default, Eq)]
pub struct RecordingSummary {
    /// Sessions.
    pub sessions: u32,
    /// Requests of clients.
    pub requests: u64,
    /// Those of them that are not in the file: it reached its size limit, or could not be written.
    #[sparse]
    pub unrecorded: u64,
    /// Lines that came after the size limit of a trace.
    pub dropped: u64,
    /// Lines that could not be written.
    #[sparse]
    pub lost: u64,
    /// Values that were kept in part only.
    pub cut: u64,
    /// The size of the file.
    pub bytes: u64,
    /// Why it stopped before its end, if it did.
    pub failure: Option<String>,
}

impl RecordingSummary {
    /// What is missing in the file that it was written to, if something is.
    pub fn loss(&self, file: &Path) -> Option<Loss> {
        let file = file.display().to_string();
        let missing = |lines| match self.unrecorded {
            0 => Missing::Events(lines),
            requests => Missing::Requests(requests),
        };
        match &self.failure {
            Some(reason) => Some(Loss::of(file, missing(self.lost), reason)),
            None if self.dropped > 0 => Some(Loss::over_limit(file, missing(self.dropped))),
            None => None,
        }
    }
}

/// A recording that goes on. Clones share it.
#[derive(Clone)]
pub struct Recording(Arc<Shared>);

pub struct Shared {
    stream: EventStream,
    trace: Arc<TraceFile>,
    recorder: Arc<Recorder>,
    sessions: AtomicU32,
    pub requests: AtomicU64,
    is_over: AtomicBool,
    /// Whether each line is written at once.
    is_unbuffered: AtomicBool,
    /// Whether lines wait to be written out, and who is told so.
    is_dirty: AtomicBool,
    wake: SyncSender<()>,
    past: PastCalls,
    /// What clients showed to be let in.
    shown: Mutex<BTreeSet<String>>,
}

impl Recording {
    /// Creates (or empties) the file at `path`, which only its owner may read.
    pub fn create(path: &Path, origin: &Origin, redactor: &Redactor) -> io::Result<Self> {
        private_file::create(path)?;
        // So that another process can go on with it while this one ends.
        let file = private_file::append(path)?;
        Self::to_writer(Box::new(file), origin, redactor)
    }

    /// Goes on with the recording at `path`, or creates it: its times count from the first beginning, and
    /// its sessions have further numbers. A last line that is not whole, for whoever recorded was killed, is cut
    /// off. A file that is something else is left alone.
    pub fn append(path: &Path, origin: &Origin, redactor: &Redactor) -> io::Result<Self> {
        match append::open(path, origin)? {
            None => Self::create(path, origin, redactor),
            Some((file, before)) => Self::start(Box::new(file), origin, redactor, before),
        }
    }

    /// Writes to anything.
    pub fn to_writer(
        writer: Box<dyn Write + Send>,
        origin: &Origin,
        redactor: &Redactor,
    ) -> io::Result<Self> {
        Self::start(writer, origin, redactor, Before::default())
    }

    fn start(
        writer: Box<dyn Write + Send>,
        origin: &Origin,
        redactor: &Redactor,
        before: Before,
    ) -> io::Result<Self> {
        let now = Instant::now();
        let started = now.checked_sub(before.elapsed).unwrap_or(now);
        let trace = TraceFile::to_writer(writer)
            .with_value_bytes_max(RESULT_BYTES_MAX)
            .with_redactor(redactor.clone());
        let trace = Arc::new(trace);
        let sink: Arc<dyn Sink> = Arc::<TraceFile>::clone(&trace);
        let stream = EventStream::new(vec![sink]).started_at(started);
        let recorder = stream.recorder();
        let (wake, woken) = mpsc::sync_channel(1);
        let shared = Arc::new(Shared {
            stream,
            trace,
            recorder,
            sessions: AtomicU32::new(before.next_session),
            requests: AtomicU64::default(),
            is_over: AtomicBool::default(),
            is_unbuffered: AtomicBool::default(),
            is_dirty: AtomicBool::default(),
            wake,
            past: before.past,
            shown: Mutex::default(),
        });
        let recording = Arc::downgrade(&shared);
        thread::Builder::new()
            .name("recording".to_owned())
            .spawn(move || write_out(&woken, &recording))?;
        shared.note(STARTED, "", &json!(origin).to_string());
        shared.recorder.merge();
        Ok(Self(shared))
    }

    /// The calls that it had when it was gone on with, and the faults that struck them, where these are the
    /// same as now.
    pub fn past(&self) -> &PastCalls {
        &self.0.past
    }

    /// From here on each line is in the file before its message is passed on, so that a kill loses nothing.
    pub fn write_at_once(&self) {
        self.0.is_unbuffered.store(true, Ordering::Relaxed);
    }

    /// A header of a client. One that lets it in is a secret from here on: servers may send it back.
    pub fn header(&self, name: &str, value: &str) {
        if !is_secret_name(name) {
            return;
        }
        let mut shown = lock(&self.0.shown);
        if shown.len() < SHOWN_MAX && shown.insert(value.to_owned()) {
            self.0.trace.add_secrets(secrets_of_named(name, value));
        }
    }

    /// A new session, with the next number.
    pub fn session(&self) -> RecordedSession {
        let number = self.0.sessions.fetch_add(1, Ordering::Relaxed);
        RecordedSession::new(Arc::clone(&self.0), number)
    }

    /// The process of the server ended, with a status other than 0; `how` says it.
    pub fn crashed(&self, how: &str) {
        let kind = EventKind::Crash { message: how };
        self.0.record(Instant::now(), kind);
    }

    /// Writes out what is in memory.
    pub fn flush(&self) {
        self.0.recorder.merge();
    }

    /// Writes the last line, and everything out. What comes after is left out.
    pub fn finish(&self) -> RecordingSummary {
        let shared = &self.0;
        if !shared.is_over.swap(true, Ordering::Relaxed) {
            shared.recorder.merge();
            let trace = shared.trace.summary();
            let duration = shared.stream.started().elapsed();
            let data = json!({
                "duration_secs": duration.as_secs_f64(),
                "dropped": trace.dropped,
                "cut": trace.cut,
            });
            shared.recorder.note(ENDED, "", &data);
            shared.recorder.merge();
        }
        self.summary()
    }

    /// What it holds so far.
    pub fn summary(&self) -> RecordingSummary {
        let shared = &self.0;
        let trace = shared.trace.summary();
        let failure = shared.stream.failures().into_iter().next();
        let requests = shared.requests.load(Ordering::Relaxed);
        let is_whole = failure.is_none() && trace.dropped == 0;
        RecordingSummary {
            sessions: shared.sessions.load(Ordering::Relaxed),
            requests,
            unrecorded: if is_whole {
                0
            } else {
                requests.saturating_sub(trace.requests)
            },
            dropped: trace.dropped,
            lost: failure.as_ref().map_or(0, |failure| failure.events),
            cut: trace.cut,
            bytes: trace.bytes,
            failure: failure.map(|failure| failure.reason),
        }
    }

    /// Has somebody told when the file cannot be written any more, with the reason.
    pub fn on_failure(&self, tell: impl Fn(&str) + Send + Sync + 'static) {
        let stream = &self.0.stream;
        stream.on_failure(move |failure| tell(&failure.reason));
    }
}

impl Shared {
    /// Writes a note; `data` is JSON.
    pub fn note(&self, name: &str, message: &str, data: &str) {
        let kind = EventKind::ScenarioEvent {
            name,
            message,
            data,
        };
        self.record(Instant::now(), kind);
    }

    pub fn record(&self, at: Instant, kind: EventKind<'_>) {
        if self.is_over.load(Ordering::Relaxed) {
            return;
        }
        self.recorder.record(at, kind);
        if self.is_unbuffered.load(Ordering::Relaxed) {
            self.recorder.merge();
            return;
        }
        if !self.is_dirty.swap(true, Ordering::AcqRel) {
            // If it is full, the thread is about to look anyway.
            let _ = self.wake.try_send(());
        }
    }
}

/// Writes lines out a moment after they came, until the recording is gone.
fn write_out(woken: &Receiver<()>, recording: &Weak<Shared>) {
    while woken.recv().is_ok() {
        thread::sleep(FLUSH_EVERY);
        let Some(shared) = recording.upgrade() else {
            return;
        };
        // First, so that a line that comes meanwhile wakes us again.
        shared.is_dirty.store(false, Ordering::Release);
        shared.recorder.merge();
    }
}
