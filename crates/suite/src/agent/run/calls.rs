//! Making the calls of one answer: all at once, recorded in the order of the answer, one result for each.

use mcprove_trace::{ToolCall, ToolResult};

use super::{End, Running};
use crate::agent::injected::{MetCall, failed};
use crate::agent::model_content::shown;
use crate::agent::provider::{Arguments, CallResult, Message, ToolUse};
use crate::agent::wire_name::taken_apart;
use crate::prelude::*;

/// How many calls of one answer are under way at once.
const CALLS_AT_ONCE_MAX: usize = 64;
/// How many names of tools a model is told that names one that is not there.
const NAMES_TOLD_MAX: usize = 50;
/// How much of arguments that are no JSON the model is told.
const ARGUMENTS_TOLD_MAX: usize = 200;

/// Why the last call of an answer is not made that was cut off.
const CUT: &str = "Invalid call: the answer was cut off at its limit of tokens, so that the call may be incomplete. It was not made.";

/// A call that is to be made, with the fault that strikes it.
struct PlannedCall<'a> {
    tool: &'a OfferedTool,
    args: Value,
    injection: Option<Injection>,
}

impl Running<'_> {
    /// Makes the calls of an answer as far as the budget allows; `is_cut` says that the last may be incomplete.
    pub async fn carry_out(&mut self, uses: &[ToolUse], is_cut: bool) -> Result<bool, End> {
        let room = self
            .test
            .budget
            .tool_calls
            .unwrap_or(u64::MAX)
            .saturating_sub(count(self.run.tool_calls.len()));
        let results = self.make_calls(uses, |place| {
            if count(place) >= room {
                Some(no_room(StopReason::ToolCallBudget))
            } else {
                (is_cut && place + 1 == uses.len()).then_some(CUT)
            }
        });
        let results = results.await?;
        if count(uses.len()) > room {
            return Err(End::of(StopReason::ToolCallBudget));
        }
        self.conversation.messages.push(Message::Results(results));
        Ok(true)
    }

    /// Takes calls into the trace, and makes those for which there is no reason not to.
    pub async fn make_calls(
        &mut self,
        uses: &[ToolUse],
        refusal: impl Fn(usize) -> Option<&'static str>,
    ) -> DiagnosticResult<Vec<CallResult>> {
        if uses.is_empty() {
            return Ok(Vec::new());
        }
        let tools = self.toolbox.tools();
        let mut call_index = self.run.tool_calls.len();
        let mut plans = Vec::with_capacity(uses.len());
        for (place, tool_use) in uses.iter().enumerate() {
            let tool = self.names.place(&tool_use.name);
            let tool = tool.and_then(|place| tools.get(place));
            let call = recorded(tool_use, tool);
            plans.push(match refusal(place) {
                Some(why) => Err(why.to_owned()),
                None => self.plan(tool_use, tool, &call.args),
            });
            self.run.tool_calls.push(call);
        }
        let timeout = self.test.budget.call.min(self.time_left());
        let mut outcomes = Vec::with_capacity(uses.len());
        for plans in plans.chunks(CALLS_AT_ONCE_MAX) {
            let calls = plans.iter().map(|plan| self.make(plan, timeout));
            let made: DiagnosticResult<Vec<MetCall>> = join_all(calls).await.into_iter().collect();
            let made = made?;
            let times = made.iter().map(|met| met.answer.duration);
            self.pass(times.max().unwrap_or_default());
            outcomes.extend(made);
        }
        let mut results = Vec::with_capacity(uses.len());
        for (MetCall { answer, mark }, tool_use) in outcomes.into_iter().zip(uses) {
            results.push(CallResult {
                id: tool_use.id.clone(),
                shown: shown(&answer.result.value()),
                is_error: answer.is_error,
            });
            self.run.tool_results.push(ToolResult {
                call_index,
                is_error: Some(answer.is_error),
                result: answer.result,
            });
            self.run.faults.extend(mark.map(|mut mark| {
                mark.call_index = call_index;
                mark
            }));
            call_index += 1;
        }
        self.add_turn("tool", "");
        Ok(results)
    }

    /// What is to become of a call, or why it cannot be made. Faults choose here, in the order of the answer.
    fn plan<'t>(
        &self,
        tool_use: &ToolUse,
        tool: Option<&'t OfferedTool>,
        args: &Json,
    ) -> Result<PlannedCall<'t>, String> {
        let Some(tool) = tool else {
            let count = self.toolbox.tools().len();
            let mut told: Vec<&str> = (0..count)
                .filter_map(|place| self.names.name(place))
                .take(NAMES_TOLD_MAX)
                .collect();
            if count > NAMES_TOLD_MAX {
                told.push("…");
            }
            let name = shorten(&tool_use.name, ARGUMENTS_TOLD_MAX);
            let told = told.join(", ");
            return Err(format!("Unknown tool: {name}. The tools are: {told}."));
        };
        if let Arguments::Bad { raw, why } = &tool_use.arguments {
            return Err(format!(
                "Invalid arguments: {why}. The call was not made. They are: {}",
                shorten(raw, ARGUMENTS_TOLD_MAX)
            ));
        }
        Ok(PlannedCall {
            tool,
            args: args.value(),
            injection: self.faults.strike(&tool.server, &tool.name, args),
        })
    }

    async fn make(
        &self,
        plan: &Result<PlannedCall<'_>, String>,
        timeout: Duration,
    ) -> DiagnosticResult<MetCall> {
        let PlannedCall {
            tool,
            args,
            injection,
        } = match plan {
            Ok(planned) => planned,
            Err(why) => {
                let (answer, mark) = (failed(why, Duration::ZERO), None);
                return Ok(MetCall { answer, mark });
            }
        };
        let call = ToolRequest {
            server: &tool.server,
            tool: &tool.name,
            args,
            timeout,
        };
        let faults = &self.faults;
        faults
            .carry_out(injection.as_ref(), self.toolbox, call)
            .await
    }
}

/// Why a call is not made for which this budget leaves no room.
pub fn no_room(spent: StopReason) -> &'static str {
    match spent {
        StopReason::ToolCallBudget => {
            "The call was not made: the run has used up its budget of tool calls."
        }
        StopReason::TokenBudget => {
            "The call was not made: the run has used up its budget of tokens."
        }
        StopReason::TimeBudget => "The call was not made: the run has used up its budget of time.",
        StopReason::TurnBudget | StopReason::Completed | StopReason::Error => {
            "The call was not made: the run was over."
        }
    }
}

/// A call as the trace has it: by the names that the servers know.
fn recorded(tool_use: &ToolUse, tool: Option<&OfferedTool>) -> ToolCall {
    let (server, name) = match tool {
        Some(tool) => (Some(tool.server.as_str()), tool.name.as_str()),
        None => taken_apart(&tool_use.name),
    };
    ToolCall {
        name: name.to_owned(),
        server: server.map(str::to_owned),
        args: match &tool_use.arguments {
            Arguments::Given(json) => json.clone(),
            // A text, for that is what it is.
            Arguments::Bad { raw, .. } => Json::from(Value::from(raw.as_str())),
        },
        caller: tool_use.caller.clone().map(Box::new),
        annotations: tool.and_then(|tool| tool.annotations),
        ..ToolCall::default()
    }
}
