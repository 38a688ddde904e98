//! How often tools are called: at least, at most, each and all together.
//!
//! A limit is on all calls, or on those of one tool; in the name of a tool `*` stands for any
//! characters, and the limit is on all that fit together. A limit that is not kept is one violation,
//! however far off. This metric is our own.

use std::collections::BTreeMap;

use mcprove_settings::number::count;
use mcprove_settings::phrase;
use mcprove_trace::ToolCall;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::metric::{no_other_gates, tell};
use super::tool_name::{Fit, Tool, ToolName, check_servers, tool_of};
use super::{Case, Expected, Metric, Scope, Target};
use crate::gate::{Expectation, GateFailure, Gates, ScoreError, Scorecard};

const VIOLATIONS: &str = "call_limits.violations";
const TOTAL_CALLS: &str = "call_limits.total_calls";
const PASSED: &str = "call_limits.passed";

/// The settings of the block `call_limits`.
#[derive(Debug, Clone, Default)]
pub struct CallLimitsBlock {
    /// On all calls together.
    pub total: Option<Limit>,
    /// On the calls of each tool; `server__tool` and `mcp__server__tool` name its server too.
    pub tools: BTreeMap<String, Limit>,
    /// What replaces the default gate, `call_limits.violations <= 0`.
    pub expect: Option<Vec<Expectation>>,
}

/// How many calls there may be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limit {
    /// The fewest.
    pub min: Option<u64>,
    /// The most.
    pub max: Option<u64>,
}

impl Limit {
    fn allows(self, calls: u64) -> bool {
        self.min.is_none_or(|min| calls >= min) && self.max.is_none_or(|max| calls <= max)
    }

    /// The limit in plain words: `at most 3`.
    fn describe(self) -> String {
        match (self.min, self.max) {
            (Some(min), Some(max)) if min == max => format!("exactly {}", phrase::whole(min)),
            (Some(min), Some(max)) => {
                format!("{} to {}", phrase::whole(min), phrase::whole(max))
            }
            (Some(min), None) => format!("at least {}", phrase::whole(min)),
            (None, Some(max)) => format!("at most {}", phrase::whole(max)),
            (None, None) => "any number".to_owned(),
        }
    }
}

/// How often tools were called.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallLimitsReport {
    /// Whether every limit was kept.
    pub passed: bool,
    /// All calls.
    pub total_calls: u64,
    /// The limits that were not kept.
    pub violations: Vec<LimitViolation>,
}

/// A limit that was not kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LimitViolation {
    /// The tool; absent for all together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// How often it was called.
    pub calls: u64,
    /// How often it may be, in words.
    pub limit: String,
    /// The first call that was one too many, by its place in `tool_calls`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_too_many: Option<usize>,
}

impl LimitViolation {
    fn describe(&self) -> String {
        let what = match &self.tool {
            Some(tool) => format!("{} was called", phrase::name(tool)),
            None => "all tools together were called".to_owned(),
        };
        let times = phrase::count(self.calls, "time");
        let place = match self.first_too_many {
            Some(index) => format!(" (call {index} was the first too many)"),
            None => String::new(),
        };
        format!("{what} {times}, and must be {}{place}", self.limit)
    }
}

/// Counts calls and compares them with the limits. A limit that nothing can keep is an error, and so is
/// a call whose server a limit asks for and the trace does not tell.
///
/// ```
/// use mcprove_score::agent::call_limits::{CallLimitsBlock, Limit, check_call_limits};
/// use mcprove_trace::ToolCall;
///
/// let once = Limit { min: None, max: Some(1) };
/// let block = CallLimitsBlock { tools: [("pay".to_owned(), once)].into(), ..Default::default() };
/// let calls = ["pay", "look", "pay"].map(|name| ToolCall {
///     name: name.into(),
///     ..ToolCall::default()
/// });
/// let report = check_call_limits(&calls, &block).unwrap();
/// assert_eq!((report.total_calls, report.violations.len()), (3, 1));
/// assert_eq!(report.violations[0].first_too_many, Some(2));
/// ```
pub fn check_call_limits(
    calls: &[ToolCall],
    block: &CallLimitsBlock,
) -> Result<CallLimitsReport, ScoreError> {
    let mut places: BTreeMap<Tool<'_>, Vec<usize>> = BTreeMap::new();
    for (index, call) in calls.iter().enumerate() {
        places.entry(tool_of(call)).or_default().push(index);
    }
    let names: Vec<ToolName<'_>> = block
        .tools
        .keys()
        .map(|tool| ToolName::pattern(tool))
        .collect();
    check_servers(VIOLATIONS, &names, calls)?;
    let mut violations = Vec::new();
    if let Some(limit) = block.total {
        check_possible(None, limit)?;
        let too_many = limit.max.and_then(|max| usize::try_from(max).ok());
        violations.extend(violation(None, limit, calls.len(), too_many));
    }
    for ((tool, limit), name) in block.tools.iter().zip(names) {
        check_possible(Some(tool), *limit)?;
        let fitting = places
            .iter()
            .filter(|((tool, server), _)| name.fit_tool(tool, *server) == Fit::Yes);
        let mut made: Vec<usize> = fitting.flat_map(|(_, places)| places).copied().collect();
        made.sort_unstable();
        let last = limit.max.and_then(|max| usize::try_from(max).ok());
        let too_many = last.and_then(|last| made.get(last)).copied();
        violations.extend(violation(Some(tool), *limit, made.len(), too_many));
    }
    Ok(CallLimitsReport {
        passed: violations.is_empty(),
        total_calls: count(calls.len()),
        violations,
    })
}

fn violation(
    tool: Option<&String>,
    limit: Limit,
    calls: usize,
    too_many: Option<usize>,
) -> Option<LimitViolation> {
    let calls = count(calls);
    (!limit.allows(calls)).then(|| LimitViolation {
        tool: tool.cloned(),
        calls,
        limit: limit.describe(),
        first_too_many: too_many.filter(|_| limit.max.is_some_and(|max| calls > max)),
    })
}

fn check_possible(tool: Option<&String>, limit: Limit) -> Result<(), ScoreError> {
    match limit {
        Limit {
            min: Some(min),
            max: Some(max),
        } if min > max => {
            let of = tool.map_or_else(|| "all calls".to_owned(), |tool| phrase::name(tool));
            Err(ScoreError::new(
                VIOLATIONS,
                format!("nothing can keep the limit of {of}: at least {min} and at most {max}"),
                "swap `min` and `max`, or mend one",
            ))
        }
        _ => Ok(()),
    }
}

/// The metric `call_limits`.
pub const METRIC: Metric = Metric {
    name: "call_limits",
    explanation: "whether tools were called neither too often nor too rarely",
    targets: &[
        Target {
            name: VIOLATIONS,
            explanation: "limits that were not kept",
            scope: Scope::RunHighest,
        },
        Target {
            name: TOTAL_CALLS,
            explanation: "all calls of the run",
            scope: Scope::RunHighest,
        },
        Target {
            name: PASSED,
            explanation: "1 when every limit was kept, else 0",
            scope: Scope::RunLowest,
        },
    ],
    score,
    expectations,
    default_gate: Some(default_gate),
    other_gates: no_other_gates,
    runs_min: 1,
};

/// Without its block only the calls are counted.
fn score(case: &Case<'_>, card: &mut Scorecard) -> Result<(), ScoreError> {
    for (run, recorded) in case.trace.runs.iter().enumerate() {
        card.set_run(run, TOTAL_CALLS, count(recorded.tool_calls.len()));
        let Some(block) = &case.gates.call_limits else {
            continue;
        };
        let report = match check_call_limits(&recorded.tool_calls, block) {
            Ok(report) => report,
            Err(error) => {
                card.error(error.of_run(run));
                continue;
            }
        };
        let violations = count(report.violations.len());
        card.set_run(run, VIOLATIONS, violations);
        card.set_run(run, PASSED, u64::from(report.passed));
        if !report.passed {
            let limits = report.violations.iter().map(LimitViolation::describe);
            tell(card, run, violations, "broken limit", limits);
            card.detail(run, "call_limits", &report);
        }
    }
    Ok(())
}

fn expectations(gates: &Gates) -> Option<Expected<'_>> {
    let block = gates.call_limits.as_ref()?;
    Some(Expected::of(block.expect.as_deref()))
}

/// `call_limits.violations <= 0` in every run.
fn default_gate(case: &Case<'_>, card: &mut Scorecard) -> Result<(), ScoreError> {
    let Some(block) = &case.gates.call_limits else {
        return Ok(());
    };
    for (run, recorded) in case.trace.runs.iter().enumerate() {
        if card.run_value(run, PASSED) != Some(&json!(0)) {
            continue;
        }
        let report = check_call_limits(&recorded.tool_calls, block)?;
        if !report.passed {
            let messages: Vec<String> = report
                .violations
                .iter()
                .map(LimitViolation::describe)
                .collect();
            card.fail(GateFailure {
                place: None,
                target: VIOLATIONS.into(),
                expected: json!({ "maximum": 0 }),
                actual: json!(report.violations.len()),
                message: messages.join("; "),
                run: Some(run),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
