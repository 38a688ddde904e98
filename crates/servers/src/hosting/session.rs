//! What one client and the server know of each other: the revision they agreed on, the
//! questions the server has asked, and the requests that can still be cancelled.

use tokio::sync::watch;
use tokio::task;

use crate::prelude::*;

/// The most resources that one client may subscribe to.
const SUBSCRIPTIONS_MAX: usize = 10_000;
/// The most streams of one client that wait to be taken up again.
const PARKED_MAX: usize = 64;

/// The most that is kept of what one client says at `initialize`.
pub const AGREEMENT_BYTES_MAX: usize = 64 * 1024;
/// How many bytes of what clients say are kept with their sessions, for all clients together: what they said at
/// `initialize`, and the names of resources that they subscribed to.
pub const SESSION_BYTES_MAX: usize = 256 * 1024 * 1024;
/// What a subscription takes besides the name of its resource.
const SUBSCRIPTION_BYTES: usize = 128;
/// How many bytes of answers may wait for one client before its next request is worked on.
pub const UNREAD_BYTES_MAX: usize = 64 * 1024 * 1024;

/// What `initialize` settled.
#[derive(Debug)]
struct Agreement {
    revision: Revision,
    client_capabilities: Value,
    client: Value,
    _charge: Charge,
}

/// What a behaviour keeps with a client, for itself, over as many sessions as it has.
pub type Shared = Arc<OnceLock<Box<dyn Any + Send + Sync>>>;

/// One client, from `initialize` or its connection to the end.
pub struct Session {
    /// What the client calls it, or what we do; none where there are no sessions.
    name: Option<String>,
    /// Who opened it.
    pub owner: Option<Identity>,
    agreement: Mutex<Option<Agreement>>,
    asked: AtomicU64,
    questions: Mutex<HashMap<String, oneshot::Sender<Result<Value, Value>>>>,
    /// The requests that are being worked on.
    pub in_flight: InFlight,
    closed: watch::Sender<bool>,
    /// The mildest log messages that the client wants, in the handshake era.
    pub log_level: Mutex<LogLevel>,
    subscriptions: Mutex<HashMap<String, Charge>>,
    /// Answers that wait for this client.
    pub unread: Budget,
    /// How many streams for messages that belong to no request were opened; the last one gets them.
    pub streams: AtomicU64,
    /// Streams that the server closed before the answer, by the id of their last event.
    pub parked: Mutex<HashMap<String, Answers>>,
    attachment: Shared,
}

impl Session {
    pub fn new(name: Option<String>, owner: Option<Identity>) -> Self {
        Self {
            name,
            owner,
            agreement: Mutex::default(),
            asked: AtomicU64::default(),
            questions: Mutex::default(),
            in_flight: InFlight::default(),
            closed: watch::Sender::new(false),
            log_level: Mutex::default(),
            subscriptions: Mutex::default(),
            unread: Budget::new(UNREAD_BYTES_MAX),
            streams: AtomicU64::default(),
            parked: Mutex::default(),
            attachment: Shared::default(),
        }
    }

    /// The same session, sharing what the behaviour keeps with others: in the stateless era each
    /// request over HTTP is a session.
    pub(super) fn sharing(mut self, attachment: &Shared) -> Self {
        self.attachment = Arc::clone(attachment);
        self
    }

    /// What the behaviour keeps with this client; made when it is first asked for.
    pub fn attachment<T: Send + Sync + 'static>(&self, make: impl FnOnce() -> T) -> Option<&T> {
        self.attachment
            .get_or_init(|| Box::new(make()))
            .downcast_ref()
    }

    /// Its name, if it has one.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    fn agreed<T>(&self, part: impl FnOnce(&Agreement) -> T) -> Option<T> {
        lock(&self.agreement).as_ref().map(part)
    }

    /// The revision agreed on by `initialize`, if that has happened.
    pub fn revision(&self) -> Option<Revision> {
        self.agreed(|agreement| agreement.revision)
    }

    /// What the client said at `initialize` that it can do.
    pub fn client_capabilities(&self) -> Value {
        let said = self.agreed(|agreement| agreement.client_capabilities.clone());
        said.unwrap_or_default()
    }

    /// Who the client said at `initialize` that it is.
    pub fn client(&self) -> Value {
        let said = self.agreed(|agreement| agreement.client.clone());
        said.unwrap_or_default()
    }

    /// Notes what `initialize` settled.
    pub fn agree(
        &self,
        revision: Revision,
        (client_capabilities, client): (Value, Value),
        charge: Charge,
    ) {
        *lock(&self.agreement) = Some(Agreement {
            revision,
            client_capabilities,
            client,
            _charge: charge,
        });
    }

    /// The id of a new question to the client, and where its answer will arrive.
    pub fn question(&self) -> (String, oneshot::Receiver<Result<Value, Value>>) {
        let id = format!("ask-{}", self.asked.fetch_add(1, Ordering::Relaxed));
        let (sender, receiver) = oneshot::channel();
        lock(&self.questions).insert(id.clone(), sender);
        (id, receiver)
    }

    /// Forgets a question that waited long enough.
    pub fn forget_question(&self, id: &str) {
        lock(&self.questions).remove(id);
    }

    /// Takes the client's answer to a question; an answer to none is dropped.
    pub fn answered(&self, id: &Value, outcome: Result<Value, Value>) {
        let question = id.as_str().and_then(|id| lock(&self.questions).remove(id));
        if let Some(question) = question {
            // Whoever asked may have been cancelled.
            let _ = question.send(outcome);
        }
    }

    /// Gives up all work, and ends the streams of this session.
    pub fn close(&self, how: Ended) {
        self.in_flight.give_up(how);
        lock(&self.parked).clear();
        self.closed.send_replace(true);
    }

    /// Whether it was closed.
    pub fn is_closed(&self) -> bool {
        *self.closed.borrow()
    }

    /// Waits for [`Session::close`].
    pub async fn wait_closed(&self) {
        // An error would mean that the session is gone, which is closed too.
        let _ = self.closed.subscribe().wait_for(|closed| *closed).await;
    }

    /// Tells the client of changes of this resource from now on; false if there are too many, or `kept` has no room.
    pub fn subscribe(&self, uri: &str, kept: &Budget) -> bool {
        let mut subscriptions = lock(&self.subscriptions);
        if subscriptions.contains_key(uri) {
            return true;
        }
        let charge = kept.charge(uri.len() + SUBSCRIPTION_BYTES);
        let charge = charge.filter(|_| subscriptions.len() < SUBSCRIPTIONS_MAX);
        charge
            .map(|charge| subscriptions.insert(uri.to_owned(), charge))
            .is_some()
    }

    pub fn unsubscribe(&self, uri: &str) {
        lock(&self.subscriptions).remove(uri);
    }

    /// Whether the client is to hear of this, in the handshake era.
    pub fn hears_of(&self, change: &Change) -> bool {
        match change {
            Change::Resource(uri) => lock(&self.subscriptions).contains_key(uri),
            Change::List(_) => self.revision().is_some(),
        }
    }

    /// Keeps what is still to be said on a stream for the client to fetch; false if there are too many.
    pub fn park(&self, event: &str, answers: Answers) -> bool {
        let mut parked = lock(&self.parked);
        let has_room = parked.len() < PARKED_MAX;
        if has_room {
            parked.insert(event.to_owned(), answers);
        }
        has_room
    }
}

/// How the work on one request ended, as soon as that is known; also what tells it from other work on
/// the same id.
pub type End = Arc<OnceLock<Ended>>;

/// A request that is being worked on.
struct Work {
    method: String,
    task: AbortHandle,
    end: End,
    /// Told once that the client cancelled, by work that goes on all the same.
    shield: Option<Shield>,
}

/// Which work on an id: what this task does, or all of it.
pub type Which = Option<task::Id>;

/// Work by the id of its request. A client that gives one id to several requests gets all of them
/// answered, and cancels all of them.
#[derive(Default)]
pub struct InFlight(Mutex<HashMap<String, Vec<Work>>>);

impl InFlight {
    /// Starts the work on a request, so that it can be cancelled until it is done.
    pub fn begin(
        &self,
        id: &Value,
        method: String,
        (end, shield): (End, Option<Shield>),
        start: impl FnOnce() -> AbortHandle,
    ) -> AbortHandle {
        // Held while starting, so that the work cannot be done before it is noted.
        let mut works = lock(&self.0);
        let task = start();
        let handle = task.clone();
        works.entry(id.to_string()).or_default().push(Work {
            method,
            task,
            end,
            shield,
        });
        handle
    }

    /// Notes that the work on a request is done.
    pub fn done(&self, id: &Value, end: &End) {
        let mut works = lock(&self.0);
        let id = id.to_string();
        if let Some(same) = works.get_mut(&id) {
            same.retain(|work| !Arc::ptr_eq(&work.end, end));
            if same.is_empty() {
                works.remove(&id);
            }
        }
    }

    /// From now on the work on a request goes on though the client cancels it; `told` is then called.
    pub fn shield(&self, id: &Value, end: &End, told: Shield) {
        let mut works = lock(&self.0);
        let mut same = works.get_mut(&id.to_string()).into_iter().flatten();
        if let Some(work) = same.find(|work| Arc::ptr_eq(&work.end, end)) {
            work.shield = Some(told);
        }
    }

    /// Gives up this work on an id, and says of which methods. Shielded work is only told, and goes on: whether there
    /// was any.
    pub fn cancel(&self, id: &Value, which: Which, how: Ended) -> (Vec<String>, bool) {
        let mut works = lock(&self.0);
        let id = id.to_string();
        let mut methods = Vec::new();
        let (mut kept, mut told) = (Vec::new(), Vec::new());
        for mut work in works.remove(&id).unwrap_or_default() {
            if !work.is(which) {
                kept.push(work);
                continue;
            }
            methods.push(work.method.clone());
            match work.shield.replace(Box::new(|| {})) {
                Some(shield) => {
                    told.push(shield);
                    kept.push(work);
                }
                None => work.give_up(how),
            }
        }
        if !kept.is_empty() {
            works.insert(id, kept);
        }
        drop(works);
        let is_shielded = !told.is_empty();
        for tell in told {
            tell();
        }
        (methods, is_shielded)
    }

    /// Gives up all work, shielded or not.
    pub fn give_up(&self, how: Ended) {
        for (_, same) in lock(&self.0).drain() {
            for work in same {
                work.give_up(how);
            }
        }
    }

    /// Whether any request is being worked on.
    pub fn is_busy(&self) -> bool {
        !lock(&self.0).is_empty()
    }
}

impl Work {
    fn is(&self, which: Which) -> bool {
        which.is_none_or(|task| self.task.id() == task)
    }

    fn give_up(&self, how: Ended) {
        // The first reason is the right one.
        let _ = self.end.set(how);
        self.task.abort();
    }
}
