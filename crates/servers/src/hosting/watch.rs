//! What a server is told of every request, beside answering it: for logs and audits.

use crate::prelude::*;

/// How the work on a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// With an answer.
    Answered,
    /// The client cancelled it.
    Cancelled,
    /// The client left before the answer.
    Disconnected,
    /// The server was stopped before the answer.
    Stopped,
    /// It was given up, or found no answer, for another reason.
    GivenUp,
}

impl Ended {
    /// Whether there is no answer because the client wants none.
    pub const fn is_unwanted(self) -> bool {
        matches!(self, Self::Cancelled | Self::Disconnected)
    }
}

/// A request as it arrives.
#[derive(Clone, Copy)]
pub struct Arrival<'a> {
    /// The request.
    pub request: &'a Request,
    /// The session that it belongs to.
    pub session: &'a Session,
    /// Who sent it.
    pub caller: &'a Caller,
    /// Whether it will be served; else it is refused at once.
    pub is_admitted: bool,
}

/// Sees one request from its arrival to its end.
pub trait Watch: Any + Send + Sync {
    /// A message goes out because of the request, or what passes for one; after the last one comes nothing
    /// more. Empty bytes as the last word are a connection closed without any.
    fn sent(&self, message: &[u8], is_last: bool);

    /// The work on the request is over. Called once, whatever happened.
    fn ended(&self, how: Ended);
}

/// A request over HTTP that was not let in.
#[derive(Debug, Clone, Copy)]
pub struct TurnedAway<'a> {
    /// The HTTP status that it was answered with.
    pub status: u16,
    /// Why.
    pub reason: &'a str,
    /// The request, if it was read.
    pub request: Option<&'a Request>,
    /// The JSON-RPC error that it was answered with, if it was one.
    pub refusal: Option<&'a Refusal>,
}

/// What came and is no message, and was refused as such.
#[derive(Clone, Copy)]
pub struct Malformed<'a> {
    /// The session in which it came.
    pub session: &'a Session,
    /// Who sent it.
    pub caller: &'a Caller,
    /// The bytes, as far as they were kept.
    pub frame: &'a [u8],
    /// Its id, as far as there is one; else null.
    pub id: &'a Value,
    /// Its method, as far as there is one; else empty.
    pub method: &'a str,
    /// What it was answered with.
    pub refusal: &'a Refusal,
}
