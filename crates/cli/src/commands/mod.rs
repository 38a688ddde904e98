//! One file per command: its arguments, its `--explain` text, and what it does.

pub mod completions;
pub mod demo;
pub mod doctor;
pub mod fixture;
pub mod probe;
pub mod schema;

use std::process::ExitCode;

use crate::arguments::Command;
use crate::failure::Failure;

/// A check or gate failed.
pub const FINDING: u8 = 1;

/// Runs a command.
pub async fn run(command: Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Demo(arguments) => demo::run(&arguments).await,
        Command::Probe(arguments) => probe::run(&arguments).await,
        Command::Doctor(arguments) => doctor::run(&arguments).await,
        Command::Schema(arguments) => schema::run(&arguments),
        Command::Completions(arguments) => completions::run(&arguments),
        Command::Fixture(arguments) => fixture::run(&arguments).await,
    }
}
