//! Making the calls of one answer: all at once, recorded in the order of the answer, one result for each.

use std::time::Duration;

use futures_util::future::join_all;
use mcprove_fault::Injection;
use mcprove_settings::text::shorten;
use mcprove_trace::{Json, StopReason, ToolCall};
use serde_json::Value;

use super::{End, Next, RunFailure, Running};
use crate::agent::injected::{MetCall, PlannedCall, failed};
use crate::agent::model::Later;
use crate::agent::model_content::shown;
use crate::agent::provider::{Arguments, CallResult, Message, ModelAnswer, Stop, ToolUse};
use crate::agent::toolbox::OfferedTool;
use crate::agent::wire_name::taken_apart;
use crate::error::TestError;

/// How many calls of one answer are under way at once.
const CALLS_AT_ONCE_MAX: usize = 64;
/// How many names of tools a model is told that names one that is not there.
const NAMES_TOLD_MAX: usize = 50;
/// How much of arguments that are no JSON the model is told.
const ARGUMENTS_TOLD_MAX: usize = 200;

/// Why the last call of an answer is not made that was cut off.
const CUT: &str = "Invalid call: the answer was cut off at its limit of tokens, so that the call may be incomplete. It was not made.";

/// What is to become of a call.
enum Plan<'a> {
    /// It is made.
    Make {
        tool: &'a OfferedTool,
        args: Value,
        injection: Option<Injection>,
    },
    /// It cannot be made, for this reason.
    Refuse(String),
}

impl Running<'_> {
    pub(super) async fn make_calls(&mut self, answer: ModelAnswer) -> Next {
        let made = self.record.run.tool_calls.len();
        let room = match self.test.budget.tool_calls {
            Some(most) => usize::try_from(most)
                .unwrap_or(usize::MAX)
                .saturating_sub(made),
            None => usize::MAX,
        };
        let is_over = answer.uses.len() > room;
        let is_cut = answer.stop == Stop::Cut;
        let last = answer.uses.len().saturating_sub(1);
        let uses: Vec<(&ToolUse, Option<&str>)> = answer
            .uses
            .iter()
            .enumerate()
            .map(|(place, tool_use)| {
                let refusal = if place >= room {
                    Some(no_room(StopReason::ToolCallBudget))
                } else {
                    (is_cut && place == last).then_some(CUT)
                };
                (tool_use, refusal)
            })
            .collect();
        match self.carry_out(&uses).await {
            Ok(results) if !is_over => {
                self.conversation.messages.push(Message::Results(results));
                Next::Ask
            }
            Ok(_) => Next::End(End::of(StopReason::ToolCallBudget)),
            Err(missing) => Next::End(RunFailure::NotRecorded(missing).into()),
        }
    }

    /// Takes calls into the trace that are not made because a budget is used up: the agent wanted them.
    pub(super) async fn leave_calls(&mut self, uses: &[ToolUse], spent: StopReason) {
        let refused: Vec<_> = uses
            .iter()
            .map(|tool_use| (tool_use, Some(no_room(spent))))
            .collect();
        // Nothing is asked of a toolbox, so that nothing can be missing there.
        let _ = self.carry_out(&refused).await;
    }

    async fn carry_out(
        &mut self,
        uses: &[(&ToolUse, Option<&str>)],
    ) -> Result<Vec<CallResult>, TestError> {
        if uses.is_empty() {
            return Ok(Vec::new());
        }
        let toolbox = self.toolbox;
        let first = self.record.run.tool_calls.len();
        let mut plans = Vec::with_capacity(uses.len());
        for (tool_use, refusal) in uses {
            let (call, plan) = self.plan(tool_use, *refusal, toolbox.tools());
            self.record.run.tool_calls.push(call);
            plans.push(plan);
        }
        let timeout = self.test.budget.call.min(self.time_left());
        let mut outcomes = Vec::with_capacity(uses.len());
        for plans in plans.chunks(CALLS_AT_ONCE_MAX) {
            let calls = plans.iter().map(|plan| self.make(plan, timeout));
            let made: Result<Vec<MetCall>, TestError> = join_all(calls).await.into_iter().collect();
            let made = made?;
            let times = made.iter().map(|met| met.answer.duration);
            self.pass(times.max().unwrap_or_default());
            outcomes.extend(made);
        }
        let mut results = Vec::with_capacity(uses.len());
        for (place, (met, (tool_use, _))) in outcomes.into_iter().zip(uses).enumerate() {
            results.push(CallResult {
                id: tool_use.id.clone(),
                shown: shown(&met.answer.result.value()),
                is_error: met.answer.is_error,
            });
            self.record.add_result(first + place, met);
        }
        self.record.add_turn("tool", "");
        Ok(results)
    }

    /// What a call is in the trace, and what is to become of it. Faults choose here, in the order of the
    /// answer.
    fn plan<'t>(
        &self,
        tool_use: &ToolUse,
        refusal: Option<&str>,
        tools: &'t [OfferedTool],
    ) -> (ToolCall, Plan<'t>) {
        let place = self.names.place(&tool_use.name);
        let tool = place.and_then(|place| tools.get(place));
        let call = recorded(tool_use, tool);
        let args = call.args.clone();
        if let Some(why) = refusal {
            return (call, Plan::Refuse(why.to_owned()));
        }
        let plan = match (tool, &tool_use.arguments) {
            (None, _) => Plan::Refuse(self.unknown(&tool_use.name, tools.len())),
            (Some(_), Arguments::Bad { raw, why }) => Plan::Refuse(format!(
                "Invalid arguments: {why}. The call was not made. They are: {}",
                shorten(raw, ARGUMENTS_TOLD_MAX)
            )),
            (Some(tool), Arguments::Given(_)) => Plan::Make {
                tool,
                args: args.value(),
                injection: self.faults.strike(&tool.server, &tool.name, &args),
            },
        };
        (call, plan)
    }

    fn unknown(&self, name: &str, count: usize) -> String {
        let names = (0..count).filter_map(|place| self.names.name(place));
        let mut told: Vec<&str> = names.take(NAMES_TOLD_MAX).collect();
        if count > NAMES_TOLD_MAX {
            told.push("…");
        }
        let name = shorten(name, ARGUMENTS_TOLD_MAX);
        format!("Unknown tool: {name}. The tools are: {}.", told.join(", "))
    }

    fn make<'c>(
        &'c self,
        plan: &'c Plan<'c>,
        timeout: Duration,
    ) -> Later<'c, Result<MetCall, TestError>> {
        Box::pin(async move {
            match plan {
                Plan::Refuse(why) => Ok(MetCall {
                    answer: failed(why, Duration::ZERO),
                    mark: None,
                }),
                Plan::Make {
                    tool,
                    args,
                    injection,
                } => {
                    let call = PlannedCall {
                        toolbox: self.toolbox,
                        server: &tool.server,
                        tool: &tool.name,
                        args,
                        timeout,
                    };
                    self.faults.carry_out(injection.clone(), call).await
                }
            }
        })
    }
}

/// Why a call is not made for which this budget leaves no room.
fn no_room(spent: StopReason) -> &'static str {
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
