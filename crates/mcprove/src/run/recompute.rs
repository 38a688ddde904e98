//! A report computed again, from the trace of its run; from `metrics.json` where the trace is not
//! whole.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use super::assemble::assemble;
use super::directory::{RunDirectory, read_metrics};
use super::format::{self, FormatError};
use super::header::ENDED;
use super::replay::Line;
use super::report::{Report, TraceStats};
use crate::event::{MetricsSink, Sink};

/// The longest line of a trace that is read.
const LINE_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Why a report could not be computed again.
#[derive(Debug, thiserror::Error)]
pub enum RecomputeError {
    /// A file could not be read.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// A line of the trace is none.
    #[error("{path}:{line}: {reason}")]
    Line {
        /// The file.
        path: String,
        /// The line, counted from 1.
        line: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// A file is of another version.
    #[error(transparent)]
    Format(FormatError),
    /// There is neither a whole trace nor a report.
    #[error("{0}")]
    Nothing(String),
}

impl RecomputeError {
    /// What to try next.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Io { .. } => "check the path and its permissions",
            Self::Line { .. } => {
                "the trace was changed after the run; put the line right, or remove trace.jsonl to \
                 take the report from metrics.json"
            }
            Self::Format(error) => error.hint(),
            Self::Nothing(_) => "the run did not end, so there is nothing to report: run it again",
        }
    }
}

/// A report, and where it comes from.
#[derive(Debug)]
pub struct Recomputed {
    /// The report.
    pub report: Report,
    /// Why it was taken from `metrics.json` instead of the trace, if it was.
    pub warning: Option<String>,
}

/// Computes the report of the run in `directory` again.
pub fn recompute(directory: &RunDirectory) -> Result<Recomputed, RecomputeError> {
    let metrics = read_metrics(directory);
    // Nor is it overwritten with what an older version makes of the trace.
    if let Err(error @ FormatError::Other { .. }) = metrics {
        return Err(RecomputeError::Format(error));
    }
    let trace = directory.trace();
    let (part, reason) = if trace.exists() {
        match read_trace(&trace)? {
            Reading::Whole(report) => {
                return Ok(Recomputed {
                    report: *report,
                    warning: None,
                });
            }
            Reading::Incomplete(part, reason) => {
                (part, format!("trace.jsonl is not complete: {reason}"))
            }
        }
    } else {
        let reason = "there is no trace.jsonl, as after a run with --no-trace".to_owned();
        (None, reason)
    };
    match (metrics, part) {
        (Ok(report), _) => Ok(Recomputed {
            report,
            warning: Some(format!("{reason}; the report is taken from metrics.json")),
        }),
        // A run that was killed has no metrics.json, but what it did is in the trace.
        (Err(_), Some(report)) => Ok(Recomputed {
            report: *report,
            warning: Some(format!("{reason}; the report is of what is in it")),
        }),
        (Err(error), None) => Err(RecomputeError::Nothing(format!("{reason}; {error}"))),
    }
}

/// What a trace gave.
enum Reading {
    /// The report.
    Whole(Box<Report>),
    /// The report of a part, if the beginning is there, and why it is only a part.
    Incomplete(Option<Box<Report>>, &'static str),
}

fn read_trace(path: &Path) -> Result<Reading, RecomputeError> {
    let shown = path.display().to_string();
    let io = |source| RecomputeError::Io {
        path: shown.clone(),
        source,
    };
    let metrics = MetricsSink::new();
    let mut shard = metrics.shard();
    let mut reader = BufReader::new(File::open(path).map_err(io)?);
    let mut bytes = Vec::new();
    let mut number = 0;
    let mut total = 0;
    let mut cut = None;
    loop {
        bytes.clear();
        let mut limited = io::Read::take(&mut reader, LINE_BYTES_MAX);
        let length = limited.read_until(b'\n', &mut bytes).map_err(io)?;
        number += 1;
        total += length as u64;
        if length == 0 {
            number -= 1;
            cut = Some("it has no end, for the run was killed or the trace reached its size limit");
            break;
        }
        let wrong = |reason| RecomputeError::Line {
            path: shown.clone(),
            line: number,
            reason,
        };
        if !bytes.ends_with(b"\n") {
            if length as u64 == LINE_BYTES_MAX {
                return Err(wrong(format!("longer than {LINE_BYTES_MAX} bytes")));
            }
            cut = Some("its last line is cut off, for the run was killed or the disk was full");
            break;
        }
        if number == 1 {
            format::check(path, &bytes, format::TRACE).map_err(RecomputeError::Format)?;
        }
        let line = Line::parse(&bytes).map_err(wrong)?;
        // The metrics never fail.
        let _ = shard.record(&line.event().map_err(wrong)?);
        // What a session that was left behind writes later is in no live report either.
        if line.name() == Some(ENDED) {
            break;
        }
    }
    let _ = shard.merge();
    let report = assemble(&metrics.snapshot()).map(|mut report| {
        report.trace = Some(TraceStats {
            events: number,
            bytes: total,
        });
        Box::new(report)
    });
    Ok(match (report, cut) {
        (Some(report), None) => Reading::Whole(report),
        (report, Some(reason)) => Reading::Incomplete(report, reason),
        (None, None) => Reading::Incomplete(None, "it does not say what was run"),
    })
}

#[cfg(test)]
mod tests;
