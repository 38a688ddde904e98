//! Why a server did not start.

use std::path::PathBuf;

use crate::ServerKind;

/// A server that did not come up.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The server does not speak HTTP+SSE.
    #[error("{} has no HTTP+SSE transport", .0.name())]
    NoSse(ServerKind),
    /// The program could not be started.
    #[error("cannot start {}: {source}; run `cargo xtask setup`", .program.display())]
    Spawn {
        /// The program.
        program: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// There is no free port on 127.0.0.1.
    #[error("cannot find a free port on 127.0.0.1: {0}")]
    Port(std::io::Error),
    /// The process ended before it accepted a connection.
    #[error("{} ended before it listened; its stderr was:\n{stderr}", .kind.name())]
    Ended {
        /// The server.
        kind: ServerKind,
        /// The end of what it wrote.
        stderr: String,
    },
    /// Nothing listened in time.
    #[error("{} did not listen within {seconds} s; its stderr was:\n{stderr}", .kind.name())]
    Deadline {
        /// The server.
        kind: ServerKind,
        /// How long we waited.
        seconds: u64,
        /// The end of what it wrote.
        stderr: String,
    },
}
