//! From a request and what came of it to a row of the audit.

use std::sync::{Arc, Mutex};
use std::time::{Instant, SystemTime};

use mcprove_servers::hosting::message::{META_CLIENT, META_VERSION, Request};
use mcprove_servers::hosting::{
    Arrival, Caller, Ended, Malformed, Refusal, TurnedAway, Watch, lock,
};
use mcprove_trace::BoxFuture;
use serde_json::Value;

use super::audit::{AuditRow, AuditStore, header_texts, redact_headers};
use super::category::{self, AUTH, CANCELLED, PROTOCOL, TOOL};

/// Writes down what is asked.
#[derive(Clone)]
pub struct Recorder(pub Arc<AuditStore>);

impl Recorder {
    /// Waits while more rows are on their way than can be written soon; nothing if there are not.
    pub fn ready(&self) -> Option<BoxFuture<'_, ()>> {
        let is_ready = self.0.has_room();
        (!is_ready).then(|| -> BoxFuture<'_, ()> { Box::pin(self.0.room()) })
    }

    /// Sees a request to its end, and then writes its row.
    pub fn watch(&self, arrival: &Arrival<'_>, group: Option<&'static str>) -> Box<dyn Watch> {
        let mut row = row_of(Some(arrival.request), arrival.caller, group);
        row.session_id = arrival.session.name().map(str::to_owned);
        row.protocol_version = revision(arrival);
        if row.source.is_none() {
            // Only the first request of a session says it.
            row.source = name(&arrival.session.client());
        }
        Box::new(Observed {
            store: Arc::clone(&self.0),
            start: Instant::now(),
            row: Mutex::new(row),
        })
    }

    /// Writes a row of an HTTP request that was not let in.
    pub fn turned_away(
        &self,
        caller: &Caller,
        refused: TurnedAway<'_>,
        group: Option<&'static str>,
    ) {
        const UNAUTHORISED: u16 = 401;
        let is_unauthorised = refused.status == UNAUTHORISED;
        let mut row = row_of(refused.request, caller, group);
        if refused.request.is_none() {
            // Its body was not read, or is no request; a stateless client says it in a header too.
            let method = caller.header("mcp-method").unwrap_or_default();
            method.clone_into(&mut row.method);
        }
        match refused.refusal {
            Some(refusal) => {
                let id = refused.request.map_or(&Value::Null, |request| &request.id);
                note_refusal(refusal, id, &mut row);
            }
            None if refused.reason.is_empty() => {}
            None => {
                // A line of text.
                row.response_chars = refused.reason.chars().count() as u64 + 1;
                row.response = Some(Value::from(refused.reason).to_string());
            }
        }
        row.session_id = caller.header("mcp-session-id").map(str::to_owned);
        row.error_message = Some(format!("HTTP {}: {}", refused.status, refused.reason));
        row.error_category = Some(if is_unauthorised { AUTH } else { PROTOCOL }.to_owned());
        self.0.record_now(row);
    }

    /// Writes a row of what came and is no message.
    pub fn malformed(&self, refused: Malformed<'_>) {
        let mut row = row_of(None, refused.caller, None);
        row.session_id = refused.session.name().map(str::to_owned);
        row.source = name(&refused.session.client());
        row.protocol_version = refused.session.revision().map(|agreed| agreed.to_string());
        row.request_id = (!refused.id.is_null()).then(|| refused.id.to_string());
        refused.method.clone_into(&mut row.method);
        note_refusal(refused.refusal, refused.id, &mut row);
        self.0.record_now(row);
    }
}

/// The row of a request of which nothing is known yet but itself.
fn row_of(request: Option<&Request>, caller: &Caller, group: Option<&'static str>) -> AuditRow {
    let identity = caller.identity.as_ref();
    let mut row = AuditRow {
        ts: SystemTime::now(),
        transport: caller.transport().to_owned(),
        remote_addr: caller.remote.map(|remote| remote.to_string()),
        user_agent: caller.header("user-agent").map(str::to_owned),
        user: identity.map(|identity| identity.user.clone()),
        auth_type: Some(
            identity
                .map_or("none", |identity| identity.auth_type)
                .into(),
        ),
        ..AuditRow::default()
    };
    if !caller.headers.is_empty() {
        row.headers = Some(redact_headers(header_texts(&caller.headers)));
    }
    if let Some(request) = request {
        describe(request, group, &mut row);
    }
    row
}

fn describe(request: &Request, group: Option<&'static str>, row: &mut AuditRow) {
    row.request_id = Some(request.id.to_string());
    row.method.clone_from(&request.method);
    let params = serde_json::to_string(&request.params).unwrap_or_default();
    row.request_chars = params.chars().count() as u64;
    let client = request.params.get("clientInfo");
    row.source = client.or_else(|| request.meta(META_CLIENT)).and_then(name);
    if request.method == "tools/call" {
        row.tool_name = Some(request.tool().to_owned());
        row.tool_group = group.map(str::to_owned);
        row.parameters = request.params.get("arguments").map(Value::to_string);
    } else {
        row.parameters = Some(params);
    }
    let arguments = request.params.get("arguments").unwrap_or(&Value::Null);
    row.error_category = category::asked_for(request.tool(), arguments).map(str::to_owned);
}

/// The revision that a request is of; that of `initialize` is known when it is answered.
fn revision(arrival: &Arrival<'_>) -> Option<String> {
    let own = arrival.request.meta(META_VERSION).and_then(Value::as_str);
    let agreed = || arrival.session.revision().map(|agreed| agreed.to_string());
    own.map(str::to_owned).or_else(agreed)
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
            row.notifications_sent += u64::from(is_notification(message));
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
        let code = error.get("code").and_then(Value::as_i64);
        row.error_code = code;
        row.error_message = error
            .get("message")
            .and_then(Value::as_str)
            .map(str::to_owned);
        row.error_category
            .get_or_insert_with(|| category::of_code(code).to_owned());
        row.response = Some(error.to_string());
        return;
    }
    let Some(result) = message.get("result") else {
        return;
    };
    if row.method == "initialize" {
        let agreed = result.get("protocolVersion").and_then(Value::as_str);
        row.protocol_version = agreed.map(str::to_owned);
    }
    let blocks = result.get("content").and_then(Value::as_array);
    row.content_blocks = blocks.map_or(0, Vec::len) as u64;
    row.success = result.get("isError") != Some(&Value::Bool(true));
    if !row.success {
        let texts = blocks.into_iter().flatten();
        // The first text is the structured content, if there is any.
        let text = texts
            .filter_map(|block| block.get("text")?.as_str())
            .next_back();
        row.error_message = text.map(str::to_owned);
        row.error_category.get_or_insert_with(|| TOOL.to_owned());
    }
    row.response = Some(result.to_string());
}

/// Whether a message that goes out before the answer wants no answer itself.
fn is_notification(message: &[u8]) -> bool {
    serde_json::from_slice::<Value>(message).is_ok_and(|message| message.get("id").is_none())
}
