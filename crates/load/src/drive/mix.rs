//! What is called, made ready: each tool's request with its arguments, and where its token goes.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use mcprove_arguments as arguments;
use mcprove_arguments::Choice;
use mcprove_client::permission::Allowance;
use mcprove_client::session::{Request, Session};
use mcprove_settings::message::{Diagnostic, Message, message, setting};
use mcprove_settings::own_limits::OwnLimit;
use mcprove_trace::decision::decide_share;
use mcprove_trace::protocol::Tool;
use serde_json::Value;

use super::stage::Stage;
use super::workload::{ErrorBehavior, Pattern, Step, ToolCall};

/// How many tools are listed when none may be called.
const LEFT_OUT_MAX: usize = 100;

/// Why nothing can be called.
#[derive(Debug)]
pub(crate) enum MixError {
    /// Arguments of a tool cannot be made.
    Arguments {
        /// The tool.
        tool: String,
        /// Why.
        reason: String,
    },
    /// There is nothing to call.
    Nothing(Diagnostic),
    /// What was asked for does not fit the server.
    Unfit(Diagnostic),
}

impl From<MixError> for Diagnostic {
    fn from(error: MixError) -> Self {
        match error {
            MixError::Nothing(diagnostic) | MixError::Unfit(diagnostic) => diagnostic,
            MixError::Arguments { tool, reason } => Self::new(
                format!("no arguments can be made for {tool:?}: {reason}"),
                message!["give them with ", setting("args")],
            ),
        }
    }
}

/// Something is called by a name that no tool has.
fn unknown_tool(tools: &[Tool], name: &str, what: impl Into<Message>) -> MixError {
    let names = tools.iter().map(|tool| tool.name.as_str());
    let hint = match mcprove_settings::registry::nearest(names, name) {
        Some(near) => format!("did you mean {near:?}?"),
        None => "`mcprove probe` with the same server shows its tools".to_owned(),
    };
    MixError::Unfit(Diagnostic::new(what, hint))
}

/// What is called, by weight.
pub(crate) struct Mix {
    patterns: Vec<ReadyPattern>,
    /// The sum of the weights up to and including each pattern.
    bounds: Vec<f64>,
    seed: u64,
}

/// A pattern made ready.
pub(crate) struct ReadyPattern {
    /// The pause after each step.
    pub think_time: Duration,
    /// What a failed step does.
    pub error_behavior: ErrorBehavior,
    /// The steps.
    pub steps: Vec<ReadyStep>,
}

impl ReadyPattern {
    /// Whether one of its steps is a call of one of `tools`.
    pub fn calls_any_of(&self, tools: &BTreeSet<String>) -> bool {
        self.steps.iter().any(|step| match step {
            ReadyStep::Call(call) => tools.contains(&call.tool),
            ReadyStep::List(_) => false,
        })
    }
}

/// A step made ready.
pub(crate) enum ReadyStep {
    /// A call of a tool.
    Call(ReadyCall),
    /// A list of the tools.
    List(Request),
}

/// A call made ready: sent any number of times, each with its own token.
pub(crate) struct ReadyCall {
    /// The request; its parameters hold the token of call 0.
    pub request: Request,
    /// Where the digits of the token are in the parameters; nowhere when it carries none.
    pub places: Vec<Range<usize>>,
    /// The tool.
    pub tool: String,
}

impl ReadyCall {
    /// Makes one call ready.
    pub fn new(
        stage: &Stage,
        session: &Session,
        tools: &[Tool],
        call: &ToolCall,
    ) -> Result<Self, MixError> {
        let tool = find(tools, &call.name)?;
        let token = stage.tokens.token(0);
        let arguments = if call.args.is_null() {
            make_arguments(stage, tool, &token)?
        } else {
            if let Some(strict) = &stage.strict {
                strict.check_arguments(tool, &call.args);
            }
            call.args.clone()
        };
        let request = session.tool_request(&tool.name, &arguments);
        // A header that mirrors the token would have to change with it: leave such calls alone.
        let is_mirrored = request
            .headers
            .iter()
            .any(|(_, value)| value.contains(&token));
        let places = if call.args.is_null() && !is_mirrored {
            stage.tokens.places(&request.params, &token)
        } else {
            Vec::new()
        };
        Ok(Self {
            request,
            places,
            tool: tool.name.clone(),
        })
    }
}

fn make_arguments(stage: &Stage, tool: &Tool, token: &str) -> Result<Value, MixError> {
    let unfit = |reason: String| MixError::Arguments {
        tool: tool.name.clone(),
        reason,
    };
    let folder = stage.folder();
    let folder = folder.map_err(|error| {
        let limit = OwnLimit::of(error).map(|limit| format!("{limit}; {}", limit.hint()));
        let why = limit.unwrap_or_else(|| error.to_string());
        unfit(format!("no temporary folder can be made: {why}"))
    })?;
    let choice = Choice {
        token: Some(token.to_owned()),
        // The first choice of every enum: what a server offers first is the least likely to fail.
        seed: 0,
        folder: Some(folder.to_owned()),
    };
    let arguments = arguments::from_schema(&tool.input_schema, &choice);
    arguments.map_err(|error| unfit(error.to_string()))
}

/// The tool of that name.
pub(crate) fn find<'a>(tools: &'a [Tool], name: &str) -> Result<&'a Tool, MixError> {
    let found = tools.iter().find(|tool| tool.name == name);
    found.ok_or_else(|| unknown_tool(tools, name, format!("the server has no tool {name:?}")))
}

/// Fails for a limit on a tool that does not exist, which would always hold.
pub(crate) fn check_limited(tools: &[Tool], name: &str) -> Result<(), MixError> {
    let what =
        format!("there is a threshold for the tool {name:?}, which the server does not have");
    find(tools, name)
        .map(drop)
        .map_err(|_| unknown_tool(tools, name, what))
}

/// Fails for a fault that is aimed at a tool that does not exist, which would strike nothing.
pub(crate) fn check_faulted(tools: &[Tool], name: &str) -> Result<(), MixError> {
    let what = format!("a fault is aimed at the tool {name:?}, which the server does not have");
    find(tools, name)
        .map(drop)
        .map_err(|_| unknown_tool(tools, name, what))
}

/// Fails for a fault that is aimed at another server, which would strike nothing.
pub(crate) fn check_faulted_server(known: &str, name: &str) -> Result<(), MixError> {
    if known == name {
        return Ok(());
    }
    Err(MixError::Unfit(Diagnostic::new(
        format!("a fault is aimed at the server {name:?}, but this one is called {known:?}"),
        format!("did you mean {known:?}? Without a server the fault strikes any"),
    )))
}

/// What to call: what was asked for, or every tool that may be called.
pub(crate) fn calls_for(stage: &Stage, tools: &[Tool]) -> Result<Vec<ToolCall>, MixError> {
    if !stage.scenario.tool_calls.is_empty() {
        for call in &stage.scenario.tool_calls {
            find(tools, &call.name)?;
        }
        return Ok(stage.scenario.tool_calls.clone());
    }
    if tools.is_empty() {
        return Err(MixError::Nothing(Diagnostic::new(
            "the server has no tools, so there is nothing to call",
            "`mcprove probe` shows what it offers, and what it may need to be told (an environment variable, a login)",
        )));
    }
    let token = stage.tokens.token(0);
    let allowance = stage.allowance();
    let mut calls = Vec::new();
    let mut left_out = Vec::new();
    for tool in tools {
        match why_not(tool, &allowance, &|| {
            make_arguments(stage, tool, &token).map(drop)
        }) {
            None => calls.push(ToolCall::new(&tool.name)),
            Some(reason) => left_out.push(format!("{} ({reason})", tool.name)),
        }
    }
    if calls.is_empty() {
        return Err(MixError::Nothing(nothing_free(&left_out)));
    }
    Ok(calls)
}

/// Why a tool is not called unless it is named.
fn why_not(
    tool: &Tool,
    allowance: &Allowance,
    make: &dyn Fn() -> Result<(), MixError>,
) -> Option<String> {
    if let Some(reason) = allowance.refusal(tool) {
        Some(reason.to_string())
    } else if tool.requires_task() {
        Some("only as a task".to_owned())
    } else {
        match make() {
            Ok(()) => None,
            Err(MixError::Arguments { reason, .. }) => Some(reason),
            Err(error) => Some(Diagnostic::from(error).to_string()),
        }
    }
}

fn nothing_free(left_out: &[String]) -> Diagnostic {
    let mut lines: Vec<String> = left_out.iter().take(LEFT_OUT_MAX).cloned().collect();
    if left_out.len() > LEFT_OUT_MAX {
        lines.push(format!("and {} more", left_out.len() - LEFT_OUT_MAX));
    }
    Diagnostic::new(
        format!(
            "no tool of the server may be called without being named:\n  {}\n",
            lines.join("\n  ")
        ),
        message![
            "name one as ",
            setting("tool_call"),
            ", with arguments where none can be made, or set ",
            setting("allow_writes"),
            " to call tools that may write"
        ],
    )
}

impl Mix {
    /// Weighted single calls.
    pub fn of_calls(
        stage: &Stage,
        session: &Session,
        tools: &[Tool],
        calls: &[ToolCall],
    ) -> Result<Self, MixError> {
        let patterns: Vec<Pattern> = calls
            .iter()
            .map(|call| Pattern {
                name: call.name.clone(),
                weight: call.weight,
                think_time: Duration::ZERO,
                error_behavior: ErrorBehavior::Continue,
                steps: vec![Step::Call(call.clone())],
            })
            .collect();
        Self::of_patterns(stage, session, tools, &patterns)
    }

    /// Weighted sequences.
    pub fn of_patterns(
        stage: &Stage,
        session: &Session,
        tools: &[Tool],
        patterns: &[Pattern],
    ) -> Result<Self, MixError> {
        let mut ready = Vec::new();
        let mut bounds = Vec::new();
        let mut sum = 0.0;
        for pattern in patterns {
            let weight = pattern.weight;
            if !weight.is_finite() || weight < 0.0 {
                let name = &pattern.name;
                let message =
                    format!("the weight of {name:?} is {weight}, and must be zero or more");
                return Err(MixError::Unfit(message.into()));
            }
            let steps = pattern
                .steps
                .iter()
                .map(|step| match step {
                    Step::Call(call) => {
                        ReadyCall::new(stage, session, tools, call).map(ReadyStep::Call)
                    }
                    Step::ListTools => Ok(ReadyStep::List(Request::new("tools/list"))),
                })
                .collect::<Result<Vec<_>, _>>()?;
            sum += weight;
            bounds.push(sum);
            ready.push(ReadyPattern {
                think_time: pattern.think_time,
                error_behavior: pattern.error_behavior,
                steps,
            });
        }
        if sum <= 0.0 || ready.iter().all(|pattern| pattern.steps.is_empty()) {
            let message =
                "there is nothing to call: every weight is zero, or no pattern has a step";
            return Err(MixError::Unfit(message.into()));
        }
        Ok(Self {
            patterns: ready,
            bounds,
            seed: stage.seed,
        })
    }

    /// How many patterns there are.
    pub fn len(&self) -> usize {
        self.patterns.len()
    }

    /// The pattern that call `number` begins, the same whoever makes it: its place and itself.
    pub fn choose(&self, number: u64) -> Option<(usize, &ReadyPattern)> {
        let place = if self.patterns.len() == 1 {
            0
        } else {
            let total = self.bounds.last().copied().unwrap_or_default();
            let mark = decide_share(self.seed, "mix", number) * total;
            self.bounds
                .partition_point(|bound| *bound <= mark)
                .min(self.patterns.len() - 1)
        };
        self.patterns.get(place).map(|pattern| (place, pattern))
    }
}

/// The mixes of a load, by the number that its phases have.
pub(crate) type Mixes = Arc<Vec<Mix>>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_that_are_not_called_are_named_with_the_reason() {
        let tool = |json: &str| serde_json::from_str::<Tool>(json).unwrap();
        let unmade = || Err(MixError::Nothing("no arguments".into()));
        let reason = |json: &str| why_not(&tool(json), &Allowance::default(), &|| Ok(()));
        assert_eq!(
            reason(r#"{"name":"get","inputSchema":{"type":"object"}}"#),
            None
        );
        let refused = reason(r#"{"name":"get","annotations":{"destructiveHint":true}}"#);
        assert_eq!(refused.as_deref(), Some("destructiveHint is true"));
        let unmade = why_not(&tool(r#"{"name":"get"}"#), &Allowance::default(), &unmade);
        assert_eq!(unmade.as_deref(), Some("no arguments"));
        let text = nothing_free(&["a (x)".to_owned(), "b (y)".to_owned()]).to_string();
        assert!(
            text.contains("named:\n  a (x)\n  b (y)\n; name one"),
            "{text}"
        );
    }
}
