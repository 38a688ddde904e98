//! Answers of a server as they pass: who waits for them on a stream, and what is wanted of them, to write them down
//! and to leave tools out of lists.

use crate::prelude::*;

/// How a stream or a body ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Whole,
    /// The server broke it off, or a fault did.
    Broken,
    /// The client did not want the rest.
    Left,
}

/// What is wanted of the answer to what a client asked.
#[derive(Clone, Default)]
pub struct Observer {
    /// What it asked: one thing, or the members of a batch; and what is written down of it.
    pub asked: Vec<(IdKey, Option<RecordedRequest>)>,
    /// Whether it is a list of tools.
    pub is_listing: bool,
    /// Whether it opens a session.
    pub is_opening: bool,
    pub session: Session,
}

impl Observer {
    /// Whether the answer matters at all.
    pub fn is_wanted(&self) -> bool {
        self.is_listing || self.is_opening || self.recorded(|_| true).next().is_some()
    }

    /// Looks at the answer: what goes on in its place, if anything.
    pub fn answer(&self, watch: &Watch, message: &[u8]) -> Option<Vec<u8>> {
        let changed = self.is_listing.then(|| watch.listing(message)).flatten();
        self.record(changed.as_deref().unwrap_or(message));
        changed
    }

    /// Writes down an answer, or several in a batch.
    fn record(&self, message: &[u8]) {
        if message.trim_ascii_start().first() == Some(&b'[') {
            for member in split_batch(message).unwrap_or_default() {
                for recorded in self.recorded(|id| Seen::of(member.as_bytes()).answers(id)) {
                    recorded.answer(member.as_bytes());
                }
            }
            return;
        }
        // One that names nothing that was asked is about all of it.
        let is_meant = |id: &IdKey| self.asked.len() == 1 || Seen::of(message).answers(id);
        let is_about_all = !self.asked.iter().any(|(id, _)| is_meant(id));
        for recorded in self.recorded(|id| is_about_all || is_meant(id)) {
            recorded.answer(message);
        }
    }

    /// The requests that are written down, of those that are meant.
    fn recorded(
        &self,
        is_meant: impl Fn(&IdKey) -> bool,
    ) -> impl Iterator<Item = &RecordedRequest> {
        self.asked
            .iter()
            .filter(move |(id, _)| is_meant(id))
            .filter_map(|(_, recorded)| recorded.as_ref())
    }

    /// Those that have no end yet.
    fn open(&self) -> impl Iterator<Item = &RecordedRequest> {
        self.recorded(|_| true).filter(|open| !open.has_ended())
    }

    /// There is no answer to what has none yet.
    pub fn fail(&self, category: ErrorCategory, message: &str) {
        for recorded in self.open() {
            recorded.fail(category, message);
        }
    }

    /// Looks at a whole body of JSON, which may be that of a refusal.
    pub fn body(&self, watch: &Watch, status: StatusCode, body: &[u8]) -> Option<Vec<u8>> {
        let is_answer = || matches!(Seen::of(body), Seen::Answer { .. } | Seen::Batch);
        if !status.is_success() && !is_answer() {
            self.fail(ErrorCategory::ServerError, &format!("HTTP {status}"));
            return None;
        }
        let changed = self.answer(watch, body);
        let message = "it is not among the answers to its batch";
        self.fail(ErrorCategory::Malformed, message);
        changed
    }

    /// What was to answer ended before it did.
    pub fn end_without(&self, ending: Ending) {
        let message = match ending {
            Ending::Left => return self.open().for_each(RecordedRequest::cancel),
            Ending::Whole => "the stream ended without an answer",
            Ending::Broken => "the connection closed before the answer was complete",
        };
        self.fail(ErrorCategory::Disconnected, message);
    }

    pub fn is_answer(&self, message: &[u8]) -> bool {
        let seen = Seen::of(message);
        let is_batch = matches!(seen, Seen::Batch);
        is_batch || self.asked.iter().any(|(id, _)| seen.answers(id))
    }
}

/// The answers that are waited for on one stream, by id and the oldest first.
pub struct Answers {
    observed_max: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    waiting: HashMap<IdKey, VecDeque<Waiting>>,
    observed: usize,
}

/// Who waits for an answer.
enum Waiting {
    /// The fault that acts on the call with this number; nobody, if the answer is to be lost.
    Fault(u64, Option<oneshot::Sender<Bytes>>),
    /// Whoever writes it down.
    Observer(Observer),
}

/// What is known of an answer.
pub enum Expected {
    /// A fault wanted it, and has it.
    Taken,
    Observed(Observer),
    Unknown,
}

impl Answers {
    /// None so far, and that many to be observed at most.
    pub fn new(observed_max: usize) -> Self {
        Self {
            observed_max,
            state: Mutex::default(),
        }
    }

    /// Whether any is waited for.
    pub fn is_expecting(&self) -> bool {
        !lock(&self.state).waiting.is_empty()
    }

    /// Requests go on: their answers are observed, if that is wanted.
    pub fn expect(&self, look: &Observer) {
        let mut state = lock(&self.state);
        for asked in &look.asked {
            state.retain(&asked.0, is_awaited);
            let alone = Observer {
                asked: vec![asked.clone()],
                session: look.session.clone(),
                ..*look
            };
            if alone.is_wanted() && state.observed < self.observed_max {
                state.observed += 1;
                state.push(&asked.0, Waiting::Observer(alone));
            }
        }
    }

    /// From now on the next answer with the id of this call is for the one who waits at the returned end.
    pub fn take_answer(&self, call: &PendingCall) -> oneshot::Receiver<Bytes> {
        let (sender, receiver) = oneshot::channel();
        let mut state = lock(&self.state);
        state.retain(&call.key.1, is_awaited);
        state.push(&call.key.1, Waiting::Fault(call.serial, Some(sender)));
        receiver
    }

    /// The fault waits no more for the answer to its call; if it is to be lost, it still does not go on.
    pub fn stop_taking(&self, call: &PendingCall) {
        lock(&self.state).retain(&call.key.1, |waiting| match waiting {
            Waiting::Fault(serial, sender) if *serial == call.serial => {
                *sender = None;
                call.is_lost
            }
            _ => true,
        });
    }

    /// The server answers under this id.
    pub fn answer(&self, key: &IdKey, message: &[u8]) -> Expected {
        let mut state = lock(&self.state);
        let Some(all) = state.waiting.get_mut(key) else {
            return Expected::Unknown;
        };
        let fault = all.iter().position(Waiting::is_fault);
        let first = all.remove(fault.unwrap_or_default());
        state.retain(key, |_| true);
        match first {
            Some(Waiting::Fault(_, sender)) => {
                if let Some(sender) = sender {
                    // Who stopped waiting just now does without.
                    let _ = sender.send(Bytes::copy_from_slice(message.trim_ascii()));
                }
                Expected::Taken
            }
            Some(Waiting::Observer(look)) => {
                state.observed = state.observed.saturating_sub(1);
                Expected::Observed(look)
            }
            None => Expected::Unknown,
        }
    }

    /// An answer that is too long to be read is on its way to the client: who waits for it need not.
    pub fn pass_long(&self, key: &IdKey) {
        lock(&self.state).retain(key, |waiting| match waiting {
            Waiting::Fault(..) => false,
            Waiting::Observer(look) => {
                look.is_listing = false;
                look.is_wanted()
            }
        });
    }

    /// The server says nothing more: no fault gets an answer.
    pub fn give_up_taking(&self) {
        lock(&self.state).waiting.retain(|_, all| {
            all.retain(|waiting| !waiting.is_fault());
            !all.is_empty()
        });
    }

    /// The stream is over: nobody gets an answer on it.
    pub fn end(&self, ending: Ending) {
        let state = std::mem::take(&mut *lock(&self.state));
        for waiting in state.waiting.into_values().flatten() {
            if let Waiting::Observer(look) = waiting {
                look.end_without(ending);
            }
        }
    }
}

impl State {
    fn push(&mut self, key: &IdKey, waiting: Waiting) {
        self.waiting
            .entry(key.clone())
            .or_default()
            .push_back(waiting);
    }

    fn retain(&mut self, key: &IdKey, is_kept: impl FnMut(&mut Waiting) -> bool) {
        if let Some(all) = self.waiting.get_mut(key) {
            all.retain_mut(is_kept);
            if all.is_empty() {
                self.waiting.remove(key);
            }
        }
    }
}

impl Waiting {
    const fn is_fault(&self) -> bool {
        matches!(self, Self::Fault(..))
    }
}

/// Whether it is waited for: when a request of the same id goes on, earlier answers that are to be lost are past.
fn is_awaited(waiting: &mut Waiting) -> bool {
    !matches!(waiting, Waiting::Fault(_, None))
}
