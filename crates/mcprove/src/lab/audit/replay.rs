//! Sending a recorded request again.

use std::time::SystemTime;

use mcprove_score::trace::ErrorCategory;
use serde_json::{Value, json};

use super::comparison::RowComparison;
use super::row::AuditRow;
use crate::lab::category;
use crate::quantity::as_milliseconds;
use crate::session::{CallError, ProtocolChoice, Reply, Request, Session};
use crate::transport::Detail;

/// A row whose request cannot be sent again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// Not all of its parameters were kept.
    #[error("the parameters of row {0} were cut when it was recorded, so it cannot be sent again")]
    Cut(i64),
    /// It was no whole request, or a call of nothing.
    #[error("row {id} is no request that can be sent again: {reason}")]
    NoRequest {
        /// The row.
        id: i64,
        /// Why it is none.
        reason: &'static str,
    },
}

impl ReplayError {
    /// What to try.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Cut(_) => "choose a row with smaller parameters",
            Self::NoRequest { .. } => {
                "choose another row: `mcprove lab audit FILE --method tools/call` lists calls"
            }
        }
    }
}

/// The parts of a recorded request that are sent again.
#[derive(Debug, Clone, PartialEq)]
enum Recorded {
    Tool {
        name: String,
        arguments: Value,
    },
    Other {
        method: String,
        params: Option<Value>,
    },
}

/// A recorded request that can be sent again.
#[derive(Debug, Clone, PartialEq)]
pub struct Replay {
    row: AuditRow,
    recorded: Recorded,
}

impl Replay {
    /// Prepares the request of a row, if it can be sent again.
    ///
    /// ```
    /// use mcprove::lab::audit::{AuditRow, Replay, ReplayError};
    ///
    /// let row = AuditRow {
    ///     id: 7,
    ///     method: "tools/call".into(),
    ///     request_id: Some("1".into()),
    ///     tool_name: Some("echo".into()),
    ///     parameters: Some("{\"message\":\"hi\"}".into()),
    ///     ..AuditRow::default()
    /// };
    /// assert!(Replay::new(row.clone()).is_ok());
    /// let cut = AuditRow { parameters_cut: true, ..row };
    /// assert_eq!(Replay::new(cut), Err(ReplayError::Cut(7)));
    /// ```
    pub fn new(row: AuditRow) -> Result<Self, ReplayError> {
        let refuse = |reason| Err(ReplayError::NoRequest { id: row.id, reason });
        if row.parameters_cut {
            return Err(ReplayError::Cut(row.id));
        }
        if row.request_id.is_none() {
            return refuse("it has no id");
        }
        match row.method.as_str() {
            "" => return refuse("it has no method"),
            "initialize" => return refuse("every session begins with it anyway"),
            "subscriptions/listen" => return refuse("it has no end"),
            _ => {}
        }
        let params = match row.parameters.as_deref().map(serde_json::from_str::<Value>) {
            None => None,
            Some(Ok(Value::Object(mut members))) => {
                // The session has its own.
                members.remove("_meta");
                Some(Value::Object(members))
            }
            Some(Ok(Value::Null)) if row.method == "tools/call" => None,
            Some(_) => return refuse("its parameters are no JSON object"),
        };
        let recorded = match (row.method.as_str(), row.tool_name.as_deref()) {
            ("tools/call", None) => return refuse("it names no tool"),
            ("tools/call", Some(name)) => Recorded::Tool {
                name: name.to_owned(),
                arguments: params.unwrap_or_else(|| json!({})),
            },
            (method, _) => Recorded::Other {
                method: method.to_owned(),
                params,
            },
        };
        Ok(Self { row, recorded })
    }

    /// The revision in which the request was served, if that was recorded and is known: another one
    /// may be answered otherwise.
    pub fn protocol(&self) -> ProtocolChoice {
        let recorded = self.row.protocol_version.as_deref();
        let revision = recorded.and_then(|revision| revision.parse().ok());
        revision.map_or(ProtocolChoice::Auto, ProtocolChoice::Revision)
    }

    /// Sends the request on a session, and holds what comes back against what was recorded. Places
    /// in `ignored` do not count, as in [`RowComparison::of_requests`].
    pub async fn send(self, session: &Session, ignored: &[String]) -> RowComparison {
        let ts = SystemTime::now();
        let outcome = match &self.recorded {
            Recorded::Tool { name, arguments } => session.call_tool(name, arguments).await,
            Recorded::Other { method, params } => {
                let mut request = Request::new(method);
                if let Some(params) = params {
                    request = request.params(params);
                }
                session.request(&request).await
            }
        };
        let mut now = AuditRow {
            ts,
            method: self.row.method.clone(),
            tool_name: self.row.tool_name.clone(),
            tool_group: self.row.tool_group.clone(),
            parameters: self.row.parameters.clone(),
            transport: session.transport().to_owned(),
            ..AuditRow::default()
        };
        match outcome {
            Ok(reply) => {
                now.success = true;
                take_reply(&mut now, &reply);
            }
            Err(error) => take_error(&mut now, &error, self.recorded.category()),
        }
        RowComparison::of_answers(self.row, now, ignored)
    }
}

fn take_reply(row: &mut AuditRow, reply: &Reply) {
    let result = reply.result();
    row.request_id = Some(reply.request_id.to_string());
    row.duration_ms = as_milliseconds(reply.duration);
    row.response_chars = result.chars().count() as u64;
    let parsed: Option<Value> = serde_json::from_str(result).ok();
    let content = parsed.as_ref().and_then(|result| result.get("content"));
    let blocks = content.and_then(Value::as_array).map_or(0, Vec::len);
    row.content_blocks = blocks as u64;
    row.response = Some(result.to_owned());
}

impl Recorded {
    /// The category of the error that it asks for.
    fn category(&self) -> Option<&'static str> {
        match self {
            Self::Tool { name, arguments } => category::asked_for(name, arguments),
            Self::Other { .. } => None,
        }
    }
}

/// The category of an error, in the words of the audit.
fn category_of(error: &CallError) -> &'static str {
    const UNAUTHORISED: Detail = Detail::Status(401);
    match error.category() {
        ErrorCategory::ToolError => category::TOOL,
        ErrorCategory::Timeout | ErrorCategory::Hang | ErrorCategory::Deadlock => category::TIMEOUT,
        ErrorCategory::Cancelled => category::CANCELLED,
        _ if error.failure.detail == UNAUTHORISED => category::AUTH,
        _ => category::of_code(error.code()),
    }
}

fn take_error(row: &mut AuditRow, error: &CallError, asked_for: Option<&'static str>) {
    row.duration_ms = as_milliseconds(error.duration);
    row.error_message = Some(error.to_string());
    row.error_category = Some(asked_for.unwrap_or_else(|| category_of(error)).to_owned());
    row.error_code = error.code();
    row.cancelled = error.category() == ErrorCategory::Cancelled;
    if let Some(reply) = &error.reply {
        take_reply(row, reply);
    } else if let Some(error) = &error.error {
        row.error_message = Some(error.message.clone());
        let mut answer = json!({ "code": error.code, "message": error.message });
        if let (Some(members), Some(data)) = (answer.as_object_mut(), &error.data) {
            members.insert("data".to_owned(), data.clone());
        }
        row.response = Some(answer.to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(method: &str, parameters: &str) -> AuditRow {
        AuditRow {
            id: 3,
            method: method.into(),
            request_id: Some("1".into()),
            parameters: Some(parameters.into()),
            ..AuditRow::default()
        }
    }

    #[test]
    fn what_cannot_be_sent_again_says_why() {
        let nameless = AuditRow {
            request_id: None,
            ..row("notifications/cancelled", "{}")
        };
        for (row, part) in [
            (nameless, "no id"),
            (row("initialize", "{}"), "every session"),
            (row("subscriptions/listen", "{}"), "no end"),
            (row("", "{}"), "no method"),
            (row("tools/call", "{}"), "no tool"),
            (row("resources/read", "[1]"), "no JSON object"),
            (row("resources/read", "{"), "no JSON object"),
        ] {
            let error = Replay::new(row).unwrap_err();
            assert!(error.to_string().contains(part), "{error}");
        }
    }

    #[test]
    fn the_session_adds_its_own_meta() {
        let replay = Replay::new(row("resources/read", r#"{"uri":"a:b","_meta":{"x":1}}"#));
        let expected = Recorded::Other {
            method: "resources/read".into(),
            params: Some(json!({ "uri": "a:b" })),
        };
        assert_eq!(replay.unwrap().recorded, expected);
    }

    #[tokio::test]
    async fn a_call_that_was_cancelled_is_not_one_that_took_too_long() {
        let (output, input) = crate::lab::spawn_in_memory(&crate::lab::Options::default());
        let recorder = crate::event::EventStream::unobserved().recorder();
        let options = crate::session::SessionOptions {
            call_timeout: std::time::Duration::from_millis(300),
            ..Default::default()
        };
        let session = Session::connect_streams(output, input, options, recorder)
            .await
            .unwrap();
        let cancelled = AuditRow {
            tool_name: Some("slow".into()),
            cancelled: true,
            error_category: Some(category::CANCELLED.into()),
            ..row("tools/call", r#"{"milliseconds":60000}"#)
        };
        let compared = Replay::new(cancelled).unwrap().send(&session, &[]).await;
        assert_eq!(compared.right.error_category.as_deref(), Some("timeout"));
        assert!(!compared.same, "{compared:?}");
    }

    #[tokio::test]
    async fn a_replay_finds_what_changed_and_what_did_not() {
        let (output, input) =
            crate::fixture::spawn_in_memory("normal", &crate::fixture::Options::default()).unwrap();
        let recorder = crate::event::EventStream::unobserved().recorder();
        let options = crate::session::SessionOptions::default();
        let session = Session::connect_streams(output, input, options, recorder)
            .await
            .unwrap();
        let echo = AuditRow {
            tool_name: Some("echo".into()),
            success: true,
            ..row("tools/call", r#"{"message":"hi"}"#)
        };
        let first = Replay::new(echo).unwrap().send(&session, &[]).await;
        assert!(first.right.success, "{first:?}");
        assert!(!first.same, "nothing was recorded");
        let whole = AuditRow {
            id: 4,
            ..first.right
        };
        let again = Replay::new(whole.clone())
            .unwrap()
            .send(&session, &[])
            .await;
        assert!(again.same, "{again:?}");
        let failed = AuditRow {
            success: false,
            error_code: Some(-32000),
            response: Some(r#"{"code":-32000,"message":"no"}"#.into()),
            ..whole
        };
        let other = Replay::new(failed).unwrap().send(&session, &[]).await;
        let columns: Vec<&str> = other.differences.iter().map(|found| found.column).collect();
        assert!(columns.starts_with(&["success", "error_code"]), "{other:?}");
        let missing = Replay::new(row("no/such", "{}")).unwrap();
        let missing = missing.send(&session, &[]).await;
        assert_eq!(missing.right.error_code, Some(-32601));
    }
}
