//! `mcprove example-config`: a load configuration to start from.

use clap::Args;
use mcprove_load::config as load;

use crate::exit::ExitCode;
use crate::failure::Failure;
use crate::terminal;

const EXPLANATION: &str = "\
What it does: prints a load configuration in which every scenario and every setting is explained, with
its default. It is valid as it is; edit the server and the tools:

  mcprove example-config > bench.toml
  mcprove run bench.toml

The same structure in YAML works too. `mcprove schema config` prints a JSON Schema of it, with which
editors complete and check such files.
";

/// Arguments of `mcprove example-config`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Tell what this command does, and do nothing
    #[arg(long)]
    explain: bool,
}

/// Runs the command.
#[allow(clippy::unnecessary_wraps)] // Every command has this shape.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    terminal::print(if arguments.explain {
        EXPLANATION
    } else {
        load::example()
    });
    Ok(ExitCode::SUCCESS)
}
