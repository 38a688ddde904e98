//! The section `[thresholds]`: limits overall and tool by tool.

use mcprove_settings::reader::{Least, Reader, Section, near};
use mcprove_settings::tree::{Data, Field, Node};

use super::keys::{self, TOOL_THRESHOLDS};
use super::settings::section_advice;
use crate::drive::{Scenario, ScenarioKind, Step};
use crate::run::{Thresholds, ToolThresholds};

/// Limits as the section describes them.
pub(super) struct ThresholdsPlan {
    pub thresholds: Thresholds,
    /// Whether `hang_timeout` was given.
    pub has_hang_timeout: bool,
    /// Whether `grace_period` was given.
    pub has_grace_period: bool,
}

/// Reads the section.
pub(super) fn read(reader: &mut Reader<'_>, node: &Node) -> ThresholdsPlan {
    let known = keys::names(keys::section("thresholds"));
    let section = reader.section(node, "[thresholds]", &known, |name| {
        section_advice("thresholds", name)
    });
    let overall = read_limits(reader, &section);
    let hang_timeout = reader.duration(&section, "hang_timeout", Least::MoreThanZero);
    let grace_period = reader.duration(&section, "grace_period", Least::Zero);
    let memory = reader.number(
        &section,
        "memory_growth_mb",
        "a number of megabytes from 0 up",
        |value| value >= 0.0,
    );
    let mut thresholds = Thresholds {
        p50_latency: overall.p50_latency,
        p95_latency: overall.p95_latency,
        p99_latency: overall.p99_latency,
        p999_latency: overall.p999_latency,
        error_rate: overall.error_rate,
        memory_growth_mb: memory,
        ..Thresholds::default()
    };
    thresholds.hang_timeout = hang_timeout.unwrap_or(thresholds.hang_timeout);
    thresholds.grace_period = grace_period.unwrap_or(thresholds.grace_period);
    for tool in tools(&section) {
        let known = keys::names(TOOL_THRESHOLDS);
        let section = reader.section(&tool.value, "[thresholds.tools]", &known, |name| {
            let is_overall = keys::section("thresholds")
                .iter()
                .any(|key| key.name == name);
            is_overall.then(|| "it is for all tools together, below [thresholds]".to_owned())
        });
        let limits = read_limits(reader, &section);
        thresholds.tools.insert(tool.name.clone(), limits);
    }
    if let Some(field) = section.get("tools")
        && !matches!(field.value.data, Data::Table(_) | Data::Null)
    {
        reader.wrong(field, "a table of tools", "write [thresholds.tools.NAME]");
    }
    ThresholdsPlan {
        thresholds,
        has_hang_timeout: hang_timeout.is_some(),
        has_grace_period: grace_period.is_some(),
    }
}

fn tools<'d>(section: &Section<'d>) -> &'d [Field] {
    match section.get("tools").map(|field| &field.value.data) {
        Some(Data::Table(fields)) => fields,
        _ => &[],
    }
}

fn read_limits(reader: &mut Reader<'_>, section: &Section<'_>) -> ToolThresholds {
    let mut latency = |name| reader.duration(section, name, Least::MoreThanZero);
    ToolThresholds {
        p50_latency: latency("p50_latency"),
        p95_latency: latency("p95_latency"),
        p99_latency: latency("p99_latency"),
        p999_latency: latency("p999_latency"),
        error_rate: reader.number(
            section,
            "error_rate",
            "a share from 0 to 1 (0.01 is 1 %)",
            |value| (0.0..=1.0).contains(&value),
        ),
    }
}

/// A limit for a tool that is never called would always hold.
pub(super) fn check_names(reader: &mut Reader<'_>, node: &Node, scenario: &Scenario) {
    let Some(called) = called(scenario) else {
        return;
    };
    let Data::Table(fields) = &node.data else {
        return;
    };
    let Some(Data::Table(tools)) = fields
        .iter()
        .find(|field| field.name == "tools")
        .map(|field| &field.value.data)
    else {
        return;
    };
    for tool in tools {
        if !called.contains(&tool.name.as_str()) {
            let message = format!("the scenario does not call {:?}", tool.name);
            let hint = near(&called, &tool.name).map_or_else(
                || format!("it calls {}", called.join(", ")),
                |close| format!("did you mean {close:?}?"),
            );
            reader.problem(&tool.span, message, hint);
        }
    }
}

/// The tools that are called; none when the server decides.
fn called(scenario: &Scenario) -> Option<Vec<&str>> {
    let patterns = match &scenario.kind {
        ScenarioKind::Pattern { patterns, .. } => patterns.as_slice(),
        _ => &[],
    };
    let is_named = !scenario.tool_calls.is_empty()
        || !patterns.is_empty() && patterns.iter().all(|pattern| !pattern.steps.is_empty());
    let steps = patterns.iter().flat_map(|pattern| &pattern.steps);
    let of_steps = steps.filter_map(|step| match step {
        Step::Call(call) => Some(call.name.as_str()),
        Step::ListTools => None,
    });
    let of_calls = scenario.tool_calls.iter().map(|call| call.name.as_str());
    is_named.then(|| of_calls.chain(of_steps).collect())
}
