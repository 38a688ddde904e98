//! What a status that is no success means for the message that got it.

use http::{HeaderValue, StatusCode};
use mcprove_settings::text::{shorten, shorten_bytes};
use mcprove_trace::ErrorCategory;
use mcprove_trace::protocol::{RpcError, parse_bounded};
use serde::Deserialize;

use super::pool::{Job, Pool};
use crate::transport::{Detail, Failure};

/// How much of a body is quoted.
const MAX_EXCERPT: usize = 200;
/// A 404 with this code is about the method, not about the session.
const METHOD_NOT_FOUND: i64 = -32601;

/// The parts of a JSON-RPC message that tell what kind of error it is.
#[derive(Deserialize)]
struct Envelope {
    #[serde(rename = "jsonrpc")]
    _version: String,
    error: Option<RpcError>,
}

/// Deals with the response to `job` when its status is no success.
pub fn refuse(pool: &Pool, job: &Job, status: StatusCode, body: &[u8]) {
    let error = parse(body);
    let mut failure = describe(status, body, error.as_ref(), job.headers.has_session);
    // An error of JSON-RPC is the answer to a request. Its id may be missing or made up, for a server that refuses a
    // request by its headers has not read it.
    if let Some(error) = error
        && job.request().is_some()
        && failure.detail != Detail::SessionExpired
    {
        failure.detail = Detail::Error(Box::new(error));
    }
    pool.fail(job, failure);
}

/// The failure that `status` is, told with the beginning of its body.
pub fn failure(status: StatusCode, body: &[u8]) -> Failure {
    describe(status, body, parse(body).as_ref(), false)
}

/// The failure of a response that points elsewhere: a client that follows can be led anywhere.
pub fn redirected(status: StatusCode, location: &HeaderValue) -> Failure {
    let location = String::from_utf8_lossy(location.as_bytes());
    let message = format!(
        "HTTP {status}: redirects are not followed, and the server points to {:?}; if that is right, give that address instead",
        shorten(&location, MAX_EXCERPT)
    );
    Failure::new(ErrorCategory::ProtocolError, message).with(Detail::Status(status.as_u16()))
}

fn describe(
    status: StatusCode,
    body: &[u8],
    error: Option<&RpcError>,
    has_session: bool,
) -> Failure {
    let said = match error {
        Some(error) => format!(
            ": {} ({})",
            shorten(&error.message, MAX_EXCERPT),
            error.code
        ),
        None => excerpt(body),
    };
    let is_about_method = error.is_some_and(|error| error.code == METHOD_NOT_FOUND);
    if status == StatusCode::NOT_FOUND && has_session && !is_about_method {
        let message = format!("HTTP {status}: the server no longer knows the session{said}");
        return Failure::disconnected(message).with(Detail::SessionExpired);
    }
    let category = if status.is_server_error() {
        ErrorCategory::ServerError
    } else {
        ErrorCategory::ProtocolError
    };
    Failure::new(category, format!("HTTP {status}{said}")).with(Detail::Status(status.as_u16()))
}

/// The error of JSON-RPC that a body is.
fn parse(body: &[u8]) -> Option<RpcError> {
    let text = std::str::from_utf8(body).ok()?;
    let is_object = text.trim_ascii_start().starts_with('{');
    let envelope: Option<Envelope> = is_object.then(|| parse_bounded(text).ok()).flatten();
    envelope?.error
}

/// `: ` and the beginning of `body`, or nothing if it is empty.
pub fn excerpt(body: &[u8]) -> String {
    let text = shorten_bytes(body, MAX_EXCERPT);
    if text.is_empty() {
        String::new()
    } else {
        format!(": {text}")
    }
}
