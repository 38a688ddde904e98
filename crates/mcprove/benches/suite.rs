//! How long suites take: many calls of tools on a real server, beside the same calls by the client alone, and
//! many runs of a recorded agent, beside reading what was recorded.
//!
//! Run by `cargo xtask bench`. Prints one JSON object per figure on stdout. With `--quick` there are fewer
//! tests and runs, and no targets.

#[path = "suite/replay.rs"]
mod replay;
#[path = "suite/tools.rs"]
mod tools;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use measuring::{Outcome, Selection};

/// Each time is the median of this many rounds.
const ROUNDS: usize = 3;

fn main() -> Outcome<()> {
    let selection = Selection::from_arguments();
    tools::measure(&selection)?;
    replay::measure(&selection)
}

/// Seconds from start to end of the program on this suite.
fn run_suite(program: &str, suite: &Path) -> Outcome<f64> {
    let began = Instant::now();
    let mut command = command(program, suite);
    let status = command.stdout(Stdio::null()).status()?;
    // Tests that do not pass would be measured too cheaply.
    if status.success() {
        Ok(began.elapsed().as_secs_f64())
    } else {
        Err(format!("`mcprove run` ended with {status}").into())
    }
}

fn command(program: &str, suite: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .args(["run", "--report", "json"])
        .arg(suite)
        .arg("--out")
        .arg(suite.with_extension("runs"))
        .stdin(Stdio::null());
    command
}
