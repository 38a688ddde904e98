//! Rows as they are written, across the ends and starts of the one who writes them.

use mcprove_lab::audit::AuditRow;
use mcprove_lab::report::{AUDIT_LINES_HEAD, audit_line};

use super::filters::FilterArguments;
use super::unprinted;
use crate::prelude::*;

/// How often the file is looked into.
const INTERVAL: Duration = Duration::from_millis(200);
/// How many rows are shown before it waits.
const SHOWN: u64 = 10;

/// Follows a file until the user ends it.
pub async fn run(file: &Path, filters: &FilterArguments, as_json: bool) -> Result {
    let mut interrupted = std::pin::pin!(interrupt::requested());
    let Some(mut follower) = Follower::start(file, filters, as_json)? else {
        return Ok(ExitCode::Passed);
    };
    loop {
        if !follower.look()? {
            // Nobody reads what is shown any more.
            return Ok(ExitCode::Passed);
        }
        // The file is opened again each time: it may be another one, and nobody is kept from
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
    /// Which audit it is.
    origin: String,
    as_json: bool,
}

impl<'a> Follower<'a> {
    /// Shows the last rows that are there; none when nobody reads them.
    fn start(file: &'a Path, filters: &FilterArguments, as_json: bool) -> Result<Option<Self>> {
        let reader = AuditReader::open(file)?;
        let last = reader.last_id()?;
        let filter = filters.filter(Some(SHOWN), Order::NewestFirst);
        let rows: Result<Vec<AuditRow>, _> = reader.rows(filter.clone()).collect();
        let follower = Self {
            file,
            filter: Filter {
                limit: None,
                order: Order::OldestFirst,
                after: Some(last),
                ..filter
            },
            origin: reader.origin()?,
            as_json,
        };
        let rows = rows?;
        let mut is_read = as_json || show(AUDIT_LINES_HEAD)?;
        for row in rows.iter().rev().filter(|row| row.id <= last) {
            is_read = is_read && follower.show_row(row)?;
        }
        Ok(is_read.then_some(follower))
    }

    /// Shows what is new; false when nobody reads it.
    fn look(&mut self) -> Result<bool> {
        match self.show_new() {
            Ok(goes_on) => goes_on,
            // The lab may be about to make the file, or another process may hold it.
            Err(AuditError::NoFile(_) | AuditError::Locked(_) | AuditError::Foreign { .. }) => {
                Ok(true)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn show_new(&mut self) -> Result<Result<bool>, AuditError> {
        let reader = AuditReader::open(self.file)?;
        let origin = reader.origin()?;
        if origin != self.origin {
            terminal::print_error("the file was replaced: its rows start again\n");
            (self.origin, self.filter.after) = (origin, Some(0));
        }
        let last = Some(reader.last_id()?);
        if last <= self.filter.after {
            return Ok(Ok(true));
        }
        for row in reader.rows(self.filter.clone()) {
            let row = row?;
            match self.show_row(&row) {
                Ok(true) => self.filter.after = Some(row.id),
                end => return Ok(end),
            }
        }
        self.filter.after = self.filter.after.max(last);
        Ok(Ok(true))
    }

    fn show_row(&self, row: &AuditRow) -> Result<bool> {
        show(&if self.as_json {
            printable_json(&serde_json::to_string(row)?) + "\n"
        } else {
            audit_line(row, terminal::style())
        })
    }
}

/// Writes to standard output; false when its reader went away.
fn show(text: &str) -> Result<bool> {
    terminal::try_print(text).map_err(unprinted)
}
