//! One file per command: its arguments, and what it does.

mod compare;
mod completions;
mod deadlock_probe;
mod demo;
mod doctor;
mod example_config;
mod fixture;
mod folder;
mod init;
mod lab;
mod list_scenarios;
mod mock;
mod probe;
mod proxy;
mod report;
mod run;
mod runs;
mod schema;
mod score;
mod validate;

pub use self::list_scenarios::with_default;
pub use self::run::Given;
use crate::prelude::*;

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// A guided half-minute on built-in servers: what mcprove finds and how it reports it
    Demo,
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
    ExampleConfig,
    /// Print the JSON Schema of a file format
    Schema(schema::Arguments),
    /// Print a completion script for a shell
    Completions(completions::Arguments),
    /// Run a built-in server, healthy or faulty
    #[command(hide = true)]
    Fixture(fixture::Arguments),
}

/// Runs a command; `matches` is the whole command line.
pub async fn run(command: Command, matches: &ArgMatches) -> Result {
    let typed = matches.subcommand().map_or(matches, |(_, own)| own);
    match command {
        Command::Demo => demo::run().await,
        Command::Init(arguments) => init::run(&arguments).await,
        Command::Mock(arguments) => mock::run(&arguments).await,
        Command::Probe(arguments) => probe::run(&arguments).await,
        Command::Proxy(arguments) => proxy::run(arguments).await,
        Command::DeadlockProbe(arguments) => deadlock_probe::run(&arguments).await,
        Command::Run(arguments) => run::run(&arguments, typed).await,
        Command::Validate(arguments) => validate::run(&arguments),
        Command::ListScenarios(arguments) => list_scenarios::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments).await,
        Command::ExampleConfig => example_config::run(),
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
