//! One row wholly, two against each other, or one sent again.

use mcprove::lab::SessionCaller;
use mcprove_client::session::Session;
use mcprove_lab::audit::{COLUMNS, Replay};
use mcprove_lab::report::{audit_comparison_document, audit_replay_document, audit_row_document};

use crate::prelude::*;

/// Arguments of `show`.
#[derive(Debug, Args)]
pub struct ShowArguments {
    /// The row
    #[arg(value_name = "ID")]
    id: i64,
}

/// Arguments of `compare`.
#[derive(Debug, Args)]
pub struct CompareArguments {
    /// One row
    #[arg(value_name = "ID")]
    left: i64,

    /// The other row
    #[arg(value_name = "ID")]
    right: i64,

    /// What does not count, with all within it, such as response.content[0]; repeatable
    #[arg(long, value_name = "PLACE")]
    ignore: Vec<String>,
}

/// Arguments of `replay`.
#[derive(Debug, Args)]
pub struct ReplayArguments {
    /// The row
    #[arg(value_name = "ID")]
    id: i64,

    /// What does not count, with all within it, such as response.content[0]; repeatable
    #[arg(long, value_name = "PLACE")]
    ignore: Vec<String>,

    #[command(flatten)]
    target: TargetArguments,
}

/// Shows one row.
pub fn show(reader: &AuditReader, arguments: &ShowArguments, reports: &Reports) -> Result {
    let row = reader.row(arguments.id)?;
    reports.show(&audit_row_document(&row), &json(&row)?);
    Ok(ExitCode::Passed)
}

/// Compares two rows.
pub fn compare(reader: &AuditReader, arguments: &CompareArguments, reports: &Reports) -> Result {
    check_places(&arguments.ignore)?;
    let left = reader.row(arguments.left)?;
    let right = reader.row(arguments.right)?;
    let comparison = RowComparison::of_requests(left, right, &arguments.ignore);
    reports.show(&audit_comparison_document(&comparison), &json(&comparison)?);
    Ok(code(&comparison))
}

/// Sends the request of a row again.
pub async fn replay(
    reader: &AuditReader,
    arguments: &ReplayArguments,
    reports: &Reports,
) -> Result {
    check_places(&arguments.ignore)?;
    let server = arguments.target.resolve()?;
    let replay = Replay::new(reader.row(arguments.id)?)?;
    let mut options = arguments.target.options()?;
    if let (ProtocolChoice::Auto, Some(revision)) = (options.protocol, replay.protocol()) {
        options.protocol = ProtocolChoice::Revision(revision);
    }
    let comparison = interrupt::unless_requested(async {
        let recorder = EventStream::unobserved().recorder();
        let session = Session::connect_recorded(&server, options, recorder).await?;
        let caller = SessionCaller(&session);
        let comparison = replay.send(&caller, &arguments.ignore).await;
        session.close().await;
        Ok::<_, Failure>(comparison)
    })
    .await??;
    reports.show(&audit_replay_document(&comparison), &json(&comparison)?);
    Ok(code(&comparison))
}

/// Refuses places in what is no column: nothing would be left out.
fn check_places(places: &[String]) -> Result<()> {
    for place in places {
        let column = place.split(['.', '[']).next().unwrap_or_default();
        if !COLUMNS.contains(&column) {
            let hint = meant(
                nearest(COLUMNS.into_iter(), column),
                "a place begins with a column, such as response.content[0]",
            );
            let message = format!("--ignore {place:?}: there is no column {column:?}");
            return refuse(message, hint);
        }
    }
    Ok(())
}

/// The exit code that tells whether something differs.
fn code(comparison: &RowComparison) -> ExitCode {
    ExitCode::worst([(!comparison.same, ExitCode::Finding)])
}
