//! Looking at a run from outside while it goes on: the live view, and `latency.hlog`.

use crate::prelude::*;

/// How often the live view is told.
const PROGRESS_EVERY: Duration = Duration::from_millis(250);
/// How many of those make an interval of `latency.hlog`.
const TICKS_PER_INTERVAL: u32 = 4;
/// The shortest interval that a rate is made of, in seconds.
const DURATION_MIN: f64 = 0.001;
/// How far back a rate looks.
const RATE_WINDOW: Duration = Duration::from_secs(1);

/// The state of a run at one moment.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// Since the run started.
    pub elapsed: Duration,
    /// Until the load ends, where that is known.
    pub remaining: Option<Duration>,
    /// The share of a scenario that counts steps, from 0 to 1.
    pub share: Option<f64>,
    /// Calls that ended so far.
    pub completed: u64,
    /// Of these, calls that failed.
    pub failed: u64,
    /// Calls per second, lately; none until a call ended.
    pub rate: Option<f64>,
    /// Calls under way.
    pub in_flight: u64,
    /// The median latency, lately.
    pub p50: Option<Duration>,
    /// The 99th percentile, lately.
    pub p99: Option<Duration>,
    /// The memory of the server's processes, in MB.
    pub rss_mb: Option<f64>,
}

/// Looks at a run from outside while it goes on.
pub struct Watch {
    pub context: RunContext,
    pub metrics: Arc<MetricsSink>,
    pub latency_log: Option<LatencyLog>,
    pub losses: Losses,
    pub handler: Option<ProgressHandler>,
    pub progress: Progress,
    /// When the last interval ended.
    pub last: Instant,
    pub meter: RateMeter,
}

impl Watch {
    /// Never ends by itself.
    pub async fn watch(&mut self) -> std::convert::Infallible {
        let mut ticks = tokio::time::interval(PROGRESS_EVERY);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut tick = 0;
        loop {
            ticks.tick().await;
            tick += 1;
            if tick % TICKS_PER_INTERVAL == 0 {
                self.close_interval();
            }
            if let Some(handler) = self.handler.clone() {
                self.look();
                handler(&self.progress);
            }
        }
    }

    /// Takes what happened since the last interval: once a second, and when the run is over.
    pub fn close_interval(&mut self) {
        let calls = self.metrics.take_interval();
        let now = Instant::now();
        let duration = now.saturating_duration_since(self.last);
        let started = self.context.stream.started();
        let from = self.last.saturating_duration_since(started);
        self.last = now;
        let (succeeded, failed) = (calls.succeeded(), calls.failed());
        let progress = &mut self.progress;
        progress.completed += succeeded + failed;
        progress.failed += failed;
        // Before the first call ended there is no rate: 0 would be a lie.
        let seconds = duration.as_secs_f64().max(DURATION_MIN);
        progress.rate = (progress.completed > 0).then(|| float(succeeded + failed) / seconds);
        let at = |quantile| Duration::from_nanos(calls.latency_ns.value_at_quantile(quantile));
        progress.p50 = (succeeded > 0).then(|| at(0.5));
        progress.p99 = (succeeded > 0).then(|| at(0.99));
        progress.rss_mb = self.metrics.last_rss_mb();
        if let Some(log) = &mut self.latency_log
            && let Err(error) = log.add(from, duration, &calls.latency_ns)
        {
            // A full disk must not end the run; the histogram in the report has it all.
            let file = log.path.display().to_string();
            let loss = Loss::of(file, Missing::Intervals(1), error.to_string());
            self.losses.add(loss);
        }
    }

    /// What is known at once, unlike what is handed over once a second.
    fn look(&mut self) {
        let gauges = &self.context.gauges;
        let progress = &mut self.progress;
        progress.elapsed = self.context.stream.started().elapsed();
        let ends_at = Duration::from_millis(gauges.ends_at_ms.load(Ordering::Relaxed));
        progress.remaining = (!ends_at.is_zero()).then(|| ends_at.saturating_sub(progress.elapsed));
        let done = gauges.done_permille.load(Ordering::Relaxed);
        progress.share = (done > 0).then(|| f64::from(done) / 1000.0);
        if let Some(ended) = gauges.ended() {
            progress.rate = self.meter.rate(progress.elapsed, ended);
        }
        progress.in_flight = gauges.in_flight();
    }
}

/// Counts of ended calls at moments, for a rate of lately.
#[derive(Debug, Default)]
pub struct RateMeter {
    seen: VecDeque<(Duration, u64)>,
}

impl RateMeter {
    /// Notes that `ended` calls had ended by `at`. The rate since the oldest count of the last
    /// second; none before there are two of a load that has begun, since how long the calls up to
    /// the first took is not known.
    fn rate(&mut self, at: Duration, ended: u64) -> Option<f64> {
        if ended == 0 {
            return None;
        }
        self.seen.push_back((at, ended));
        let is_old = |(oldest, _): &(Duration, u64)| at.saturating_sub(*oldest) > RATE_WINDOW;
        while self.seen.len() > 2 && self.seen.front().is_some_and(is_old) {
            self.seen.pop_front();
        }
        let (since, before) = *self.seen.front()?;
        let seconds = at.saturating_sub(since).as_secs_f64();
        (seconds > 0.0).then(|| float(ended.saturating_sub(before)) / seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_right_from_the_first_that_is_shown() {
        let mut meter = RateMeter::default();
        // 1000 calls per second from 600 ms on, looked at four times a second; none from 2 s on.
        for (at_ms, ended, rate) in [
            (250, 0, None),
            (500, 0, None),
            (750, 150, None),
            (1000, 400, Some(1000.0)),
            (1250, 650, Some(1000.0)),
            (2000, 1400, Some(1000.0)),
            (2250, 1400, Some(750.0)),
            (5000, 1400, Some(0.0)),
        ] {
            let at = Duration::from_millis(at_ms);
            assert_eq!(meter.rate(at, ended), rate, "at {at:?}");
        }
    }
}
