//! What becomes of what passes: both kinds of proxies hand what clients and servers say to a [`Watch`], which writes
//! it down, lets faults strike calls, and says what goes on.

use mcprove_fault::{CallSite, FaultSpec, Injector};
use mcprove_trace::protocol::META_PROTOCOL_VERSION;

use super::answers::Expected;
use super::faulted_calls::FaultedCalls;
use super::journal::Journal;
use super::listing;
use super::message::{Request, ToolCall};
use super::report::TrafficCount;
use crate::prelude::*;

/// What a proxy does besides passing things on.
#[derive(Clone, Default)]
pub struct Settings {
    /// The name under which faults are aimed at the server.
    pub server_name: String,
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
/// How many open requests are remembered, for their cancellations and for the end.
const OPEN_MAX: usize = 100_000;
/// How many may be remembered before those are forgotten that have ended.
const OPEN_MIN: usize = 1024;

/// What is told where a fault was aimed at a call in a batch.
const BATCHED: &str = "a call in a batch passed unchanged: faults do not look into batches";

/// A session of a client; by default of nobody, where nobody looks.
#[derive(Clone, Default)]
pub struct Session {
    pub number: u32,
    /// Within what the ids of its requests are told apart.
    pub name: Arc<str>,
    pub recorded: Option<RecordedSession>,
}

/// Names a call: its session, and its id in it.
pub type CallKey = (Arc<str>, IdKey);

/// What becomes of what a client says.
pub enum Decision {
    /// It goes on; of the answers to what it asks this is wanted.
    Pass(Option<Observer>),
    /// It goes nowhere.
    Hold,
    /// A fault strikes it.
    Strike(Arc<PendingCall>, Box<Injection>),
}

/// What becomes of a message on its way.
pub enum Passage {
    /// It goes on as it is.
    Pass,
    /// It does not go on.
    Hold,
    /// This goes on in its place.
    Replace(Vec<u8>),
}

/// The faults, the recording and the memory of one proxy.
pub struct Watch {
    pub settings: Settings,
    pub injector: Injector,
    pub journal: Journal,
    /// Calls that faults act on.
    pub faulted: FaultedCalls,
    /// Replies that faults hold, or that wait to be read.
    pub replies: Budget,
    pub count: TrafficCount,
    /// Requests that are written down and may still be open, and how many there may be before those are forgotten
    /// that have ended.
    open: Mutex<(Vec<(CallKey, RecordedRequest)>, usize)>,
}

impl Watch {
    pub fn new(settings: Settings) -> Arc<Self> {
        let injector = Injector::new(settings.faults.clone(), settings.seed);
        if let Some(recording) = &settings.recording {
            injector.go_on_from(recording.past());
        }
        Arc::new(Self {
            settings,
            injector,
            journal: Journal::new(),
            faulted: FaultedCalls::default(),
            replies: Budget::new(REPLY_BYTES_MAX),
            count: TrafficCount::default(),
            open: Mutex::default(),
        })
    }

    /// Whether nobody needs to look at what passes.
    pub fn is_idle(&self) -> bool {
        let Settings {
            recording,
            counts_calls,
            ..
        } = &self.settings;
        self.injector.is_idle() && recording.is_none() && !counts_calls
    }

    /// A client says something in a session: it is written down, and a fault may strike it.
    pub fn decide(
        self: &Arc<Self>,
        session: &Session,
        seen: &Seen<'_>,
        message: &[u8],
    ) -> Decision {
        seen.note(Peer::Client, session);
        if let Some(id) = seen.cancelled()
            && !self.cancel(&(Arc::clone(&session.name), id))
        {
            return Decision::Hold;
        }
        match seen {
            Seen::Request(request) => self.request(session, request, message),
            Seen::Batch => Decision::Pass(Some(self.batch(session, message))),
            _ => Decision::Pass(None),
        }
    }

    fn request(
        self: &Arc<Self>,
        session: &Session,
        request: &Request<'_>,
        message: &[u8],
    ) -> Decision {
        let (call, asked) = self.asked(session, request);
        if let Some(call) = call
            && let Some(decision) = self.strike(session, &call, &asked, message)
        {
            return decision;
        }
        self.faulted.forget(&asked.0);
        Decision::Pass(Some(Observer {
            is_listing: request.method == "tools/list",
            is_opening: request.is_opening(),
            session: session.clone(),
            asked: vec![(asked.0.1, asked.1)],
        }))
    }

    /// A client calls a tool: what a fault that strikes it makes of that.
    fn strike(
        self: &Arc<Self>,
        session: &Session,
        call: &ToolCall<'_>,
        (key, recorded): &(CallKey, Option<RecordedRequest>),
        message: &[u8],
    ) -> Option<Decision> {
        let known = self.known(call);
        let injection = if !self.injector.is_aimed_at(known.site()) {
            None
        } else if self.faulted.has_room(message.len()) {
            self.injector.strike_known(&known, |_| true)
        } else {
            self.journal
                .remark("a call passed unchanged: too many others were held");
            None
        };
        let log_id = self
            .journal
            .call(session.number, &known, injection.as_ref());
        let injection = injection?;
        if let Some(recorded) = recorded {
            recorded.strike(&injection, &self.settings.server_name);
        }
        let kind = injection.fault().kind;
        let meta: Value = serde_json::from_str(call.meta).unwrap_or_default();
        let call = PendingCall {
            watch: Arc::clone(self),
            key: key.clone(),
            serial: self.faulted.serial(),
            id: call.id.to_owned(),
            tool: call.tool.to_string(),
            progress_token: meta.get("progressToken").cloned(),
            is_stateless: meta.get(META_PROTOCOL_VERSION).is_some(),
            message: needed(kind, message),
            log_id,
            recorded: recorded.clone(),
            due: injection.delay().map(|delay| Instant::now() + delay),
            is_heard: !kind.is_silent(),
            is_lost: kind.special() == Special::LosesReply,
            is_forwarded: AtomicBool::default(),
            // Before it acts for the first time, for a cancellation may be here already.
            ignores_cancellation: injection.ignores_cancellation().into(),
            task: OnceLock::new(),
        };
        Some(Decision::Strike(Arc::new(call), Box::new(injection)))
    }

    /// A client says several things at once, which pass as they are: they are written down, and calls are counted.
    fn batch(&self, session: &Session, batch: &[u8]) -> Observer {
        let mut all = Vec::new();
        for member in split_batch(batch).unwrap_or_default() {
            let seen = Seen::of(member.as_bytes());
            seen.note(Peer::Client, session);
            let Seen::Request(request) = seen else {
                continue;
            };
            let (call, (key, recorded)) = self.asked(session, &request);
            if let Some(call) = call {
                let call = self.known(&call);
                if self.injector.is_aimed_at(call.site()) {
                    self.journal.remark(BATCHED);
                }
                self.journal.call(session.number, &call, None);
            }
            self.faulted.forget(&key);
            all.push((key.1, recorded));
        }
        Observer {
            asked: all,
            session: session.clone(),
            ..Observer::default()
        }
    }

    /// Writes a request down, if there is a recording, and names it; what it calls, if it calls a tool.
    fn asked<'a>(
        &self,
        session: &Session,
        Request { id, method, params }: &Request<'a>,
    ) -> (Option<ToolCall<'a>>, (CallKey, Option<RecordedRequest>)) {
        let is_call = method == "tools/call";
        let call = is_call.then(|| ToolCall::parse(id, params)).flatten();
        let key = (Arc::clone(&session.name), IdKey::new(id));
        let recorded = session.recorded.as_ref().map(|session| match &call {
            Some(call) => session.call(id, &call.tool, params),
            None => session.request(id, method, params),
        });
        if let Some(recorded) = &recorded {
            let mut open = lock(&self.open);
            let (calls, full_at) = &mut *open;
            if calls.len() >= OPEN_MIN.max(*full_at) {
                calls.retain(|(_, recorded)| !recorded.has_ended());
                *full_at = calls.len().saturating_mul(2);
            }
            if calls.len() < OPEN_MAX {
                calls.push((key.clone(), recorded.clone()));
            }
        }
        (call, (key, recorded))
    }

    /// The client cancels a request: whether the server is to know.
    fn cancel(&self, key: &CallKey) -> bool {
        self.faulted.cancel(key).unwrap_or_else(|| {
            let open = lock(&self.open);
            let mut newest_first = open.0.iter().rev();
            if let Some((_, recorded)) = newest_first.find(|(other, _)| other == key) {
                recorded.cancel();
            }
            true
        })
    }

    /// It is all over: no fault acts any more, and every request ends that is not answered.
    pub fn end_open(&self, end: impl Fn(&RecordedRequest)) {
        self.faulted.give_up(|_| true, &end);
        let (open, _) = std::mem::take(&mut *lock(&self.open));
        for (_, recorded) in open.iter().filter(|(_, open)| !open.has_ended()) {
            end(recorded);
        }
    }

    /// A server says something on a stream on which answers come.
    pub fn hear(&self, session: &Session, answers: &Answers, message: &[u8]) -> Passage {
        let seen = Seen::of(message);
        seen.note(Peer::Server, session);
        match seen {
            Seen::Answer { id } => match answers.answer(&IdKey::new(id), message) {
                Expected::Taken => return Passage::Hold,
                Expected::Unknown => {}
                Expected::Observed(look) => {
                    if let Some(changed) = look.answer(self, message) {
                        return Passage::Replace(changed);
                    }
                }
            },
            // Batches pass as they are; the answers in them are written down.
            Seen::Batch => {
                for member in split_batch(message).unwrap_or_default() {
                    let member = member.as_bytes();
                    if let Seen::Answer { id } = Seen::of(member)
                        && let Expected::Observed(look) = answers.answer(&IdKey::new(id), member)
                    {
                        look.answer(self, member);
                    }
                }
            }
            _ => {}
        }
        Passage::Pass
    }

    fn known<'a>(&'a self, call: &'a ToolCall<'_>) -> KnownCall<'a> {
        KnownCall::new(CallSite {
            server: &self.settings.server_name,
            tool: &call.tool,
            arguments: call.arguments,
        })
    }

    /// A list of tools passes: what it says is remembered, and what it is to say instead is returned.
    pub fn listing(&self, answer: &[u8]) -> Option<Vec<u8>> {
        for tool in listing::repeatable(answer) {
            self.journal.repeatable(tool);
        }
        if !self.injector.hides_any() {
            return None;
        }
        let server = &self.settings.server_name;
        listing::without(answer, |tool| self.injector.hides(server, tool))
    }

    /// What was seen so far.
    pub fn seen(&self) -> SeenCalls {
        SeenCalls {
            totals: self.injector.counts(),
            ..self.journal.calls()
        }
    }
}

/// What has to be kept of a call that meets a fault of this kind: nothing where it never goes on.
pub fn needed(kind: FaultKind, message: &[u8]) -> Bytes {
    match kind.executes() {
        Execution::Never => Bytes::new(),
        Execution::Always | Execution::Late => Bytes::copy_from_slice(message),
    }
}
