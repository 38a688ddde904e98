//! What became of one attempt to write.

use mcprove_trace::RealAnswer;

use super::prelude::*;

/// Whether an attempt was executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriteOutcome {
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

impl WriteOutcome {
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
pub fn outcome(result: Option<&ToolResult>, faults: &[&FaultMark]) -> WriteOutcome {
    let loses_request = |mark: &&FaultMark| mark.kind.special() == Special::LosesRequest;
    if faults.iter().any(loses_request) {
        return WriteOutcome::NotExecuted;
    }
    let said = result.map(|result| (result, is_error(&result.result)));
    if said.is_some_and(|(result, is_error)| result.is_error == Some(false) && !is_error) {
        return WriteOutcome::Executed;
    }
    if let Some(mark) = met(faults) {
        // Where the client heard what the tool says, that tells more.
        let is_heard = matches!(
            mark.kind.client_view(),
            ClientView::Right | ClientView::Altered
        );
        match mark.kind.executes() {
            Execution::Never => return WriteOutcome::NotExecuted,
            Execution::Always if result.is_none() || !is_heard => {
                return behind(mark);
            }
            Execution::Late if is_given_up(result) => return late(mark, result.is_some()),
            Execution::Always | Execution::Late => {}
        }
    }
    let Some((result, is_error)) = said else {
        return WriteOutcome::unknown("has no result and may have been executed");
    };
    if result.is_error != Some(true) && !is_error {
        return WriteOutcome::unknown(
            "may have been executed: the trace does not say whether it failed",
        );
    }
    match doubt(&result.result.value()) {
        Some(reason) => WriteOutcome::unknown(reason),
        None => WriteOutcome::NotExecuted,
    }
}

/// What became of a call whose answer a fault kept back.
fn behind(mark: &FaultMark) -> WriteOutcome {
    match mark.real_answer {
        Some(RealAnswer::Error) => WriteOutcome::NotExecuted,
        Some(RealAnswer::Nothing) => WriteOutcome::unknown(format!(
            "met the fault {}, and may have been executed: the server had not answered",
            mark.kind.name()
        )),
        Some(RealAnswer::Success) | None => WriteOutcome::lost_reply(mark.kind),
    }
}

/// What became of a call that was to be executed after a delay, and whose client did not wait.
fn late(mark: &FaultMark, is_cancelled: bool) -> WriteOutcome {
    let given_up = mark
        .detected_ms
        .and_then(|time| u64::try_from(time).ok())
        .or(mark.left_ms);
    // Whether a time is before the delay was over, where both are known.
    let is_before = |time: Option<u64>| Some(time? < mark.delay_ms?);
    let ignores_cancellation = mark.kind.special() == Special::IgnoresCancellation;
    // Who cancels it does not stop it, but who leaves.
    if ignores_cancellation && is_before(mark.left_ms.or(mark.watched_ms)) == Some(false) {
        WriteOutcome::lost_reply(mark.kind)
    } else if !ignores_cancellation && is_cancelled && is_before(given_up) == Some(true) {
        WriteOutcome::NotExecuted
    } else {
        WriteOutcome::unknown(format!(
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
    (keeps_off && outcome(result, faults) == WriteOutcome::NotExecuted).then_some(kind)
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

// What the words of an error say of the write: that it was turned down, or that nobody knows.
//
// Looked at in this order, first what is written by programs, then by people:
//
// 1. a code that turns the request down: -32700, -32600 to -32602, an HTTP status of 4xx but 408 and
//    499, or 501: not executed;
// 2. words of a lost answer (`timed out`, `ETIMEDOUT`, `socket hang up`, `connection reset`): unknown;
// 3. words that turn the request down (`invalid`, `not found`, `permission denied`): not executed;
// 4. a code or word that says only that something broke on the way (-32603, -32000, -32001, 5xx,
//    `timeout`, `cancelled`, `internal error`), or no word at all: unknown.
//
// Any other error is an answer, and an answer of failure: not executed.

/// The words of a lost answer, of a refusal, and of what only broke.
static PHRASES: LazyLock<WordLists> =
    LazyLock::new(|| WordLists::parse(include_str!("failure.txt")));

/// Why nobody knows whether a call that failed was executed, as the end of a sentence that begins with
/// the attempt; `None` where it surely was not.
fn doubt(error: &Value) -> Option<&'static str> {
    let mut texts = Vec::new();
    let mut codes = Vec::new();
    collect(error, &mut texts, &mut codes);
    let words: Vec<String> = texts.iter().flat_map(|text| tokens(text)).collect();
    if words.is_empty() && codes.is_empty() {
        return Some("failed without a word, and may have been executed");
    }
    codes.extend(texts.iter().flat_map(|text| rpc_codes(text)));
    codes.extend(http_statuses(&words));
    let line = format!(" {} ", words.join(" "));
    let has = |list: &str| {
        PHRASES
            .lines(list)
            .iter()
            .any(|phrase| line.contains(&format!(" {phrase} ")))
    };
    if codes.iter().any(|code| turns_down(*code)) {
        None
    } else if has("lost") {
        Some("timed out or was cut off, and may have been executed")
    } else if has("turned_down") {
        None
    } else if has("broke") || codes.iter().any(|code| breaks(*code)) {
        Some("failed with an error that does not say whether it was executed")
    } else {
        None
    }
}

/// The texts of an error, and the numbers that are codes by their names.
fn collect<'a>(value: &'a Value, texts: &mut Vec<&'a str>, codes: &mut Vec<i64>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(items) => {
            for item in items {
                collect(item, texts, codes);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                let is_code = has_word(
                    "code status statusCode status_code httpStatus http_status",
                    name,
                );
                match member.as_i64() {
                    Some(code) if is_code => codes.push(code),
                    // The kind of a block of content is no word of the error.
                    _ if name == "type" => {}
                    _ => collect(member, texts, codes),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The codes of JSON-RPC in a text: `MCP error -32000: Connection closed`.
fn rpc_codes(text: &str) -> Vec<i64> {
    const DIGITS: usize = 5;
    text.match_indices("-32")
        .filter_map(|(at, _)| {
            let number = text.get(at..=at + DIGITS)?;
            let after = text.get(at + DIGITS + 1..)?;
            let is_whole = !after.starts_with(|next: char| next.is_ascii_digit());
            is_whole.then(|| number.parse().ok())?
        })
        .collect()
}

/// The HTTP statuses among words: numbers of three digits after `http`, `status`, `code` or `error`.
fn http_statuses(words: &[String]) -> Vec<i64> {
    let mut statuses = Vec::new();
    let mut is_announced = false;
    for word in words {
        let digits = word.strip_prefix("http").unwrap_or(word);
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number {
            is_announced = has_word("http https status statuscode code error", word);
            continue;
        }
        if (is_announced || digits.len() < word.len())
            && digits.len() == 3
            && let Ok(status) = digits.parse()
        {
            statuses.push(status);
        }
    }
    statuses
}

/// Whether a code turns a request down.
fn turns_down(code: i64) -> bool {
    match code {
        -32700 | -32602..=-32600 | 501 => true,
        408 | 499 => false,
        400..=498 => true,
        _ => false,
    }
}

/// Whether a code says only that something broke.
fn breaks(code: i64) -> bool {
    matches!(code, -32603 | -32000 | -32001 | 408 | 499 | 500 | 502..=599)
}

#[cfg(test)]
mod failure_tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn errors_that_leave_it_open() {
        for text in [
            "timed out",
            "Request timeout",
            "TimeoutError: 30000ms",
            "ReadTimeout",
            "The operation timed out.",
            "timeout of 5000ms exceeded",
            "Timeout",
            "connect ETIMEDOUT 10.0.0.1:443",
            "read ECONNRESET",
            "ECONNABORTED",
            "write EPIPE",
            "socket hang up",
            "Connection reset by peer",
            "MCP error -32000: Connection closed",
            "connection was lost",
            "502 Bad Gateway",
            "HTTP 503",
            "HTTP/1.1 504 whatever",
            "Error 502: upstream",
            "status code 500",
            "network error",
            "TypeError: fetch failed",
            "The request was cancelled",
            "canceled",
            "AbortError: This operation was aborted",
            "Internal Server Error",
            "MCP error -32603: something",
            "-32001",
            "deadline exceeded",
            "",
            "  ",
            "!?",
        ] {
            assert!(doubt(&json!(text)).is_some(), "{text}");
            let result = json!({"content": [{"type": "text", "text": text}], "isError": true});
            assert!(doubt(&result).is_some(), "{text}");
        }
        for error in [
            Value::Null,
            json!({}),
            json!({"content": [], "isError": true}),
            json!({"code": -32603, "message": "oops"}),
            json!({"error": {"code": -32000, "message": "no"}}),
            json!({"status": 504}),
            json!({"statusCode": 408, "message": "too slow"}),
        ] {
            assert!(doubt(&error).is_some(), "{error}");
        }
    }

    #[test]
    fn errors_that_turn_it_down() {
        for text in [
            "it failed",
            "no",
            "invalid argument: timeout",
            "Validation error: timeout must be positive",
            "title is missing",
            "no such repository",
            "Issue not found",
            "permission denied",
            "403 Forbidden",
            "HTTP 404",
            "status 422",
            "Error 409: already exists",
            "request failed with status code 400",
            "MCP error -32602: Invalid arguments",
            "connect ECONNREFUSED 127.0.0.1:80",
            "connection refused",
            "rate limit exceeded",
            "internal error: permission denied",
            "insufficient funds (limit 500)",
            "-320001 is no code",
        ] {
            assert_eq!(doubt(&json!(text)), None, "{text}");
        }
        for error in [
            json!({"code": -32602, "message": "timed out"}),
            json!({"code": -32601}),
            json!({"status": 404, "message": ""}),
            json!({"error": {"code": -32000, "message": "title is required"}}),
            // A number that is no code.
            json!({"message": "declined", "retries": 503}),
        ] {
            assert_eq!(doubt(&error), None, "{error}");
        }
    }
}
