//! The facts of a report, and where the clients' time went, handed to the score crate for the sentences of "What this means".

use std::collections::BTreeMap;

use mcprove_score::interpret::{self, ClientTime, Facts, LoadModel, ToolFacts};
use mcprove_settings::quantity::as_milliseconds;

use super::report::{LatencyStats, Model, Report, ToolReport};

/// Fewest calls alone that have a median to compare with.
const ALONE_CALLS_MIN: u64 = 5;

/// Where the clients' time went; what a report does not tell.
#[derive(Debug, Default)]
pub(super) struct Times {
    /// All of it, in a load of one phase.
    pub clients: Option<ClientTime>,
    /// By tool.
    pub tools: BTreeMap<String, ToolTimes>,
}

/// Where the clients' time went with one tool.
#[derive(Debug)]
pub(super) struct ToolTimes {
    /// In its calls, failed ones included, in seconds.
    pub in_calls_s: f64,
    /// Its calls made one at a time.
    pub alone: LatencyStats,
}

/// What the numbers of `report` mean.
pub(super) fn sentences(report: &Report, times: &Times) -> Vec<String> {
    let limited = report.generator.limited.then(|| {
        let reasons = report.generator.reasons.join(" and ");
        match &report.generator.advice {
            Some(advice) => format!("{reasons}; {}", advice.text()),
            None => reasons,
        }
    });
    let latency = &report.latency;
    let is_load = report.scenario_kind.duration().is_some();
    let measured_phases = report.phases.iter().filter(|phase| phase.measured).count();
    interpret::sentences(&Facts {
        tools: report
            .tools
            .iter()
            .map(|(name, tool)| tool_facts(name, tool, latency, times.tools.get(name)))
            .collect(),
        attempted: report.throughput.total_requests,
        succeeded: report.throughput.successful_requests,
        unanswered: report.unanswered,
        p50_ms: at(latency, 0.5),
        p99_ms: at(latency, 0.99),
        max_ms: latency
            .slowest()
            .max(report.failed.slowest())
            .map(as_milliseconds),
        time: times.clients,
        errors: report.errors.by_category.clone(),
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

fn tool_facts(
    name: &str,
    tool: &ToolReport,
    all: &LatencyStats,
    times: Option<&ToolTimes>,
) -> ToolFacts {
    let latency = &tool.latency_ms;
    // The slow tail: calls above the 99th percentile of all calls, which need not be of all tools.
    let slow_calls = all.supported(0.99).map(|limit| {
        let limit = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        let within = latency.histogram.count_between(0, limit);
        latency.count.saturating_sub(within)
    });
    ToolFacts {
        name: name.to_owned(),
        count: tool.count,
        errors: tool.errors.total,
        p50_ms: at(latency, 0.5),
        p99_ms: at(latency, 0.99),
        alone_p50_ms: times
            .filter(|times| times.alone.count >= ALONE_CALLS_MIN)
            .map(|times| as_milliseconds(times.alone.p50)),
        in_calls_s: times.map_or(0.0, |times| times.in_calls_s),
        slow_calls,
    }
}

fn at(latency: &LatencyStats, quantile: f64) -> Option<f64> {
    latency.supported(quantile).map(as_milliseconds)
}
