//! `mcprove lab audit`: what the lab was asked, from the file that it wrote.

mod filters;
mod follow;
mod listing;
mod rows;

use filters::FilterArguments;
use mcprove_lab::audit::ExportFormat;

use crate::prelude::*;

/// Arguments of `mcprove lab audit`.
#[derive(Debug, Args)]
#[command(subcommand_negates_reqs = false)]
pub struct Arguments {
    /// The file that `mcprove lab --audit FILE` writes
    #[arg(
        value_name = "FILE",
        required = false,
        required_unless_present = "explain"
    )]
    file: PathBuf,

    #[command(flatten)]
    filters: FilterArguments,

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

    /// Explain what this command does, and do nothing
    #[arg(long = "explain", id = "explain", global = true)]
    _explain: bool,

    #[command(subcommand)]
    command: Option<RowCommand>,
}

/// What to do with single rows.
#[derive(Debug, Subcommand)]
enum RowCommand {
    /// Show one row in full
    Show(rows::ShowArguments),
    /// Send the request of a row again, and show what comes back beside what was recorded
    Replay(Box<rows::ReplayArguments>),
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
pub async fn run(arguments: &Arguments) -> Result {
    let Arguments { file, filters, .. } = arguments;
    let read = std::slice::from_ref(file);
    let reports = &arguments.report.resolve_with(arguments.json, &[], read)?;
    if arguments.report.is_given() && (arguments.follow || arguments.export.is_some()) {
        return refuse(
            "--report cannot be combined with --follow or --export",
            "leave one of them out",
        );
    }
    if let Some(command) = &arguments.command {
        // What chooses among many rows does nothing for one that is named.
        if filters.is_given() || arguments.follow || arguments.export.is_some() {
            return refuse(
                "filters, --follow and --export cannot be combined with show, replay or compare",
                "leave them out, or leave out show, replay or compare",
            );
        }
        return reports.conclude(of_rows(file, command, reports).await);
    }
    if arguments.follow {
        return follow::run(file, filters, arguments.json).await;
    }
    let reader = AuditReader::open(file).map_err(Failure::from);
    let ended = reader.and_then(|reader| match arguments.export {
        None => listing::list(&reader, file, filters, reports),
        Some(format) => {
            let output = arguments.output.as_deref();
            listing::export(&reader, file, filters, format.into(), output)
        }
    });
    reports.conclude(ended)
}

async fn of_rows(file: &Path, command: &RowCommand, reports: &Reports) -> Result {
    let reader = AuditReader::open(file)?;
    match command {
        RowCommand::Show(arguments) => rows::show(&reader, arguments, reports),
        RowCommand::Compare(arguments) => rows::compare(&reader, arguments, reports),
        RowCommand::Replay(arguments) => rows::replay(&reader, arguments, reports).await,
    }
}

/// Standard output does not take a row.
#[allow(clippy::needless_pass_by_value)] // As `map_err` gives it.
fn unprinted(error: io::Error) -> Failure {
    Failure::new(
        format!("not all rows could be written to standard output: {error}"),
        "check the disk or device that it goes to",
    )
}
