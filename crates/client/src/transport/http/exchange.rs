//! One POST and what comes back.
//!
//! The pool hands over a message and a connection, and gets the connection back if it can be
//! used again. Whatever the server answers ends up in the inbox, as a message or as a failure.
//!
//! What a status that is no success means for the message that got it.

use http::header::{CONTENT_ENCODING, LOCATION, WWW_AUTHENTICATE};

use super::headers::SESSION_ID;
use super::prelude::*;
use super::stream;

/// How long the server may take over a message that is no request. Requests have the deadline
/// of their caller; nobody waits for the others, and they must not hold a connection forever.
const UNASKED_TIMEOUT: Duration = Duration::from_secs(30);

/// Sends `job` and deals with the answer. Returns the connection if it is still good.
pub async fn run(
    pool: &Arc<Pool>,
    connection: Option<Connection>,
    job: &Job,
) -> Option<Connection> {
    let exchange = exchange(pool, connection, job);
    let result = if job.request().is_some() {
        exchange.await
    } else {
        tokio::time::timeout(UNASKED_TIMEOUT, exchange)
            .await
            .unwrap_or_else(|_| {
                let seconds = UNASKED_TIMEOUT.as_secs();
                let message = format!("a message without an id got no response within {seconds} s");
                Err(Failure::timeout(message))
            })
    };
    result.unwrap_or_else(|failure| {
        pool.fail(job, failure);
        None
    })
}

async fn exchange(
    pool: &Arc<Pool>,
    connection: Option<Connection>,
    job: &Job,
) -> Result<Option<Connection>, Failure> {
    let post = Request {
        method: &Method::POST,
        path: &pool.address.path,
        headers: &job.headers.shared,
        own: &job.headers.own,
        body: &job.body,
    };
    let (mut connection, head) = request(pool, connection, &post).await?;
    if job.is_barrier {
        pool.lift_barrier();
    }
    if job.headers.opens_session && head.status.is_success() {
        match head.headers.get(SESSION_ID) {
            Some(session) => pool.headers().join_session(session.clone()),
            None => pool.headers().leave_session(),
        }
    }
    if head.status.is_redirection()
        && let Some(location) = head.headers.get(LOCATION)
    {
        return Err(redirected(&pool.address, head.status, location));
    }
    let in_response = pool.answers == Answers::InResponse;
    if in_response && let Some(encoding) = unasked_encoding(&head.headers) {
        let message = format!("the answer is encoded as {encoding:?}, which was not asked for");
        return Err(Failure::malformed(message));
    }
    let kind = content_type(&head.headers);
    if in_response && head.status.is_success() && kind == ContentType::Events {
        return stream::follow(pool, connection, job).await;
    }
    let body = read_body(&mut connection, pool.options.max_frame).await?;
    if head.status.is_success() {
        if in_response {
            accept(pool, job, head.status, kind, body);
        }
    } else {
        refuse(pool, job, &head, &body);
    }
    Ok(connection.is_open().then_some(connection))
}

/// The encoding of a body that cannot be read as it is.
pub fn unasked_encoding(headers: &HeaderMap) -> Option<String> {
    let encoding = headers.get(CONTENT_ENCODING)?.as_bytes();
    let is_plain = encoding.is_empty() || encoding.eq_ignore_ascii_case(b"identity");
    (!is_plain).then(|| String::from_utf8_lossy(encoding).into_owned())
}

/// Sends `request` on `connection` or a new one. A kept connection that the server
/// closed in the meantime is replaced once, and so is one that it may be about to close; nothing else is ever sent twice.
pub async fn request(
    pool: &Pool,
    connection: Option<Connection>,
    request: &Request<'_>,
) -> Result<(Connection, Head), Failure> {
    let is_usable = |kept: &Connection| kept.is_open() && pool.keep_limits().allow(kept.kept());
    if let Some(mut kept) = connection.filter(is_usable) {
        let before = kept.kept();
        match kept.send(request).await {
            Ok(head) => return Ok((kept, head)),
            Err(error) if error.is_unsent => pool.keep_limits().learn(before),
            Err(error)
                if error.is_silent && before.answers > 0 && error.failure.own_limit().is_none() =>
            {
                pool.keep_limits().learn(before);
                return Err(error.failure.with(Detail::KeptConnection));
            }
            Err(error) => return Err(error.into()),
        }
    }
    let mut fresh = Connection::open(&pool.address, &pool.options).await?;
    let head = fresh.send(request).await?;
    Ok((fresh, head))
}

/// Deals with a response of success that is no stream.
fn accept(pool: &Pool, job: &Job, status: StatusCode, kind: ContentType, body: Bytes) {
    // The answer to a request that was only accepted may come on the GET stream, where there is one.
    let is_accepted =
        status == StatusCode::ACCEPTED && (job.request().is_none() || pool.is_listening());
    let may_be_empty = job.request().is_none() || is_accepted;
    let said = excerpt(&body);
    if body.is_empty() && status == StatusCode::ACCEPTED && !may_be_empty {
        let message =
            "HTTP 202 without a body, and no stream is open on which the answer could come";
        pool.inbox.fail(job.request(), Failure::malformed(message));
        return;
    }
    let (problem, is_fine) = if body.is_empty() {
        ("an empty body where the answer belongs", may_be_empty)
    } else if job.kind == OutgoingKind::Raw {
        pool.inbox.answer_raw(Ok(body));
        return;
    } else if kind == ContentType::Json {
        pool.inbox.deliver(body);
        let is_waiting = job.request().is_some_and(|id| pool.inbox.is_waiting(id));
        ("a body that is not an answer", may_be_empty || !is_waiting)
    } else {
        // Some servers say "Accepted" in words.
        let problem = "a body that is neither application/json nor text/event-stream";
        (problem, is_accepted)
    };
    if !is_fine {
        let message = format!("HTTP {status} with {problem}{said}");
        pool.inbox.fail(job.request(), Failure::malformed(message));
    }
}

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
pub fn refuse(pool: &Pool, job: &Job, head: &Head, body: &[u8]) {
    let error = parse(body);
    let has_session = job.headers.has_session;
    let mut failure = describe(head.status, body, error.as_ref(), has_session);
    deny(&mut failure, head.status, &head.headers, body);
    // An error of JSON-RPC is the answer to a request. Its id may be missing or made up, for a server that refuses a
    // request by its headers has not read it. That a rate limit refused it is told by the status only.
    if let Some(error) = error
        && job.request().is_some()
        && head.status != StatusCode::TOO_MANY_REQUESTS
        && !matches!(failure.detail, Detail::SessionExpired | Detail::Denied(_))
    {
        failure.detail = Detail::Error(Box::new(error));
    }
    pool.fail(job, failure);
}

/// The failure that `status` is, told with the beginning of its body.
pub fn failure(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Failure {
    let mut failure = describe(status, body, parse(body).as_ref(), false);
    deny(&mut failure, status, headers, body);
    failure
}

/// Notes why a server does not let us in, even if it says so with an error of JSON-RPC: no request was answered.
fn deny(failure: &mut Failure, status: StatusCode, headers: &HeaderMap, body: &[u8]) {
    let has_scheme = |challenge: &HeaderValue| {
        let scheme = challenge.as_bytes().split(|byte| *byte == b' ').next();
        scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"Bearer"))
    };
    let denial = match status {
        StatusCode::UNAUTHORIZED => {
            let mut challenges = headers.get_all(WWW_AUTHENTICATE).iter().peekable();
            let takes_token = challenges.peek().is_none() || challenges.any(has_scheme);
            if takes_token {
                Denial::Token
            } else {
                Denial::Scheme
            }
        }
        StatusCode::FORBIDDEN | StatusCode::MISDIRECTED_REQUEST if names_host(body) => Denial::Host,
        StatusCode::FORBIDDEN => Denial::Access,
        _ => return,
    };
    failure.detail = Detail::Denied(denial);
}

/// Whether the refusal is about the header `Host` or `Origin`, as SDKs word it: "Invalid Host header: …".
fn names_host(body: &[u8]) -> bool {
    let body = shorten_bytes(body, MAX_EXCERPT).to_ascii_lowercase();
    body.contains("host") || body.contains("origin")
}

/// The failure of a response that points elsewhere: a client that follows can be led anywhere.
fn redirected(address: &Address, status: StatusCode, location: &HeaderValue) -> Failure {
    let location = String::from_utf8_lossy(location.as_bytes());
    let location = shorten(&address.absolute(&location), MAX_EXCERPT);
    let message =
        format!("HTTP {status}: redirects are not followed, and the server points to {location}");
    Failure::new(ErrorCategory::ProtocolError, message).with(Detail::Redirect(location))
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
    let envelope: Option<Envelope> = text
        .trim_ascii_start()
        .starts_with('{')
        .then(|| parse_bounded(text).ok())
        .flatten();
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
