//! `mcprove lab audit`: what the lab was asked, from the file that it wrote.

mod filters;
mod follow;
mod listing;
mod replay;
mod rows;
mod slips;
mod target;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use mcprove_lab::audit::{AuditError, AuditReader, ExportFormat};

use crate::exit::ExitCode;
use crate::failure::Failure;
use crate::reports::{ReportArguments, Reports};
use crate::terminal;

const EXPLANATION: &str = "\
What it does: reads the file that `mcprove lab --audit FILE` writes, also while
it is being written. It changes nothing in it.
  without more   lists the newest rows that the filters want, 50 unless --limit
                 says otherwise
  --follow       shows the last 10, then each row as it is written, also when
                 the lab is started again or the file made anew; Ctrl-C ends it
  --export       writes all rows that the filters want as JSON lines or CSV, the
                 oldest first, to standard output or to -o FILE
  show ID        shows one row wholly
  replay ID      sends the request of a row again, to the server that you name,
                 and shows what comes back beside what was recorded. Headers are
                 not sent again: give --header. A request whose parameters were
                 cut when they were recorded cannot be sent again.
  compare ID ID  shows which columns of two rows differ, parameters and
                 responses as a diff. Times, ids, sizes and who asked do not
                 count.

Exit code: 0; for replay and compare 1 when something differs; 2 when the file,
a row or the server cannot be used; 130 when --follow is ended by Ctrl-C.
";

/// Arguments of `mcprove lab audit`.
#[derive(Debug, Args)]
#[command(subcommand_negates_reqs = false)]
pub struct Arguments {
    /// The file that `mcprove lab --audit FILE` writes
    #[arg(value_name = "FILE", required_unless_present = "explain")]
    file: Option<PathBuf>,

    #[command(flatten)]
    filters: filters::FilterArguments,

    /// Show the last rows, then each one as it is written
    #[arg(short, long, conflicts_with_all = ["export", "order", "until"])]
    follow: bool,

    /// Write the rows in this format, all of them unless --limit is given
    #[arg(long, value_name = "FORMAT", value_enum, conflicts_with = "json")]
    export: Option<ExportName>,

    /// Where --export writes to [default: standard output]
    #[arg(short, long, value_name = "FILE", requires = "export")]
    output: Option<PathBuf>,

    /// Print JSON: audit.v1 for rows (a row a line with --follow), audit-comparison.v1 for replay
    /// and compare
    #[arg(long, global = true)]
    json: bool,

    #[command(flatten)]
    report: ReportArguments,

    /// Tell what this command does, and do nothing
    #[arg(long, global = true)]
    explain: bool,

    #[command(subcommand)]
    command: Option<RowCommand>,
}

/// What to do with single rows.
#[derive(Debug, Subcommand)]
enum RowCommand {
    /// Show one row wholly
    Show(rows::ShowArguments),
    /// Send the request of a row again, and show what comes back beside what was recorded
    Replay(Box<replay::Arguments>),
    /// Show how two rows differ
    Compare(rows::CompareArguments),
}

/// The format of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ExportName {
    /// A JSON object a line
    Jsonl,
    /// Comma-separated values, with a line of names
    Csv,
}

impl From<ExportName> for ExportFormat {
    fn from(name: ExportName) -> Self {
        match name {
            ExportName::Jsonl => Self::JsonLines,
            ExportName::Csv => Self::Csv,
        }
    }
}

/// Runs the command.
pub async fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let Some(file) = arguments.file.as_ref().filter(|_| !arguments.explain) else {
        terminal::print(EXPLANATION);
        return Ok(ExitCode::SUCCESS);
    };
    let as_json = arguments.json;
    let reports = &arguments.report;
    let reports = reports.resolve_with(as_json, &[], std::slice::from_ref(file))?;
    if arguments.report.is_given() && (arguments.follow || arguments.export.is_some()) {
        return Err(Failure::new(
            "--report does not go with --follow and --export",
            "leave one of them out",
        ));
    }
    perform(arguments, file, &reports).await
}

async fn perform(
    arguments: &Arguments,
    file: &Path,
    reports: &Reports,
) -> Result<ExitCode, Failure> {
    if let Some(command) = &arguments.command {
        arguments.refuse_for_single_rows()?;
        let reader = AuditReader::open(file).map_err(describe)?;
        return match command {
            RowCommand::Show(arguments) => rows::show(&reader, arguments, reports),
            RowCommand::Compare(arguments) => rows::compare(&reader, arguments, reports),
            RowCommand::Replay(arguments) => replay::run(&reader, arguments, reports).await,
        };
    }
    let filters = &arguments.filters;
    if arguments.follow {
        return follow::run(file, filters, arguments.json).await;
    }
    let reader = AuditReader::open(file).map_err(describe)?;
    match arguments.export {
        None => listing::list(&reader, file, filters, reports),
        Some(format) => {
            let output = arguments.output.as_deref();
            listing::export(&reader, file, filters, format.into(), output)
        }
    }
}

impl Arguments {
    /// What chooses among many rows does nothing for one that is named.
    fn refuse_for_single_rows(&self) -> Result<(), Failure> {
        if self.filters.is_given() || self.follow || self.export.is_some() {
            return Err(Failure::new(
                "filters, --follow and --export do not go with a row that is named",
                "leave them out, or leave out show, replay or compare",
            ));
        }
        Ok(())
    }
}

/// A file that cannot be used, with the hint that fits.
// Taken by value, as `map_err` gives it.
#[allow(clippy::needless_pass_by_value)]
fn describe(error: AuditError) -> Failure {
    Failure::new(error.to_string(), error.hint())
}
