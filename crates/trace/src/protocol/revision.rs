//! The revisions of the protocol, and what each of them asks of a client.

use std::str::FromStr;

use crate::prelude::*;

/// A published revision of MCP.
///
/// ```
/// use mcprove_trace::protocol::{Era, Revision};
///
/// let revision: Revision = "2025-11-25".parse().unwrap();
/// assert_eq!(revision.era(), Era::Handshake);
/// assert!("2025-13-01".parse::<Revision>().is_err());
/// ```
#[stored(Copy, Eq, PartialOrd, Ord, Hash, Shown)]
#[shown(as_str)]
pub enum Revision {
    /// The first: HTTP+SSE.
    #[serde(rename = "2024-11-05")]
    V2024_11_05,
    /// Streamable HTTP, batches.
    #[serde(rename = "2025-03-26")]
    V2025_03_26,
    /// No batches; the version header; elicitation.
    #[serde(rename = "2025-06-18")]
    V2025_06_18,
    /// Tasks, URL elicitation.
    #[serde(rename = "2025-11-25")]
    V2025_11_25,
    /// Stateless: no handshake, metadata on every request.
    #[serde(rename = "2026-07-28")]
    V2026_07_28,
}

/// The two ways in which client and server agree on a revision.
#[choice(Copy, Eq, Hash)]
pub enum Era {
    /// `initialize` once per connection, to 2025-11-25.
    Handshake,
    /// Version and capabilities in every request, from 2026-07-28.
    Stateless,
}

impl Era {
    /// `handshake` or `stateless`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Handshake => "handshake",
            Self::Stateless => "stateless",
        }
    }
}

/// The dates of the revisions, in their order.
const DATES: [&str; Revision::ALL.len()] = [
    "2024-11-05",
    "2025-03-26",
    "2025-06-18",
    "2025-11-25",
    "2026-07-28",
];

impl Revision {
    /// Every revision, oldest first.
    pub const ALL: [Self; 5] = [
        Self::V2024_11_05,
        Self::V2025_03_26,
        Self::V2025_06_18,
        Self::V2025_11_25,
        Self::V2026_07_28,
    ];

    /// The newest revision that is agreed on by `initialize`.
    pub const LATEST_HANDSHAKE: Self = Self::V2025_11_25;

    /// The newest revision that needs no handshake.
    pub const LATEST_STATELESS: Self = Self::V2026_07_28;

    /// The date by which the revision is known.
    pub const fn as_str(self) -> &'static str {
        DATES[self as usize]
    }

    /// How this revision is agreed on.
    pub const fn era(self) -> Era {
        match self {
            Self::V2026_07_28 => Era::Stateless,
            _ => Era::Handshake,
        }
    }

    /// Whether HTTP requests carry `MCP-Protocol-Version`.
    pub fn has_version_header(self) -> bool {
        self >= Self::V2025_06_18
    }

    /// Whether a message may be an array of messages.
    pub fn has_batches(self) -> bool {
        self == Self::V2025_03_26
    }
}

/// A text that is no revision.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown protocol revision {0:?}; known: 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, 2026-07-28"
)]
pub struct UnknownRevision(pub String);

impl FromStr for Revision {
    type Err = UnknownRevision;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|revision| revision.as_str() == text)
            .ok_or_else(|| UnknownRevision(text.to_owned()))
    }
}
