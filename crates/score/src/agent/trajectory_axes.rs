//! Whether calls came in the order that matters, whatever else the agent did.
//!
//! Two axes, each the percent of its edges that hold in the recorded calls, rounded down:
//!
//! - `trajectory.dependency_satisfaction`: the last call of the consumer came after the last call
//!   of the producer, whose output it reads.
//! - `trajectory.order_satisfaction`: the first call of `first` came before the last call of
//!   `second`.
//!
//! An edge with a tool that was never called does not hold. An axis without edges scores 100. Extra
//! calls, retries and unrelated calls in another order change nothing; where each call is the
//! contract, [`trajectory`](super::trajectory) is the metric. The axes are those of mcptest.

mod edges;

use mcprove_settings::number::count;
use mcprove_trace::ToolCall;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use self::edges::{Spans, broken_dependency, broken_order};
use super::metric::{no_other_gates, tell};
use super::tool_name::{ToolName, check_servers};
use super::{Case, Expected, Metric, Scope, Target};
use crate::gate::{Expectation, GateFailure, Gates, ScoreError, Scorecard};

/// Unsatisfied edges of one axis that a report names; the rest is only counted.
pub const UNSATISFIED_KEPT: usize = 20;

const DEPENDENCY: &str = "trajectory.dependency_satisfaction";
const ORDER: &str = "trajectory.order_satisfaction";

/// The settings of the block `trajectory_axes`.
#[derive(Debug, Clone, Default)]
pub struct TrajectoryAxesBlock {
    /// What reads the output of what.
    pub dependencies: Vec<Dependency>,
    /// What precedes what.
    pub order: Vec<Order>,
    /// What replaces the default gate, by which both axes are at 100.
    pub expect: Option<Vec<Expectation>>,
}

/// A tool that reads what another one returned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Dependency {
    /// The tool whose output is read; `server__tool` and `mcp__server__tool` name its server too.
    pub producer: String,
    /// The tool that reads it.
    pub consumer: String,
}

/// A tool that precedes another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Order {
    /// The tool that comes first.
    pub first: String,
    /// The tool that comes later.
    pub second: String,
}

/// How far the recorded calls keep the order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrajectoryAxesReport {
    /// The dependencies.
    pub dependency: Axis,
    /// The order.
    pub order: Axis,
}

/// One axis.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Axis {
    /// The percent of the edges that hold, 0 to 100, rounded down; 100 without edges.
    pub satisfaction: u64,
    /// The edges.
    pub edges: usize,
    /// Those that hold.
    pub satisfied: usize,
    /// Those that do not, and why: the first [`UNSATISFIED_KEPT`].
    pub unsatisfied: Vec<String>,
}

impl Axis {
    /// Sums up edges: `None` is one that holds, else why it does not.
    fn over(edges: impl Iterator<Item = Option<String>>) -> Self {
        let mut axis = Self {
            satisfaction: 100,
            edges: 0,
            satisfied: 0,
            unsatisfied: Vec::new(),
        };
        for edge in edges {
            axis.edges += 1;
            match edge {
                None => axis.satisfied += 1,
                Some(reason) if axis.unsatisfied.len() < UNSATISFIED_KEPT => {
                    axis.unsatisfied.push(reason);
                }
                Some(_) => {}
            }
        }
        axis.satisfaction = percent(axis.satisfied, axis.edges);
        axis
    }

    /// The edges that do not hold.
    fn broken(&self) -> usize {
        self.edges.saturating_sub(self.satisfied)
    }
}

/// `part` in percent of `whole`, rounded down; 100 of nothing.
fn percent(part: usize, whole: usize) -> u64 {
    let wide = |count: usize| u128::try_from(count).unwrap_or(u128::MAX);
    let percent = wide(part).saturating_mul(100).checked_div(wide(whole));
    percent.map_or(100, |percent| u64::try_from(percent).unwrap_or(100))
}

/// Scores both axes over recorded calls.
///
/// ```
/// use mcprove_score::agent::trajectory_axes::{
///     Dependency, TrajectoryAxesBlock, score_trajectory_axes,
/// };
/// use mcprove_trace::ToolCall;
///
/// let calls = ["search", "fetch_page"].map(|name| ToolCall {
///     name: name.into(),
///     ..ToolCall::default()
/// });
/// let block = TrajectoryAxesBlock {
///     dependencies: vec![Dependency {
///         producer: "search".into(),
///         consumer: "fetch_page".into(),
///     }],
///     ..TrajectoryAxesBlock::default()
/// };
/// let report = score_trajectory_axes(&calls, &block);
/// assert_eq!(report.dependency.satisfaction, 100);
/// assert_eq!(report.order.satisfaction, 100, "an axis without edges");
/// ```
pub fn score_trajectory_axes(
    calls: &[ToolCall],
    block: &TrajectoryAxesBlock,
) -> TrajectoryAxesReport {
    let spans = Spans::of(calls);
    let dependencies = block.dependencies.iter();
    let orders = block.order.iter();
    TrajectoryAxesReport {
        dependency: Axis::over(dependencies.map(|edge| broken_dependency(edge, &spans))),
        order: Axis::over(orders.map(|edge| broken_order(edge, &spans))),
    }
}

/// The metric `trajectory_axes`.
pub const METRIC: Metric = Metric {
    name: "trajectory_axes",
    explanation: "whether calls came in the order that matters, whatever else was called",
    targets: &[
        Target {
            name: DEPENDENCY,
            explanation: "percent of the dependencies whose consumer ran after its producer",
            scope: Scope::RunLowest,
        },
        Target {
            name: ORDER,
            explanation: "percent of the pairs whose first call preceded the second",
            scope: Scope::RunLowest,
        },
    ],
    score,
    expectations,
    default_gate: Some(default_gate),
    other_gates: no_other_gates,
    runs_min: 1,
};

fn score(case: &Case<'_>, card: &mut Scorecard) -> Result<(), ScoreError> {
    let Some(block) = &case.gates.trajectory_axes else {
        return Ok(());
    };
    let dependencies = block.dependencies.iter();
    let orders = block.order.iter();
    let names: Vec<ToolName<'_>> = dependencies
        .flat_map(|edge| [&edge.producer, &edge.consumer])
        .chain(orders.flat_map(|edge| [&edge.first, &edge.second]))
        .map(|name| ToolName::exact(name))
        .collect();
    for (run, recorded) in case.trace.runs.iter().enumerate() {
        if let Err(error) = check_servers(METRIC.name, &names, &recorded.tool_calls) {
            card.error(error.of_run(run));
            continue;
        }
        let report = score_trajectory_axes(&recorded.tool_calls, block);
        card.set_run(run, DEPENDENCY, report.dependency.satisfaction);
        card.set_run(run, ORDER, report.order.satisfaction);
        let axes = [&report.dependency, &report.order];
        let broken: usize = axes.iter().map(|axis| axis.broken()).sum();
        if broken > 0 {
            let reasons: Vec<String> = axes
                .into_iter()
                .flat_map(|axis| axis.unsatisfied.clone())
                .collect();
            tell(card, run, count(broken), "broken edge", reasons);
            card.detail(run, METRIC.name, report);
        }
    }
    Ok(())
}

fn expectations(gates: &Gates) -> Option<Expected<'_>> {
    let block = gates.trajectory_axes.as_ref()?;
    Some(Expected::of(block.expect.as_deref()))
}

/// Both axes at 100 in every run.
fn default_gate(case: &Case<'_>, card: &mut Scorecard) -> Result<(), ScoreError> {
    let Some(block) = &case.gates.trajectory_axes else {
        return Ok(());
    };
    for (run, recorded) in case.trace.runs.iter().enumerate() {
        let values = [DEPENDENCY, ORDER].map(|target| card.run_value(run, target));
        if values
            .iter()
            .all(|value| value.is_none_or(|value| *value == json!(100)))
        {
            continue;
        }
        let report = score_trajectory_axes(&recorded.tool_calls, block);
        for (target, axis) in [(DEPENDENCY, report.dependency), (ORDER, report.order)] {
            if axis.broken() > 0 {
                card.fail(failure(run, target, &axis));
            }
        }
    }
    Ok(())
}

fn failure(run: usize, target: &str, axis: &Axis) -> GateFailure {
    let broken = axis.broken();
    let first = axis.unsatisfied.first().map_or("", String::as_str);
    let more = match broken.saturating_sub(1) {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    GateFailure {
        place: None,
        target: target.into(),
        expected: json!({ "minimum": 100 }),
        actual: json!(axis.satisfaction),
        message: format!(
            "{} of {} edges hold ({}%): {first}{more}",
            axis.satisfied, axis.edges, axis.satisfaction
        ),
        run: Some(run),
    }
}

#[cfg(test)]
mod tests;
