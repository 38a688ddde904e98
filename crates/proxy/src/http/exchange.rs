//! One request, from the client to the server and back.

use http::Method;
use mcprove_servers::hosting::exchange::kept_with;
use mcprove_servers::hosting::http_limits::{Read, read};
use mcprove_servers::hosting::names::Refused;

use super::prelude::*;

/// How many things faults may say on a stream that nobody reads.
const SAID_MAX: usize = 1024;

/// A client that waits for an answer which has not begun: if it leaves, its request is cancelled.
struct WaitingClient {
    look: Option<Observer>,
    /// Whether the answer comes elsewhere, so that the end of the request says nothing.
    is_elsewhere: bool,
}

impl Drop for WaitingClient {
    fn drop(&mut self) {
        if let Some(look) = self.look.take().filter(|_| !self.is_elsewhere) {
            look.end_without(Ending::Left);
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
    ) -> Answered {
        if let Err((status, why)) = checked {
            return Ok(plain(status, &why));
        }
        self.watch.count.to_server.add(0, 1);
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
            let body = ProxyBody::client(Bytes::new(), body).counted(&self.watch.count.to_server);
            self.pass(parts, body, None).await
        } else {
            let read = match read(body, LOOK_BYTES_MAX, &self.bodies).await {
                Err(http_limits::Unread::Late) => return Ok(late()),
                read => read?,
            };
            match read {
                Read::Whole(body, charge) => {
                    let body = kept_with(body, charge);
                    parts.headers.remove(TRANSFER_ENCODING);
                    self.watch.count.to_server.add(body.len(), 0);
                    self.post(parts, body).await?
                }
                Read::Long(beginning, rest) | Read::Crowded(beginning, rest) => {
                    self.watch.journal.remark(if beginning.len() > LOOK_BYTES_MAX {
                        "a message of a client was too long to be looked at, and passed unchanged"
                    } else {
                        "too many messages of clients were held at once: some passed unchanged"
                    });
                    let body = ProxyBody::client(beginning, rest);
                    self.pass(parts, body.counted(&self.watch.count.to_server), None)
                        .await
                }
            }
        };
        self.watch.count.to_client.add(0, 1);
        Ok(response.map(|body| body.counted(&self.watch.count.to_client)))
    }

    /// Passes on what a client posts, unless it goes nowhere or meets a fault.
    async fn post(self: &Arc<Self>, parts: Parts, body: Bytes) -> Answered {
        let seen = Seen::of(&body);
        let decision = match &seen {
            Seen::Other => Decision::Pass(None),
            seen => {
                let is_opening = matches!(seen, Seen::Request(request) if request.is_opening());
                let session = self.session(&parts, is_opening);
                self.watch.decide(&session, seen, &body)
            }
        };
        match decision {
            Decision::Pass(look) => {
                let look = look.filter(Observer::is_wanted);
                Ok(self.pass(parts, ProxyBody::whole(body), look).await)
            }
            Decision::Hold => {
                let mut accepted = Response::new(ProxyBody::default());
                *accepted.status_mut() = StatusCode::ACCEPTED;
                Ok(accepted)
            }
            Decision::Strike(call, injection) => answer_struck(self, parts, call, *injection).await,
        }
    }

    async fn pass(
        self: &Arc<Self>,
        mut parts: Parts,
        body: ProxyBody,
        look: Option<Observer>,
    ) -> Response<ProxyBody> {
        let is_idle = self.watch.is_idle();
        let old_stream = look.as_ref().and_then(|_| self.stream(&parts));
        if let (Some(stream), Some(look)) = (&old_stream, &look) {
            stream.answers.expect(look);
        }
        let stream_of = (parts.method == Method::GET).then(|| {
            let path = parts.uri.path().to_owned();
            let session = (!is_idle).then(|| self.session(&parts, false));
            (path, session.unwrap_or_default())
        });
        if look.is_some() || stream_of.is_some() && !is_idle {
            // What is compressed could not be read.
            parts.headers.remove(ACCEPT_ENCODING);
        }
        let mut waiting = WaitingClient {
            look,
            is_elsewhere: old_stream.is_some(),
        };
        let response = self.upstream.send(Request::from_parts(parts, body)).await;
        let look = waiting.look.take();
        let mut response = match response {
            Ok(response) => response,
            Err(failure) => {
                self.watch.journal.remark(&failure.message);
                if let Some(look) = &look {
                    look.fail(ErrorCategory::Disconnected, &failure.message);
                }
                return bad_gateway(&failure);
            }
        };
        remove_hop_by_hop(response.headers_mut());
        let kind = body_kind(response.headers());
        let is_success = response.status().is_success();
        match (stream_of, look) {
            (Some((path, session)), _) if kind == ContentType::Events && is_success => {
                // What is said on it may become more or less.
                response.headers_mut().remove(CONTENT_LENGTH);
                let (sender, said) = mpsc::channel(SAID_MAX);
                let stream = OldStream::new(sender);
                let tap = Tap::stream(Arc::clone(self), stream, path, session);
                response.map(|body| body.with_tap(tap).with_injected(said))
            }
            // The answer comes on the stream.
            (_, Some(_)) if old_stream.is_some() && is_success => response,
            (_, Some(look)) => self.pass_answer(response, look, kind).await,
            (_, None) => response,
        }
    }

    async fn pass_answer(
        self: &Arc<Self>,
        mut response: Response<ProxyBody>,
        look: Observer,
        kind: ContentType,
    ) -> Response<ProxyBody> {
        let status = response.status();
        if look.is_opening && status.is_success() {
            let name = response.headers().get(SESSION_ID);
            self.name_session(&look.session, name.and_then(|name| name.to_str().ok()));
        }
        let may_change = look.is_listing && self.watch.injector.hides_any();
        if may_change && kind == ContentType::Json {
            return self.pass_listing(response, look).await;
        }
        if may_change {
            response.headers_mut().remove(CONTENT_LENGTH);
        }
        let tap = Tap::answer(Arc::clone(self), look, kind, status);
        response.map(|body| body.with_tap(tap))
    }

    /// A list of tools that may have to be changed, which is read whole first.
    async fn pass_listing(
        self: &Arc<Self>,
        response: Response<ProxyBody>,
        look: Observer,
    ) -> Response<ProxyBody> {
        let _waiting = WaitingClient {
            look: Some(look.clone()),
            is_elsewhere: false,
        };
        let (mut parts, body) = response.into_parts();
        let body = match body.read().await {
            Ok(body) => match look.body(&self.watch, parts.status, &body) {
                Some(changed) => {
                    parts.headers.remove(CONTENT_LENGTH);
                    ProxyBody::whole(changed)
                }
                None => ProxyBody::whole(body),
            },
            Err(Unread::Broken(beginning)) => {
                // What the server broke off is broken off here too.
                look.end_without(Ending::Broken);
                ProxyBody::cut(beginning)
            }
            Err(Unread::Long(body)) => {
                let remark = "a list of tools was too long to be looked at, and passed unchanged";
                self.watch.journal.remark(remark);
                look.fail(ErrorCategory::Malformed, TOO_LONG);
                body
            }
        };
        Response::from_parts(parts, body)
    }
}

/// The body of a request did not arrive: the connection is closed, for the rest is not read.
fn late() -> Response<ProxyBody> {
    let mut response = plain(StatusCode::REQUEST_TIMEOUT, "the body did not arrive\n");
    let close = HeaderValue::from_static("close");
    response.headers_mut().insert(CONNECTION, close);
    response
}
