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

use super::tool_name::check_servers;
use crate::prelude::*;

/// Unsatisfied edges of one axis that a report names; the rest is only counted.
pub const UNSATISFIED_KEPT: usize = 20;

const DEPENDENCY: &str = "trajectory.dependency_satisfaction";
const ORDER: &str = "trajectory.order_satisfaction";

/// The settings of the block `trajectory_axes`.
#[derive(Debug, Clone, Default, Settings)]
pub struct TrajectoryAxesBlock {
    /// A consumer must come after its producer.
    #[setting(default = "[]")]
    pub dependencies: Vec<Dependency>,
    /// A first call must come before a second.
    #[setting(default = "[]")]
    pub order: Vec<Order>,
}

/// A tool that reads what another one returned.
#[stored(Default, Eq, Settings)]
pub struct Dependency {
    /// The tool whose result is used.
    ///
    /// `server__tool` and `mcp__server__tool` name its server too.
    #[setting(required = true)]
    pub producer: String,
    /// The tool that uses it.
    #[setting(required = true)]
    pub consumer: String,
}

/// A tool that precedes another one.
#[stored(Default, Eq, Settings)]
pub struct Order {
    /// The tool that comes first.
    #[setting(required = true)]
    pub first: String,
    /// The tool that comes after it.
    #[setting(required = true)]
    pub second: String,
}

/// How far the recorded calls keep the order.
#[stored(Eq)]
pub struct TrajectoryAxesReport {
    pub dependency: Axis,
    pub order: Axis,
}

#[stored(Eq)]
pub struct Axis {
    /// The percent of the edges that hold, 0 to 100, rounded down; 100 without edges.
    pub satisfaction: u64,
    pub edges: usize,
    /// Those that hold.
    pub satisfied: usize,
    /// Those that do not, and why: the first [`UNSATISFIED_KEPT`].
    pub unsatisfied: Vec<Message>,
}

impl Axis {
    /// Sums up edges: `None` is one that holds, else why it does not.
    fn over(edges: impl Iterator<Item = Option<Message>>) -> Self {
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

    fn explain(&self) -> Message {
        let first = self.unsatisfied.first().cloned().unwrap_or_default();
        let more = match self.broken().saturating_sub(1) {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        sentence!(
            "{} of {} edges hold ({}%): {first}{more}",
            self.satisfied,
            self.edges,
            self.satisfaction
        )
    }
}

/// `part` in percent of `whole`, rounded down; 100 of nothing.
fn percent(part: usize, whole: usize) -> u64 {
    let wide = |length: usize| u128::from(count(length));
    let percent = (wide(part) * 100).checked_div(wide(whole));
    percent.map_or(100, |percent| u64::try_from(percent).unwrap_or(100))
}

/// Scores both axes over recorded calls.
///
/// ```
/// use mcprove_score::agent::trajectory_axes::{
///     Dependency, TrajectoryAxesBlock, score_trajectory_axes,
/// };
/// use mcprove_trace::{AgentRun, ToolCall};
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
    let mut spans: BTreeMap<Tool<'_>, Span> = BTreeMap::new();
    for (index, call) in calls.iter().enumerate() {
        spans.entry(tool_of(call)).or_insert((index, index)).1 = index;
    }
    let dependencies = block.dependencies.iter().map(|edge| {
        let (earlier, later) = (&edge.producer, &edge.consumer);
        broken(&spans, earlier, later, |(_, produced), (_, consumed)| {
            (consumed <= produced).then(|| {
                sentence!(
                    "{} was last called at call {consumed}, not after {}, whose output it reads and which was last called at call {produced}",
                    quoted(later),
                    quoted(earlier),
                )
            })
        })
    });
    let orders = block.order.iter().map(|edge| {
        let (earlier, later) = (&edge.first, &edge.second);
        broken(&spans, earlier, later, |(first, _), (_, second)| {
            (first >= second).then(|| {
                sentence!(
                    "{} was first called at call {first}, not before {}, which was last called at call {second}",
                    quoted(earlier),
                    quoted(later),
                )
            })
        })
    });
    TrajectoryAxesReport {
        dependency: Axis::over(dependencies),
        order: Axis::over(orders),
    }
}

/// Where a tool was called first and last.
type Span = (usize, usize);

/// Why an edge does not hold: one of its tools was never called, or, by where both were, they came in the wrong order.
fn broken(
    spans: &BTreeMap<Tool<'_>, Span>,
    earlier: &str,
    later: &str,
    wrong_order: impl Fn(Span, Span) -> Option<Message>,
) -> Option<Message> {
    let span_of = |written: &str| {
        let name = ToolName::exact(written);
        let fitting = spans
            .iter()
            .filter(|((tool, server), _)| name.fit_tool(tool, *server) == Fit::Yes);
        fitting
            .map(|(_, span)| *span)
            .reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)))
    };
    let [first, second] = [earlier, later].map(quoted);
    match (span_of(earlier), span_of(later)) {
        (Some(earlier), Some(later)) => wrong_order(earlier, later),
        (None, None) if earlier != later => {
            Some(sentence!("{first} and {second} were never called"))
        }
        (None, _) => Some(sentence!(
            "{first} was never called, but must come before {second}"
        )),
        (Some(_), None) => Some(sentence!(
            "{second} was never called, but must come after {first}"
        )),
    }
}

/// The metric `trajectory_axes`.
#[derive(Debug)]
pub struct TrajectoryAxes;

impl Metric for TrajectoryAxes {
    type Block = TrajectoryAxesBlock;

    const ABOUT: About = About {
        name: "trajectory_axes",
        explanation: "whether calls came in the order that matters, whatever else was called",
        targets: &[
            Target::lowest(
                DEPENDENCY,
                "percent of the dependencies where the consumer ran after its producer",
            ),
            Target::lowest(
                ORDER,
                "percent of the pairs where the first call preceded the second",
            ),
        ],
        default_gate: "both are 100",
        needs: &[Need::filled("dependencies"), Need::filled("order")],
        ..About::PLAIN
    };

    /// The default gate: both axes are at 100 in every run.
    fn score_run(
        &self,
        run: &AgentRun,
        case: &Case<'_, TrajectoryAxesBlock>,
        card: &mut RunCard<'_>,
    ) -> ScoreResult {
        let Some(block) = case.block else {
            return Ok(());
        };
        let dependencies = block.dependencies.iter();
        let orders = block.order.iter();
        let names = ToolName::all_exact(
            dependencies
                .flat_map(|edge| [&edge.producer, &edge.consumer])
                .chain(orders.flat_map(|edge| [&edge.first, &edge.second])),
        );
        check_servers(Self::ABOUT.name, &names, &run.tool_calls)?;
        let report = score_trajectory_axes(&run.tool_calls, block);
        let mut reasons = Vec::new();
        let mut broken = 0;
        for (target, axis) in [(DEPENDENCY, &report.dependency), (ORDER, &report.order)] {
            card.set(target, axis.satisfaction);
            if axis.broken() > 0 {
                let expected = json!({ "minimum": 100 });
                card.fail(target, expected, axis.satisfaction, axis.explain());
            }
            broken += axis.broken();
            reasons.extend_from_slice(&axis.unsatisfied);
        }
        if broken > 0 {
            card.add_first_findings(count(broken), "broken edge", reasons);
            card.detail(report);
        }
        Ok(())
    }
}

impl Row for Dependency {
    const LABEL: &'static str = "an edge";
    const LIST: &'static str = "list of `{producer, consumer}`";
    const HINT: &'static str = "write a line `- { producer: a, consumer: b }` for each";
}

impl Row for Order {
    const LABEL: &'static str = "an edge";
    const LIST: &'static str = "list of `{first, second}`";
    const HINT: &'static str = "write a line `- { first: a, second: b }` for each";
}

#[cfg(test)]
mod tests;
