//! `mcprove deadlock-probe`: many first calls at the same instant on a fresh server.

use crate::load_arguments::{DEADLOCK_PROBE, FailTable, ProbeTable};
use crate::load_run::{exit_code, perform, show};
use crate::prelude::*;

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

    #[command(flatten)]
    fail: SettingFlags<FailTable>,

    /// Explain what this command does, and do nothing
    #[arg(long = "explain", id = "explain")]
    _explain: bool,

    #[command(flatten)]
    output: OutputArguments,

    #[command(flatten)]
    report: ReportArguments,

    #[command(flatten)]
    target: TargetArguments,
}

/// Runs the command.
pub async fn run(arguments: &Arguments) -> Result {
    let reports = arguments.report.resolve(arguments.output.json)?;
    reports.conclude(probe(arguments, &reports).await)
}

async fn probe(arguments: &Arguments, reports: &Reports) -> Result {
    let server = arguments.target.resolve()?;
    let load = LoadArguments {
        tool: arguments.tool.iter().cloned().collect(),
        args: arguments.args.iter().cloned().collect(),
        settings: SettingFlags::of("type", DEADLOCK_PROBE),
        ..LoadArguments::default()
    };
    let flags = LoadFlags {
        load: &load,
        others: vec![
            &arguments.settings,
            &arguments.fail,
            &arguments.output.settings,
        ],
    };
    let mut config = flags.config(&server)?;
    config.session = arguments.target.settings()?;
    let session = arguments.target.options()?;
    let stop = stop_on_interrupt();
    let (report, directory) = perform(&config, server, session, &stop).await?;
    show(&report, directory.as_ref(), reports, true);
    Ok(exit_code(&report, !stop.is_running()))
}
