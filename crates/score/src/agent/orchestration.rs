//! Whether errors are made good: the coarse gate, where [`recovery`](super::recovery) is the fine one.
//!
//! `orchestration.error_recovery` is the fraction of the calls that failed (`is_error: true`) which are
//! followed, at any later place, by a success (`is_error: false`) of the same tool on the same server;
//! 1 when none failed. Where the trace does not tell of one call whether it failed, the value is
//! unknown: that call may be one more failure, or what makes one good. The name is that of mcptest.

use std::collections::BTreeSet;

use mcprove_settings::number::{count, share};
use mcprove_settings::phrase;
use mcprove_trace::AgentRun;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::metric::{no_other_gates, tell};
use super::{Case, Expected, Metric, Scope, Target};
use crate::gate::{Expectation, GateFailure, Gates, ScoreError, Scorecard};

const ERROR_RECOVERY: &str = "orchestration.error_recovery";

/// The settings of the block `orchestration`.
#[derive(Debug, Clone, Default)]
pub struct OrchestrationBlock {
    /// What replaces the default gate, `orchestration.error_recovery >= 1`.
    pub expect: Option<Vec<Expectation>>,
}

/// What became of the calls that failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Orchestration {
    /// Calls that failed.
    pub errored: u64,
    /// Those of them that the same tool made good later.
    pub recovered: u64,
    /// The places of the others, in order.
    pub unrecovered: Vec<usize>,
    /// The places of the calls of which the trace does not tell whether they failed, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<usize>,
    /// `recovered / errored`; 1 when none failed; `None` where one is unknown.
    pub error_recovery: Option<f64>,
}

/// Looks at what became of each call that failed.
///
/// ```
/// use mcprove_score::agent::orchestration::score_orchestration;
/// use mcprove_trace::AgentRun;
///
/// let text = r#"{"tool_calls":[{"name":"search"},{"name":"fetch"},{"name":"search"}],
///     "tool_results":[{"call_index":0,"is_error":true},{"call_index":1,"is_error":true},
///                     {"call_index":2,"is_error":false}]}"#;
/// let run: AgentRun = serde_json::from_str(text).unwrap();
/// let report = score_orchestration(&run);
/// assert_eq!(report.error_recovery, Some(0.5));
/// assert_eq!(report.unrecovered, [1]);
/// ```
pub fn score_orchestration(run: &AgentRun) -> Orchestration {
    let mut report = Orchestration {
        errored: 0,
        recovered: 0,
        unrecovered: Vec::new(),
        unknown: Vec::new(),
        error_recovery: None,
    };
    let mut succeeded_later = BTreeSet::new();
    let results = run.results();
    let calls = run.tool_calls.iter().zip(results).enumerate();
    for (index, (call, result)) in calls.rev() {
        let tool = (call.name.as_str(), call.server.as_deref());
        match result.and_then(|result| result.is_error) {
            Some(false) => {
                succeeded_later.insert(tool);
            }
            Some(true) => {
                report.errored += 1;
                if succeeded_later.contains(&tool) {
                    report.recovered += 1;
                } else {
                    report.unrecovered.push(index);
                }
            }
            None => report.unknown.push(index),
        }
    }
    report.unrecovered.reverse();
    report.unknown.reverse();
    if report.unknown.is_empty() {
        report.error_recovery = Some(share(report.recovered, report.errored).unwrap_or(1.0));
    }
    report
}

/// The metric `orchestration`.
pub const METRIC: Metric = Metric {
    name: "orchestration",
    explanation: "whether calls that failed are made good",
    targets: &[Target {
        name: ERROR_RECOVERY,
        explanation: "the fraction of failed calls that the same tool made good later, 0 to 1",
        scope: Scope::RunLowest,
    }],
    score,
    expectations,
    default_gate: Some(default_gate),
    other_gates: no_other_gates,
    runs_min: 1,
};

fn expectations(gates: &Gates) -> Option<Expected<'_>> {
    let block = gates.orchestration.as_ref()?;
    Some(Expected::of(block.expect.as_deref()))
}

fn score(case: &Case<'_>, card: &mut Scorecard) -> Result<(), ScoreError> {
    let mut untold = Vec::new();
    for (index, run) in case.trace.runs.iter().enumerate() {
        let report = score_orchestration(run);
        card.set_run(index, ERROR_RECOVERY, report.error_recovery);
        if report.error_recovery.is_none() {
            untold.push(index);
        } else if !report.unrecovered.is_empty() {
            let never = report.unrecovered.iter().map(|place| {
                format!(
                    "call {place}, {}, failed and was never made good",
                    tool(run, *place)
                )
            });
            let all = count(report.unrecovered.len());
            tell(card, index, all, "such call", never);
            card.detail(index, "orchestration", report);
        }
    }
    if !untold.is_empty() {
        card.note(format!(
            "{ERROR_RECOVERY} is unknown for {}: the trace does not tell of all calls whether they failed.",
            phrase::places("run", &untold)
        ));
    }
    Ok(())
}

/// Every call that failed is made good.
fn default_gate(case: &Case<'_>, card: &mut Scorecard) -> Result<(), ScoreError> {
    for (index, run) in case.trace.runs.iter().enumerate() {
        let known = card
            .run_value(index, ERROR_RECOVERY)
            .and_then(Value::as_f64);
        if known.is_some_and(|error_recovery| error_recovery >= 1.0) {
            continue;
        }
        let report = score_orchestration(run);
        let Some(error_recovery) = report.error_recovery else {
            card.error(unknown(run, &report).of_run(index));
            continue;
        };
        if let Some(first) = report.unrecovered.first() {
            card.fail(GateFailure {
                place: None,
                target: ERROR_RECOVERY.into(),
                expected: json!({ "minimum": 1 }),
                actual: Value::from(error_recovery),
                message: unrecovered(run, &report, *first),
                run: Some(index),
            });
        }
    }
    Ok(())
}

fn unknown(run: &AgentRun, report: &Orchestration) -> ScoreError {
    let first = report.unknown.first().copied().unwrap_or_default();
    ScoreError::new(
        ERROR_RECOVERY,
        format!(
            "the trace does not tell whether {} failed; the first is {}",
            phrase::places("call", &report.unknown),
            tool(run, first)
        ),
        "record the results (tool_results[i].is_error), or leave out the orchestration block",
    )
}

/// The tool of a call, with its server where that is known.
fn tool(run: &AgentRun, place: usize) -> String {
    let call = run.tool_calls.get(place);
    let name = call.map_or("", |call| call.name.as_str());
    let server = call.and_then(|call| call.server.as_deref());
    let server = server.map_or_else(String::new, |server| {
        format!(" on {}", phrase::name(server))
    });
    format!("{}{server}", phrase::name(name))
}

fn unrecovered(run: &AgentRun, report: &Orchestration, first: usize) -> String {
    let missed = report.errored - report.recovered;
    format!(
        "{} of {} {} never made good: {}; look at what the agent does after call {first} ({}) fails",
        phrase::whole(missed),
        phrase::count(report.errored, "failed call"),
        if missed == 1 { "was" } else { "were" },
        phrase::places("call", &report.unrecovered),
        tool(run, first),
    )
}

#[cfg(test)]
mod tests;
