//! HTTP+SSE, the transport of 2024-11-05: a stream at `/sse` names the endpoint to post to, and
//! carries all answers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::{Method, Request, StatusCode};

use super::caller::{Caller, Way};
use super::dispatch::{self, Peer};
use super::exchange::Output;
use super::host::Host;
use super::http_answer::{self as answer, Answer, Piece};
use super::http_endpoint::Endpoint;
use super::lock;

type Clients = Mutex<HashMap<String, Client>>;

#[derive(Clone)]
struct Client {
    peer: Peer,
    output: Output,
}

/// The streams of one server.
pub struct SseServer {
    host: Arc<Host>,
    clients: Arc<Clients>,
}

/// Forgets a client when its stream is gone.
struct Registration {
    host: Arc<Host>,
    name: String,
    clients: Arc<Clients>,
}

impl Drop for Registration {
    fn drop(&mut self) {
        if let Some(client) = lock(&self.clients).remove(&self.name) {
            self.host
                .close(&client.peer.session, self.host.why_closed());
        }
    }
}

impl Endpoint for SseServer {
    const WAY: Way = Way::Sse;

    fn host(&self) -> &Host {
        &self.host
    }

    async fn admit(
        &self,
        request: Request<Incoming>,
        caller: &Arc<Caller>,
    ) -> Result<Answer, Answer> {
        self.host.pass().await;
        match (request.method(), request.uri().path()) {
            (&Method::GET, "/sse") => Ok(self.open(caller)),
            (&Method::POST, "/messages") => self.post(request, caller).await,
            (_, "/sse" | "/messages") => Err(answer::plain(StatusCode::METHOD_NOT_ALLOWED, "")),
            _ => Err(answer::plain(
                StatusCode::NOT_FOUND,
                "the stream is at /sse\n",
            )),
        }
    }
}

impl SseServer {
    pub fn new(host: Arc<Host>) -> Self {
        Self {
            host,
            clients: Arc::default(),
        }
    }

    fn open(&self, caller: &Arc<Caller>) -> Answer {
        self.host.behaviour.opened();
        let (peer, output, answers) = Peer::connect(&self.host, Arc::clone(caller));
        let name = peer.session.name().unwrap_or_default().to_owned();
        lock(&self.clients).insert(name.clone(), Client { peer, output });
        let endpoint = format!("event: endpoint\ndata: /messages?session={name}\n\n");
        let registration = Registration {
            host: Arc::clone(&self.host),
            name,
            clients: Arc::clone(&self.clients),
        };
        let endpoint = Piece::whole(Bytes::from(endpoint));
        let state = (Some(endpoint), answers, registration);
        answer::events(state, |(first, mut answers, registration)| async move {
            let event = match first {
                Some(first) => first,
                None => answer::event(&answers.recv().await?),
            };
            Some((event, (None, answers, registration)))
        })
    }

    async fn post(
        &self,
        request: Request<Incoming>,
        caller: &Arc<Caller>,
    ) -> Result<Answer, Answer> {
        let name = request
            .uri()
            .query()
            .into_iter()
            .flat_map(|query| query.split('&'))
            .find_map(|pair| pair.strip_prefix("session="))
            .ok_or_else(|| answer::plain(StatusCode::BAD_REQUEST, "session is missing\n"))?;
        let client = lock(&self.clients)
            .get(name)
            .filter(|client| client.peer.session.owner() == caller.identity.as_ref())
            .cloned()
            .ok_or_else(|| answer::plain(StatusCode::NOT_FOUND, "unknown session\n"))?;
        if !answer::is_json(request.headers()) {
            let text = "Content-Type must be application/json\n";
            return Err(answer::plain(StatusCode::UNSUPPORTED_MEDIA_TYPE, text));
        }
        let (body, charge) = answer::read_body(request.into_body(), &self.host.requests).await?;
        let peer = Peer {
            caller: Arc::clone(caller),
            charge: Some(Arc::new(charge)),
            ..client.peer
        };
        dispatch::receive_charged(&peer, &body, &client.output).await;
        Ok(answer::plain(StatusCode::ACCEPTED, "Accepted"))
    }
}
