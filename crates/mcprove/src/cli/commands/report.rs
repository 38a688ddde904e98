//! `mcprove report`: the report of a run, computed again from its trace.

use mcprove_load::report::recording_document;
use mcprove_load::run::{read_recording, recompute};
use serde::de::DeserializeOwned;

use crate::load_run::{exit_code, show};
use crate::prelude::*;

/// Arguments of `mcprove report`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The directory of a run, such as runs/2026-05-10T14-30-00-4F7K2M, or the file of a recording
    #[arg(
        value_name = "DIR",
        required = false,
        required_unless_present = "explain"
    )]
    directory: PathBuf,

    /// Print metrics.json (format metrics.v1) instead of the summary; of a recording, the report as
    /// JSON (format recording-report.v1)
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    report: ReportArguments,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result {
    let path = &arguments.directory;
    let read = std::slice::from_ref(path);
    let reports = arguments.report.resolve_with(arguments.json, &[], read)?;
    reports.conclude(perform(path, &reports))
}

fn perform(path: &Path, reports: &Reports) -> Result {
    if path.is_file() {
        return report_recording(path, reports);
    }
    let directory = RunDirectory::open(path)
        .map_err(|error| Failure::new(error.to_string(), "`mcprove runs` lists saved runs"))?;
    let recomputed = recompute(&directory)?;
    if let Some(warning) = &recomputed.warning {
        terminal::warn(warning);
    }
    let report = redacted(recomputed.report)?;
    losses::add(directory.write_report(&report));
    show(&report, Some(&directory), reports, true);
    Ok(exit_code(&report, false))
}

/// A report without the secrets of this environment: older versions wrote traces that have them.
pub fn redacted<T: Serialize + DeserializeOwned>(report: T) -> Result<T> {
    let redacted = Redactor::of_process().report(&report)?;
    Ok(redacted.unwrap_or(report))
}

/// Tells what a recording amounts to.
fn report_recording(path: &Path, reports: &Reports) -> Result {
    let report = redacted(read_recording(path)?)?;
    if !report.is_whole {
        terminal::warn(&"the recording has no end: its writer was killed or is still running");
    }
    let document = recording_document(&report, &path.display().to_string());
    reports.show(&document, &report.to_json());
    Ok(ExitCode::Passed)
}
