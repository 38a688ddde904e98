//! `cargo xtask test`: everything that must hold before a change goes in. The tests come last, so
//! that the last lines on the screen are the summary of the test runner.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::crates::Crates;
use crate::step::{advise, announce, describe, run_step, succeeds};
use crate::workspace::Workspace;
use crate::{additions, docs, install, schema, small_build};

#[derive(Args)]
pub struct Options {
    /// Take the real servers as they are; tests without their server are skipped
    #[arg(long)]
    skip_install: bool,
    /// Test only what depends on what changed since the last commit, without real servers and slow tests
    #[arg(long)]
    quick: bool,
    /// Arguments for the test runner
    #[arg(last = true, value_name = "ARGUMENT")]
    runner: Vec<String>,
}

pub fn run(workspace: &Workspace, options: &Options) -> Result<ExitCode> {
    if options.quick {
        return run_quick(workspace, options);
    }
    if !options.skip_install {
        install::run(workspace)?;
    }
    let cargo = |arguments: &[&str]| workspace.cargo(arguments.iter().copied());
    let format = run_step("format", cargo(&["fmt", "--all", "--check"]));
    advise(format, "`cargo fmt --all` puts it right")?;
    let clippy = [
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ];
    run_step("clippy", cargo(&clippy))?;
    small_build::run(workspace)?;
    let in_ci = std::env::var("CI").is_ok_and(|value| value == "true");
    check_windows(workspace, in_ci)?;
    schema::run(workspace, &schema::Options::default())?;
    docs::run(workspace)?;
    additions::run(workspace)?;
    let mut tests = if succeeds(&mut cargo(&["nextest", "--version"])) {
        run_step(
            "doctests",
            with_environment(
                workspace,
                cargo(&["test", "--quiet", "--doc", "--workspace"]),
                in_ci,
            ),
        )?;
        let profile = if in_ci { "ci" } else { "default" };
        cargo(&["nextest", "run", "--workspace", "--profile", profile])
    } else {
        announce("tests", "cargo-nextest is not installed, using cargo test");
        cargo(&["test", "--workspace", "--no-fail-fast"])
    };
    tests.args(&options.runner);
    run_tests(with_environment(workspace, tests, in_ci))
}

/// What a change of a few lines needs: the packages that depend on it, and of their tests the fast ones.
fn run_quick(workspace: &Workspace, options: &Options) -> Result<ExitCode> {
    let crates = Crates::read(workspace)?;
    let files = changed_files(workspace)?;
    let changed = files.iter().filter_map(|file| crates.of_file(file));
    let changed: BTreeSet<String> = changed.map(str::to_owned).collect();
    if changed.is_empty() {
        announce(
            "quick",
            "nothing changed in any package since the last commit",
        );
        return Ok(ExitCode::SUCCESS);
    }
    let depending: Vec<String> = changed.iter().map(|it| format!("rdeps(={it})")).collect();
    run_step("format", workspace.cargo(["fmt", "--all", "--check"]))?;
    // The whole workspace, so that what others were built with stays as it is.
    let mut tests = workspace.cargo(["nextest", "run", "--workspace", "--profile", "quick"]);
    tests.args(["--filterset", &depending.join(" | ")]);
    tests
        .args(&options.runner)
        .env_remove(harness::REQUIRE_ALL_VARIABLE);
    run_tests(tests)
}

/// What differs from the last commit, new files included.
fn changed_files(workspace: &Workspace) -> Result<Vec<String>> {
    let mut files = Vec::new();
    for arguments in [
        &["diff", "--name-only", "HEAD"][..],
        &["ls-files", "--others", "--exclude-standard"],
    ] {
        let output = workspace.command("git").args(arguments).output()?;
        let names = String::from_utf8_lossy(&output.stdout);
        files.extend(names.lines().map(str::to_owned));
    }
    Ok(files)
}

/// The program is for Windows too. Its C parts need a compiler for it.
fn check_windows(workspace: &Workspace, in_ci: bool) -> Result<()> {
    const TARGET: &str = "x86_64-pc-windows-gnu";
    let mut compiler = workspace.command("x86_64-w64-mingw32-gcc");
    if !has_target(workspace, TARGET) || !succeeds(compiler.arg("--version")) {
        let how = "`rustup target add` and mingw-w64 make it possible";
        ensure!(!in_ci, "windows: {TARGET} is not installed ({how})");
        announce(
            "windows",
            &format!("{TARGET} is not installed, not checked ({how})"),
        );
        return Ok(());
    }
    let check = ["check", "--package", "mcprove", "--target", TARGET];
    let mut command = workspace.cargo(check);
    command.env("RUSTFLAGS", "-D warnings");
    run_step("windows", command)
}

fn has_target(workspace: &Workspace, target: &str) -> bool {
    let arguments = ["--print", "target-libdir", "--target", target];
    let output = workspace.command("rustc").args(arguments).output();
    let folder = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    folder.is_ok_and(|folder| Path::new(&folder).is_dir())
}

fn with_environment(workspace: &Workspace, mut command: Command, in_ci: bool) -> Command {
    command
        .env("MCPROVE_REAL_SERVERS", workspace.real_servers().folder())
        .env("PYTHONDONTWRITEBYTECODE", "1");
    if in_ci {
        command.env(harness::REQUIRE_ALL_VARIABLE, "1");
    }
    command
}

/// Ends with the runner's own summary and exit code; a line of ours would hide it.
fn run_tests(mut command: Command) -> Result<ExitCode> {
    announce("tests", &describe(&command));
    let status = command
        .stdin(Stdio::null())
        .status()
        .with_context(|| format!("cannot start {}", describe(&command)))?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}
