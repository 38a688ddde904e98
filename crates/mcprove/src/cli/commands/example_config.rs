//! `mcprove example-config`: a load configuration to start from.

use mcprove_load::config::example;

use crate::prelude::*;

/// Arguments of `mcprove example-config`.
#[derive(Debug, Args)]
pub struct Arguments {}

/// Runs the command.
#[allow(clippy::unnecessary_wraps)] // Every command has this shape.
pub fn run(_: &Arguments) -> Result<ExitCode, Failure> {
    terminal::print(example());
    Ok(ExitCode::SUCCESS)
}
