//! The heart of a session: ids, calls in flight, deadlines.
//!
//! One lock guards it all. It is held for a few hundred nanoseconds per message, never across an
//! await, and in a load run only one thread takes it. Deadlines cost nothing per call: a watchdog
//! sleeps until the earliest one and looks at all calls when it wakes.

use std::collections::hash_map::Entry;
use std::future::poll_fn;
use std::task::Waker;

use super::deadlines::{earliest, watch_deadlines};
use super::prelude::*;
use super::raw::RawTraffic;
use super::unreadable::Repaired;

/// How many given-up requests are remembered, so that a late answer is known for what it is.
pub const REMEMBERED_MAX: usize = 65_536;

/// The state that the session, its calls and its channel share.
pub struct Core {
    pub channel: OnceLock<Arc<dyn Channel>>,
    pub state: Mutex<State>,
    pub options: SessionOptions,
    pub recorder: Arc<Recorder>,
    pub watchdog: Arc<Notify>,
    /// What the server has answered, to this session and to those that share its process.
    pub progress: Arc<Progress>,
    /// Whether what arrives now was made up by an injected fault.
    pub is_injecting: AtomicBool,
}

#[derive(Default)]
pub struct State {
    pub next_id: u64,
    pub waiting: FxHashMap<u64, Waiting>,
    pub abandoned: FxHashSet<u64>,
    /// The calls whose reply was taken from a frame that was no proper one.
    pub repaired: FxHashMap<u64, Repaired>,
    pub closed: Option<Failure>,
    /// We are ending the session: how the server takes that is no crash in the middle of it.
    pub is_ending: bool,
    pub wake_at: Option<Instant>,
    scratch: Vec<u8>,
    pub meta: RequestMeta,
    pub revision: Option<Revision>,
    pub violations: Violations,
    pub late_replies: u64,
    /// The tools that were called, while calls may hang.
    tools: FxHashMap<String, Arc<ToolProgress>>,
    /// Answers to calls that may hang.
    pub answered: u64,
    pub raw: RawTraffic,
    pub cancels: CancelWatch,
}

pub struct Waiting {
    pub label: Arc<Label>,
    pub sent: Instant,
    /// What other work had taken from the server and us until then.
    pub lost: Duration,
    pub deadline: Option<Instant>,
    /// What the server had answered when the call passed the hang threshold, if it did.
    pub hung: Option<HungMark>,
    /// The calls of its tool, if it may hang.
    pub tool: Option<Arc<ToolProgress>>,
    pub tag: CallTag,
    pub repeats: bool,
    waker: Option<Waker>,
    pub progress: Option<ProgressHandler>,
    pub outcome: Option<Result<Reply, CallError>>,
}

/// How one sending of a [`Request`] differs from the others.
#[derive(Debug, Clone, Copy, Default)]
pub struct Start<'a> {
    /// Parameters to send instead of the request's own.
    pub params: Option<&'a str>,
    /// When the call should have been sent; latency counts from then.
    pub intended: Option<Instant>,
    /// The phase of the run that it belongs to.
    pub phase: u16,
    /// Whether it is sent again if the server has forgotten its session: then that is not its end.
    pub repeats: bool,
}

impl From<SendError> for CallError {
    fn from(error: SendError) -> Self {
        Self::unsent(error.into())
    }
}

impl From<SendError> for Failure {
    fn from(error: SendError) -> Self {
        match error {
            SendError::Full => Self::timeout("the server does not read its input"),
            SendError::Closed(failure) => failure,
        }
    }
}

impl Core {
    pub fn new(options: SessionOptions, recorder: Arc<Recorder>) -> Arc<Self> {
        let state = State {
            next_id: 1,
            ..State::default()
        };
        let core = Arc::new(Self {
            channel: OnceLock::new(),
            state: Mutex::new(state),
            progress: options
                .progress
                .clone()
                .unwrap_or_else(|| Arc::new(Progress::losing(Arc::clone(&options.lost_time)))),
            options,
            recorder,
            watchdog: Arc::default(),
            is_injecting: AtomicBool::default(),
        });
        tokio::spawn(watch_deadlines(Arc::downgrade(&core)));
        core
    }

    pub fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// The name of a request in the trace.
    pub fn key(&self, id: u64) -> RequestKey {
        RequestKey {
            session: self.options.session_number,
            id,
        }
    }

    /// Whether what arrives now was made up by an injected fault.
    pub fn is_injecting(&self) -> bool {
        self.is_injecting.load(Ordering::Relaxed)
    }

    /// The channel; closed for as long as there is none.
    pub fn channel(&self) -> Result<&Arc<dyn Channel>, Failure> {
        self.channel
            .get()
            .ok_or_else(|| Failure::disconnected("the session is not open"))
    }

    /// The last of what the server wrote to stderr.
    pub fn stderr_tail(&self) -> String {
        let channel = self.channel.get();
        channel.map_or_else(String::new, |channel| channel.stderr_tail())
    }

    /// Tells whoever looks on.
    pub fn record(&self, at: Instant, kind: EventKind<'_>) {
        if self.recorder.is_observed() {
            self.recorder.record(at, kind);
        }
    }

    /// Takes `revision` as agreed: decides the metadata of every later request.
    pub fn set_revision(&self, revision: Revision) {
        self.set_revision_before_agreement(revision);
        self.lock().revision = Some(revision);
        if let Some(channel) = self.channel.get() {
            channel.set_revision(Some(revision));
        }
    }

    /// Sends a request as `start` says.
    pub fn start(
        self: &Arc<Self>,
        request: &Request,
        start: &Start<'_>,
    ) -> Result<Call, CallError> {
        let id = self.send_request(request, start, None)?;
        Ok(Call::new(Arc::clone(self), id))
    }

    /// Sends a request and waits for its answer.
    pub async fn request_as(
        &self,
        request: &Request,
        start: &Start<'_>,
    ) -> Result<Result<Reply, CallError>, SendError> {
        // Who is to be woken is known from the start, which spares a second look.
        let id = poll_fn(|context| {
            Poll::Ready(self.send_request(request, start, Some(context.waker())))
        })
        .await?;
        Ok(InFlight::new(self, id, true).await)
    }

    /// Sends a request and tells its id. The `waker` is woken when its answer is there.
    fn send_request(
        &self,
        request: &Request,
        start: &Start<'_>,
        waker: Option<&Waker>,
    ) -> Result<u64, SendError> {
        let channel = self.channel().map_err(SendError::Closed)?;
        let label = request.label();
        let params = start.params.unwrap_or(&request.params);
        let now = Instant::now();
        let deadline = self.patience(request).and_then(|it| now.checked_add(it));
        let tag = CallTag {
            phase: start.phase,
            // No wait at all is for calls without a schedule.
            wait: start.intended.map_or(Duration::ZERO, |intended| {
                now.saturating_duration_since(intended)
                    .max(Duration::from_nanos(1))
            }),
        };

        let mut state = self.lock();
        let state = &mut *state;
        if let Some(failure) = &state.closed {
            return Err(SendError::Closed(failure.clone()));
        }
        let id = state.next_id;
        state.scratch.clear();
        let wants_progress = request.progress.is_some();
        protocol::write_request(
            &mut state.scratch,
            id,
            &label.method,
            params,
            &state.meta,
            wants_progress,
        );
        let limits = self.options.hang_limits.as_ref();
        let hanging = limits.zip(label.tool());
        let tool = hanging.and_then(|(_, name)| {
            let tool = state.tool(&self.progress, name)?;
            tool.note_sent();
            Some(tool)
        });
        // The call waits before it is sent: an answer may arrive at once, on another thread.
        let waiting = Waiting {
            label: Arc::clone(label),
            sent: now,
            lost: self.progress.lost.total(),
            deadline,
            hung: None,
            tool,
            tag,
            repeats: start.repeats,
            waker: waker.cloned(),
            progress: request.progress.clone(),
            outcome: None,
        };
        state.waiting.insert(id, waiting);
        let message = Outgoing {
            bytes: &state.scratch,
            kind: OutgoingKind::Request(id),
            method: &label.method,
            name: label.name.as_deref(),
            parameter_headers: &request.headers,
        };
        if let Err(error) = channel.send(message) {
            state.waiting.remove(&id);
            return Err(error);
        }
        state.next_id += 1;
        let kind = EventKind::Request {
            request: self.key(id),
            method: &label.method,
            tool: label.tool(),
            params,
            client_id: "",
            tag,
        };
        self.record(now, kind);
        // A call that may hang is looked at when it counts as hung.
        let hangs_at = hanging.and_then(|(limits, _)| now.checked_add(limits.threshold));
        if let Some(look_at) = earliest(deadline, hangs_at)
            && state.wake_at.is_none_or(|wake_at| look_at < wake_at)
        {
            state.wake_at = Some(look_at);
            self.watchdog.notify_one();
        }
        Ok(id)
    }

    /// How long the answer to `request` may take; a call that may hang is waited for by the limits for that.
    pub fn patience(&self, request: &Request) -> Option<Duration> {
        let given = request.timeout.or(self.options.call_timeout);
        let is_judged = self.options.hang_limits.is_some() && request.tool_name().is_some();
        given.or_else(|| (!is_judged).then(|| CALL_LIMITS.call_timeout))
    }

    /// The outcome of call `id`, if anything yet.
    pub fn poll_call(&self, id: u64, waker: &Waker) -> Poll<Result<Reply, CallError>> {
        let mut state = self.lock();
        let Entry::Occupied(mut entry) = state.waiting.entry(id) else {
            let failure = Failure::cancelled("the call was given up");
            return Poll::Ready(Err(CallError::unsent(failure)));
        };
        let waiting = entry.get_mut();
        if let Some(outcome) = waiting.outcome.take() {
            entry.remove();
            return Poll::Ready(outcome);
        }
        match &mut waiting.waker {
            Some(known) => known.clone_from(waker),
            unknown => *unknown = Some(waker.clone()),
        }
        Poll::Pending
    }

    /// Ends call `id`; returns false when nothing waits for it.
    pub fn settle(&self, id: u64, ending: Ending) -> bool {
        let mut state = self.lock();
        let waiting = state.waiting.get_mut(&id);
        let Some(waiting) = waiting.filter(|waiting| waiting.outcome.is_none()) else {
            return false;
        };
        let now = Instant::now();
        let is_answer = ending.is_answer();
        let counts = is_answer && !self.is_injecting();
        let answered = waiting.tool.as_ref().filter(|_| counts);
        if let Some(tool) = answered {
            let took = now.saturating_duration_since(waiting.sent);
            let now = self.progress.time(now);
            self.progress.note_answer(tool, now, took);
        }
        let has_answered = answered.is_some();
        let outcome = self.conclude(id, waiting, ending, now);
        waiting.outcome = Some(outcome);
        let waker = waiting.waker.take();
        state.answered += u64::from(has_answered);
        let was_cancelled = is_answer && state.cancels.note_answer(id);
        drop(state);
        if was_cancelled {
            let message = format!("request {id} was answered after the server had cancelled it");
            self.violate(ViolationKind::ReplyAfterCancel, message);
        }
        if let Some(waker) = waker {
            waker.wake();
        }
        true
    }

    /// The only request that a reply can be for, if there is exactly one.
    pub fn only_call(&self) -> Option<u64> {
        let state = self.lock();
        let mut unanswered = state.unanswered().chain(state.abandoned.iter().copied());
        let first = unanswered.next()?;
        unanswered.next().is_none().then_some(first)
    }

    /// Sends a notification; one that cannot be sent is lost, as notifications may be.
    pub fn notify(&self, method: &str, params: Option<&Value>) {
        let bytes = protocol::notification(method, params);
        self.send_aside(&bytes, OutgoingKind::Notification, method);
    }

    /// Sends something that is not counted as a call.
    pub fn send_aside(&self, bytes: &[u8], kind: OutgoingKind, method: &str) {
        if let Ok(channel) = self.channel() {
            let message = Outgoing {
                bytes,
                kind,
                method,
                name: None,
                parameter_headers: &[],
            };
            let _ = channel.send(message);
        }
    }

    /// Why the channel closed, if it did.
    pub fn closed(&self) -> Option<Failure> {
        self.lock().closed.clone()
    }
}

impl State {
    /// The calls of a tool.
    fn tool(&mut self, progress: &Progress, name: &str) -> Option<Arc<ToolProgress>> {
        if let Some(tool) = self.tools.get(name) {
            return Some(Arc::clone(tool));
        }
        let tool = progress.tool(name)?;
        self.tools.insert(name.to_owned(), Arc::clone(&tool));
        Some(tool)
    }

    /// The calls in flight.
    pub fn unanswered(&self) -> impl Iterator<Item = u64> {
        let waiting = self.waiting.iter();
        waiting
            .filter(|(_, waiting)| waiting.outcome.is_none())
            .map(|(id, _)| *id)
    }

    pub fn remember_abandoned(&mut self, id: u64) {
        if self.abandoned.len() < REMEMBERED_MAX {
            self.abandoned.insert(id);
        }
    }
}
