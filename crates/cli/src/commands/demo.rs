//! `mcprove demo`: a guided half-minute on built-in servers.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use mcprove::Server;
use mcprove::check::health::{self, ProbeOptions, ProbeReport};
use mcprove::event::EventStream;
use mcprove::report::probe_text;
use mcprove::session::SessionOptions;

use super::{FINDING, probe};
use crate::failure::Failure;
use crate::{interrupt, terminal};

const EXPLANATION: &str = "\
What it does: starts four servers that are built into mcprove, each as a process of its own, and
probes them: a healthy one, one whose first call hangs, one that stops answering altogether, and
one that logs to stdout. It passes when the first is found healthy and the others are caught.
It needs nothing installed, uses no network, and leaves nothing behind.
";

/// How long a call may take in the demo: long enough for any machine, short enough to watch.
const CALL_TIMEOUT: Duration = Duration::from_secs(3);

/// Arguments of `mcprove demo`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Tell what this command does, and do nothing
    #[arg(long)]
    explain: bool,
}

struct Act {
    mode: &'static str,
    story: &'static str,
    shall_pass: bool,
    lesson: &'static str,
}

const ACTS: &[Act] = &[
    Act {
        mode: "normal",
        story: "A healthy server: every tool answers.",
        shall_pass: true,
        lesson: "Exit code 0: nothing hung, and the protocol was kept.",
    },
    Act {
        mode: "lazy_init",
        story: "A server whose first call hangs, as lazy initialisation in a worker does.",
        shall_pass: false,
        lesson: "initialize and tools/list worked, so unit tests stay green; the call never returned.",
    },
    Act {
        mode: "broken",
        story: "A server whose first call blocks its event loop.",
        shall_pass: false,
        lesson: "Here nothing answers any more: another kind of bug, with another cure.",
    },
    Act {
        mode: "noise",
        story: "A server that logs to stdout, between its messages.",
        shall_pass: false,
        lesson: "The calls succeed here, and fail in clients that are less forgiving.",
    },
];

/// Runs the command.
pub async fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    if arguments.explain {
        terminal::print(EXPLANATION);
        return Ok(ExitCode::SUCCESS);
    }
    tokio::select! {
        code = play() => code,
        () = interrupt::requested() => Err(Failure::interrupted()),
    }
}

async fn play() -> Result<ExitCode, Failure> {
    let program = std::env::current_exe().map_err(anyhow::Error::from)?;
    let program = program.to_string_lossy();
    let mut surprises = 0;
    for (index, act) in ACTS.iter().enumerate() {
        terminal::print(&format!("{}. {}\n", index + 1, act.story));
        terminal::print(&format!(
            "   $ mcprove probe --call-timeout 3s -- mcprove fixture {}\n\n",
            act.mode
        ));
        let report = probe_mode(&program, act.mode).await?;
        let mut style = terminal::style();
        style.width -= 3;
        for line in probe_text(&report, style).lines() {
            terminal::print(&format!("{}\n", format!("   {line}").trim_end()));
        }
        terminal::print(&format!("\n   {}\n\n", act.lesson));
        if report.passed != act.shall_pass {
            surprises += 1;
        }
    }
    if surprises > 0 {
        terminal::print("The demo did not go as it should: please report this.\n");
        return Ok(FINDING.into());
    }
    terminal::print(
        "Now yours:  mcprove probe -s \"python -m my_mcp\"      (or --url http://127.0.0.1:8080/mcp)\n",
    );
    Ok(ExitCode::SUCCESS)
}

async fn probe_mode(program: &str, mode: &str) -> Result<ProbeReport, Failure> {
    let server = Server::stdio(program).args(["fixture", mode]);
    let session = SessionOptions {
        call_timeout: CALL_TIMEOUT,
        ..SessionOptions::default()
    };
    let options = ProbeOptions {
        session,
        all: false,
    };
    let recorder = EventStream::unobserved().recorder();
    health::probe(
        &server,
        &options,
        recorder,
        &mut |_| {},
        std::future::pending(),
    )
    .await
    .map_err(probe::describe)
}
