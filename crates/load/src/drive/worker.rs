//! Making calls: one worker makes one after the other and looks at each answer.

use mcprove_client::transport::Detail;

use crate::prelude::*;

/// An arrival taken up this long after it was due was taken up late.
const LATE: Duration = Duration::from_millis(1);
/// So many lists of tools that were asked for later and answered: one that was not is lost.
const OVERTAKING_MIN: u64 = 10;
/// How many crossed replies a driver notes one by one.
const CROSSED_NOTED_MAX: u64 = 20;

/// A count of one thread. Adding to it is a read and a write, not one step that keeps other threads
/// out: that would cost each call more than the counting is worth. So two threads must not add.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    pub fn add(&self) {
        self.0.store(self.get() + 1, Ordering::Relaxed);
    }

    /// How many so far.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What the workers of one driver, all on its thread, count together.
#[derive(Debug, Default)]
pub struct Tally {
    /// Calls that began.
    pub begun: Count,
    /// Calls that ended in each phase, whichever they began in; the last is after the load.
    pub ended: Vec<Count>,
    /// Calls that were due and had no session to be made on.
    pub unstarted: Count,
    /// Calls that were due, in the open model, and taken up by the driver.
    pub taken_up: Count,
    /// Of these, calls that the driver came late for. What they wait for from then on, a session or
    /// room on it, is the server's.
    pub taken_up_late: Count,
    /// Replies that held their own token.
    pub checked: Count,
    /// Replies that held another call's token.
    pub crossed: Count,
    /// Calls that carried a token and whose reply held none, or that carried none.
    pub unchecked: Count,
    /// Calls that were never answered though their tool went on answering others.
    pub lost: Count,
    /// Replies with tokens of other calls and not their own, by tool. Rare, so that the lock is rarely taken.
    pub foreign: Mutex<BTreeMap<String, ForeignTokens>>,
    /// When its calls ended.
    pub recent: RecentCalls,
    /// Steps that list the tools, and those that were answered.
    pub lists: Count,
    pub lists_answered: Count,
}

impl Tally {
    /// Nothing yet, of a load with so many phases.
    pub fn new(phases: usize) -> Self {
        Self {
            ended: (0..=phases).map(|_| Count::default()).collect(),
            ..Self::default()
        }
    }

    /// Calls that ended, in whichever phase.
    pub fn ended_in_all(&self) -> u64 {
        self.ended.iter().map(Count::get).sum()
    }

    /// Calls under way.
    pub fn in_flight(&self) -> u64 {
        self.begun.get().saturating_sub(self.ended_in_all())
    }

    /// Whether a call succeeded: each that does is one of these.
    pub fn has_succeeded(&self) -> bool {
        [&self.checked, &self.crossed, &self.unchecked]
            .into_iter()
            .any(|count| count.get() > 0)
    }

    /// Notes that a call ended in the phase at `place`.
    fn end(&self, place: u32) {
        let last = self.ended.len().saturating_sub(1);
        if let Some(ended) = self.ended.get((place as usize).min(last)) {
            ended.add();
        }
    }
}

/// A reply held the token of another call; the message says it in words.
#[stored]
pub struct CrossedReplyFact {
    pub tool: String,
    pub call: u64,
    pub other: u64,
    pub request_id: u64,
}

impl Fact for CrossedReplyFact {
    const NAME: &'static str = "crossed_reply";
}

/// A step that lists the tools got no answer.
#[stored]
pub struct LostListFact {
    /// Whether others were answered that were asked for later.
    pub overtaken: bool,
}

impl Fact for LostListFact {
    const NAME: &'static str = "lost_list";
}

/// When and as part of what a call is made.
#[derive(Debug, Clone, Copy)]
pub struct CallSlot {
    /// The number of the call, which decides what it is.
    pub number: u64,
    pub phase: u16,
    /// When it should have been made, in the open model.
    pub intended: Option<Instant>,
    /// Whether it is a control call, which counts nowhere.
    pub is_control: bool,
}

/// How a pattern ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The next may begin.
    Done,
    /// The run is to end: a step failed that must not.
    StopRun,
    /// The slot has no session any more, and will have none.
    NoSession,
}

/// One who makes calls on the connection of a slot.
pub struct Worker {
    context: RunContext,
    connections: Arc<ConnectionSlot>,
    pub tally: Arc<Tally>,
    session: Option<SlotSession>,
    params: String,
    /// Whether the last call was answered.
    is_answered: bool,
}

impl Worker {
    /// A worker on the connection of a slot.
    pub fn new(
        context: &RunContext,
        connections: &Arc<ConnectionSlot>,
        tally: &Arc<Tally>,
    ) -> Self {
        Self {
            context: context.clone(),
            session: connections.session(),
            connections: Arc::clone(connections),
            tally: Arc::clone(tally),
            params: String::new(),
            is_answered: false,
        }
    }

    /// Goes through the pattern that `slot` begins.
    pub async fn perform(&mut self, mix: &Mix, slot: CallSlot) -> Ended {
        match mix.choose(slot.number) {
            Some(pattern) => {
                let ended = self.go_through(pattern, slot).await;
                // What was not answered may still be under way in the server.
                if self.is_answered && !slot.is_control {
                    let now = self.context.time(Instant::now());
                    self.tally.recent.note_end(slot.number, now);
                }
                ended
            }
            None => Ended::Done,
        }
    }

    /// Makes a control call; returns its reply if it succeeds.
    pub async fn call_control(&mut self, call: &PreparedCall, slot: CallSlot) -> Option<Reply> {
        if !self.has_session().await {
            return None;
        }
        self.call(call, slot).await.ok()
    }

    async fn go_through(&mut self, pattern: &PreparedPattern, mut slot: CallSlot) -> Ended {
        let last = pattern.steps.len().saturating_sub(1);
        for (place, step) in pattern.steps.iter().enumerate() {
            if !self.has_session().await {
                return Ended::NoSession;
            }
            let has_failed = match step {
                PreparedStep::Call(call) => self.call(call, slot).await.is_err(),
                PreparedStep::List(request) => Box::pin(self.list(request)).await,
            };
            // Only the first step has an intended start: the others follow from answers.
            slot.intended = None;
            if has_failed {
                match pattern.error_behavior {
                    ErrorBehavior::Continue => {}
                    ErrorBehavior::Abort => return Ended::Done,
                    ErrorBehavior::Stop => return Ended::StopRun,
                }
            }
            if place < last && !self.context.stop.is_running() {
                return Ended::Done;
            }
            if !pattern.think_time.is_zero() {
                self.context.pause(pattern.think_time).await;
            }
        }
        Ended::Done
    }

    /// Lists the tools; whether that failed. It is no call of a tool, so that it is noted where it fails.
    async fn list(&mut self, request: &Request) -> bool {
        let Some(session) = self.session.clone() else {
            return true;
        };
        // Those that were asked for earlier may be answered first.
        let before = self.tally.lists.get();
        self.tally.lists.add();
        let outcome = session.connection.session.request(request).await;
        let Err(error) = outcome else {
            self.tally.lists_answered.add();
            return false;
        };
        let is_timeout = error.category() == ErrorCategory::Timeout;
        if is_timeout && !self.failed_by_fault(&session, &error) {
            let overtaking = self.tally.lists_answered.get().saturating_sub(before);
            let overtaken = overtaking >= OVERTAKING_MIN;
            self.context
                .fact(&error.to_string(), &LostListFact { overtaken });
        }
        self.reconnect_if_closed(&error, &session).await;
        true
    }

    /// Makes sure that there is a session that looks alive.
    async fn has_session(&mut self) -> bool {
        if self.session.is_none() {
            self.session = match self.connections.session() {
                Some(session) => Some(session),
                // Boxed, as all that is rare: each worker keeps room for its largest future.
                None => Box::pin(self.connections.renew(None, "no session yet")).await,
            };
        }
        self.session.is_some()
    }

    /// Makes one call and looks at its answer.
    pub async fn call(&mut self, call: &PreparedCall, slot: CallSlot) -> Result<Reply, CallError> {
        let Some(session) = &self.session else {
            let message = "there is no session to call on";
            let failure = Failure::new(ErrorCategory::Disconnected, message);
            return Err(CallError::unsent(failure));
        };
        let start = Start {
            params: call.own_params(slot.number, self.context.seed, &mut self.params),
            intended: slot.intended,
            ..in_phase(slot.phase)
        };
        if !slot.is_control {
            self.tally.begun.add();
        }
        let outcome = session
            .connection
            .session
            .request_as(&call.request, &start)
            .await;
        if !slot.is_control {
            let place = self.context.gauges.place.load(Ordering::Relaxed);
            self.tally.end(place);
        }
        self.is_answered = match &outcome {
            Ok(_) => true,
            Err(error) => error.reply.is_some() || error.error.is_some(),
        };
        let duration = match &outcome {
            Ok(reply) => reply.duration,
            Err(error) => error.duration,
        };
        if duration >= ALONE_TIME && !slot.is_control {
            lock(&self.context.slow_tools).insert(call.tool.clone());
        }
        match &outcome {
            Ok(reply) => {
                self.connections.note_answer();
                // What a fault made of a reply says nothing of whose it is.
                let met_fault = self.met_fault(session, reply.request_id).is_some();
                if !met_fault && !slot.is_control {
                    self.identify(call, reply, slot.number);
                }
            }
            Err(error) => {
                let session = session.clone();
                Box::pin(self.handle_call_error(call, error, &session)).await;
            }
        }
        outcome
    }

    /// Notes how long after it was due a call was taken up.
    pub fn note_taken_up(&self, late_by: Duration) {
        self.tally.taken_up.add();
        if late_by > LATE {
            self.tally.taken_up_late.add();
        }
    }

    /// Checks that the reply belongs to the call.
    fn identify(&self, call: &PreparedCall, reply: &Reply, number: u64) {
        let tally = &self.tally;
        if call.token_use == TokenUse::StoredText {
            tally.unchecked.add();
            return;
        }
        let identity = if call.places.is_empty() {
            Identity::Unknown
        } else {
            self.context.tokens.identify(reply.result_bytes(), number)
        };
        match identity {
            Identity::Own => tally.checked.add(),
            Identity::Other(other) => self.note_foreign_token(call, reply, number, other),
            Identity::Unknown => {
                tally.unchecked.add();
                if matches!(call.token_use, TokenUse::Compare | TokenUse::Own) {
                    self.sample(call, reply, number);
                }
            }
        }
    }

    /// A reply held the token of another call. That is a mix-up if it was under way at the same time.
    fn note_foreign_token(&self, call: &PreparedCall, reply: &Reply, number: u64, other: u64) {
        let tally = &self.tally;
        let is_crossed = self.was_under_way(other, number, reply.duration);
        let mut foreign = lock(&tally.foreign);
        let tokens = foreign.entry(call.tool.clone()).or_default();
        if !is_crossed {
            tokens.stale += 1;
            tally.unchecked.add();
            return;
        }
        tokens.crossed += 1;
        drop(foreign);
        if tally.crossed.get() < CROSSED_NOTED_MAX {
            let message = format!(
                "the reply to call {number} of {} holds the token of call {other}",
                call.tool
            );
            let fact = CrossedReplyFact {
                tool: call.tool.clone(),
                call: number,
                other,
                request_id: reply.request_id,
            };
            self.context.fact(&message, &fact);
        }
        tally.crossed.add();
    }

    /// Whether call `other` was under way while call `number` was, which ended now and took that long.
    fn was_under_way(&self, other: u64, number: u64, duration: Duration) -> bool {
        if is_forgotten(other, number) {
            return false;
        }
        let began = self.context.time(Instant::now()).saturating_sub(duration);
        let tallies = lock(&self.context.gauges.tallies);
        tallies
            .iter()
            .all(|tally| match tally.recent.end_of(other) {
                CallEnd::At(ended) => ended >= began,
                CallEnd::Open => true,
            })
    }

    /// Keeps the reply for a comparison after the load, if it is in the sample.
    fn sample(&self, call: &PreparedCall, reply: &Reply, number: u64) {
        let Some(share) = share_of_sample(self.context.seed, number) else {
            return;
        };
        let others = neighbours(number);
        let others = others.filter(|other| self.was_under_way(*other, number, reply.duration));
        let sampled = SampledReply::new(call, number, reply, others.collect(), share);
        if let Some(sampled) = sampled {
            lock(&self.context.sampled_replies).add(sampled);
        }
    }

    /// The injected fault that struck this call.
    fn met_fault(&self, session: &SlotSession, request_id: u64) -> Option<Strike> {
        self.context.faults.as_ref()?;
        session.connection.session.met_fault(request_id)
    }

    /// Whether an injected fault made this call fail.
    fn failed_by_fault(&self, session: &SlotSession, error: &CallError) -> bool {
        let strike = self.met_fault(session, error.request_id);
        let hung_from = Some(self.context.hang_limits().threshold);
        strike.is_some_and(|strike| strike.explains(error.category(), error.duration, hung_from))
    }

    /// Finds out what a failed call means for the session.
    async fn handle_call_error(
        &mut self,
        call: &PreparedCall,
        error: &CallError,
        session: &SlotSession,
    ) {
        // A call that a fault held up says nothing of the server.
        let is_deadlock = error.category() == ErrorCategory::Deadlock;
        if is_deadlock && !self.failed_by_fault(session, error) {
            // Stuck, or its reply was dropped: nothing tells one from the other.
            if error.failure.detail == Detail::Overtaken {
                self.tally.lost.add();
            }
            self.connections.examine(session, &call.tool).await;
        }
        self.reconnect_if_closed(error, session).await;
    }

    /// Takes another session if this one is over.
    async fn reconnect_if_closed(&mut self, error: &CallError, session: &SlotSession) {
        let closed = session.connection.session.closed();
        let mut is_over = closed.is_some() || error.is_session_expired();
        let is_lost = error.category() == ErrorCategory::Disconnected;
        if !is_over && is_lost && !self.failed_by_fault(session, error) {
            is_over = !self.connections.note_lost_connection().await;
        }
        if is_over {
            let reason = closed.map_or_else(|| error.to_string(), |failure| failure.message);
            self.session = self
                .connections
                .renew(Some(session.generation), &reason)
                .await;
        }
    }
}
