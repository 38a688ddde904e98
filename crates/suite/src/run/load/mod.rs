//! A load, carried out by the load engine and judged as a test.
//!
//! Limits that were not kept and critical findings are failures. What a run cannot pass without and could
//! not be judged is an error that begins with "inconclusive". The run directory has all the rest.

mod judge;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use mcprove_client::server::Server;
use mcprove_load::config::{LoadConfig, OutputSettings};
use mcprove_load::drive::Scenario;
use mcprove_load::run::{Run, RunError};
use mcprove_servers::mock::{Kind, Listening};
use mcprove_settings::message::{Diagnostic, Spelling, sentence};
use mcprove_settings::secret::Redactor;

use super::Context;
use super::masking::masked;
use super::report::{TestKind, TestReport};
use super::{SuiteEvent, SuiteListener};
use crate::error::{TestError, fill_hint, last_lines, with_stderr};
use crate::plan::{self, FillError, LoadTestPlan, Reach, ServerPlan};

/// How many lines of what a server said last are told.
const STDERR_LINES_MAX: usize = 20;

/// Runs one test. Whatever goes wrong is in the report.
pub(crate) async fn run(
    test: &LoadTestPlan,
    context: Context<'_>,
    listener: &SuiteListener,
) -> TestReport {
    let mut report = TestReport::new(TestKind::Load, &test.head, context.plan);
    if let Err(error) = execute(test, context, listener, &mut report).await {
        report.errors.push(error.into());
        report.judge();
    }
    masked(report, &context.options.environment.redactor())
}

async fn execute(
    test: &LoadTestPlan,
    context: Context<'_>,
    listener: &SuiteListener,
    report: &mut TestReport,
) -> Result<(), TestError> {
    let Context { plan, options, .. } = context;
    let server = plan.servers.get(&test.server).ok_or_else(|| {
        TestError::new(
            format!("there is no server {:?}", test.server),
            sentence!("name one of those under `servers:`"),
        )
    })?;
    let mut config = test.config.clone();
    config.scenario.load.seed.get_or_insert(options.seed);
    let mut scenario = config.scenario.clone();
    for call in scenario.calls_mut() {
        let filled = options.environment.fill_value(&call.args);
        call.args = filled.map_err(|error| unfilled(&error))?;
    }
    let (reached, listening) = reach(server, context).await?;
    // What was filled in stays out of the file.
    config.server = match &server.reach {
        Reach::Server(server) => server.clone(),
        Reach::Mock { .. } => reached.clone(),
    };
    let run = engine(&config, reached, scenario, context, listener);
    let (ended, directory) = run.execute_and_keep().await;
    if let Some(listening) = listening {
        listening.shutdown().await;
    }
    match ended {
        Ok(found) => {
            judge::fill(report, &found);
            let path = directory.map(|directory| directory.path().display().to_string());
            report.details = path.map(|path| path.replace('\\', "/"));
        }
        Err(error) if options.stop.is_running() => return Err(unmade(&error, &test.server)),
        Err(_) => {
            report.errors = vec![judge::broken_off()];
            report.judge();
        }
    }
    Ok(())
}

/// The load engine, with all that the entry says; server and scenario are filled in.
fn engine(
    config: &LoadConfig,
    server: Server,
    scenario: Scenario,
    context: Context<'_>,
    listener: &SuiteListener,
) -> Run {
    // An entry may have a place of its own for its runs, unless the user says where they go.
    let is_own = config.output.report_dir != OutputSettings::default().report_dir
        && !context.options.is_output_dir_given;
    let output_dir = if is_own {
        &config.output.report_dir
    } else {
        &context.options.output_dir
    };
    let listener = Arc::clone(listener);
    let mut session = config.session.options();
    // Besides what the server is reached with, all that the suite takes from the environment.
    let secrets = context.options.environment.secrets();
    session.redactor = Some(Redactor::new(secrets).with_secrets(server.secrets()));
    let mut filled = config.clone();
    filled.scenario = scenario;
    filled.output.report_dir.clone_from(output_dir);
    filled
        .run(server, config)
        .with_session(session)
        .with_stop(context.options.stop.clone())
        .on_progress(Arc::new(move |progress| {
            listener(&SuiteEvent::Load(progress));
        }))
}

/// The server that the load is made on. A mock listens on an address of this machine meanwhile.
async fn reach(
    server: &ServerPlan,
    context: Context<'_>,
) -> Result<(Server, Option<Listening>), TestError> {
    match &server.reach {
        Reach::Server(plan) => {
            let server = context.options.environment.fill_server(plan);
            Ok((server.map_err(|error| unfilled(&error))?, None))
        }
        Reach::Mock { spec, faults } => {
            let mock = plan::mock((**spec).clone(), faults, context.options.seed)
                .map_err(|error| TestError::new(error.to_string(), "fix the file of the mock"))?;
            let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
            let listening = mock.listen(Kind::Http, address).await.map_err(|error| {
                let hint = "check that this machine lets programs listen on 127.0.0.1";
                TestError::new(error.to_string(), hint)
            })?;
            Ok((Server::http(listening.url()), Some(listening)))
        }
    }
}

fn unfilled(error: &FillError) -> TestError {
    TestError::new(error.to_string(), fill_hint(error, |_| "".into()))
}

fn unmade(error: &RunError, server: &str) -> TestError {
    let Diagnostic { message, hint } = error.diagnostic();
    let message = message.fixed(Spelling::Yaml);
    let message = match error {
        RunError::ServerStderr(said) => {
            let message = sentence!("the server `{server}` does not run");
            with_stderr(message, &last_lines(said, STDERR_LINES_MAX))
        }
        RunError::ServerStart(_) | RunError::ServerExit(_) | RunError::Handshake(_) => {
            sentence!("the server `{server}` does not run: {message}")
        }
        _ => message,
    };
    TestError::new(message, hint.unwrap_or_default().fixed(Spelling::Yaml))
}

#[cfg(test)]
mod tests;
