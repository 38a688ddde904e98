//! `mcprove lab`: the server that fails on purpose, and the record of what it was asked.

mod audit;
mod keys;
mod serve;

use crate::prelude::*;

/// Arguments of `mcprove lab`.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "It ends when its client closes stdin, or with Ctrl-C: exit code 0 both times."
)]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<LabCommand>,

    #[command(flatten)]
    serve: serve::ServeArguments,
}

/// What to do beside serving.
#[derive(Debug, Subcommand)]
enum LabCommand {
    /// Look into what the lab was asked: list, follow, export, show, replay, compare
    Audit(Box<audit::Arguments>),
}

/// Runs the command.
pub async fn run(arguments: &Arguments) -> Result {
    match &arguments.command {
        Some(LabCommand::Audit(arguments)) => audit::run(arguments).await,
        None => serve::run(&arguments.serve).await,
    }
}
