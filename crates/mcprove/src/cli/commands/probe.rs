//! `mcprove probe`.

use mcprove_check::health::{HealthOutcome, Progress};
use mcprove_trace::stream::TraceFile;

use crate::load_arguments::FailTable;
use crate::prelude::*;

/// Arguments of `mcprove probe`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Call every tool, also those that may write
    #[arg(long, alias = "all")]
    allow_writes: bool,

    /// Print the report as JSON (format probe.v1)
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    fail: SettingFlags<FailTable>,

    #[command(flatten)]
    report: ReportArguments,

    /// Write every request and answer to this file (format trace.v1), secrets redacted
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,

    #[command(flatten)]
    target: TargetArguments,
}

/// Runs the command.
pub async fn run(arguments: &Arguments) -> Result {
    let reports = arguments.report.resolve(arguments.json)?;
    reports.conclude(perform(arguments, &reports).await)
}

async fn perform(arguments: &Arguments, reports: &Reports) -> Result {
    let server = arguments.target.resolve()?;
    let options = ProbeOptions {
        session: arguments.target.options()?,
        allowance: Allowance {
            writes: arguments.allow_writes,
            names: Vec::new(),
        },
        fail_on: arguments.fail.resolve()?,
    };
    let redactor = options.session.redactor.clone().unwrap_or_default();
    let trace = trace_file(arguments, &redactor)?;
    let sinks = trace.iter().map(|trace| Arc::clone(trace) as Arc<dyn Sink>);
    let stream = EventStream::new(sinks.collect());
    let recorder = stream.recorder();
    let mut on_progress = progress(&server);
    let events = Arc::clone(&recorder);
    let stop = interrupt::requested();
    let outcome = health::probe(&server, &options, events, &mut on_progress, stop).await;
    drop(on_progress);
    recorder.merge();
    let path = arguments.trace.as_deref();
    losses::add(stream.losses(trace.as_deref().zip(path)));
    let report = outcome?;
    let report = redactor.report(&report)?.unwrap_or(report);
    reports.show(&probe_document(&report), &json(&report)?);
    Ok(match report.outcome {
        HealthOutcome::Passed => ExitCode::Passed,
        HealthOutcome::Interrupted => ExitCode::Interrupted,
        HealthOutcome::Failed => ExitCode::Finding,
        HealthOutcome::Inconclusive => ExitCode::Inconclusive,
    })
}

/// Shows which tool is being called, until it is dropped.
pub fn progress(server: &Server) -> impl FnMut(Progress<'_>) + use<> {
    let status = StatusLine::default();
    status.show(&format!("connecting to {} …", server.describe()));
    move |Progress { tool, done, total }| {
        status.show(&format!("calling {tool} ({} of {total}) …", done + 1));
    }
}

fn trace_file(arguments: &Arguments, redactor: &Redactor) -> Result<Option<Arc<TraceFile>>> {
    let trace = arguments.trace.as_ref().map(|path| {
        let trace = TraceFile::create(path).map_err(Failure::unwritten(path))?;
        Ok(Arc::new(trace.with_redactor(redactor.clone())))
    });
    trace.transpose()
}
