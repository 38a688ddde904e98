use super::gathered::{Breakage, LiveRun, Outcome, gather};
use super::{AgentRuns, AgentTest, seed_of};
use crate::agent::cassette::{
    Recorder, Replayer, Take, Variables, drift, file_name, recorded, suite_name,
};
use crate::agent::command::{self, CommandContext};
use crate::agent::live_toolbox::LiveToolbox;
use crate::agent::run::run_once;
use crate::agent::wire::LiveWire;
use crate::prelude::*;
use futures_util::{StreamExt as _, stream};
use std::sync::atomic::{AtomicBool, Ordering};

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
pub async fn make(test: AgentTest<'_>) -> DiagnosticResult<AgentRuns> {
    let AgentTest { task, options, .. } = test;
    let variables = Variables::default();
    let environment = variables.watch(&options.environment);
    let filled = fill_texts(task, &environment)?;
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
    let least = servers.iter().map(|server| server.parallel as usize).min();
    let outcomes: Vec<Outcome> = stream::iter(0..task.runs as usize)
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
    let failed: Vec<Message> = match replay(test.task, test.suite, tape).await {
        Ok(replayed) if replayed.errors.is_empty() => {
            made.trace.runs = replayed.trace.runs;
            return made;
        }
        Ok(replayed) => replayed.errors.into_iter().map(|it| it.message).collect(),
        Err(failed) => vec![failed.message],
    };
    let told = failed
        .iter()
        .map(|why| sentence!("the recording cannot be replayed: {why}").rendered());
    if let Some(first) = made.notes.first_mut() {
        first.extend(told);
    }
    made
}

/// The servers as the agent finds them: of the faults of a mock, a model meets none live.
fn servers_of(test: AgentTest<'_>) -> DiagnosticResult<Vec<ServerPlan>> {
    let servers = test.task.servers.iter().map(|name| {
        let mut server = test.suite.servers.get(name).cloned().ok_or_else(|| {
            Diagnostic::new(
                format!("the suite has no server {name:?}"),
                sentence!("name one of those under `servers`"),
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
            return Err(Diagnostic::new(limit.to_string(), limit.hint()).into());
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

/// Makes the runs of a test again, each from the one that was recorded.
pub async fn replay(
    test: &AgentTestPlan,
    plan: &SuitePlan,
    cassette: &Cassette,
) -> DiagnosticResult<AgentRuns> {
    let mut changes = cassette.fits.changes(test, plan);
    let suite = suite_name(plan);
    if cassette.suite != suite {
        changes.insert(
            0,
            format!("suite: recorded {:?}, now {suite:?}", cassette.suite),
        );
    }
    if !changes.is_empty() {
        return Err(drift(&file_name(test), &changes));
    }
    let environment = recorded(&cassette.variables);
    let filled = fill_texts(test, &environment)
        .map_err(|error| Diagnostic::new(error.to_string(), record_again()))?;
    // What is left in a cassette is no secret.
    let redactor = Redactor::default();
    let tools = cassette.fits.tools();
    let (mut runs, mut errors) = (Vec::with_capacity(cassette.runs.len()), Vec::new());
    let mut ended = 0;
    for (index, recorded) in cassette.runs.iter().enumerate() {
        let seed = seed_of(cassette.seed, index);
        let run = replay_run(&filled, recorded, &tools, &redactor, seed).await;
        match run {
            Ok(run) => runs.push(run),
            Err(broken) => {
                let (run, error) = broken.settle(&filled, index);
                runs.push(redactor.of_json(&run).unwrap_or_default());
                errors.push(error);
                break;
            }
        }
        ended += 1;
    }
    let notes = cassette.runs.iter().map(|run| run.notes.clone());
    Ok(AgentRuns {
        notes: notes.take(ended).collect(),
        trace: AgentTrace::new(runs),
        tape: None,
        errors,
        ended,
        judged: ended,
    })
}

async fn replay_run(
    test: &AgentTestPlan,
    recorded: &RecordedRun,
    tools: &[OfferedTool],
    redactor: &Redactor,
    seed: u64,
) -> Result<AgentRun, Breakage> {
    let model = match (&test.driver, &recorded.trace) {
        (Driver::Command(_), Some(trace)) => {
            return Ok(redactor.of_json(trace).unwrap_or_default());
        }
        (Driver::Model(model), _) => model,
        (Driver::Command(_), None) => {
            let message = "the cassette has no trace of it";
            return Err(Diagnostic::new(message, record_again()).into());
        }
    };
    let replayer = Replayer::new(recorded, tools, redactor.clone());
    let finished = run_once(test, model, &replayer, &replayer, seed).await;
    match finished.failure {
        None => Ok(redactor.of_json(&finished.run).unwrap_or_default()),
        Some(failure) => Err(Breakage::of_run(finished.run, failure)),
    }
}

fn record_again() -> Message {
    sentence!("record it again with {}", setting("record"))
}
