//! `mcprove completions`.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::arguments::Cli;
use crate::exit::ExitCode;
use crate::failure::Failure;
use crate::terminal;

const EXPLANATION: &str = "\
What it does: prints a script that teaches a shell to complete the commands and flags of mcprove,
such as `mcprove completions bash > ~/.local/share/bash-completion/completions/mcprove`.
";

/// Arguments of `mcprove completions`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The shell to complete for
    #[arg(required_unless_present = "explain")]
    shell: Option<Shell>,

    /// Tell what this command does, and do nothing
    #[arg(long)]
    explain: bool,
}

/// Runs the command.
#[allow(clippy::unnecessary_wraps)] // Every command has this shape.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let (Some(shell), false) = (arguments.shell, arguments.explain) else {
        terminal::print(EXPLANATION);
        return Ok(ExitCode::SUCCESS);
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "mcprove", &mut script);
    terminal::print(&String::from_utf8_lossy(&script));
    Ok(ExitCode::SUCCESS)
}
