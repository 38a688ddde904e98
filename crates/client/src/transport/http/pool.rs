//! Who sends what when: a queue of messages and the workers that take from it.
//!
//! Workers park on a stack, so that the connection used last is used first and surplus ones fall
//! idle. Opening, parking and abandoning are all decided here, under one lock that is never held
//! while anything is delivered.
//!
//! A worker is a task with a connection of its own, which runs one exchange after the other. Between two exchanges it
//! parks, with an eye on its connection. Aborting the task is how the pool closes the connection.

use tokio::runtime::Handle;

use super::exchange;
use super::headers::PostHeaders;
use super::prelude::*;

/// How many messages wait for a connection at most.
pub const MAX_QUEUED: usize = 4096;
/// How many bytes wait for a connection at most, unless it is a single message.
pub const MAX_QUEUED_BYTES: usize = 64 * 1024 * 1024;
/// Connections beyond the limit that replies and notifications may open: a server that waits
/// for our reply while it holds every connection would wait forever.
const RESERVED_CONNECTIONS: usize = 8;
/// Requests must not overtake it, or the server refuses them as premature.
const INITIALIZED: &str = "notifications/initialized";

/// Where the answer to a request arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answers {
    /// In the response to its POST.
    InResponse,
    /// On a stream that is open all along; a response only says whether the POST was taken.
    OnStream,
}

/// Everything that the tasks of one channel share.
pub struct Pool {
    pub address: Address,
    pub options: HttpOptions,
    pub answers: Answers,
    pub inbox: Arc<dyn Inbox>,
    headers: Mutex<Headers>,
    keep_limits: Mutex<KeepLimits>,
    /// Whether a GET stream is open, or may be soon.
    is_listening: AtomicBool,
    runtime: Handle,
    state: Mutex<State>,
    room: Notify,
}

/// A message on its way.
pub struct Job {
    pub kind: OutgoingKind,
    pub body: Bytes,
    pub headers: PostHeaders,
    /// Nothing may start before this one is through.
    pub is_barrier: bool,
}

#[derive(Default)]
struct State {
    is_closed: bool,
    /// Requests, and whatever else can wait its turn.
    queue: VecDeque<Job>,
    /// Replies and notifications, which go first.
    urgent: VecDeque<Job>,
    queued_bytes: usize,
    /// Someone was told that the queue is full.
    is_awaited: bool,
    barrier: bool,
    /// Requests that run now.
    running: usize,
    last_worker: u64,
    workers: FxHashMap<u64, AbortHandle>,
    /// Parked workers, and how they get their next message.
    idle: Vec<(u64, oneshot::Sender<Job>)>,
    /// Which worker runs which request.
    in_flight: FxHashMap<u64, u64>,
}

/// What a worker does after an exchange.
enum Next {
    Run(Job),
    Park(oneshot::Receiver<Job>),
    End,
}

impl Job {
    /// The request that this message is.
    pub fn request(&self) -> Option<u64> {
        match self.kind {
            OutgoingKind::Request(id) => Some(id),
            _ => None,
        }
    }

    fn is_urgent(&self) -> bool {
        matches!(self.kind, OutgoingKind::Notification | OutgoingKind::Reply)
    }
}

impl Pool {
    pub fn new(
        address: Address,
        options: HttpOptions,
        answers: Answers,
        headers: Headers,
        inbox: Arc<dyn Inbox>,
    ) -> Arc<Self> {
        Arc::new(Self {
            address,
            options: HttpOptions {
                max_connections: options.max_connections.max(1),
                ..options
            },
            answers,
            inbox,
            headers: Mutex::new(headers),
            keep_limits: Mutex::default(),
            is_listening: AtomicBool::default(),
            runtime: Handle::current(),
            state: Mutex::default(),
            room: Notify::new(),
        })
    }

    pub fn headers(&self) -> MutexGuard<'_, Headers> {
        lock(&self.headers)
    }

    /// What the server was seen to do with connections that are kept.
    pub fn keep_limits(&self) -> MutexGuard<'_, KeepLimits> {
        lock(&self.keep_limits)
    }

    /// Whether messages of the server may come on a GET stream.
    pub fn is_listening(&self) -> bool {
        self.is_listening.load(Ordering::Acquire)
    }

    pub fn set_listening(&self, is_listening: bool) {
        self.is_listening.store(is_listening, Ordering::Release);
    }

    pub fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// What was asked of a server with `job` failed.
    pub fn fail(&self, job: &Job, failure: Failure) {
        match job.kind {
            OutgoingKind::Raw => self.inbox.answer_raw(Err(failure)),
            _ => self.inbox.fail(job.request(), failure),
        }
    }

    /// Takes a message; it starts at once if a connection is free or can be opened.
    pub fn submit(self: &Arc<Self>, message: &Outgoing<'_>) -> Result<(), SendError> {
        let headers = self.headers().post(message);
        let mut state = lock(&self.state);
        if state.is_closed {
            return Err(SendError::closed());
        }
        if !state.has_room(message.bytes.len()) {
            state.is_awaited = true;
            return Err(SendError::Full);
        }
        let job = Job {
            kind: message.kind,
            body: Bytes::copy_from_slice(message.bytes),
            headers,
            is_barrier: message.method == INITIALIZED,
        };
        state.queued_bytes += job.body.len();
        if job.is_urgent() {
            state.urgent.push_back(job);
        } else {
            state.queue.push_back(job);
        }
        self.dispatch(&mut state);
        Ok(())
    }

    /// Resolves when there is room in the queue, or the pool is closed.
    pub async fn wait_for_room(&self) {
        loop {
            let notified = self.room.notified();
            {
                let mut state = lock(&self.state);
                if state.is_closed || state.has_room(0) {
                    return;
                }
                state.is_awaited = true;
            }
            notified.await;
        }
    }

    /// Closes the connection on which request `id` runs, or takes it off the queue.
    pub fn abandon(self: &Arc<Self>, id: u64) -> bool {
        let mut state = lock(&self.state);
        if let Some(worker) = state.in_flight.remove(&id) {
            if let Some(task) = state.workers.remove(&worker) {
                task.abort();
                state.running = state.running.saturating_sub(1);
                self.dispatch(&mut state);
            }
            return true;
        }
        let position = state.queue.iter().position(|job| job.request() == Some(id));
        let Some(job) = position.and_then(|position| state.queue.remove(position)) else {
            return false;
        };
        state.queued_bytes = state.queued_bytes.saturating_sub(job.body.len());
        self.announce_room(&mut state);
        true
    }

    /// Request `id` has its answer: what its stream still brings is no longer part of it.
    pub fn mark_answered(&self, id: u64) {
        lock(&self.state).in_flight.remove(&id);
    }

    /// Lets the messages start that waited for `notifications/initialized`.
    pub fn lift_barrier(self: &Arc<Self>) {
        let mut state = lock(&self.state);
        state.barrier = false;
        self.dispatch(&mut state);
    }

    /// Drops every connection and message. Returns whether the pool was open.
    pub fn close(&self) -> bool {
        let mut state = lock(&self.state);
        let was_open = !std::mem::replace(&mut state.is_closed, true);
        for task in state.workers.values() {
            task.abort();
        }
        *state = State {
            is_closed: true,
            ..State::default()
        };
        self.room.notify_waiters();
        was_open
    }

    /// Starts whatever can start.
    fn dispatch(self: &Arc<Self>, state: &mut State) {
        let limit = self.options.max_connections + RESERVED_CONNECTIONS;
        while !state.idle.is_empty() || state.workers.len() < limit {
            let Some(job) = state.take(self.options.max_connections) else {
                break;
            };
            if let Some((worker, seat)) = state.idle.pop() {
                state.start(&job, worker);
                // A worker waits for it until it has taken itself off the stack.
                let _ = seat.send(job);
                continue;
            }
            state.last_worker += 1;
            let worker = state.last_worker;
            state.start(&job, worker);
            let task = self.runtime.spawn(Arc::clone(self).work(worker, job));
            state.workers.insert(worker, task.abort_handle());
        }
        self.announce_room(state);
    }

    fn announce_room(&self, state: &mut State) {
        if state.is_awaited && state.has_room(0) {
            state.is_awaited = false;
            self.room.notify_waiters();
        }
    }

    /// The life of a worker.
    async fn work(self: Arc<Self>, worker: u64, mut job: Job) {
        let mut connection: Option<Connection> = None;
        loop {
            connection = exchange::run(&self, connection, &job).await;
            job = match self.finish(worker, &job, connection.is_some()) {
                Next::Run(next) => next,
                Next::End => return,
                Next::Park(mut seat) => {
                    let given = match &mut connection {
                        Some(connection) => {
                            let given = connection.unless_closed(&mut seat).await;
                            if given.is_none() {
                                self.keep_limits().learn(connection.kept());
                            }
                            given
                        }
                        None => None,
                    };
                    match given.and_then(Result::ok) {
                        Some(next) => next,
                        None => match self.unpark(worker, seat) {
                            Some(next) => next,
                            None => return,
                        },
                    }
                }
            };
        }
    }

    /// Ends an exchange and says what the worker does next.
    fn finish(self: &Arc<Self>, worker: u64, job: &Job, can_park: bool) -> Next {
        let mut state = lock(&self.state);
        if !state.workers.contains_key(&worker) {
            return Next::End;
        }
        if let Some(id) = job.request()
            && state.in_flight.get(&id) == Some(&worker)
        {
            state.in_flight.remove(&id);
        }
        if !job.is_urgent() {
            state.running = state.running.saturating_sub(1);
        }
        if job.is_barrier {
            state.barrier = false;
        }
        let next = state.take(self.options.max_connections);
        let next = if let Some(next) = next {
            state.start(&next, worker);
            Next::Run(next)
        } else if can_park {
            let (seat, next) = oneshot::channel();
            state.idle.push((worker, seat));
            Next::Park(next)
        } else {
            state.workers.remove(&worker);
            Next::End
        };
        self.dispatch(&mut state);
        next
    }

    /// The parked connection closed: the worker ends, unless it was just given a message.
    fn unpark(&self, worker: u64, mut seat: oneshot::Receiver<Job>) -> Option<Job> {
        let mut state = lock(&self.state);
        if let Some(position) = state.idle.iter().position(|(idle, _)| *idle == worker) {
            state.idle.remove(position);
            state.workers.remove(&worker);
        }
        seat.try_recv().ok()
    }
}

impl State {
    fn has_room(&self, length: usize) -> bool {
        let queued = self.queue.len() + self.urgent.len();
        queued == 0 || queued < MAX_QUEUED && self.queued_bytes + length <= MAX_QUEUED_BYTES
    }

    /// The next message that may start now.
    fn take(&mut self, max_running: usize) -> Option<Job> {
        if self.barrier {
            return None;
        }
        let job = match self.urgent.pop_front() {
            Some(job) => job,
            None if self.running < max_running => self.queue.pop_front()?,
            None => return None,
        };
        self.queued_bytes = self.queued_bytes.saturating_sub(job.body.len());
        Some(job)
    }

    fn start(&mut self, job: &Job, worker: u64) {
        if let Some(id) = job.request() {
            self.in_flight.insert(id, worker);
        }
        if !job.is_urgent() {
            self.running += 1;
        }
        self.barrier |= job.is_barrier;
    }
}
