//! Why runs could not be compared.

use super::Side;
use crate::prelude::*;
use crate::run::FormatError;

/// Why runs could not be compared.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// A path is neither a run nor a directory of runs.
    #[error(
        "{path} holds no run: there is neither a trace.jsonl nor a metrics.json in it, nor in a directory in it"
    )]
    NoRun {
        /// The path.
        path: String,
    },
    /// A directory could not be read.
    #[error("{path}: {source}")]
    Io {
        /// The path.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// A run of one side cannot be read, and the side has no other.
    #[error("{path} cannot be compared: {reason}")]
    Unreadable {
        /// Its directory.
        path: String,
        /// Why.
        reason: String,
    },
    /// A file of a run is of another version.
    #[error(transparent)]
    Format(FormatError),
    /// What was asked for makes no sense.
    #[error("{0}")]
    Config(String),
    /// A run could not be made.
    #[error("run {number} of {count} on the {} server could not be made: {source}", side.name())]
    Run {
        /// Which server.
        side: Side,
        /// Which run, counted from 1.
        number: usize,
        /// How many there were to be on each side.
        count: usize,
        /// Why.
        source: Box<RunError>,
    },
    /// The comparison was stopped before each side had a run.
    #[error(
        "stopped before there was a whole run of each server ({baseline} of the baseline, {current} of the current one), so there is nothing to compare"
    )]
    Stopped {
        /// Whole runs of the baseline server.
        baseline: usize,
        /// Whole runs of the current one.
        current: usize,
        /// Where they are.
        directory: Option<PathBuf>,
    },
}

impl CompareError {
    /// What to try next.
    pub fn hint(&self) -> Message {
        match self {
            Self::NoRun { .. } => {
                sentence!(
                    "give the directory of a run, or one that holds several; `mcprove runs` lists them"
                )
            }
            Self::Io { .. } => "check the path and its permissions".into(),
            Self::Unreadable { .. } => "leave the run out, or make it again".into(),
            Self::Format(error) => error.hint().into(),
            Self::Config(_) => "compare directories of runs, or two servers".into(),
            Self::Run { source, .. } => source.diagnostic().hint.unwrap_or_default(),
            Self::Stopped { .. } => {
                "let it go on for longer, or ask for fewer or shorter runs".into()
            }
        }
    }
}
