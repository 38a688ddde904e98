//! A report computed again, from the trace of its run; from `metrics.json` where the trace is not
//! whole.

use std::path::Path;

use mcprove_trace::stream::{MetricsSink, Sink};

use super::assemble::assemble;
use super::directory::{RunDirectory, read_metrics};
use super::format::FormatError;
use super::header::ENDED;
use super::replay::Line;
use super::report::{Report, TraceStats};
use super::trace_lines::{Next, TraceLines, TraceReadError};

/// Why a report could not be computed again.
#[derive(Debug, thiserror::Error)]
pub enum RecomputeError {
    /// The trace could not be read.
    #[error(transparent)]
    Read(TraceReadError),
    /// A file is of another version.
    #[error(transparent)]
    Format(FormatError),
    /// There is neither a whole trace nor a report.
    #[error("{0}")]
    Nothing(String),
}

impl From<TraceReadError> for RecomputeError {
    fn from(error: TraceReadError) -> Self {
        match error {
            TraceReadError::Format(error) => Self::Format(error),
            error => Self::Read(error),
        }
    }
}

impl RecomputeError {
    /// What to try next.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Read(TraceReadError::Io { .. }) => "check the path and its permissions",
            Self::Read(TraceReadError::Line { .. }) => {
                "the trace was changed after the run; put the line right, or remove trace.jsonl to \
                 take the report from metrics.json"
            }
            Self::Format(error) | Self::Read(TraceReadError::Format(error)) => error.hint(),
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
            Reading::Whole(mut report) => {
                // What else could not be written is no event.
                report.losses = metrics.map(|known| known.losses).unwrap_or_default();
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
        let reason = "there is no trace.jsonl, as after a run without a trace".to_owned();
        (None, reason)
    };
    match (metrics, part) {
        (Ok(report), _) => {
            // The run knows better why it is not complete.
            let reason = report.trace_loss().map_or(reason, ToString::to_string);
            let warning = Some(format!("{reason}; the report is taken from metrics.json"));
            Ok(Recomputed { report, warning })
        }
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
    let metrics = MetricsSink::new();
    let mut shard = metrics.shard();
    let mut lines = TraceLines::open(path)?;
    let cut = loop {
        let line = match lines.next()? {
            Next::Line(line) => line,
            Next::Cut(_) => {
                break Some(
                    "its last line is cut off, for the run was killed or the disk was full",
                );
            }
            Next::End => {
                break Some(
                    "it has no end, for the run was killed or the trace could not be written",
                );
            }
        };
        let line = match Line::parse(line) {
            Ok(line) => line,
            Err(reason) => return Err(lines.wrong(reason).into()),
        };
        let event = match line.event() {
            Ok(event) => event,
            Err(reason) => return Err(lines.wrong(reason).into()),
        };
        // The metrics never fail.
        let _ = shard.record(&event);
        // What a session that was left behind writes later is in no live report either.
        if line.name() == Some(ENDED) {
            break None;
        }
    };
    let _ = shard.merge();
    let report = assemble(&metrics.snapshot()).map(|mut report| {
        report.trace = Some(TraceStats {
            events: lines.number,
            bytes: lines.total,
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
