//! `mcprove runs`: saved runs.

use mcprove_load::report::runs_document;
use mcprove_load::run::list_runs;

use crate::prelude::*;

/// Where runs are unless told otherwise.
const DIRECTORY: &str = "runs";

/// Arguments of `mcprove runs`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The directory that holds the runs [default: ./runs]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,

    /// How many, the newest
    #[arg(long, value_name = "COUNT", default_value_t = 20, value_parser = reads::<usize>("limit", kind::limit(1)))]
    limit: usize,

    /// Print the list as JSON (format runs.v1)
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    report: ReportArguments,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result {
    let reports = arguments.report.resolve(arguments.json)?;
    reports.conclude(perform(arguments, &reports))
}

fn perform(arguments: &Arguments, reports: &Reports) -> Result {
    let base = arguments.dir.clone().unwrap_or_else(|| DIRECTORY.into());
    let limit = arguments.limit;
    let listed = list_runs(&base, limit).or_else(|error| match error.kind() {
        // Nobody has made a run yet: that is no mistake.
        io::ErrorKind::NotFound if arguments.dir.is_none() => Ok(Vec::new()),
        _ => refuse(
            format!("{}: {error}", base.display()),
            "give the directory that holds the runs: --dir DIR",
        ),
    });
    let entries = listed?;
    let mut document = runs_document(&entries, &base);
    if entries.len() == limit {
        let more = format!("The newest {limit}; --limit COUNT shows more.");
        document.push(Section::default().paragraph(more));
    }
    reports.show(&document, &RunList::new(&entries).to_json());
    let mut unread = entries.into_iter().filter_map(|it| it.report.err());
    match unread.find(|error| matches!(error, FormatError::Other { .. })) {
        Some(error) => Err(error.into()),
        None => Ok(ExitCode::Passed),
    }
}
