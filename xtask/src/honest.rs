//! `cargo xtask honest`: nobody blames an honest server. Every scenario, and `deadlock-probe` with several thresholds, on
//! each server of `fixture/honest.json`, on the machine as it is and beside busy loops. It takes two hours.

use std::collections::BTreeMap;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Mutex;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use serde::Deserialize;
use serde_json::Value;

use crate::aa::listen;
use crate::step::run_step;
use crate::workspace::Workspace;

#[derive(Args)]
pub struct Options {
    /// Only these servers, by name or mode
    #[arg(value_name = "SERVER")]
    servers: Vec<String>,
    /// Only this scenario, or `deadlock-probe`; repeatable
    #[arg(long, value_name = "NAME")]
    scenario: Vec<String>,
    /// Only on the machine as it is, or only beside busy loops
    #[arg(long)]
    machine: Option<Machine>,
    /// How many runs are made at the same time; with more than one no machine is quiet
    #[arg(long, default_value_t = 1)]
    at_once: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Machine {
    Quiet,
    Busy,
}

/// The honest servers; documents and tests read the same file.
const SERVERS: &str = include_str!("../../crates/servers/src/fixture/honest.json");

/// A server that does nothing wrong, and is no easy one.
#[derive(Deserialize)]
struct Server {
    name: String,
    mode: String,
    #[serde(default)]
    settings: BTreeMap<String, u64>,
    /// How long a call takes that need not wait for others.
    longest_ms: u64,
    /// Detectors that rightly warn.
    warnings: Vec<String>,
    /// Whether it is about sessions, of which a process over stdio has one.
    #[serde(default)]
    http: bool,
    /// The only era that it speaks; both unless given.
    era: Option<String>,
}

const PROBE: &str = "deadlock-probe";
/// Every scenario, and what makes it short.
const SCENARIOS: [(&str, &[&str]); 14] = [
    ("cold_start", &["--iterations", "3"]),
    ("sustained", &["--duration", "3s"]),
    ("spike", &["--duration", "6s", "--spike-concurrent", "40"]),
    ("ramp", &["--duration", "5s", "--ramp-to", "24"]),
    ("soak", &["--duration", "10s"]),
    ("pattern", &["--duration", "3s"]),
    ("deadlock_probe", &[]),
    ("race_check", &[]),
    ("fuzzer", &[]),
    ("slow_mix", &["--duration", "3s"]),
    ("reconnect", &["--iterations", "3"]),
    ("churn", &["--sessions", "12"]),
    ("early_call", &[]),
    ("interrupted_call", &["--iterations", "3"]),
];
/// Hang threshold and grace period of a probe, in milliseconds beyond a share of the longest call.
const PROBES: [[(u64, u64); 2]; 3] = [
    [(0, 200), (1, 500)],
    [(1, 300), (0, 300)],
    [(1, 0), (1, 100)],
];
/// Other programs that do nothing but take the processor away.
const BUSY_LOOPS: usize = 4;
/// Up to this share of lost time a machine is quiet.
const QUIET: f64 = 0.1;
/// The percentage of runs on a quiet machine that may be inconclusive.
const INCONCLUSIVE_MAX: usize = 5;

/// One command on one server.
struct Planned<'a> {
    server: &'a Server,
    scenario: &'static str,
    arguments: Vec<String>,
}

/// What came of it.
#[derive(Default)]
struct Tally {
    runs: usize,
    alarms: usize,
    quiet: usize,
    inconclusive: usize,
    unnamed: usize,
}

pub fn run(workspace: &Workspace, options: &Options) -> Result<ExitCode> {
    run_step(
        "build",
        workspace.cargo(["build", "--quiet", "--package", "mcprove"]),
    )?;
    let servers: Vec<Server> = serde_json::from_str(SERVERS)?;
    let planned = plan(&servers, options);
    anyhow::ensure!(!planned.is_empty(), "no such server or scenario");
    let mut is_right = true;
    for machine in [Machine::Quiet, Machine::Busy] {
        if options.machine.is_some_and(|only| only != machine) {
            continue;
        }
        let _loops = BusyLoops::start(if machine == Machine::Busy {
            BUSY_LOOPS
        } else {
            0
        })?;
        let tally = Mutex::new(Tally::default());
        let pending = Mutex::new(planned.iter());
        std::thread::scope(|scope| {
            let work = || -> Result<()> {
                loop {
                    let next = pending.lock().map_or(None, |mut it| it.next());
                    let Some(planned) = next else { return Ok(()) };
                    let outcome = planned.execute(workspace)?;
                    if let Ok(mut tally) = tally.lock() {
                        tally.add(planned, machine, &outcome);
                    }
                }
            };
            let workers: Vec<_> = (0..options.at_once.max(1))
                .map(|_| scope.spawn(work))
                .collect();
            workers.into_iter().try_for_each(|worker| {
                worker
                    .join()
                    .unwrap_or_else(|_| anyhow::bail!("a worker panicked"))
            })
        })?;
        is_right &= tally
            .into_inner()
            .is_ok_and(|tally| tally.conclude(machine));
    }
    Ok(if is_right {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn plan<'a>(servers: &'a [Server], options: &Options) -> Vec<Planned<'a>> {
    let is_wanted =
        |name: &str| options.scenario.is_empty() || options.scenario.iter().any(|it| it == name);
    let is_meant = |server: &Server| {
        let named = |name: &String| *name == server.name || *name == server.mode;
        options.servers.is_empty() || options.servers.iter().any(named)
    };
    let mut planned = Vec::new();
    for server in servers.iter().filter(|server| is_meant(server)) {
        for (scenario, arguments) in SCENARIOS.into_iter().filter(|(name, _)| is_wanted(name)) {
            let own = ["run", "--allow-writes", "--scenario", scenario];
            let arguments = own
                .iter()
                .chain(arguments)
                .map(ToString::to_string)
                .collect();
            planned.push(Planned {
                server,
                scenario,
                arguments,
            });
        }
        let probes = PROBES.into_iter().filter(|_| is_wanted(PROBE));
        planned.extend(probes.map(|limits| {
            let [hang, grace] =
                limits.map(|(calls, more)| format!("{}ms", calls * server.longest_ms + more));
            let own = [
                PROBE,
                "--allow-writes",
                "--hang-threshold",
                &hang,
                "--grace-period",
                &grace,
            ];
            Planned {
                server,
                scenario: PROBE,
                arguments: own.map(str::to_owned).to_vec(),
            }
        }));
    }
    planned
}

/// What a run printed.
struct Outcome {
    status: Option<i32>,
    report: Option<Value>,
    errors: String,
}

impl Planned<'_> {
    fn execute(&self, workspace: &Workspace) -> Result<Outcome> {
        let program = workspace.binary("mcprove");
        let Server { mode, settings, .. } = self.server;
        let settings = settings
            .iter()
            .flat_map(|(name, value)| ["--set".to_owned(), format!("{name}={value}")]);
        let era = self.server.era.iter();
        let era = era.flat_map(|era| ["--era".to_owned(), era.clone()]);
        let fixture: Vec<String> = ["fixture".to_owned(), mode.clone()]
            .into_iter()
            .chain(settings)
            .chain(era)
            .collect();
        let mut command = workspace.command(&program);
        command
            .args(&self.arguments)
            .args(["--json", "--out"])
            .arg(workspace.root().join("target/honest"));
        let _listening = if self.server.http {
            let listening = listen(workspace.command(&program), &fixture)?;
            command.args(["--url", &listening.url]);
            Some(listening)
        } else {
            command.arg("--").arg(&program).args(&fixture);
            None
        };
        let output = command
            .stdin(Stdio::null())
            .output()
            .context("cannot start mcprove")?;
        Ok(Outcome {
            status: output.status.code(),
            report: serde_json::from_slice(&output.stdout).ok(),
            errors: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        })
    }
}

impl Tally {
    /// Counts a run, and prints its row.
    fn add(&mut self, planned: &Planned<'_>, machine: Machine, outcome: &Outcome) {
        let report = outcome.report.as_ref();
        let noise = report.and_then(|it| it["machine"]["noise_share"].as_f64());
        let is_quiet = machine == Machine::Quiet && noise.is_none_or(|noise| noise < QUIET);
        let verdicts = report
            .and_then(|it| it["verdicts"].as_array())
            .cloned()
            .unwrap_or_default();
        let text =
            |verdict: &Value, field: &str| verdict[field].as_str().unwrap_or_default().to_owned();
        let is_named =
            |verdict: &Value| planned.server.warnings.contains(&text(verdict, "detector"));
        let of = |severity: &str| {
            verdicts
                .iter()
                .filter(|it| it["severity"] == severity)
                .collect::<Vec<_>>()
        };
        // Without a report it could not be done: with one tool, say, there is nothing to mix.
        let is_undone = report.is_none() && outcome.status == Some(2);
        let is_alarm = report.is_none() && !is_undone
            || outcome.status == Some(1)
            || !of("critical").is_empty();
        let warnings = of("warning");
        let unnamed = warnings.iter().filter(|it| !is_named(it)).count();
        self.runs += 1;
        self.alarms += usize::from(is_alarm);
        if is_quiet {
            self.quiet += 1;
            self.inconclusive += usize::from(outcome.status == Some(2) && !is_undone);
            self.unnamed += usize::from(unnamed > 0);
        }
        let word = match outcome.status {
            _ if is_alarm => "FALSE ALARM",
            Some(0) if warnings.is_empty() => "pass",
            Some(0) if unnamed == 0 => "named warning",
            Some(0) => "warning",
            _ if is_undone => "not possible",
            _ => "inconclusive",
        };
        let noise = noise.map_or_else(String::new, |noise| format!("noise {:.0} %", noise * 100.0));
        println!(
            "{:<28} {:<17} {machine:?}  {noise:<11} {word}",
            planned.server.name, planned.scenario
        );
        for verdict in &verdicts {
            let is_told = verdict["outcome"] == "finding" && !is_named(verdict)
                || verdict["outcome"] == "inconclusive" && word == "inconclusive";
            if is_told {
                println!(
                    "    {}: {}",
                    text(verdict, "detector"),
                    text(verdict, "sentence")
                );
            }
        }
        if report.is_none() {
            println!(
                "    {}\n    {}",
                planned.arguments.join(" "),
                outcome.errors
            );
        }
    }

    /// Says what all runs came to, and whether that is as it must be.
    fn conclude(&self, machine: Machine) -> bool {
        println!(
            "{machine:?}: {} runs, false alarms: {}",
            self.runs, self.alarms
        );
        if machine == Machine::Busy {
            return self.alarms == 0;
        }
        println!(
            "of {} that had the machine for themselves: inconclusive {}, with warnings that are not named {}",
            self.quiet, self.inconclusive, self.unnamed
        );
        let limit = (self.quiet * INCONCLUSIVE_MAX).div_ceil(100);
        self.alarms == 0 && self.unnamed == 0 && self.inconclusive <= limit
    }
}

/// Ended when dropped.
struct BusyLoops(Vec<Child>);

impl BusyLoops {
    fn start(count: usize) -> Result<Self> {
        let mut loops = Self(Vec::new());
        for _ in 0..count {
            let mut command = Command::new("sh");
            command.args(["-c", "while :; do :; done"]);
            loops.0.push(command.stdin(Stdio::null()).spawn()?);
        }
        Ok(loops)
    }
}

impl Drop for BusyLoops {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
