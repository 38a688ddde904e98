//! Rows as they are written, across the ends and starts of the one who writes them.

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use mcprove_lab::audit::{AuditError, AuditReader, AuditRow, Filter, Order};
use mcprove_lab::report::{AUDIT_LINES_HEAD, audit_line};
use mcprove_settings::printable::{escape_hidden, printable_json};

use super::filters::FilterArguments;
use crate::{ExitCode, Failure, interrupt, terminal};

/// How often the file is looked into.
const INTERVAL: Duration = Duration::from_millis(200);
/// How many rows are shown before it waits.
const SHOWN: u64 = 10;

/// Follows a file until the user ends it.
pub async fn run(
    file: &Path,
    filters: &FilterArguments,
    as_json: bool,
) -> Result<ExitCode, Failure> {
    let mut interrupted = std::pin::pin!(interrupt::requested());
    let mut follower = Follower::start(file, filters, as_json)?;
    if !as_json && !show(AUDIT_LINES_HEAD)? {
        return Ok(ExitCode::SUCCESS);
    }
    loop {
        if !follower.look()? {
            // Nobody reads what is shown any more.
            return Ok(ExitCode::SUCCESS);
        }
        // The file is opened anew each time: it may be another one, and nobody is kept from
        // removing it.
        tokio::select! {
            () = &mut interrupted => return Ok(ExitCode::Interrupted),
            () = tokio::time::sleep(INTERVAL) => {}
        }
    }
}

struct Follower<'a> {
    file: &'a Path,
    filter: Filter,
    /// Which audit it is, and the last row that was seen in it.
    origin: String,
    last: i64,
    as_json: bool,
    /// The rows that were there before.
    first: Vec<AuditRow>,
}

impl<'a> Follower<'a> {
    fn start(file: &'a Path, filters: &FilterArguments, as_json: bool) -> Result<Self, Failure> {
        let reader = AuditReader::open(file)?;
        let last = reader.last_id()?;
        let filter = filters.filter(Some(SHOWN), Order::NewestFirst);
        let rows = reader.rows(filter.clone()).filter(|row| match row {
            Ok(row) => row.id <= last,
            Err(_) => true,
        });
        let mut first: Vec<AuditRow> = rows.collect::<Result<_, _>>()?;
        first.reverse();
        Ok(Self {
            file,
            filter: Filter {
                limit: None,
                order: Order::OldestFirst,
                ..filter
            },
            origin: reader.origin()?,
            last,
            as_json,
            first,
        })
    }

    /// Shows what is new; false when nobody reads it.
    fn look(&mut self) -> Result<bool, Failure> {
        for row in std::mem::take(&mut self.first) {
            if !self.show_row(&row)? {
                return Ok(false);
            }
        }
        match self.show_new() {
            Ok(goes_on) => goes_on,
            // The lab may be about to make the file, or another process may hold it.
            Err(AuditError::NoFile(_) | AuditError::Locked(_) | AuditError::Foreign { .. }) => {
                Ok(true)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn show_new(&mut self) -> Result<Result<bool, Failure>, AuditError> {
        let reader = AuditReader::open(self.file)?;
        let origin = reader.origin()?;
        if origin != self.origin {
            terminal::print_error("the file was replaced: its rows start again\n");
            (self.origin, self.last) = (origin, 0);
        }
        let last = reader.last_id()?;
        if last <= self.last {
            return Ok(Ok(true));
        }
        let filter = Filter {
            after: Some(self.last),
            ..self.filter.clone()
        };
        for row in reader.rows(filter) {
            let row = row?;
            match self.show_row(&row) {
                Ok(true) => {}
                end => return Ok(end),
            }
            self.last = row.id;
        }
        self.last = self.last.max(last);
        Ok(Ok(true))
    }

    fn show_row(&mut self, row: &AuditRow) -> Result<bool, Failure> {
        let text = if self.as_json {
            printable_json(&serde_json::to_string(row)?) + "\n"
        } else {
            audit_line(row, terminal::style())
        };
        show(&text)
    }
}

/// Writes to standard output; false when its reader went away.
fn show(text: &str) -> Result<bool, Failure> {
    let mut output = io::stdout().lock();
    let text = escape_hidden(text);
    match output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush())
    {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::new(
            format!("a row could not be written to standard output: {error}"),
            "check the disk or device that it goes to",
        )),
    }
}
