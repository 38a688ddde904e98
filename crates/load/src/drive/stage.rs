//! What every scenario works with: the server, how to talk to it, where events go, when to stop.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use mcprove_arguments::Folder;
use mcprove_client::permission::{Allowance, SkippedTool};
use mcprove_client::server::Server;
use mcprove_client::session::{ConnectError, Session, SessionOptions};
use mcprove_fault::TimedInjector;
use mcprove_settings::quantity::describe_duration;
use mcprove_trace::hang::HangLimits;
use mcprove_trace::protocol::Tool;
use mcprove_trace::stream::{EventStream, Recorder};
use serde_json::{Value, json};

use super::definition::Scenario;
use super::error::StageError;
use super::mix::{check_faulted, check_faulted_server, check_limited};
use super::stop::{Stop, StopLevel};
use super::strict::{Strict, result_check};
use super::token::Tokens;
use super::worker::Tally;
use crate::faulty::FaultLayer;

/// Notes a server that did not exit when its input closed, with how long it had.
pub(crate) const STAYED: &str = "stayed";

/// What a scenario works with.
pub(crate) struct Stage {
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
    /// The processes of the server, for the sampler.
    pub processes: Processes,
    /// What strict mode checks, where it is on.
    pub strict: Option<Arc<Strict>>,
    /// What the live view shows.
    pub gauges: Gauges,
    /// Tools too slow to be called alone after the load.
    pub slow_tools: SlowTools,
    /// The tools that have limits of their own.
    limited_tools: Vec<String>,
    sessions: AtomicU32,
    /// Where the paths of generated arguments lie; made when the first is wanted.
    folder: OnceLock<io::Result<Folder>>,
    /// The sessions that may be open.
    open: Mutex<Vec<Weak<Session>>>,
}

/// What the live view shows and no event tells.
#[derive(Debug, Default)]
pub(crate) struct Gauges {
    /// The place of the phase that is on; past the last when the load is over.
    pub place: AtomicU32,
    /// Whether the load is over, so that nothing is begun for it any more.
    pub is_over: AtomicBool,
    /// When the load is to end, in milliseconds since the events began; 0 while not known.
    pub ends_at_ms: AtomicU64,
    /// The share of a scenario without a fixed end that is done, in thousandths.
    pub done_permille: AtomicU32,
    /// What each driver of a load counts.
    tallies: Mutex<Vec<Arc<Tally>>>,
}

impl Gauges {
    /// Lets the live view see what a driver counts.
    pub fn show_tally(&self, tally: &Arc<Tally>) {
        self.lock_tallies().push(Arc::clone(tally));
    }

    /// Calls that ended so far; none where no driver counts them.
    pub fn ended(&self) -> Option<u64> {
        let tallies = self.lock_tallies();
        let ended = tallies.iter().map(|tally| tally.ended_in_all()).sum();
        (!tallies.is_empty()).then_some(ended)
    }

    /// Calls under way.
    pub fn in_flight(&self) -> u64 {
        let tallies = self.lock_tallies();
        tallies.iter().map(|tally| tally.in_flight()).sum()
    }

    fn lock_tallies(&self) -> std::sync::MutexGuard<'_, Vec<Arc<Tally>>> {
        self.tallies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tools that took long, known by all drivers. Whoever adds to them has just waited long, so that
/// the lock is rarely taken.
#[derive(Debug, Default)]
pub(crate) struct SlowTools {
    names: Mutex<BTreeSet<String>>,
}

impl SlowTools {
    /// Notes a tool.
    pub fn add(&self, tool: &str) {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if !names.contains(tool) {
            names.insert(tool.to_owned());
        }
    }

    /// All of them.
    pub fn names(&self) -> BTreeSet<String> {
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.clone()
    }
}

/// The server processes that are alive, by the session that they belong to.
#[derive(Debug, Default)]
pub(crate) struct Processes {
    roots: Mutex<BTreeMap<u32, u32>>,
}

impl Processes {
    /// Notes the process of a session.
    pub fn add(&self, session: u32, process: u32) {
        self.lock().insert(session, process);
    }

    /// Forgets the process of a session.
    pub fn remove(&self, session: u32) {
        self.lock().remove(&session);
    }

    /// All of them.
    pub fn roots(&self) -> Vec<u32> {
        self.lock().values().copied().collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<u32, u32>> {
        self.roots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A session that is part of a run: known by its number, its process watched while it lives.
pub(crate) struct Connection {
    /// The session.
    pub session: Arc<Session>,
    /// Its number in events.
    pub number: u32,
    stage: Arc<Stage>,
}

impl Connection {
    /// Ends the session in an orderly way.
    pub async fn end(&self) {
        self.look_away();
        let closing = self.session.end().await;
        // One that hangs in a call does not exit because of that, which has a verdict of its own.
        if closing.forced && !self.session.has_unanswered() {
            let timeout = describe_duration(self.stage.server.shutdown_timeout);
            self.stage
                .stream
                .recorder()
                .note(STAYED, &timeout, &json!({}));
        }
    }

    /// Ends the server's process at once, where the session started it.
    pub fn kill(&self) {
        self.look_away();
        self.session.kill();
    }

    /// A process that gives back its memory as it ends says nothing about the server.
    fn look_away(&self) {
        self.stage.processes.remove(self.number);
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.look_away();
    }
}

impl Stage {
    /// Sets the stage.
    pub fn new(
        server: Server,
        mut options: SessionOptions,
        scenario: Scenario,
        seed: u64,
        stream: EventStream,
        stop: Stop,
        limited_tools: Vec<String>,
    ) -> Self {
        let strict = scenario.load.strict.then(Arc::<Strict>::default);
        if let Some(strict) = &strict {
            options.result_check = Some(result_check(strict, options.result_check.take()));
        }
        Self {
            server,
            options,
            faults: None,
            scenario,
            seed,
            tokens: Tokens::new(seed),
            stream,
            stop,
            processes: Processes::default(),
            strict,
            gauges: Gauges::default(),
            slow_tools: SlowTools::default(),
            limited_tools,
            sessions: AtomicU32::new(0),
            folder: OnceLock::new(),
            open: Mutex::default(),
        }
    }

    /// Lets calls meet faults.
    pub fn with_faults(mut self, faults: TimedInjector) -> Self {
        let faults = Arc::new(faults);
        self.options.layer = Some(Arc::new(FaultLayer(Arc::clone(&faults))));
        self.faults = Some(faults);
        self
    }

    /// Starts or reaches the server once more.
    pub async fn connect(
        self: &Arc<Self>,
        recorder: &Arc<Recorder>,
    ) -> Result<Connection, ConnectError> {
        self.connect_with(recorder, |_| {}).await
    }

    /// [`Stage::connect`] with options of its own.
    pub async fn connect_with(
        self: &Arc<Self>,
        recorder: &Arc<Recorder>,
        adjust: impl FnOnce(&mut SessionOptions),
    ) -> Result<Connection, ConnectError> {
        let number = self.sessions.fetch_add(1, Ordering::Relaxed);
        let mut options = self.options.clone();
        options.session_number = number;
        adjust(&mut options);
        let session =
            Session::connect_recorded(&self.server, options, Arc::clone(recorder)).await?;
        if let Some(process) = session.process() {
            self.processes.add(number, process);
        }
        if let Some(faults) = &self.faults {
            faults.name_server(&session.facts().implementation.name);
        }
        if number == 0 {
            self.introduce(recorder, &session);
        }
        let session = Arc::new(session);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|session| session.strong_count() > 0);
        open.push(Arc::downgrade(&session));
        drop(open);
        Ok(Connection {
            session,
            number,
            stage: Arc::clone(self),
        })
    }

    /// Notes who the server is.
    fn introduce(&self, recorder: &Recorder, session: &Session) {
        let facts = session.facts();
        recorder.note(
            "server",
            &facts.implementation.name,
            &json!({
                "target": self.server.describe(),
                "name": facts.implementation.name,
                "version": facts.implementation.version,
                "protocol": facts.revision.to_string(),
                "transport": session.transport(),
                "startup_secs": facts.startup.as_secs_f64(),
            }),
        );
    }

    /// Lists the tools, and notes them for the coverage. A limit for a tool that is not among
    /// them is a mistake.
    pub async fn list_tools(
        &self,
        recorder: &Recorder,
        session: &Session,
    ) -> Result<Vec<Tool>, StageError> {
        let tools = session.list_tools().await?;
        if let Some(strict) = &self.strict {
            strict.learn(&tools, session.facts().revision);
        }
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        recorder.note(
            "tools",
            &format!("{} tools", names.len()),
            &json!({ "names": names, "skipped": self.skipped_tools(&tools) }),
        );
        for name in &self.limited_tools {
            check_limited(&tools, name)?;
        }
        let targets = || self.faults.iter().flat_map(|faults| faults.targets());
        for name in targets().filter_map(|target| target.tool.as_deref()) {
            check_faulted(&tools, name)?;
        }
        let known = &session.facts().implementation.name;
        for name in targets().filter_map(|target| target.server.as_deref()) {
            check_faulted_server(known, name)?;
        }
        Ok(tools)
    }

    /// Where the paths of generated arguments lie.
    pub fn folder(&self) -> Result<&Path, &io::Error> {
        let folder = self.folder.get_or_init(|| Folder::create(self.seed));
        folder.as_ref().map(Folder::path)
    }

    /// What may be called beside the tools that are named.
    pub fn allowance(&self) -> Allowance {
        Allowance {
            writes: self.scenario.load.allow_writes,
            names: Vec::new(),
        }
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

    /// Runs `work`, unless the run is stopped at once meanwhile.
    pub async fn unless_stopped<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            output = work => Some(output),
            () = self.stop.requested(StopLevel::Now) => None,
        }
    }

    /// Ends the sessions that are open, within the time for it: servers are given time after their input closes.
    pub async fn end_open(&self) {
        let open: Vec<Arc<Session>> = {
            let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.iter().filter_map(Weak::upgrade).collect()
        };
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

    /// Runs `work`, unless the run is asked to stop meanwhile, however gently: for what measures
    /// nothing.
    pub async fn unless_draining<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            output = work => Some(output),
            () = self.stop.requested(StopLevel::Drain) => None,
        }
    }

    /// Tells the live view how much is done of a scenario that counts steps.
    pub fn progress(&self, done: u32, total: u32) {
        let share = u64::from(done) * 1000 / u64::from(total.max(1));
        self.gauges
            .done_permille
            .store(u32::try_from(share).unwrap_or(1000), Ordering::Relaxed);
    }
}

/// A phase as it is noted: by it a report knows what its calls are.
pub(crate) struct PhaseNote<'a> {
    /// The number in the calls' events.
    pub index: u16,
    /// Its name.
    pub name: &'a str,
    /// Calls in flight.
    pub concurrent: u32,
    /// Calls per second, in the open model.
    pub rate: Option<f64>,
    /// Whether its calls count.
    pub measured: bool,
    /// When it began and ended, since the events began; the end is not known for all.
    pub from: Duration,
    /// When it ended.
    pub until: Option<Duration>,
}

impl PhaseNote<'_> {
    /// Notes the phase, whose calls carry its number.
    pub fn note(&self, recorder: &Recorder) {
        recorder.note("phase", self.name, &self.to_json());
    }

    fn to_json(&self) -> Value {
        json!({
            "index": self.index,
            "name": self.name,
            "concurrent": self.concurrent,
            "rate": self.rate,
            "measured": self.measured,
            "from_secs": self.from.as_secs_f64(),
            "until_secs": self.until.map(|until| until.as_secs_f64()),
        })
    }
}

/// Notes two kinds of calls that took turns since `from`, one at a time: number, name, whether they
/// count.
pub(crate) fn note_steps(
    stage: &Stage,
    recorder: &Recorder,
    from: Duration,
    kinds: [(u16, &str, bool); 2],
) {
    let until = Some(since_start(&stage.stream, Instant::now()));
    for (index, name, measured) in kinds {
        PhaseNote {
            index,
            name,
            concurrent: 1,
            rate: None,
            measured,
            from,
            until,
        }
        .note(recorder);
    }
}

/// The time since the events began, as events have it.
pub(crate) fn since_start(stream: &EventStream, instant: Instant) -> Duration {
    instant.saturating_duration_since(stream.started())
}

/// Notes what the server did on `session` that the protocol does not allow.
pub(crate) fn note_violations(recorder: &Recorder, session: &Session) {
    let violations = session.violations();
    for (kind, count) in &violations.counts {
        let example = violations
            .first
            .iter()
            .find(|violation| violation.kind == *kind)
            .map_or("", |violation| violation.message.as_str());
        recorder.note(
            "violation",
            kind.explanation(),
            &json!({ "kind": kind, "count": count, "example": example }),
        );
    }
}
