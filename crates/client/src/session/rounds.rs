//! Requests that take several rounds: in the stateless era a server that needs something from the
//! client answers `input_required`, and the client asks again with what was required.

use std::time::Duration;

use mcprove_trace::protocol::Era;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{CallError, Reply, Request, Session};
use crate::transport::Failure;

/// A server that still asks after this many rounds is going in circles.
const ROUNDS_MAX: usize = 10;

#[derive(Deserialize)]
struct ResultHead {
    #[serde(default, rename = "resultType")]
    result_type: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InputRequired {
    #[serde(default)]
    input_requests: Map<String, Value>,
    #[serde(default)]
    request_state: Option<String>,
}

impl Session {
    /// Sends a request and sees it through all its rounds.
    pub async fn request_in_rounds(
        &self,
        request: &Request,
        timeout: Duration,
    ) -> Result<Reply, CallError> {
        let mut next = request.clone();
        for _ in 0..ROUNDS_MAX {
            let reply = self.request(&next).await?;
            if self.era() == Era::Handshake {
                return Ok(reply);
            }
            match result_type(&reply)?.as_deref() {
                None | Some("complete") => return Ok(reply),
                Some("input_required") => next = self.with_input(request, &reply)?,
                Some("task") => return self.follow_stateless_task(&reply, timeout).await,
                Some(other) => {
                    let message = format!("the result has the unknown resultType {other:?}");
                    return Err(malformed(&reply, message));
                }
            }
        }
        let message = format!("the server still asks for input after {ROUNDS_MAX} rounds");
        Err(CallError::unsent(Failure::malformed(message)))
    }

    /// The original request again, with the answers to what the server asked.
    fn with_input(&self, original: &Request, reply: &Reply) -> Result<Request, CallError> {
        let required: InputRequired = reply.parse()?;
        let responses = self.answer_all(&required.input_requests)?;
        let mut params: Value =
            serde_json::from_str(&original.params).unwrap_or_else(|_| Map::new().into());
        if let Some(members) = params.as_object_mut() {
            if !required.input_requests.is_empty() {
                members.insert("inputResponses".into(), Value::Object(responses));
            }
            if let Some(state) = required.request_state {
                members.insert("requestState".into(), state.into());
            }
        }
        let mut next = original.clone();
        next.params = params.to_string();
        Ok(next)
    }

    /// Answers a map of questions by the session's responder.
    pub(super) fn answer_all(
        &self,
        questions: &Map<String, Value>,
    ) -> Result<Map<String, Value>, CallError> {
        let mut responses = Map::new();
        for (key, question) in questions {
            let method = question
                .get("method")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let params = question.get("params").unwrap_or(&Value::Null);
            match self.core.respond(method, params) {
                Ok(response) => {
                    responses.insert(key.clone(), response);
                }
                // There is no way to send an error, so the call ends here, declined by us.
                Err((_, message)) => {
                    let failure =
                        Failure::cancelled(format!("the tool asked for {method}: {message}"));
                    return Err(CallError::unsent(failure));
                }
            }
        }
        Ok(responses)
    }
}

/// The type of a result; `None` where it has none, which older servers do.
fn result_type(reply: &Reply) -> Result<Option<String>, CallError> {
    if memchr::memmem::find(reply.result().as_bytes(), b"\"resultType\"").is_none() {
        return Ok(None);
    }
    // Nothing of the rest is kept, however much it is.
    serde_json::from_str::<ResultHead>(reply.result())
        .map(|head| head.result_type)
        .map_err(|error| malformed(reply, format!("the result cannot be read: {error}")))
}

pub fn malformed(reply: &Reply, message: String) -> CallError {
    reply.refused(Failure::malformed(message))
}
