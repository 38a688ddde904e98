//! What came of a call.

use std::time::{Duration, Instant};

use mcprove_check::negative_path::NegativePathReport;
use mcprove_check::tool_result::Fault;
use mcprove_client::session::{CallError, Reply};
use mcprove_client::transport::{Detail, Failure};
use mcprove_settings::quantity::describe_duration;
use mcprove_settings::text::shorten;
use mcprove_trace::ErrorCategory;
use serde_json::{Map, Value, json};

use crate::error::{last_lines, with_stderr};
use crate::plan::ToolTestPlan;
use crate::run::servers::Lease;

/// How long a server that left a call unanswered may take to show that it lives.
const ALIVE_TIMEOUT: Duration = Duration::from_secs(2);
/// How much longer than one request a call of several may take.
const GRACE: Duration = Duration::from_secs(1);
/// How many lines of what the server wrote to stderr are told.
const STDERR_LINES_MAX: usize = 10;
/// How much of such a line is told.
const STDERR_CHARACTERS_MAX: usize = 300;

/// What came of a call.
pub(super) struct Called {
    /// The result, where there is one: of a success, or of a failure that the tool itself reported.
    pub(super) result: Option<Value>,
    /// Why the call failed, if it did.
    pub(super) failure: Option<FailedCall>,
    /// What is wrong with a result that is none by the letter of the protocol.
    pub(super) fault: Option<Fault>,
    duration: Duration,
}

/// Why a call failed.
pub(super) struct FailedCall {
    pub(super) category: ErrorCategory,
    pub(super) message: String,
    code: Option<i64>,
    data: Option<Value>,
    /// Whether the server itself said so: in a JSON-RPC error, or a result with `isError`.
    is_said: bool,
    /// What the server did after a hang.
    after: AfterHang,
    is_sent: bool,
}

/// What a server did after it had left a call unanswered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AfterHang {
    /// Nothing that is known.
    Nothing,
    /// It answered other requests.
    Alive,
    /// It answered other requests, and an answer came after its time.
    Late,
}

impl Called {
    /// Calls the tool, once, and sees that the server outlives it.
    pub(super) async fn make(test: &ToolTestPlan, args: &Value, lease: &Lease<'_>) -> Self {
        let mut called = Self::make_only(test, args, lease).await;
        if !called.is_end()
            && let Some(end) = lease.end_after_answer().await
        {
            let message = format!(
                "the call was answered, and then the server was gone: {}{}",
                end.message,
                stderr_end(&lease.session().stderr_tail())
            );
            called.failure = Some(FailedCall {
                category: end.category,
                message,
                code: None,
                data: None,
                is_said: false,
                after: AfterHang::Nothing,
                is_sent: true,
            });
        }
        called
    }

    async fn make_only(test: &ToolTestPlan, args: &Value, lease: &Lease<'_>) -> Self {
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
        let late_replies = session.late_replies();
        let output_schema = lease
            .tool(&test.tool)
            .and_then(|tool| tool.output_schema.as_ref());
        match outcome.and_then(|reply| Ok((reply.parse::<Value>()?, reply))) {
            Ok((result, reply)) => Self {
                fault: Fault::of(&result, output_schema),
                result: Some(result),
                failure: None,
                duration: reply.duration,
            },
            Err(error) => {
                let result = error.reply.as_ref().map(Reply::result);
                Self {
                    result: result
                        .and_then(|result| mcprove_trace::protocol::parse_bounded(result).ok()),
                    fault: None,
                    duration: if error.duration.is_zero() {
                        elapsed
                    } else {
                        error.duration
                    },
                    failure: Some(FailedCall::of(&error, lease, late_replies).await),
                }
            }
        }
    }

    /// Whether it failed, in whatever way.
    pub(super) const fn is_error(&self) -> bool {
        self.failure.is_some()
    }

    fn category(&self) -> Option<ErrorCategory> {
        self.failure.as_ref().map(|failure| failure.category)
    }

    /// Whether it was given up because the server asked for what it did not get.
    pub(super) fn is_given_up(&self) -> bool {
        self.category() == Some(ErrorCategory::Cancelled)
    }

    /// Whether the session is of no more use.
    pub(super) fn is_end(&self) -> bool {
        matches!(
            self.category(),
            Some(
                ErrorCategory::Timeout
                    | ErrorCategory::Hang
                    | ErrorCategory::Deadlock
                    | ErrorCategory::Crash
                    | ErrorCategory::Disconnected
            )
        )
    }

    /// Whether the session had ended before the call was sent.
    pub(super) fn is_unsent(&self) -> bool {
        self.is_end()
            && self
                .failure
                .as_ref()
                .is_some_and(|failure| !failure.is_sent)
    }

    /// Whether another test may be to blame for the end: not where the server goes on, and only this call
    /// has no answer.
    pub(super) fn may_be_anothers_fault(&self, lease: &Lease<'_>) -> bool {
        match &self.failure {
            Some(failure) if self.is_end() && failure.after != AfterHang::Nothing => {
                failure.after == AfterHang::Late && lease.had_company()
            }
            Some(_) if self.is_end() => lease.shares_blame(),
            _ => false,
        }
    }

    /// Whether only the call hung, and not its server.
    pub(super) fn is_tool_stuck(&self) -> bool {
        self.failure
            .as_ref()
            .is_some_and(|failure| failure.after != AfterHang::Nothing)
    }

    /// Whether the server itself rejected the call: a JSON-RPC error, or a result with `isError`.
    pub(super) fn is_rejection(&self) -> bool {
        self.failure.as_ref().is_some_and(|failure| failure.is_said)
    }

    /// How it ended, for a sentence.
    pub(super) fn describe(&self) -> String {
        match &self.failure {
            Some(failure) => format!("{}: {}", failure.category, failure.message),
            None => "a result".to_owned(),
        }
    }

    /// What expectations are held against.
    pub(super) fn document(&self, probes: Option<&NegativePathReport>) -> Value {
        let mut document = Map::new();
        if let Some(result) = &self.result {
            document.insert("result".into(), result.clone());
        }
        document.insert("is_error".into(), self.is_error().into());
        let error = self.failure.as_ref().map(FailedCall::document);
        document.insert("error".into(), error.unwrap_or_default());
        document.insert("duration_ms".into(), milliseconds(self.duration).into());
        if let Some(probes) = probes {
            document.insert("negative_path".into(), probes.targets());
        }
        Value::Object(document)
    }
}

impl FailedCall {
    async fn of(error: &CallError, lease: &Lease<'_>, late_replies: u64) -> Self {
        let session = lease.session();
        let category = error.category();
        let mut message = error.to_string();
        let mut is_alive = false;
        if matches!(
            category,
            ErrorCategory::Timeout | ErrorCategory::Hang | ErrorCategory::Deadlock
        ) {
            let answers = lease.is_alive(ALIVE_TIMEOUT).await;
            is_alive = answers == Some(true);
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
            after: match (is_alive, session.late_replies() > late_replies) {
                (false, _) => AfterHang::Nothing,
                (true, false) => AfterHang::Alive,
                (true, true) => AfterHang::Late,
            },
            is_sent: error.request_id != 0 || category == ErrorCategory::Timeout,
        }
    }

    fn document(&self) -> Value {
        json!({
            "category": self.category.name(),
            "code": self.code,
            "message": self.message,
            "data": self.data,
        })
    }
}

/// The end of what a server wrote to stderr, to be put behind a message.
pub(super) fn stderr_end(tail: &str) -> String {
    let last = last_lines(tail, STDERR_LINES_MAX);
    let lines = last
        .lines()
        .map(|line| shorten(line, STDERR_CHARACTERS_MAX));
    with_stderr("", &lines.collect::<Vec<String>>().join("\n"))
}

/// Microseconds are enough, and keep the JSON readable.
pub(super) fn milliseconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}
