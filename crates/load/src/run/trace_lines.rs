//! A trace file, read line by line.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use mcprove_settings::input;
use mcprove_settings::outside::{LINKED, is_linked};

use super::format::{self, FormatError};

/// The longest line that is read.
const LINE_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Why a trace could not be read.
#[derive(Debug, thiserror::Error)]
pub enum TraceReadError {
    /// The file could not be read.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// A line is none of a trace.
    #[error("{path}:{line}: {reason}")]
    Line {
        /// The file.
        path: String,
        /// The line, counted from 1.
        line: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// The file is of another version.
    #[error(transparent)]
    Format(#[from] FormatError),
}

/// What comes next in a trace.
pub(super) enum Next<'a> {
    /// A whole line.
    Line(&'a [u8]),
    /// The beginning of one, where the file ends.
    Cut(&'a [u8]),
    End,
}

/// The lines of a trace.
pub(super) struct TraceLines<'p> {
    path: &'p Path,
    reader: BufReader<File>,
    bytes: Vec<u8>,
    /// The lines so far.
    pub number: u64,
    /// Their bytes.
    pub total: u64,
}

impl<'p> TraceLines<'p> {
    pub fn open(path: &'p Path) -> Result<Self, TraceReadError> {
        let file = input::open_file(path).map_err(|source| io_error(path, source))?;
        Ok(Self {
            path,
            reader: BufReader::new(file),
            bytes: Vec::new(),
            number: 0,
            total: 0,
        })
    }

    /// The next line. The first one says of which version the trace is.
    pub fn next(&mut self) -> Result<Next<'_>, TraceReadError> {
        self.bytes.clear();
        let mut limited = (&mut self.reader).take(LINE_BYTES_MAX);
        let length = limited
            .read_until(b'\n', &mut self.bytes)
            .map_err(|source| io_error(self.path, source))?;
        if length == 0 {
            return Ok(Next::End);
        }
        self.number += 1;
        self.total += length as u64;
        if !self.bytes.ends_with(b"\n") {
            if length as u64 == LINE_BYTES_MAX {
                return Err(self.wrong(format!("longer than {LINE_BYTES_MAX} bytes")));
            }
            return Ok(Next::Cut(&self.bytes));
        }
        if self.number == 1 {
            format::check(self.path, &self.bytes, format::TRACE)?;
        }
        Ok(Next::Line(&self.bytes))
    }

    /// What is wrong with the line that came last.
    pub fn wrong(&self, reason: String) -> TraceReadError {
        let reason = if is_linked(self.path) {
            LINKED.to_owned()
        } else {
            reason
        };
        TraceReadError::Line {
            path: self.path.display().to_string(),
            line: self.number,
            reason,
        }
    }
}

fn io_error(path: &Path, source: io::Error) -> TraceReadError {
    TraceReadError::Io {
        path: path.display().to_string(),
        source,
    }
}
