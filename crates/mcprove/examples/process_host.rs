//! Starts a server process and then ends in the way that its first argument names, to show that
//! the server ends with it:
//!
//! ```text
//! process_host killed|returned|panicked|terminated|kill-all|thread-ended SHELL-SCRIPT
//! ```
//!
//! It copies what the server prints to its own stdout. Except for `killed` and `terminated`, it
//! ends after the first line. The tests of the process module run it.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use mcprove::Server;
use mcprove::process::{self, Child, StderrLog};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::runtime::Builder;

/// How long to stay, at most, while waiting for a signal.
const STAY: Duration = Duration::from_mins(1);

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let ending = arguments.next().unwrap_or_default();
    if ending == process::LAUNCH_ARGUMENT {
        eprintln!("{}", process::launch(arguments));
        return process::LAUNCH_FAILED.into();
    }
    if let Ok(program) = std::env::current_exe() {
        process::set_launcher(program);
    }
    if let Err(error) = process::become_reaper() {
        eprintln!("cannot adopt orphans: {error}");
    }
    let limit = process::raise_descriptor_limit();
    println!("open files: {}", limit.unwrap_or_default());
    let script = arguments
        .next()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let server = Server::stdio("sh").args(["-c", script.as_str()]);

    match ending.to_str() {
        Some("thread-ended") => {
            // The thread that asked for the process ends, and its runtime with it.
            let thread = std::thread::spawn(move || run(&server));
            if let Ok(child) = thread.join() {
                std::thread::sleep(Duration::from_millis(200));
                println!("still running: {}", child.exit_status().is_none());
            }
        }
        Some("panicked") => {
            std::panic::set_hook(Box::new(|_| process::shut_down()));
            let child = run(&server);
            std::mem::forget(child);
            panic!("as asked");
        }
        Some("kill-all") => {
            let child = run(&server);
            process::kill_all();
            let runtime = runtime();
            println!("killed: {}", runtime.block_on(child.wait()));
            std::mem::forget(child);
        }
        Some("returned") => {
            std::mem::forget(run(&server));
            process::shut_down();
        }
        _ => runtime().block_on(stay(&server)),
    }
    ExitCode::SUCCESS
}

fn runtime() -> tokio::runtime::Runtime {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime starts")
}

/// Starts the server, in a runtime that is gone afterwards, and copies its first line.
fn run(server: &Server) -> Child {
    runtime().block_on(async {
        let (child, stdin, stdout) = start(server);
        copy_lines(stdout, 1).await;
        // As if the session still had it: the server must not end for want of input.
        std::mem::forget(stdin);
        child
    })
}

/// Stays until a signal ends this program.
async fn stay(server: &Server) {
    let (_child, _stdin, stdout) = start(server);
    #[cfg(unix)]
    tokio::spawn(async {
        use tokio::signal::unix::{SignalKind, signal};

        let mut signals = signal(SignalKind::terminate()).expect("the signal can be handled");
        signals.recv().await;
        process::shut_down();
        std::process::exit(1);
    });
    copy_lines(stdout, usize::MAX).await;
    tokio::time::sleep(STAY).await;
}

fn start(server: &Server) -> (Child, ChildStdin, ChildStdout) {
    Child::spawn(server, Arc::new(StderrLog::new())).expect("the server starts")
}

async fn copy_lines(stdout: ChildStdout, count: usize) {
    let mut lines = BufReader::new(stdout).lines();
    for _ in 0..count {
        match lines.next_line().await {
            Ok(Some(line)) => println!("{line}"),
            Ok(None) | Err(_) => break,
        }
    }
}
