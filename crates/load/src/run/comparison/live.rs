//! Comparing two servers by runs made for the purpose, in turns: A B B A A B B A …, so that what
//! changes slowly on the machine meets both sides alike.

use mcprove_score::compare::{CompareLimits, RUNS_DEFAULT};

use super::{FailedRun, Gathered};
use crate::prelude::*;

/// The most runs of one side.
const RUNS_MAX: usize = 1000;

/// Runs of a side that fail one after the other, each tried twice, before the comparison ends.
const MISSES_MAX: usize = 1;

/// How a comparison goes.
#[derive(Debug)]
pub struct ComparisonProgress<'a> {
    /// Runs made.
    pub done: usize,
    /// Runs to be made, of both sides.
    pub total: usize,
    /// The run that just ended, and of which side it was.
    pub last: Option<(Side, &'a ComparedRun)>,
    /// Whose run is next.
    pub next: Option<Side>,
}

/// Called at the start and after each run.
pub type ComparisonHandler = Arc<dyn Fn(&ComparisonProgress<'_>) + Send + Sync>;

/// Compares two servers, or two ways to use one.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use std::time::Duration;
/// use mcprove_load::run::Comparer;
/// use mcprove_client::server::Server;
/// use mcprove_load::drive::Scenario;
/// use mcprove_load::run::Run;
/// use mcprove_servers::fixture;
///
/// # let listening = fixture::listen("normal", fixture::ListenerKind::Http, "127.0.0.1:0".parse().unwrap(), &fixture::FixtureOptions::default()).await.unwrap();
/// # let (before, after) = (Server::http(listening.url()), Server::http(listening.url()));
/// // let before = Server::stdio("my_mcp-1.0");
/// // let after = Server::stdio("my_mcp-1.1");
/// let scenario = Scenario::sustained()
///     .concurrent(2)
///     .duration(Duration::from_millis(50))
///     .tool("echo");
/// let report = Comparer::new(Run::new(before, scenario.clone()), Run::new(after, scenario))
///     .with_runs(2)
///     .execute()
///     .await
///     .unwrap();
/// assert_eq!(report.comparison.runs, (2, 2));
/// # });
/// ```
#[derive(Opaque, Clone)]
#[must_use]
pub struct Comparer {
    /// What is done, by side.
    templates: [Run; 2],
    runs: usize,
    limits: CompareLimits,
    output_dir: Option<PathBuf>,
    trace: bool,
    stop: Stop,
    on_progress: Option<ComparisonHandler>,
}

impl Comparer {
    /// A comparison of what `baseline` does with what `current` does, 8 runs each. Their own
    /// output directories, stop handles and whether they write a trace are set by the comparison.
    pub fn new(baseline: Run, current: Run) -> Self {
        Self {
            templates: [baseline, current],
            runs: RUNS_DEFAULT,
            limits: CompareLimits::default(),
            output_dir: None,
            trace: false,
            stop: Stop::new(),
            on_progress: None,
        }
    }

    /// Sets how many runs each side has.
    pub fn with_runs(mut self, runs: usize) -> Self {
        self.runs = runs;
        self
    }

    /// Sets what is allowed.
    pub fn with_limits(mut self, limits: CompareLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Writes a directory, named after the time, under `dir`: `baseline` and `current` with the
    /// runs, and `comparison.json`. Without one nothing is written.
    pub fn with_output_dir(mut self, dir: PathBuf) -> Self {
        self.output_dir = Some(dir);
        self
    }

    /// Sets whether each run writes a trace; false unless set.
    pub fn with_trace(mut self, trace: bool) -> Self {
        self.trace = trace;
        self
    }

    /// Sets the handle by which the comparison can be ended early.
    pub fn with_stop(mut self, stop: Stop) -> Self {
        self.stop = stop;
        self
    }

    /// Sets who is told how it goes.
    pub fn on_progress(mut self, handler: ComparisonHandler) -> Self {
        self.on_progress = Some(handler);
        self
    }

    /// Does it. When it is stopped, what there is so far is compared; the run that was under way
    /// does not count, for it is not like the others. A run whose server does not start or does not
    /// answer is made once more; if that fails too, the others are compared without it.
    pub async fn execute(self) -> Result<ComparisonReport, CompareError> {
        self.execute_in_directory().await.map(|(report, _)| report)
    }

    /// Does it, and tells where the files are.
    pub async fn execute_in_directory(
        mut self,
    ) -> Result<(ComparisonReport, Option<PathBuf>), CompareError> {
        if !(1..=RUNS_MAX).contains(&self.runs) {
            return Err(CompareError::Config(format!(
                "{} runs were asked for, and there can be from 1 to {RUNS_MAX}",
                self.runs
            )));
        }
        // Where none was given, both sides get the same seed, so that they make the same calls.
        let seed = self
            .templates
            .iter()
            .find_map(|run| run.scenario.load.seed)
            .unwrap_or_else(draw_seed);
        for run in &mut self.templates {
            run.scenario.load.seed.get_or_insert(seed);
        }
        let directory = self.output_dir.as_ref().map(|base| {
            let id = format!("compare-{:06x}", draw() & 0xff_ffff);
            let path = base.join(directory_name(SystemTime::now(), &id));
            // What is wrong with it the first run says.
            let _ = std::fs::create_dir_all(base).and_then(|()| private_file::create_dir(&path));
            path
        });
        let mut sides = <[Gathered; 2]>::default();
        let (mut losses, mut failed, mut missing) = (Vec::new(), Vec::new(), None);
        let order = order(self.runs);
        self.report_progress(&order, 0, None);
        for (place, &side) in order.iter().enumerate() {
            let number = sides[side as usize].places + 1;
            let outcome = self
                .made(side, number, directory.as_deref(), &mut failed)
                .await;
            if !self.stop.is_running() {
                break;
            }
            let gathered = &mut sides[side as usize];
            gathered.places = number;
            match outcome {
                Ok((report, files)) => {
                    gathered.misses = 0;
                    let run = gathered.add(&report, files.map(|files| files.path().to_owned()));
                    losses.extend(report.losses);
                    self.report_progress(&order, place + 1, Some((side, &run)));
                }
                // It is not like the others, and what was measured is not lost with it.
                Err(source) => {
                    gathered.misses += 1;
                    let is_hopeless = gathered.misses > MISSES_MAX || !is_worth_another(&source);
                    let has_none = gathered.runs.is_empty();
                    if is_hopeless || has_none {
                        missing = Some(CompareError::Run {
                            side,
                            number,
                            count: self.runs,
                            source: Box::new(source),
                        });
                        break;
                    }
                    self.report_progress(&order, place + 1, None);
                }
            }
        }
        let [baseline, current] = [0, 1].map(|side: usize| sides[side].runs.len());
        if let Some(error) = missing
            && (baseline == 0 || current == 0)
        {
            return Err(error);
        }
        if baseline == 0 || current == 0 {
            return Err(CompareError::Stopped {
                baseline,
                current,
                directory: directory.filter(|directory| directory.exists()),
            });
        }
        let mut report = ComparisonReport::new(sides, Vec::new(), &self.limits);
        report.partial = !self.stop.is_running() && baseline + current < order.len();
        report.failed_runs = failed;
        report.losses = losses;
        if let Some(directory) = &directory {
            let path = directory.join("comparison.json");
            // What was compared is not lost with the disk.
            if let Err(error) = report.write_json(&path) {
                report.losses.push(Loss::of_file(&path, &error));
            }
        }
        Ok((report, directory))
    }

    /// Makes a run. A start that fails may be that of a machine that is busy for a moment: it is
    /// tried once more. What failed is noted.
    async fn made(
        &self,
        side: Side,
        number: usize,
        directory: Option<&Path>,
        failed: &mut Vec<FailedRun>,
    ) -> RunResult<(Report, Option<RunDirectory>)> {
        let mut tries = 0;
        loop {
            let outcome = self.prepared(side, directory).execute_in_directory().await;
            let outcome = outcome.and_then(|(report, files)| match report.own_limit() {
                Some(limit) => Err(limit.into()),
                None => Ok((report, files)),
            });
            tries += 1;
            match outcome {
                Ok(made) => {
                    if let Some(last) = failed.last_mut().filter(|_| tries > 1) {
                        last.is_made_up = true;
                    }
                    return Ok(made);
                }
                Err(_) if !self.stop.is_running() => return outcome,
                Err(error) => {
                    if tries == 1 {
                        failed.push(FailedRun {
                            side,
                            number,
                            reason: error.text(),
                            is_made_up: false,
                        });
                    }
                    if tries > 1 || !is_worth_another(&error) {
                        return Err(error);
                    }
                }
            }
        }
    }

    fn prepared(&self, side: Side, directory: Option<&Path>) -> Run {
        let mut run = self.templates[side as usize]
            .clone()
            .with_trace(self.trace)
            .with_stop(self.stop.clone());
        run.output_dir = directory.map(|directory| directory.join(side.name()));
        run
    }

    fn report_progress(&self, order: &[Side], done: usize, last: Option<(Side, &ComparedRun)>) {
        if let Some(handler) = &self.on_progress {
            handler(&ComparisonProgress {
                done,
                total: order.len(),
                last,
                next: order.get(done).copied(),
            });
        }
    }
}

/// Whether a server may do next time what it did not do now: start and answer.
fn is_worth_another(error: &RunError) -> bool {
    matches!(
        error,
        RunError::ServerExit(_)
            | RunError::ServerStderr(_)
            | RunError::Handshake(_)
            | RunError::ToolsList(_)
    )
}

/// Whose turn it is, for `runs` runs of each side: A B B A A B B A …
///
/// ```
/// use mcprove_load::run::{Side, order};
///
/// let (a, b) = (Side::Baseline, Side::Current);
/// assert_eq!(order(3), [a, b, b, a, a, b]);
/// ```
pub fn order(runs: usize) -> Vec<Side> {
    (0..runs)
        .flat_map(|pair| {
            if pair % 2 == 0 {
                [Side::Baseline, Side::Current]
            } else {
                [Side::Current, Side::Baseline]
            }
        })
        .collect()
}
