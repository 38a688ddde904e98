//! The half of `mcprove compare` that makes runs: two servers, in turns.

use mcprove_load::run::{Comparer, ComparisonProgress, Side};
use mcprove_score::compare::RUNS_DEFAULT;

use super::{Arguments, code, show};
use crate::load_run::run_on;
use crate::prelude::*;

/// Compares the servers that were named.
pub async fn run(arguments: &Arguments, matches: &ArgMatches, reports: &Reports) -> Result {
    let mut servers = arguments.target.resolve_all()?;
    // Commands and addresses are different lists: what stood first is known from the place on the command line only.
    let place = |name: &str| matches.indices_of(name)?.next();
    let places = place("url").zip(place("server"));
    if places.is_some_and(|(url, server)| url < server) {
        servers.reverse();
    }
    let [baseline, current] = <[Server; 2]>::try_from(servers).map_err(|servers| {
        Failure::new(
            format!("compare needs 2 servers, got {}", servers.len()),
            "name the baseline first: --server A --server B (or --url); `mcprove run` takes more",
        )
    })?;
    let config = arguments.config(&baseline)?;
    let session = arguments.target.options()?;
    let stop = stop_on_interrupt();
    let live = Arc::new(LiveView::default());
    let told = Arc::clone(&live);
    let outcome = Comparer::new(
        template(&config, baseline, session.clone(), &live),
        template(&config, current, session, &live),
    )
    .with_runs(arguments.runs.unwrap_or(RUNS_DEFAULT))
    .with_limits(arguments.limits.resolve()?)
    .with_output_dir(config.output.report_dir.clone())
    .with_trace(arguments.trace)
    .with_stop(stop.clone())
    .on_progress(Arc::new(move |progress| told.turn(progress)))
    .execute_in_directory()
    .await;
    live.status.show("");
    let (report, directory) = outcome.map_err(|error| failure(error, &stop))?;
    losses::add(report.losses.clone());
    show(&report, directory.as_ref(), reports);
    Ok(code(&report, arguments))
}

/// A run on one of the servers.
fn template(
    config: &LoadConfig,
    server: Server,
    session: SessionOptions,
    live: &Arc<LiveView>,
) -> Run {
    let live = Arc::clone(live);
    run_on(config, server)
        .with_session(session)
        .on_progress(Arc::new(move |progress| {
            let turn = lock(&live.turn);
            let room = StatusLine::WIDTH.saturating_sub(turn.len());
            live.status
                .show(&format!("{turn}{}", progress_line(progress, room)));
        }))
}

/// Whose turn it is, on a terminal.
#[derive(Default)]
struct LiveView {
    status: StatusLine,
    turn: Mutex<String>,
}

impl LiveView {
    fn turn(&self, progress: &ComparisonProgress<'_>) {
        let side = progress.next.map_or("done", Side::name);
        let text = format!("run {} of {}, {side}: ", progress.done + 1, progress.total);
        self.status.show(&text);
        *lock(&self.turn) = text;
    }
}

fn failure(error: CompareError, stop: &Stop) -> Failure {
    match error {
        CompareError::Run { .. } if !stop.is_running() => Failure::interrupted(),
        error => error.into(),
    }
}
