//! What a server's answer to `server/discover` says about the era it lives in.

use mcprove_trace::ErrorCategory;
use mcprove_trace::protocol::{DiscoverResult, Era, Revision, UNSUPPORTED_PROTOCOL_VERSION};

use super::call::{CallError, Reply};
use crate::transport::Detail;

/// A revision of the handshake era that the server offers instead of `asked`.
pub fn other_version(error: &CallError, asked: Revision) -> Option<Revision> {
    let offered = error.error.as_ref()?.supported_versions();
    newest_handshake(&offered).filter(|revision| *revision != asked)
}

fn newest_handshake(versions: &[String]) -> Option<Revision> {
    versions
        .iter()
        .filter_map(|version| version.parse::<Revision>().ok())
        .filter(|revision| revision.era() == Era::Handshake)
        .max()
}

/// What the answer to `server/discover` means.
pub enum Discovery {
    Stateless(Box<DiscoverResult>),
    /// The server is of the stateless era and wants to be asked again.
    Retry,
    Handshake(Revision),
    /// The connection ended.
    Gone,
}

impl Discovery {
    pub fn is_stateless(&self) -> bool {
        matches!(self, Self::Stateless(_))
    }

    pub fn read(answer: &Result<Reply, CallError>) -> Self {
        let stateless = Revision::LATEST_STATELESS.as_str();
        match answer {
            Ok(reply) => match reply.parse::<DiscoverResult>() {
                Ok(result)
                    if result
                        .supported_versions
                        .iter()
                        .any(|version| version == stateless) =>
                {
                    Self::Stateless(Box::new(result))
                }
                Ok(result) => Self::Handshake(
                    newest_handshake(&result.supported_versions)
                        .unwrap_or(Revision::LATEST_HANDSHAKE),
                ),
                // An answer that is none: servers of the handshake era say `{}` to anything.
                Err(_) => Self::Handshake(Revision::LATEST_HANDSHAKE),
            },
            Err(error) => match &error.error {
                Some(rpc) if rpc.code == UNSUPPORTED_PROTOCOL_VERSION => {
                    let offered = rpc.supported_versions();
                    let newest = newest_handshake(&offered);
                    match newest {
                        Some(revision) if !offered.iter().any(|version| version == stateless) => {
                            Self::Handshake(revision)
                        }
                        _ => Self::Retry,
                    }
                }
                Some(rpc) if rpc.is_of_stateless_era() => Self::Retry,
                Some(_) => Self::Handshake(Revision::LATEST_HANDSHAKE),
                None => match error.failure.category {
                    ErrorCategory::Crash | ErrorCategory::Timeout | ErrorCategory::Cancelled => {
                        Self::Gone
                    }
                    ErrorCategory::Disconnected
                        if matches!(error.failure.detail, Detail::None | Detail::Refused) =>
                    {
                        Self::Gone
                    }
                    // What never ends cannot be talked over.
                    _ if matches!(error.failure.detail, Detail::Oversized { .. }) => Self::Gone,
                    _ => Self::Handshake(Revision::LATEST_HANDSHAKE),
                },
            },
        }
    }
}
