//! What came back, held against what must.

use mcprove_score::gate::{Path, PathStep, judge as hold};

use super::called::{Called, FailedCall};
use crate::prelude::*;

/// The targets whose 1 and 0 may be asked for as `true` and `false`.
pub const FLAGS: &[&str] = &["negative_path.gate_passed"];

/// Whether bad requests are worth making: only where the call itself succeeded, because a server that
/// rejects everything rejects them too. Notes in the report where not.
pub fn may_be_asked_badly(test: &ToolTestPlan, called: &Called, report: &mut TestReport) -> bool {
    if called.failure.is_none() {
        return true;
    }
    if unexpected(test, called).is_some() {
        let note = sentence!(
            "negative_path: no bad request was made, because the call with `args` failed"
        );
        report.notes.push(note);
    } else {
        report.errors.push(ScoreError::new(
            "negative_path.gate_passed",
            sentence!(
                "the call with `args` must succeed before bad requests are made, since a \
                 server that rejects everything would pass, but it ended with {}",
                called.describe()
            ),
            sentence!("give `args` with which the call succeeds, and expect the error in a separate test"),
        ).inconclusive());
    }
    false
}

/// Notes in the report what does not hold, and what cannot be judged.
pub fn judge(test: &ToolTestPlan, called: &Called, document: &Value, report: &mut TestReport) {
    note_targets(document, report);
    let unexpected = unexpected(test, called);
    let is_unexpected = unexpected.is_some();
    report.failures.extend(unexpected);
    for expectation in &test.expect {
        // Why there were no bad requests is told already.
        if begins_with(expectation, &["negative_path"]) && document.get("negative_path").is_none() {
            continue;
        }
        if let Some(failure) = absent(expectation, called) {
            // That the call failed says it already.
            if !is_unexpected {
                report.failures.push(failure);
            }
            continue;
        }
        match hold(expectation, document, FLAGS) {
            Ok(failure) => report.failures.extend(failure),
            // A result that reports an error need not have what is expected of others.
            Err(_) if is_unexpected && begins_with(expectation, &["result"]) => {}
            Err(mut error) => {
                if begins_with(expectation, &["result", "isError"]) {
                    // Servers leave it out of results that are good.
                    error.hint = sentence!("write `target: is_error`, which is there in any case");
                }
                report.errors.push(error);
            }
        }
    }
    if let Some(fault) = &called.fault {
        let is_looked_at = fault.is_of_form && test.expect.iter().any(looks_at_form);
        let message = sentence!("the result breaks the protocol: {}", fault.message);
        if is_looked_at {
            report.notes.push(message);
        } else {
            report.fail(
                "result",
                "a result of the protocol",
                called.result.clone(),
                message,
            );
        }
    }
}

fn note_targets(document: &Value, report: &mut TestReport) {
    for name in ["duration_ms", "is_error"] {
        if let Some(value) = document.get(name) {
            report.targets.insert(name.to_owned(), value.clone());
        }
    }
    let probes = document.get("negative_path").and_then(Value::as_object);
    for (name, value) in probes.into_iter().flatten() {
        let target = format!("negative_path.{name}");
        report.targets.insert(target, value.clone());
    }
}

/// The failure of a call that should not have failed.
fn unexpected(test: &ToolTestPlan, called: &Called) -> Option<GateFailure> {
    let failure = called.failure.as_ref()?;
    let is_error_expected = test.expect.iter().any(looks_at_errors);
    // Who expects an error does not mean a hang or a crash, unless that is what it says.
    let mut expected = test.expect.iter();
    let names_category = expected.any(|it| begins_with(it, &["error", "category"]));
    if names_category || is_error_expected && failure.is_said {
        return None;
    }
    let FailedCall {
        category, message, ..
    } = failure;
    // Who expects an error is told which errors that means.
    Some(if is_error_expected {
        let message = sentence!(
            "expected an error that the server sent, a JSON-RPC error or a result with `isError`, but the call ended \
             with {category}: {message}"
        );
        let hint = sentence!("if that must happen, write {}", expectation_of(failure));
        let expected = "an error that the server sent";
        let what = Diagnostic::new(message, hint);
        gate_failure("error.category", expected, category.name(), what)
    } else {
        let message = sentence!("the call failed: {category}: {message}");
        gate_failure(
            "is_error",
            false,
            true,
            Diagnostic::new(message, advice(failure)),
        )
    })
}

/// The only expectation that accepts a failure which the server did not send as an error.
fn expectation_of(failure: &FailedCall) -> String {
    let category = failure.category.name();
    format!("{{ target: error.category, matcher: {{ exact: {category} }} }}")
}

/// What to try after a failure.
fn advice(failure: &FailedCall) -> Message {
    match failure.category {
        ErrorCategory::Timeout | ErrorCategory::Hang | ErrorCategory::Deadlock => {
            sentence!(
                "raise `timeout_ms` if the tool may take this long, else look for blocking work or a lock that it holds"
            )
        }
        ErrorCategory::Crash | ErrorCategory::Disconnected => {
            "the server did not survive the call: its stderr, or its own log, says why".into()
        }
        ErrorCategory::Malformed => {
            "the answer is not what the protocol asks for; keep logs on stderr".into()
        }
        _ if failure.is_said => {
            "check the arguments, or expect it: { target: is_error, matcher: { exact: true } }"
                .into()
        }
        // An HTTP status and nothing else.
        _ => sentence!(
            "answer calls with JSON-RPC, errors too, or expect it: {}",
            expectation_of(failure)
        ),
    }
}

/// Whether the target of an expectation begins with these keys.
pub fn begins_with(expectation: &Expectation, wanted: &[&str]) -> bool {
    let path = Path::parse(&expectation.target);
    let steps = path.as_ref().map(Path::steps).unwrap_or_default();
    let is_key =
        |(step, wanted): (&PathStep, &&str)| matches!(step, PathStep::Key(key) if key == wanted);
    steps.len() >= wanted.len() && steps.iter().zip(wanted).all(is_key)
}

/// Whether an expectation is about the result as a whole.
fn is_whole_result(expectation: &Expectation) -> bool {
    Path::parse(&expectation.target).is_ok_and(|path| path.steps().len() == 1)
        && begins_with(expectation, &["result"])
}

/// Whether an expectation says something of errors, so that one may be what is expected.
fn looks_at_errors(expectation: &Expectation) -> bool {
    let matcher = || expectation.matcher.to_value().to_string();
    begins_with(expectation, &["is_error"])
        || begins_with(expectation, &["error"])
        || begins_with(expectation, &["result", "isError"])
        || is_whole_result(expectation) && matcher().contains("isError")
}

/// Whether an expectation is about the form of a result: the whole of it, or its content.
fn looks_at_form(expectation: &Expectation) -> bool {
    is_whole_result(expectation) || begins_with(expectation, &["result", "content"])
}

/// The failure of an expectation about a result, where there is only an error, or about an error, where
/// there is none.
fn absent(expectation: &Expectation, called: &Called) -> Option<GateFailure> {
    let Expectation { target, matcher } = expectation;
    let why = match (&called.result, &called.failure) {
        (None, Some(_)) if begins_with(expectation, &["result"]) => {
            format!("the call came back without a result: {}", called.describe())
        }
        (_, None) if target != "error" && begins_with(expectation, &["error"]) => {
            "the call succeeded".to_owned()
        }
        _ => return None,
    };
    let message = sentence!("expected {}, but {why}", matcher.describe());
    Some(gate_failure(
        target,
        matcher.to_value(),
        Value::Null,
        message,
    ))
}
