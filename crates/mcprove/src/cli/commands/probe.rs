//! `mcprove probe`.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use mcprove_check::health::{self, ProbeError, ProbeOptions, ProbeOutcome, Progress};
use mcprove_check::report::probe_document;
use mcprove_client::permission::Allowance;
use mcprove_client::session::CallError;
use mcprove_settings::message::Message;
use mcprove_settings::secret::Redactor;
use mcprove_trace::ErrorCategory;
use mcprove_trace::stream::{EventStream, Sink, TraceFile};

use super::explain;
use crate::exit::ExitCode;
use crate::failure::{Failure, ran_out};
use crate::reports::{ReportArguments, json};
use crate::target::{ServerArguments, SessionArguments};
use crate::terminal::StatusLine;
use crate::{interrupt, losses};

const EXPLANATION: &str = "\
What it does:
  1. Starts the server (or connects to --url) and agrees on a revision: `server/discover` first;
     when the server answers with an error, or not within 1 s, `initialize`.
  2. Lists the tools, all pages.
  3. Calls each tool that may be called once, one after the other, with arguments made from its input
     schema: only what is required, the smallest values that are valid, the same every time. Of a
     server without tools it gets the prompts and reads the resources.
  4. Reports for each: ok, tool error (the tool answered isError), error, hang (no answer within
     --call-timeout), or skipped, with the reason. After a hang the server is asked whether it
     still lives; if not it is started again for the next tool.
  5. Ends the server: closes its input, waits --shutdown-timeout, then TERM, then KILL.

Exit code: 0 a call succeeded, no tool hung and the protocol was kept; 1 a tool hung, the server died
or broke the protocol (in its results too); 2 the server could not be reached, no call succeeded, a
file could not be written, or mcprove itself ran out of something, such as file descriptors; 130
interrupted.
Options: --allow-writes, --call-timeout, --startup-timeout, --shutdown-timeout, --protocol,
--accept-requests.
";

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
    report: ReportArguments,

    /// Write every request and answer to this file (format trace.v1), secrets redacted
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,

    /// Tell what this command does, and do nothing
    #[arg(long)]
    explain: bool,

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
    let reports = arguments.report.resolve(arguments.json)?;
    let server = arguments.server.resolve(&arguments.session)?;
    let options = ProbeOptions {
        session: arguments.session.options(&arguments.server),
        allowance: Allowance {
            writes: arguments.allow_writes,
            names: Vec::new(),
        },
    };
    let redactor = options.session.redactor.clone().unwrap_or_default();
    let trace = trace_file(arguments, &redactor)?;
    let sinks = trace.iter().map(|trace| Arc::clone(trace) as Arc<dyn Sink>);
    let stream = EventStream::new(sinks.collect());
    let recorder = stream.recorder();
    let status = StatusLine::new();
    status.show(&format!("connecting to {} …", server.describe()));
    let outcome = health::probe(
        &server,
        &options,
        Arc::clone(&recorder),
        &mut |progress| {
            let Progress { tool, done, total } = progress;
            status.show(&format!("calling {tool} ({} of {total}) …", done + 1));
        },
        interrupt::requested(),
    )
    .await;
    drop(status);
    recorder.merge();
    let path = arguments.trace.as_deref();
    losses::add(stream.losses(trace.as_deref().zip(path)));
    let report = outcome.map_err(describe)?;
    let redacted = redactor.report(&report).map_err(anyhow::Error::from)?;
    let report = redacted.unwrap_or(report);
    reports.show(&probe_document(&report), &json(&report)?);
    Ok(match report.outcome {
        ProbeOutcome::Passed => ExitCode::Passed,
        ProbeOutcome::Interrupted => ExitCode::Interrupted,
        ProbeOutcome::Failed => ExitCode::Finding,
        ProbeOutcome::Inconclusive => ExitCode::Inconclusive,
    })
}

fn trace_file(
    arguments: &Arguments,
    redactor: &Redactor,
) -> Result<Option<Arc<TraceFile>>, Failure> {
    let Some(path) = &arguments.trace else {
        return Ok(None);
    };
    let trace = TraceFile::create(path).map_err(|error| {
        Failure::new(
            format!("cannot write the trace {}: {error}", path.display()),
            "check that the folder exists and can be written to",
        )
    })?;
    Ok(Some(Arc::new(trace.with_redactor(redactor.clone()))))
}

/// Why the probe could not be done, with the hint that fits.
pub fn describe(error: ProbeError) -> Failure {
    match error {
        ProbeError::Connect(error) => {
            let failure = Failure::new(error.to_string(), error.hint()).with_stderr(error.stderr());
            if error.is_violation() {
                failure.into_finding()
            } else {
                failure
            }
        }
        // The server was reached: that it does not list its tools is a finding.
        ProbeError::List { error, stderr } => {
            Failure::new(format!("tools/list failed: {error}"), list_hint(&error))
                .with_stderr(&stderr)
                .into_finding()
        }
        ProbeError::OwnLimit(limit) => ran_out(limit),
        ProbeError::Folder(_) => Failure::new(
            error.to_string(),
            "check the permissions of the temporary folder, or set TMPDIR",
        ),
        ProbeError::Interrupted => Failure::interrupted(),
    }
}

fn list_hint(error: &CallError) -> Message {
    match error.category() {
        ErrorCategory::Malformed if !error.is_oversized() => {
            "each tool needs a name, and each page another cursor, until one has none".into()
        }
        category => category.hint(),
    }
}
