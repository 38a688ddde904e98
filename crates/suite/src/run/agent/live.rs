//! The runs of a test, made: with a model over the network, or with a process of the user, and with real servers.

use mcprove_settings::message::{Message, sentence};
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::{StreamExt as _, stream};
use mcprove_load::drive::StopLevel;

use super::gathered::{Breakage, LiveRun, Outcome, gather};
use super::{AgentRuns, AgentTest, replay, seed_of};
use crate::agent::cassette::{Recorder, Take, Variables};
use crate::agent::command::{self, CommandContext};
use crate::agent::live_toolbox::LiveToolbox;
use crate::agent::run::{fill_texts, run_once};
use crate::agent::toolbox::Toolbox as _;
use crate::agent::wire::LiveWire;
use crate::error::{SET_VARIABLE, TestError};
use crate::plan::{AgentTestPlan, CommandPlan, Driver, ModelPlan, Reach, ServerPlan};

/// How many runs are made at once where no server says otherwise.
const TOGETHER: usize = 8;

/// What all runs of a test are made with.
struct Live<'a> {
    test: AgentTest<'a>,
    /// The test with its texts filled in.
    filled: &'a AgentTestPlan,
    servers: &'a [&'a ServerPlan],
    driver: LiveDriver<'a>,
    /// Whether a run broke, so that no further one is begun.
    is_broken: AtomicBool,
}

/// Who does the task, ready to.
enum LiveDriver<'a> {
    Model(&'a ModelPlan, Box<LiveWire>),
    Command(&'a CommandPlan),
}

/// Makes all runs, several at once where the servers allow it.
pub(super) async fn make(test: AgentTest<'_>) -> Result<AgentRuns, TestError> {
    let AgentTest { task, options, .. } = test;
    let variables = Variables::default();
    let environment = variables.watch(&options.environment);
    let filled = fill_texts(task, &environment)
        .map_err(|error| TestError::new(error.to_string(), SET_VARIABLE))?;
    let found = servers_of(test)?;
    let servers: Vec<&ServerPlan> = found.iter().collect();
    let live = Live {
        test,
        filled: &filled,
        servers: &servers,
        driver: match &task.driver {
            Driver::Model(model) => {
                let wire = LiveWire::new(model, &options.environment)?;
                LiveDriver::Model(model, Box::new(wire))
            }
            Driver::Command(command) => LiveDriver::Command(command),
        },
        is_broken: AtomicBool::new(false),
    };
    let limits = servers.iter().map(|server| server.parallel);
    let least = limits.filter_map(|limit| usize::try_from(limit).ok()).min();
    let runs = usize::try_from(task.runs).unwrap_or(usize::MAX);
    let outcomes: Vec<Outcome> = stream::iter(0..runs)
        .map(|index| live.run(index))
        .buffered(least.unwrap_or(TOGETHER).clamp(1, TOGETHER))
        .collect()
        .await;
    let made = gather(test, &filled, outcomes, &variables);
    Ok(as_replayed(made, test).await)
}

/// What was recorded, as a replay will see it: where a text of ours has a word that is a secret, that is not what was
/// seen now.
async fn as_replayed(mut made: AgentRuns, test: AgentTest<'_>) -> AgentRuns {
    let Some(tape) = &made.tape else {
        return made;
    };
    let failed: Vec<Message> = match replay::replay(test.task, test.suite, tape).await {
        Ok(replayed) if replayed.errors.is_empty() => {
            made.trace.runs = replayed.trace.runs;
            return made;
        }
        Ok(replayed) => replayed.errors.into_iter().map(|it| it.message).collect(),
        Err(failed) => vec![failed.message],
    };
    let told = failed
        .iter()
        .map(|why| sentence!("the recording cannot be replayed: {why}").text());
    if let Some(first) = made.notes.first_mut() {
        first.extend(told);
    }
    made
}

/// The servers as the agent finds them: of the faults of a mock, a model meets none live.
fn servers_of(test: AgentTest<'_>) -> Result<Vec<ServerPlan>, TestError> {
    let servers = test.task.servers.iter().map(|name| {
        let mut server = test.suite.servers.get(name).cloned().ok_or_else(|| {
            TestError::new(
                format!("the suite has no server {name:?}"),
                sentence!("name one that stands under `servers`"),
            )
        })?;
        if let (Driver::Model(_), Reach::Mock { faults, .. }) =
            (&test.task.driver, &mut server.reach)
        {
            faults.clear();
        }
        Ok(server)
    });
    servers.collect()
}

impl Live<'_> {
    /// Makes one run. Those that are begun come before those that are not.
    async fn run(&self, index: usize) -> Outcome {
        let stop = &self.test.options.stop;
        if self.is_broken.load(Ordering::Relaxed) || !stop.is_running() {
            return Outcome::NotBegun;
        }
        let seed = seed_of(self.test.options.seed, index);
        let made = async {
            match &self.driver {
                LiveDriver::Model(model, wire) => self.ask(model, wire, seed).await,
                LiveDriver::Command(command) => self.start(command, seed).await,
            }
        };
        tokio::select! {
            made = made => match made {
                Ok(run) => Outcome::Done(Box::new(run)),
                Err(broken) => {
                    self.is_broken.store(true, Ordering::Relaxed);
                    Outcome::Broken(broken)
                }
            },
            // A run takes minutes and money: it ends with its processes, and is not waited for.
            () = stop.requested(StopLevel::Drain) => Outcome::Interrupted,
        }
    }

    /// A run of our own loop.
    async fn ask(
        &self,
        model: &ModelPlan,
        wire: &LiveWire,
        seed: u64,
    ) -> Result<LiveRun, Breakage> {
        let environment = &self.test.options.environment;
        let toolbox = LiveToolbox::connect(self.servers, environment, seed).await?;
        let recorder = Recorder::new(wire, &toolbox);
        let finished = run_once(self.filled, model, &recorder, &recorder, seed).await;
        let take = recorder.finish();
        toolbox.close().await;
        if let Some(limit) = toolbox.own_limit() {
            return Err(TestError::new(limit.to_string(), limit.hint()).into());
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
    async fn start(&self, plan: &CommandPlan, seed: u64) -> Result<LiveRun, Breakage> {
        let AgentTest {
            task,
            suite,
            options,
        } = self.test;
        let context = CommandContext {
            environment: &options.environment,
            seed,
            proxy_program: options.proxy_program.as_deref(),
            supervisor: options.supervisor.as_deref(),
            folder: &suite.folder,
        };
        let done = command::run_once(task, plan, self.servers, context).await?;
        Ok(LiveRun {
            run: done.run,
            notes: done.notes,
            take: Take::default(),
            tools: Vec::new(),
        })
    }
}
