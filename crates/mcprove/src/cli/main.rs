//! The `mcprove` command: arguments in, printing and exit codes out.

mod arguments;
mod commands;
mod exit;
mod explain;
mod failure;
mod fault_arguments;
mod interrupt;
mod load_arguments;
mod load_run;
mod losses;
mod output_file;
mod patient_stderr;
mod prelude;
mod reports;
mod serving;
mod target;
mod terminal;

use std::io::Write as _;

use clap::FromArgMatches as _;
use mcprove_client::process;
use mcprove_settings::message::spell_as;
use mcprove_settings::own_limits;

use crate::arguments::Cli;
use crate::prelude::*;

/// The exit code after a panic, as of every Rust program.
const PANICKED: i32 = 101;

fn main() -> std::process::ExitCode {
    // Every server has this very program as its supervisor, which ends it when we end.
    if let Some(code) = process::supervise(std::env::args_os()) {
        return code;
    }
    let mut command = arguments::command();
    let matches = command.try_get_matches_from_mut(std::env::args_os());
    let words = std::env::args_os().skip(1);
    let spelling = load_arguments::spelling(words, matches.as_ref().ok(), &command);
    spell_as(spelling);
    let matches = matches.unwrap_or_else(|error| leave(&error));
    if let Some(explanation) = explain::asked_for(&matches) {
        terminal::print(&explanation);
        return losses::report(ExitCode::Passed).number().into();
    }
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| leave(&error));
    own_limits::raise_descriptor_limit();
    end_on_panic();
    exit_in_order_without_memory();
    if let Some(limit) = OwnLimit::of_little_memory() {
        let hint = limit.hint().rendered();
        terminal::print_error(&format!(
            "warning: little memory is allowed; if it runs out, {hint}\n"
        ));
    }
    run(cli, &matches).number().into()
}

/// Prints what is wrong with the arguments, or the help that was asked for, which must arrive whole.
fn leave(error: &clap::Error) -> ! {
    if let Some(failure) = Failure::of_arguments(error) {
        std::process::exit(failure.report().number().into());
    }
    let printed = error.print().and_then(|()| std::io::stdout().flush());
    let code = match printed {
        Err(lost) if lost.kind() != std::io::ErrorKind::BrokenPipe => {
            terminal::print_error(&format!("error: standard output was not written: {lost}\n"));
            i32::from(ExitCode::CouldNotRun.number())
        }
        _ => error.exit_code(),
    };
    std::process::exit(code)
}

fn run(cli: Cli, matches: &ArgMatches) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let outcome = match runtime {
        Ok(runtime) => {
            let outcome = runtime.block_on(async {
                own_limits::outlive_file_size_limit();
                commands::run(cli.command, matches).await
            });
            // A read of stdin or a hung lookup may still occupy a thread; nothing waits for it.
            runtime.shutdown_background();
            outcome
        }
        Err(error) => Err(error.into()),
    };
    losses::report(outcome.unwrap_or_else(|failure| failure.report()))
}

/// The program does not go on without what panicked, unless that was one test of a suite or a sink, which then
/// counts as one that could not be done.
fn end_on_panic() {
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let limit = info.payload_as_str().and_then(OwnLimit::of_panic);
        match limit {
            Some(limit) => {
                Failure::from(limit).report();
            }
            None => default(info),
        }
        if mcprove_trace::panic_guard::is_contained() {
            return;
        }
        std::process::exit(if limit.is_some() {
            i32::from(ExitCode::CouldNotRun.number())
        } else {
            PANICKED
        });
    }));
}

/// Rust aborts when there is no memory left, after it said so. That is an error of ours, as any other.
fn exit_in_order_without_memory() {
    #[cfg(unix)]
    {
        let always = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
        let code = i32::from(ExitCode::CouldNotRun.number());
        let abort = signal_hook::consts::SIGABRT;
        // Without it only the exit code is another.
        let _ = signal_hook::flag::register_conditional_shutdown(abort, code, always);
    }
}
