//! One row wholly, or two against each other.

use clap::Args;
use mcprove_lab::audit::{AuditReader, COLUMNS, RowComparison};
use mcprove_lab::report::comparison::audit_comparison_text;
use mcprove_lab::report::row::audit_row_text;
use mcprove_settings::registry::nearest;
use serde::Serialize;

use super::describe;
use crate::exit::ExitCode;
use crate::failure::Failure;
use crate::terminal;

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
    as_json: bool,
) -> Result<ExitCode, Failure> {
    let row = reader.row(arguments.id).map_err(describe)?;
    if as_json {
        print_json(&row)?;
    } else {
        terminal::print(&audit_row_text(&row, terminal::style()));
    }
    Ok(ExitCode::SUCCESS)
}

/// Compares two rows.
pub fn compare(
    reader: &AuditReader,
    arguments: &CompareArguments,
    as_json: bool,
) -> Result<ExitCode, Failure> {
    check_places(&arguments.ignore)?;
    let left = reader.row(arguments.left).map_err(describe)?;
    let right = reader.row(arguments.right).map_err(describe)?;
    let comparison = RowComparison::of_requests(left, right, &arguments.ignore);
    if as_json {
        print_json(&comparison)?;
    } else {
        terminal::print(&audit_comparison_text(&comparison, terminal::style()));
    }
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

/// Prints JSON on lines.
pub fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let json = serde_json::to_string_pretty(value).map_err(anyhow::Error::from)?;
    terminal::print_json(&format!("{json}\n"));
    Ok(())
}
