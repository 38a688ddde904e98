//! What most files of the HTTP proxy use: headers and bodies, the hub, and what each of them offers the others.

pub use http::header::{
    ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING,
};
pub use http::uri::PathAndQuery;
pub use hyper::body::Body;
pub use hyper::client::conn::http1::SendRequest;
pub use hyper_util::rt::TokioIo;
pub use mcprove_client::transport::Failure;
pub use mcprove_client::transport::http::{ContentType, content_type};
pub use mcprove_servers::hosting::http_limits::{self, Gathered};

pub use super::body::{BodyError, ProxyBody, StreamItem, Unread};
pub use super::events::{Piece, RawEvents, body_kind, encode, remove_hop_by_hop};
pub use super::exchange::{bad_gateway, plain};
pub use super::faulted::{Answered, Presence, answer_struck};
pub use super::hub::{Hub, OldStream, SESSION_ID};
pub use super::tap::{TOO_LONG, Tap};
pub use super::upstream::Upstream;
pub use crate::prelude::*;
