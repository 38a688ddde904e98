//! One request in a recording, from when it is seen to its one end.

use mcprove_fault::Injection;
use mcprove_trace::protocol::{Envelope, FailedAnswer, Message, RpcError, parse_bounded};
use mcprove_trace::{ClientView, Execution};

use crate::prelude::*;

/// A request that was seen. Clones share it: it ends once, whoever ends it.
#[derive(Clone)]
pub struct RecordedRequest(Arc<Open>);

struct Open {
    recording: Arc<Shared>,
    key: RequestKey,
    method: Box<str>,
    tool: Option<Box<str>>,
    sent: Instant,
    has_ended: AtomicBool,
    is_unheard: AtomicBool,
    /// Whether a fault has it executed and keeps the answer back, of which nothing is known yet.
    is_kept_back: AtomicBool,
}

impl RecordedRequest {
    pub fn new(
        recording: Arc<Shared>,
        key: RequestKey,
        method: &str,
        tool: Option<String>,
        sent: Instant,
    ) -> Self {
        Self(Arc::new(Open {
            recording,
            key,
            method: method.into(),
            tool: tool.map(String::into_boxed_str),
            sent,
            has_ended: AtomicBool::default(),
            is_unheard: AtomicBool::default(),
            is_kept_back: AtomicBool::default(),
        }))
    }

    /// Session and number, by which lines of the recording name it.
    pub fn key(&self) -> RequestKey {
        self.0.key
    }

    /// The tool, of `tools/call`.
    pub fn tool(&self) -> Option<&str> {
        self.0.tool.as_deref()
    }

    pub fn has_ended(&self) -> bool {
        self.0.has_ended.load(Ordering::Relaxed)
    }

    /// It is answered with this message, a JSON-RPC response; anything else counts as malformed.
    pub fn answer(&self, message: &[u8]) {
        match Envelope::parse(message) {
            Ok(envelope) => match envelope.classify() {
                Message::Response { result, .. } => self.result(result),
                Message::Error { error, .. } => match parse_bounded::<RpcError>(error) {
                    Ok(error) => self.error(&error),
                    Err(error) => self.malformed(&format!("not a JSON-RPC error: {error}")),
                },
                Message::Invalid { reason, .. } => self.malformed(reason),
                _ => self.malformed("it is not an answer"),
            },
            Err(error) => self.malformed(&format!("not JSON: {error}")),
        }
    }

    /// As [`RecordedRequest::answer`], of a request with this id, as JSON: a reply to another id leaves it open,
    /// as its client is left.
    pub fn answer_to(&self, id: &str, message: &[u8]) {
        match mcprove_fault::raw_id(message) {
            Some(other) if other != id => {
                let message = format!("a reply to request {other}, which was not sent");
                self.note("remark", &message);
            }
            _ => self.answer(message),
        }
    }

    /// It is answered with this result, as JSON.
    pub fn result(&self, result: &str) {
        let failure = self
            .tool()
            .and_then(|_| FailedAnswer::of_tool_result(result));
        let answer = &readable(result);
        self.end_with(match &failure {
            None => Ok(answer),
            Some(failure) => Err(CallFailure {
                category: failure.category,
                message: &failure.message,
                code: None,
                server_message: "",
                answer,
            }),
        });
    }

    /// It is answered with this error.
    pub fn error(&self, error: &RpcError) {
        let failure = FailedAnswer::of_error(error);
        let data = error.data.as_ref().map(Value::to_string);
        self.end_with(Err(CallFailure {
            category: failure.category,
            message: &failure.message,
            code: Some(error.code),
            server_message: &error.message,
            answer: data.as_deref().unwrap_or_default(),
        }));
    }

    /// It ends without an answer: the connection closed, the server crashed.
    pub fn fail(&self, category: ErrorCategory, message: &str) {
        self.end_with(Err(CallFailure {
            category,
            message,
            code: None,
            server_message: "",
            answer: "",
        }));
    }

    /// The client cancels it, or [has left](super::RecordedSession::left). One whose reply was no message is only noted: the client could
    /// not know that it has ended.
    pub fn cancel(&self) {
        if !self.has_ended() {
            self.note("cancelled", "");
            self.fail(ErrorCategory::Cancelled, "the client cancelled the request");
        } else if self.0.is_unheard.swap(false, Ordering::AcqRel) {
            self.note("cancelled", "");
        }
    }

    /// Whether it ended with a reply that was no message, and the client has not cancelled it.
    pub fn is_unheard(&self) -> bool {
        self.0.is_unheard.load(Ordering::Relaxed)
    }

    /// A fault strikes it; `server` is the name under which the fault was aimed.
    pub fn strike(&self, injection: &Injection, server: &str) {
        let fault = injection.fault();
        let mut data = self.names();
        data["fault"] = fault.name.as_str().into();
        data["kind"] = fault.kind.name().into();
        data["server"] = server.into();
        data["tool"] = self.tool().into();
        if let Some(delay) = injection.delay() {
            data["delay_ms"] = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX).into();
        }
        if let Some(failures) = injection.strikes_max() {
            data["failures"] = failures.into();
        }
        let keeps_back = fault.kind.executes() == Execution::Always
            && fault.kind.client_view() == ClientView::Nothing;
        if keeps_back {
            // Until something is known of the answer, whoever reads this knows that nothing is.
            data["keeps_answer"] = true.into();
            self.0.is_kept_back.store(true, Ordering::Release);
        }
        self.note_data("fault", &fault.to_string(), &data);
    }

    /// The server answered with this message; the fault that struck the request may keep it back.
    pub fn answered_behind(&self, message: &[u8]) {
        if !self.0.is_kept_back.swap(false, Ordering::AcqRel) {
            return;
        }
        let envelope = Envelope::parse(message);
        let answer = match envelope.as_ref().map(Envelope::classify) {
            Ok(Message::Response { result, .. })
                if FailedAnswer::of_tool_result(result).is_none() =>
            {
                "success"
            }
            Ok(Message::Response { .. } | Message::Error { .. }) => "error",
            _ => return,
        };
        let mut data = self.names();
        data["answer"] = answer.into();
        self.note_data("behind", "", &data);
    }

    fn malformed(&self, message: &str) {
        self.0.is_unheard.store(true, Ordering::Release);
        self.fail(ErrorCategory::Malformed, message);
    }

    /// Ends it with a result, as JSON, or a failure. If it has ended before, what comes is a note.
    fn end_with(&self, outcome: Result<&str, CallFailure<'_>>) {
        let open = &self.0;
        if open.has_ended.swap(true, Ordering::AcqRel) {
            self.note("late_reply", "an answer to a request that has ended");
            return;
        }
        let now = Instant::now();
        let (request, method, tool) = (open.key, &*open.method, self.tool());
        let duration = now.saturating_duration_since(open.sent);
        let tag = CallTag::default();
        let kind = match outcome {
            Ok(result) => EventKind::Response {
                request,
                method,
                tool,
                duration,
                result,
                tag,
            },
            Err(failure) => EventKind::Error {
                request,
                method,
                tool,
                duration,
                failure,
                tag,
            },
        };
        open.recording.record(now, kind);
    }

    fn note(&self, name: &str, message: &str) {
        self.note_data(name, message, &self.names());
    }

    fn note_data(&self, name: &str, message: &str, data: &Value) {
        self.0.recording.note(name, message, &data.to_string());
    }

    fn names(&self) -> Value {
        json!({ "session": self.0.key.session, "request_id": self.0.key.id })
    }
}
