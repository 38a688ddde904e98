//! Comparing two servers by runs made for the purpose, in turns: A B B A A B B A …, so that what
//! changes slowly on the machine meets both sides alike.

use mcprove_score::compare::{CompareLimits, RUNS_DEFAULT};

use super::Gathered;
use crate::prelude::*;

/// The most runs of one side.
const RUNS_MAX: usize = 1000;

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
/// # let listening = fixture::listen("normal", fixture::Kind::Http, "127.0.0.1:0".parse().unwrap(), &fixture::Options::default()).await.unwrap();
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
    /// does not count, for it is not like the others.
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
        let mut losses = Vec::new();
        let order = order(self.runs);
        self.tell(&order, 0, None);
        for (place, &side) in order.iter().enumerate() {
            let gathered = &mut sides[side as usize];
            let outcome = self
                .prepared(side, directory.as_deref())
                .execute_in_directory()
                .await;
            if !self.stop.is_running() {
                break;
            }
            let (report, files) = outcome
                .and_then(|(report, files)| match report.own_limit() {
                    Some(limit) => Err(limit.into()),
                    None => Ok((report, files)),
                })
                .map_err(|source| CompareError::Run {
                    side,
                    number: gathered.runs.len() + 1,
                    count: self.runs,
                    source: Box::new(source),
                })?;
            let run = gathered.add(&report, files.map(|files| files.path().to_owned()));
            losses.extend(report.losses);
            self.tell(&order, place + 1, Some((side, &run)));
        }
        let [baseline, current] = [0, 1].map(|side: usize| sides[side].runs.len());
        if baseline == 0 || current == 0 {
            return Err(CompareError::Stopped {
                baseline,
                current,
                directory: directory.filter(|directory| directory.exists()),
            });
        }
        let mut report = ComparisonReport::new(sides, Vec::new(), &self.limits);
        report.partial = baseline + current < order.len();
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

    fn prepared(&self, side: Side, directory: Option<&Path>) -> Run {
        let mut run = self.templates[side as usize]
            .clone()
            .with_trace(self.trace)
            .with_stop(self.stop.clone());
        run.output_dir = directory.map(|directory| directory.join(side.name()));
        run
    }

    fn tell(&self, order: &[Side], done: usize, last: Option<(Side, &ComparedRun)>) {
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
