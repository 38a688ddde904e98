//! `mcprove doctor`: what commonly goes wrong, and one fix per line.

use mcprove_check::diagnosis;
use mcprove_check::report::doctor_document;

use crate::prelude::*;

/// Arguments of `mcprove doctor`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Print the checklist as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    report: ReportArguments,

    #[command(flatten)]
    target: TargetArguments,
}

/// Runs the command.
pub async fn run(arguments: &Arguments) -> Result {
    let reports = arguments.report.resolve(arguments.json)?;
    reports.conclude(perform(arguments, &reports).await)
}

async fn perform(arguments: &Arguments, reports: &Reports) -> Result {
    let server = arguments
        .target
        .is_given()
        .then(|| arguments.target.resolve());
    let server = server.transpose()?;
    let program = std::env::current_exe()?;
    let options = arguments.target.options()?;
    let items = interrupt::unless_requested(async {
        let mut items = diagnosis::examine_machine(&program).await;
        if let Some(server) = &server {
            items.extend(diagnosis::examine_server(server, options).await);
        }
        items
    })
    .await?;
    let server = server.map(|server| server.describe());
    reports.show(&doctor_document(&items, server.as_deref()), &json(&items)?);
    let is_well = items.iter().all(|item| item.passed || item.optional);
    Ok(ExitCode::worst([
        (!is_well, ExitCode::Finding),
        (items.iter().any(|item| item.ran_out), ExitCode::CouldNotRun),
    ]))
}
