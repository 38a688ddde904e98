//! Streamable HTTP at `/mcp`: sessions in the handshake era, headers checked in the stateless one.

#![expect(
    clippy::result_large_err,
    reason = "a refusal is a whole response, made once per request"
)]

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{ALLOW, HeaderMap, HeaderValue};
use hyper::{Method, Request as HttpRequest, StatusCode};
use mcprove_trace::budget::Charge;
use mcprove_trace::protocol::{Era, Revision};
use serde_json::Value;
use tokio::sync::mpsc;

use super::caller::{Caller, Way};
use super::dispatch::{self, Peer};
use super::exchange::{Ending, OUTPUT_QUEUE_MAX};
use super::host::{Eras, Host};
use super::http_answer::{self as answer, Answer};
use super::http_endpoint::Endpoint;
use super::http_headers::{self as headers, LAST_EVENT_ID, PROTOCOL_VERSION, SESSION_ID};
use super::http_sessions::{HttpSessions, SESSIONS_MAX};
use super::http_stream::{news, rest, stream};
use super::http_waiting::Waiting;
use super::lean;
use super::message::{INVALID_REQUEST, Message, Refusal};
use super::session::{AGREEMENT_BYTES_MAX, Session, Shared};
use super::watch::Ended;

/// The sessions of one server.
pub struct HttpServer {
    host: Arc<Host>,
    sessions: HttpSessions,
    /// What all requests of the stateless era share.
    stateless: Shared,
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        for session in self.sessions.all() {
            self.host.close(&session, self.host.why_closed());
        }
    }
}

impl Endpoint for HttpServer {
    const WAY: Way = Way::Http;

    fn host(&self) -> &Host {
        &self.host
    }

    async fn admit(
        &self,
        request: HttpRequest<Incoming>,
        caller: &Arc<Caller>,
    ) -> Result<Answer, Answer> {
        if request.uri().path() != "/mcp" {
            return Err(answer::plain(
                StatusCode::NOT_FOUND,
                "the endpoint is /mcp\n",
            ));
        }
        self.host.pass().await;
        let has_sessions = self.host.eras != Eras::Stateless;
        match *request.method() {
            Method::POST => self.post(request, caller).await,
            Method::GET if has_sessions => self.stream(caller),
            Method::DELETE if has_sessions => self.delete(caller),
            _ => {
                let allowed = if has_sessions {
                    "POST, GET, DELETE"
                } else {
                    "POST"
                };
                let answer = answer::plain(StatusCode::METHOD_NOT_ALLOWED, "");
                let allowed = HeaderValue::from_static(allowed);
                Err(answer::with_header(answer, ALLOW, allowed))
            }
        }
    }
}

impl HttpServer {
    pub fn new(host: Arc<Host>) -> Self {
        Self {
            host,
            sessions: HttpSessions::at_most(SESSIONS_MAX),
            stateless: Shared::default(),
        }
    }

    async fn post(
        &self,
        request: HttpRequest<Incoming>,
        caller: &Arc<Caller>,
    ) -> Result<Answer, Answer> {
        let headers = &caller.headers;
        let body = request.into_body();
        if !answer::is_json(headers) {
            let text = "Content-Type must be application/json\n";
            return Err(answer::plain(StatusCode::UNSUPPORTED_MEDIA_TYPE, text));
        }
        let is_taken = |content_type| answer::takes(headers, content_type);
        if !is_taken("application/json") || !is_taken("text/event-stream") {
            let text = "Accept must name application/json and text/event-stream\n";
            return Err(answer::plain(StatusCode::NOT_ACCEPTABLE, text));
        }
        let (body, charge) = answer::read_body(body, &self.host.requests).await?;
        let charge = Arc::new(charge);
        if self.host.behaviour.is_lean()
            && let Some(id) = lean::call_id(&body)
        {
            return self.post_lean(caller, id);
        }
        if !self.host.takes(&body).await {
            std::future::pending::<()>().await;
        }
        let value: Value = serde_json::from_slice(&body).map_err(|error| {
            let refusal = dispatch::parse_error(&error);
            answer::refused(StatusCode::BAD_REQUEST, &Value::Null, &refusal)
        })?;
        drop(body);
        let answered = if self.is_stateless(headers, &value) {
            self.post_stateless(caller, value.clone(), charge).await
        } else {
            self.post_handshake(caller, value.clone(), charge).await
        };
        answered.map_err(|refused| answer::of_message(refused, value))
    }

    fn is_stateless(&self, headers: &HeaderMap, value: &Value) -> bool {
        match self.host.eras {
            Eras::Handshake => false,
            Eras::Stateless => true,
            Eras::Both => {
                let version = headers::text(headers, PROTOCOL_VERSION);
                version == Some(Revision::LATEST_STATELESS.as_str())
                    || matches!(Message::from_value(value.clone()),
                        Message::Request(request) if request.is_stateless())
            }
        }
    }

    fn post_lean(&self, caller: &Caller, id: &[u8]) -> Result<Answer, Answer> {
        let version = caller.header(PROTOCOL_VERSION);
        let era = if version == Some(Revision::LATEST_STATELESS.as_str()) {
            Era::Stateless
        } else {
            self.session(caller)?;
            Era::Handshake
        };
        let mut reply = Vec::with_capacity(128);
        lean::write_reply(id, era, &mut reply);
        Ok(answer::json(StatusCode::OK, reply.into()))
    }

    async fn post_stateless(
        &self,
        caller: &Arc<Caller>,
        value: Value,
        charge: Arc<Charge>,
    ) -> Result<Answer, Answer> {
        match Message::from_value(value.clone()) {
            Message::Request(request) => {
                if request.method != "initialize" {
                    let tools = || self.host.behaviour.tools(Revision::LATEST_STATELESS);
                    headers::check(&caller.headers, &request, tools).map_err(|refusal| {
                        answer::refused(StatusCode::BAD_REQUEST, &request.id, &refusal)
                    })?;
                }
                let session = self.stateless_session(caller);
                let peer = self.peer(Arc::new(session), caller, charge);
                Ok(self.answer(&peer, value, Era::Stateless).await)
            }
            Message::Notification { method, params } => {
                let session = self.stateless_session(caller);
                self.host.behaviour.notified(&session, &method, &params);
                Ok(answer::accepted())
            }
            Message::Response { id, .. } => Err(answer::refused(
                StatusCode::BAD_REQUEST,
                &id,
                &Refusal::new(
                    INVALID_REQUEST,
                    "Invalid request: no responses are expected",
                ),
            )),
            Message::Invalid { id, refusal, .. } => {
                Err(answer::refused(StatusCode::BAD_REQUEST, &id, &refusal))
            }
        }
    }

    async fn post_handshake(
        &self,
        caller: &Arc<Caller>,
        value: Value,
        charge: Arc<Charge>,
    ) -> Result<Answer, Answer> {
        if value.get("method").and_then(Value::as_str) == Some("initialize") {
            return self.initialize(caller, value, charge).await;
        }
        let peer = self.peer(self.session(caller)?, caller, charge);
        if let Some(version) = caller.header(PROTOCOL_VERSION) {
            let is_known = version
                .parse()
                .is_ok_and(|revision: Revision| revision.era() == Era::Handshake);
            if !is_known {
                let id = value.get("id").unwrap_or(&Value::Null);
                let refusal = Refusal::unsupported_version(version, &self.host.eras.revisions());
                return Err(answer::refused(StatusCode::BAD_REQUEST, id, &refusal));
            }
        }
        if wants_answer(&value) {
            Ok(self.answer(&peer, value, Era::Handshake).await)
        } else {
            let (output, _) = mpsc::channel(OUTPUT_QUEUE_MAX);
            dispatch::accept(&peer, value, &output).await;
            Ok(answer::accepted())
        }
    }

    async fn initialize(
        &self,
        caller: &Arc<Caller>,
        value: Value,
        charge: Arc<Charge>,
    ) -> Result<Answer, Answer> {
        while !self.host.kept.has_room(AGREEMENT_BYTES_MAX)
            && let Some(idle) = self.sessions.evict()
        {
            idle.close(Ended::GivenUp);
        }
        let name = self.host.unique_name();
        let session = Session::new(Some(name.clone()), caller.identity.clone());
        let session = Arc::new(session);
        let peer = self.peer(Arc::clone(&session), caller, charge);
        let mut answer = self.answer(&peer, value, Era::Handshake).await;
        if session.revision().is_some() {
            let evicted = self.sessions.insert(name.clone(), Arc::clone(&session));
            if let Some(evicted) = evicted {
                evicted.close(Ended::GivenUp);
                if Arc::ptr_eq(&evicted, &session) {
                    let text = "too many sessions, all with requests in flight\n";
                    return Err(answer::plain(StatusCode::SERVICE_UNAVAILABLE, text));
                }
            }
            self.host.behaviour.opened();
            if let Ok(header) = HeaderValue::from_str(&name) {
                answer.headers_mut().insert(SESSION_ID, header);
            }
        }
        Ok(answer)
    }

    /// Has a message answered: by one message if that is all, else by a stream.
    async fn answer(&self, peer: &Peer, value: Value, era: Era) -> Answer {
        let (output, mut answers) = mpsc::channel(OUTPUT_QUEUE_MAX);
        let mut waiting = Waiting::new(peer, &value, era);
        waiting.work = dispatch::accept(peer, value, &output).await;
        drop(output);
        let Some(first) = answers.recv().await else {
            if waiting.is_unwanted(&peer.session) {
                // A stream without events: nobody waits for the answer, and the connection is free.
                return stream(None, answers, waiting);
            }
            // Nothing to say, and no way to say nothing: the client waits.
            std::future::pending::<()>().await;
            return answer::accepted();
        };
        waiting.note(first.ending);
        if let Some(away) = first.away {
            return answer::away(away);
        }
        match first.ending {
            Ending::Cut if first.bytes.is_empty() => return answer::hang_up(),
            Ending::Last => return answer::json(answer::status(&first, era), first.bytes),
            Ending::Cut | Ending::Short => return answer::json_broken_off(first.bytes),
            Ending::More | Ending::Part | Ending::Parked => {}
        }
        stream(Some(first), answers, waiting)
    }

    /// The session of one request of the stateless era, which has none.
    fn stateless_session(&self, caller: &Caller) -> Session {
        Session::new(None, caller.identity.clone()).sharing(&self.stateless)
    }

    fn peer(&self, session: Arc<Session>, caller: &Arc<Caller>, charge: Arc<Charge>) -> Peer {
        Peer {
            host: Arc::clone(&self.host),
            session,
            caller: Arc::clone(caller),
            charge: Some(charge),
        }
    }

    /// The stream for messages that belong to no request, or the rest of one that was closed.
    fn stream(&self, caller: &Caller) -> Result<Answer, Answer> {
        if !answer::takes(&caller.headers, "text/event-stream") {
            let text = "Accept must name text/event-stream\n";
            return Err(answer::plain(StatusCode::NOT_ACCEPTABLE, text));
        }
        let session = self.session(caller)?;
        let parked = caller
            .header(LAST_EVENT_ID)
            .and_then(|event| session.take_up(event));
        Ok(match parked {
            Some(answers) => rest(answers),
            None => news(session, self.host.news()),
        })
    }

    fn delete(&self, caller: &Caller) -> Result<Answer, Answer> {
        let session = self.session(caller)?;
        self.host.close(&session, Ended::Disconnected);
        if let Some(name) = caller.header(SESSION_ID) {
            self.sessions.remove(name);
        }
        Ok(answer::plain(StatusCode::OK, ""))
    }

    fn session(&self, caller: &Caller) -> Result<Arc<Session>, Answer> {
        let refuse = |status, text: &str| {
            let refusal = Refusal::new(INVALID_REQUEST, text);
            answer::refused(status, &Value::Null, &refusal)
        };
        let Some(name) = caller.header(SESSION_ID) else {
            let text = "Bad request: Mcp-Session-Id is missing";
            return Err(refuse(StatusCode::BAD_REQUEST, text));
        };
        let session = self.sessions.get(name);
        session
            // What somebody else opened does not exist for this client.
            .filter(|session| session.owner() == caller.identity.as_ref())
            .ok_or_else(|| refuse(StatusCode::NOT_FOUND, "Session not found"))
    }
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
