//! How events reach sinks.
//!
//! An engine emits each event once, into the [`Recorder`] of its thread. A recorder owns one shard
//! of every sink, so nothing is shared while a run is hot; shards hand over what they gathered
//! when they are merged, about once a second and at the end. The event type itself is
//! [`mcprove_trace::Event`].

mod fact;
mod fault_metrics;
mod faulted;
mod metrics;
mod metrics_sink;
mod trace_file;
mod trace_line;

use std::sync::OnceLock;

use mcprove_settings::own_limits::LimitWatch;

use crate::panic_guard::contain_call;
use crate::prelude::*;

pub use fact::*;
pub use fault_metrics::*;
pub use metrics::*;
pub use metrics_sink::MetricsSink;
pub use trace_file::*;

/// The note of a limit of our own that was met.
pub const OWN_LIMIT: &str = "own_limit";

impl Fact for OwnLimit {
    const NAME: &'static str = OWN_LIMIT;
}

/// Something that looks at every event: the trace file, the metrics, the live view.
pub trait Sink: Send + Sync {
    /// The name, for the message when it fails.
    fn name(&self) -> &'static str;

    /// A new shard, to be owned by one thread.
    fn shard(&self) -> Box<dyn Shard>;
}

/// One thread's part of a [`Sink`].
pub trait Shard: Send {
    /// Looks at one event. An error, or a panic, detaches the sink from this thread.
    fn record(&mut self, event: &Event<'_>) -> SinkResult;

    /// Hands over to the sink what was gathered since the last merge.
    fn merge(&mut self) -> SinkResult;
}

/// What a sink did, or why it stopped.
pub type SinkResult<T = ()> = Result<T, SinkError>;

/// Why a sink stopped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{sink} stopped: {reason}")]
pub struct SinkError {
    /// The sink's name.
    pub sink: &'static str,
    /// What happened.
    pub reason: String,
    /// How many events it did not take.
    pub events: u64,
}

impl UserError for SinkError {
    fn hint(&self) -> Message {
        "what the sink got before is kept; for a file, check its permissions and the space on the disk".into()
    }
}

/// The sinks that failed, each once, with all events that it did not take.
#[derive(Default)]
struct Failures {
    all: Mutex<Vec<SinkError>>,
    tell: OnceLock<FailureHandler>,
}

type FailureHandler = Box<dyn Fn(&SinkError) + Send + Sync>;

impl Failures {
    fn add(&self, error: &SinkError) {
        let mut all = lock(&self.all);
        if let Some(known) = all.iter_mut().find(|known| known.sink == error.sink) {
            known.events += error.events;
            return;
        }
        all.push(error.clone());
        drop(all);
        self.report(error);
    }

    fn report(&self, error: &SinkError) {
        if let Some(tell) = self.tell.get() {
            // Nobody is left to be told that it panicked.
            let _ = contain_call(|| tell(error));
        }
    }
}

/// The events of one run and the sinks over them.
#[derive(Opaque, Clone)]
pub struct EventStream {
    started: Instant,
    sinks: Vec<Arc<dyn Sink>>,
    failures: Arc<Failures>,
    limits: LimitWatch,
}

impl EventStream {
    /// A stream over `sinks`, whose clock starts now.
    pub fn new(sinks: Vec<Arc<dyn Sink>>) -> Self {
        Self {
            started: Instant::now(),
            sinks,
            failures: Arc::default(),
            limits: LimitWatch::default(),
        }
    }

    /// The same stream with a clock that started at another time.
    pub fn started_at(mut self, started: Instant) -> Self {
        self.started = started;
        self
    }

    /// A stream that nobody looks at.
    pub fn unobserved() -> Self {
        Self::new(Vec::new())
    }

    /// When the clock of the events started.
    pub fn started(&self) -> Instant {
        self.started
    }

    /// A recorder for one thread and all the sessions on it.
    pub fn recorder(&self) -> Arc<Recorder> {
        let shards = self
            .sinks
            .iter()
            .map(|sink| Slot {
                sink: sink.name(),
                shard: Some(sink.shard()),
                missed: 0,
            })
            .collect();
        Arc::new(Recorder {
            started: self.started,
            observed: !self.sinks.is_empty(),
            shards: Mutex::new(shards),
            failures: Arc::clone(&self.failures),
            limits: self.limits.clone(),
        })
    }

    /// What this process ran out of while it made these events: they then say nothing about the server.
    pub fn limits(&self) -> &LimitWatch {
        &self.limits
    }

    /// The sinks that failed and were detached, each once. What they missed is counted up to the last merge of
    /// each recorder.
    pub fn failures(&self) -> Vec<SinkError> {
        lock(&self.failures.all).clone()
    }

    /// What its sinks did not take, and what came after the size limit of a trace, which is at that path.
    pub fn losses(&self, trace: Option<(&TraceFile, &Path)>) -> Vec<Loss> {
        let name_of = |sink: &str| match trace {
            Some((trace, path)) if trace.name() == sink => path.display().to_string(),
            _ => sink.to_owned(),
        };
        let failures = self.failures().into_iter().map(|failure| {
            let missing = Missing::Events(failure.events);
            Loss::of(name_of(failure.sink), missing, failure.reason)
        });
        let over = trace.and_then(|(trace, path)| {
            let dropped = Missing::Events(trace.summary().dropped);
            let loss = || Loss::over_limit(path.display().to_string(), dropped);
            (dropped != Missing::Events(0)).then(loss)
        });
        failures.chain(over).collect()
    }

    /// Has somebody told when a sink fails for the first time, once; of one that has, at once.
    pub fn on_failure(&self, tell: impl Fn(&SinkError) + Send + Sync + 'static) {
        if self.failures.tell.set(Box::new(tell)).is_ok() {
            for error in self.failures() {
                self.failures.report(&error);
            }
        }
    }
}

/// One sink's place in a recorder.
struct Slot {
    sink: &'static str,
    /// None once it failed.
    shard: Option<Box<dyn Shard>>,
    /// Events since then that are not reported yet.
    missed: u64,
}

/// One thread's way to emit events. Merges when it is dropped.
#[derive(Opaque)]
pub struct Recorder {
    started: Instant,
    observed: bool,
    shards: Mutex<Vec<Slot>>,
    failures: Arc<Failures>,
    limits: LimitWatch,
}

impl Recorder {
    /// Whether anybody looks; when not, an engine need not build events.
    pub fn is_observed(&self) -> bool {
        self.observed
    }

    /// What this process ran out of meanwhile.
    pub fn limits(&self) -> &LimitWatch {
        &self.limits
    }

    /// The event time of `instant`, in whole microseconds, as a trace keeps it.
    pub fn time(&self, instant: Instant) -> Duration {
        let time = instant.saturating_duration_since(self.started);
        Duration::new(time.as_secs(), time.subsec_micros() * 1000)
    }

    /// Emits a note of the engine, now.
    pub fn note(&self, name: &str, message: &str, data: &Value) {
        let data = if data.is_null() {
            String::new()
        } else {
            data.to_string()
        };
        self.record(
            Instant::now(),
            EventKind::ScenarioEvent {
                name,
                message,
                data: &data,
            },
        );
    }

    /// Emits a fact, now, with a message for people who read the trace.
    pub fn fact<F: Fact>(&self, message: &str, fact: &F) {
        // What cannot be written is found by whoever reads it.
        self.note(
            F::NAME,
            message,
            &serde_json::to_value(fact).unwrap_or_default(),
        );
    }

    /// Notes that this process ran out of something; only the first time is an event.
    pub fn meet_limit(&self, limit: OwnLimit) {
        if self.limits.meet(limit) {
            self.fact(&limit.to_string(), &limit);
        }
    }

    /// Emits an event that happened at `at`.
    pub fn record(&self, at: Instant, kind: EventKind<'_>) {
        let event = Event {
            at: self.time(at),
            kind,
        };
        self.each(|slot, failures| match &mut slot.shard {
            Some(_) => slot.act(failures, |shard| shard.record(&event)),
            None => slot.missed += 1,
        });
    }

    /// Hands over to the sinks what was gathered so far.
    pub fn merge(&self) {
        self.each(|slot, failures| {
            slot.act(failures, |shard| shard.merge());
            if slot.missed > 0 {
                failures.add(&SinkError {
                    sink: slot.sink,
                    reason: String::new(),
                    events: std::mem::take(&mut slot.missed),
                });
            }
        });
    }

    fn each(&self, mut act: impl FnMut(&mut Slot, &Failures)) {
        let mut shards = lock(&self.shards);
        for slot in shards.iter_mut() {
            act(slot, &self.failures);
        }
    }
}

impl Slot {
    /// Calls `act` on the shard; one that fails is detached and reported, the others go on.
    fn act(&mut self, failures: &Failures, act: impl FnOnce(&mut dyn Shard) -> SinkResult) {
        let Some(shard) = &mut self.shard else { return };
        let outcome = contain_call(|| act(shard.as_mut())).unwrap_or_else(|words| {
            Err(SinkError {
                sink: self.sink,
                reason: format!("it panicked: {words}"),
                events: 1,
            })
        });
        if let Err(error) = outcome {
            self.shard = None;
            failures.add(&error);
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.merge();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails, or panics.
    #[derive(Clone, Copy)]
    struct Failing {
        panics: bool,
    }

    impl Sink for Failing {
        fn name(&self) -> &'static str {
            if self.panics { "panicking" } else { "failing" }
        }
        fn shard(&self) -> Box<dyn Shard> {
            Box::new(*self)
        }
    }

    impl Shard for Failing {
        fn record(&mut self, _: &Event<'_>) -> SinkResult {
            assert!(!self.panics, "out of patience");
            Err(SinkError {
                sink: "failing",
                reason: "disk full".into(),
                events: 1,
            })
        }
        fn merge(&mut self) -> SinkResult {
            Ok(())
        }
    }

    #[test]
    fn a_failing_sink_is_detached_and_reported_and_the_others_go_on() {
        let metrics = Arc::new(MetricsSink::new());
        let (failing, panicking) = (Failing { panics: false }, Failing { panics: true });
        let stream = EventStream::new(vec![
            Arc::new(failing),
            Arc::new(panicking),
            metrics.clone(),
        ]);
        let told = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&told);
        stream.on_failure(move |error| heard.lock().unwrap().push(error.to_string()));
        for _ in 0..2 {
            let recorder = stream.recorder();
            for _ in 0..2 {
                recorder.record(Instant::now(), EventKind::Crash { message: "exit 1" });
            }
        }
        let failures = stream.failures();
        let missed: Vec<u64> = failures.iter().map(|failure| failure.events).collect();
        assert_eq!(missed, [4, 4]);
        let expected = [
            "failing stopped: disk full",
            "panicking stopped: it panicked: out of patience",
        ];
        assert_eq!(*told.lock().unwrap(), expected);
        assert_eq!(metrics.snapshot().crashes, 4);
    }
}
