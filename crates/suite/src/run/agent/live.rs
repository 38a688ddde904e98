//! The runs of a test, made: with a model over the network, or with a process of the user, and with real servers.

use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::{StreamExt as _, stream};
use mcprove_load::drive::StopLevel;

use super::gathered::{Breakage, LiveRun, Outcome, gather};
use super::{AgentContext, AgentRuns, AgentRunsError, error, mock_faults, replay, seed_of};
use crate::agent::cassette::{Recorder, Take, Variables};
use crate::agent::command::{self, CommandContext};
use crate::agent::live_toolbox::LiveToolbox;
use crate::agent::model::ModelWire;
use crate::agent::run::{fill_texts, run_once};
use crate::agent::toolbox::Toolbox as _;
use crate::agent::wire::LiveWire;
use crate::error::SET_VARIABLE;
use crate::plan::{AgentTestPlan, CommandPlan, Driver, Environment, ModelPlan, ServerPlan};

/// How many runs are made at once where no server says otherwise.
const TOGETHER: usize = 8;

/// What all runs of a test are made with.
struct Live<'a> {
    test: &'a AgentTestPlan,
    /// The test with its texts filled in.
    filled: &'a AgentTestPlan,
    servers: &'a [&'a ServerPlan],
    context: AgentContext<'a>,
    environment: &'a Environment,
    /// Whether a run broke, so that no further one is begun.
    is_broken: AtomicBool,
}

/// Makes all runs, several at once where the servers allow it.
pub(super) async fn make(
    test: &AgentTestPlan,
    context: AgentContext<'_>,
    is_recorded: bool,
) -> Result<AgentRuns, AgentRunsError> {
    let options = context.options;
    let variables = Variables::default();
    let environment = variables.watch(&options.environment);
    let filled = fill_texts(test, &environment)
        .map_err(|error| AgentRunsError::new(error.to_string(), SET_VARIABLE))?;
    let found = servers_of(test, context)?;
    let servers: Vec<&ServerPlan> = found.iter().collect();
    let live = Live {
        test,
        filled: &filled,
        servers: &servers,
        context,
        environment: &options.environment,
        is_broken: AtomicBool::new(false),
    };
    let wire = match &test.driver {
        Driver::Model(model) => Some(LiveWire::new(model, &options.environment)?),
        Driver::Command(_) => None,
    };
    let wire = wire.as_ref().map(|wire| wire as &dyn ModelWire);
    let runs = usize::try_from(test.runs).unwrap_or(usize::MAX);
    let outcomes: Vec<_> = stream::iter(0..runs)
        .map(|index| live.run(index, wire))
        .buffered(together(&servers))
        .collect()
        .await;
    let tests = (test, &filled);
    let made = gather(outcomes, tests, context, &variables, is_recorded);
    Ok(as_replayed(made, test, context).await)
}

/// What was recorded, as a replay will see it: where a text of ours has a word that is a secret, that is not what was
/// seen now.
async fn as_replayed(
    mut made: AgentRuns,
    test: &AgentTestPlan,
    context: AgentContext<'_>,
) -> AgentRuns {
    let Some(tape) = &made.tape else {
        return made;
    };
    let failed: Vec<String> = match replay::replay(test, context.plan, tape).await {
        Ok(replayed) if replayed.errors.is_empty() => {
            made.trace.runs = replayed.trace.runs;
            return made;
        }
        Ok(replayed) => replayed.errors.into_iter().map(|it| it.message).collect(),
        Err(failed) => vec![failed.message],
    };
    let told = failed
        .iter()
        .map(|why| format!("the recording cannot be replayed: {why}"));
    if let Some(first) = made.notes.first_mut() {
        first.extend(told);
    }
    made
}

fn servers_of(
    test: &AgentTestPlan,
    context: AgentContext<'_>,
) -> Result<Vec<ServerPlan>, AgentRunsError> {
    let servers = test.servers.iter().map(|name| {
        let server = context
            .plan
            .servers
            .get(name)
            .map(|server| mock_faults::as_found_by(&test.driver, server));
        server.ok_or_else(|| {
            AgentRunsError::new(
                format!("the suite has no server {name:?}"),
                "name one that stands under `servers`",
            )
        })
    });
    servers.collect()
}

/// How many runs are made at once.
fn together(servers: &[&ServerPlan]) -> usize {
    let limits = servers.iter().map(|server| server.parallel);
    let least = limits.filter_map(|limit| usize::try_from(limit).ok()).min();
    least.unwrap_or(TOGETHER).clamp(1, TOGETHER)
}

impl Live<'_> {
    /// Makes one run. Those that are begun come before those that are not.
    async fn run(&self, index: usize, wire: Option<&dyn ModelWire>) -> Outcome {
        let stop = &self.context.options.stop;
        if self.is_broken.load(Ordering::Relaxed) || !stop.is_running() {
            return Outcome::NotBegun;
        }
        let made = async {
            match (&self.test.driver, wire) {
                (Driver::Model(model), Some(wire)) => self.ask(model, wire, index).await,
                (Driver::Command(command), _) => self.start(command, index).await,
                (Driver::Model(_), None) => {
                    Err(AgentRunsError::new("there is no way to the model", "").into())
                }
            }
        };
        let made = tokio::select! {
            made = made => made,
            // A run takes minutes and money: it ends with its processes, and is not waited for.
            () = stop.requested(StopLevel::Drain) => return Outcome::Interrupted,
        };
        match made {
            Ok(run) => Outcome::Done(Box::new(run)),
            Err(mut broken) => {
                self.is_broken.store(true, Ordering::Relaxed);
                let run = broken.run(self.filled);
                let AgentRunsError { message, hint } = broken.error;
                let message = if self.test.runs > 1 {
                    format!("run {index}: {message}")
                } else {
                    message
                };
                let error = error(index, message, hint);
                Outcome::Broken { run, error }
            }
        }
    }

    fn seed(&self, index: usize) -> u64 {
        seed_of(self.context.options.seed, index)
    }

    /// A run of our own loop.
    async fn ask(
        &self,
        model: &ModelPlan,
        wire: &dyn ModelWire,
        index: usize,
    ) -> Result<LiveRun, Breakage> {
        let seed = self.seed(index);
        let toolbox = LiveToolbox::connect(self.servers, self.environment, seed).await?;
        let recorder = Recorder::new(wire, &toolbox);
        let finished = run_once(self.filled, model, &recorder, &recorder, seed).await;
        let take = recorder.finish();
        toolbox.close().await;
        if let Some(limit) = toolbox.own_limit() {
            return Err(AgentRunsError::new(limit.to_string(), limit.hint()).into());
        }
        match finished.failure {
            Some(failure) => Err(Breakage::of_run(finished.run, failure)),
            None => Ok(LiveRun {
                run: finished.run,
                notes: toolbox.warnings().to_vec(),
                take,
                tools: toolbox.tools().to_vec(),
            }),
        }
    }

    /// A run of the user's process.
    async fn start(&self, plan: &CommandPlan, index: usize) -> Result<LiveRun, Breakage> {
        let options = self.context.options;
        let context = CommandContext {
            environment: self.environment,
            seed: self.seed(index),
            proxy_program: options.proxy_program.as_deref(),
            supervisor: options.supervisor.as_deref(),
            folder: &self.context.plan.folder,
        };
        let done = command::run_once(self.test, plan, self.servers, context).await?;
        Ok(LiveRun {
            run: done.run,
            notes: done.notes,
            take: Take::default(),
            tools: Vec::new(),
        })
    }
}
