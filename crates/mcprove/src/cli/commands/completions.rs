//! `mcprove completions`.

use clap_complete::Shell;

use crate::arguments;
use crate::prelude::*;

/// Arguments of `mcprove completions`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The shell to complete for
    #[arg(required = false, required_unless_present = "explain")]
    shell: Shell,
}

/// Runs the command.
#[allow(clippy::unnecessary_wraps)] // Every command has this shape.
pub fn run(arguments: &Arguments) -> Result {
    let mut script = Vec::new();
    let mut command = arguments::command();
    clap_complete::generate(arguments.shell, &mut command, "mcprove", &mut script);
    terminal::print(&String::from_utf8_lossy(&script));
    Ok(ExitCode::Passed)
}
