//! The body of a response: what it claims to be, and the whole of it within a limit.

use http::HeaderMap;
use http::header::CONTENT_TYPE;
use mcprove_trace::protocol::sse::HEAD_LENGTH;

use super::connection::Connection;
use crate::prelude::*;

/// How much memory is set aside for a body on the word of its `Content-Length`.
const MAX_RESERVE: u64 = 1024 * 1024;

/// Reads a whole body of `limit` bytes at most.
pub async fn read_body(connection: &mut Connection, limit: usize) -> Result<Bytes, Failure> {
    let Some(first) = connection.next_chunk().await? else {
        return Ok(Bytes::new());
    };
    check_size(&first, limit)?;
    // A short answer arrives in one piece, and is passed on as it is.
    let Some(second) = connection.next_chunk().await? else {
        return Ok(first);
    };
    let rest = connection.rest_of_body().min(MAX_RESERVE);
    let capacity = first.len() + second.len() + usize::try_from(rest).unwrap_or(0);
    let mut whole = BytesMut::with_capacity(capacity);
    whole.extend_from_slice(&first);
    whole.extend_from_slice(&second);
    check_size(&whole, limit)?;
    while let Some(chunk) = connection.next_chunk().await? {
        whole.extend_from_slice(&chunk);
        check_size(&whole, limit)?;
    }
    Ok(whole.freeze())
}

fn check_size(body: &[u8], limit: usize) -> Result<(), Failure> {
    if body.len() <= limit {
        return Ok(());
    }
    let head = body.get(..HEAD_LENGTH).unwrap_or(body);
    Err(oversized(
        body.len() as u64,
        limit,
        Bytes::copy_from_slice(head),
    ))
}

/// The failure of a message over the limit.
pub fn oversized(size: u64, limit: usize, head: Bytes) -> Failure {
    let message = format!("a message of {size} bytes or more, over the limit of {limit} bytes");
    Failure::malformed(message).with(Detail::Oversized { size, head })
}

/// What a response says its body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentType {
    Json,
    Events,
    Other,
}

pub fn content_type(headers: &HeaderMap) -> ContentType {
    let value = headers
        .get(CONTENT_TYPE)
        .map_or(&b""[..], |value| value.as_bytes());
    let end = memchr::memchr(b';', value).unwrap_or(value.len());
    let essence = value.get(..end).unwrap_or(value).trim_ascii();
    if essence.eq_ignore_ascii_case(b"application/json") {
        ContentType::Json
    } else if essence.eq_ignore_ascii_case(b"text/event-stream") {
        ContentType::Events
    } else {
        ContentType::Other
    }
}
