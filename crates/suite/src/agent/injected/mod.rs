//! The faults that the calls of an agent meet, in virtual time: nothing here ever sleeps.
//!
//! A call that would never return comes back at once, as the timeout that the agent would have seen, and
//! takes one detection budget of the run's clock. What a fault does is what it does live: those that
//! strike before the call keep it from the server, those that strike its answer have it executed. The
//! marks in the trace are what the scoring of virtual time reads. A fault strikes its call and nothing
//! else: the next call after a `crash` finds the server as it was.

use bytes::Bytes;
use mcprove_fault::{CallSite, FaultedCall, Injector, status_reply};
use mcprove_trace::{ClientView, Execution, RealAnswer, Special};

use crate::prelude::*;

/// The faults of one run.
pub struct InjectedFaults {
    injector: Injector,
    max_detection: Duration,
}

/// The outcome of a call.
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
        injection: Option<&Injection>,
        toolbox: &dyn Toolbox,
        call: ToolRequest<'_>,
    ) -> DiagnosticResult<MetCall> {
        let Some(injection) = injection else {
            let answer = toolbox.call(call).await?;
            return Ok(MetCall { answer, mark: None });
        };
        let (fault, delay) = (injection.fault(), injection.delay());
        let kind = fault.kind;
        // What the server says though the agent does not hear it.
        let mut unheard = None;
        let answer = match (delay, kind.client_view()) {
            (Some(delay), _) if delay < self.max_detection => {
                let answer = toolbox.call(call).await?;
                ToolAnswer {
                    duration: answer.duration.saturating_add(delay),
                    ..answer
                }
            }
            (Some(_), _) => {
                // A client that gives up cancels the call before it is executed, which this kind does not heed.
                if kind.special() == Special::IgnoresCancellation {
                    unheard = Some(toolbox.call(call).await?);
                }
                self.timed_out(call.tool)
            }
            (None, ClientView::Nothing) if kind.executes() == Execution::Never => {
                self.timed_out(call.tool)
            }
            (None, ClientView::Nothing) => {
                let real = unheard.insert(toolbox.call(call).await?);
                match kind.special() {
                    Special::Garbles(why) => unreadable(why, real.duration),
                    _ => self.timed_out(call.tool),
                }
            }
            // Late, twice, out of turn or among junk: a client that waits for its id hears what is right.
            (None, ClientView::Right) => toolbox.call(call).await?,
            (None, ClientView::Altered) if is_refused(fault) => {
                let real = unheard.insert(toolbox.call(call).await?);
                unreadable(
                    &format!("it is larger than {} bytes", CALL_LIMITS.max_frame),
                    real.duration,
                )
            }
            (None, ClientView::Altered | ClientView::Failure) => {
                acted_on(injection, toolbox, call).await?
            }
        };
        let millis = |delay: Duration| u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
        let mark = FaultMark {
            fault: Some(fault.name.clone()),
            kind,
            delay_ms: delay.map(millis),
            failures: injection.strikes_max(),
            real_answer: unheard.as_ref().map(real_answer),
            ..FaultMark::default()
        };
        Ok(MetCall {
            answer,
            mark: Some(mark),
        })
    }

    fn timed_out(&self, tool: &str) -> ToolAnswer {
        let waited = self.max_detection.as_millis();
        let text = format!("The call of {tool} timed out: no answer within {waited} ms.");
        failed(&text, self.max_detection)
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

fn unreadable(why: &str, duration: Duration) -> ToolAnswer {
    let text = format!("The reply of the server could not be read: {why}.");
    failed(&text, duration)
}

/// Whether an answer is larger than any that we would read.
fn is_refused(fault: &FaultSpec) -> bool {
    let bytes = fault.settings.get("bytes").and_then(Value::as_u64);
    bytes.is_some_and(|bytes| bytes > CALL_LIMITS.max_frame as u64)
}

/// What the fault itself makes of the call. Only for kinds that do not wait.
async fn acted_on(
    injection: &Injection,
    toolbox: &dyn Toolbox,
    call: ToolRequest<'_>,
) -> DiagnosticResult<ToolAnswer> {
    let acted = ActedOn {
        toolbox,
        call,
        outcome: Mutex::new(Ok(failed("The server gave no answer.", Duration::ZERO))),
    };
    injection.apply(&acted).await;
    lock(&acted.outcome).clone()
}

/// A call that a fault acts on.
struct ActedOn<'a> {
    toolbox: &'a dyn Toolbox,
    call: ToolRequest<'a>,
    /// It takes as long as the real call took.
    outcome: Mutex<DiagnosticResult<ToolAnswer>>,
}

impl ActedOn<'_> {
    fn end(&self, answer: ToolAnswer) -> BoxFuture<'_, ()> {
        // That a recording has no such call stays so, whatever the fault makes of it.
        if let Ok(kept) = &mut *lock(&self.outcome) {
            let duration = kept.duration;
            *kept = ToolAnswer { duration, ..answer };
        }
        Box::pin(ready(()))
    }

    fn fail(&self, text: &str) -> BoxFuture<'_, ()> {
        self.end(failed(text, Duration::ZERO))
    }
}

impl FaultedCall for ActedOn<'_> {
    fn id(&self) -> &'static str {
        "1"
    }

    fn tool(&self) -> &str {
        self.call.tool
    }

    fn progress_token(&self) -> Option<&Value> {
        None
    }

    fn is_stateless(&self) -> bool {
        false
    }

    fn execute(&self) -> BoxFuture<'_, Option<Bytes>> {
        Box::pin(async {
            match self.toolbox.call(self.call).await {
                Ok(answer) => {
                    if let Ok(kept) = &mut *lock(&self.outcome) {
                        kept.duration = answer.duration;
                    }
                    Some(message(&answer))
                }
                Err(error) => {
                    *lock(&self.outcome) = Err(error);
                    None
                }
            }
        })
    }

    fn reply(&self, message: Bytes) -> BoxFuture<'_, ()> {
        self.end(answer(&message))
    }

    fn send(&self, _: Bytes) -> BoxFuture<'_, ()> {
        Box::pin(ready(()))
    }

    fn reply_cut(&self, _: Bytes) -> BoxFuture<'_, ()> {
        self.end(unreadable("it was cut off", Duration::ZERO))
    }

    fn disconnect(&self) -> BoxFuture<'_, ()> {
        self.fail("The connection was closed by the server.")
    }

    fn crash(&self) -> BoxFuture<'_, ()> {
        self.fail("The server exited with status 1; the connection was closed.")
    }

    fn refuse(&self, status: u16, retry_after_s: u64) -> BoxFuture<'_, ()> {
        self.end(answer(&status_reply(self, status, retry_after_s)))
    }

    fn ignore_cancellation(&self) {}
}

/// An answer as the message that it came in.
fn message(answer: &ToolAnswer) -> Bytes {
    let result = answer.result.value();
    let message = match result.get("error") {
        Some(error) => json!({ "jsonrpc": "2.0", "id": 1, "error": error }),
        None => json!({ "jsonrpc": "2.0", "id": 1, "result": result }),
    };
    message.to_string().into()
}

/// A message as the answer that it is.
fn answer(message: &Bytes) -> ToolAnswer {
    let message: Value = serde_json::from_slice(message).unwrap_or_default();
    let (result, is_error) = match (message.get("result"), message.get("error")) {
        (Some(result), _) => (result.clone(), result["isError"] == true),
        (None, Some(error)) => (json!({ "error": error }), true),
        (None, None) => return unreadable("it is no JSON", Duration::ZERO),
    };
    ToolAnswer {
        result: result.into(),
        is_error,
        duration: Duration::ZERO,
    }
}

#[cfg(test)]
mod tests;
