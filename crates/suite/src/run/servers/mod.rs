//! The servers of a suite while it runs: started when the first test needs them, shared by those that
//! may, ended at the end.
//!
//! A test takes a [`Turn`] on its server, of which there are as many at once as the server allows, and
//! with it a [`Lease`] of a session. Most share one session, on which many calls are in flight. Whoever may
//! break the server (bad requests, or a call that went wrong in company and is made once more alone) gets
//! a session to itself. What hung, died or was broken is not given to anybody again.

mod lease;
use mcprove_load::run::Report;
use mcprove_score::coverage::CoverageReport;
use tokio::sync::{Mutex as AsyncMutex, Semaphore, SemaphorePermit};

use self::lease::{Company, Declined, Watching};
use super::coverage::ToolsSeen;
use crate::plan;
use crate::prelude::*;

pub(crate) use lease::Lease;

/// How often in a row a server that once ran may fail to start before nobody tries any more.
const FAILURES_MAX: u32 = 3;
/// How much of what a server wrote to stderr is told.
const STDERR_LINES_MAX: usize = 10;

/// The servers of a suite.
pub struct Servers {
    pools: BTreeMap<String, Pool>,
    options: SuiteOptions,
}

/// One server, and its sessions. A mock counts its calls over all of them.
pub struct Pool {
    /// The server as the suite has it.
    pub plan: ServerPlan,
    options: SuiteOptions,
    mock: Mutex<Option<Mock>>,
    /// The events of all its sessions.
    stream: EventStream,
    turns: Semaphore,
    /// The session that tests share.
    current: AsyncMutex<Option<Arc<Connected>>>,
    past: Mutex<Past>,
    /// Sessions that nobody uses, for those who want one to themselves.
    idle: Mutex<Vec<Arc<Connected>>>,
    /// What is known of how it answers `ping`.
    pub pulse: Arc<Pulse>,
    /// Its tools, and which of them were called.
    pub seen: Mutex<ToolsSeen>,
}

/// How starting the server went so far.
#[derive(Default)]
struct Past {
    has_run: bool,
    failures: u32,
    failure: Option<Diagnostic>,
}

/// The tools that a server lists, or why it does not.
type Listed = Result<Vec<Tool>, CallError>;

/// A session, and the tools that its server lists.
pub struct Connected {
    session: Arc<Session>,
    pub tools: Listed,
    /// What the server asked for and did not get.
    declined: Arc<Declined>,
    /// What a reader of every test should know of the session.
    remarks: Vec<String>,
    company: Mutex<Company>,
}

/// The right of one test to use a server.
pub struct Turn<'a> {
    pub pool: &'a Pool,
    /// A server that does not list its tools in this time goes without a list.
    list_timeout: Duration,
    _permit: Option<SemaphorePermit<'a>>,
}

impl Servers {
    /// The servers of this suite. None is started yet.
    pub fn new(plan: &SuitePlan, options: &SuiteOptions) -> Self {
        let pools = plan.servers.iter();
        Self {
            pools: pools
                .map(|(name, plan)| (name.clone(), Pool::new(plan.clone(), options.clone())))
                .collect(),
            options: options.clone(),
        }
    }

    /// Waits until one more test may use the server of this name; none if there is no such server.
    pub async fn turn(&self, server: &str, list_timeout: Duration) -> Option<Turn<'_>> {
        let pool = self.pools.get(server)?;
        Some(Turn {
            pool,
            list_timeout,
            // It is never closed.
            _permit: pool.turns.acquire().await.ok(),
        })
    }

    /// Notes what a load called on the server of this name.
    pub fn note_load(&self, server: &str, found: &Report) {
        if let Some(pool) = self.pools.get(server) {
            lock(&pool.seen).add_load(found);
        }
    }

    /// Which tools of the server of this name were called; none if it did not list them.
    pub fn coverage(&self, server: &str) -> Option<CoverageReport> {
        lock(&self.pools.get(server)?.seen).coverage()
    }

    /// Ends every server: in an orderly way, all at once. Once the run was asked to stop, they have until
    /// `shutdown` after that.
    pub async fn close(&self, shutdown: Duration) {
        let mut sessions = Vec::new();
        for pool in self.pools.values() {
            sessions.extend(pool.current.lock().await.take());
            sessions.append(&mut lock(&pool.idle));
        }
        tokio::select! {
            _ = join_all(sessions.iter().map(|it| it.session.end())) => {}
            // Whoever breaks off does not wait: what is left ends when it is dropped.
            () = self.options.stop.overdue(shutdown) => {}
        }
    }
}

impl Pool {
    fn new(plan: ServerPlan, options: SuiteOptions) -> Self {
        let parallel = plan.parallel as usize;
        Self {
            plan,
            options,
            mock: Mutex::default(),
            stream: EventStream::unobserved(),
            turns: Semaphore::new(parallel.clamp(1, Semaphore::MAX_PERMITS)),
            current: AsyncMutex::default(),
            past: Mutex::default(),
            idle: Mutex::default(),
            pulse: Arc::default(),
            seen: Mutex::default(),
        }
    }

    /// What this process ran out of while it talked to the server.
    pub fn own_limit(&self) -> Option<OwnLimit> {
        self.stream.limits().met()
    }

    /// Starts one more session, unless that has failed too often. Ends when the run is broken off.
    async fn start(&self, list_timeout: Duration) -> DiagnosticResult<Arc<Connected>> {
        if let Some(failure) = &lock(&self.past).failure {
            return Err(failure.clone());
        }
        let stop = &self.options.stop;
        let started = tokio::select! {
            connected = self.connect(list_timeout) => connected,
            () = stop.requested(StopLevel::Now) => {
                let message = sentence!("interrupted while the server `{}` started", self.plan.name);
                Err(Diagnostic::new(message, "run again to finish"))
            }
        };
        let mut past = lock(&self.past);
        match &started {
            Ok(_) => {
                past.has_run = true;
                past.failures = 0;
            }
            Err(error) if stop.is_running() => {
                past.failures += 1;
                if !past.has_run || past.failures >= FAILURES_MAX {
                    past.failure = Some(error.clone());
                }
            }
            // Then the server is not to blame.
            Err(_) => {}
        }
        started
    }

    /// A session with the server, and its tools.
    async fn connect(&self, list_timeout: Duration) -> DiagnosticResult<Arc<Connected>> {
        let mut options = self.plan.session.options();
        let declined = Arc::new(Declined::default());
        options.responder = Arc::new(Watching {
            inner: options.responder,
            declined: Arc::clone(&declined),
        });
        let recorder = self.stream.recorder();
        let session = match &self.plan.reach {
            Reach::Server(server) => {
                let server = self.options.environment.fill_server(server);
                let server =
                    server.map_err(|error| self.failed(error.to_string(), error.hint()))?;
                Session::connect_recorded(&server, options, recorder).await
            }
            Reach::Mock { spec, faults } => {
                let (output, input) = self.mock(spec, faults)?.spawn_in_memory();
                Session::connect_streams(output, input, options, recorder).await
            }
        };
        let session = session.map_err(|error| {
            let stderr = last_lines(error.stderr(), STDERR_LINES_MAX);
            let message = with_stderr(error.message(), &stderr);
            self.failed(message, error.hint().fixed(Spelling::Yaml))
        })?;
        // The list also says how the tools want to be called.
        let tools = tokio::time::timeout(list_timeout, session.list_tools())
            .await
            .unwrap_or_else(|_| {
                let message = format!("no whole list within {}", describe_duration(list_timeout));
                Err(CallError::unsent(Failure::new(
                    ErrorCategory::Timeout,
                    message,
                )))
            });
        if let Ok(tools) = &tools {
            lock(&self.seen).list(tools);
        }
        Ok(Arc::new(Connected {
            remarks: lease::remarks_of_opening(&session, &tools),
            session: Arc::new(session),
            tools,
            declined,
            company: Mutex::default(),
        }))
    }

    /// The mock: that of the sessions before, unless each test gets one that nobody used.
    fn mock(&self, spec: &MockSpec, faults: &[FaultSpec]) -> DiagnosticResult<Mock> {
        let mut kept = lock(&self.mock);
        if let Some(mock) = kept.as_ref().filter(|_| !self.plan.is_fresh) {
            return Ok(mock.clone());
        }
        let mock = plan::mock(&self.plan.name, spec.clone(), faults, self.options.seed)?;
        Ok(kept.insert(mock).clone())
    }

    fn failed(&self, why: impl Into<Message>, hint: impl Into<Message>) -> Diagnostic {
        let (name, why) = (&self.plan.name, why.into());
        Diagnostic::new(sentence!("the server `{name}` does not run: {why}"), hint)
    }
}

impl Connected {
    fn is_fit(&self) -> bool {
        self.session.closed().is_none() && !lock(&self.company).is_spoilt
    }
}

impl<'a> Turn<'a> {
    /// The session that tests share; one of a server that was just started, where each test gets its own.
    pub async fn session(&self) -> DiagnosticResult<Lease<'a>> {
        if self.pool.plan.is_fresh {
            let connected = self.pool.start(self.list_timeout).await?;
            return Ok(Lease::new(self.pool, connected, false));
        }
        let mut current = self.pool.current.lock().await;
        // Those who still use one that is not fit keep it; else it ends here.
        let connected = match current.take().filter(|it| it.is_fit()) {
            Some(connected) => connected,
            None => self.pool.start(self.list_timeout).await?,
        };
        *current = Some(Arc::clone(&connected));
        Ok(Lease::new(self.pool, connected, true))
    }

    /// A session that no other test uses meanwhile.
    pub async fn own_session(&self) -> DiagnosticResult<Lease<'a>> {
        let plan = &self.pool.plan;
        if plan.is_fresh || plan.parallel <= 1 {
            return self.session().await;
        }
        let idle = std::iter::from_fn(|| lock(&self.pool.idle).pop()).find(|it| it.is_fit());
        let connected = match idle {
            Some(connected) => connected,
            None => self.pool.start(self.list_timeout).await?,
        };
        Ok(Lease::new(self.pool, connected, false))
    }
}

#[cfg(test)]
mod tests;
