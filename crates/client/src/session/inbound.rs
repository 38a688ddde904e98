//! What arrives: answers find their call, requests of the server get an answer, and whatever is
//! neither is reported. What cannot be read goes on to `unreadable.rs`.

use mcprove_trace::protocol::Message;

use super::prelude::*;

/// How much of something unreadable is shown.
pub const SHOWN_CHARACTERS: usize = 120;
/// The code of an answer that we cannot give.
const INTERNAL_ERROR: i64 = -32603;

/// The inbox that a channel holds. It does not keep the session alive: when the session is
/// dropped the channel goes with it.
pub struct SessionInbox(pub Weak<Core>);

impl SessionInbox {
    fn with<T: Default>(&self, act: impl FnOnce(&Core) -> T) -> T {
        let core = self.0.upgrade();
        core.map(|core| act(&core)).unwrap_or_default()
    }
}

impl Inbox for SessionInbox {
    fn deliver(&self, frame: Bytes) {
        self.with(|core| core.deliver(frame));
    }

    fn held(&self) -> Option<Arc<dyn Inbox>> {
        Some(self.0.upgrade()?)
    }

    fn is_waiting(&self, id: u64) -> bool {
        self.with(|core| core.is_waiting(id))
    }

    fn fail(&self, request: Option<u64>, failure: Failure) {
        self.with(|core| core.fail(request, failure));
    }

    fn set_injecting(&self, is_injecting: bool) {
        self.with(|core| core.set_injecting(is_injecting));
    }

    fn answer_raw(&self, answer: Result<Bytes, Failure>) {
        self.with(|core| core.receive_raw_answer(answer));
    }

    fn closed(&self, failure: Failure) {
        self.with(|core| core.close_with(&failure));
    }
}

impl Inbox for Core {
    fn deliver(&self, frame: Bytes) {
        match frame.iter().find(|byte| !byte.is_ascii_whitespace()) {
            None => {}
            Some(b'[') => self.receive_batch(&frame),
            Some(_) => self.receive_message(&frame),
        }
    }

    fn is_waiting(&self, id: u64) -> bool {
        self.lock()
            .waiting
            .get(&id)
            .is_some_and(|waiting| waiting.outcome.is_none())
    }

    fn fail(&self, request: Option<u64>, failure: Failure) {
        if let Some(id) = request {
            self.settle(
                id,
                match failure.detail {
                    Detail::Error(error) => Ending::Error(*error),
                    _ => Ending::Failure(failure),
                },
            );
            return;
        }
        match &failure.detail {
            Detail::Oversized { size, head } => {
                self.receive_unfinished(*size, head, failure.clone());
            }
            _ => drop(self.violate(ViolationKind::Refused, failure.message)),
        }
    }

    fn set_injecting(&self, is_injecting: bool) {
        self.is_injecting.store(is_injecting, Ordering::Relaxed);
    }

    fn answer_raw(&self, answer: Result<Bytes, Failure>) {
        self.receive_raw_answer(answer);
    }

    fn closed(&self, failure: Failure) {
        self.close_with(&failure);
    }
}

impl Core {
    fn receive_batch(&self, frame: &Bytes) {
        let members = protocol::split_batch(frame);
        // Log lines begin with a bracket, too, and are an array now and then.
        let is_batch = |members: &Vec<&str>| {
            members.is_empty() || members.iter().any(|it| it.starts_with(['{', '[']))
        };
        let members = members.filter(is_batch);
        let Some(members) = members else {
            self.receive_broken(frame, "it is not a readable batch");
            return;
        };
        let (revision, is_asked_for) = {
            let state = self.lock();
            (state.revision, state.raw.is_open())
        };
        if revision.is_some_and(|revision| !revision.has_batches()) && !is_asked_for {
            self.violate(
                ViolationKind::UnexpectedBatch,
                match members.len() {
                    1 => "1 message in a list".to_owned(),
                    count => format!("{count} messages in one"),
                },
            );
        }
        for member in members {
            self.receive_message(&frame.slice_ref(member.as_bytes()));
        }
    }

    fn receive_message(&self, frame: &Bytes) {
        match Envelope::parse(frame) {
            Ok(envelope) => self.receive_envelope(frame, &envelope),
            Err(error) => self.receive_broken(frame, &error.to_string()),
        }
    }

    pub fn receive_envelope(&self, frame: &Bytes, envelope: &Envelope<'_>) {
        match envelope.classify() {
            Message::Response { id, result } => {
                if self.settle_with_result(frame, id, result) {
                    return;
                }
                self.takes_stray(id, RawAnswer::of_result(result));
                // Only an error may lack its id, and only where the request could not be read.
                if id == Id::None {
                    let message = format!("a result without an id: {}", show(frame));
                    self.violate(ViolationKind::ReplyWithoutId, message);
                }
            }
            Message::Error { id, error } => {
                if !self.settle_with_error(id, error)
                    && !self.takes_stray(id, RawAnswer::of_error(error))
                {
                    self.refuse_error_without_id(error);
                }
            }
            Message::Notification { method, params } => self.receive_notification(method, params),
            Message::Request { id, method, params } => self.answer(id, method, params),
            Message::Invalid { id, reason } => self.receive_invalid(frame, envelope, id, reason),
        }
    }

    /// Ends the call that is answered with this result, if one is.
    pub fn settle_with_result(&self, frame: &Bytes, id: Id<'_>, result: &str) -> bool {
        let Id::Number(number) = id else {
            return false;
        };
        let span = protocol::span_of(frame, result);
        self.settle(number, Ending::Result(frame.clone(), span))
    }

    /// Ends the call that is answered with this error, if one is.
    pub fn settle_with_error(&self, id: Id<'_>, error: &str) -> bool {
        matches!(id, Id::Number(number) if self.settle(number, error_ending(error)))
    }

    /// An answer that no call waits for; false if it names nothing that it answers, and nobody takes it.
    fn takes_stray(&self, id: Id<'_>, answer: RawAnswer) -> bool {
        if self.takes_raw(id, answer) {
            if let Id::Number(number) = id {
                self.explains_repair(number);
            }
            return true;
        }
        let names_call = id != Id::None;
        if names_call {
            self.note_stray_reply(id);
        }
        names_call
    }

    pub fn receive_notification(&self, method: &str, params: &str) {
        match method {
            "notifications/progress" => self.receive_progress(params),
            "notifications/cancelled" => self.receive_cancellation(params),
            _ => {}
        }
        if let Some(handler) = &self.options.on_notification {
            self.call_handler("the handler of notifications", || handler(method, params));
        }
    }

    fn receive_progress(&self, params: &str) {
        let Ok(params) = protocol::parse_bounded::<Value>(params) else {
            return;
        };
        let token = params["progressToken"].as_u64();
        let handler = token.and_then(|token| self.lock().waiting.get(&token)?.progress.clone());
        if let Some(handler) = handler {
            self.call_handler("the handler of progress", || handler(&params));
        }
    }

    /// Calls what the user of the session handed in. A panic in it is noted, and the session goes on.
    pub fn call_handler(&self, name: &str, call: impl FnOnce()) {
        if let Err(words) = contain_call(call) {
            self.note_panic(name, &words);
        }
    }

    pub fn note_panic(&self, name: &str, words: &str) {
        let reason = format!("it panicked: {words}");
        let loss = Loss::of(name, Missing::Messages(1), reason);
        self.options.losses.add(loss);
    }

    /// What the responder says; one that panics declines.
    pub fn respond(&self, method: &str, params: &Value) -> Response {
        contain_call(|| self.options.responder.respond(method, params)).unwrap_or_else(|words| {
            self.note_panic("the responder", &words);
            Err((INTERNAL_ERROR, format!("the responder panicked: {words}")))
        })
    }

    /// Answers a request of the server, at once.
    pub fn answer(&self, id: Id<'_>, method: &str, params: &str) {
        if self.lock().revision.map(Revision::era) == Some(Era::Stateless) {
            self.violate(
                ViolationKind::UnexpectedRequest,
                format!("a {method} request"),
            );
        }
        if let Id::Number(number) = id {
            self.lock().cancels.note_question(number);
        }
        let params = protocol::parse_bounded(params).unwrap_or(Value::Null);
        let mut response = self.respond(method, &params);
        if let Ok(result) = &mut response {
            keep_related_task(&params, result);
        }
        let bytes = protocol::reply(&id.to_string(), &response);
        self.send_aside(&bytes, OutgoingKind::Reply, "");
    }

    /// Notes a violation, and tells its place among those that are kept with their text.
    pub fn violate(&self, kind: ViolationKind, message: String) -> Option<usize> {
        if self.is_injecting() {
            return None;
        }
        self.lock().violations.add(kind, message)
    }
}

/// What belongs to a task says so (2025-11-25), and so does the answer to it.
fn keep_related_task(params: &Value, result: &mut Value) {
    let related = params["_meta"].get(META_RELATED_TASK);
    if let (Some(related), Some(members)) = (related, result.as_object_mut()) {
        let meta = members.entry("_meta").or_insert_with(|| json!({}));
        if let Some(meta) = meta.as_object_mut() {
            meta.insert(META_RELATED_TASK.into(), related.clone());
        }
    }
}

fn error_ending(error: &str) -> Ending {
    match protocol::parse_bounded::<RpcError>(error) {
        Ok(error) => Ending::Error(error),
        Err(reason) => Ending::Failure(Failure::malformed(format!(
            "the reply has an error without a proper code and message: {reason}"
        ))),
    }
}

/// The beginning of something, on one line.
pub fn show(bytes: &[u8]) -> String {
    on_one_line(&shorten_bytes(bytes, SHOWN_CHARACTERS))
}

pub fn on_one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}
