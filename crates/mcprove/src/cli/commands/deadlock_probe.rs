//! `mcprove deadlock-probe`: many first calls at the same instant on a fresh server.

use std::time::Duration;

use clap::Args;
use mcprove_settings::quantity::parse_duration;

use super::explain;
use crate::exit::ExitCode;
use crate::failure::Failure;
use crate::load_arguments::{LoadArguments, OutputArguments, ThresholdArguments};
use crate::load_run::{describe, exit_code, perform, show, stop_on_interrupt};
use crate::target::{ServerArguments, SessionArguments};

const EXPLANATION: &str = "\
Algorithm:
  1. Starts the server (or connects to --url).
  2. Sends `initialize` (or `server/discover`) and waits up to --startup-timeout (default 10s);
     silence is SERVER_INIT_ERROR.
  3. Sends `notifications/initialized`.
  4. Sends `tools/list` and waits up to --list-timeout (default 1s); silence is TOOLS_LIST_HANG.
  5. Makes --concurrent (default 20) calls of `tools/call` ready behind a barrier.
  6. Releases the barrier: all calls are sent at the same instant.
  7. Watches each call:
     - answered within --hang-threshold (default 5s): SUCCESS
     - answered within --grace-period (default 10s) after that: SLOW (a warning when most are)
     - not answered even then: DEADLOCK (critical)
     While calls hang, asks the server for a sign of life: that tells a stuck tool (the server is
     otherwise alive) from a dead event loop (nothing answers) and a dead process.
  8. Ends the server and reports. Without --tool the first tool that may be called is called.

Exit code: 0 all calls answered, some in time; 1 a deadlock, or nothing succeeded (all late too); 2 the server could not be
reached; 130 interrupted.
Options: --tool, --args, --allow-writes, --concurrent, --hang-threshold, --grace-period, --list-timeout.
";

/// Arguments of `mcprove deadlock-probe`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The tool to call [default: the first that only reads or computes]
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,

    /// Call the first tool, also if it may write
    #[arg(long)]
    allow_writes: bool,

    /// Its arguments as JSON [default: made from the tool's schema]
    #[arg(long, value_name = "JSON", requires = "tool")]
    args: Option<String>,

    /// Calls released at the same instant
    #[arg(short, long, value_name = "COUNT", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    concurrent: u32,

    /// When a call counts as hung
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = parse_duration, alias = "hang-timeout")]
    hang_threshold: Duration,

    /// How long a hung call may still answer late
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_duration)]
    grace_period: Duration,

    /// How long `tools/list` may take
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = parse_duration)]
    list_timeout: Duration,

    /// Tell what this command does, and do nothing
    #[arg(long)]
    explain: bool,

    #[command(flatten)]
    output: OutputArguments,

    #[command(flatten)]
    server: ServerArguments,

    #[command(flatten)]
    session: SessionArguments,
}

/// Runs the command.
pub async fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    if arguments.explain {
        explain(EXPLANATION);
        return Ok(ExitCode::SUCCESS);
    }
    let server = arguments.server.resolve(&arguments.session)?;
    let load = LoadArguments {
        scenario: Some("deadlock_probe".to_owned()),
        tool: arguments.tool.iter().cloned().collect(),
        args: arguments.args.iter().cloned().collect(),
        allow_writes: arguments.allow_writes,
        ..LoadArguments::default()
    };
    let mut config = load.resolve(&ThresholdArguments::default(), &arguments.output)?;
    config.scenario.kind = mcprove_load::drive::ScenarioKind::DeadlockProbe {
        concurrent: arguments.concurrent,
        hang_threshold: arguments.hang_threshold,
        grace_period: arguments.grace_period,
        list_timeout: arguments.list_timeout,
    };
    config.session = arguments.session.settings(&arguments.server);
    let session = arguments.session.options(&arguments.server);
    let stop = stop_on_interrupt();
    let (report, directory) = perform(&config, server, session, &stop)
        .await
        .map_err(|error| describe(&error, !stop.is_running()))?;
    show(&report, directory.as_ref(), arguments.output.json);
    Ok(exit_code(&report, !stop.is_running()))
}
