//! Why a scenario could not be carried out at all.

use mcprove_client::session::{CallError, ConnectError};
use mcprove_settings::message::Diagnostic;

use super::mix::MixError;

/// Why a scenario could not be carried out. What a server does wrong in the middle of one is no
/// error but a result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StageError {
    /// The server could not be started, reached or agreed with.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The tools could not be listed.
    #[error("tools/list failed: {0}")]
    List(#[from] CallError),
    /// What was asked for does not fit the server, or itself.
    #[error("{0}")]
    Config(Diagnostic),
    /// The run was stopped before it began.
    #[error("interrupted before the load began")]
    Stopped,
    /// A thread, or its runtime, could not be started.
    #[error("a thread could not be started: {0}")]
    Thread(std::io::Error),
    /// A defect of ours.
    #[error("{0}")]
    Internal(String),
}

impl From<MixError> for StageError {
    fn from(error: MixError) -> Self {
        Self::Config(error.into())
    }
}
