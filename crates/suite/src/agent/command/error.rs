//! Why an agent that is a process cannot be run.

use std::io;

use mcprove_client::process::SpawnError;
use mcprove_import::ImportError;
use mcprove_proxy::http;
use mcprove_servers::mock::{ListenError, MockError};
use mcprove_settings::own_limits::OwnLimit;
use thiserror::Error;

use crate::plan::FillError;

/// Why an agent that is a process cannot be run.
#[derive(Debug, Error)]
pub enum CommandError {
    /// There is no folder for its files.
    #[error("no temporary folder can be made for the agent: {0}")]
    Folder(io::Error),
    /// A file for it cannot be written, or one of its proxies not be read.
    #[error("{what}: {source}")]
    File {
        /// What cannot be done.
        what: String,
        /// What the system says.
        source: io::Error,
    },
    /// A text names a variable that is not set.
    #[error("{of}: {error}")]
    Unfilled {
        /// Whose text.
        of: String,
        /// Why.
        error: FillError,
    },
    /// Nobody says how to start a proxy.
    #[error("there is no program that could stand before the server {server:?} as a proxy")]
    NoProxy {
        /// The server.
        server: String,
    },
    /// No proxy can stand before this.
    #[error("no proxy can stand before the server {server:?}: it speaks WebSocket")]
    WebSocket {
        /// The server.
        server: String,
    },
    /// The mock is not possible.
    #[error("the mock {server:?} cannot be made: {error}")]
    Mock {
        /// The server.
        server: String,
        /// Why.
        error: Box<MockError>,
    },
    /// The mock cannot be listened for.
    #[error("the mock {server:?} cannot be reached: {error}")]
    MockListen {
        /// The server.
        server: String,
        /// Why.
        error: ListenError,
    },
    /// The proxy cannot listen.
    #[error("the proxy of the server {server:?} cannot listen: {error}")]
    Listen {
        /// The server.
        server: String,
        /// Why.
        error: http::ListenError,
    },
    /// The agent cannot be started.
    #[error("the agent cannot be started: {0}")]
    Spawn(Box<SpawnError>),
    /// A server was not there for it.
    #[error("the server {server:?} could not be started or reached: {message}")]
    Unreached {
        /// The server.
        server: String,
        /// What happened.
        message: String,
    },
    /// A recording does not have all that passed, so that nothing can be judged by it.
    #[error("the recording of the server {server:?} is not complete: {reason}")]
    Incomplete {
        /// The server.
        server: String,
        /// Why.
        reason: String,
    },
    /// It said something of its run that is not possible.
    #[error("what the agent printed is not right: {0}")]
    Output(String),
    /// What a proxy wrote down cannot be read.
    #[error("what the proxy of the server {server:?} wrote down cannot be read: {error}")]
    Recording {
        /// The server.
        server: String,
        /// Why.
        error: Box<ImportError>,
    },
}

impl CommandError {
    /// What to try.
    pub fn hint(&self) -> String {
        match self {
            Self::Folder(source) | Self::File { source, .. } => match OwnLimit::of(source) {
                Some(limit) => limit.hint().into(),
                None => "check the permissions of the temporary folder and the space on the disk".into(),
            },
            Self::Unfilled { .. } => "set the variable, or write ${NAME:-otherwise}".into(),
            Self::NoProxy { .. } => {
                "set `proxy_program` of the options to the program `mcprove`".into()
            }
            Self::WebSocket { .. } => "give the server an http:// address, or a command".into(),
            Self::Mock { .. } => "check the tools of the mock with `mcprove validate`".into(),
            Self::MockListen { .. } => "check that 127.0.0.1 can be listened on".into(),
            Self::Listen { error, .. } => error.hint().text(),
            Self::Spawn(error) => error.hint(),
            Self::Unreached { server, .. } => format!(
                "check the command or the address of {server:?} under `servers`, and try it by itself: mcprove probe"
            ),
            Self::Incomplete { .. } => {
                "check the space on the disk of the temporary folder; let the agent close its servers' input, or end them with SIGTERM, instead of SIGKILL".into()
            }
            Self::Output(_) => {
                "print a text, or one JSON object: final_response is a text, tokens has whole numbers from 0 up (prompt, completion, total), turns is a list of objects with role and text".into()
            }
            Self::Recording { .. } => {
                "run it again; an agent that kills its servers may cut what they write".into()
            }
        }
    }
}

impl From<SpawnError> for CommandError {
    fn from(error: SpawnError) -> Self {
        Self::Spawn(Box::new(error))
    }
}
