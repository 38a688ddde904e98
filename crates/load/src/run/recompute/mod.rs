//! A report computed again, from the trace of its run; from `metrics.json` where the trace is not
//! whole.

use std::path::Path;

use mcprove_settings::message::Diagnostic;
use mcprove_trace::stream::{Fact, FactError, MetricsSink, Sink};

use super::assemble::{AssembleError, assemble};
use super::directory::{RunDirectory, read_metrics};
use super::format::FormatError;
use super::header::Ending;
use super::replay::Line;
use super::report::{Report, TraceStats};
use super::trace_lines::{Next, TraceLines, TraceReadError};
use crate::drive::Scenario;

/// Why a report could not be computed again.
#[derive(Debug, thiserror::Error)]
pub enum RecomputeError {
    /// The trace could not be read.
    #[error(transparent)]
    Read(TraceReadError),
    /// A file is of another version.
    #[error(transparent)]
    Format(FormatError),
    /// A scenario that was given does not fit the run.
    #[error("{0}")]
    Scenario(Diagnostic),
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
            Self::Scenario(_) => "give the scenario that was run, as it was then",
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

/// Computes the report of the run in `directory` again. What a scenario of another crate concludes is left out, with a
/// warning in the report; [`recompute_with`] takes that scenario.
pub fn recompute(directory: &RunDirectory) -> Result<Recomputed, RecomputeError> {
    recompute_with(directory, &[])
}

/// Computes the report of the run in `directory` again, where its scenario may be one of these.
pub fn recompute_with(
    directory: &RunDirectory,
    scenarios: &[Scenario],
) -> Result<Recomputed, RecomputeError> {
    let metrics = read_metrics(directory);
    // Nor is it overwritten with what an older version makes of the trace.
    if let Err(error @ FormatError::Other { .. }) = metrics {
        return Err(RecomputeError::Format(error));
    }
    let trace = directory.trace();
    let (part, reason) = if trace.exists() {
        match read_trace(&trace, scenarios)? {
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

fn read_trace(path: &Path, scenarios: &[Scenario]) -> Result<Reading, RecomputeError> {
    let metrics = MetricsSink::new();
    let mut shard = metrics.shard();
    let mut lines = TraceLines::open(path)?;
    let cut = loop {
        let line = match lines.next()? {
            Next::Line(line) => line,
            Next::Cut(_) => {
                break Some(
                    "its last line is cut off, because the run was killed or the disk was full",
                );
            }
            Next::End => {
                break Some(
                    "it has no end, because the run was killed or the trace could not be written",
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
        if let Err(error) = shard.record(&event) {
            return Err(lines.wrong(error.reason).into());
        }
        // What a session that was left behind writes later is in no live report either.
        if line.name() == Some(Ending::NAME) {
            break None;
        }
    };
    let _ = shard.merge();
    let report = assemble(&metrics.snapshot(), scenarios, None).map_err(|error| match error {
        AssembleError::Fact(error) => find_line(path, &error),
        AssembleError::Scenario(own) => RecomputeError::Scenario(own),
    })?;
    let report = report.map(|mut report| {
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

/// The error with the line of the trace that holds the fact.
fn find_line(path: &Path, fact: &FactError) -> RecomputeError {
    let found = TraceLines::open(path).and_then(|mut lines| {
        while let Next::Line(bytes) = lines.next()? {
            let line = Line::parse(bytes);
            let is_it =
                |line: &Line<'_>| line.name() == Some(fact.name) && line.data() == fact.data;
            if line.is_ok_and(|line| is_it(&line)) {
                break;
            }
        }
        Ok(lines.wrong(fact.to_string()))
    });
    found.unwrap_or_else(|error| error).into()
}

#[cfg(test)]
mod tests;
