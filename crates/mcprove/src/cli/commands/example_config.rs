//! `mcprove example-config`: a load configuration to start from.

use mcprove_load::config::example;

use crate::prelude::*;

/// Runs the command.
#[allow(clippy::unnecessary_wraps)] // Every command has this shape.
pub fn run() -> Result {
    terminal::print(example());
    Ok(ExitCode::Passed)
}
