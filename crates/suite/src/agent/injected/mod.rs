//! The faults that the calls of an agent meet, in virtual time: nothing here ever sleeps.
//!
//! A call that would never return comes back at once, as the timeout that the agent would have seen, and
//! takes one detection budget of the run's clock. What a fault does is what it does live: those that
//! strike before the call keep it from the server, those that strike its answer have it executed. The
//! marks in the trace are what the scoring of virtual time reads. A fault strikes its call and nothing
//! else: the next call after a `crash` finds the server as it was.

mod acted_on;

use std::time::Duration;

use mcprove_client::transport::MAX_FRAME;
use mcprove_fault::{CallSite, FaultSpec, Injection, Injector};
use mcprove_trace::{Execution, FaultKind, FaultMark, Heard, Json, RealAnswer, Special};
use serde_json::{Value, json};

use self::acted_on::acted_on;
use super::toolbox::{ToolAnswer, Toolbox};
use crate::error::TestError;

/// The faults of one run.
pub struct InjectedFaults {
    injector: Injector,
    max_detection: Duration,
}

/// A call that is to be made.
#[derive(Clone, Copy)]
pub struct PlannedCall<'a> {
    /// The tools.
    pub toolbox: &'a dyn Toolbox,
    /// The name of the server.
    pub server: &'a str,
    /// The tool.
    pub tool: &'a str,
    /// Its arguments.
    pub args: &'a Value,
    /// How long it may take.
    pub timeout: Duration,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct MetCall {
    /// The answer that the agent gets; its duration is that of the run's clock.
    pub answer: ToolAnswer,
    /// The fault that it met; the place of the call is for the caller to fill in.
    pub mark: Option<FaultMark>,
}

impl InjectedFaults {
    /// These faults, in the order in which they are tried. `seed` decides for those that have none.
    /// An agent takes a call for lost after `max_detection`.
    pub fn new(specs: Vec<FaultSpec>, seed: u64, max_detection: Duration) -> Self {
        Self {
            injector: Injector::new(specs, seed),
            max_detection,
        }
    }

    /// The fault that strikes a call. Has to be asked in the order of the calls, once for each.
    pub fn strike(&self, server: &str, tool: &str, arguments: &Json) -> Option<Injection> {
        self.injector.strike(CallSite {
            server,
            tool,
            arguments: arguments.text(),
        })
    }

    /// Makes a call, or what the fault makes of it.
    pub async fn carry_out(
        &self,
        injection: Option<Injection>,
        call: PlannedCall<'_>,
    ) -> Result<MetCall, TestError> {
        let Some(injection) = injection else {
            let answer = call.make().await?;
            return Ok(MetCall { answer, mark: None });
        };
        let mut mark = mark(&injection);
        let answer = self.struck(&injection, call, &mut mark).await?;
        Ok(MetCall {
            answer,
            mark: Some(mark),
        })
    }

    async fn struck(
        &self,
        injection: &Injection,
        call: PlannedCall<'_>,
        mark: &mut FaultMark,
    ) -> Result<ToolAnswer, TestError> {
        let kind = injection.fault().kind;
        if let Some(delay) = injection.delay() {
            return self.delayed(kind, delay, call, mark).await;
        }
        match (kind.executes(), kind.heard()) {
            (Execution::Never, Heard::Nothing) => Ok(self.timed_out(call.tool)),
            (_, Heard::Nothing) => {
                let real = call.make().await?;
                mark.real_answer = Some(real_answer(&real));
                Ok(match kind.special() {
                    Special::Garbles(why) => unreadable(why, &real),
                    _ => self.timed_out(call.tool),
                })
            }
            // Late, twice, out of turn or among junk: a client that waits for its id hears what is right.
            (_, Heard::Right) => call.make().await,
            (_, Heard::Altered) if is_refused(injection.fault()) => {
                let real = call.make().await?;
                mark.real_answer = Some(real_answer(&real));
                Ok(too_large(&real))
            }
            (_, Heard::Altered | Heard::Failure) => acted_on(injection, call).await,
        }
    }

    /// A call whose answer is late: too late, or late.
    async fn delayed(
        &self,
        kind: FaultKind,
        delay: Duration,
        call: PlannedCall<'_>,
        mark: &mut FaultMark,
    ) -> Result<ToolAnswer, TestError> {
        if delay < self.max_detection {
            let mut answer = call.make().await?;
            answer.duration = answer.duration.saturating_add(delay);
            return Ok(answer);
        }
        // A client that gives up cancels the call before it is executed, which this kind does not heed.
        if kind.special() == Special::IgnoresCancellation {
            let real = call.make().await?;
            mark.real_answer = Some(real_answer(&real));
        }
        Ok(self.timed_out(call.tool))
    }

    fn timed_out(&self, tool: &str) -> ToolAnswer {
        let waited = self.max_detection.as_millis();
        let text = format!("The call of {tool} timed out: no answer within {waited} ms.");
        failed(&text, self.max_detection)
    }
}

impl PlannedCall<'_> {
    async fn make(&self) -> Result<ToolAnswer, TestError> {
        let call = self
            .toolbox
            .call(self.server, self.tool, self.args, self.timeout);
        call.await
    }
}

fn mark(injection: &Injection) -> FaultMark {
    let fault = injection.fault();
    let millis = |delay: Duration| u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
    FaultMark {
        fault: Some(fault.name.clone()),
        kind: fault.kind,
        delay_ms: injection.delay().map(millis),
        failures: injection.strikes_max(),
        ..FaultMark::default()
    }
}

/// An error that an agent sees in place of an answer.
pub(super) fn failed(text: &str, duration: Duration) -> ToolAnswer {
    let result = json!({ "content": [{ "type": "text", "text": text }], "isError": true });
    ToolAnswer {
        result: result.into(),
        is_error: true,
        duration,
    }
}

/// What the server said behind a fault. An error without a code is none of the server's.
fn real_answer(answer: &ToolAnswer) -> RealAnswer {
    if !answer.is_error {
        return RealAnswer::Success;
    }
    let result = answer.result.value();
    match result.get("error") {
        Some(error) if error.get("code").is_none() => RealAnswer::Nothing,
        _ => RealAnswer::Error,
    }
}

fn unreadable(why: &str, real: &ToolAnswer) -> ToolAnswer {
    let text = format!("The reply of the server could not be read: {why}.");
    failed(&text, real.duration)
}

/// Whether an answer is larger than any that we would read.
fn is_refused(fault: &FaultSpec) -> bool {
    let bytes = fault.settings.get("bytes").and_then(Value::as_u64);
    bytes.is_some_and(|bytes| bytes > MAX_FRAME as u64)
}

fn too_large(real: &ToolAnswer) -> ToolAnswer {
    let text =
        format!("The reply of the server could not be read: it is larger than {MAX_FRAME} bytes.");
    failed(&text, real.duration)
}

#[cfg(test)]
mod tests;
