//! `mcprove deadlock-probe`: many first calls at the same instant on a fresh server.

use clap::Args;
use mcprove_load::drive::scenario::find;
use mcprove_settings::setting::Setting;

use super::explain;
use crate::exit::ExitCode;
use crate::failure::Failure;
use crate::load_arguments::{FlagTable, LoadArguments, LoadFlags, OutputArguments, SettingFlags};
use crate::load_run::{describe, exit_code, perform, show, stop_on_interrupt};
use crate::reports::ReportArguments;
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

/// The scenario.
const SCENARIO: &str = "deadlock_probe";

/// The settings of the scenario, each with a flag of its own name.
#[derive(Debug, Clone)]
struct ProbeTable;

impl FlagTable for ProbeTable {
    const SECTION: &'static str = "scenario";
    const HEADING: &'static str = "Probe";

    fn settings() -> Vec<&'static Setting> {
        find(SCENARIO).map_or_else(Vec::new, |entry| entry.all_settings().collect())
    }

    fn flag(setting: &Setting) -> Option<(String, Vec<String>)> {
        let flag = setting.name.replace('_', "-");
        let other = (setting.name == "hang_threshold").then(|| "hang-timeout".to_owned());
        Some((flag, other.into_iter().collect()))
    }
}

/// Arguments of `mcprove deadlock-probe`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The tool to call [default: the first that only reads or computes]
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,

    /// Its arguments as JSON [default: made from the tool's schema]
    #[arg(long, value_name = "JSON", requires = "tool")]
    args: Option<String>,

    #[command(flatten)]
    settings: SettingFlags<ProbeTable>,

    /// Tell what this command does, and do nothing
    #[arg(long)]
    explain: bool,

    #[command(flatten)]
    output: OutputArguments,

    #[command(flatten)]
    report: ReportArguments,

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
    let reports = arguments.report.resolve(arguments.output.json)?;
    let server = arguments.server.resolve(&arguments.session)?;
    let load = LoadArguments {
        tool: arguments.tool.iter().cloned().collect(),
        args: arguments.args.iter().cloned().collect(),
        settings: SettingFlags::of("type", SCENARIO),
        ..LoadArguments::default()
    };
    let flags = LoadFlags {
        load: &load,
        others: vec![&arguments.settings, &arguments.output.settings],
    };
    let mut config = flags.config(&server)?;
    config.session = arguments.session.settings(&arguments.server);
    let session = arguments.session.options(&arguments.server);
    let stop = stop_on_interrupt();
    let (report, directory) = perform(&config, server, session, &stop)
        .await
        .map_err(|error| describe(&error, !stop.is_running()))?;
    show(&report, directory.as_ref(), &reports, true);
    Ok(exit_code(&report, !stop.is_running()))
}
