//! How events reach sinks.
//!
//! An engine emits each event once, into the [`Recorder`] of its thread. A recorder owns one shard
//! of every sink, so nothing is shared while a run is hot; shards hand over what they gathered
//! when they are merged, about once a second and at the end. The event type itself is
//! [`mcprove_score::trace::Event`].

mod fault_metrics;
mod metrics;
mod metrics_sink;
mod struck;
mod trace_file;
mod trace_line;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use mcprove_score::trace::{Event, EventKind};
use serde_json::Value;

use crate::process::{LimitWatch, OwnLimit};

pub(crate) use fault_metrics::{FAULT, FAULT_ENDED_SESSION, FAULTS};
pub use fault_metrics::{FaultMetrics, StruckMetrics};
pub(crate) use metrics::new_histogram;
pub use metrics::{CallMetrics, Metrics, Note, SecondMetrics, SlowRecord, UsageRecord};
pub use metrics_sink::{Interval, MetricsSink};
pub use trace_file::{
    TRACE_BYTES_MAX, TRACE_FORMAT, TRACE_VALUE_BYTES_MAX, TraceFile, TraceSummary,
};

/// The note of a limit of our own that was met.
pub(crate) const OWN_LIMIT: &str = "own_limit";

/// Something that looks at every event: the trace file, the metrics, the live view.
pub trait Sink: Send + Sync {
    /// The name, for the message when it fails.
    fn name(&self) -> &'static str;

    /// A new shard, to be owned by one thread.
    fn shard(&self) -> Box<dyn Shard>;
}

/// One thread's part of a [`Sink`].
pub trait Shard: Send {
    /// Looks at one event. An error detaches the sink from this thread.
    fn record(&mut self, event: &Event<'_>) -> Result<(), SinkError>;

    /// Hands over to the sink what was gathered since the last merge.
    fn merge(&mut self) -> Result<(), SinkError>;
}

/// Why a sink stopped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{sink} stopped: {reason}")]
pub struct SinkError {
    /// The sink's name.
    pub sink: &'static str,
    /// What happened.
    pub reason: String,
}

/// The events of one run and the sinks over them.
#[derive(Clone)]
pub struct EventStream {
    started: Instant,
    sinks: Vec<Arc<dyn Sink>>,
    failures: Arc<Mutex<Vec<SinkError>>>,
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
    #[must_use]
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
        let shards = self.sinks.iter().map(|sink| sink.shard()).collect();
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

    /// The sinks that failed and were detached.
    pub fn failures(&self) -> Vec<SinkError> {
        self.failures
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// One thread's way to emit events. Merges when it is dropped.
pub struct Recorder {
    started: Instant,
    observed: bool,
    shards: Mutex<Vec<Box<dyn Shard>>>,
    failures: Arc<Mutex<Vec<SinkError>>>,
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

    /// Notes that this process ran out of something; only the first time is an event.
    pub(crate) fn meet_limit(&self, limit: OwnLimit) {
        if self.limits.meet(limit) {
            let data = serde_json::to_value(limit).unwrap_or_default();
            self.note(OWN_LIMIT, &limit.to_string(), &data);
        }
    }

    /// Emits an event that happened at `at`.
    pub fn record(&self, at: Instant, kind: EventKind<'_>) {
        let event = Event {
            at: self.time(at),
            kind,
        };
        self.each(|shard| shard.record(&event));
    }

    /// Hands over to the sinks what was gathered so far.
    pub fn merge(&self) {
        self.each(|shard| shard.merge());
    }

    /// Calls `act` on every shard; one that fails is detached and reported, the others go on.
    fn each(&self, mut act: impl FnMut(&mut dyn Shard) -> Result<(), SinkError>) {
        let mut shards = self.shards.lock().unwrap_or_else(PoisonError::into_inner);
        shards.retain_mut(|shard| match act(shard.as_mut()) {
            Ok(()) => true,
            Err(error) => {
                self.failures
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(error);
                false
            }
        });
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

    struct Failing;

    impl Sink for Failing {
        fn name(&self) -> &'static str {
            "failing"
        }
        fn shard(&self) -> Box<dyn Shard> {
            Box::new(Self)
        }
    }

    impl Shard for Failing {
        fn record(&mut self, _: &Event<'_>) -> Result<(), SinkError> {
            Err(SinkError {
                sink: "failing",
                reason: "disk full".into(),
            })
        }
        fn merge(&mut self) -> Result<(), SinkError> {
            Ok(())
        }
    }

    #[test]
    fn a_failing_sink_is_detached_and_reported_and_the_others_go_on() {
        let metrics = Arc::new(MetricsSink::new());
        let stream = EventStream::new(vec![Arc::new(Failing), metrics.clone()]);
        let recorder = stream.recorder();
        for _ in 0..2 {
            recorder.record(Instant::now(), EventKind::Crash { message: "exit 1" });
        }
        drop(recorder);
        assert_eq!(stream.failures().len(), 1);
        assert_eq!(
            stream.failures()[0].to_string(),
            "failing stopped: disk full"
        );
        assert_eq!(metrics.snapshot().crashes, 2);
    }
}
