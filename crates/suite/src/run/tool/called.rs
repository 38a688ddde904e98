//! The outcome of a call.

use mcprove_check::negative_path::NegativePathReport;
use mcprove_check::tool_result::Fault;
use mcprove_trace::protocol::parse_bounded;

use crate::prelude::*;
use crate::run::servers::Lease;

/// How long a server that left a call unanswered may take to show that it lives.
const ALIVE_TIMEOUT: Duration = Duration::from_secs(2);
/// How much longer than one request a call of several may take.
const GRACE: Duration = Duration::from_secs(1);
/// How many lines of what the server wrote to stderr are told.
const STDERR_LINES_MAX: usize = 10;
/// How much of such a line is told.
const STDERR_CHARACTERS_MAX: usize = 300;

/// The outcome of a call.
pub struct Called {
    /// The result, where there is one: of a success, or of a failure that the tool itself reported.
    pub result: Option<Value>,
    /// Why the call failed, if it did.
    pub failure: Option<FailedCall>,
    /// What is wrong with a result that is none by the letter of the protocol.
    pub fault: Option<Fault>,
    duration: Duration,
}

/// Why a call failed.
pub struct FailedCall {
    pub category: ErrorCategory,
    pub message: String,
    code: Option<i64>,
    data: Option<Value>,
    /// Whether the server itself said so: in a JSON-RPC error, or a result with `isError`.
    pub is_said: bool,
    /// Where only the call hung, and the server answers other requests: whether an answer came after its time.
    pub hung_alone: Option<bool>,
    is_sent: bool,
}

impl Called {
    /// Calls the tool, once, and sees that the server outlives it.
    pub async fn make(test: &ToolTestPlan, args: &Value, lease: &Lease<'_>) -> Self {
        let session = lease.session();
        let began = Instant::now();
        let call = session.call_tool_within(&test.tool, args, test.timeout);
        // A call may take several requests, of which each has the deadline to itself.
        let call = tokio::time::timeout(test.timeout.saturating_add(GRACE), call);
        let outcome = call.await.unwrap_or_else(|_| {
            let message = format!("no answer within {}", describe_duration(test.timeout));
            let failure = Failure::new(ErrorCategory::Timeout, message);
            Err(CallError::unsent(failure))
        });
        let elapsed = began.elapsed();
        let mut called = match outcome.and_then(|reply| Ok((reply.parse::<Value>()?, reply))) {
            Ok((result, reply)) => {
                let tool = lease.tool(&test.tool);
                let schema = tool.and_then(|tool| tool.output_schema.as_ref());
                Self {
                    fault: Fault::of(&result, schema),
                    result: Some(result),
                    failure: None,
                    duration: reply.duration,
                }
            }
            Err(error) => {
                let reply = error.reply.as_ref();
                Self {
                    result: reply.and_then(|reply| parse_bounded(reply.result()).ok()),
                    fault: None,
                    duration: if error.duration.is_zero() {
                        elapsed
                    } else {
                        error.duration
                    },
                    failure: Some(FailedCall::of(&error, lease).await),
                }
            }
        };
        if !called.is_end()
            && let Some(end) = lease.end_after_answer().await
        {
            let message = format!(
                "the call was answered, and then the server was gone: {}{}",
                end.message,
                stderr_end(&session.stderr_tail())
            );
            called.failure = Some(FailedCall {
                category: end.category,
                message,
                code: None,
                data: None,
                is_said: false,
                hung_alone: None,
                is_sent: true,
            });
        }
        if called.failure.is_none() && called.fault.is_none() {
            lease.succeeded(&test.tool);
        }
        called
    }

    /// The failure with which the session ended, so that it is of no more use.
    fn end(&self) -> Option<&FailedCall> {
        self.failure
            .as_ref()
            .filter(|failure| is_unanswered(failure.category) || is_gone(failure.category))
    }

    /// Whether the session is of no more use.
    pub fn is_end(&self) -> bool {
        self.end().is_some()
    }

    /// Whether the session had ended before the call was sent.
    pub fn is_unsent(&self) -> bool {
        self.end().is_some_and(|failure| !failure.is_sent)
    }

    /// Whether another test may be to blame for the end: not where the server goes on, and only this call
    /// has no answer.
    pub fn may_be_anothers_fault(&self, lease: &Lease<'_>) -> bool {
        self.end().is_some_and(|failure| match failure.hung_alone {
            Some(is_late) => is_late && lease.had_company(),
            None => lease.shares_blame(),
        })
    }

    /// How it ended, for a sentence.
    pub fn describe(&self) -> String {
        match &self.failure {
            Some(failure) => format!("{}: {}", failure.category, failure.message),
            None => "a result".to_owned(),
        }
    }

    /// What expectations are held against.
    pub fn document(&self, probes: Option<&NegativePathReport>) -> Value {
        let error = self.failure.as_ref().map(|failure| {
            json!({
                "category": failure.category.name(),
                "code": failure.code,
                "message": failure.message,
                "data": failure.data,
            })
        });
        let mut document = json!({
            "is_error": self.failure.is_some(),
            "error": error,
            "duration_ms": milliseconds(self.duration),
        });
        let probes = probes.map(NegativePathReport::targets);
        let parts = [("result", self.result.clone()), ("negative_path", probes)];
        for (name, value) in parts {
            if let (Value::Object(document), Some(value)) = (&mut document, value) {
                document.insert(name.to_owned(), value);
            }
        }
        document
    }
}

impl FailedCall {
    async fn of(error: &CallError, lease: &Lease<'_>) -> Self {
        let session = lease.session();
        let late_replies = session.late_replies();
        let category = error.category();
        let mut message = error.to_string();
        let mut answers = None;
        if is_unanswered(category) {
            answers = lease.is_alive(ALIVE_TIMEOUT).await;
            message.push_str(match answers {
                Some(true) => "; the server still answers other requests",
                Some(false) => ", and then nothing else was answered either",
                None => "",
            });
        }
        let is_answer = matches!(
            category,
            ErrorCategory::ToolError | ErrorCategory::ServerError | ErrorCategory::ProtocolError
        );
        if !is_answer {
            message.push_str(&stderr_end(&session.stderr_tail()));
        }
        // A status of HTTP alone is no error of the protocol.
        let is_refused = error.error.is_none()
            && matches!(
                error.failure.detail,
                Detail::Status(_) | Detail::SessionExpired
            );
        Self {
            category,
            message,
            code: error.code(),
            data: error.error.as_ref().and_then(|error| error.data.clone()),
            is_said: is_answer && !is_refused,
            hung_alone: (answers == Some(true)).then(|| session.late_replies() > late_replies),
            is_sent: error.request_id != 0 || category == ErrorCategory::Timeout,
        }
    }
}

/// The end of what a server wrote to stderr, to be put behind a message.
pub fn stderr_end(tail: &str) -> String {
    let last = last_lines(tail, STDERR_LINES_MAX);
    let lines = last
        .lines()
        .map(|line| shorten(line, STDERR_CHARACTERS_MAX));
    with_stderr("", &lines.collect::<Vec<String>>().join("\n")).rendered()
}

/// Microseconds are enough, and keep the JSON readable.
pub fn milliseconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}
