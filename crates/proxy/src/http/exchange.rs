//! One request, from the client to the server and back.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING};
use http::request::Parts;
use http::{HeaderValue, Method, Request, Response, StatusCode, response};
use hyper::body::{Body, Incoming};
use mcprove_client::transport::Failure;
use mcprove_servers::hosting::exchange::kept_with;
use mcprove_servers::hosting::http_limits::{Gathered, Read, Unread, read};
use mcprove_servers::hosting::names::Refused;
use mcprove_trace::ErrorCategory;
use tokio::sync::{mpsc, oneshot};

use super::answer::Head;
use super::body::{BodyError, ProxyBody};
use super::decision::Decision;
use super::headers::{BodyKind, body_kind, remove_hop_by_hop};
use super::hub::{Hub, OldStream};
use super::observer::{AnswerTap, ResponseObserver, TOO_LONG};
use super::passing::{Ending, Passing};
use super::sessions::{SESSION_ID, Session};
use super::stream::StreamTap;
use super::strike::{Presence, strike};
use crate::LOOK_BYTES_MAX;

/// How many things faults may say on a stream that nobody reads.
const SAID_MAX: usize = 1024;

/// A client that waits for an answer which has not begun: if it leaves, its request is cancelled.
struct WaitingClient {
    look: Option<ResponseObserver>,
    /// Whether the answer comes elsewhere, so that the end of the request says nothing.
    is_elsewhere: bool,
}

impl Drop for WaitingClient {
    fn drop(&mut self) {
        if let Some(look) = self.look.take().filter(|_| !self.is_elsewhere) {
            look.cancel();
        }
    }
}

/// A response with a text for people.
pub fn plain(status: StatusCode, text: &str) -> Response<ProxyBody> {
    let mut response = Response::new(ProxyBody::whole(text.to_owned()));
    *response.status_mut() = status;
    let value = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, value);
    response
}

/// The server cannot be reached.
pub fn bad_gateway(failure: &Failure) -> Response<ProxyBody> {
    let text = format!("mcprove proxy: {}\n", failure.message);
    plain(StatusCode::BAD_GATEWAY, &text)
}

impl Hub {
    /// Passes a request on, unless it was found to be foreign, and gives back the answer; an error closes the
    /// connection.
    pub async fn handle(
        self: Arc<Self>,
        request: Request<Incoming>,
        checked: Result<(), Refused>,
    ) -> Result<Response<ProxyBody>, BodyError> {
        if let Err((status, why)) = checked {
            return Ok(plain(status, &why));
        }
        self.count.to_server.add(0, 1);
        let (mut parts, body) = request.into_parts();
        remove_hop_by_hop(&mut parts.headers);
        if !body.is_end_stream() && body.size_hint().exact().is_none() {
            // Without it, methods that usually have no body would lose theirs.
            let chunked = HeaderValue::from_static("chunked");
            parts.headers.insert(TRANSFER_ENCODING, chunked);
        }
        let response = if parts.method == Method::CONNECT {
            plain(StatusCode::METHOD_NOT_ALLOWED, "this is not a tunnel\n")
        } else if parts.method != Method::POST || self.watch.is_idle() {
            let body = ProxyBody::client(Bytes::new(), body).counted(&self.count.to_server);
            self.pass(parts, body, None).await
        } else {
            let read = match read(body, LOOK_BYTES_MAX, &self.bodies).await {
                Err(Unread::Late) => return Ok(late()),
                read => read?,
            };
            match read {
                Read::Whole(body, charge) => {
                    let body = kept_with(body, charge);
                    parts.headers.remove(TRANSFER_ENCODING);
                    self.count.to_server.add(body.len(), 0);
                    self.post(parts, body).await?
                }
                Read::Long(beginning, rest) => {
                    let remark =
                        "a message of a client was too long to be looked at, and passed unchanged";
                    self.pass_unseen(parts, (beginning, rest), remark).await
                }
                Read::Crowded(beginning, rest) => {
                    let remark =
                        "too many messages of clients were held at once: some passed unchanged";
                    self.pass_unseen(parts, (beginning, rest), remark).await
                }
            }
        };
        self.count.to_client.add(0, 1);
        Ok(response.map(|body| body.counted(&self.count.to_client)))
    }

    /// Passes a request on of which only the beginning was read.
    async fn pass_unseen(
        self: &Arc<Self>,
        parts: Parts,
        (beginning, rest): (Bytes, Incoming),
        remark: &'static str,
    ) -> Response<ProxyBody> {
        self.watch.journal.remark(remark);
        let body = ProxyBody::client(beginning, rest).counted(&self.count.to_server);
        self.pass(parts, body, None).await
    }

    async fn post(
        self: &Arc<Self>,
        parts: Parts,
        body: Bytes,
    ) -> Result<Response<ProxyBody>, BodyError> {
        match self.decide(&parts, &body) {
            Decision::Pass(look) => Ok(self.pass(parts, ProxyBody::whole(body), look).await),
            Decision::Accept => Ok(accepted()),
            Decision::Strike(key, struck) => {
                let (head, presence) = strike(self, parts, key, *struck);
                answer_struck(head, presence).await
            }
        }
    }

    async fn pass(
        self: &Arc<Self>,
        mut parts: Parts,
        body: ProxyBody,
        look: Option<ResponseObserver>,
    ) -> Response<ProxyBody> {
        let is_get = parts.method == Method::GET;
        let old_stream = look.as_ref().and_then(|_| self.stream(&parts));
        if let (Some(stream), Some(look)) = (&old_stream, &look) {
            for (id, look) in look.each() {
                stream.look(id, look);
            }
        }
        let stream_of = is_get.then(|| {
            let path = parts.uri.path().to_owned();
            let session = (!self.watch.is_idle()).then(|| self.session(&parts, false));
            (path, session)
        });
        if look.is_some() || is_get && !self.watch.is_idle() {
            // What is compressed could not be read.
            parts.headers.remove(ACCEPT_ENCODING);
        }
        let mut waiting = WaitingClient {
            look,
            is_elsewhere: old_stream.is_some(),
        };
        let response = self.upstream.send(Request::from_parts(parts, body)).await;
        let look = waiting.look.take();
        let response = match response {
            Ok(response) => response,
            Err(failure) => {
                self.watch.journal.remark(&failure.message);
                if let Some(look) = &look {
                    look.fail(ErrorCategory::Disconnected, &failure.message);
                }
                return bad_gateway(&failure);
            }
        };
        let (mut parts, passing) = response.into_parts();
        remove_hop_by_hop(&mut parts.headers);
        let kind = body_kind(&parts.headers);
        if let Some((path, session)) = stream_of
            && kind == BodyKind::Events
            && parts.status.is_success()
        {
            return self.pass_stream(parts, passing, path, session);
        }
        match look {
            // The answer comes on the stream.
            Some(_) if old_stream.is_some() && parts.status.is_success() => {
                Response::from_parts(parts, ProxyBody::passing(passing))
            }
            Some(look) => self.pass_answer(parts, passing, look, kind).await,
            None => Response::from_parts(parts, ProxyBody::passing(passing)),
        }
    }

    fn pass_stream(
        self: &Arc<Self>,
        mut parts: response::Parts,
        passing: Passing,
        path: String,
        session: Option<Session>,
    ) -> Response<ProxyBody> {
        // What is said on it may become more or less.
        parts.headers.remove(CONTENT_LENGTH);
        let (sender, said) = mpsc::channel(SAID_MAX);
        let stream = OldStream::new(sender);
        let session = session.unwrap_or_default();
        let tap = StreamTap::new(Arc::clone(self), stream, path, session);
        let passing = passing.with_tap(Box::new(tap)).with_said(said);
        Response::from_parts(parts, ProxyBody::passing(passing))
    }

    async fn pass_answer(
        self: &Arc<Self>,
        mut parts: response::Parts,
        passing: Passing,
        look: ResponseObserver,
        kind: BodyKind,
    ) -> Response<ProxyBody> {
        if look.is_opening && parts.status.is_success() {
            let name = parts.headers.get(SESSION_ID);
            self.name_session(&look.session, name.and_then(|name| name.to_str().ok()));
        }
        let may_change = look.is_listing && self.watch.injector.hides_any();
        if may_change && kind == BodyKind::Json {
            return self.pass_listing(parts, passing, look).await;
        }
        if may_change {
            parts.headers.remove(CONTENT_LENGTH);
        }
        let tap = AnswerTap::new(Arc::clone(self), look, kind, parts.status);
        Response::from_parts(parts, ProxyBody::passing(passing.with_tap(Box::new(tap))))
    }

    /// A list of tools that may have to be changed, which is read whole first.
    async fn pass_listing(
        self: &Arc<Self>,
        mut parts: response::Parts,
        mut passing: Passing,
        look: ResponseObserver,
    ) -> Response<ProxyBody> {
        let waiting = WaitingClient {
            look: Some(look.clone()),
            is_elsewhere: false,
        };
        let mut body = Gathered::default();
        while let Some(chunk) = passing.next_chunk().await {
            let Ok(chunk) = chunk else {
                // What the server broke off is broken off here too.
                look.end_without(Ending::Broken);
                return Response::from_parts(parts, ProxyBody::cut(body.take()));
            };
            body.push(chunk);
            if body.bytes() > LOOK_BYTES_MAX {
                let remark = "a list of tools was too long to be looked at, and passed unchanged";
                self.watch.journal.remark(remark);
                look.fail(ErrorCategory::Malformed, TOO_LONG);
                let body = ProxyBody::passing(passing.after(body.take()));
                return Response::from_parts(parts, body);
            }
        }
        let body = body.take();
        let changed = look.body(self, parts.status, &body);
        drop(waiting);
        if changed.is_some() {
            parts.headers.remove(CONTENT_LENGTH);
        }
        let body = changed.map_or(body, Bytes::from);
        Response::from_parts(parts, ProxyBody::whole(body))
    }
}

/// The answer to a call that a fault strikes.
async fn answer_struck(
    head: oneshot::Receiver<Head>,
    presence: Presence,
) -> Result<Response<ProxyBody>, BodyError> {
    match head.await {
        Ok(Head::Response(response)) => {
            let farewell = Box::new(move || drop(presence));
            Ok(response.map(|body| body.with_farewell(farewell)))
        }
        Ok(Head::Close) => Err("closed by a fault".into()),
        // It was cancelled: the answer ends without one.
        Err(_) => {
            let mut response = Response::new(ProxyBody::whole(Bytes::new()));
            let events = HeaderValue::from_static("text/event-stream");
            response.headers_mut().insert(CONTENT_TYPE, events);
            Ok(response)
        }
    }
}

/// The body of a request did not arrive: the connection is closed, for the rest is not read.
fn late() -> Response<ProxyBody> {
    let mut response = plain(StatusCode::REQUEST_TIMEOUT, "the body did not arrive\n");
    let close = HeaderValue::from_static("close");
    response.headers_mut().insert(CONNECTION, close);
    response
}

fn accepted() -> Response<ProxyBody> {
    let mut response = Response::new(ProxyBody::whole(Bytes::new()));
    *response.status_mut() = StatusCode::ACCEPTED;
    response
}
