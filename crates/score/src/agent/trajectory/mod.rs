//! Whether the agent called the right tools, with the right arguments, in the right order.
//!
//! Expected calls (the reference) are compared with recorded ones by name and by the shape of their
//! arguments; no model is asked. The idea is the AST check of the Berkeley Function-Calling
//! Leaderboard (Patil et al., ICML 2025), the modes and targets are those of mcptest:
//!
//! | mode | passes when |
//! |---|---|
//! | `strict`, `exact-sequence` | the calls match the reference one for one |
//! | `subsequence` | the reference occurs in order, with other calls between |
//! | `unordered`, `superset` | each reference has a call of its own, in any order; others are fine |
//! | `subset` | each call has a reference of its own; references without a call are fine |
//!
//! An empty reference passes in every mode but `subset`, where it allows no call. In the modes without
//! order calls are paired off by a maximum matching, so that a lenient reference never takes the only
//! call that a strict one needs; in `subsequence` as many references as possible are found in order.
//! `trajectory.mismatch_count` is the number of references that were not found, plus that of calls
//! which the mode forbids. Where the verdict depends on arguments or a server that the trace does not
//! tell, there is none.

mod any_order;
mod in_order;
mod plan;
mod report;
mod shape;

pub use in_order::ALIGNMENT_PAIRS_MAX;
pub use plan::COMPARISONS_MAX;
pub use report::{Certainty, MISMATCHES_KEPT, Mismatch, TrajectoryError, TrajectoryReport};
pub use shape::{ArgumentShape, DIFFERENCES_KEPT};

use self::any_order::Pairs;
use self::plan::Plan;
use self::report::Mismatches;
use crate::prelude::*;

/// What the files here share.
mod prelude {
    pub use super::plan::*;
    pub use super::report::*;
    pub use super::shape::*;
    pub use super::*;
}

const PASSED: &str = "trajectory.passed";
const MISMATCH_COUNT: &str = "trajectory.mismatch_count";

/// The settings of the block `trajectory`.
#[derive(Debug, Clone, Default, Settings)]
pub struct TrajectoryBlock {
    /// How the expected calls line up with those that were made.
    #[setting(default = "strict")]
    pub mode: Mode,
    /// The expected calls, in order.
    #[setting(required = true)]
    pub calls: Vec<ExpectedCall>,
}

/// How expected calls line up with recorded ones.
#[choice(Copy, Default, Eq)]
pub enum Mode {
    /// One for one.
    #[default]
    #[serde(alias = "exact_sequence")]
    Strict,
    /// In order, with other calls between.
    Subsequence,
    /// In any order, with other calls besides.
    Unordered,
    /// As `unordered`: the reference is a lower bound.
    Superset,
    /// No call besides the reference.
    Subset,
}

impl Mode {
    /// The mode of this name; `exact-sequence` is `strict`, and `-` is accepted for `_`.
    ///
    /// ```
    /// use mcprove_score::agent::trajectory::Mode;
    ///
    /// assert_eq!(Mode::parse("exact-sequence"), Some(Mode::Strict));
    /// assert_eq!(Mode::parse("sequence"), None);
    /// ```
    pub fn parse(name: &str) -> Option<Self> {
        serde_json::from_value(json!(name.replace('-', "_"))).ok()
    }
}

impl SettingType for Mode {
    const KIND: Kind = Kind::OneOf(&[
        "strict",
        "exact_sequence",
        "subsequence",
        "unordered",
        "superset",
        "subset",
    ]);

    fn from_data(data: Data) -> Option<Self> {
        Self::parse(Node::new(data).text()?)
    }
}

/// A call that is expected.
#[derive(Debug, Clone, Default, PartialEq, Settings)]
pub struct ExpectedCall {
    /// The tool.
    ///
    /// `server__tool` and `mcp__server__tool` name its server too.
    #[setting(required = true)]
    pub name: String,
    /// The server that has the tool.
    #[setting(otherwise = "any")]
    pub server: Option<String>,
    /// What the arguments must be.
    #[setting(otherwise = "any")]
    pub args: ArgumentShape,
}

/// Compares recorded calls with the expected ones. A mismatch is a report that did not pass; an error
/// is what is wrong with an expectation, whatever was recorded, or that the verdict depends on what the
/// trace does not tell.
///
/// ```
/// use mcprove_score::agent::trajectory::{
///     ArgumentShape, ExpectedCall, Mode, TrajectoryBlock, validate_trace,
/// };
/// use mcprove_trace::ToolCall;
/// use serde_json::json;
///
/// let expected = TrajectoryBlock {
///     mode: Mode::Subsequence,
///     calls: vec![ExpectedCall {
///         name: "get_weather".into(),
///         args: ArgumentShape::Subset(json!({"city": "Sacramento"})),
///         ..ExpectedCall::default()
///     }],
///     ..TrajectoryBlock::default()
/// };
/// let call = |city: &str| ToolCall {
///     name: "get_weather".into(),
///     args: json!({"city": city, "days": 3}).into(),
///     ..ToolCall::default()
/// };
/// assert!(validate_trace(&expected, &[call("Sacramento")]).unwrap().passed);
/// let report = validate_trace(&expected, &[call("Paris")]).unwrap();
/// assert_eq!(report.mismatch_count, 1);
/// assert_eq!(report.mismatches[0].diffs[0].path, "args.city");
/// ```
pub fn validate_trace(
    expected: &TrajectoryBlock,
    calls: &[ToolCall],
) -> Result<TrajectoryReport, TrajectoryError> {
    validate(expected.mode, &Plan::compile(&expected.calls)?, calls)
}

fn validate(
    mode: Mode,
    plan: &Plan,
    calls: &[ToolCall],
) -> Result<TrajectoryReport, TrajectoryError> {
    let resolved = plan.resolve(calls);
    let plan = resolved.as_ref().unwrap_or(plan);
    let mismatches = compare(mode, plan, calls, Fit::Yes)?;
    let mut certainty = if mismatches.is_at_most {
        Certainty::AtMost
    } else {
        Certainty::Exact
    };
    // Where nothing differs, nothing could fit better.
    if mismatches.count > 0
        && let Some((call_index, expected_index)) = plan.first_doubt(calls)
    {
        let at_least = compare(mode, plan, calls, Fit::Unknown)?.count;
        if at_least == 0 {
            let call = &calls[call_index];
            let is_server = plan.references[expected_index].fit_server(call) == Fit::Unknown;
            return Err(TrajectoryError::Unknown {
                call_index,
                name: call.name.clone(),
                expected_index,
                untold: if is_server { "server" } else { "arguments" },
            });
        }
        if at_least < mismatches.count {
            certainty = Certainty::Unknown;
        }
    }
    Ok(TrajectoryReport {
        passed: mismatches.count == 0,
        mode,
        expected_calls: plan.references.len(),
        recorded_calls: calls.len(),
        mismatch_count: mismatches.count,
        certainty,
        mismatches: mismatches.kept,
    })
}

/// The mismatches, where a call is taken for the expected one that fits at least so well: what the trace does
/// not say fits, or differs.
fn compare(
    mode: Mode,
    plan: &Plan,
    calls: &[ToolCall],
    least: Fit,
) -> Result<Mismatches, TrajectoryError> {
    let pairs = || Pairs::find(plan, calls, least);
    let mismatches = match mode {
        Mode::Strict => in_order::strict(plan, calls, least),
        Mode::Subsequence => in_order::subsequence(plan, calls, least),
        Mode::Unordered | Mode::Superset => pairs().map(|pairs| pairs.missing()),
        Mode::Subset => pairs().map(|pairs| pairs.extra()),
    };
    mismatches.ok_or(TrajectoryError::TooLarge {
        expected_calls: plan.references.len(),
        recorded_calls: calls.len(),
    })
}

/// The metric `trajectory`.
#[derive(Debug)]
pub struct Trajectory;

impl Metric for Trajectory {
    type Block = TrajectoryBlock;

    const ABOUT: About = About {
        name: "trajectory",
        explanation: "whether the right calls were made, with the right arguments, in the right order",
        targets: &[
            Target::lowest(
                PASSED,
                "1 when every expected call matched under the mode, else 0",
            ),
            Target::highest(
                MISMATCH_COUNT,
                "expected calls that were not found, and calls that the mode forbids",
            ),
        ],
        default_gate: "`trajectory.passed` is 1",
        needs: &[Need::given("calls")],
        ..About::PLAIN
    };

    /// The default gate is `trajectory.passed >= 1` in every run.
    fn score(&self, case: &Case<'_, TrajectoryBlock>, card: &mut Scorecard) -> ScoreResult {
        let Some(block) = case.block else {
            return Ok(());
        };
        let as_score_error =
            |error: TrajectoryError| ScoreError::new(PASSED, error.message(), error.hint());
        let plan = Plan::compile(&block.calls).map_err(as_score_error)?;
        for (index, run) in case.trace.runs.iter().enumerate() {
            let mut run_card = card.run(&Self::ABOUT, index);
            let report = match validate(block.mode, &plan, &run.tool_calls) {
                Ok(report) => report,
                Err(error) => {
                    run_card.error(as_score_error(error));
                    continue;
                }
            };
            run_card.set(PASSED, u64::from(report.passed));
            let is_known = report.certainty != Certainty::Unknown;
            let count = count(report.mismatch_count);
            run_card.set(MISMATCH_COUNT, is_known.then_some(count));
            if !report.passed {
                run_card.fail(PASSED, json!({ "minimum": 1 }), 0, explain(&report));
                let reasons = report.mismatches.iter().map(|one| one.reason.clone());
                run_card.add_first_findings(count, "difference", reasons);
                run_card.detail(&report);
            }
            note_uncertain(index, &report, card);
        }
        Ok(())
    }
}

impl Row for ExpectedCall {
    const LABEL: &'static str = "a call";
    const LIST: &'static str = "list of names, or of `{name, server, args}`";
    const HINT: &'static str = "write a name, or { name: …, args: … }, for each call; [] for none";
    const NAMED: Option<fn(String) -> Self> = Some(|name| ExpectedCall {
        name,
        ..ExpectedCall::default()
    });
}

/// Says why a number is not exact.
fn note_uncertain(run: usize, report: &TrajectoryReport, card: &mut Scorecard) {
    match report.certainty {
        Certainty::Exact => {}
        Certainty::AtMost => card.note(format!(
            "{MISMATCH_COUNT} of run {run} is {} at most: finding the best way to line up {} with {} takes more than {} steps.",
            whole(count(report.mismatch_count)),
            counted(count(report.recorded_calls), "call"),
            counted(count(report.expected_calls), "expected one"),
            whole(count(ALIGNMENT_PAIRS_MAX)),
        )),
        Certainty::Unknown => card.note(format!(
            "{MISMATCH_COUNT} of run {run} is unknown: the trace does not have all arguments and servers that are compared."
        )),
    }
}

/// How many mismatches a run has, and the first of them.
fn explain(report: &TrajectoryReport) -> Message {
    let first = report.mismatches.first();
    let counted = match report.mismatch_count {
        0 | 1 => String::new(),
        many => format!("{} mismatches, the first: ", whole(count(many))),
    };
    sentence!(
        "in mode {}, {counted}{}",
        json!(report.mode).as_str().unwrap_or_default(),
        first.map_or_else(Message::default, |first| first.reason.clone())
    )
}

#[cfg(test)]
mod tests;
