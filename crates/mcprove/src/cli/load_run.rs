//! Doing a load and telling how it went, the same for every command that does one.

use mcprove_load::report::{Files, document};
use mcprove_load::run::RunError;
use mcprove_load::run::report::{Report, RunOutcome};

use crate::prelude::*;

/// A handle that the user's Ctrl-C pulls.
pub fn stop_on_interrupt() -> Stop {
    let stop = Stop::new();
    let pulled = stop.clone();
    let [first, second] = interrupt::requested_twice();
    tokio::spawn(async move {
        first.await;
        pulled.request();
        terminal::print_error("\nstopping: waiting for calls in flight; again to stop at once\n");
        second.await;
        pulled.request();
    });
    stop
}

/// Does the load of `config` on `server`, with a live view.
pub async fn perform(
    config: &LoadConfig,
    server: Server,
    session: SessionOptions,
    stop: &Stop,
) -> Result<(Report, Option<RunDirectory>)> {
    let mut config = config.clone();
    // Drawn here, so that config.toml says it too.
    config
        .scenario
        .load
        .seed
        .get_or_insert_with(mcprove_load::run::draw_seed);
    let status = Arc::new(StatusLine::default());
    status.show(&format!("connecting to {} …", server.describe()));
    let shown = Arc::clone(&status);
    let run = run_on(&config, server)
        .with_session(session)
        .with_stop(stop.clone())
        .on_progress(Arc::new(move |progress| {
            shown.show(&progress_line(progress, StatusLine::WIDTH));
        }));
    let (made, directory) = run.execute_and_keep().await;
    match made {
        Ok(report) => {
            losses::add(report.losses.clone());
            Ok((report, directory))
        }
        Err(_) if !stop.is_running() => Err(Failure::interrupted()),
        Err(error) => {
            let hint = error.hint_in(directory.as_ref());
            Err(Failure::from(error).with_hint(hint))
        }
    }
}

/// The run of a load on a server, which its `config.toml` names.
pub fn run_on(config: &LoadConfig, server: Server) -> Run {
    let described = LoadConfig {
        server: server.clone(),
        ..config.clone()
    };
    config.run(server, &described)
}

/// Writes the reports of a run, and prints one of them, if it is to be shown.
pub fn show(report: &Report, directory: Option<&RunDirectory>, reports: &Reports, is_shown: bool) {
    for warning in &report.warnings {
        terminal::warn(warning);
    }
    let files = directory.map(|directory| Files {
        place: directory.path().to_owned(),
        names: directory.files(),
    });
    reports.show_if(is_shown, |format, style| {
        // A report in a file of its own may be anywhere.
        let files = files.as_ref().filter(|_| format == ReportFormat::Terminal);
        drawn(&document(report, files), &report.to_json(), format, style)
    });
    if let Some(limit) = report.own_limit() {
        Failure::from(RunError::OwnLimit(limit)).report();
    }
}

/// The exit code that a report asks for.
pub fn exit_code(report: &Report, was_interrupted: bool) -> ExitCode {
    let outcome = report.outcome();
    ExitCode::worst([
        (was_interrupted, ExitCode::Interrupted),
        (report.own_limit().is_some(), ExitCode::CouldNotRun),
        (outcome == RunOutcome::Failed, ExitCode::Finding),
        (outcome == RunOutcome::Inconclusive, ExitCode::Inconclusive),
    ])
}
