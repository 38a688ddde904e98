//! Starts a server process and then ends in the way that its first argument names, to show that
//! the server ends with it:
//!
//! ```text
//! process_host killed|returned|panicked|aborted|thread-ended SHELL-SCRIPT
//! ```
//!
//! It copies what the server prints to its own stdout. Except for `killed`, it ends after the first
//! line. The tests of the process module run it.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use mcprove_client::process::{self, Child, StderrLog};
use mcprove_client::server::Server;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::runtime::Builder;

/// How long to stay, at most, while waiting for a signal.
const STAY: Duration = Duration::from_mins(1);

fn main() -> ExitCode {
    if let Some(code) = process::supervise(std::env::args_os()) {
        return code;
    }
    let mut arguments = std::env::args().skip(1);
    let ending = arguments.next().unwrap_or_default();
    let script = arguments.next().unwrap_or_default();
    let limit = mcprove_settings::own_limits::raise_descriptor_limit();
    println!("open files: {}", limit.unwrap_or_default());
    let program = std::env::current_exe().expect("this program has a file");
    let server = Server::stdio("sh")
        .args(["-c", script.as_str()])
        .with_supervisor(program);

    match ending.as_str() {
        "thread-ended" => {
            // The thread that asked for the process ends, and its runtime with it.
            let thread = std::thread::spawn(move || run(&server));
            if let Ok(child) = thread.join() {
                std::thread::sleep(Duration::from_millis(200));
                println!("still running: {}", child.exit_status().is_none());
            }
        }
        "panicked" => {
            std::mem::forget(run(&server));
            panic!("as asked");
        }
        "aborted" => {
            std::mem::forget(run(&server));
            std::process::abort();
        }
        "returned" => std::mem::forget(run(&server)),
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
        let (child, stdin, stdout) = start(server).await;
        copy_lines(stdout, 1).await;
        // As if the session still had it: the server must not end for want of input.
        std::mem::forget(stdin);
        child
    })
}

/// Stays until a signal ends this program.
async fn stay(server: &Server) {
    let (_child, _stdin, stdout) = start(server).await;
    copy_lines(stdout, usize::MAX).await;
    tokio::time::sleep(STAY).await;
}

async fn start(server: &Server) -> (Child, ChildStdin, ChildStdout) {
    let starting = Child::spawn(server, Arc::new(StderrLog::new()));
    starting.await.expect("the server starts")
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
