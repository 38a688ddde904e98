//! HTTP+SSE, the transport of 2024-11-05: a stream at `/sse` names the endpoint to post to, and
//! carries all answers.

use hyper::{Method, Request};

use super::http_answer::{self as answer, Answer, Answered, event, outgoing, refuse};
use crate::prelude::*;

/// Forgets a client when its stream is gone.
struct Registration {
    server: Arc<HttpServer>,
    name: String,
}

impl Drop for Registration {
    fn drop(&mut self) {
        let HttpServer { host, clients, .. } = &*self.server;
        if let Some(peer) = lock(clients).remove(&self.name) {
            host.close(&peer.session);
        }
    }
}

impl HttpServer {
    pub async fn admit_sse(
        self: &Arc<Self>,
        request: Request<Incoming>,
        caller: &Arc<Caller>,
    ) -> Answered {
        self.host.pass().await;
        match (request.method(), request.uri().path()) {
            (&Method::GET, "/sse") => Ok(self.open(caller)),
            (&Method::POST, "/messages") => self.post_message(request, caller).await,
            (_, "/sse" | "/messages") => Err(refuse(StatusCode::METHOD_NOT_ALLOWED, "")),
            _ => Err(refuse(StatusCode::NOT_FOUND, "the stream is at /sse\n")),
        }
    }

    fn open(self: &Arc<Self>, caller: &Arc<Caller>) -> Answer {
        self.host.behaviour.opened();
        let (peer, answers) = Peer::connect(&self.host, caller);
        let name = peer.session.name().unwrap_or_default().to_owned();
        lock(&self.clients).insert(name.clone(), peer);
        let endpoint = format!("event: endpoint\ndata: /messages?session={name}\n\n");
        let endpoint = Piece::whole(Bytes::from(endpoint));
        let registration = Registration {
            server: Arc::clone(self),
            name,
        };
        let events = outgoing(answers).map(move |outgoing| {
            let _kept = &registration;
            event(&outgoing)
        });
        answer::events(stream::iter([endpoint]).chain(events))
    }

    async fn post_message(&self, request: Request<Incoming>, caller: &Arc<Caller>) -> Answered {
        let query = request.uri().query().unwrap_or_default();
        let mut pairs = query.split('&');
        let name = pairs
            .find_map(|pair| pair.strip_prefix("session="))
            .ok_or_else(|| refuse(StatusCode::BAD_REQUEST, "session is missing\n"))?;
        let peer = lock(&self.clients)
            .get(name)
            .filter(|peer| peer.session.owner == caller.identity)
            .cloned()
            .ok_or_else(|| refuse(StatusCode::NOT_FOUND, "unknown session\n"))?;
        answer::check_json(&caller.headers)?;
        let (body, charge) = answer::read_body(request.into_body(), &self.host.requests).await?;
        let peer = Peer {
            caller: Arc::clone(caller),
            ..peer.charged(charge)
        };
        dispatch::receive_charged(&peer, &body).await;
        Ok(answer::plain(StatusCode::ACCEPTED, "Accepted"))
    }
}
