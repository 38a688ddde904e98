//! What the channel, its inbox and the calls that were struck share.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};

use bytes::Bytes;
use mcprove_client::transport::http::body::oversized;
use mcprove_client::transport::{Channel, Failure, Inbox};
use mcprove_fault::{Injection, TimedInjector};
use mcprove_settings::quantity::as_milliseconds;
use mcprove_settings::sync::lock;
use mcprove_trace::protocol::{Era, Revision};
use mcprove_trace::stream::{Recorder, SessionEndedByFaultFact, StrikeFact};
use mcprove_trace::{ErrorCategory, Strike};
use rustc_hash::{FxHashMap, FxHashSet};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

/// How many struck calls are remembered after their end, so that whoever asks knows them.
const REMEMBERED_MAX: usize = 131_072;
/// How many lists of tools may be under way.
const LISTS_MAX: usize = 1_024;
/// How much of a message over the limit is kept, to find its id in.
const HEAD_BYTES: usize = 1_024;

pub(super) struct Shared {
    pub injector: Arc<TimedInjector>,
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
    calls: FxHashMap<u64, Struck>,
    lists: FxHashSet<u64>,
    closed: Option<Failure>,
    /// Calls that were struck, the latest last.
    remembered: FxHashMap<u64, Strike>,
    order: VecDeque<u64>,
}

/// A call that a fault acts on.
#[derive(Default)]
struct Struck {
    task: Option<AbortHandle>,
    /// Who waits for the answer of the server.
    waiter: Option<oneshot::Sender<Bytes>>,
    is_sent: bool,
    ignores_cancellation: bool,
}

impl Shared {
    pub fn new(
        injector: Arc<TimedInjector>,
        recorder: Arc<Recorder>,
        session: u32,
        inbox: Arc<dyn Inbox>,
        max_frame: usize,
    ) -> Arc<Self> {
        Arc::new(Self {
            injector,
            recorder,
            session,
            inbox,
            channel: OnceLock::new(),
            max_frame,
            is_stateless: AtomicBool::new(false),
            expected: AtomicUsize::new(0),
            state: Mutex::default(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Notes that a fault strikes a call; on the thread that sends it, before anything comes of it.
    pub fn note_strike(&self, request: u64, tool: &str, injection: &Injection) {
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

    pub fn set_channel(&self, channel: &Arc<dyn Channel>) {
        let _ = self.channel.set(Arc::downgrade(channel));
    }

    pub fn channel(&self) -> Option<Arc<dyn Channel>> {
        self.channel.get()?.upgrade()
    }

    pub fn is_http(&self) -> bool {
        let channel = self.channel();
        channel.is_some_and(|channel| channel.name() == "http")
    }

    pub fn set_revision(&self, revision: Option<Revision>) {
        let is_stateless = revision.map(Revision::era) == Some(Era::Stateless);
        self.is_stateless.store(is_stateless, Ordering::Relaxed);
    }

    pub fn is_stateless(&self) -> bool {
        self.is_stateless.load(Ordering::Relaxed)
    }

    /// Why the connection is over, if it is.
    pub fn closed(&self) -> Option<Failure> {
        self.lock().closed.clone()
    }

    pub fn is_waiting(&self, id: u64) -> bool {
        let state = self.lock();
        match state.calls.get(&id) {
            // Its answer came, as far as the transport is concerned.
            Some(call) if call.is_sent => call.waiter.is_some(),
            _ => {
                drop(state);
                self.inbox.is_waiting(id)
            }
        }
    }

    // ---- calls -------------------------------------------------------------------------------

    /// Notes a call that a fault is about to act on.
    pub fn begin(&self, id: u64, strike: Strike) {
        let mut state = self.lock();
        state.calls.insert(id, Struck::default());
        if state.remembered.insert(id, strike).is_none() {
            state.order.push_back(id);
        }
        if state.order.len() > REMEMBERED_MAX
            && let Some(oldest) = state.order.pop_front()
        {
            state.remembered.remove(&oldest);
        }
    }

    /// Notes the task in which it does.
    pub fn set_task(&self, id: u64, task: AbortHandle) {
        // It may be over already.
        if let Some(call) = self.lock().calls.get_mut(&id) {
            call.task = Some(task);
        }
    }

    /// The fault is done with the call.
    pub fn finish(&self, id: u64) {
        let removed = self.lock().calls.remove(&id);
        self.forget(removed.as_ref());
    }

    fn forget(&self, call: Option<&Struck>) {
        if call.is_some_and(|call| call.waiter.is_some()) {
            self.expected.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// The fault that struck this call, as far as is remembered.
    pub fn met_fault(&self, id: u64) -> Option<Strike> {
        self.lock().remembered.get(&id).copied()
    }

    pub fn ignore_cancellation(&self, id: u64) {
        if let Some(call) = self.lock().calls.get_mut(&id) {
            call.ignores_cancellation = true;
        }
    }

    /// The client gives up a call. Tells whether the server never saw it, so that it need not be told.
    pub fn cancel(&self, id: u64) -> bool {
        let mut state = self.lock();
        let Some(call) = state.calls.get(&id) else {
            return false;
        };
        let was_unsent = !call.is_sent;
        if call.ignores_cancellation {
            return was_unsent;
        }
        let removed = state.calls.remove(&id);
        drop(state);
        self.forget(removed.as_ref());
        if let Some(task) = removed.and_then(|call| call.task) {
            task.abort();
        }
        was_unsent
    }

    /// The call goes to the server; its answer comes through what is returned.
    pub fn expect(&self, id: u64) -> Option<oneshot::Receiver<Bytes>> {
        let mut state = self.lock();
        let call = state.calls.get_mut(&id)?;
        let (sender, receiver) = oneshot::channel();
        if call.waiter.replace(sender).is_none() {
            self.expected.fetch_add(1, Ordering::AcqRel);
        }
        call.is_sent = true;
        Some(receiver)
    }

    /// Whether nothing that arrives needs a look.
    pub fn expects_nothing(&self) -> bool {
        self.expected.load(Ordering::Acquire) == 0
    }

    /// Who waits for the answer to this request; asked for once.
    pub fn take_waiter(&self, id: u64) -> Option<oneshot::Sender<Bytes>> {
        let mut state = self.lock();
        let waiter = state.calls.get_mut(&id)?.waiter.take();
        drop(state);
        if waiter.is_some() {
            self.expected.fetch_sub(1, Ordering::AcqRel);
        }
        waiter
    }

    pub fn expect_list(&self, id: u64) {
        let mut state = self.lock();
        if state.lists.len() < LISTS_MAX && state.lists.insert(id) {
            self.expected.fetch_add(1, Ordering::AcqRel);
        }
    }

    pub fn take_list(&self, id: u64) -> bool {
        let is_list = self.lock().lists.remove(&id);
        if is_list {
            self.expected.fetch_sub(1, Ordering::AcqRel);
        }
        is_list
    }

    // ---- what arrives ------------------------------------------------------------------------

    pub fn inbox(&self) -> &dyn Inbox {
        self.inbox.as_ref()
    }

    /// Lets arrive what a fault made up; what is wrong with it is not the server's doing.
    pub fn inject(&self, id: u64, message: Bytes, is_last: bool) {
        let is_http = self.is_http();
        let of_request = is_http.then_some(id);
        self.inbox.set_injecting(true);
        if message.len() > self.max_frame {
            let head = message.slice(..message.len().min(HEAD_BYTES));
            let size = message.len() as u64;
            let failure = oversized(size, self.max_frame, head);
            self.inbox.fail(of_request, failure);
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
    pub fn fail(&self, id: u64, failure: Failure) {
        self.inbox.set_injecting(true);
        self.inbox.fail(Some(id), failure);
        self.inbox.set_injecting(false);
    }

    // ---- the end -----------------------------------------------------------------------------

    /// A fault closes the connection.
    pub fn disconnect(&self, fault: &str) {
        let message = format!("the connection was closed by the injected fault {fault:?}");
        let failure = Failure::new(ErrorCategory::Disconnected, message);
        if !self.note_closed(&failure) {
            return;
        }
        self.note_end(fault, false);
        if let Some(channel) = self.channel() {
            channel.sever();
        }
        self.inbox.closed(failure);
    }

    /// A fault ends the server's process; tells whether it is ours to end.
    pub fn crash(&self, fault: &str) -> bool {
        let Some(channel) = self.channel() else {
            return false;
        };
        if channel.process().is_none() {
            return false;
        }
        if self.closed().is_none() {
            self.note_end(fault, true);
            // The transport sees that it ended, and tells.
            channel.kill();
        }
        true
    }

    /// The transport closed.
    pub fn close(&self, failure: Failure) {
        if self.note_closed(&failure) {
            self.inbox.closed(failure);
        }
    }

    /// Takes the end down, once; nobody waits for answers any more.
    fn note_closed(&self, failure: &Failure) -> bool {
        let mut state = self.lock();
        if state.closed.is_some() {
            return false;
        }
        state.closed = Some(failure.clone());
        let waiters: Vec<_> = state
            .calls
            .values_mut()
            .filter_map(|call| call.waiter.take())
            .collect();
        let lists = std::mem::take(&mut state.lists).len();
        drop(state);
        let gone = waiters.len() + lists;
        self.expected.fetch_sub(gone, Ordering::AcqRel);
        true
    }

    /// The client leaves: no fault acts any more.
    pub fn let_go(&self) {
        let calls = std::mem::take(&mut self.lock().calls);
        for call in calls.into_values() {
            self.forget(Some(&call));
            if let Some(task) = call.task {
                task.abort();
            }
        }
    }
}
