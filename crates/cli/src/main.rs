//! The `mcprove` command: arguments in, printing and exit codes out.

mod arguments;
mod commands;
mod exit;
mod failure;
mod fault_help;
mod flag_names;
mod interrupt;
mod listen_address;
mod load_arguments;
mod load_run;
mod output_file;
mod patient_stderr;
mod serving;
mod sides;
mod target;
mod terminal;

use clap::Parser;
use mcprove::process::{self, OwnLimit};

use crate::arguments::Cli;
use crate::exit::ExitCode;
use crate::failure::Failure;

/// The exit code after a panic, as of every Rust program.
const PANICKED: i32 = 101;

fn main() -> std::process::ExitCode {
    // A server is started through this very program, so that it dies when we do.
    let mut arguments = std::env::args_os().skip(1);
    if arguments
        .next()
        .is_some_and(|first| first == process::LAUNCH_ARGUMENT)
    {
        terminal::print_error(&format!("mcprove: {}\n", process::launch(arguments)));
        return process::LAUNCH_FAILED.into();
    }
    let cli = Cli::parse();
    if let Ok(program) = std::env::current_exe() {
        process::set_launcher(program);
    }
    // Without it only the children of a server that left its process group could stay behind.
    let _ = process::become_reaper();
    process::raise_descriptor_limit();
    end_children_on_panic();
    exit_in_order_without_memory();
    let code = run(cli);
    process::shut_down();
    code.number().into()
}

fn run(cli: Cli) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let outcome = match runtime {
        Ok(runtime) => {
            let outcome = runtime.block_on(commands::run(cli.command));
            // A read of stdin or a hung lookup may still occupy a thread; nothing waits for it.
            runtime.shutdown_background();
            outcome
        }
        Err(error) => Err(Failure::from(anyhow::Error::from(error))),
    };
    let code = match outcome {
        Ok(code) => code,
        Err(failure) => failure.report(),
    };
    if !terminal::is_cut() {
        return code;
    }
    let cut = Failure::new(
        "standard output did not take all that was printed",
        "check the disk or device that it goes to",
    );
    code.max(cut.report())
}

/// A panic of ours must not leave servers behind; nor does the program go on without what panicked, unless
/// that was one test of a suite, which then counts as one that could not be done. (Where a panic aborts
/// there is no going on.)
fn end_children_on_panic() {
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let limit = info.payload_as_str().and_then(OwnLimit::of_panic);
        match limit {
            Some(limit) => {
                failure::ran_out(limit).report();
            }
            None => default(info),
        }
        if cfg!(panic = "unwind") && mcprove::run::suite::is_contained() {
            return;
        }
        process::shut_down();
        std::process::exit(match limit {
            Some(_) => i32::from(ExitCode::CouldNotRun.number()),
            None => PANICKED,
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
