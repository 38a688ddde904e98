//! The tasks of this workspace, run as `cargo xtask TASK`. Each task is a file of its own; what
//! they share is `workspace` (where things are) and `step` (running and reporting).

mod aa;
mod additions;
mod bench;
mod crates;
mod docs;
mod field;
mod honest;
mod install;
mod rules;
mod schema;
mod small_build;
mod sources;
mod step;
mod test;
mod workspace;

use std::process::ExitCode;

use anyhow::Result;
use clap::{CommandFactory, Parser, Subcommand};

use crate::workspace::Workspace;

/// The tasks of this workspace.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Option<Task>,
}

#[derive(Subcommand)]
enum Task {
    /// Install the real servers, then check and test everything
    Test(test::Options),
    /// Install the pinned real servers under target/real-servers
    Setup,
    /// Compare the committed JSON schemas with what the program prints
    Schema(schema::Options),
    /// Check the links of the documents, and that no file names a machine
    Docs,
    /// Build the changes that CONTRIBUTING.md shows whole, in a copy of the workspace
    Additions,
    /// Check on public servers that no default command changes or kills anything
    Field(field::Options),
    /// Compare servers with themselves and with slower ones: no false alarm, no missed difference
    Aa(aa::Options),
    /// Run everything on honest servers: no false alarm
    Honest(honest::Options),
    /// Measure, and compare with the targets
    Bench(bench::Options),
}

fn main() -> ExitCode {
    match run(Arguments::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask: error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> Result<ExitCode> {
    let Some(task) = arguments.task else {
        Arguments::command().print_help()?;
        return Ok(ExitCode::SUCCESS);
    };
    let workspace = Workspace::find()?;
    match task {
        Task::Test(options) => return test::run(&workspace, &options),
        Task::Field(options) => return field::run(&workspace, &options),
        Task::Aa(options) => return aa::run(&workspace, &options),
        Task::Honest(options) => return honest::run(&workspace, &options),
        Task::Bench(options) => return bench::run(&workspace, &options),
        Task::Setup => install::run(&workspace)?,
        Task::Schema(options) => schema::run(&workspace, &options)?,
        Task::Docs => docs::run(&workspace)?,
        Task::Additions => additions::run(&workspace)?,
    }
    Ok(ExitCode::SUCCESS)
}
