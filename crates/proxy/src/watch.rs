//! What both kinds of proxies share: the faults, the recording, and what is remembered of calls.

use std::sync::Arc;

use bytes::Bytes;
use mcprove_fault::{CallSite, FaultSpec, Injection, Injector, KnownCall};
use mcprove_recording::{Peer, RecordedRequest, RecordedSession, Recording};
use mcprove_trace::budget::Budget;
use mcprove_trace::protocol::split_batch;

use super::faulted::FaultedRequest;
use super::journal::{CallLogId, Journal};
use super::listing;
use super::message::{Request, Seen, ToolCall};
use super::summary::SeenCalls;

/// What a proxy does besides passing things on.
#[derive(Clone, Default)]
pub struct Settings {
    /// The name under which faults are aimed at the server.
    pub server_name: String,
    /// The faults.
    pub faults: Vec<FaultSpec>,
    /// What decides for faults that have no seed of their own.
    pub seed: u64,
    /// Where traffic is written down.
    pub recording: Option<Recording>,
    /// Whether calls are counted even where there are no faults and no recording.
    pub counts_calls: bool,
}

/// How many bytes of replies may be held by faults or wait to be read, for all calls that they strike. A reply beyond
/// that is replaced by an error.
const REPLY_BYTES_MAX: usize = 512 * 1024 * 1024;

/// What is told where a fault was aimed at a call in a batch.
const BATCHED: &str = "a call in a batch passed unchanged: faults do not look into batches";

/// What becomes of what a client asks.
pub enum Fate {
    /// It goes on.
    Passes(Option<RecordedRequest>),
    /// A fault strikes it.
    Struck(Box<FaultedRequest>),
}

/// The faults, the recording and the memory of one proxy.
pub struct Watch {
    pub server_name: String,
    pub injector: Injector,
    pub recording: Option<Recording>,
    pub journal: Journal,
    pub seed: u64,
    /// The faults, as they are written.
    pub faults: Vec<String>,
    /// Replies that faults hold, or that wait to be read.
    pub replies: Budget,
    is_idle: bool,
}

impl Watch {
    pub fn new(settings: Settings) -> Arc<Self> {
        let faults = settings.faults.iter().map(ToString::to_string).collect();
        let injector = Injector::new(settings.faults, settings.seed);
        if let Some(recording) = &settings.recording {
            injector.go_on_from(recording.past());
        }
        Arc::new(Self {
            is_idle: injector.is_idle() && settings.recording.is_none() && !settings.counts_calls,
            server_name: settings.server_name,
            replies: Budget::new(REPLY_BYTES_MAX),
            injector,
            recording: settings.recording,
            journal: Journal::new(),
            seed: settings.seed,
            faults,
        })
    }

    /// Whether nobody needs to look at what passes.
    pub fn is_idle(&self) -> bool {
        self.is_idle
    }

    /// A client asks in a session: it is written down, and a fault may strike it. `has_room` says whether it
    /// may be held, `message` gives it as it came.
    pub fn request(
        &self,
        session: (u32, Option<&RecordedSession>),
        request: &Request<'_>,
        has_room: impl FnOnce() -> bool,
        message: impl FnOnce() -> Bytes,
    ) -> Fate {
        let (call, recorded) = written(session.1, request);
        let Some(call) = call else {
            return Fate::Passes(recorded);
        };
        let (injection, log_id) = self.call(session.0, &call, has_room);
        let Some(injection) = injection else {
            return Fate::Passes(recorded);
        };
        if let Some(recorded) = &recorded {
            recorded.strike(&injection, &self.server_name);
        }
        Fate::Struck(Box::new(FaultedRequest {
            call: call.hold(),
            message: message(),
            injection,
            log_id,
            recorded,
        }))
    }

    /// A client says several things at once, which pass as they are: they are written down, and calls are
    /// counted. `asked` gets the id of each request, and what was written down of it.
    pub fn batch(
        &self,
        (session, recorded): (u32, Option<&RecordedSession>),
        batch: &[u8],
        mut asked: impl FnMut(&str, Option<RecordedRequest>),
    ) {
        for member in split_batch(batch).unwrap_or_default() {
            let seen = Seen::of(member.as_bytes());
            seen.note(Peer::Client, recorded);
            let Seen::Request(request) = seen else {
                continue;
            };
            let (call, recorded) = written(recorded, &request);
            if let Some(call) = call {
                let call = self.known(&call);
                if self.injector.is_aimed_at(call.site()) {
                    self.journal.remark(BATCHED);
                }
                self.journal.call(session, &call, None);
            }
            asked(request.id, recorded);
        }
    }

    fn known<'a>(&'a self, call: &'a ToolCall<'_>) -> KnownCall<'a> {
        KnownCall::new(CallSite {
            server: &self.server_name,
            tool: &call.tool,
            arguments: call.arguments,
        })
    }

    /// A client calls a tool: the fault that strikes it, and its page in the journal.
    fn call(
        &self,
        session: u32,
        call: &ToolCall<'_>,
        has_room: impl FnOnce() -> bool,
    ) -> (Option<Injection>, CallLogId) {
        let call = self.known(call);
        let injection = if !self.injector.is_aimed_at(call.site()) {
            None
        } else if has_room() {
            self.injector.strike_known(&call, |_| true)
        } else {
            self.journal
                .remark("a call passed unchanged, for too many others were held");
            None
        };
        let log_id = self.journal.call(session, &call, injection.as_ref());
        (injection, log_id)
    }

    /// A list of tools passes: what it says is remembered, and what it is to say instead is returned.
    pub fn listing(&self, answer: &[u8]) -> Option<Vec<u8>> {
        for tool in listing::repeatable(answer) {
            self.journal.repeatable(tool);
        }
        if !self.injector.hides_any() {
            return None;
        }
        listing::without(answer, |tool| self.injector.hides(&self.server_name, tool))
    }

    /// What was seen so far.
    pub fn seen(&self) -> SeenCalls {
        SeenCalls {
            totals: self.injector.counts(),
            ..self.journal.calls()
        }
    }
}

/// Writes a request down, if there is a recording; what it calls, if it calls a tool.
fn written<'a>(
    session: Option<&RecordedSession>,
    Request { id, method, params }: &Request<'a>,
) -> (Option<ToolCall<'a>>, Option<RecordedRequest>) {
    let is_call = method == "tools/call";
    let call = is_call.then(|| ToolCall::parse(id, params)).flatten();
    let recorded = session.map(|session| match &call {
        Some(call) => session.call(id, &call.tool, params),
        None => session.request(id, method, params),
    });
    (call, recorded)
}
