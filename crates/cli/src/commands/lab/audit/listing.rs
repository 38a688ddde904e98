//! Many rows at once: a table, JSON, or an export. Rows go out as they are read.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use mcprove::lab::audit::{AUDIT_FORMAT, AuditReader, ExportFormat, Filter, Order};
use mcprove::report::{AuditLines, printable, printable_json};

use super::describe;
use super::filters::FilterArguments;
use super::target::{Target, is_part_of};
use crate::failure::Failure;
use crate::terminal;

/// How many rows are listed unless told.
const LISTED: u64 = 50;

/// Lists rows.
pub fn list(
    reader: &AuditReader,
    filters: &FilterArguments,
    as_json: bool,
) -> Result<ExitCode, Failure> {
    let filter = filters.filter(Some(LISTED), Order::NewestFirst);
    if as_json {
        list_json(reader, filter)
    } else {
        let is_limited = filters.limit.is_none();
        list_text(reader, filter, is_limited)
    }
}

fn list_json(reader: &AuditReader, filter: Filter) -> Result<ExitCode, Failure> {
    terminal::print(&format!("{{\"schema\":\"{AUDIT_FORMAT}\",\"rows\":["));
    let mut separator = "\n";
    for row in reader.rows(filter) {
        let row = row.map_err(describe)?;
        let json = serde_json::to_string(&row).map_err(anyhow::Error::from)?;
        terminal::print(&format!("{separator}{}", printable_json(&json)));
        separator = ",\n";
    }
    terminal::print("\n]}\n");
    Ok(ExitCode::SUCCESS)
}

fn list_text(reader: &AuditReader, filter: Filter, is_limited: bool) -> Result<ExitCode, Failure> {
    let mut lines = AuditLines::new(terminal::style());
    let mut count = 0;
    for row in reader.rows(filter) {
        let row = row.map_err(describe)?;
        if count == 0 {
            terminal::print(&lines.head());
        }
        terminal::print(&lines.row(&row));
        count += 1;
    }
    if count == 0 {
        let is_empty = reader.last_id().map_err(describe)? == 0;
        terminal::print(if is_empty {
            "Nothing was recorded yet.\n"
        } else {
            "No row is as the filters want it.\n"
        });
    } else if is_limited && count == LISTED {
        terminal::print(&format!("{LISTED} rows; --limit COUNT shows more.\n"));
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes rows to a file or to standard output.
pub fn export(
    reader: &AuditReader,
    file: &Path,
    filters: &FilterArguments,
    format: ExportFormat,
    output: Option<&Path>,
) -> Result<ExitCode, Failure> {
    let filter = filters.filter(None, Order::OldestFirst);
    let Some(output) = output else {
        return export_to_stdout(reader, filter, format);
    };
    if is_part_of(file, output) {
        return Err(Failure::new(
            format!(
                "{}: this is the audit itself, or a part of it",
                output.display()
            ),
            "give -o another file",
        ));
    }
    let failed = |error: io::Error| {
        Failure::new(
            format!("cannot write {}: {error}", output.display()),
            "check that the folder exists and can be written to, and the room on the disk",
        )
    };
    let mut target = Target::create(output).map_err(failed)?;
    format.write_head(&mut target).map_err(failed)?;
    for row in reader.rows(filter) {
        let row = row.map_err(describe)?;
        format.write_row(&row, &mut target).map_err(failed)?;
    }
    target.finish().map_err(failed)?;
    Ok(ExitCode::SUCCESS)
}

/// A reader that went away ends the export.
fn export_to_stdout(
    reader: &AuditReader,
    filter: Filter,
    format: ExportFormat,
) -> Result<ExitCode, Failure> {
    let stdout = io::stdout();
    let is_terminal = stdout.is_terminal();
    let mut target = BufWriter::new(stdout.lock());
    let mut line = Vec::new();
    let mut write = |line: &mut Vec<u8>| {
        let written = if is_terminal {
            // What a client sent must not steer the terminal.
            let text = String::from_utf8_lossy(line);
            let text = printable(text.trim_end(), usize::MAX) + "\n";
            target.write_all(text.as_bytes())
        } else {
            target.write_all(line)
        };
        line.clear();
        written
    };
    let outcome = (|| {
        format.write_head(&mut line)?;
        write(&mut line)?;
        for row in reader.rows(filter) {
            let row = match row {
                Ok(row) => row,
                Err(error) => return Ok(Err(error)),
            };
            format.write_row(&row, &mut line)?;
            write(&mut line)?;
        }
        Ok(Ok(()))
    })();
    let outcome = outcome.and_then(|rows| target.flush().map(|()| rows));
    match outcome {
        Ok(rows) => rows.map(|()| ExitCode::SUCCESS).map_err(describe),
        Err(error) if io::Error::kind(&error) == io::ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
        Err(error) => Err(Failure::new(
            format!("standard output did not take all rows: {error}"),
            "check the disk or device that it goes to",
        )),
    }
}
