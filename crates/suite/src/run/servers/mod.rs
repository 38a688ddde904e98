//! The servers of a suite while it runs: started when the first test needs them, shared by those that
//! may, ended at the end.
//!
//! A test takes a [`Turn`] on its server, of which there are as many at once as the server allows, and
//! with it a [`Lease`] of a session. Most share one session, on which many calls are in flight. Whoever may
//! break the server (bad requests, or a call that went wrong in company and is made once more alone) gets
//! a session to itself. What hung, died or was broken is not given to anybody again.

mod lease;
mod remarks;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mcprove_check::pulse::Pulse;
use mcprove_client::session::Session;
use mcprove_load::drive::Stop;
use mcprove_settings::own_limits::OwnLimit;
use tokio::sync::{Mutex, Semaphore, SemaphorePermit};

use super::connect::{Connector, Listed, StartError, Which};
use super::context::SuiteOptions;
use super::declined::Declined;
use crate::plan::SuitePlan;
use mcprove_settings::sync::lock;

pub use lease::Lease;

/// How often in a row a server that once ran may fail to start before nobody tries any more.
const FAILURES_MAX: u32 = 3;

/// The servers of a suite.
pub(crate) struct Servers {
    pools: BTreeMap<String, Pool>,
    stop: Stop,
}

/// The sessions of one server.
struct Pool {
    connector: Connector,
    turns: Semaphore,
    /// The session that tests share.
    current: Mutex<Option<Arc<Connected>>>,
    past: std::sync::Mutex<Past>,
    /// Sessions that nobody uses, for those who want one to themselves.
    idle: std::sync::Mutex<Vec<Arc<Connected>>>,
    /// What is known of how it answers `ping`.
    pulse: Arc<Pulse>,
}

/// How starting the server went so far.
#[derive(Default)]
struct Past {
    has_run: bool,
    failures: u32,
    failure: Option<StartError>,
}

/// A session, and the tools that its server lists.
pub(crate) struct Connected {
    pub(crate) session: Arc<Session>,
    pub(crate) tools: Listed,
    /// What the server asked for and did not get.
    declined: Arc<Declined>,
    /// What a reader of every test should know of the session.
    remarks: Vec<String>,
    company: lease::Company,
}

/// The right of one test to use a server.
pub(crate) struct Turn<'a> {
    pool: &'a Pool,
    /// How long a server may take to list its tools.
    limit: Option<Duration>,
    _permit: Option<SemaphorePermit<'a>>,
}

impl Servers {
    /// The servers of this suite. None is started yet.
    pub(crate) fn new(plan: &SuitePlan, options: &SuiteOptions) -> Self {
        let pool = |plan| {
            let connector = Connector::new(plan, &options.environment, options.seed, &options.stop);
            Pool::new(connector)
        };
        let pools = plan.servers.iter();
        Self {
            pools: pools
                .map(|(name, plan)| (name.clone(), pool(plan)))
                .collect(),
            stop: options.stop.clone(),
        }
    }

    /// Waits until one more test may use the server of this name; none if there is no such server.
    pub(crate) async fn turn(&self, server: &str) -> Option<Turn<'_>> {
        let pool = self.pools.get(server)?;
        // It is never closed.
        let permit = pool.turns.acquire().await.ok();
        Some(Turn {
            pool,
            limit: None,
            _permit: permit,
        })
    }

    /// The names of all servers.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.pools.keys().map(String::as_str)
    }

    /// Ends every server: in an orderly way, all at once. Once the run was asked to stop, they have until
    /// `shutdown` after that.
    pub(crate) async fn close(&self, shutdown: Duration) {
        let mut endings = tokio::task::JoinSet::new();
        for pool in self.pools.values() {
            let current = pool.current.lock().await.take();
            let idle = std::mem::take(&mut *lock(&pool.idle));
            for connected in current.into_iter().chain(idle) {
                endings.spawn(async move {
                    connected.session.end().await;
                });
            }
        }
        tokio::select! {
            () = async { while endings.join_next().await.is_some() {} } => {}
            // Whoever breaks off does not wait: what is left ends when it is dropped.
            () = self.stop.overdue(shutdown) => {}
        }
    }
}

impl Pool {
    fn new(connector: Connector) -> Self {
        let parallel = usize::try_from(connector.plan().parallel).unwrap_or(usize::MAX);
        Self {
            turns: Semaphore::new(parallel.clamp(1, Semaphore::MAX_PERMITS)),
            connector,
            current: Mutex::default(),
            past: std::sync::Mutex::default(),
            idle: std::sync::Mutex::default(),
            pulse: Arc::default(),
        }
    }

    /// The session that all share, started by the first who asks.
    async fn shared(&self, limit: Option<Duration>) -> Result<Arc<Connected>, StartError> {
        let mut current = self.current.lock().await;
        if let Some(connected) = &*current
            && connected.is_fit()
        {
            return Ok(Arc::clone(connected));
        }
        // Those who still use it keep it; else it ends here.
        *current = None;
        let connected = self.start(Which::Same, limit).await?;
        *current = Some(Arc::clone(&connected));
        Ok(connected)
    }

    /// A session that nobody else uses.
    async fn alone(
        &self,
        which: Which,
        limit: Option<Duration>,
    ) -> Result<Arc<Connected>, StartError> {
        let idle = std::iter::from_fn(|| lock(&self.idle).pop()).find(|it| it.is_fit());
        match idle {
            Some(connected) => Ok(connected),
            None => self.start(which, limit).await,
        }
    }

    /// Starts one more, unless that has failed too often.
    async fn start(
        &self,
        which: Which,
        limit: Option<Duration>,
    ) -> Result<Arc<Connected>, StartError> {
        if let Some(failure) = &lock(&self.past).failure {
            return Err(failure.clone());
        }
        let started = self.connector.connect(which, limit).await;
        let mut past = lock(&self.past);
        match started {
            Ok(connected) => {
                past.has_run = true;
                past.failures = 0;
                Ok(Arc::new(connected))
            }
            Err(error) => {
                if !error.is_stopped {
                    past.failures += 1;
                    if !past.has_run || past.failures >= FAILURES_MAX {
                        past.failure = Some(error.clone());
                    }
                }
                Err(error)
            }
        }
    }
}

impl Connected {
    /// A session that was just opened.
    pub(super) fn new(session: Session, tools: Listed, declined: Arc<Declined>) -> Self {
        Self {
            remarks: remarks::of_opening(&session, &tools),
            session: Arc::new(session),
            tools,
            declined,
            company: lease::Company::default(),
        }
    }

    fn is_fit(&self) -> bool {
        self.session.closed().is_none() && !self.company.is_spoilt()
    }
}

impl<'a> Turn<'a> {
    /// The server as the suite has it.
    pub fn plan(&self) -> &'a crate::plan::ServerPlan {
        self.pool.connector.plan()
    }

    /// What this process ran out of while it talked to the server.
    pub(crate) fn own_limit(&self) -> Option<OwnLimit> {
        self.pool.connector.own_limit()
    }

    /// What is known of how the server answers `ping`.
    pub(crate) fn pulse(&self) -> Arc<Pulse> {
        Arc::clone(&self.pool.pulse)
    }

    /// The same, where a server that does not list its tools in this time goes without a list.
    pub(crate) const fn within(mut self, limit: Duration) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Whether other tests may use the same session meanwhile.
    fn is_in_company(&self) -> bool {
        let plan = self.plan();
        !plan.is_fresh && plan.parallel > 1
    }

    /// The session that tests share; one of a server that was just started, where each test gets its own.
    pub(crate) async fn session(&self) -> Result<Lease<'a>, StartError> {
        if self.plan().is_fresh {
            let connected = self.pool.alone(Which::New, self.limit).await?;
            return Ok(Lease::new(self.pool, connected, lease::Afterwards::End));
        }
        let connected = self.pool.shared(self.limit).await?;
        Ok(Lease::new(self.pool, connected, lease::Afterwards::Keep))
    }

    /// A session that no other test uses meanwhile.
    pub(crate) async fn own_session(&self) -> Result<Lease<'a>, StartError> {
        if !self.is_in_company() {
            return self.session().await;
        }
        let connected = self.pool.alone(Which::Same, self.limit).await?;
        Ok(Lease::new(self.pool, connected, lease::Afterwards::PutBack))
    }
}

#[cfg(test)]
mod tests;
