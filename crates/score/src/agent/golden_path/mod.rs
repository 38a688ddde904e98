//! Whether the agent took the shortest way: the recorded tools against an ideal sequence.
//!
//! Three counts of waste, after mcptest, by the names of the tools:
//!
//! - `extra_steps`: calls beyond the length of the golden path;
//! - `backtracks`: returns to a tool used earlier that is not the one just before
//!   (a, b, a, c, a has two);
//! - `repeated_tools`: calls of the tool that was just called.
//!
//! A return or repeat that the golden path itself makes is not waste. So of each tool only the returns
//! beyond those that the golden path makes to the same tool count, the later ones; repeats likewise.
//! `penalty` is `1 / (1 + 0.5 w)`, where w is the sum of the counts that are switched on. A path `passed`
//! when w is 0 and the golden calls occur in order; w alone would pass a wrong path of the right length.

use super::tool_name::{check_servers, tools_of};
use crate::prelude::*;

/// What one wasted call weighs in the penalty.
const WASTE_WEIGHT: f64 = 0.5;

const PASSED: &str = "golden_path.passed";

/// The settings of the block `golden_path`.
#[derive(Debug, Clone, Settings)]
pub struct GoldenPathBlock {
    /// The shortest way, tool by tool.
    ///
    /// `server__tool` and `mcp__server__tool` name the server too.
    #[setting(required = true, kind = Kind::Names)]
    pub calls: Vec<String>,
    /// Whether extra calls are allowed.
    #[setting(default = false)]
    pub allow_extra_steps: bool,
    /// Whether a return to an earlier tool is waste.
    #[setting(default = true)]
    pub penalize_backtracking: bool,
    /// Whether the same tool twice in a row is waste.
    #[setting(default = true)]
    pub penalize_repeated_tools: bool,
}

impl Default for GoldenPathBlock {
    fn default() -> Self {
        Self::initial()
    }
}

/// How recorded calls compare with the golden path. All counts are told, also those that are
/// switched off.
#[sparse]
#[stored]
pub struct GoldenPathReport {
    /// Whether nothing that counts was wasted and the golden calls occur in order.
    pub passed: bool,
    /// From 1, no waste, towards 0.
    pub penalty: f64,
    /// Calls beyond the length of the golden path.
    pub extra_steps: u64,
    /// Returns to an earlier tool that the golden path does not make.
    pub backtracks: u64,
    /// Calls of the tool just called that the golden path does not make.
    pub repeated_tools: u64,
    /// The counts that are switched on, together.
    pub waste: u64,
    /// The first step of the golden path that does not occur in order.
    pub missing: Option<MissingStep>,
    /// The first recorded call that is no step of the golden path.
    pub first_extra: Option<GoldenStep>,
    /// The first return that is waste.
    pub first_backtrack: Option<GoldenStep>,
    /// The first repeat that is waste.
    pub first_repeat: Option<GoldenStep>,
}

/// A recorded call.
#[stored(Eq)]
pub struct GoldenStep {
    /// Its place.
    pub call_index: usize,
    /// The tool.
    pub name: String,
}

/// A step of the golden path that was not made in order.
#[stored(Eq)]
pub struct MissingStep {
    /// Its place in the golden path.
    pub golden_index: usize,
    /// The tool.
    pub name: String,
    /// The place of the recorded call from which on it was looked for.
    pub searched_from: usize,
}

/// Compares recorded calls with the golden path. A call whose server is unknown is no step that names
/// one.
///
/// ```
/// use mcprove_score::agent::golden_path::{GoldenPathBlock, score_golden_path};
/// use mcprove_trace::{AgentRun, ToolCall};
///
/// let recorded = ["search", "search", "fetch"].map(|name| ToolCall {
///     name: name.into(),
///     ..ToolCall::default()
/// });
/// let golden = GoldenPathBlock {
///     calls: vec!["search".into(), "fetch".into()],
///     ..GoldenPathBlock::default()
/// };
/// let report = score_golden_path(&recorded, &golden);
/// assert_eq!((report.extra_steps, report.repeated_tools), (1, 1));
/// assert_eq!(report.penalty, 0.5);
/// assert!(!report.passed);
/// ```
pub fn score_golden_path(recorded: &[ToolCall], golden: &GoldenPathBlock) -> GoldenPathReport {
    let names: Vec<&str> = recorded.iter().map(|call| call.name.as_str()).collect();
    let steps = ToolName::all_exact(&golden.calls);
    let tools = tools_of(recorded);
    // The tools without their servers, as the recorded calls have them.
    let path: Vec<&str> = steps
        .iter()
        .map(|step| step.split_by(&tools).map_or(step.written, |(_, tool)| tool))
        .collect();
    let extra_steps = count(names.len().saturating_sub(path.len()));
    let (missing, first_extra) = walk(recorded, &steps);
    let (backtracks, first_backtrack) = wasted(&names, &path, Detour::Return);
    let (repeated_tools, first_repeat) = wasted(&names, &path, Detour::Repeat);
    let enabled = [
        (!golden.allow_extra_steps, extra_steps),
        (golden.penalize_backtracking, backtracks),
        (golden.penalize_repeated_tools, repeated_tools),
    ];
    let waste = enabled
        .into_iter()
        .filter(|(is_enabled, _)| *is_enabled)
        .fold(0_u64, |sum, (_, count)| sum.saturating_add(count));
    GoldenPathReport {
        passed: waste == 0 && missing.is_none(),
        penalty: penalty(waste),
        extra_steps,
        backtracks,
        repeated_tools,
        waste,
        missing,
        first_extra,
        first_backtrack,
        first_repeat,
    }
}

/// The multiplier for so much waste: 1 for none, then down towards 0.
fn penalty(waste: u64) -> f64 {
    1.0 / (1.0 + WASTE_WEIGHT * float(waste))
}

/// The metric `golden_path`.
#[derive(Debug)]
pub struct GoldenPath;

impl Metric for GoldenPath {
    type Block = GoldenPathBlock;

    const ABOUT: About = About {
        name: "golden_path",
        explanation: "whether the calls were made efficiently: an ideal sequence against waste",
        targets: &[
            Target::lowest(
                "golden_path.penalty",
                "1 without waste, then 1 / (1 + 0.5 × wasted steps)",
            ),
            Target::lowest(
                PASSED,
                "1 when the golden calls occur in order and nothing is wasted, else 0",
            ),
            Target::highest(
                "golden_path.extra_steps",
                "calls beyond the length of the golden path",
            ),
            Target::highest(
                "golden_path.backtracks",
                "returns to a tool used earlier that is not the one just before",
            ),
            Target::highest(
                "golden_path.repeated_tools",
                "calls of the tool that was just called",
            ),
        ],
        default_gate: "`golden_path.passed` is 1",
        needs: &[Need::given("calls")],
        ..About::PLAIN
    };

    /// The default gate is `golden_path.passed >= 1` in every run.
    fn score_run(
        &self,
        run: &AgentRun,
        case: &Case<'_, GoldenPathBlock>,
        card: &mut RunCard<'_>,
    ) -> ScoreResult {
        let Some(block) = case.block else {
            return Ok(());
        };
        let calls = &run.tool_calls;
        check_servers(PASSED, &ToolName::all_exact(&block.calls), calls)?;
        let report = score_golden_path(calls, block);
        card.put(&report);
        if !report.passed {
            let reasons = explain(&report, block, calls.len());
            card.fail(
                PASSED,
                json!({ "minimum": 1 }),
                0,
                Message::join(reasons.clone(), "; "),
            );
            card.add_first_findings(count(reasons.len()), "detour", reasons);
            card.detail(report);
        }
        Ok(())
    }
}

/// Why the path was not followed, and where to look.
fn explain(report: &GoldenPathReport, block: &GoldenPathBlock, calls: usize) -> Vec<Message> {
    let mut reasons = Vec::new();
    if let Some(missing) = &report.missing {
        reasons.push(sentence!(
            "step {} of the golden path, {}, does not occur from call {} on (of {})",
            missing.golden_index,
            quoted(&missing.name),
            missing.searched_from,
            counted(count(calls), "call"),
        ));
    }
    let steps = counted(count(block.calls.len()), "step");
    let wastes = [
        (
            !block.allow_extra_steps,
            (report.extra_steps, "call"),
            format!("beyond the {steps} of the golden path"),
            &report.first_extra,
        ),
        (
            block.penalize_backtracking,
            (report.backtracks, "return"),
            "to an earlier tool".to_owned(),
            &report.first_backtrack,
        ),
        (
            block.penalize_repeated_tools,
            (report.repeated_tools, "repeat"),
            "of the tool just called".to_owned(),
            &report.first_repeat,
        ),
    ];
    for (is_enabled, (times, noun), what, first) in wastes {
        if is_enabled && times > 0 {
            let times = counted(times, noun);
            reasons.push(sentence!("{times} {what}{}", place(first.as_ref())));
        }
    }
    reasons
}

fn place(step: Option<&GoldenStep>) -> Message {
    step.map_or_else(Message::default, |step| {
        sentence!(
            " (first at call {}, {})",
            step.call_index,
            quoted(&step.name)
        )
    })
}

// How a sequence of tools follows another one, and where it leads back.

/// Takes each step of the path at the first chance: if the path can be followed at all, then so. The first step that is
/// not found, and the first call that is no step.
fn walk(calls: &[ToolCall], path: &[ToolName<'_>]) -> (Option<MissingStep>, Option<GoldenStep>) {
    let mut steps = path.iter().enumerate().peekable();
    let mut searched_from = 0;
    let mut first_extra = None;
    for (call_index, call) in calls.iter().enumerate() {
        let is_step = |(_, step): &(usize, &ToolName<'_>)| step.fit(call) == Fit::Yes;
        if steps.next_if(is_step).is_some() {
            searched_from = call_index + 1;
        } else if first_extra.is_none() {
            first_extra = Some(GoldenStep {
                call_index,
                name: call.name.clone(),
            });
        }
    }
    let missing = steps.next().map(|(golden_index, step)| MissingStep {
        golden_index,
        name: step.written.to_owned(),
        searched_from,
    });
    (missing, first_extra)
}

/// A call that leads back.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Detour {
    /// To a tool used earlier that is not the one just before.
    Return,
    /// To the tool just before.
    Repeat,
}

/// The detours of this kind beyond those that the golden path makes to the same tool: how many, and the first.
fn wasted(names: &[&str], path: &[&str], kind: Detour) -> (u64, Option<GoldenStep>) {
    let mut allowed: BTreeMap<&str, u64> = BTreeMap::new();
    for (_, name) in detours(path, kind) {
        *allowed.entry(name).or_default() += 1;
    }
    let mut wasted = detours(names, kind);
    wasted.retain(|(_, name)| match allowed.get_mut(name) {
        Some(left @ 1..) => {
            *left -= 1;
            false
        }
        _ => true,
    });
    let first = wasted.first().map(|(call_index, name)| GoldenStep {
        call_index: *call_index,
        name: (*name).to_owned(),
    });
    (count(wasted.len()), first)
}

/// The places of all detours of this kind, with their tools.
fn detours<'a>(names: &[&'a str], kind: Detour) -> Vec<(usize, &'a str)> {
    let mut used = BTreeSet::new();
    let mut previous = None;
    let mut detours = Vec::new();
    for (index, &name) in names.iter().enumerate() {
        let found = if previous == Some(name) {
            Some(Detour::Repeat)
        } else {
            (!used.insert(name)).then_some(Detour::Return)
        };
        if found == Some(kind) {
            detours.push((index, name));
        }
        previous = Some(name);
    }
    detours
}

#[cfg(test)]
mod tests;
