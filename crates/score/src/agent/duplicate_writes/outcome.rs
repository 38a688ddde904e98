//! What became of one attempt to write.

use mcprove_trace::RealAnswer;

use super::failure::doubt;
use crate::prelude::*;

/// Whether an attempt was executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It succeeded.
    Executed,
    /// It surely was not.
    NotExecuted,
    /// The client heard of no success: nobody knows whether it was executed, or only the fault tells.
    Unheard {
        /// Whether it surely was.
        is_certain: bool,
        /// What is known, as the end of a sentence that begins with the attempt.
        reason: String,
    },
}

impl Outcome {
    fn unknown(reason: impl Into<String>) -> Self {
        Self::Unheard {
            is_certain: false,
            reason: reason.into(),
        }
    }

    /// An attempt whose fault [kept its reply](FaultKind::executes) from the client.
    fn lost_reply(fault: FaultKind) -> Self {
        Self::Unheard {
            is_certain: true,
            reason: format!("was executed, and met the fault {}", fault.name()),
        }
    }
}

/// What the result of a call and the faults that it met say of it.
pub fn outcome(result: Option<&ToolResult>, faults: &[&FaultMark]) -> Outcome {
    if faults
        .iter()
        .any(|mark| mark.kind.special() == Special::LosesRequest)
    {
        return Outcome::NotExecuted;
    }
    let said = result.map(|result| (result, is_error(&result.result)));
    if said.is_some_and(|(result, is_error)| result.is_error == Some(false) && !is_error) {
        return Outcome::Executed;
    }
    if let Some(mark) = met(faults) {
        // Where the client heard what the tool says, that tells more.
        let is_heard = matches!(mark.kind.heard(), Heard::Right | Heard::Altered);
        match mark.kind.executes() {
            Execution::Never => return Outcome::NotExecuted,
            Execution::Always if result.is_none() || !is_heard => {
                return behind(mark);
            }
            Execution::Late if is_given_up(result) => return late(mark, result.is_some()),
            Execution::Always | Execution::Late => {}
        }
    }
    let Some((result, is_error)) = said else {
        return Outcome::unknown("has no result and may have been executed");
    };
    if result.is_error != Some(true) && !is_error {
        return Outcome::unknown(
            "may have been executed: the trace does not say whether it failed",
        );
    }
    match doubt(&result.result.value()) {
        Some(reason) => Outcome::unknown(reason),
        None => Outcome::NotExecuted,
    }
}

/// What became of a call whose answer a fault kept back.
fn behind(mark: &FaultMark) -> Outcome {
    match mark.real_answer {
        Some(RealAnswer::Error) => Outcome::NotExecuted,
        Some(RealAnswer::Nothing) => Outcome::unknown(format!(
            "met the fault {}, and may have been executed: the server had not answered",
            mark.kind.name()
        )),
        Some(RealAnswer::Success) | None => Outcome::lost_reply(mark.kind),
    }
}

/// What became of a call that was to be executed after a delay, and whose client did not wait.
fn late(mark: &FaultMark, is_cancelled: bool) -> Outcome {
    let given_up = mark.detected_ms.and_then(|time| u64::try_from(time).ok());
    let given_up = given_up.or(mark.left_ms);
    let has_both = |time: Option<u64>| time.zip(mark.delay_ms);
    let is_before = |time| has_both(time).is_some_and(|(time, delay)| time < delay);
    let is_after = |time| has_both(time).is_some_and(|(time, delay)| time >= delay);
    let ignores_cancellation = mark.kind.special() == Special::IgnoresCancellation;
    // Who cancels it does not stop it, but who leaves.
    if ignores_cancellation && is_after(mark.left_ms.or(mark.watched_ms)) {
        Outcome::lost_reply(mark.kind)
    } else if !ignores_cancellation && is_cancelled && is_before(given_up) {
        Outcome::NotExecuted
    } else {
        Outcome::unknown(format!(
            "met the fault {} and may have been executed",
            mark.kind.name()
        ))
    }
}

/// Whether a call has no result, or only that its client cancelled it.
fn is_given_up(result: Option<&ToolResult>) -> bool {
    let Some(result) = result else { return true };
    // Most results do not have the word, and need not be looked into.
    result.result.text().contains("Cancelled")
        && result.result.value().get("category") == Some(&Value::from("Cancelled"))
}

/// The fault that kept a call from being executed, where one did.
pub fn kept_off(result: Option<&ToolResult>, faults: &[&FaultMark]) -> Option<FaultKind> {
    let kind = met(faults)?.kind;
    let keeps_off = match kind.executes() {
        Execution::Never => true,
        Execution::Late => is_given_up(result),
        Execution::Always => false,
    };
    (keeps_off && outcome(result, faults) == Outcome::NotExecuted).then_some(kind)
}

/// The first fault that matches a call is the one that it meets.
fn met<'m>(faults: &[&'m FaultMark]) -> Option<&'m FaultMark> {
    faults.iter().copied().find(|mark| mark.kind.is_fault())
}

/// Whether a result is an error by its own word: of JSON-RPC, or with `isError`.
fn is_error(result: &Json) -> bool {
    // Most results have neither word, and need not be looked into.
    let text = result.text();
    if !text.contains("isError") && !text.contains("error") {
        return false;
    }
    let result = result.value();
    result.get("isError") == Some(&Value::Bool(true))
        || result
            .get("error")
            .is_some_and(|error| error.get("code").is_some_and(Value::is_number))
}
