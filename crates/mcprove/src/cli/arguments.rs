//! The command line.

use clap::{CommandFactory, Parser};

use crate::commands::Command;
use crate::explain::with_flag;

/// Proves that an MCP server, and the agents that use it, hold up.
#[derive(Debug, Parser)]
#[command(
    name = "mcprove",
    version,
    about,
    long_about = "Proves that an MCP server, and the agents that use it, hold up: under load, under \
                  injected faults, under bad input and over repeated runs.",
    after_help = "Exit codes: 0 passed, 1 a finding, 2 the run could not be done, 130 interrupted.\n\
                  Start with `mcprove demo`.",
    term_width = 80,
    subcommand_required = true,
    arg_required_else_help = true
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The command line, with what every command has, and the further formats of some reports.
pub fn command() -> clap::Command {
    let tests = "Report format: terminal, markdown, html or json; of suites also junit, tap and github; repeatable. \
                 With =FILE it is written to a file";
    let scores = "Report format: terminal, markdown, html, json or junit; repeatable. With =FILE it is written to a \
                  file";
    Cli::command()
        .mut_subcommands(with_flag)
        .mut_subcommand("run", |run| run.mut_arg("report", |it| it.help(tests)))
        .mut_subcommand("score", |score| {
            score.mut_arg("report", |it| it.help(scores))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }
}
