//! `cargo xtask aa`: `mcprove compare` on servers that are the same raises no alarm, whatever makes
//! their runs differ, and finds one whose calls take a fifth longer. It takes half an hour; the
//! tests of `mcprove-score` do the same in virtual time (`compare/tests/simulated.rs`).

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitCode, Stdio};

use anyhow::{Context, Result};
use clap::Args;
use serde_json::Value;

use crate::step::{announce, run_step};
use crate::workspace::Workspace;

#[derive(Args)]
pub struct Options {
    /// How many times servers are compared with themselves, over all kinds
    #[arg(long, default_value_t = 40)]
    same: u32,
    /// How many times a server is compared with one that is a fifth slower
    #[arg(long, default_value_t = 20)]
    slower: u32,
    /// How long each run takes
    #[arg(long, default_value = "1s")]
    duration: String,
}

/// What an honest server does that makes its runs differ.
const KINDS: [(&str, &[&str]); 5] = [
    ("plain", &[]),
    ("errors", &["error_every=23"]),
    ("pauses", &["pause_ms=150", "pause_every_ms=1700"]),
    ("quota", &["quota=4500", "quota_period_ms=7300"]),
    (
        "errors, pauses and quota",
        &[
            "error_every=23",
            "pause_ms=150",
            "pause_every_ms=1700",
            "quota=4500",
            "quota_period_ms=7300",
        ],
    ),
];
/// How long the calls of a server take, and those of one that is a fifth slower.
const USUAL: &str = "delay_ms=10";
const SLOWER: &str = "delay_ms=12";
/// How many slower servers may be missed, of twenty.
const MISSES_OF_TWENTY: u32 = 1;

/// One server behind all runs, so that what it counts and when it pauses goes on from one run to the next.
pub struct Listening {
    child: Child,
    pub url: String,
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn run(workspace: &Workspace, options: &Options) -> Result<ExitCode> {
    run_step(
        "build",
        workspace.cargo(["build", "--quiet", "--package", "mcprove"]),
    )?;
    let program = workspace.binary("mcprove");
    let files = workspace.root().join("target/aa");
    let compare = |settings: &[&str], current: &str| -> Result<(String, Value)> {
        let server = |delay| {
            let settings = settings.iter().chain([&delay]);
            let settings = settings.flat_map(|setting| ["--set", setting]);
            let fixture: Vec<&str> = ["fixture", "intermittent"]
                .into_iter()
                .chain(settings)
                .collect();
            listen(workspace.command(&program), &fixture)
        };
        let (baseline, current) = (server(USUAL)?, server(current)?);
        let mut command = workspace.command(&program);
        command.args(["compare", "--json", "--tool", "echo", "--concurrent", "10"]);
        command.args(["--duration", &options.duration, "--url", &baseline.url]);
        command.args(["--url", &current.url, "--out"]).arg(&files);
        let output = command.stderr(Stdio::null()).output()?;
        let report: Value = serde_json::from_slice(&output.stdout).context("no report")?;
        let change = report["comparison"]["change"].as_str().unwrap_or_default();
        Ok((change.to_owned(), report))
    };
    let (mut alarms, mut misses) = (0, 0);
    for attempt in 0..options.same {
        let (name, settings) = KINDS[attempt as usize % KINDS.len()];
        let (change, report) = compare(settings, USUAL)?;
        announce("aa", &format!("the same, {name}: {change}"));
        if change == "regressed" {
            alarms += 1;
            eprintln!("{:#}", report["comparison"]);
        }
    }
    for attempt in 0..options.slower {
        let (name, settings) = KINDS[attempt as usize % KINDS.len()];
        let (change, report) = compare(settings, SLOWER)?;
        announce("aa", &format!("a fifth slower, {name}: {change}"));
        if change != "regressed" {
            misses += 1;
            eprintln!("{:#}", report["comparison"]);
        }
    }
    println!("false alarms: {alarms} of {}", options.same);
    println!("a fifth slower, missed: {misses} of {}", options.slower);
    let is_right = alarms == 0 && misses <= MISSES_OF_TWENTY * options.slower.div_ceil(20);
    Ok(if is_right {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Starts a built-in server that listens, and reads on what it writes.
pub fn listen(mut command: Command, fixture: &[impl AsRef<OsStr>]) -> Result<Listening> {
    command.args(fixture).args(["--http", "127.0.0.1:0"]);
    let command = command.stdin(Stdio::null()).stdout(Stdio::null());
    let mut child = command.stderr(Stdio::piped()).spawn()?;
    let stderr = child.stderr.take().context("no stderr")?;
    let mut server = Listening {
        child,
        url: String::new(),
    };
    let mut lines = BufReader::new(stderr).lines();
    for line in lines.by_ref() {
        if let Some(url) = line?.strip_prefix("listening on ") {
            url.clone_into(&mut server.url);
            break;
        }
    }
    anyhow::ensure!(!server.url.is_empty(), "the server does not listen");
    std::thread::spawn(move || lines.for_each(drop));
    Ok(server)
}
