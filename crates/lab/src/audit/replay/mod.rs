//! Sending a recorded request again.

use mcprove_settings::message::{Message, UserError, command_or, sentence};
use mcprove_settings::quantity::as_milliseconds;
use mcprove_trace::protocol::RpcError;

use crate::prelude::*;

/// Who sends a recorded request again: a session with a server, which this crate knows nothing of.
pub trait Caller {
    /// How its messages travel.
    fn transport(&self) -> &str;

    /// Calls a tool.
    fn call_tool(&self, name: &str, arguments: &Value)
    -> impl Future<Output = CallerAnswer> + Send;

    /// Sends any other request.
    fn request(
        &self,
        method: &str,
        params: Option<&Value>,
    ) -> impl Future<Output = CallerAnswer> + Send;
}

/// What became of a request that was sent again.
#[derive(Debug, Clone)]
pub struct CallerAnswer {
    /// How long it took.
    pub duration: Duration,
    /// The id of the request and its result, as JSON, where one came.
    pub reply: Option<(u64, String)>,
    /// Why it failed, if it did.
    pub failure: Option<CallerFailure>,
}

/// Why a request that was sent again failed.
#[derive(Debug, Clone)]
pub struct CallerFailure {
    /// The category of the failure.
    pub category: ErrorCategory,
    /// What happened, for people.
    pub message: String,
    /// The HTTP status that was answered.
    pub status: Option<u16>,
    /// The JSON-RPC error that was answered.
    pub error: Option<RpcError>,
}

/// A row whose request cannot be sent again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// Not all of its parameters were kept.
    #[error("the parameters of row {0} were cut when it was recorded, so it cannot be sent again")]
    Cut(i64),
    /// It was no whole request, or a call of nothing.
    #[error("row {id} cannot be sent again: {reason}")]
    NoRequest {
        /// The row.
        id: i64,
        /// Why it is none.
        reason: &'static str,
    },
}

impl UserError for ReplayError {
    fn hint(&self) -> Message {
        match self {
            Self::Cut(_) => "choose a row with smaller parameters".into(),
            Self::NoRequest { .. } => sentence!(
                "choose a row that is a call: {} lists the rows",
                command_or("lab audit FILE", "AuditReader")
            ),
        }
    }
}

/// A recorded request that can be sent again.
#[derive(Debug, Clone, PartialEq)]
pub struct Replay {
    row: AuditRow,
    /// What is sent: the arguments of a tool, or the parameters.
    params: Option<Value>,
}

impl Replay {
    /// Prepares the request of a row, if it can be sent again.
    ///
    /// ```
    /// use mcprove_lab::audit::{AuditRow, Replay, ReplayError};
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
            Some(_) => return refuse("its parameters are not a JSON object"),
        };
        if row.method == "tools/call" && row.tool_name.is_none() {
            return refuse("it names no tool");
        }
        Ok(Self { row, params })
    }

    /// The revision in which the request was served, if that was recorded and is known: another one
    /// may be answered otherwise.
    pub fn protocol(&self) -> Option<Revision> {
        self.row.protocol_version.as_deref()?.parse().ok()
    }

    /// Sends the request, and holds what comes back against what was recorded. Places
    /// in `ignored` do not count, as in [`RowComparison::of_requests`].
    pub async fn send(self, caller: &impl Caller, ignored: &[String]) -> RowComparison {
        let ts = SystemTime::now();
        let Self { row, params } = self;
        let (mut asked_for, none) = (None, json!({}));
        let answer = match &row.tool_name {
            Some(name) if row.method == "tools/call" => {
                let arguments = params.as_ref().unwrap_or(&none);
                asked_for = category::asked_for(name, arguments);
                caller.call_tool(name, arguments).await
            }
            _ => caller.request(&row.method, params.as_ref()).await,
        };
        let mut now = AuditRow {
            ts,
            method: row.method.clone(),
            tool_name: row.tool_name.clone(),
            tool_group: row.tool_group.clone(),
            parameters: row.parameters.clone(),
            transport: caller.transport().to_owned(),
            duration_ms: as_milliseconds(answer.duration),
            success: answer.failure.is_none(),
            ..AuditRow::default()
        };
        if let Some((request_id, result)) = answer.reply {
            let parsed: Value = serde_json::from_str(&result).unwrap_or_default();
            now.request_id = Some(request_id.to_string());
            now.response_chars = result.chars().count() as u64;
            now.content_blocks = parsed["content"].as_array().map_or(0, Vec::len) as u64;
            now.response = Some(result);
        }
        if let Some(failure) = answer.failure {
            take_failure(&mut now, failure, asked_for);
        }
        RowComparison::of_answers(row, now, ignored)
    }
}

/// The category of a failure, in the words of the audit.
fn category_of(failure: &CallerFailure) -> &'static str {
    match failure.category {
        ErrorCategory::ToolError => category::TOOL,
        ErrorCategory::Timeout | ErrorCategory::Hang | ErrorCategory::Deadlock => category::TIMEOUT,
        ErrorCategory::Cancelled => category::CANCELLED,
        _ if failure.status == Some(401) => category::AUTH,
        _ => category::of_code(failure.error.as_ref().map(|error| error.code)),
    }
}

fn take_failure(row: &mut AuditRow, failure: CallerFailure, asked_for: Option<&'static str>) {
    let category = asked_for.unwrap_or_else(|| category_of(&failure));
    row.error_category = Some(category.to_owned());
    row.error_code = failure.error.as_ref().map(|error| error.code);
    row.cancelled = failure.category == ErrorCategory::Cancelled;
    row.error_message = Some(failure.message);
    if let (Some(error), None) = (failure.error, &row.response) {
        let mut answer = json!({ "code": error.code, "message": error.message });
        if let Some(data) = error.data {
            answer["data"] = data;
        }
        row.error_message = Some(error.message);
        row.response = Some(answer.to_string());
    }
}

#[cfg(test)]
mod tests;
