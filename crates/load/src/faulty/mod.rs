//! A channel that lets calls meet faults on their way: it stands around any other channel, and only
//! where faults are to be injected.
//!
//! A `tools/call` that a fault strikes is not sent; the fault acts on it ([`call`]), in a task of its
//! own, so that it holds up no other. What the server answers to it is kept from the inbox
//! and handed to the fault, which decides what arrives. Everything else passes.

mod call;

use std::sync::atomic::AtomicUsize;

use bytes::Bytes;
use mcprove_client::transport::{
    Channel, ChannelLayer, Closing, Inbox, LayeredConnection, Outgoing, OutgoingKind, SendError,
};
use mcprove_fault::FaultCount;
use mcprove_trace::protocol::{Envelope, Id, Message, split_batch};
use mcprove_trace::stream::{SessionEndedByFaultFact, StrikeFact};
use rustc_hash::FxHashMap;
use tokio::task::AbortHandle;

use self::call::InjectedCall;
use crate::prelude::*;

/// How many struck calls are remembered after their end, so that whoever asks knows them.
const REMEMBERED_MAX: usize = 131_072;
/// How many lists of tools may be under way.
const LISTS_MAX: usize = 1_024;
/// How much of a message over the limit is kept, to find its id in.
const HEAD_BYTES: usize = 1_024;

/// Faults that the calls of a session meet. Those of [`Faults::new`] are on at once; a load has its own, which are on
/// while it lasts.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use mcprove_client::server::Server;
/// use mcprove_client::session::{Session, SessionOptions};
/// use mcprove_load::faulty::Faults;
/// use mcprove_servers::fixture::{self, FixtureOptions};
/// use serde_json::json;
///
/// let server = Server::in_memory("normal", || {
///     fixture::spawn_in_memory("normal", &FixtureOptions::default()).unwrap()
/// });
/// let faults = Faults::new(vec!["error:-32000,calls=2".parse().unwrap()], 0);
/// let options = SessionOptions::default().with_layer(faults.clone());
/// let session = Session::connect_with(&server, options).await.unwrap();
/// assert!(session.call_tool("echo", &json!({ "message": "1" })).await.is_ok());
/// assert!(session.call_tool("echo", &json!({ "message": "2" })).await.is_err());
/// assert_eq!(faults.counts()[0].struck, 1);
/// # });
/// ```
#[derive(Clone)]
pub struct Faults(pub(crate) Arc<TimedInjector>);

impl std::fmt::Debug for Faults {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_tuple("Faults")
            .field(&self.counts())
            .finish()
    }
}

impl Faults {
    /// Faults that are on from now on; `seed` decides for those that have none of their own.
    pub fn new(faults: Vec<FaultSpec>, seed: u64) -> Self {
        let window = FaultWindow::default();
        let timed = faults.into_iter().map(|spec| TimedFault { spec, window });
        let injector = TimedInjector::new(&timed.collect::<Vec<_>>(), seed);
        injector.begin(Instant::now());
        Self(Arc::new(injector))
    }

    /// What each has done so far.
    pub fn counts(&self) -> Vec<FaultCount> {
        self.0.counts()
    }
}

impl ChannelLayer for Faults {
    fn connection(
        &self,
        inbox: Arc<dyn Inbox>,
        session: u32,
        recorder: &Arc<Recorder>,
        max_frame: usize,
    ) -> Box<dyn LayeredConnection> {
        Box::new(FaultyConnection(Arc::new(Shared {
            injector: Arc::clone(&self.0),
            recorder: Arc::clone(recorder),
            session,
            inbox,
            channel: OnceLock::new(),
            max_frame,
            is_stateless: AtomicBool::new(false),
            expected: AtomicUsize::new(0),
            state: Mutex::default(),
        })))
    }
}

struct FaultyConnection(Arc<Shared>);

impl LayeredConnection for FaultyConnection {
    fn inbox(&self) -> Arc<dyn Inbox> {
        Arc::clone(&self.0) as Arc<dyn Inbox>
    }

    fn around(self: Box<Self>, channel: Arc<dyn Channel>) -> Arc<dyn Channel> {
        let _ = self.0.channel.set(Arc::downgrade(&channel));
        Arc::new(FaultyChannel {
            inner: channel,
            shared: self.0,
        })
    }
}

/// What the channel, its inbox and the calls that were struck share.
struct Shared {
    injector: Arc<TimedInjector>,
    recorder: Arc<Recorder>,
    session: u32,
    inbox: Arc<dyn Inbox>,
    /// Not held: the channel holds the inbox, which holds this.
    channel: OnceLock<Weak<dyn Channel>>,
    max_frame: usize,
    is_stateless: AtomicBool,
    /// How many answers are waited for here; nothing that arrives is looked at while there are none.
    expected: AtomicUsize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    calls: FxHashMap<u64, CallUnderFault>,
    /// The requests whose answers do not simply pass.
    waiting: FxHashMap<u64, Waiter>,
    /// Why the connection is over, if it is.
    closed: Option<Failure>,
    /// Calls that were struck, the latest last.
    remembered: FxHashMap<u64, Strike>,
    order: VecDeque<u64>,
}

/// A call that a fault acts on.
#[derive(Default)]
struct CallUnderFault {
    task: Option<AbortHandle>,
    is_sent: bool,
    ignores_cancellation: bool,
}

/// What becomes of an answer.
enum Waiter {
    /// The fault that acts on the call gets it.
    Fault(oneshot::Sender<Bytes>),
    /// It is a list of tools, which may be shortened.
    List,
}

impl Shared {
    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = lock(&self.state);
        let result = change(&mut state);
        self.expected.store(state.waiting.len(), Ordering::Release);
        result
    }

    /// Notes that a fault strikes a call; on the thread that sends it, before anything comes of it.
    fn note_strike(&self, request: u64, tool: &str, injection: &Injection) {
        if !self.recorder.is_observed() {
            return;
        }
        let fault = injection.fault();
        let delay = injection.delay();
        let held = injection.as_strike().held;
        let fact = StrikeFact {
            session: self.session,
            request_id: request,
            fault: fault.name.clone(),
            kind: fault.kind.name().to_owned(),
            server: Some(self.injector.server().to_owned()),
            tool: Some(tool.to_owned()),
            delay_ms: delay.map(as_milliseconds),
            held_ms: (delay.is_none() && !held.is_zero()).then(|| as_milliseconds(held)),
            failures: injection.strikes_max(),
        };
        self.recorder.fact(&fault.name, &fact);
    }

    /// Notes that a fault ends the connection, and with it every call on it.
    fn note_end(&self, fault: &str, crash: bool) {
        let fact = SessionEndedByFaultFact {
            session: self.session,
            fault: fault.to_owned(),
            crash,
        };
        self.recorder.fact(fault, &fact);
    }

    fn channel(&self) -> Option<Arc<dyn Channel>> {
        self.channel.get()?.upgrade()
    }

    fn is_http(&self) -> bool {
        let channel = self.channel();
        channel.is_some_and(|channel| channel.name() == "http")
    }

    /// Why the connection is over, if it is.
    fn end(&self) -> Option<Failure> {
        lock(&self.state).closed.clone()
    }

    /// Takes down a call that a fault is about to act on.
    fn begin(&self, id: u64, strike: Strike) {
        self.change(|state| {
            state.calls.insert(id, CallUnderFault::default());
            if state.remembered.insert(id, strike).is_none() {
                state.order.push_back(id);
            }
            if state.order.len() > REMEMBERED_MAX
                && let Some(oldest) = state.order.pop_front()
            {
                state.remembered.remove(&oldest);
            }
        });
    }

    /// Forgets a call, which the fault is done with or its client gave up.
    fn finish(&self, id: u64) -> Option<CallUnderFault> {
        self.change(|state| {
            state.waiting.remove(&id);
            state.calls.remove(&id)
        })
    }

    /// The client gives up a call. Tells whether the server never saw it, so that it need not be told.
    fn cancel(&self, id: u64) -> bool {
        let (was_unsent, is_over) = match lock(&self.state).calls.get(&id) {
            Some(call) => (!call.is_sent, !call.ignores_cancellation),
            None => return false,
        };
        if is_over && let Some(task) = self.finish(id).and_then(|call| call.task) {
            task.abort();
        }
        was_unsent
    }

    /// The call goes to the server; its answer comes through what is returned.
    fn expect(&self, id: u64) -> Option<oneshot::Receiver<Bytes>> {
        self.change(|state| {
            state.calls.get_mut(&id)?.is_sent = true;
            let (sender, receiver) = oneshot::channel();
            state.waiting.insert(id, Waiter::Fault(sender));
            Some(receiver)
        })
    }

    /// A list of tools in which some may have vanished is looked at when it comes.
    fn expect_list(&self, id: u64) {
        self.change(|state| {
            let waiting = state.waiting.values();
            let lists = waiting.filter(|waiter| matches!(waiter, Waiter::List));
            if lists.count() < LISTS_MAX {
                state.waiting.insert(id, Waiter::List);
            }
        });
    }

    /// What becomes of the answer to this request, where it does not pass; asked for once.
    fn take(&self, id: u64) -> Option<Waiter> {
        self.change(|state| state.waiting.remove(&id))
    }

    /// Lets arrive what a fault made up; what is wrong with it is not the server's doing.
    fn inject(&self, id: u64, message: Bytes, is_last: bool) {
        let is_http = self.is_http();
        self.inbox.set_injecting(true);
        if message.len() > self.max_frame {
            let head = message.slice(..message.len().min(HEAD_BYTES));
            let failure = Failure::oversized(message.len() as u64, self.max_frame, head);
            self.inbox.fail(is_http.then_some(id), failure);
        } else {
            self.inbox.deliver(message);
        }
        // A response of HTTP belongs to its request, whatever it says.
        if is_http && is_last && self.inbox.is_waiting(id) {
            let message = "HTTP 200 OK with a body that is not an answer";
            let failure = Failure::new(ErrorCategory::Malformed, message);
            self.inbox.fail(Some(id), failure);
        }
        self.inbox.set_injecting(false);
    }

    /// Lets the request fail on its way.
    fn fail_call(&self, id: u64, failure: Failure) {
        self.inbox.set_injecting(true);
        self.inbox.fail(Some(id), failure);
        self.inbox.set_injecting(false);
    }

    /// A fault closes the connection.
    fn disconnect(&self, fault: &str) {
        let message = format!("the connection was closed by the injected fault {fault:?}");
        let failure = Failure::new(ErrorCategory::Disconnected, message);
        if self.note_closed(&failure) {
            self.note_end(fault, false);
            if let Some(channel) = self.channel() {
                channel.sever();
            }
            self.inbox.closed(failure);
        }
    }

    /// A fault ends the server's process; tells whether it is ours to end.
    fn crash(&self, fault: &str) -> bool {
        let ours = self.channel().filter(|it| it.process().is_some());
        if let Some(channel) = &ours
            && self.end().is_none()
        {
            self.note_end(fault, true);
            // The transport sees that it ended, and tells.
            channel.kill();
        }
        ours.is_some()
    }

    /// Takes the end down, once; nobody waits for answers any more.
    fn note_closed(&self, failure: &Failure) -> bool {
        self.change(|state| {
            let is_first = state.closed.is_none();
            if is_first {
                state.closed = Some(failure.clone());
                state.waiting.clear();
            }
            is_first
        })
    }

    /// The client leaves: no fault acts any more.
    fn let_go(&self) {
        let calls = self.change(|state| {
            let calls = std::mem::take(&mut state.calls);
            state.waiting.retain(|id, _| !calls.contains_key(id));
            calls
        });
        for task in calls.into_values().filter_map(|call| call.task) {
            task.abort();
        }
    }

    fn deliver_batch(&self, frame: Bytes) {
        let is_expected = |member: &&str| {
            let id = answered_id(member.as_bytes());
            id.is_some_and(|id| self.is_waiting(id))
        };
        match split_batch(&frame) {
            Some(members) if members.iter().any(is_expected) => {
                for member in members {
                    self.deliver_message(frame.slice_ref(member.as_bytes()));
                }
            }
            _ => self.inbox.deliver(frame),
        }
    }

    fn deliver_message(&self, frame: Bytes) {
        match answered_id(&frame).and_then(|id| self.take(id)) {
            // The fault may have been called off just now; then nobody wants the answer.
            Some(Waiter::Fault(waiter)) => drop(waiter.send(frame)),
            Some(Waiter::List) => {
                let shortened = self.without_hidden(&frame);
                self.inbox.deliver(shortened.unwrap_or(frame));
            }
            None => self.inbox.deliver(frame),
        }
    }

    /// The list without the tools that have vanished; `None` where it holds none.
    fn without_hidden(&self, frame: &Bytes) -> Option<Bytes> {
        let mut message: Map<String, Value> = serde_json::from_slice(frame).ok()?;
        let tools = message
            .get_mut("result")?
            .get_mut("tools")?
            .as_array_mut()?;
        let now = Instant::now();
        tools.retain(|tool| {
            let name = tool.get("name").and_then(Value::as_str);
            name.is_none_or(|name| !self.injector.hides(name, now))
        });
        Some(Value::Object(message).to_string().into())
    }
}

/// What the channel within delivers to: the answers to struck calls go to their faults, everything else passes.
impl Inbox for Shared {
    fn deliver(&self, frame: Bytes) {
        if self.expected.load(Ordering::Acquire) == 0 {
            self.inbox.deliver(frame);
            return;
        }
        let first = frame.iter().find(|byte| !byte.is_ascii_whitespace());
        if first == Some(&b'[') {
            self.deliver_batch(frame);
        } else {
            self.deliver_message(frame);
        }
    }

    fn is_waiting(&self, id: u64) -> bool {
        let state = lock(&self.state);
        if state.calls.get(&id).is_some_and(|call| call.is_sent) {
            // Without a waiter its answer came, as far as the transport is concerned.
            return state.waiting.contains_key(&id);
        }
        drop(state);
        self.inbox.is_waiting(id)
    }

    fn fail(&self, request: Option<u64>, failure: Failure) {
        // No answer comes; the fault has nothing to act on any more.
        drop(request.and_then(|id| self.take(id)));
        self.inbox.fail(request, failure);
    }

    fn answer_raw(&self, answer: Result<Bytes, Failure>) {
        self.inbox.answer_raw(answer);
    }

    fn closed(&self, failure: Failure) {
        if self.note_closed(&failure) {
            self.inbox.closed(failure);
        }
    }
}

/// The request that a message answers.
fn answered_id(frame: &[u8]) -> Option<u64> {
    match Envelope::parse(frame).ok()?.classify() {
        Message::Response {
            id: Id::Number(id), ..
        }
        | Message::Error {
            id: Id::Number(id), ..
        } => Some(id),
        _ => None,
    }
}

/// A channel whose calls meet faults.
struct FaultyChannel {
    inner: Arc<dyn Channel>,
    shared: Arc<Shared>,
}

impl FaultyChannel {
    /// The fault that strikes this message, if one does, and the call that it is.
    fn strike(&self, message: &Outgoing<'_>, id: u64) -> Option<(Injection, Option<Value>)> {
        let injector = &self.shared.injector;
        let now = Instant::now();
        if message.method != "tools/call" || !injector.is_on(now) {
            return None;
        }
        let request: CallRequest<'_> = serde_json::from_slice(message.bytes).ok()?;
        let params = request.params;
        let arguments = params.arguments.map_or("", RawValue::get);
        let injection = injector.strike(&params.name, arguments, now)?;
        self.shared.note_strike(id, &params.name, &injection);
        Some((injection, params.meta.and_then(|meta| meta.progress_token)))
    }

    /// Whether a cancellation is about a struck call that the server never saw.
    fn swallows(&self, message: &Outgoing<'_>) -> bool {
        if message.method != "notifications/cancelled" {
            return false;
        }
        let cancelled: Value = serde_json::from_slice(message.bytes).unwrap_or_default();
        let id = cancelled["params"]["requestId"].as_u64();
        id.is_some_and(|id| self.shared.cancel(id))
    }
}

impl Channel for FaultyChannel {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn send(&self, message: Outgoing<'_>) -> Result<(), SendError> {
        if let Some(failure) = self.shared.end() {
            return Err(SendError::Closed(failure));
        }
        let OutgoingKind::Request(id) = message.kind else {
            if self.swallows(&message) {
                return Ok(());
            }
            return self.inner.send(message);
        };
        if let Some((injection, token)) = self.strike(&message, id) {
            InjectedCall::start(&self.shared, &message, id, injection, token);
            return Ok(());
        }
        if message.method == "tools/list" && self.shared.injector.hides_any(Instant::now()) {
            self.shared.expect_list(id);
        }
        self.inner.send(message)
    }

    fn room(&self) -> BoxFuture<'_, ()> {
        self.inner.room()
    }

    fn abandon(&self, id: u64) -> bool {
        // What the server never saw has no stream there, but is cancelled as if it had.
        let was_unsent = self.shared.cancel(id);
        self.inner.abandon(id) || (was_unsent && self.inner.name() == "http")
    }

    fn set_revision(&self, revision: Option<Revision>) {
        let is_stateless = revision.map(Revision::era) == Some(Era::Stateless);
        let known = &self.shared.is_stateless;
        known.store(is_stateless, Ordering::Relaxed);
        self.inner.set_revision(revision);
    }

    fn listen(&self) -> BoxFuture<'_, ()> {
        self.inner.listen()
    }

    fn process(&self) -> Option<u32> {
        self.inner.process()
    }

    fn kill(&self) {
        self.inner.kill();
    }

    fn leftovers(&self) -> Vec<u32> {
        self.inner.leftovers()
    }

    fn stderr_tail(&self) -> String {
        self.inner.stderr_tail()
    }

    fn met_fault(&self, id: u64) -> Option<Strike> {
        lock(&self.shared.state).remembered.get(&id).copied()
    }

    fn sever(&self) {
        self.shared.let_go();
        self.inner.sever();
    }

    fn close(&self) -> BoxFuture<'_, Closing> {
        self.shared.let_go();
        self.inner.close()
    }
}

impl Drop for FaultyChannel {
    fn drop(&mut self) {
        self.shared.let_go();
    }
}

/// What of a call decides on faults.
#[derive(Deserialize)]
struct CallRequest<'a> {
    #[serde(borrow)]
    params: CallParams<'a>,
}

#[derive(Deserialize)]
struct CallParams<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(rename = "_meta")]
    meta: Option<CallMeta>,
}

#[derive(Deserialize)]
struct CallMeta {
    #[serde(rename = "progressToken")]
    progress_token: Option<Value>,
}
