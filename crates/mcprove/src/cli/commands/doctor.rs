//! `mcprove doctor`: what commonly goes wrong, and one fix per line.

use clap::Args;
use mcprove_check::diagnosis;
use mcprove_check::report::doctor_document;

use crate::exit::ExitCode;
use crate::failure::Failure;
use crate::reports::{ReportArguments, json};
use crate::target::{ServerArguments, SessionArguments};
use crate::{interrupt, terminal};

const EXPLANATION: &str = "\
What it does, without a server: looks whether the programs that servers are commonly written in are
on PATH, whether a built-in server can be started and spoken to, how many files may be open, how
much lies in ./runs, and on Windows whether the toolchains fit together.
With a server it also starts it, agrees on a revision, lists its tools, watches for noise on stdout,
and looks whether it exits when its input closes; what fails is shown with the server's stderr.
Every failed item comes with one line that says how to mend it.

Exit code: 0 all is well, 1 an item failed that every server needs, 2 mcprove itself ran out of files,
memory or processes.
";

/// Arguments of `mcprove doctor`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Print the checklist as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    report: ReportArguments,

    /// Tell what this command does, and do nothing
    #[arg(long)]
    explain: bool,

    #[command(flatten)]
    server: ServerArguments,

    #[command(flatten)]
    session: SessionArguments,
}

/// Runs the command.
pub async fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    if arguments.explain {
        terminal::print(EXPLANATION);
        return Ok(ExitCode::SUCCESS);
    }
    let reports = arguments.report.resolve(arguments.json)?;
    let server = if arguments.server.is_given() {
        Some(arguments.server.resolve(&arguments.session)?)
    } else {
        None
    };
    let program = std::env::current_exe().map_err(anyhow::Error::from)?;
    let options = arguments.session.options(&arguments.server);
    let examination = async {
        let mut items = diagnosis::examine_machine(&program).await;
        if let Some(server) = &server {
            items.extend(diagnosis::examine_server(server, options).await);
        }
        items
    };
    let items = tokio::select! {
        items = examination => items,
        () = interrupt::requested() => return Err(Failure::interrupted()),
    };
    let server = server.map(|server| server.describe());
    reports.show(&doctor_document(&items, server.as_deref()), &json(&items)?);
    let is_well = items.iter().all(|item| item.passed || item.optional);
    Ok(ExitCode::worst([
        (!is_well, ExitCode::Finding),
        (items.iter().any(|item| item.ran_out), ExitCode::CouldNotRun),
    ]))
}
