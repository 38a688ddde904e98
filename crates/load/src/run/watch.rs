//! Looking at a run from outside while it goes on: the live view, and `latency.hlog`.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use mcprove_settings::loss::{Loss, Losses, Missing};
use mcprove_trace::stream::MetricsSink;

use super::ProgressHandler;
use super::latency_log::LatencyLog;
use super::progress::Progress;
use super::rate::RateMeter;
use crate::drive::context::RunContext;

/// How often the live view is told.
const PROGRESS_EVERY: Duration = Duration::from_millis(250);
/// The shortest interval that a rate is made of, in seconds.
const DURATION_MIN: f64 = 0.001;
/// How many of those make an interval of `latency.hlog`.
const TICKS_PER_INTERVAL: u32 = 4;

/// Looks at a run from outside while it goes on.
pub(super) struct Watch {
    context: RunContext,
    metrics: Arc<MetricsSink>,
    latency_log: Option<LatencyLog>,
    losses: Losses,
    handler: Option<ProgressHandler>,
    completed: u64,
    failed: u64,
    last: Instant,
    meter: RateMeter,
}

impl Watch {
    /// Nothing seen yet.
    pub fn new(
        context: RunContext,
        metrics: Arc<MetricsSink>,
        latency_log: Option<LatencyLog>,
        handler: Option<ProgressHandler>,
        losses: Losses,
    ) -> Self {
        Self {
            context,
            metrics,
            latency_log,
            losses,
            handler,
            completed: 0,
            failed: 0,
            last: Instant::now(),
            meter: RateMeter::default(),
        }
    }

    /// Never ends by itself.
    pub async fn watch(&mut self) -> std::convert::Infallible {
        let mut ticks = tokio::time::interval(PROGRESS_EVERY);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut progress = Progress::default();
        let mut tick = 0;
        loop {
            ticks.tick().await;
            tick += 1;
            if tick % TICKS_PER_INTERVAL == 0 {
                self.close_interval(&mut progress);
            }
            if let Some(handler) = self.handler.clone() {
                self.look(&mut progress);
                handler(&progress);
            }
        }
    }

    /// Takes what happened since the last whole second, when the run is over.
    pub fn finish(&mut self) {
        self.close_interval(&mut Progress::default());
    }

    /// Takes what happened in the last second.
    fn close_interval(&mut self, progress: &mut Progress) {
        let interval = self.metrics.take_interval();
        let now = Instant::now();
        let duration = now.saturating_duration_since(self.last);
        let from = self
            .last
            .saturating_duration_since(self.context.stream.started());
        self.last = now;
        let succeeded = interval.latency_ns.len();
        self.completed += succeeded + interval.failed;
        self.failed += interval.failed;
        #[allow(clippy::cast_precision_loss)]
        let count = (succeeded + interval.failed) as f64;
        // Before the first call ended there is no rate: 0 would be a lie.
        progress.rate =
            (self.completed > 0).then(|| count / duration.as_secs_f64().max(DURATION_MIN));
        let at = |quantile| Duration::from_nanos(interval.latency_ns.value_at_quantile(quantile));
        progress.p50 = (succeeded > 0).then(|| at(0.5));
        progress.p99 = (succeeded > 0).then(|| at(0.99));
        progress.rss_mb = self.metrics.last_rss_mb();
        if let Some(log) = &mut self.latency_log
            && let Err(error) = log.add(from, duration, &interval.latency_ns)
        {
            // A full disk must not end the run; the histogram in the report has it all.
            let file = log.path().display().to_string();
            let loss = Loss::of(file, Missing::Intervals(1), error.to_string());
            self.losses.add(loss);
        }
    }

    fn look(&mut self, progress: &mut Progress) {
        let gauges = &self.context.gauges;
        progress.elapsed = self.context.stream.started().elapsed();
        let ends_at = gauges.ends_at_ms.load(Ordering::Relaxed);
        progress.remaining =
            (ends_at > 0).then(|| Duration::from_millis(ends_at).saturating_sub(progress.elapsed));
        let done = gauges.done_permille.load(Ordering::Relaxed);
        progress.share = (done > 0).then(|| f64::from(done) / 1000.0);
        // Known at once, unlike what is handed over once a second.
        if let Some(ended) = gauges.ended() {
            progress.rate = self.meter.rate(progress.elapsed, ended);
        }
        progress.completed = self.completed;
        progress.failed = self.failed;
        progress.in_flight = gauges.in_flight();
    }
}
