//! What every scenario works with: the server, how to talk to it, where events go, when to stop.

use std::ops::Deref;

use mcprove_arguments::Folder;
use mcprove_client::session::ViolationKind;

use crate::faulty::Faults;
use crate::prelude::*;

/// What a scenario works with, on one thread: the run, and where events of this thread go.
#[derive(Opaque, Clone)]
pub struct RunContext {
    shared: Arc<SharedRun>,
    pub recorder: Arc<Recorder>,
}

/// What all threads of a run share.
pub struct SharedRun {
    /// Who is tested.
    pub server: Server,
    /// How sessions behave.
    pub options: SessionOptions,
    /// The faults that its calls meet.
    pub faults: Option<Arc<TimedInjector>>,
    /// What is to be done.
    pub scenario: Scenario,
    /// Decides every random choice.
    pub seed: u64,
    /// The tokens of this run.
    pub tokens: Tokens,
    /// Where events go.
    pub stream: EventStream,
    /// When to stop.
    pub stop: Stop,
    /// The server processes that are alive, by the session that they belong to.
    pub processes: Mutex<BTreeMap<u32, u32>>,
    /// What strict mode checks, where it is on.
    pub strict: Option<Arc<Strict>>,
    /// What the live view shows.
    pub gauges: Gauges,
    /// Tools too slow to be called alone after the load. Whoever adds to them has just waited long, so that the
    /// lock is rarely taken.
    pub slow_tools: Mutex<BTreeSet<String>>,
    /// What each tool does alone, as control calls before the load showed.
    pub(crate) controls: Mutex<BTreeMap<String, ToolControl>>,
    /// How many control calls have a number.
    pub(crate) control_calls: AtomicU64,
    /// Replies to be compared after the load. One call in a hundred adds to them.
    pub(crate) sampled_replies: Mutex<SampledReplies>,
    /// The tools that have limits of their own.
    limited_tools: Vec<String>,
    sessions: AtomicU32,
    /// The era of the first session, where it was ours to choose.
    era: OnceLock<Era>,
    /// Where the paths of generated arguments lie; made when the first is wanted.
    folder: OnceLock<io::Result<Folder>>,
    /// The sessions that may be open.
    open: Mutex<Vec<Weak<Session>>>,
}

/// The place of no phase: the load is over.
pub const OVER: u32 = u32::MAX;

/// What the live view shows and no event tells.
#[derive(Debug, Default)]
pub struct Gauges {
    /// The place of the phase that is on; [`OVER`] when the load is over, so that nothing is begun for it any more.
    pub place: AtomicU32,
    /// When the load is to end, in milliseconds since the events began; 0 while not known.
    pub ends_at_ms: AtomicU64,
    /// The share of a scenario without a fixed end that is done, in thousandths.
    pub done_permille: AtomicU32,
    /// What the server's processes hold.
    pub held: HeldGauge,
    /// What each driver of a load counts.
    pub tallies: Mutex<Vec<Arc<Tally>>>,
}

impl Gauges {
    /// Calls that ended so far; none where no driver counts them.
    pub fn ended(&self) -> Option<u64> {
        let tallies = lock(&self.tallies);
        let ended = tallies.iter().map(|tally| tally.ended_in_all()).sum();
        (!tallies.is_empty()).then_some(ended)
    }

    /// Calls under way.
    pub fn in_flight(&self) -> u64 {
        let tallies = lock(&self.tallies);
        tallies.iter().map(|tally| tally.in_flight()).sum()
    }
}

/// Who the server is.
#[stored(Default)]
pub struct ServerFact {
    #[serde(flatten)]
    pub info: ServerInfo,
    #[serde(default)]
    pub startup_secs: f64,
}

impl Fact for ServerFact {
    const NAME: &'static str = "server";
}

/// The tools of the server, and those that are not called because they may write.
#[stored(Default)]
pub struct ToolsFact {
    pub names: Vec<String>,
    #[serde(default)]
    pub skipped: Vec<SkippedTool>,
    /// Those that may be called; not known in traces of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub callable: Option<Vec<String>>,
}

impl Fact for ToolsFact {
    const NAME: &'static str = "tools";
}

/// A server did not exit when its input closed; the message says how long it had.
#[stored]
pub struct StayedFact {}

impl Fact for StayedFact {
    const NAME: &'static str = "stayed";
}

/// A server ended with a signal or a status that is no success when its input closed; the message says so.
#[stored]
pub struct EndedBadlyFact {}

impl Fact for EndedBadlyFact {
    const NAME: &'static str = "ended_badly";
}

/// A session could not be opened; the message says why.
#[sparse]
#[stored]
pub struct ConnectFailedFact {
    pub attempt: Option<u32>,
    /// Not known in traces of earlier versions.
    pub category: Option<ErrorCategory>,
    /// Which of the planned starts it was, if it was one of them.
    pub planned: Option<u32>,
    /// Whether the server refused it by a rate limit.
    #[sparse]
    pub is_rate_limited: bool,
    /// How long it was tried; known of planned starts.
    pub tried_secs: Option<f64>,
}

impl Fact for ConnectFailedFact {
    const NAME: &'static str = "connect_failed";
}

/// A session was opened in place of another.
#[stored]
pub struct ReconnectedFact {
    pub session: u32,
    pub attempt: u32,
    pub reason: String,
}

impl Fact for ReconnectedFact {
    const NAME: &'static str = "reconnected";
}

/// What the server did that the protocol does not allow.
#[stored]
pub struct ViolationFact {
    pub kind: String,
    pub count: u64,
    pub example: String,
}

impl Fact for ViolationFact {
    const NAME: &'static str = "violation";
}

/// What the server cancelled that was not its to cancel.
#[stored]
pub struct StrayCancelFact {
    pub cancelled: u64,
    pub example: String,
}

impl Fact for StrayCancelFact {
    const NAME: &'static str = "stray_cancel";
}

/// A phase of the run: by it a report knows what the calls of that number are.
#[in_seconds]
#[stored]
pub struct PhaseFact {
    /// The number in the calls' events.
    pub index: u16,
    /// Its name.
    pub name: String,
    /// Calls in flight.
    pub concurrent: u32,
    /// Calls per second, in the open model.
    #[serde(default)]
    pub rate: Option<f64>,
    /// Whether its calls count.
    pub measured: bool,
    /// Whether they are control calls: made alone, to know what a tool does when nothing else happens.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub control: bool,
    /// Whether it repeats an earlier one because of what was seen in that. Its calls do not count.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repetition: bool,
    /// When it began, since the events began.
    pub from: Duration,
    /// When it ended; not known for all.
    pub until: Option<Duration>,
}

impl Fact for PhaseFact {
    const NAME: &'static str = "phase";
}

/// What a scenario or a check finds out itself: a verdict in the making.
#[stored]
pub struct CheckFact {
    pub detector: String,
    pub passed: bool,
    pub critical: bool,
    #[serde(default)]
    pub inconclusive: bool,
    pub sentence: Message,
    pub hint: Message,
    #[serde(default)]
    pub numbers: BTreeMap<String, Value>,
}

impl Fact for CheckFact {
    const NAME: &'static str = "check";
}

impl From<CheckFact> for Verdict {
    fn from(check: CheckFact) -> Self {
        let (outcome, severity) = match (check.inconclusive, check.passed, check.critical) {
            (true, ..) => (Outcome::Inconclusive, Severity::Info),
            (_, true, _) => (Outcome::Pass, Severity::Info),
            (.., true) => (Outcome::Finding, Severity::Critical),
            (.., false) => (Outcome::Finding, Severity::Warning),
        };
        let mut verdict = Self::pass(check.detector, check.sentence).with_stored_limit();
        verdict.outcome = outcome;
        verdict.severity = severity;
        verdict.numbers = check.numbers;
        verdict.hint = (outcome != Outcome::Pass).then_some(check.hint);
        verdict
    }
}

/// A session that is part of a run: known by its number, its process watched while it lives.
#[derive(Opaque)]
pub struct Connection {
    /// The session.
    pub session: Arc<Session>,
    /// Its number in events.
    pub number: u32,
    context: RunContext,
    /// The violations that were noted already, by kind.
    noted: Mutex<BTreeMap<ViolationKind, u64>>,
    /// How many cancellations were noted already.
    noted_cancels: AtomicU64,
}

impl Connection {
    /// Ends the session in an orderly way.
    pub async fn end(&self) {
        self.look_away();
        // One that was killed, or is gone already, does not end now.
        let is_open = self.session.closed().is_none();
        let closing = self.session.end().await;
        // One that hangs in a call does not exit because of that, which has a verdict of its own.
        let is_idle = !self.session.has_unanswered();
        if closing.forced && is_idle {
            let timeout = describe_duration(self.context.server.shutdown_timeout);
            self.context.fact(&timeout, &StayedFact {});
        }
        let bad_end = closing.bad_end().filter(|_| is_open && is_idle);
        if let Some(message) = bad_end {
            self.context.fact(&message, &EndedBadlyFact {});
        }
        // The last words count, too.
        self.note_violations();
    }

    /// Makes a call, which counts in that phase.
    pub async fn call(&self, call: &PreparedCall, phase: u16) -> Result<Reply, CallError> {
        let start = in_phase(phase);
        self.session.request_as(&call.request, &start).await
    }

    /// Ends the server's process at once, where the session started it.
    pub fn kill(&self) {
        self.look_away();
        self.session.kill();
    }

    /// Ends the session; one that is `stuck` will not end by itself.
    pub async fn finish(&self, is_stuck: bool) {
        if is_stuck {
            self.kill();
        } else {
            self.end().await;
        }
    }

    /// Ends a session of which nothing more is wanted. A process of ours is not waited for: it may take its time to
    /// leave a session that was short.
    pub async fn dismiss(&self) {
        if self.session.process().is_some() {
            self.session.abandon();
            self.kill();
        }
        self.end().await;
    }

    /// Notes what the server did on the session that the protocol does not allow, as far as it is not noted yet.
    fn note_violations(&self) {
        let violations = self.session.violations();
        let mut noted = lock(&self.noted);
        for (kind, count) in &violations.counts {
            let before = noted.insert(*kind, *count).unwrap_or_default();
            let count = count.saturating_sub(before);
            if count == 0 {
                continue;
            }
            let mut examples = violations.first.iter();
            let example = examples.find(|violation| violation.kind == *kind);
            let fact = ViolationFact {
                kind: json!(kind).as_str().unwrap_or_default().to_owned(),
                count,
                example: example.map_or_else(String::new, |example| example.message.clone()),
            };
            self.context.fact(kind.explanation(), &fact);
        }
        let stray = self.session.stray_cancels();
        let before = self.noted_cancels.swap(stray.cancelled, Ordering::Relaxed);
        let message = stray.describe().filter(|_| stray.cancelled > before);
        if let Some(message) = message {
            let fact = StrayCancelFact {
                cancelled: stray.cancelled - before,
                example: stray.example,
            };
            self.context.fact(&message, &fact);
        }
    }

    /// A process that gives back its memory as it ends says nothing about the server.
    fn look_away(&self) {
        lock(&self.context.processes).remove(&self.number);
    }
}

/// However a session ends, what was seen on it is noted.
impl Drop for Connection {
    fn drop(&mut self) {
        self.note_violations();
        self.look_away();
    }
}

/// A call of this phase.
pub fn in_phase(phase: u16) -> Start<'static> {
    Start {
        phase,
        ..Start::default()
    }
}

impl Deref for RunContext {
    type Target = SharedRun;

    fn deref(&self) -> &SharedRun {
        &self.shared
    }
}

impl RunContext {
    /// A run with a recorder for this thread.
    pub fn new(shared: SharedRun) -> Self {
        let recorder = shared.stream.recorder();
        let shared = Arc::new(shared);
        Self { shared, recorder }
    }

    /// The same run, for another thread.
    pub fn for_thread(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            recorder: self.stream.recorder(),
        }
    }

    /// Notes a fact, with a message for people who read the trace.
    pub fn fact(&self, message: &str, fact: &impl Fact) {
        self.recorder.fact(message, fact);
    }

    /// Starts or reaches the server once more.
    pub async fn connect(&self) -> Result<Connection, ConnectError> {
        self.connect_with(|_| {}).await
    }

    /// [`RunContext::connect`] with options of its own.
    pub async fn connect_with(
        &self,
        adjust: impl FnOnce(&mut SessionOptions),
    ) -> Result<Connection, ConnectError> {
        self.open(None, adjust).await
    }

    /// [`RunContext::connect`] for one of the planned starts, if it is one; a failure of it is noted.
    pub async fn connect_planned(&self, planned: Option<u32>) -> Result<Connection, ConnectError> {
        let began = Instant::now();
        let opened = self.open(planned, |_| {}).await;
        if let (Err(error), Some(_)) = (&opened, planned) {
            self.note_failed_start(error, None, planned, Some(began));
        }
        opened
    }

    /// [`RunContext::connect_with`] for one of the starts that a scenario makes, which are planned once they were made. A
    /// failure is noted, unless a rate limit refused it.
    pub async fn connect_start(
        &self,
        number: u32,
        adjust: impl FnOnce(&mut SessionOptions),
    ) -> Result<Connection, ConnectError> {
        let began = Instant::now();
        let opened = self.open(Some(number), adjust).await;
        if let Err(error) = &opened {
            let planned = (!error.is_rate_limited()).then_some(number);
            self.note_failed_start(error, None, planned, Some(began));
        }
        opened
    }

    async fn open(
        &self,
        planned: Option<u32>,
        adjust: impl FnOnce(&mut SessionOptions),
    ) -> Result<Connection, ConnectError> {
        let number = self.sessions.fetch_add(1, Ordering::Relaxed);
        let mut options = self.options.clone();
        options.session_number = number;
        options.known_era = self.era.get().copied();
        adjust(&mut options);
        let is_choice_ours = options.protocol == ProtocolChoice::Auto;
        let recorder = Arc::clone(&self.recorder);
        let session = Session::connect_recorded(&self.server, options, recorder).await?;
        if let Some(process) = session.process() {
            lock(&self.processes).insert(number, process);
        }
        if is_choice_ours {
            // A server that speaks both is not to be asked in another way now and then, because it is slow.
            self.era.get_or_init(|| session.era());
        }
        let facts = session.facts();
        let name = &facts.implementation.name;
        if let Some(faults) = &self.faults {
            faults.name_server(name);
        }
        if number == 0 {
            let info = ServerInfo {
                target: self.server.describe(),
                name: name.clone(),
                version: facts.implementation.version.clone(),
                protocol: facts.revision.to_string(),
                transport: session.transport().to_owned(),
            };
            let startup_secs = facts.startup.as_secs_f64();
            self.fact(name, &ServerFact { info, startup_secs });
        }
        let opened = SessionOpenedFact {
            session: number,
            planned,
            startup_secs: facts.startup.as_secs_f64(),
            died_first: session.died_first().map(str::to_owned),
        };
        self.fact("", &opened);
        self.note_revision(&session);
        let session = Arc::new(session);
        let mut open = lock(&self.open);
        open.retain(|session| session.strong_count() > 0);
        open.push(Arc::downgrade(&session));
        drop(open);
        Ok(Connection {
            session,
            number,
            context: self.clone(),
            noted: Mutex::default(),
            noted_cancels: AtomicU64::default(),
        })
    }

    /// A session in place of another; it is noted whether it could be opened.
    pub async fn reconnect(
        &self,
        planned: Option<u32>,
        attempt: u32,
        reason: &str,
    ) -> Result<Connection, ConnectError> {
        let began = Instant::now();
        let opened = self.open(planned, |_| {}).await;
        match &opened {
            Ok(connection) => {
                let fact = ReconnectedFact {
                    session: connection.number,
                    attempt,
                    reason: reason.to_owned(),
                };
                self.fact(reason, &fact);
            }
            Err(error) => self.note_failed_start(error, Some(attempt), planned, Some(began)),
        }
        opened
    }

    /// Notes that a session that was not planned could not be opened.
    pub fn note_failure(&self, error: &ConnectError) {
        self.note_failed_start(error, None, None, None);
    }

    /// Lists the tools, and notes them for the coverage.
    pub async fn list_tools(&self, session: &Session) -> RunResult<Vec<Tool>> {
        let tools = session
            .list_tools()
            .await
            .map_err(|error| RunError::of_list(&error))?;
        self.learn_tools(session, &tools)?;
        Ok(tools)
    }

    /// Notes the tools for the coverage. A limit or a fault for a tool that is not among them is a mistake.
    pub fn learn_tools(&self, session: &Session, tools: &[Tool]) -> RunResult {
        if let Some(strict) = &self.strict {
            strict.learn(tools, session.facts().revision);
        }
        let names = tools.iter().map(|tool| tool.name.clone());
        let fact = ToolsFact {
            names: names.collect(),
            skipped: self.skipped_tools(tools),
            callable: Some(self.callable_tools(tools)),
        };
        self.fact(&format!("{} tools", tools.len()), &fact);
        let targets = || self.faults.iter().flat_map(|faults| faults.targets());
        let limited = self.limited_tools.iter();
        let limited = limited.map(|name| (name, "there is a threshold for"));
        let faulted =
            targets().filter_map(|target| Some((target.tool.as_ref()?, "a fault is aimed at")));
        for (name, what) in limited.chain(faulted) {
            if !fact.names.contains(name) {
                let what = format!("{what} the tool {name:?}, which the server does not have");
                return Err(unknown_tool(tools, name, what));
            }
        }
        let known = &session.facts().implementation.name;
        let mut servers = targets().filter_map(|target| target.server.as_ref());
        servers.find(|name| *name != known).map_or(Ok(()), |name| {
            Err(RunError::Config(Diagnostic::new(
                format!(
                    "a fault is aimed at the server {name:?}, but this one is called {known:?}"
                ),
                format!("did you mean {known:?}? Without a server the fault strikes any"),
            )))
        })
    }

    /// What to call, made ready: the tools that were named, or all that may be called.
    pub fn prepare(&self, session: &Session, tools: &[Tool]) -> RunResult<Vec<PreparedCall>> {
        self.prepared(session, tools)?.collect()
    }

    /// The same, each when it is asked for.
    pub fn prepared(
        &self,
        session: &Session,
        tools: &[Tool],
    ) -> RunResult<impl Iterator<Item = Result<PreparedCall, RunError>>> {
        let calls = calls_for(self, tools)?.into_iter();
        Ok(calls.map(move |call| PreparedCall::new(self, session, tools, &call)))
    }

    /// The numbers of so many rounds, until the run is asked to stop; the live view shows how many are done.
    pub fn rounds(&self, total: u32) -> impl Iterator<Item = u32> + Send {
        let mut rounds = 0..total;
        std::iter::from_fn(move || {
            self.progress(rounds.start, total);
            rounds.next().filter(|_| self.stop.is_running())
        })
    }

    /// Notes a verdict, which the report has.
    pub fn note_verdict(&self, verdict: &Verdict) {
        let fact = CheckFact {
            detector: verdict.detector.clone(),
            passed: verdict.outcome == Outcome::Pass,
            critical: verdict.severity == Severity::Critical,
            inconclusive: verdict.outcome == Outcome::Inconclusive,
            sentence: verdict.sentence.clone(),
            hint: verdict.hint.clone().unwrap_or_default(),
            numbers: verdict.numbers.clone(),
        };
        self.fact(&verdict.detector, &fact);
    }

    /// A phase that begins now, whose calls carry its number.
    pub fn phase(&self, index: u16, name: &str, concurrent: u32, measured: bool) -> PhaseFact {
        PhaseFact {
            index,
            name: name.to_owned(),
            concurrent,
            rate: None,
            measured,
            control: false,
            repetition: false,
            from: self.time(Instant::now()),
            until: None,
        }
    }

    /// Notes phases that end now.
    pub fn end_phases(&self, phases: impl IntoIterator<Item = PhaseFact>) {
        let until = Some(self.time(Instant::now()));
        for phase in phases {
            self.note_phase(&PhaseFact { until, ..phase });
        }
    }

    pub fn note_phase(&self, phase: &PhaseFact) {
        self.fact(&phase.name, phase);
    }
}

impl SharedRun {
    /// What a run does, with the options of its sessions, and the faults that its calls meet.
    pub fn new(
        run: &Run,
        mut options: SessionOptions,
        seed: u64,
        faults: Option<TimedInjector>,
        stream: EventStream,
        stop: Stop,
    ) -> Self {
        let scenario = run.scenario.clone();
        let strict = scenario.load.strict.then(Arc::<Strict>::default);
        if let Some(strict) = &strict {
            options.result_check = Some(result_check(strict, options.result_check.take()));
        }
        let faults = faults.map(Arc::new);
        if let Some(faults) = &faults {
            options.layer = Some(Arc::new(Faults(Arc::clone(faults))));
        }
        Self {
            server: run.server.clone(),
            options,
            faults,
            scenario,
            seed,
            tokens: Tokens::new(seed),
            stream,
            stop,
            processes: Mutex::default(),
            strict,
            gauges: Gauges::default(),
            slow_tools: Mutex::default(),
            controls: Mutex::default(),
            control_calls: AtomicU64::default(),
            sampled_replies: Mutex::default(),
            limited_tools: run.thresholds.tools.keys().cloned().collect(),
            sessions: AtomicU32::default(),
            era: OnceLock::new(),
            folder: OnceLock::new(),
            open: Mutex::default(),
        }
    }

    /// The time since the events began, as events have it.
    pub fn time(&self, instant: Instant) -> Duration {
        instant.saturating_duration_since(self.stream.started())
    }

    /// Where the paths of generated arguments lie.
    pub fn folder(&self) -> Result<&Path, &io::Error> {
        self.folder
            .get_or_init(|| Folder::create(self.seed))
            .as_ref()
            .map(Folder::path)
    }

    /// What may be called beside the tools that are named.
    pub fn allowance(&self) -> Allowance {
        Allowance {
            writes: self.scenario.load.allow_writes,
            names: Vec::new(),
        }
    }

    /// The tools that may be called, by themselves or because they are named.
    fn callable_tools(&self, tools: &[Tool]) -> Vec<String> {
        let allowance = self.allowance();
        let callable = tools.iter().filter(|tool| {
            let mut named = self.scenario.all_calls();
            named.any(|call| call.name == tool.name) || allowance.refusal(tool).is_none()
        });
        callable.map(|tool| tool.name.clone()).collect()
    }

    /// The tools that are not called because they may write; none where the tools are named.
    fn skipped_tools(&self, tools: &[Tool]) -> Vec<SkippedTool> {
        if self.scenario.names_tools() {
            return Vec::new();
        }
        let allowance = self.allowance();
        let skipped = tools.iter().filter_map(|tool| {
            Some(SkippedTool {
                name: tool.name.clone(),
                reason: allowance.refusal(tool)?.to_string(),
            })
        });
        skipped.collect()
    }

    /// When a call counts as hung.
    pub fn hang_limits(&self) -> HangLimits {
        self.options.hang_limits.unwrap_or_default()
    }

    /// Runs `work`, unless the run is asked to stop so hard meanwhile.
    pub async fn unless<T>(&self, level: StopLevel, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            output = work => Some(output),
            () = self.stop.requested(level) => None,
        }
    }

    /// Waits that long, or until the run is asked to stop.
    pub async fn pause(&self, time: Duration) {
        self.unless(StopLevel::Drain, tokio::time::sleep(time))
            .await;
    }

    /// Ends the sessions that are open, within the time for it: servers are given time after their input closes.
    pub async fn end_open(&self) {
        let open: Vec<Arc<Session>> = lock(&self.open).iter().filter_map(Weak::upgrade).collect();
        let open = open.iter().filter(|session| session.closed().is_none());
        tokio::select! {
            _ = futures_util::future::join_all(open.map(|session| session.end())) => {}
            () = self.stop.overdue(self.server.shutdown_timeout) => {}
        }
    }

    /// Resolves when calls under way had their time, once the run was asked to stop.
    pub async fn drained(&self) {
        self.stop.drained(self.server.shutdown_timeout).await;
    }

    /// Tells the live view how much is done of a scenario that counts steps.
    pub fn progress(&self, done: u32, total: u32) {
        let share = u64::from(done) * 1000 / u64::from(total.max(1));
        let share = u32::try_from(share).unwrap_or(1000);
        self.gauges.done_permille.store(share, Ordering::Relaxed);
    }
}
