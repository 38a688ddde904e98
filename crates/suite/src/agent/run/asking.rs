//! Asking the model, and asking again when the way to it fails: a bounded number of times, with bounded
//! waits, each of them in the trace.

use std::time::Duration;

use mcprove_settings::text::shorten;
use mcprove_trace::{Retry, StopReason};

use super::record::milliseconds;
use super::{End, RunFailure, Running};
use crate::agent::model::{ModelReply, ModelRequest, WireError};
use crate::agent::provider::{ModelAnswer, Question, error_message, error_status};

/// How long one answer may take.
const ANSWER_TIMEOUT: Duration = Duration::from_mins(5);
/// How often a request is sent again.
const RETRIES_MAX: u32 = 4;
/// How often one is sent again that found nobody listening: a server may be restarting, but one that was never
/// started is not worth the wait.
const REFUSED_RETRIES_MAX: u32 = 2;
/// The wait before the first of them; each further one is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// The longest wait, whatever the provider asks for.
const WAIT_MAX: Duration = Duration::from_secs(30);
/// How much of what a provider says of a failure is kept.
const MESSAGE_CHARACTERS_MAX: usize = 500;

/// A try that failed, and may be made again.
struct FailedTry {
    status: Option<u16>,
    message: String,
    retry_after: Option<Duration>,
    /// Whether nobody listened.
    is_refused: bool,
}

impl Running<'_> {
    /// Asks the model for its next answer.
    pub(super) async fn ask(&mut self) -> Result<ModelAnswer, End> {
        let body = (self.entry.write)(&Question {
            model: self.model,
            system: self.test.system.as_deref(),
            tools: self.toolbox.tools(),
            names: &self.names,
            conversation: &self.conversation,
        });
        let mut request = ModelRequest {
            path: self.entry.path.to_owned(),
            body,
            timeout: ANSWER_TIMEOUT,
        };
        let (mut retries, mut refused) = (0, 0);
        loop {
            request.timeout = ANSWER_TIMEOUT.min(self.time_left());
            let failed = match self.try_once(&request).await? {
                Ok(answer) => return Ok(answer),
                Err(failed) => failed,
            };
            let doubled = FIRST_WAIT.saturating_mul(2_u32.saturating_pow(retries));
            let wait = failed.retry_after.unwrap_or(doubled).min(WAIT_MAX);
            refused += u32::from(failed.is_refused);
            if retries >= RETRIES_MAX || refused > REFUSED_RETRIES_MAX || wait >= self.time_left() {
                return Err(given_up(retries + 1, failed).into());
            }
            retries += 1;
            let answer = self.record.answers();
            self.record.retries.push(Retry {
                answer,
                status: failed.status,
                message: failed.message,
                waited_ms: Some(milliseconds(wait)),
            });
            self.wire.wait(wait).await;
            self.pass(wait);
        }
    }

    async fn try_once(
        &mut self,
        request: &ModelRequest,
    ) -> Result<Result<ModelAnswer, FailedTry>, End> {
        let error = match self.wire.send(request).await {
            Ok(reply) => {
                self.pass(reply.duration);
                return self.read(&reply);
            }
            Err(error) => error,
        };
        self.pass(error.duration());
        match error {
            WireError::NotRecorded(missing) => return Err(RunFailure::NotRecorded(missing).into()),
            WireError::TooLarge { limit, .. } => return Err(RunFailure::TooLarge { limit }.into()),
            _ => {}
        }
        // A model that is too slow for the budget has used it up.
        if self.time_left().is_zero() {
            return Err(End::of(StopReason::TimeBudget));
        }
        Ok(Err(FailedTry {
            status: None,
            message: shorten(&error.to_string(), MESSAGE_CHARACTERS_MAX),
            retry_after: None,
            is_refused: matches!(error, WireError::Refused { .. }),
        }))
    }

    fn read(&self, reply: &ModelReply) -> Result<Result<ModelAnswer, FailedTry>, End> {
        let status = reply.status;
        if (200..300).contains(&status) {
            let error = match (self.entry.read)(&reply.body) {
                Ok(answer) => return Ok(Ok(answer)),
                Err(error) => error,
            };
            // Gateways have been seen to tell of a failure behind them with a status of success.
            return match error_status(&reply.body) {
                Some(status) => Self::refused(status, reply),
                None => Err(RunFailure::from(error).into()),
            };
        }
        Self::refused(status, reply)
    }

    /// What a reply with this status of a failure means.
    fn refused(status: u16, reply: &ModelReply) -> Result<Result<ModelAnswer, FailedTry>, End> {
        let message = failure_text(&reply.body);
        if !is_passing(status) {
            return Err(RunFailure::Refused { status, message }.into());
        }
        Ok(Err(FailedTry {
            status: Some(status),
            message,
            retry_after: reply.retry_after,
            is_refused: false,
        }))
    }
}

/// Whether a status tells of something that may be over soon: too many requests, overload, an error of
/// the server.
fn is_passing(status: u16) -> bool {
    matches!(status, 408 | 429 | 500..=599)
}

fn given_up(tries: u32, failed: FailedTry) -> RunFailure {
    let status = failed.status;
    let message = match status {
        Some(status) => format!("HTTP {status}, {}", failed.message),
        None => failed.message,
    };
    RunFailure::Unanswered {
        tries,
        status,
        message,
    }
}

/// What a provider says of a failure, in its form or any other.
fn failure_text(body: &[u8]) -> String {
    let text = error_message(body).unwrap_or_else(|| {
        let text = String::from_utf8_lossy(body);
        let words: Vec<&str> = text
            .split_whitespace()
            .take(MESSAGE_CHARACTERS_MAX)
            .collect();
        words.join(" ")
    });
    if text.is_empty() {
        return "it says no more".to_owned();
    }
    shorten(&text, MESSAGE_CHARACTERS_MAX)
}
