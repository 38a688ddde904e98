//! The facts of a report, and where the clients' time went, handed to the score crate for the sentences of "What this
//! means".

use mcprove_score::interpret::{self, ClientTime, Facts, LoadModel, ToolFacts};

use crate::prelude::*;

/// Fewest calls alone that have a median to compare with.
const ALONE_CALLS_MIN: u64 = 5;

impl RunFacts<'_> {
    /// What the numbers of `report` mean.
    pub fn sentences(&self, report: &Report) -> Vec<Message> {
        let limited = report.generator.limited.then(|| {
            let reasons = report.generator.reasons.join(" and ");
            match &report.generator.advice {
                Some(advice) => sentence!("{reasons}; {advice}"),
                None => reasons.into(),
            }
        });
        let latency = &report.latency;
        let is_load = report.scenario_kind.duration().is_some();
        let measured_phases = self.measured_phases().count();
        interpret::sentences(&Facts {
            tools: self.tool_facts(report),
            attempted: report.throughput.total_requests,
            succeeded: report.throughput.successful_requests,
            unanswered: report.unanswered,
            p50_ms: at(latency, 0.5),
            p99_ms: at(latency, 0.99),
            max_ms: latency
                .slowest()
                .max(report.failed.slowest())
                .map(as_milliseconds),
            time: self.client_time(),
            errors: report.failed_calls(),
            // A rate over phases of different concurrency says nothing about any of them.
            throughput_per_s: (measured_phases == 1).then_some(report.throughput.requests_per_sec),
            model: match report.model {
                _ if !is_load => LoadModel::Steps,
                Model::Closed => LoadModel::Closed,
                Model::Open => LoadModel::Open,
            },
            concurrent: report.scenario_kind.concurrent(),
            dropped: report.dropped.saturating_sub(report.missed),
            // The first sample has no time before it to tell a share of.
            server_cores: (report.process.samples.len() > 1)
                .then_some(report.process.avg_cpu_pct / 100.0),
            generator_limited: limited,
            verdicts: report.verdicts.clone(),
        })
    }

    fn tool_facts(&self, report: &Report) -> Vec<ToolFacts> {
        let alone = |tool: &str| {
            let mut calls = CallMetrics::default();
            for phase in [CONTROL, ALONE] {
                let tools = self.tools_in(phase);
                if let Some(more) = tools.and_then(|tools| tools.get(tool)) {
                    calls.add(more);
                }
            }
            calls
        };
        // The slow tail: calls above the 99th percentile of all calls, which need not be of all tools.
        let limit = report.latency.supported(0.99);
        let limit = limit.map(|limit| u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX));
        report
            .tools
            .iter()
            .map(|(name, tool)| {
                let latency = &tool.latency_ms;
                let alone = LatencyStats::from_histogram(alone(name).latency_ns);
                ToolFacts {
                    name: name.clone(),
                    count: tool.count,
                    errors: tool.errors.total,
                    p50_ms: at(latency, 0.5),
                    p99_ms: at(latency, 0.99),
                    alone_p50_ms: (alone.count >= ALONE_CALLS_MIN)
                        .then(|| as_milliseconds(alone.p50)),
                    in_calls_s: self.tools.get(name).map_or(0.0, in_calls_s),
                    slow_calls: limit.map(|limit| {
                        let within = latency.histogram.count_between(0, limit);
                        latency.count.saturating_sub(within)
                    }),
                }
            })
            .collect()
    }

    /// Where the clients' time went; none over phases of different concurrency, of which a share says nothing.
    fn client_time(&self) -> Option<ClientTime> {
        let mut measured = self.measured_phases();
        let (phase, None) = (measured.next()?, measured.next()) else {
            return None;
        };
        let load_ended = self.load_ended?;
        let alone = self.phase(ALONE).or(self.phase(COMPARISON));
        let overtime = alone
            .map_or(self.ending.duration, |alone| alone.from)
            .saturating_sub(load_ended.at);
        let in_flight = u32::try_from(load_ended.in_flight).unwrap_or(u32::MAX);
        let in_tools: f64 = self.tools.values().map(in_calls_s).sum();
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

fn at(latency: &LatencyStats, quantile: f64) -> Option<f64> {
    latency.supported(quantile).map(as_milliseconds)
}

fn in_calls_s(calls: &CallMetrics) -> f64 {
    [&calls.latency_ns, &calls.failed_ns]
        .into_iter()
        .map(|histogram| histogram.mean() * float(histogram.len()) / 1e9)
        .sum()
}
