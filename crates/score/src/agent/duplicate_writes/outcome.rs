//! What became of one attempt to write.

use serde_json::Value;

use super::failure::doubt;
use crate::trace::{FaultKind, Json, ToolResult};

/// Whether an attempt was executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It succeeded.
    Executed,
    /// It surely was not.
    NotExecuted,
    /// It may have been; why, as the end of a sentence that begins with the attempt.
    Unknown(String),
}

/// What the result of a call and the faults that it met say of it.
pub(super) fn outcome(result: Option<&ToolResult>, faults: &[FaultKind]) -> Outcome {
    if faults.contains(&FaultKind::LoseRequest) {
        return Outcome::NotExecuted;
    }
    if result.is_some_and(|result| result.is_error == Some(false) && !is_error(&result.result)) {
        return Outcome::Executed;
    }
    if let Some(fault) = faults.iter().find(|fault| loses_reply(**fault)) {
        return Outcome::Unknown(format!(
            "met the fault {} and may have been executed",
            fault.name()
        ));
    }
    let Some(result) = result else {
        // The fault says that an error came back, though it was not recorded.
        let is_refused = faults.iter().any(|fault| {
            matches!(
                fault,
                FaultKind::Error | FaultKind::ToolError | FaultKind::Vanish
            )
        });
        return if is_refused {
            Outcome::NotExecuted
        } else {
            Outcome::Unknown("has no result and may have been executed".to_owned())
        };
    };
    if result.is_error != Some(true) && !is_error(&result.result) {
        let reason = "may have been executed: the trace does not tell whether it failed";
        return Outcome::Unknown(reason.to_owned());
    }
    match doubt(&result.result.value()) {
        Some(reason) => Outcome::Unknown(reason.to_owned()),
        None => Outcome::NotExecuted,
    }
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

/// Whether a fault strikes after the server may have done its work: the reply is late, lost or
/// damaged.
fn loses_reply(fault: FaultKind) -> bool {
    !matches!(
        fault,
        FaultKind::None
            | FaultKind::Error
            | FaultKind::ToolError
            | FaultKind::Flaky
            | FaultKind::LoseRequest
            | FaultKind::Vanish
            | FaultKind::HttpStatus
    )
}
