//! A recorded request, sent again.

use clap::Args;
use mcprove::SessionCaller;
use mcprove_client::session::{ProtocolChoice, Session};
use mcprove_lab::audit::{AuditReader, Replay, RowComparison};
use mcprove_lab::report::audit_replay_document;
use mcprove_trace::stream::EventStream;

use super::describe;
use super::rows::{check_places, code};
use crate::exit::ExitCode;
use crate::failure::Failure;
use crate::interrupt;
use crate::reports::{Reports, json};
use crate::target::{ServerArguments, SessionArguments};

/// Arguments of `replay`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The row
    #[arg(value_name = "ID")]
    id: i64,

    /// What does not count, with all within it, such as response.content[0]; repeatable
    #[arg(long, value_name = "PLACE")]
    ignore: Vec<String>,

    #[command(flatten)]
    server: ServerArguments,

    #[command(flatten)]
    session: SessionArguments,
}

/// Runs the command.
pub async fn run(
    reader: &AuditReader,
    arguments: &Arguments,
    reports: &Reports,
) -> Result<ExitCode, Failure> {
    check_places(&arguments.ignore)?;
    let server = arguments.server.resolve(&arguments.session)?;
    let row = reader.row(arguments.id).map_err(describe)?;
    let replay = Replay::new(row).map_err(|error| Failure::new(error.to_string(), error.hint()))?;
    let mut options = arguments.session.options(&arguments.server);
    if options.protocol == ProtocolChoice::Auto {
        options.protocol = replay
            .protocol()
            .map_or(ProtocolChoice::Auto, ProtocolChoice::Revision);
    }
    let work = async {
        let recorder = EventStream::unobserved().recorder();
        let session = Session::connect_recorded(&server, options, recorder)
            .await
            .map_err(|error| {
                Failure::new(error.to_string(), error.hint()).with_stderr(error.stderr())
            })?;
        let comparison = replay
            .send(&SessionCaller(&session), &arguments.ignore)
            .await;
        session.close().await;
        Ok::<RowComparison, Failure>(comparison)
    };
    let comparison = tokio::select! {
        comparison = work => comparison?,
        () = interrupt::requested() => return Err(Failure::interrupted()),
    };
    reports.show(&audit_replay_document(&comparison), &json(&comparison)?);
    Ok(code(&comparison))
}
