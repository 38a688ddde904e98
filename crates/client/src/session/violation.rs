//! What a server did that the protocol does not allow, and that belongs to no single call.

use crate::prelude::*;

/// How many violations are kept with their text; all are counted.
const KEPT_MAX: usize = 100;

/// How much of a message is kept.
const MESSAGE_CHARACTERS_MAX: usize = 500;

/// A kind of protocol violation.
#[choice(Copy, Eq, PartialOrd, Ord)]
pub enum ViolationKind {
    /// Something that is no message, such as a log line on stdout.
    Noise,
    /// JSON that is no valid JSON-RPC message, or a broken one.
    InvalidMessage,
    /// A reply with other output on its line: a log line that did not end, or another message.
    GarbledReply,
    /// A second answer to a request.
    DuplicateReply,
    /// An answer to a request that was never sent.
    UnknownReply,
    /// An answer that names no request.
    ReplyWithoutId,
    /// An answer to a request of the client that the server itself had cancelled.
    ReplyAfterCancel,
    /// A message larger than the limit.
    Oversized,
    /// A batch in a revision that has none.
    UnexpectedBatch,
    /// A request to the client in the stateless era.
    UnexpectedRequest,
    /// A tool whose definition breaks the rules of its revision.
    InvalidTool,
    /// A message of ours that the server must accept, refused by HTTP status.
    Refused,
}

impl ViolationKind {
    /// Whether it harms nobody as long as every request gets its answer all the same.
    pub const fn is_harmless(self) -> bool {
        matches!(
            self,
            Self::Noise | Self::ReplyWithoutId | Self::ReplyAfterCancel
        )
    }

    /// Whether it may be the reply to a request that then seems to have none.
    pub const fn may_be_reply(self) -> bool {
        matches!(
            self,
            Self::InvalidMessage | Self::UnknownReply | Self::ReplyWithoutId | Self::Oversized
        )
    }

    /// What the kind means, in one line.
    pub const fn explanation(self) -> &'static str {
        match self {
            Self::Noise => "wrote something that is not a message",
            Self::InvalidMessage => "wrote a broken message",
            Self::GarbledReply => "mixed a reply with other output on one line",
            Self::DuplicateReply => "answered a request twice",
            Self::UnknownReply => "answered a request that was never sent",
            Self::ReplyWithoutId => "wrote an answer that names no request",
            Self::ReplyAfterCancel => "answered a request that it had cancelled itself",
            Self::Oversized => "wrote a message larger than the limit",
            Self::UnexpectedBatch => "wrote a batch, which this revision does not have",
            Self::UnexpectedRequest => "asked the client, which this revision does not allow",
            Self::InvalidTool => "listed a tool with an invalid definition",
            Self::Refused => "refused a message that it must accept",
        }
    }
}

/// One violation.
#[stored(Eq)]
pub struct Violation {
    /// What kind.
    pub kind: ViolationKind,
    /// What exactly, for people.
    pub message: String,
}

/// All violations of a session: counted, and the first ones kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Violations {
    /// How often each kind was seen.
    pub counts: BTreeMap<ViolationKind, u64>,
    /// The first ones.
    pub first: Vec<Violation>,
}

impl Violations {
    /// Adds one, and tells its place among those that are kept.
    pub fn add(&mut self, kind: ViolationKind, message: impl Into<String>) -> Option<usize> {
        *self.counts.entry(kind).or_default() += 1;
        let place = self.first.len();
        let is_kept = place < KEPT_MAX;
        if is_kept {
            self.first.push(Violation {
                kind,
                message: shorten(&message.into(), MESSAGE_CHARACTERS_MAX),
            });
        }
        is_kept.then_some(place)
    }

    /// One of `from` turned out to be one of `to`: the kept one in this place, or one that is only counted. One that
    /// was found out before stays as it is.
    pub fn reclassify(&mut self, place: Option<usize>, from: ViolationKind, to: ViolationKind) {
        if let Some(kept) = place.and_then(|place| self.first.get_mut(place)) {
            if kept.kind != from {
                return;
            }
            kept.kind = to;
        }
        if let Some(count) = self.counts.get_mut(&from) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&from);
            }
            *self.counts.entry(to).or_default() += 1;
        }
    }

    /// How many there were.
    pub fn total(&self) -> u64 {
        self.counts.values().sum()
    }

    /// Whether there were none.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }
}
