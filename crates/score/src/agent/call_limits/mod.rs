//! How often tools are called: at least, at most, each and all together.
//!
//! A limit is on all calls, or on those of one tool; in the name of a tool `*` stands for any
//! characters, and the limit is on all that fit together. A limit that is not kept is one violation,
//! however far off. This metric is our own.

use mcprove_settings::kind::{self, LIMIT_MAX};

use super::tool_name::check_servers;
use crate::prelude::*;

const VIOLATIONS: &str = "call_limits.violations";
const TOTAL_CALLS: &str = "call_limits.total_calls";
const PASSED: &str = "call_limits.passed";

/// The settings of the block `call_limits`.
#[derive(Debug, Clone, Default, Settings)]
pub struct CallLimitsBlock {
    /// Calls of a run.
    #[setting(otherwise = "no limit")]
    pub total: Option<Limit>,
    /// Calls of each tool.
    ///
    /// `server__tool` and `mcp__server__tool` name its server too.
    #[setting(otherwise = "no limits")]
    pub tools: Limits,
}

/// How many calls there may be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Settings)]
pub struct Limit {
    /// The fewest calls.
    #[setting(otherwise = "none", kind = limit(0))]
    pub min: Option<u64>,
    /// The most calls.
    #[setting(otherwise = "none", kind = limit(0))]
    pub max: Option<u64>,
}

/// Limits by tool.
#[derive(Debug, Clone, Default)]
pub struct Limits(pub BTreeMap<String, Limit>);

impl SettingType for Limit {
    const KIND: Kind = Kind::Other(
        "whole number (the most), or `{min, max}`",
        || json!({ "$ref": "#/$defs/limit" }),
    );

    fn read(reader: &mut Reader<'_>, field: &Field, _: &Setting) -> Option<Self> {
        let hint = "write 3 for at most three, or { min: 1, max: 3 }";
        let value = &field.value;
        let fields = match (&value.data, value.integer()) {
            (Data::Table(fields), _) => fields,
            (_, Some(most)) => {
                let max = u64::try_from(most).ok().filter(|most| *most <= LIMIT_MAX);
                if max.is_none() {
                    let expected = format!("a whole number from 0 to {LIMIT_MAX}");
                    reader.wrong(field, &expected, hint);
                }
                return max.map(|_| Self { min: None, max });
            }
            _ => {
                reader.wrong(field, "a number of calls, or a map of min and max", hint);
                return None;
            }
        };
        let limit: Self = table::read_map(reader, value, &"a limit".into())?;
        if fields.is_empty() {
            let message = sentence!("the limit `{}` has neither `min` nor `max`", field.name);
            reader.problem(&value.span, message, hint);
        }
        if let (Some(least), Some(most)) = (limit.min, limit.max)
            && least > most
        {
            let message = sentence!("`min` {least} is more than `max` {most}");
            reader.problem(&value.span, message, "swap them, or correct one");
        }
        Some(limit)
    }
}

impl SettingType for Limits {
    const KIND: Kind = Kind::Other(
        "map of limits by tool",
        || json!({ "type": "object", "additionalProperties": Limit::KIND.schema() }),
    );

    fn read(reader: &mut Reader<'_>, field: &Field, setting: &Setting) -> Option<Self> {
        let Data::Table(fields) = &field.value.data else {
            let hint = "write { search: 3, write: { min: 1, max: 1 } }";
            reader.wrong(field, "a map of limits by tool", hint);
            return None;
        };
        let limits = fields.iter().filter_map(|tool| {
            let limit: Limit = SettingType::read(reader, tool, setting)?;
            Some((tool.name.clone(), limit))
        });
        Some(Self(limits.collect()))
    }
}

/// The JSON Schema of a limit.
pub(crate) fn limit_schema() -> Value {
    let mut map = map_schema(Limit::declared());
    map["minProperties"] = 1.into();
    json!({
        "description": "The most calls, or the fewest and the most",
        "anyOf": [kind::limit(0).schema(), map],
    })
}

impl Limit {
    fn allows(self, calls: u64) -> bool {
        self.min.is_none_or(|min| calls >= min) && self.max.is_none_or(|max| calls <= max)
    }

    /// The limit in plain words: `at most 3`.
    fn describe(self) -> String {
        match (self.min.map(whole), self.max.map(whole)) {
            (Some(min), Some(max)) if min == max => format!("exactly {min}"),
            (Some(min), Some(max)) => format!("{min} to {max}"),
            (Some(min), None) => format!("at least {min}"),
            (None, Some(max)) => format!("at most {max}"),
            (None, None) => "any number".to_owned(),
        }
    }
}

/// How often tools were called.
#[stored(Default, Eq)]
pub struct CallLimitsReport {
    /// Whether every limit was kept.
    pub passed: bool,
    pub total_calls: u64,
    /// The limits that were not kept.
    pub violations: Vec<LimitViolation>,
}

/// A limit that was not kept.
#[sparse]
#[stored(Eq)]
pub struct LimitViolation {
    /// The tool; absent for all together.
    pub tool: Option<String>,
    /// How often it was called.
    pub calls: u64,
    /// How often it may be, in words.
    pub limit: String,
    /// The first call that was one too many, by its place in `tool_calls`.
    pub first_too_many: Option<usize>,
}

impl LimitViolation {
    fn describe(&self) -> Message {
        let what = match &self.tool {
            Some(tool) => sentence!("{} was called", quoted(tool)),
            None => "all tools together were called".into(),
        };
        let times = counted(self.calls, "time");
        let place = match self.first_too_many {
            Some(index) => format!(" (call {index} was the first too many)"),
            None => String::new(),
        };
        sentence!("{what} {times}, and must be {}{place}", self.limit)
    }
}

/// Counts calls and compares them with the limits. A limit that nothing can keep is an error, and so is
/// a call whose server a limit asks for and the trace does not tell.
///
/// ```
/// use mcprove_score::agent::call_limits::{CallLimitsBlock, Limit, Limits, check_call_limits};
/// use mcprove_trace::{AgentRun, ToolCall};
///
/// let once = Limit { min: None, max: Some(1) };
/// let tools = Limits([("pay".to_owned(), once)].into());
/// let block = CallLimitsBlock { tools, ..Default::default() };
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
) -> ScoreResult<CallLimitsReport> {
    let mut places: BTreeMap<Tool<'_>, Vec<usize>> = BTreeMap::new();
    for (index, call) in calls.iter().enumerate() {
        places.entry(tool_of(call)).or_default().push(index);
    }
    let names = ToolName::patterns(block.tools.0.keys());
    check_servers(VIOLATIONS, &names, calls)?;
    let mut violations = Vec::new();
    if let Some(limit) = block.total {
        let all: Vec<usize> = (0..calls.len()).collect();
        violations.extend(violation(None, limit, &all)?);
    }
    for ((tool, limit), name) in block.tools.0.iter().zip(names) {
        let fitting = places
            .iter()
            .filter(|((tool, server), _)| name.fit_tool(tool, *server) == Fit::Yes);
        let mut made: Vec<usize> = fitting.flat_map(|(_, places)| places).copied().collect();
        made.sort_unstable();
        violations.extend(violation(Some(tool), *limit, &made)?);
    }
    Ok(CallLimitsReport {
        passed: violations.is_empty(),
        total_calls: count(calls.len()),
        violations,
    })
}

/// What is wrong with the calls at these places, by a limit.
fn violation(
    tool: Option<&String>,
    limit: Limit,
    places: &[usize],
) -> ScoreResult<Option<LimitViolation>> {
    if let (Some(min), Some(max)) = (limit.min, limit.max)
        && min > max
    {
        let of = tool.map_or_else(|| "all calls".into(), |tool| quoted(tool));
        return Err(ScoreError::new(
            VIOLATIONS,
            sentence!("nothing can keep the limit of {of}: at least {min} and at most {max}"),
            sentence!("swap `min` and `max`, or correct one"),
        ));
    }
    let calls = count(places.len());
    let most = limit.max.and_then(|max| usize::try_from(max).ok());
    Ok((!limit.allows(calls)).then(|| LimitViolation {
        tool: tool.cloned(),
        calls,
        limit: limit.describe(),
        first_too_many: most.and_then(|most| places.get(most)).copied(),
    }))
}

/// The metric `call_limits`.
#[derive(Debug)]
pub struct CallLimits;

impl Metric for CallLimits {
    type Block = CallLimitsBlock;

    const ABOUT: About = About {
        name: "call_limits",
        explanation: "whether tools were called neither too often nor too rarely",
        targets: &[
            Target::highest(VIOLATIONS, "limits that were not kept"),
            Target::highest(TOTAL_CALLS, "all calls of the run"),
            Target::lowest(PASSED, "1 when every limit was kept, else 0"),
        ],
        default_gate: "no limit below is broken",
        needs: &[
            Need::given("total"),
            Need::filled("tools"),
            Need::given("expect"),
        ],
        ..About::PLAIN
    };

    /// Without its block only the calls are counted. The default gate is `call_limits.violations <= 0` in
    /// every run.
    fn score_run(
        &self,
        run: &AgentRun,
        case: &Case<'_, CallLimitsBlock>,
        card: &mut RunCard<'_>,
    ) -> ScoreResult {
        card.set(TOTAL_CALLS, count(run.tool_calls.len()));
        let Some(block) = case.block else {
            return Ok(());
        };
        let report = check_call_limits(&run.tool_calls, block)?;
        let violations = count(report.violations.len());
        card.set(VIOLATIONS, violations);
        card.set(PASSED, u64::from(report.passed));
        if !report.passed {
            let limits: Vec<Message> = report
                .violations
                .iter()
                .map(LimitViolation::describe)
                .collect();
            card.fail(
                VIOLATIONS,
                json!({ "maximum": 0 }),
                violations,
                Message::join(limits.clone(), "; "),
            );
            card.add_first_findings(violations, "broken limit", limits);
            card.detail(&report);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
