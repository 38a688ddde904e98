//! One row wholly, or two against each other.

use clap::Args;
use mcprove_lab::audit::{AuditReader, COLUMNS, RowComparison};
use mcprove_lab::report::{audit_comparison_document, audit_row_document};
use mcprove_settings::registry::nearest;

use super::describe;
use crate::exit::ExitCode;
use crate::failure::Failure;
use crate::reports::{Reports, json};

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

/// Shows one row.
pub fn show(
    reader: &AuditReader,
    arguments: &ShowArguments,
    reports: &Reports,
) -> Result<ExitCode, Failure> {
    let row = reader.row(arguments.id).map_err(describe)?;
    reports.show(&audit_row_document(&row), &json(&row)?);
    Ok(ExitCode::SUCCESS)
}

/// Compares two rows.
pub fn compare(
    reader: &AuditReader,
    arguments: &CompareArguments,
    reports: &Reports,
) -> Result<ExitCode, Failure> {
    check_places(&arguments.ignore)?;
    let left = reader.row(arguments.left).map_err(describe)?;
    let right = reader.row(arguments.right).map_err(describe)?;
    let comparison = RowComparison::of_requests(left, right, &arguments.ignore);
    reports.show(&audit_comparison_document(&comparison), &json(&comparison)?);
    Ok(code(&comparison))
}

/// Refuses places in what is no column: nothing would be left out.
pub fn check_places(places: &[String]) -> Result<(), Failure> {
    for place in places {
        let column = place.split(['.', '[']).next().unwrap_or_default();
        if !COLUMNS.contains(&column) {
            let hint = nearest(COLUMNS.into_iter(), column).map_or_else(
                || "a place begins with a column, such as response.content[0]".to_owned(),
                |near| format!("did you mean {near:?}?"),
            );
            let message = format!("--ignore {place:?}: there is no column {column:?}");
            return Err(Failure::new(message, hint));
        }
    }
    Ok(())
}

/// The exit code that tells whether something differs.
pub fn code(comparison: &RowComparison) -> ExitCode {
    ExitCode::worst([(!comparison.same, ExitCode::Finding)])
}
