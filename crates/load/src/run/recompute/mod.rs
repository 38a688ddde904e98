//! A report computed again, from the trace of its run; from `metrics.json` where the trace is not
//! whole.

use crate::prelude::*;

/// Why a report could not be computed again.
#[derive(Debug, thiserror::Error)]
pub enum RecomputeError {
    /// A file could not be read, or is of another version.
    #[error(transparent)]
    Read(#[from] TraceReadError),
    /// A scenario that was given does not fit the run.
    #[error("{0}")]
    Scenario(Diagnostic),
    /// There is neither a whole trace nor a report.
    #[error("{0}")]
    Nothing(String),
}

impl UserError for RecomputeError {
    fn hint(&self) -> Message {
        match self {
            Self::Read(TraceReadError::Line { .. }) => {
                "the trace was changed after the run; put the line right, or remove trace.jsonl to \
                 take the report from metrics.json"
                    .into()
            }
            Self::Read(error) => error.hint(),
            Self::Scenario(_) => "give the scenario that was run, as it was then".into(),
            Self::Nothing(_) => {
                "the run did not end, so there is nothing to report: run it again".into()
            }
        }
    }
}

/// A report, and where it comes from.
#[derive(Debug)]
#[non_exhaustive]
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
        return Err(TraceReadError::Format(error).into());
    }
    let trace = directory.trace();
    let (part, reason) = if trace.exists() {
        match read_trace(&trace, scenarios)? {
            (Some(mut report), None) => {
                // What else could not be written is no event.
                report.losses = metrics.map(|known| known.losses).unwrap_or_default();
                let warning = None;
                return Ok(Recomputed { report, warning });
            }
            (part, reason) => {
                let reason = reason.unwrap_or("it does not say what was run");
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
            report,
            warning: Some(format!("{reason}; the report is of what is in it")),
        }),
        (Err(error), None) => Err(RecomputeError::Nothing(format!("{reason}; {error}"))),
    }
}

/// The report of what is in the trace, if its beginning is there, and why that is not all of the run, if so.
fn read_trace(
    path: &Path,
    scenarios: &[Scenario],
) -> Result<(Option<Report>, Option<&'static str>), RecomputeError> {
    let metrics = MetricsSink::new();
    let mut reader = TraceReader::open(path)?;
    // What a session that was left behind writes later is in no live report either.
    let end = reader.read_into(&metrics, |line, _, taken| {
        taken.map(|()| line.name() == Some(Ending::NAME))
    })?;
    let reason = match end {
        End::Wanted => None,
        End::Cut(_) => {
            Some("its last line is cut off, because the run was killed or the disk was full")
        }
        End::File => {
            Some("it has no end, because the run was killed or the trace could not be written")
        }
    };
    let mut report = match assemble(&metrics.snapshot(), scenarios, None) {
        Ok(report) => report,
        Err(AssembleError::Scenario(own)) => return Err(RecomputeError::Scenario(own)),
        Err(AssembleError::Fact(fact)) => {
            // The error with the line of the trace that holds the fact.
            let mut reader = TraceReader::open(path)?;
            reader.read_into(&MetricsSink::new(), |line, _, _| {
                Ok(line.name() == Some(fact.name) && line.data() == fact.data)
            })?;
            return Err(reader.wrong(fact.to_string()).into());
        }
    };
    if let Some(report) = &mut report {
        report.trace = Some(TraceStats {
            events: reader.lines,
            bytes: reader.bytes,
        });
    }
    Ok((report, reason))
}

#[cfg(test)]
mod tests;
