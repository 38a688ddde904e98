//! The command line.

use clap::{CommandFactory, Parser, Subcommand};

use crate::commands::{
    compare, completions, deadlock_probe, demo, doctor, example_config, fixture, init, lab,
    list_scenarios, mock, probe, proxy, report, run, runs, schema, score, validate,
};
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

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// A guided half-minute on built-in servers: what mcprove finds and how it reports it
    Demo(demo::Arguments),
    /// Connect, list the tools, call each once with generated arguments, and show their health
    Probe(Box<probe::Arguments>),
    /// Make many first calls at the same instant, and report whether the server deadlocks
    DeadlockProbe(Box<deadlock_probe::Arguments>),
    /// Run test suites for servers and agents, or a load, and report pass or fail
    Run(Box<run::Arguments>),
    /// Write a first suite for a server, from its tools
    Init(Box<init::Arguments>),
    /// Check files without running anything: suites, load configurations, gates, faults, tools
    Validate(validate::Arguments),
    /// Serve the tools of a file, healthy or with faults
    Mock(mock::Arguments),
    /// Run a server that fails on purpose, and look into what it was asked
    Lab(lab::Arguments),
    /// Stand between a client and a server: record what passes, inject faults
    Proxy(Box<proxy::Arguments>),
    /// Score the traces of an agent: right calls, steady, recovered, truthful; no model is asked
    Score(score::Arguments),
    /// Recompute the report of a run from its trace, print it and regenerate its files
    Report(report::Arguments),
    /// Compare two sets of runs, or two servers, statistically
    Compare(Box<compare::Arguments>),
    /// List saved runs
    Runs(runs::Arguments),
    /// List the scenarios of `run`, with all options
    ListScenarios(list_scenarios::Arguments),
    /// Find common problems on this machine or with a server, and how to fix them
    Doctor(Box<doctor::Arguments>),
    /// Print a load configuration with every setting explained, to start from
    ExampleConfig(example_config::Arguments),
    /// Print the JSON Schema of a file format
    Schema(schema::Arguments),
    /// Print a completion script for a shell
    Completions(completions::Arguments),
    /// Run a built-in server, healthy or faulty
    #[command(hide = true)]
    Fixture(fixture::Arguments),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }
}
