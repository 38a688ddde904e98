//! One file per command: its arguments, and what it does.

pub mod compare;
pub mod completions;
pub mod deadlock_probe;
pub mod demo;
pub mod doctor;
pub mod example_config;
pub mod fixture;
pub mod folder;
pub mod init;
pub mod lab;
pub mod list_scenarios;
pub mod mock;
pub mod probe;
pub mod proxy;
pub mod report;
pub mod run;
pub mod runs;
pub mod schema;
pub mod score;
pub mod validate;

use clap::ArgMatches;

use crate::arguments::Command;
use crate::{ExitCode, Failure};

/// Runs a command; `matches` is the whole command line.
pub async fn run(command: Command, matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let typed = matches.subcommand().map_or(matches, |(_, own)| own);
    match command {
        Command::Demo(arguments) => demo::run(&arguments).await,
        Command::Init(arguments) => init::run(&arguments).await,
        Command::Mock(arguments) => mock::run(&arguments).await,
        Command::Probe(arguments) => probe::run(&arguments).await,
        Command::Proxy(arguments) => proxy::run(&arguments).await,
        Command::DeadlockProbe(arguments) => deadlock_probe::run(&arguments).await,
        Command::Run(arguments) => run::run(&arguments, typed).await,
        Command::Validate(arguments) => validate::run(&arguments),
        Command::ListScenarios(arguments) => list_scenarios::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments).await,
        Command::ExampleConfig(arguments) => example_config::run(&arguments),
        Command::Schema(arguments) => schema::run(&arguments),
        Command::Report(arguments) => report::run(&arguments),
        Command::Compare(arguments) => compare::run(&arguments, typed).await,
        Command::Runs(arguments) => runs::run(&arguments),
        Command::Score(arguments) => score::run(&arguments),
        Command::Lab(arguments) => lab::run(&arguments).await,
        Command::Completions(arguments) => completions::run(&arguments),
        Command::Fixture(arguments) => fixture::run(&arguments).await,
    }
}
