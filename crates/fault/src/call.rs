//! A call that met a fault: the same for a mock, a proxy and a load. Whoever carries calls implements [`FaultedCall`];
//! a kind of fault is a few lines that use it through a [`FaultExchange`].
//!
//! Messages that effects send, and what they change in those of the server.

use std::ops::Deref;

use crate::prelude::*;

/// The longest that a call hangs: far past any timeout of a client, and the end of it all the same.
pub const HANG_LIMIT: Duration = Duration::from_mins(10);
/// The error that ends a call at [`HANG_LIMIT`].
pub const HANG_CODE: i64 = -32_001;
/// What that error says.
pub const HANG_MESSAGE: &str = "mcprove: injected hang released";
/// The error of calls that are made to fail, unless another is asked for.
pub const FAILURE_CODE: i64 = -32_000;

/// One `tools/call` that met a fault, and the ways to answer it, wrong ones included.
///
/// Messages are whole JSON texts without a delimiter; whoever carries them adds what the transport wants.
/// When the client cancels the call or leaves, the effect is dropped where it waits, unless it said
/// [`FaultedCall::ignore_cancellation`].
pub trait FaultedCall: Send + Sync {
    /// The id of the request, as JSON.
    fn id(&self) -> &str;

    fn tool(&self) -> &str;

    /// The token under which the client wants progress, if it wants any.
    fn progress_token(&self) -> Option<&Value>;

    /// Whether the request is of the stateless era, whose results say of which type they are.
    fn is_stateless(&self) -> bool;

    /// Has the call executed and waits for its reply, the whole message with the id of the request. What
    /// the server says before its reply goes to the client meanwhile. `None` if no reply comes.
    fn execute(&self) -> BoxFuture<'_, Option<Bytes>>;

    /// Sends the last word on this call, whatever these bytes are.
    fn reply(&self, message: Bytes) -> BoxFuture<'_, ()>;

    /// Sends something before the last word, as a message of its own, whatever these bytes are.
    fn send(&self, message: Bytes) -> BoxFuture<'_, ()>;

    /// Sends the beginning of a message as the last word. Where a frame has a length, the connection
    /// is closed in the middle of it; over stdio the line ends early, and the connection lives.
    fn reply_cut(&self, beginning: Bytes) -> BoxFuture<'_, ()>;

    /// Closes the connection without a word; over stdio, the server's output.
    fn disconnect(&self) -> BoxFuture<'_, ()>;

    /// Ends the server's process with a status other than 0, as far as it is ours to end.
    fn crash(&self) -> BoxFuture<'_, ()>;

    /// Answers with an HTTP status; where there is none, with a JSON-RPC error that tells it.
    fn refuse(&self, status: u16, retry_after_s: u64) -> BoxFuture<'_, ()>;

    /// From now on the call goes on though the client cancels it.
    fn ignore_cancellation(&self);
}

/// A call and the fault that strikes it, as an [`Effect`] sees them.
pub struct FaultExchange<'a> {
    call: &'a dyn FaultedCall,
    kind: FaultKind,
    /// The random choice of this very call: the same call of the same seed has the same draw, whatever else goes on.
    pub draw: u64,
}

impl<'a> Deref for FaultExchange<'a> {
    type Target = dyn FaultedCall + 'a;

    fn deref(&self) -> &Self::Target {
        self.call
    }
}

impl<'a> FaultExchange<'a> {
    pub fn new(call: &'a dyn FaultedCall, kind: FaultKind, draw: u64) -> Self {
        Self { call, kind, draw }
    }

    /// Never answers, until [`HANG_LIMIT`] has passed; then says that it was a fault.
    pub async fn hang(&self) {
        sleep(HANG_LIMIT).await;
        self.fail(HANG_CODE, HANG_MESSAGE).await;
    }

    /// Answers with an error that says which fault made it.
    pub async fn fail(&self, code: i64, message: &str) {
        let data = json!({ "fault": self.kind.name() });
        let error = error(self.call, code, message, Some(&data));
        self.reply(error).await;
    }

    /// Has the call executed, and answers with its reply.
    pub async fn pass_on(&self) {
        self.changed(|reply| reply).await;
    }

    /// Has the call executed, and answers with what becomes of its reply.
    pub async fn changed(&self, change: impl FnOnce(Bytes) -> Bytes + Send) {
        if let Some(reply) = self.execute().await {
            self.reply(change(reply)).await;
        }
    }

    /// The response to this call with a result, completed as its era wants it.
    pub fn result(&self, mut result: Value) -> Bytes {
        if self.is_stateless() {
            result["resultType"] = json!("complete");
        }
        envelope(self.id(), "result", &result)
    }

    /// The same response with its `result` or `error` changed; what is no message stays as it is.
    pub fn with_answer(
        &self,
        reply: &Bytes,
        change: impl FnOnce(&str, &mut Map<String, Value>),
    ) -> Bytes {
        let Some((name, Value::Object(mut fields))) = body(reply) else {
            return reply.clone();
        };
        change(name, &mut fields);
        envelope(self.id(), name, &Value::Object(fields))
    }

    /// The same response with this content, or as an error with this message; nothing else says what it said.
    pub fn saying(&self, reply: &Bytes, content: &Value, message: &str) -> Bytes {
        self.with_answer(reply, |name, answer| {
            let (key, value, also) = match name {
                "result" => ("content", content.clone(), "structuredContent"),
                _ => ("message", message.into(), "data"),
            };
            answer.insert(key.to_owned(), value);
            answer.remove(also);
        })
    }
}

/// The response to this call with an error.
pub fn error(call: &dyn FaultedCall, code: i64, message: &str, data: Option<&Value>) -> Bytes {
    let mut error = json!({ "code": code, "message": message });
    if let (Some(data), Some(fields)) = (data, error.as_object_mut()) {
        fields.insert("data".to_owned(), data.clone());
    }
    envelope(call.id(), "error", &error)
}

/// The error that tells of an HTTP status, to a call over a transport that has none.
pub fn status(call: &dyn FaultedCall, status: u16, retry_after_s: u64) -> Bytes {
    let message =
        format!("mcprove: injected HTTP status {status}, try again after {retry_after_s} s");
    let data = json!({
        "fault": "http_status", "status": status, "retry_after_s": retry_after_s,
    });
    error(call, FAILURE_CODE, &message, Some(&data))
}

/// The same response under another id.
pub fn with_id(reply: &Bytes, id: &str) -> Bytes {
    match body(reply) {
        Some((name, body)) => envelope(id, name, &body),
        None => reply.clone(),
    }
}

fn body(reply: &Bytes) -> Option<(&'static str, Value)> {
    let mut message: Map<String, Value> = serde_json::from_slice(reply).ok()?;
    if let Some(result) = message.remove("result") {
        return Some(("result", result));
    }
    message.remove("error").map(|error| ("error", error))
}

fn envelope(id: &str, name: &str, body: &Value) -> Bytes {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"{name}\":{body}}}").into()
}

/// An id that nobody asked under: another number, or another text.
pub fn other_id(id: &str) -> String {
    /// Far from the ids that are in use.
    const OFFSET: u64 = 1_000_000_000;
    match serde_json::from_str::<Value>(id) {
        Ok(Value::String(text)) => json!(format!("not {text}")).to_string(),
        Ok(Value::Number(number)) => match number.as_u64() {
            Some(number) => number.wrapping_add(OFFSET).to_string(),
            None => OFFSET.to_string(),
        },
        _ => OFFSET.to_string(),
    }
}

/// The notification of progress under this token.
pub fn progress(token: &Value, progress: u64) -> Bytes {
    let params = json!({ "progressToken": token, "progress": progress });
    format!("{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{params}}}")
        .into()
}

/// The id of a message as JSON, exactly as it was written: numbers keep all their digits.
///
/// ```
/// let id = mcprove_fault::raw_id(br#"{"jsonrpc":"2.0","id":18446744073709551616,"method":"ping"}"#);
/// assert_eq!(id.as_deref(), Some("18446744073709551616"));
/// ```
pub fn raw_id(message: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Named<'a> {
        #[serde(borrow)]
        id: Option<&'a RawValue>,
    }
    let named: Named<'_> = serde_json::from_slice(message).ok()?;
    named.id.map(|id| id.get().to_owned())
}
