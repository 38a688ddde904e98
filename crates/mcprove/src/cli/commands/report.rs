//! `mcprove report`: the report of a run, computed again from its trace.

use std::path::{Path, PathBuf};

use clap::Args;
use mcprove_load::report::recording_document;
use mcprove_load::run::{RunDirectory, read_recording, recompute};
use mcprove_settings::secret::Redactor;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::exit::ExitCode;
use crate::failure::Failure;
use crate::load_run::{exit_code, show};
use crate::reports::{ReportArguments, Reports};
use crate::{losses, terminal};

const EXPLANATION: &str = "\
What it does:
  1. Reads trace.jsonl in the directory of a run, and computes the report again from its events:
     the very report that the run gave.
  2. Where there is no trace, or not a whole one (a run with --no-trace, one that was killed, a trace
     that reached its size limit or could not be written), takes the report from metrics.json, and says so.
  3. Writes metrics.json, summary.json, report.md and report.html anew; nothing else is touched.
  4. Prints the summary, or with --json the report (format metrics.v1).
Given a file that `mcprove proxy --record` or `mcprove mock --log` wrote, prints calls, latency and errors
by tool, and the faults that struck; with --json as the format recording-report.v1. Nothing is written.
It starts no server and makes no call.

Exit code: how the run ended: 0 passed, 1 a finding, 2 inconclusive, as one that was killed before
anything came of it; also 2 when there is nothing to report, a line of the trace is not what was
written, a file is of a format that this version does not read, or one cannot be written. That of an interrupted run, 130,
is in summary.json.
";

/// Arguments of `mcprove report`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The directory of a run, such as runs/2026-05-10T14-30-00-4F7K2M, or the file of a recording
    #[arg(value_name = "DIR", required_unless_present = "explain")]
    directory: Option<PathBuf>,

    /// Print metrics.json (format metrics.v1) instead of the summary; of a recording, the report as
    /// JSON (format recording-report.v1)
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    report: ReportArguments,

    /// Tell what this command does, and do nothing
    #[arg(long)]
    explain: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let Some(path) = arguments.directory.as_ref().filter(|_| !arguments.explain) else {
        terminal::print(EXPLANATION);
        return Ok(ExitCode::SUCCESS);
    };
    let reports = arguments
        .report
        .resolve_with(arguments.json, &[], std::slice::from_ref(path))?;
    if path.is_file() {
        let code = report_recording(path, &reports)?;
        return Ok(code);
    }
    let directory = RunDirectory::open(path).map_err(|error| {
        Failure::new(
            error.to_string(),
            "`mcprove runs` lists the runs that there are",
        )
    })?;
    let recomputed =
        recompute(&directory).map_err(|error| Failure::new(error.to_string(), error.hint()))?;
    if let Some(warning) = &recomputed.warning {
        terminal::print_error(&format!("warning: {warning}\n"));
    }
    let report = redacted(recomputed.report)?;
    losses::add(directory.write_report(&report));
    show(&report, Some(&directory), &reports, true);
    Ok(exit_code(&report, false))
}

/// A report without the secrets of this environment: older versions wrote traces that have them.
pub fn redacted<T: Serialize + DeserializeOwned>(report: T) -> Result<T, Failure> {
    let redacted = Redactor::of_process().report(&report);
    Ok(redacted.map_err(anyhow::Error::from)?.unwrap_or(report))
}

/// Tells what a recording amounts to.
fn report_recording(path: &Path, reports: &Reports) -> Result<ExitCode, Failure> {
    let report =
        read_recording(path).map_err(|error| Failure::new(error.to_string(), error.hint()))?;
    let report = redacted(report)?;
    if !report.is_whole {
        let warning = "the recording has no end, for whoever wrote it was killed or still writes";
        terminal::print_error(&format!("warning: {warning}\n"));
    }
    let document = recording_document(&report, &path.display().to_string());
    reports.show(&document, &report.to_json());
    Ok(ExitCode::SUCCESS)
}
