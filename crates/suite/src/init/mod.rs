//! A first suite for a server, written for it: its tools are listed, those that may be called are called,
//! and what was seen to hold becomes a test.
//!
//! `explore` talks to the server, `given` is how the server was given, without its secrets, `write` makes the
//! text.

mod explore;
mod given;
mod write;
mod yaml;

#[cfg(test)]
mod tests;

use std::future::Future;
use std::pin::pin;

use mcprove_check::health::{ProbeError, Progress};
use mcprove_client::permission::Allowance;
use mcprove_client::session::SessionOptions;
use mcprove_trace::words::fits;

use crate::file::parse_yaml;
use crate::prelude::*;

pub use explore::{Explored, UnrejectedRequest};
pub use given::StartFolder;

/// How a suite is drafted.
#[derive(Clone)]
pub struct DraftOptions {
    /// How the session behaves; its call timeout holds for every call.
    pub session: SessionOptions,
    /// Whether the server's own questions are answered, which then stands in the suite too.
    pub accepts_requests: bool,
    /// How long a bad request may take before it counts as hung.
    pub probe_timeout: Duration,
    /// Where the server starts, as the suite has to say it.
    pub place: StartFolder,
    /// Tools that are called whatever they may do.
    pub allowance: Allowance,
}

/// A suite, and what is to be told of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Draft {
    /// The text of the file.
    #[serde(skip)]
    pub text: String,
    /// How many tests it has that will run.
    pub tests: usize,
    /// The tools that are not called, each with the reason.
    pub skipped: Vec<SkippedTool>,
    /// How many of them only because they may do harm.
    pub left_alone: usize,
    /// Bad requests that a tool did not reject: the tool, the probe, what happened.
    pub findings: Vec<UnrejectedRequest>,
    /// The variables that have to be set to run it.
    pub variables: Vec<String>,
    /// Which of the tools that were allowed the server does not have.
    pub unknown: Vec<String>,
    /// Whether the server does not answer `ping`, so that little shows whether a bad request broke it.
    pub is_ping_unanswered: bool,
}

/// A tool that is not called, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkippedTool {
    pub tool: String,
    pub reason: String,
}

/// Why no suite came about.
#[derive(Debug, thiserror::Error)]
pub enum DraftError {
    /// The server could not be asked.
    #[error(transparent)]
    Probe(#[from] ProbeError),
    /// What was written does not read.
    #[error("the suite that was made cannot be read: {0}")]
    Unreadable(#[from] ConfigErrors),
}

impl UserError for DraftError {
    fn inner(&self) -> Option<&dyn UserError> {
        match self {
            Self::Probe(error) => Some(error),
            Self::Unreadable(_) => None,
        }
    }

    fn hint(&self) -> Message {
        match self {
            Self::Probe(error) => error.hint(),
            Self::Unreadable(_) => {
                "please report this, with what the server answers to tools/list; \
                 write the suite by hand meanwhile"
                    .into()
            }
        }
    }
}

/// Drafts a suite. `on_progress` is told before each tool; when `stop` resolves, nothing comes of it.
pub async fn draft(
    server: &Server,
    options: &DraftOptions,
    on_progress: &mut (dyn FnMut(Progress<'_>) + Send),
    stop: impl Future<Output = ()>,
) -> Result<Draft, DraftError> {
    let stop = pin!(stop);
    let explored = tokio::select! {
        explored = explore::explore(server, options, on_progress) => explored?,
        () = stop => return Err(ProbeError::Interrupted.into()),
    };
    let read = |text: &str| parse_yaml(text, "mcprove.yml", Path::new("")).map(drop);
    let mut draft = write::write_readable(&given::given(server, options), &explored, &read)?;
    draft.unknown = unknown(&options.allowance.names, &explored);
    Ok(draft)
}

/// Which names are those of no tool.
fn unknown(allowed: &[String], explored: &Explored) -> Vec<String> {
    let is_known = |pattern: &&String| {
        let mut tools = explored.tools.iter();
        tools.any(|tool| fits(pattern, &tool.name))
    };
    allowed
        .iter()
        .filter(|pattern| !is_known(pattern))
        .cloned()
        .collect()
}
