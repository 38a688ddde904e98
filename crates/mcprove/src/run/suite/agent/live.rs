//! The runs of a test, made: with a model over the network, or with a process of the user, and with real servers.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::{StreamExt as _, stream};
use mcprove_score::gate::ScoreError;
use mcprove_score::trace::{AgentRun, AgentTrace};

use super::{Made, NotMade, Setting, empty_tape, error, mock_faults, seed_of};
use crate::agent::cassette::{Fits, RecordedRun, Recorder, Redactor, Take, Variables};
use crate::agent::command::{self, Ground};
use crate::agent::live_toolbox::LiveToolbox;
use crate::agent::model::ModelWire;
use crate::agent::run::{fill_texts, run_once};
use crate::agent::toolbox::{OfferedTool, Toolbox};
use crate::agent::wire::LiveWire;
use crate::drive::StopLevel;
use crate::suite::plan::{AgentTestPlan, CommandPlan, Driver, Environment, ModelPlan, ServerPlan};

/// How many runs are made at once where no server says otherwise.
const TOGETHER: usize = 8;

/// One run, secrets and all.
struct LiveRun {
    run: AgentRun,
    notes: Vec<String>,
    take: Take,
    tools: Vec<OfferedTool>,
}

/// What all runs of a test are made with.
struct Live<'a> {
    test: &'a AgentTestPlan,
    /// The test with its texts filled in.
    filled: &'a AgentTestPlan,
    servers: &'a [&'a ServerPlan],
    context: Setting<'a>,
    environment: &'a Environment,
    /// Whether a run broke, so that no further one is begun.
    is_broken: AtomicBool,
}

/// Makes all runs, several at once where the servers allow it.
pub(super) async fn make(
    test: &AgentTestPlan,
    context: Setting<'_>,
    is_recorded: bool,
) -> Result<Made, NotMade> {
    let options = context.options;
    let variables = Variables::default();
    let environment = variables.watch(&options.environment);
    let filled = fill_texts(test, &environment).map_err(|error| {
        NotMade::of(
            error.to_string(),
            "set the variable, or write ${NAME:-otherwise}",
        )
    })?;
    let found = servers_of(test, context)?;
    let servers: Vec<&ServerPlan> = found.iter().map(|server| &**server).collect();
    let live = Live {
        test,
        filled: &filled,
        servers: &servers,
        context,
        environment: &options.environment,
        is_broken: AtomicBool::new(false),
    };
    let wire = match &test.driver {
        Driver::Model(model) => Some(
            LiveWire::new(model, &options.environment)
                .map_err(|error| NotMade::of(error.to_string(), error.hint()))?,
        ),
        Driver::Command(_) => None,
    };
    let wire = wire.as_ref().map(|wire| wire as &dyn ModelWire);
    let runs = usize::try_from(test.runs).unwrap_or(usize::MAX);
    let made: Vec<_> = stream::iter(0..runs)
        .map(|index| live.run(index, wire))
        .buffered(together(&servers))
        .collect()
        .await;
    let mut errors: Vec<ScoreError> = Vec::new();
    let mut done = Vec::with_capacity(made.len());
    for outcome in made {
        match outcome {
            Ok(run) => done.push(run),
            // A run that was not begun for another one's failure says nothing.
            Err(None) => {}
            Err(Some(error)) => errors.push(error),
        }
    }
    if !errors.is_empty() || done.len() < runs {
        if errors.is_empty() {
            errors.push(error(None, "interrupted", "run it again to finish"));
        }
        return Err(NotMade { errors });
    }
    // Only now every secret is known.
    let redactor = Redactor::of(&options.environment);
    let tools = done.first().map(|run| run.tools.clone());
    let fits = Fits::of(test, &tools.unwrap_or_default()).with_mocks(context.plan);
    let fits = redactor.of_json(&fits).unwrap_or(fits);
    let mut tape = empty_tape(test, context.plan, fits, options.seed);
    tape.variables = variables.redacted();
    let (mut runs, mut notes) = (Vec::new(), Vec::new());
    for (index, live) in done.into_iter().enumerate() {
        let run = redactor.run(&live.run);
        let told = live
            .notes
            .iter()
            .map(|note| redactor.text(note).into_owned());
        let told: Vec<String> = told.collect();
        if is_recorded {
            let trace = matches!(test.driver, Driver::Command(_)).then(|| run.clone());
            let recorded = live.take.redacted(&redactor).ok_or_else(|| {
                NotMade::of(
                    format!("run {index} is too large to be recorded"),
                    "ask for less, or run without --record",
                )
            })?;
            tape.runs.push(RecordedRun {
                trace,
                notes: told.clone(),
                ..recorded
            });
        }
        notes.push(told);
        runs.push(run);
    }
    Ok(Made {
        trace: AgentTrace::new(runs),
        notes,
        tape: is_recorded.then_some(tape),
    })
}

fn servers_of<'a>(
    test: &AgentTestPlan,
    context: Setting<'a>,
) -> Result<Vec<Cow<'a, ServerPlan>>, NotMade> {
    let servers = test.servers.iter().map(|name| {
        let server = context.plan.servers.get(name);
        let server = server.map(|server| mock_faults::as_found_by(&test.driver, server));
        server.ok_or_else(|| {
            NotMade::of(
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
    /// Makes one run; no error where it was not begun.
    async fn run(
        &self,
        index: usize,
        wire: Option<&dyn ModelWire>,
    ) -> Result<LiveRun, Option<ScoreError>> {
        let stop = &self.context.options.stop;
        if self.is_broken.load(Ordering::Relaxed) || !stop.is_running() {
            return Err(None);
        }
        let made = async {
            match (&self.test.driver, wire) {
                (Driver::Model(model), Some(wire)) => self.ask(model, wire, index).await,
                (Driver::Command(command), _) => self.start(command, index).await,
                (Driver::Model(_), None) => {
                    Err(("there is no way to the model".into(), String::new()))
                }
            }
        };
        let made = tokio::select! {
            made = made => made,
            // A run takes minutes and money: it ends with its processes, and is not waited for.
            () = stop.requested(StopLevel::Drain) => return Err(None),
        };
        made.map_err(|(message, hint)| {
            self.is_broken.store(true, Ordering::Relaxed);
            let message = if self.test.runs > 1 {
                format!("run {index}: {message}")
            } else {
                message
            };
            Some(error(Some(index), message, hint))
        })
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
    ) -> Result<LiveRun, (String, String)> {
        let seed = self.seed(index);
        let toolbox = LiveToolbox::connect(self.servers, self.environment, seed)
            .await
            .map_err(|error| {
                let stderr = error.stderr().trim_end();
                let message = if stderr.is_empty() {
                    error.to_string()
                } else {
                    format!("{error}; its stderr ends with:\n{stderr}")
                };
                (message, error.hint())
            })?;
        let recorder = Recorder::new(wire, &toolbox);
        let finished = run_once(self.filled, model, &recorder, &recorder, seed).await;
        let take = recorder.finish();
        toolbox.close().await;
        match finished.failure {
            Some(failure) => Err((failure.to_string(), failure.hint())),
            None => Ok(LiveRun {
                run: finished.run,
                notes: toolbox.warnings().to_vec(),
                take,
                tools: toolbox.tools().to_vec(),
            }),
        }
    }

    /// A run of the user's process.
    async fn start(&self, plan: &CommandPlan, index: usize) -> Result<LiveRun, (String, String)> {
        let options = self.context.options;
        let ground = Ground {
            environment: self.environment,
            seed: self.seed(index),
            proxy_program: options.proxy_program.as_deref(),
            folder: &self.context.plan.folder,
        };
        let done = command::run_once(self.test, plan, self.servers, ground).await;
        let done = done.map_err(|error| (error.to_string(), error.hint()))?;
        Ok(LiveRun {
            run: done.run,
            notes: done.notes,
            take: Take::default(),
            tools: Vec::new(),
        })
    }
}
