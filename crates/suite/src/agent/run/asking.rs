//! Asking the model, and asking again when the way to it fails: a bounded number of times, with bounded
//! waits, each of them in the trace.

use super::{End, Running};
use crate::agent::provider::{ModelAnswer, Question, error_message, error_status};
use crate::prelude::*;

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

/// Why a try gave no answer.
enum Unanswered {
    /// It may be made again.
    Passing(FailedTry),
    /// It would be the same again.
    Final(End),
}

/// A try that failed, and may be made again.
struct FailedTry {
    status: Option<u16>,
    message: String,
    retry_after: Option<Duration>,
    /// Whether nobody listened.
    is_refused: bool,
}

impl<E: Into<End>> From<E> for Unanswered {
    fn from(end: E) -> Self {
        Self::Final(end.into())
    }
}

impl Running<'_> {
    /// Asks the model for its next answer.
    pub async fn ask(&mut self) -> Result<ModelAnswer, End> {
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
            let read = match self.wire.send(&request).await {
                Ok(reply) => {
                    self.pass(reply.duration);
                    self.read(&reply)
                }
                Err(error) => {
                    self.pass(error.duration);
                    Err(self.lost(error))
                }
            };
            let failed = match read {
                Ok(answer) => return Ok(answer),
                Err(Unanswered::Final(end)) => return Err(end),
                Err(Unanswered::Passing(failed)) => failed,
            };
            let doubled = FIRST_WAIT.saturating_mul(2_u32.saturating_pow(retries));
            let wait = failed.retry_after.unwrap_or(doubled).min(WAIT_MAX);
            refused += u32::from(failed.is_refused);
            if retries >= RETRIES_MAX || refused > REFUSED_RETRIES_MAX || wait >= self.time_left() {
                return Err(given_up(retries + 1, &failed).into());
            }
            retries += 1;
            self.retries.push(Retry {
                answer: self.tokens.len(),
                status: failed.status,
                message: failed.message,
                waited_ms: Some(as_milliseconds(wait)),
            });
            self.wire.wait(wait).await;
            self.pass(wait);
        }
    }

    /// What it means that no answer came.
    fn lost(&self, error: WireError) -> Unanswered {
        let is_refused = matches!(error.kind, WireErrorKind::Refused(_));
        let message = match error.kind {
            WireErrorKind::Final(failure) => return failure.into(),
            WireErrorKind::Unreachable(message) | WireErrorKind::Refused(message) => message,
            WireErrorKind::Timeout => {
                format!("the model did not answer within {:?}", error.duration)
            }
        };
        // A model that is too slow for the budget has used it up.
        if self.time_left().is_zero() {
            return End::of(StopReason::TimeBudget).into();
        }
        Unanswered::Passing(FailedTry {
            status: None,
            message: shorten(&message, MESSAGE_CHARACTERS_MAX),
            retry_after: None,
            is_refused,
        })
    }

    fn read(&self, reply: &ModelReply) -> Result<ModelAnswer, Unanswered> {
        let mut status = reply.status;
        if (200..300).contains(&status) {
            let wrong = match (self.entry.read)(&reply.body) {
                Ok(answer) => return Ok(answer),
                Err(wrong) => wrong,
            };
            // Gateways have been seen to tell of a failure behind them with a status of success.
            status = error_status(&reply.body).ok_or_else(|| {
                let hint = sentence!("check that base_url is of the provider that `provider` says");
                Diagnostic::new(wrong.to_string(), hint)
            })?;
        }
        let message = failure_text(&reply.body);
        // Too many requests, overload, an error of the server: it may be over soon.
        if !matches!(status, 408 | 429 | 500..=599) {
            let message = format!("the model provider answered with HTTP {status}: {message}");
            return Err(Diagnostic::new(message, refusal_hint(status)).into());
        }
        Err(Unanswered::Passing(FailedTry {
            status: Some(status),
            message,
            retry_after: reply.retry_after,
            is_refused: false,
        }))
    }
}

/// What to try when the provider refuses a request.
fn refusal_hint(status: u16) -> &'static str {
    match status {
        401 | 403 => {
            "check the key, and that it may use this model; a base_url of the suite gets one only with api_key_env"
        }
        404 => "check the name of the model and base_url",
        400 | 422 => {
            "the provider does not take this request: check model, max_tokens, temperature and the schemas of the tools"
        }
        413 => "the conversation is too large for the provider: ask for less, or of fewer tools",
        300..=399 => "give the address that the provider redirects to as base_url",
        _ => "try again later, or with fewer tests at once",
    }
}

/// That the provider could not be asked, often enough.
fn given_up(tries: u32, failed: &FailedTry) -> Diagnostic {
    let noun = if tries == 1 { "try" } else { "tries" };
    let status = failed.status.map(|status| format!("HTTP {status}, "));
    let (status, message) = (status.unwrap_or_default(), &failed.message);
    let hint: Message = match failed.status {
        Some(429) => sentence!(
            "the provider takes no more requests of this key for now: run fewer tests at once with {}, raise the limits of the account, or try again later",
            setting("jobs")
        ),
        Some(_) => "the provider is in trouble or overloaded: try again later".into(),
        None => "check base_url and the network, or try again later".into(),
    };
    Diagnostic::new(
        format!("the model gave no answer in {tries} {noun}, the last time: {status}{message}"),
        hint,
    )
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_to_try_depends_on_what_happened() {
        let failure = |tries, status| {
            let failed = FailedTry {
                status,
                message: "no".to_owned(),
                retry_after: None,
                is_refused: false,
            };
            given_up(tries, &failed)
        };
        assert!(failure(1, None).to_string().contains("in 1 try,"));
        assert!(failure(5, None).to_string().contains("in 5 tries,"));
        assert!(failure(5, None).hint.rendered().contains("base_url"));
        assert!(failure(5, Some(429)).hint.rendered().contains("`jobs`"));
        assert!(!failure(5, Some(529)).hint.rendered().contains("base_url"));
    }
}
