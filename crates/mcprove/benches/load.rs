//! What the load engine costs: a whole run, by its own measure of its driver threads, and what it
//! finds on servers that are healthy.
//!
//! Run by `cargo xtask bench`. Prints one JSON object per measurement on stdout.

use std::process::{Command, Stdio};
use std::time::Duration;

use mcprove_client::server::Server;
use mcprove_load::drive::Scenario;
use mcprove_load::run::Run;
use mcprove_load::run::report::Report;
use measuring::reference::lean_client;
use measuring::{
    Figure, Listening, Outcome, SECRETS, Selection, median, peak_rss_kib, program, runtime, secrets,
};

/// Each figure is the median of this many rounds.
const ROUNDS: usize = 3;
/// How long one round lasts.
const TIME: Duration = Duration::from_secs(2);

/// Name, calls in flight, whether the trace is written. The targets are those of the client, in the
/// benchmark of that name: a run also marks each call and looks for the mark in each reply.
const STDIO: &[(&str, u32, bool)] = &[
    ("run, stdio, 100 in flight, metrics on", 100, false),
    ("run, stdio, 1000 in flight, metrics on", 1000, false),
    ("run, stdio, 1000 in flight, full trace", 1000, true),
    ("run, stdio, 5000 in flight, metrics on", 5000, false),
];
/// How many calls the lean client makes.
const LEAN_CALLS: usize = 300_000;

fn main() -> Outcome<()> {
    let program = program()?;
    let selection = Selection::from_arguments();
    mcprove_settings::own_limits::raise_descriptor_limit();
    let mut echo = Server::stdio(&program).args(["fixture", "echo"]);
    for (number, secret) in secrets(SECRETS).enumerate() {
        echo = echo.env(format!("BENCH_KEY_{number}"), secret);
    }

    for (name, in_flight, with_trace) in STDIO {
        if selection.wants(name) {
            let scenario = sustained(*in_flight);
            let mut lean = Vec::new();
            // In turns, for the machine may change its pace.
            let value = median(ROUNDS, || {
                lean.push(lean_client(&program, *in_flight as usize, LEAN_CALLS)?);
                cpu_per_call(&run(&echo, &scenario, *with_trace)?)
            })?;
            lean.sort_by(f64::total_cmp);
            let lean = lean[ROUNDS / 2];
            Figure::new(*name, value, "µs/call")
                .beside(format!("lean client {lean:.2}"))
                .print();
        }
    }
    let name = "run, HTTP, 64 connections, metrics on";
    if selection.wants(name) {
        let listening = Listening::start(&program, "echo")?;
        let server = Server::http(&listening.url);
        let value = median(ROUNDS, || {
            cpu_per_call(&run(&server, &sustained(64), false)?)
        })?;
        Figure::new(name, value, "µs/call").at_most(12.0).print();
    }
    let name = "worker with its HTTP connection, memory";
    if selection.wants(name) {
        Figure::new(name, worker_memory(&program)?, "KiB")
            .at_most(25.0)
            .print();
    }
    let name = "pacing lateness at 2000/s, p99";
    if selection.wants(name) {
        let scenario = sustained(1).rate(2000.0);
        let value = median(ROUNDS, || {
            let report = run(&echo, &scenario, false)?;
            let lateness = report.lateness.ok_or("an open run measures lateness")?;
            Ok(lateness.p99.as_secs_f64() * 1e6)
        })?;
        Figure::new(name, value, "µs").at_most(200.0).print();
    }
    let name = "open model at 2000/s, calls dropped or missed";
    if selection.wants(name) {
        let scenario = sustained(1).rate(2000.0);
        #[allow(clippy::cast_precision_loss)]
        let value = median(ROUNDS, || Ok(run(&echo, &scenario, false)?.dropped as f64))?;
        Figure::new(name, value, "calls").at_most(80.0).print();
    }
    Ok(())
}

fn sustained(concurrent: u32) -> Scenario {
    Scenario::sustained()
        .concurrent(concurrent)
        .duration(TIME)
        .warmup(Duration::from_millis(300))
        .tool("echo")
}

fn run(server: &Server, scenario: &Scenario, with_trace: bool) -> Outcome<Report> {
    eprintln!("{} on {}", scenario.kind.name(), server.describe());
    let folder = tempfile::tempdir()?;
    let mut run = Run::new(server.clone(), scenario.clone());
    if with_trace {
        run = run.with_output_dir(folder.path().to_owned());
    }
    let report = runtime()?.block_on(run.execute())?;
    if report.errors.total > 0 || report.isolation.crossed > 0 {
        return Err(format!("calls failed: {:?}", report.errors).into());
    }
    Ok(report)
}

/// Microseconds of the driver threads per call, warm-up included in both.
fn cpu_per_call(report: &Report) -> Outcome<f64> {
    let share = report
        .generator
        .cpu_share
        .ok_or("this system does not tell CPU time by thread")?;
    let time: Duration = report
        .phases
        .iter()
        .filter(|phase| phase.name != "alone")
        .map(|phase| phase.duration)
        .sum();
    let calls: u64 = report
        .phases
        .iter()
        .filter(|phase| phase.name != "alone")
        .map(|phase| phase.count)
        .sum();
    #[allow(clippy::cast_precision_loss)]
    Ok(share * f64::from(report.generator.drivers) * time.as_secs_f64() * 1e6 / calls as f64)
}

/// How much more memory two thousand workers with a connection each take than twenty.
fn worker_memory(program: &str) -> Outcome<f64> {
    let listening = Listening::start(program, "echo")?;
    let server = Server::http(&listening.url);
    let peak = |workers: u32| -> Outcome<f64> {
        let command = Command::new(program)
            .args(["run", "--url", &listening.url, "--tool", "echo"])
            .args(["--concurrent", &workers.to_string(), "--duration", "2s"])
            .args(["--no-trace", "--json", "--out"])
            .arg(std::env::temp_dir().join("mcprove-bench-runs"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(peak_rss_kib(command)?.0)
    };
    eprintln!("memory of workers on {}", server.describe());
    let (few, many) = (peak(20)?, peak(2020)?);
    Ok((many - few) / 2000.0)
}
