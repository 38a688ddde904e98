//! From a request and its outcome to a row of the audit.

use std::time::Instant;

use super::category::{AUTH, CANCELLED, PROTOCOL, TOOL};
use crate::prelude::*;

/// Sees a request to its end, and then writes its row.
pub fn watch(
    store: &Arc<AuditStore>,
    arrival: &Arrival<'_>,
    group: Option<&'static str>,
) -> Box<dyn Watch> {
    let mut row = row_of(Some(arrival.request), arrival.caller, group);
    row.session_id = owned(arrival.session.name());
    // That of `initialize` is known when it is answered.
    let own = arrival.request.meta(META_VERSION).and_then(Value::as_str);
    let agreed = || arrival.session.revision().map(|agreed| agreed.to_string());
    row.protocol_version = owned(own).or_else(agreed);
    if row.source.is_none() {
        // Only the first request of a session says it.
        row.source = name(&arrival.session.client());
    }
    Box::new(Observed {
        store: Arc::clone(store),
        start: Instant::now(),
        row: Mutex::new(row),
    })
}

/// The row of an HTTP request that was not let in.
pub fn turned_away(
    caller: &Caller,
    refused: TurnedAway<'_>,
    group: Option<&'static str>,
) -> AuditRow {
    const UNAUTHORISED: u16 = 401;
    let TurnedAway { status, reason, .. } = refused;
    let mut row = row_of(refused.request, caller, group);
    if refused.request.is_none() {
        // Its body was not read, or is no request; a stateless client says it in a header too.
        row.method = owned(caller.header("mcp-method")).unwrap_or_default();
    }
    if let Some(refusal) = refused.refusal {
        let id = refused.request.map_or(&Value::Null, |request| &request.id);
        note_refusal(refusal, id, &mut row);
    } else if !reason.is_empty() {
        // A line of text.
        row.response_chars = reason.chars().count() as u64 + 1;
        row.response = Some(Value::from(reason).to_string());
    }
    row.session_id = owned(caller.header("mcp-session-id"));
    row.error_message = Some(format!("HTTP {status}: {reason}"));
    let is_unauthorised = status == UNAUTHORISED;
    row.error_category = owned(Some(if is_unauthorised { AUTH } else { PROTOCOL }));
    row
}

/// The row of what came and is no message.
pub fn malformed(refused: Malformed<'_>) -> AuditRow {
    let mut row = row_of(None, refused.caller, None);
    row.session_id = owned(refused.session.name());
    row.source = name(&refused.session.client());
    row.protocol_version = refused.session.revision().map(|agreed| agreed.to_string());
    row.request_id = (!refused.id.is_null()).then(|| refused.id.to_string());
    refused.method.clone_into(&mut row.method);
    note_refusal(refused.refusal, refused.id, &mut row);
    row
}

fn owned(text: Option<&str>) -> Option<String> {
    text.map(str::to_owned)
}

/// The row of a request of which nothing is known yet but itself.
fn row_of(request: Option<&Request>, caller: &Caller, group: Option<&'static str>) -> AuditRow {
    let identity = caller.identity.as_ref();
    let headers = Some(&caller.headers).filter(|headers| !headers.is_empty());
    let mut row = AuditRow {
        ts: SystemTime::now(),
        transport: caller.transport().to_owned(),
        remote_addr: caller.remote.map(|remote| remote.to_string()),
        user_agent: owned(caller.header("user-agent")),
        user: owned(caller.user()),
        auth_type: owned(Some(identity.map_or("none", |identity| identity.auth_type))),
        headers: headers.map(|headers| redact_headers(header_texts(headers))),
        ..AuditRow::default()
    };
    let Some(request) = request else {
        return row;
    };
    row.request_id = Some(request.id.to_string());
    row.method.clone_from(&request.method);
    let params = serde_json::to_string(&request.params).unwrap_or_default();
    row.request_chars = params.chars().count() as u64;
    let client = request.params.get("clientInfo");
    row.source = client.or_else(|| request.meta(META_CLIENT)).and_then(name);
    let arguments = request.params.get("arguments");
    if request.method == "tools/call" {
        row.tool_name = Some(request.tool().to_owned());
        row.tool_group = owned(group);
        row.parameters = arguments.map(Value::to_string);
    } else {
        row.parameters = Some(params);
    }
    let asked_for = arguments.and_then(|given| category::asked_for(request.tool(), given));
    row.error_category = owned(asked_for);
    row
}

/// The name and version of an implementation.
fn name(client: &Value) -> Option<String> {
    let name = client.get("name")?.as_str()?;
    let version = client.get("version").and_then(Value::as_str);
    Some(version.map_or_else(|| name.to_owned(), |version| format!("{name}/{version}")))
}

/// A request that is being answered.
struct Observed {
    store: Arc<AuditStore>,
    start: Instant,
    row: Mutex<AuditRow>,
}

impl Watch for Observed {
    fn sent(&self, message: &[u8], is_last: bool) {
        let mut row = lock(&self.row);
        if is_last {
            row.response_chars = String::from_utf8_lossy(message).chars().count() as u64;
            if let Ok(message) = serde_json::from_slice(message) {
                note(&message, &mut row);
            }
        } else {
            // What wants no answer itself.
            let message = serde_json::from_slice::<Value>(message);
            let is_notification = message.is_ok_and(|message| message.get("id").is_none());
            row.notifications_sent += u64::from(is_notification);
        }
    }

    fn ended(&self, how: Ended) {
        let mut row = std::mem::take(&mut *lock(&self.row));
        row.duration_ms = self.start.elapsed().as_secs_f64() * 1_000.0;
        let reason = match how {
            Ended::Answered => None,
            Ended::Cancelled => Some("cancelled by the client"),
            Ended::Disconnected => Some("the client left before the answer"),
            Ended::Stopped => Some("the lab was stopped before the answer"),
            Ended::GivenUp => Some("given up before the answer"),
        };
        if let Some(reason) = reason {
            row.cancelled = true;
            row.success = false;
            row.error_message = Some(reason.to_owned());
            row.error_category = Some(CANCELLED.to_owned());
        }
        if row.success {
            row.error_category = None;
        }
        self.store.record_now(row);
    }
}

/// Notes a refusal of the request with this id.
fn note_refusal(refusal: &Refusal, id: &Value, row: &mut AuditRow) {
    let answer = refusal.response(id);
    row.response_chars = answer.to_string().chars().count() as u64;
    note(&answer, row);
}

/// Notes an answer.
fn note(message: &Value, row: &mut AuditRow) {
    if let Some(error) = message.get("error") {
        let code = error["code"].as_i64();
        row.error_code = code;
        row.error_message = owned(error["message"].as_str());
        let category = &mut row.error_category;
        category.get_or_insert_with(|| category::of_code(code).to_owned());
        row.response = Some(error.to_string());
        return;
    }
    let Some(result) = message.get("result") else {
        return;
    };
    if row.method == "initialize" {
        row.protocol_version = owned(result["protocolVersion"].as_str());
    }
    let blocks = result["content"].as_array();
    row.content_blocks = blocks.map_or(0, Vec::len) as u64;
    row.success = result["isError"] != true;
    if !row.success {
        let texts = blocks.into_iter().flatten();
        // The first text is the structured content, if there is any.
        let text = texts
            .filter_map(|block| block.get("text")?.as_str())
            .next_back();
        row.error_message = owned(text);
        row.error_category.get_or_insert_with(|| TOOL.to_owned());
    }
    row.response = Some(result.to_string());
}
