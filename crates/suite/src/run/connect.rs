//! Starting one server of a suite, with its variables filled in.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcprove_client::session::{CallError, ConnectError, Session};
use mcprove_client::transport::Failure;
use mcprove_fault::FaultSpec;
use mcprove_load::drive::{Stop, StopLevel};
use mcprove_servers::mock::{Mock, MockError, MockSpec};
use mcprove_settings::message::Spelling;
use mcprove_settings::own_limits::OwnLimit;
use mcprove_settings::quantity::describe_duration;
use mcprove_trace::ErrorCategory;
use mcprove_trace::protocol::Tool;
use mcprove_trace::stream::EventStream;

use super::declined::{Declined, Watching};
use super::servers::Connected;
use crate::error::{last_lines, with_stderr};
use crate::plan::{self, Environment, FillError, Reach, ServerPlan};
use mcprove_settings::sync::lock;

/// How much of what a server wrote to stderr is told.
const STDERR_LINES_MAX: usize = 10;

/// Why a server of a suite does not run. It is told to every test that needs the server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct StartError {
    /// What happened, with the end of the server's stderr.
    pub message: String,
    /// What to try.
    pub hint: String,
    /// Whether the run was broken off meanwhile, so that the server is not to blame.
    pub is_stopped: bool,
}

/// The tools that a server lists, or why it does not.
pub(crate) type Listed = Result<Vec<Tool>, CallError>;

/// Which server a session is with, where that makes a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    /// That of the sessions before.
    Same,
    /// One that nobody used before.
    New,
}

/// Starts, or reaches, one server of a suite, as often as sessions are needed. A mock counts its calls over
/// all of them.
pub(crate) struct Connector {
    plan: ServerPlan,
    environment: Environment,
    seed: u64,
    stop: Stop,
    mock: Mutex<Option<Mock>>,
    /// The events of all its sessions.
    stream: EventStream,
}

impl Connector {
    /// For this server.
    pub fn new(plan: &ServerPlan, environment: &Environment, seed: u64, stop: &Stop) -> Self {
        Self {
            plan: plan.clone(),
            environment: environment.clone(),
            seed,
            stop: stop.clone(),
            mock: Mutex::new(None),
            stream: EventStream::unobserved(),
        }
    }

    /// What this process ran out of while it talked to the server.
    pub(crate) fn own_limit(&self) -> Option<OwnLimit> {
        self.stream.limits().met()
    }

    /// The server as the suite has it.
    pub(crate) const fn plan(&self) -> &ServerPlan {
        &self.plan
    }

    /// A session with the server, and its tools. Where a new server is asked for, a mock counts from the
    /// beginning; a process is a new one in any case. The list of tools is given up after the limit. Ends
    /// when the run is broken off.
    pub(crate) async fn connect(
        &self,
        server: Which,
        limit: Option<Duration>,
    ) -> Result<Connected, StartError> {
        let connected = async {
            let (session, declined) = self.reach(server).await?;
            // The list also says how the tools want to be called.
            let tools = match limit {
                Some(limit) => tokio::time::timeout(limit, session.list_tools())
                    .await
                    .unwrap_or_else(|_| Err(endless(limit))),
                None => session.list_tools().await,
            };
            Ok(Connected::new(session, tools, declined))
        };
        tokio::select! {
            connected = connected => connected,
            () = self.stop.requested(StopLevel::Now) => Err(self.stopped()),
        }
    }

    async fn reach(&self, which: Which) -> Result<(Session, Arc<Declined>), StartError> {
        let mut options = self.plan.session.options();
        let declined = Arc::new(Declined::default());
        options.responder = Arc::new(Watching {
            inner: options.responder,
            declined: Arc::clone(&declined),
        });
        let recorder = self.stream.recorder();
        let session = match &self.plan.reach {
            Reach::Server(server) => {
                let server = self
                    .environment
                    .fill_server(server)
                    .map_err(|error| self.unset(&error))?;
                Session::connect_recorded(&server, options, recorder).await
            }
            Reach::Mock { spec, faults } => {
                let mock = self.mock(spec, faults, which).map_err(|error| {
                    self.failed(&error.to_string(), "fix the tools file of the mock".into())
                })?;
                let (output, input) = mock.spawn_in_memory();
                Session::connect_streams(output, input, options, recorder).await
            }
        };
        let session = session.map_err(|error| self.unreachable(&error))?;
        Ok((session, declined))
    }

    fn mock(&self, spec: &MockSpec, faults: &[FaultSpec], which: Which) -> Result<Mock, MockError> {
        let mut kept = lock(&self.mock);
        if let (Some(mock), Which::Same) = (&*kept, which) {
            return Ok(mock.clone());
        }
        let mock = plan::mock(spec.clone(), faults, self.seed)?;
        if which == Which::Same {
            *kept = Some(mock.clone());
        }
        Ok(mock)
    }

    fn unset(&self, error: &FillError) -> StartError {
        let hint = match error {
            FillError::Unset(name) => {
                format!("set {name} in the environment, or write ${{{name}:-a default}}")
            }
            FillError::Open(_) => "close it with `}`, or write `$${` for the characters".to_owned(),
        };
        self.failed(&error.to_string(), hint)
    }

    fn unreachable(&self, error: &ConnectError) -> StartError {
        let stderr = last_lines(error.stderr(), STDERR_LINES_MAX);
        let message = with_stderr(error.to_string(), &stderr);
        self.failed(&message, error.hint().spelled(Spelling::Yaml))
    }

    fn failed(&self, why: &str, hint: String) -> StartError {
        StartError {
            message: format!("the server `{}` does not run: {why}", self.plan.name),
            hint,
            is_stopped: false,
        }
    }

    fn stopped(&self) -> StartError {
        StartError {
            message: format!("interrupted while the server `{}` started", self.plan.name),
            hint: "run again to finish".to_owned(),
            is_stopped: true,
        }
    }
}

/// That the list of tools did not come in time.
fn endless(limit: Duration) -> CallError {
    let message = format!("no whole list within {}", describe_duration(limit));
    CallError::unsent(Failure::new(ErrorCategory::Timeout, message))
}
