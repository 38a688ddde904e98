//! Many calls of tools on a real server, beside the same calls by the client alone.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use harness::{RealServers, ServerKind};
use mcprove_client::server::Server;
use mcprove_client::session::{Session, SessionOptions};
use mcprove_trace::stream::EventStream;
use measuring::{Figure, Outcome, Selection, median, program, runtime};
use serde_json::json;

use super::{ROUNDS, run_suite};

/// Tests of tools.
const TESTS: usize = 500;
/// The same with `--quick`.
const TESTS_QUICK: usize = 50;
/// The most seconds that they may take.
const SECONDS_MAX: f64 = 20.0;
/// Measures them, if they are wanted.
pub fn measure(selection: &Selection) -> Outcome<()> {
    let is_quick = selection.has("--quick");
    let tests = if is_quick { TESTS_QUICK } else { TESTS };
    let name = format!("suite, {tests} tests of tools on server-everything");
    if !selection.wants(&name) {
        return Ok(());
    }
    let Some(servers) = RealServers::locate() else {
        eprintln!("{name}: left out, because `cargo xtask setup` did not install the server");
        return Ok(());
    };
    let command = servers.stdio(ServerKind::Everything);
    let mut words = vec![command.program.display().to_string()];
    words.extend(command.args);
    let folder = tempfile::tempdir()?;
    let suite = write_suite(folder.path(), &words, tests)?;
    let program = program()?;
    let seconds = median(ROUNDS, || run_suite(&program, &suite))?;
    let bare = median(ROUNDS, || call_alone(&words, tests))?;
    let figure = Figure::new(name, seconds, "s");
    let figure = if is_quick {
        figure
    } else {
        figure.at_most(SECONDS_MAX)
    };
    figure
        .beside(format!("{bare:.2} s by the client alone"))
        .print();
    Ok(())
}

/// A suite in which each test calls `echo` and looks at the answer.
fn write_suite(folder: &Path, words: &[String], tests: usize) -> Outcome<PathBuf> {
    let mut text = format!(
        "servers:\n  everything: {{ command: {} }}\ntools:\n",
        json!(words)
    );
    for number in 0..tests {
        let _ = writeln!(
            text,
            "  - {{ name: echo {number}, server: everything, tool: echo, \
             args: {{ message: message {number} }}, \
             expect: [{{ target: \"result.content[0].text\", matcher: {{ contains: message {number} }} }}] }}"
        );
    }
    let path = folder.join("suite.yml");
    std::fs::write(&path, text)?;
    Ok(path)
}

/// Seconds for the same calls, one after the other, on one session.
fn call_alone(words: &[String], calls: usize) -> Outcome<f64> {
    let (command, args) = words.split_first().ok_or("no command")?;
    let server = Server::stdio(command).args(args);
    let began = Instant::now();
    runtime()?.block_on(async {
        let recorder = EventStream::unobserved().recorder();
        let session =
            Session::connect_recorded(&server, SessionOptions::default(), recorder).await?;
        for number in 0..calls {
            let args = json!({ "message": format!("message {number}") });
            session.call_tool("echo", &args).await?;
        }
        session.close().await;
        Ok::<(), Box<dyn std::error::Error>>(())
    })?;
    Ok(began.elapsed().as_secs_f64())
}
