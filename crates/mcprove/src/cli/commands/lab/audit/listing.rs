//! Many rows at once: a report, or an export, whose rows go out as they are read.

use std::io::{BufWriter, Write};

use mcprove_lab::audit::{AUDIT_FORMAT, CATEGORIES, ExportFormat};
use mcprove_lab::report::audit_document;
use mcprove_settings::whole_file::WholeFile;

use super::filters::FilterArguments;
use super::unprinted;
use crate::output_file::resolved;
use crate::prelude::*;

/// How many rows are listed unless told.
const LISTED: u64 = 50;

/// Lists rows.
pub fn list(
    reader: &AuditReader,
    file: &Path,
    filters: &FilterArguments,
    reports: &Reports,
) -> Result {
    let filter = filters.filter(Some(LISTED), Order::NewestFirst);
    let rows = reader.rows(filter.clone()).collect::<Result<Vec<_>, _>>()?;
    let mut document = audit_document(&rows, &file.display().to_string());
    let is_cut = filters.limit.is_none() && rows.len() as u64 == LISTED;
    if is_cut {
        let more = format!("{LISTED} rows; --limit COUNT shows more.");
        document.push(Section::default().paragraph(more));
    } else if rows.is_empty() && filter.limit != Some(0) {
        let is_empty = reader.last_id()? == 0;
        document.push(Section::default().paragraph(if is_empty {
            "Nothing was recorded yet."
        } else {
            "No row matches the filters."
        }));
    }
    let json = rows
        .iter()
        .map(serde_json::to_string)
        .collect::<Result<Vec<_>, _>>()?
        .join(",\n");
    let start = if json.is_empty() { "" } else { "\n" };
    let json = format!("{{\"schema\":\"{AUDIT_FORMAT}\",\"rows\":[{start}{json}\n]}}\n");
    reports.show(&document, &json);
    if rows.is_empty() {
        warn_of_slips(reader, &filter)?;
    }
    Ok(ExitCode::Passed)
}

/// Writes rows to a file or to standard output.
pub fn export(
    reader: &AuditReader,
    file: &Path,
    filters: &FilterArguments,
    format: ExportFormat,
    output: Option<&Path>,
) -> Result {
    let filter = filters.filter(None, Order::OldestFirst);
    let mut count = 0;
    match output {
        None => export_to_stdout(reader, &filter, format, &mut count)?,
        Some(output) => {
            if is_part_of(file, output) {
                let path = output.display();
                return refuse(
                    format!("{path}: this is the audit itself, or a part of it"),
                    "give -o another file",
                );
            }
            let failed = Failure::unwritten(output);
            let mut target = WholeFile::create(output).map_err(&failed)?;
            let write = |line: &[u8]| target.write_all(line);
            write_rows(reader, &filter, format, &mut count, write).map_err(&failed)??;
            target.finish().map_err(&failed)?;
        }
    }
    if count == 0 {
        warn_of_slips(reader, &filter)?;
    }
    Ok(ExitCode::Passed)
}

/// Writes the head and the rows, a line each, and counts the rows.
fn write_rows(
    reader: &AuditReader,
    filter: &Filter,
    format: ExportFormat,
    count: &mut u64,
    mut write: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<Result<(), AuditError>> {
    let mut line = Vec::new();
    format.write_head(&mut line)?;
    write(&line)?;
    for row in reader.rows(filter.clone()) {
        let row = match row {
            Ok(row) => row,
            Err(error) => return Ok(Err(error)),
        };
        line.clear();
        format.write_row(&row, &mut line)?;
        *count += 1;
        write(&line)?;
    }
    Ok(Ok(()))
}

/// A reader that went away ends the export.
fn export_to_stdout(
    reader: &AuditReader,
    filter: &Filter,
    format: ExportFormat,
    count: &mut u64,
) -> Result<()> {
    let is_terminal = io::stdout().is_terminal();
    let mut target = BufWriter::new(io::stdout().lock());
    let write = |line: &[u8]| {
        if !is_terminal {
            return target.write_all(line);
        }
        // What a client sent must not steer the terminal.
        let text = String::from_utf8_lossy(line);
        let text = printable(text.trim_end(), usize::MAX) + "\n";
        target.write_all(text.as_bytes())
    };
    let written = write_rows(reader, filter, format, count, write);
    match written.and_then(|rows| target.flush().map(|()| rows)) {
        Ok(rows) => Ok(rows?),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
            // How many there would have been is not known.
            *count += 1;
            Ok(())
        }
        Err(error) => Err(unprinted(error)),
    }
}

/// What SQLite puts after the name of a file for those that it keeps beside it.
const COMPANIONS: [&str; 4] = ["", "-wal", "-shm", "-journal"];

/// Whether writing to `output` would write into the audit `file`, or into what belongs to it.
fn is_part_of(file: &Path, output: &Path) -> bool {
    let output_at = resolved(output);
    [file.to_owned(), resolved(file)].into_iter().any(|file| {
        COMPANIONS.iter().any(|suffix| {
            let mut part = file.clone().into_os_string();
            part.push(suffix);
            let part = Path::new(&part);
            resolved(part) == output_at || is_same_file(part, output)
        })
    })
}

/// Whether two names are of one file, as those of a hard link are.
#[cfg(unix)]
fn is_same_file(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let identity = |path: &Path| path.metadata().map(|it| (it.dev(), it.ino())).ok();
    identity(one).is_some_and(|it| Some(it) == identity(other))
}

/// Elsewhere the path alone tells; nothing is written through a hard link there either, as the file
/// is replaced and not opened.
#[cfg(not(unix))]
fn is_same_file(_: &Path, _: &Path) -> bool {
    false
}

/// Tells on stderr of names in a filter that no row has, where no row was found: slips of the keyboard.
fn warn_of_slips(reader: &AuditReader, filter: &Filter) -> Result<(), AuditError> {
    let given = [
        ("tool", &filter.tool, "tool_name"),
        ("category", &filter.category, "error_category"),
        ("method", &filter.method, "method"),
    ];
    for (what, name, column) in given {
        let Some(name) = name else { continue };
        let is_category = column == "error_category";
        let mut known = reader.names(column)?;
        if is_category {
            known.extend(CATEGORIES.map(str::to_owned));
        }
        if known.contains(name) {
            // There is such a thing; it did not happen.
            continue;
        }
        let end = match nearest(known.iter().map(String::as_str), name) {
            Some(near) => format!("; did you mean {near:?}?"),
            None if is_category => format!("; there are {}", CATEGORIES.join(", ")),
            None => String::new(),
        };
        terminal::print_error(&format!("hint: no row has the {what} {name:?}{end}\n"));
    }
    Ok(())
}
