//! Where the clients' time went: in which calls, and how much of it within the load.

use std::collections::BTreeMap;
use std::time::Duration;

use mcprove_score::interpret::ClientTime;
use mcprove_trace::stream::CallMetrics;

use super::{ALONE, RunFacts};
use crate::run::interpret::{Times, ToolTimes};
use crate::run::report::LatencyStats;

impl RunFacts<'_> {
    /// Where the clients' time went.
    pub(super) fn times(&self) -> Times {
        let mut alone = self
            .phase(ALONE)
            .map(|alone| self.metrics.tools_of(|index| index == alone.index))
            .unwrap_or_default();
        let tools: BTreeMap<String, ToolTimes> = self
            .metrics
            .tools_of(|phase| self.is_measured(phase))
            .into_iter()
            .map(|(name, calls)| {
                let alone = alone.remove(&name).unwrap_or_default();
                let times = ToolTimes {
                    in_calls_s: in_calls_s(&calls),
                    alone: LatencyStats::from_histogram(alone.latency_ns),
                };
                (name, times)
            })
            .collect();
        Times {
            clients: self.client_time(&tools),
            tools,
        }
    }

    /// None over phases of different concurrency, of which a share says nothing.
    fn client_time(&self, tools: &BTreeMap<String, ToolTimes>) -> Option<ClientTime> {
        let mut measured = self.measured_phases();
        let (phase, None) = (measured.next()?, measured.next()) else {
            return None;
        };
        let load_ended = self.load_ended?;
        let drained_at = self
            .phase(ALONE)
            .map_or(self.ending.duration, |alone| alone.from);
        let overtime = drained_at.saturating_sub(load_ended.at);
        let in_flight = u32::try_from(load_ended.in_flight).unwrap_or(u32::MAX);
        let in_tools: f64 = tools.values().map(|tool| tool.in_calls_s).sum();
        Some(ClientTime {
            in_calls_s: in_tools + self.listing_s(),
            overtime_s_max: Duration::as_secs_f64(&overtime) * f64::from(in_flight),
            load_s: self.duration_of(phase).as_secs_f64(),
        })
    }

    /// The time in lists, which patterns have among their steps.
    fn listing_s(&self) -> f64 {
        let lists = self.metrics.methods.get("tools/list");
        if self.header.scenario.kind.as_type().patterns().is_empty() {
            return 0.0;
        }
        lists.map_or(0.0, in_calls_s)
    }
}

fn in_calls_s(calls: &CallMetrics) -> f64 {
    [&calls.latency_ns, &calls.failed_ns]
        .into_iter()
        .map(|histogram| {
            #[allow(clippy::cast_precision_loss)]
            let count = histogram.len() as f64;
            histogram.mean() * count / 1e9
        })
        .sum()
}
