//! Serving HTTP connections, for both HTTP transports: who asks is found out before anything else, and whoever watches
//! hears of what is turned away. Then streamable HTTP at `/mcp`: sessions in the handshake era, headers checked in the
//! stateless one.

use hyper::header::{ALLOW, WWW_AUTHENTICATE};
use hyper::service::service_fn;
use hyper::{Method, Request as HttpRequest};
use hyper_util::rt::TokioIo;

use super::http_answer::{
    self as answer, Answer, Answered, event, news, outgoing, refuse, refuse_message,
};
use super::{http_headers as headers, http_sessions};
use crate::prelude::*;

/// What all connections of one server share.
pub struct HttpServer {
    pub host: Arc<Host>,
    kind: ListenerKind,
    sessions: HttpSessions,
    /// The clients that have a stream of HTTP+SSE open, by the names of their sessions.
    pub clients: Mutex<HashMap<String, Peer>>,
    /// What all requests of the stateless era share.
    stateless: Shared,
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        for session in self.sessions.all() {
            self.host.close(&session);
        }
    }
}

/// Who sends these headers, and why they are not let in if they are not.
pub fn caller(
    host: &Host,
    kind: ListenerKind,
    ends: Ends,
    headers: &http::HeaderMap,
) -> (Caller, Option<Unauthorised>) {
    let (identity, refused) = match host.behaviour.authorise(headers) {
        Ok(identity) => (identity, None),
        Err(refused) => (None, Some(refused)),
    };
    let caller = Caller {
        kind: Some(kind),
        remote: Some(ends.remote),
        headers: headers.clone(),
        identity,
    };
    (caller, refused)
}

impl HttpServer {
    pub fn new(host: Arc<Host>, kind: ListenerKind) -> Arc<Self> {
        Arc::new(Self {
            host,
            kind,
            sessions: HttpSessions::at_most(http_sessions::SESSIONS_MAX),
            clients: Mutex::default(),
            stateless: Shared::default(),
        })
    }

    /// Serves one connection to its end.
    pub async fn serve(self: Arc<Self>, stream: impl AsyncRead + AsyncWrite + Unpin, ends: Ends) {
        let service = service_fn(move |request| {
            let server = Arc::clone(&self);
            async move { server.handle(request, ends).await }
        });
        let connection = http_limits::builder().serve_connection(TokioIo::new(stream), service);
        // A client that breaks off is no failure of the server.
        let _ = connection.await;
    }

    async fn handle(
        self: Arc<Self>,
        request: HttpRequest<Incoming>,
        ends: Ends,
    ) -> Result<Answer, BrokenOff> {
        let host = &self.host;
        host.ready().await;
        let (caller, unauthorised) = caller(host, self.kind, ends, request.headers());
        let caller = Arc::new(caller);
        let head = (request.uri(), request.version(), request.headers());
        let answered = if let Some(Unauthorised { challenge, reason }) = unauthorised {
            let refused = refuse(StatusCode::UNAUTHORIZED, format!("{reason}\n"));
            Err(match HeaderValue::from_str(&challenge) {
                Ok(challenge) => refused.with_header(WWW_AUTHENTICATE, challenge),
                Err(_) => refused,
            })
        } else if let Err((status, why)) = names::check(head, ends.local, host.names()) {
            Err(refuse(status, why))
        } else if self.kind == ListenerKind::Sse {
            self.admit_sse(request, &caller).await
        } else {
            self.admit(request, &caller).await
        };
        let refused = match answered {
            Ok(answer) => return Ok(answer),
            Err(NoAnswer::HungUp) => return Err(BrokenOff),
            Err(NoAnswer::Refused(refused)) => refused,
        };
        let request = refused.message.map(Message::from_value);
        let told = TurnedAway {
            status: refused.answer.status().as_u16(),
            reason: &refused.reason,
            request: match &request {
                Some(Message::Request(request)) => Some(request),
                _ => None,
            },
            refusal: refused.refusal.as_ref(),
        };
        host.behaviour.turned_away(&caller, told);
        Ok(refused.answer)
    }

    /// Answers a request of streamable HTTP of somebody who may ask.
    async fn admit(&self, request: HttpRequest<Incoming>, caller: &Arc<Caller>) -> Answered {
        if request.uri().path() != "/mcp" {
            return Err(refuse(StatusCode::NOT_FOUND, "the endpoint is /mcp\n"));
        }
        self.host.pass().await;
        let has_sessions = self.host.eras != Eras::Stateless;
        match *request.method() {
            Method::POST => self.post(request.into_body(), caller).await,
            Method::GET if has_sessions => self.stream(caller),
            Method::DELETE if has_sessions => self.delete(caller),
            _ => {
                let allowed = HeaderValue::from_static(if has_sessions {
                    "POST, GET, DELETE"
                } else {
                    "POST"
                });
                Err(refuse(StatusCode::METHOD_NOT_ALLOWED, "").with_header(ALLOW, allowed))
            }
        }
    }

    async fn post(&self, body: Incoming, caller: &Arc<Caller>) -> Answered {
        let headers = &caller.headers;
        answer::check_json(headers)?;
        let is_taken = |content_type| answer::takes(headers, content_type);
        if !is_taken("application/json") || !is_taken("text/event-stream") {
            let text = "Accept must name application/json and text/event-stream\n";
            return Err(refuse(StatusCode::NOT_ACCEPTABLE, text));
        }
        let (body, charge) = answer::read_body(body, &self.host.requests).await?;
        if self.host.behaviour.is_lean()
            && let Some(id) = lean::call_id(&body)
        {
            return self.post_lean(caller, id);
        }
        if !self.host.takes(&body).await {
            pending::<()>().await;
        }
        let value: Value = serde_json::from_slice(&body).map_err(|error| {
            let refusal = dispatch::parse_error(&error);
            refuse_message(StatusCode::BAD_REQUEST, &Value::Null, refusal)
        })?;
        drop(body);
        let answered = if self.is_stateless(caller, &value) {
            self.post_stateless(caller, value.clone(), charge).await
        } else {
            self.post_handshake(caller, value.clone(), charge).await
        };
        answered.map_err(|mut refused| {
            if let NoAnswer::Refused(refused) = &mut refused {
                refused.message = Some(value);
            }
            refused
        })
    }

    fn is_stateless(&self, caller: &Caller, value: &Value) -> bool {
        match self.host.eras {
            Eras::Handshake => false,
            Eras::Stateless => true,
            Eras::Both => {
                names_stateless(caller)
                    || matches!(Message::from_value(value.clone()),
                        Message::Request(request) if request.is_stateless())
            }
        }
    }

    fn post_lean(&self, caller: &Caller, id: &[u8]) -> Answered {
        let era = if names_stateless(caller) {
            Era::Stateless
        } else {
            self.session(caller)?;
            Era::Handshake
        };
        let mut reply = Vec::with_capacity(128);
        lean::write_reply(id, era, &mut reply);
        Ok(answer::json(StatusCode::OK, reply.into()))
    }

    async fn post_stateless(&self, caller: &Arc<Caller>, value: Value, charge: Charge) -> Answered {
        let (id, refusal) = match Message::from_value(value.clone()) {
            Message::Request(request) => {
                let tools = || self.host.behaviour.tools(Revision::LATEST_STATELESS);
                match headers::check(caller, &request, tools) {
                    Err(refusal) if request.method != "initialize" => (request.id, refusal),
                    _ => {
                        let session = self.stateless_session(caller);
                        let peer = (Arc::new(session), caller, charge);
                        return self.answer(peer, value, Era::Stateless).await;
                    }
                }
            }
            Message::Notification { method, params } => {
                let session = self.stateless_session(caller);
                self.host.behaviour.notified(&session, &method, &params);
                return Ok(answer::accepted());
            }
            Message::Response { id, .. } => {
                let text = "Invalid request: no responses are expected";
                (id, Refusal::new(INVALID_REQUEST, text))
            }
            Message::Invalid { id, refusal, .. } => (id, refusal),
        };
        Err(refuse_message(StatusCode::BAD_REQUEST, &id, refusal))
    }

    async fn post_handshake(&self, caller: &Arc<Caller>, value: Value, charge: Charge) -> Answered {
        if value["method"] == "initialize" {
            return self.initialize(caller, value, charge).await;
        }
        let session = self.session(caller)?;
        if let Some(version) = caller.header(headers::PROTOCOL_VERSION) {
            let known = version.parse();
            if !known.is_ok_and(|known: Revision| known.era() == Era::Handshake) {
                let refusal = Refusal::unsupported_version(version, &self.host.eras.revisions());
                let status = StatusCode::BAD_REQUEST;
                return Err(refuse_message(status, &value["id"], refusal));
            }
        }
        if wants_answer(&value) {
            return self
                .answer((session, caller, charge), value, Era::Handshake)
                .await;
        }
        let (peer, _) = Peer::new(&self.host, session, caller);
        dispatch::accept(&peer.charged(charge), value).await;
        Ok(answer::accepted())
    }

    async fn initialize(&self, caller: &Arc<Caller>, value: Value, charge: Charge) -> Answered {
        while !self.host.kept.has_room(AGREEMENT_BYTES_MAX)
            && let Some(idle) = self.sessions.evict()
        {
            idle.close(Ended::GivenUp);
        }
        let name = self.host.unique_name();
        let session = Session::new(Some(name.clone()), caller.identity.clone());
        let session = Arc::new(session);
        let peer = (Arc::clone(&session), caller, charge);
        let mut answer = self.answer(peer, value, Era::Handshake).await?;
        if session.revision().is_some() {
            let evicted = self.sessions.insert(name.clone(), Arc::clone(&session));
            if let Some(evicted) = evicted {
                evicted.close(Ended::GivenUp);
                if Arc::ptr_eq(&evicted, &session) {
                    let text = "too many sessions, all with requests in flight\n";
                    return Err(refuse(StatusCode::SERVICE_UNAVAILABLE, text));
                }
            }
            self.host.behaviour.opened();
            if let Ok(header) = HeaderValue::from_str(&name) {
                answer.headers_mut().insert(headers::SESSION_ID, header);
            }
        }
        Ok(answer)
    }

    /// Has a message answered: by one message if that is all, else by a stream.
    async fn answer(
        &self,
        (session, caller, charge): (Arc<Session>, &Arc<Caller>, Charge),
        value: Value,
        era: Era,
    ) -> Answered {
        let (peer, mut answers) = Peer::new(&self.host, session, caller);
        let mut waiting = Waiting::new(&peer, &value, era);
        waiting.work = dispatch::accept(&peer.charged(charge), value).await;
        drop(peer);
        let Some(first) = answers.recv().await else {
            if !waiting.is_unwanted() {
                // Nothing to say, and no way to say nothing: the client waits.
                pending::<()>().await;
            }
            // A stream without events: nobody waits for the answer, and the connection is free.
            return Ok(answer::answers(None, answers, waiting));
        };
        waiting.note(first.ending);
        if let Some(away) = first.away {
            return Ok(answer::away(away));
        }
        Ok(match first.ending {
            Ending::Cut if first.bytes.is_empty() => return Err(NoAnswer::HungUp),
            Ending::Last => answer::json(first.status, first.bytes),
            Ending::Cut | Ending::Short => answer::json_broken_off(first.bytes),
            Ending::More | Ending::Part | Ending::Parked => {
                answer::answers(Some(first), answers, waiting)
            }
        })
    }

    /// The session of one request of the stateless era, which has none.
    fn stateless_session(&self, caller: &Caller) -> Session {
        Session::new(None, caller.identity.clone()).sharing(&self.stateless)
    }

    /// The stream for messages that belong to no request, or the rest of one that was closed.
    fn stream(&self, caller: &Caller) -> Answered {
        if !answer::takes(&caller.headers, "text/event-stream") {
            let text = "Accept must name text/event-stream\n";
            return Err(refuse(StatusCode::NOT_ACCEPTABLE, text));
        }
        let session = self.session(caller)?;
        let parked = caller.header(headers::LAST_EVENT_ID);
        let parked = parked.and_then(|event| lock(&session.parked).remove(event));
        Ok(match parked {
            Some(rest) => answer::events(outgoing(rest).map(|outgoing| event(&outgoing))),
            None => news(session, self.host.news()),
        })
    }

    fn delete(&self, caller: &Caller) -> Answered {
        let session = self.session(caller)?;
        self.host.close(&session);
        if let Some(name) = session.name() {
            self.sessions.remove(name);
        }
        Ok(answer::plain(StatusCode::OK, ""))
    }

    fn session(&self, caller: &Caller) -> Result<Arc<Session>, NoAnswer> {
        let name = caller.header(headers::SESSION_ID);
        let idle_max = self.host.behaviour.idle_max();
        let (status, text) = match name.map(|name| self.sessions.get(name, idle_max)) {
            None => (
                StatusCode::BAD_REQUEST,
                "Bad request: Mcp-Session-Id is missing",
            ),
            // What somebody else opened does not exist for this client.
            Some(Some(session)) if session.owner == caller.identity => return Ok(session),
            Some(_) => (StatusCode::NOT_FOUND, "Session not found"),
        };
        let refusal = Refusal::new(INVALID_REQUEST, text);
        Err(refuse_message(status, &Value::Null, refusal))
    }
}

/// Whether the headers of a request say that it is of the stateless era.
fn names_stateless(caller: &Caller) -> bool {
    caller.header(headers::PROTOCOL_VERSION) == Some(Revision::LATEST_STATELESS.as_str())
}

/// Whether a message, or any message of a batch, is more than a notification or a response.
fn wants_answer(value: &Value) -> bool {
    match value {
        Value::Array(messages) => messages.is_empty() || messages.iter().any(wants_answer),
        value => !matches!(
            Message::from_value(value.clone()),
            Message::Notification { .. } | Message::Response { .. }
        ),
    }
}

#[cfg(test)]
mod tests;
