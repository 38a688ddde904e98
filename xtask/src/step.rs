//! One step of a task: says what runs, runs it, says how long it took.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};

/// Runs `work` between a line that says what it is and a line with the time it took.
pub fn step<T>(name: &str, what: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    announce(name, what);
    let start = Instant::now();
    let outcome = work().with_context(|| format!("{name} failed"))?;
    eprintln!("xtask: {name}: ok, {:.1} s", start.elapsed().as_secs_f64());
    Ok(outcome)
}

/// Runs a command as a step.
pub fn run_step(name: &str, mut command: Command) -> Result<()> {
    step(name, &describe(&command), || run(&mut command))
}

/// The line before a step.
pub fn announce(name: &str, what: &str) {
    eprintln!("xtask: {name}: {what}");
}

/// Runs `command` to its end, with our output and without input; anything but success is an error.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command
        .stdin(Stdio::null())
        .status()
        .with_context(|| format!("cannot start {}", describe(command)))?;
    if !status.success() {
        bail!("`{}` ended with {status}", describe(command));
    }
    Ok(())
}

/// Adds to a failure what to try.
pub fn advise<T>(outcome: Result<T>, advice: &str) -> Result<T> {
    outcome.map_err(|error| anyhow!("{error:#}; {advice}"))
}

/// The command line, with the program's name instead of its path.
pub fn describe(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_stem().unwrap_or(program.as_os_str());
    std::iter::once(name)
        .chain(command.get_args())
        .map(std::ffi::OsStr::to_string_lossy)
        .collect::<Vec<_>>()
        .join(" ")
}

/// Whether `command` starts and succeeds; its output is dropped.
pub fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
