//! Doing a load and telling how it went, the same for every command that does one.

use std::sync::Arc;

use mcprove_client::server::Server;
use mcprove_client::session::SessionOptions;
use mcprove_load::config::{Format, LoadConfig};
use mcprove_load::drive::Stop;
use mcprove_load::report::{Files, load_text, progress_line};
use mcprove_load::run::report::{Report, RunOutcome};
use mcprove_load::run::{Run, RunDirectory, RunError};
use mcprove_settings::own_limits::OwnLimit;

use crate::exit::ExitCode;
use crate::failure::Failure;
use crate::flag_names::name_flags;
use crate::terminal;
use crate::terminal::StatusLine;
use crate::{interrupt, losses};

/// A handle that the user's Ctrl-C pulls.
pub fn stop_on_interrupt() -> Stop {
    let stop = Stop::new();
    let pulled = stop.clone();
    let (first, second) = interrupt::requested_twice();
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
) -> Result<(Report, Option<RunDirectory>), RunError> {
    let mut config = config.clone();
    // Drawn here, so that config.toml says it too.
    config
        .scenario
        .load
        .seed
        .get_or_insert_with(mcprove_load::run::draw_seed);
    let status = Arc::new(StatusLine::new());
    status.show(&format!("connecting to {} …", server.describe()));
    let shown = Arc::clone(&status);
    let described = LoadConfig {
        server: server.clone(),
        ..config.clone()
    };
    let has = |format| config.output.formats.contains(&format);
    let run = Run::new(server, config.scenario.clone())
        .with_thresholds(config.thresholds.clone())
        .with_faults(config.faults.clone())
        .with_output_dir(config.output.report_dir.clone())
        .with_trace(config.output.trace)
        .with_config(described.to_toml())
        .with_reports(has(Format::Markdown), has(Format::Html))
        .with_session(session)
        .with_stop(stop.clone())
        .on_progress(Arc::new(move |progress| {
            shown.show(&progress_line(progress, StatusLine::WIDTH));
        }));
    let run = match config.output.trace_value_bytes {
        Some(bytes) => run.with_trace_value_bytes(bytes),
        None => run,
    };
    let made = run.execute_in_directory().await;
    if let Ok((report, _)) = &made {
        losses::add(report.losses.clone());
    }
    made
}

/// Prints a report.
pub fn show(report: &Report, directory: Option<&RunDirectory>, as_json: bool) {
    for warning in &report.warnings {
        terminal::print_error(&format!("warning: {warning}\n"));
    }
    if as_json {
        terminal::print_json(&report.to_json());
    } else {
        let files = directory.map(|directory| Files {
            place: directory.path().to_owned(),
            names: directory.files(),
        });
        terminal::print(&load_text(report, terminal::style(), files.as_ref()));
    }
    if let Some(limit) = report.own_limit() {
        ran_out_in_load(limit).report();
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

/// The failure of a load for which mcprove itself ran out of something.
fn ran_out_in_load(limit: OwnLimit) -> Failure {
    let hint = limit.hint();
    let flags = "--sessions, --concurrent, --max-in-flight";
    Failure::new(limit.to_string(), format!("{hint} ({flags})"))
}

/// A run that could not be done, told to the user.
pub fn describe(error: &RunError, was_interrupted: bool) -> Failure {
    if was_interrupted {
        return Failure::interrupted();
    }
    if let Some(limit) = error.own_limit() {
        return ran_out_in_load(limit);
    }
    match error {
        RunError::ServerStderr(stderr) => {
            Failure::new("the server ended before it could be used", error.hint())
                .with_stderr(stderr)
        }
        RunError::Io(source) => Failure::new(source.to_string(), error.hint()),
        error => {
            // Many errors bring a hint of their own, after a semicolon.
            let message = error.to_string();
            let split = match error {
                RunError::Config(_) => message.rsplit_once("; "),
                _ => message.split_once("; "),
            };
            match split {
                Some((what, hint)) => Failure::new(what, name_flags(hint)),
                None => Failure::new(message, error.hint()),
            }
        }
    }
}
