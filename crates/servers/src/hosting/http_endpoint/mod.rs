//! What both HTTP transports do with a connection: who asks is found out before anything else, and whoever
//! watches hears of what is turned away.

use std::sync::Arc;

use hyper::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};

use super::caller::{Caller, Way};
use super::host::Host;
use super::http_answer::{self as answer, Answer};
use super::http_limits;
use super::listener::Ends;
use super::names;

/// A server behind HTTP.
pub(super) trait Endpoint: Send + Sync + 'static {
    /// How its clients reach it.
    const WAY: Way;

    fn host(&self) -> &Host;

    /// Answers a request of somebody who may ask; what is turned away is an error.
    fn admit(
        &self,
        request: Request<Incoming>,
        caller: &Arc<Caller>,
    ) -> impl Future<Output = Result<Answer, Answer>> + Send;
}

/// Serves one connection to its end.
pub async fn serve<E: Endpoint>(
    endpoint: Arc<E>,
    stream: impl AsyncRead + AsyncWrite + Unpin,
    ends: Ends,
) {
    let service = service_fn(move |request| {
        let endpoint = Arc::clone(&endpoint);
        async move { answer::or_hung_up(handle(&*endpoint, request, ends).await) }
    });
    let connection = http_limits::builder().serve_connection(TokioIo::new(stream), service);
    // A client that breaks off is no failure of the server.
    let _ = connection.await;
}

async fn handle<E: Endpoint>(endpoint: &E, request: Request<Incoming>, ends: Ends) -> Answer {
    let host = endpoint.host();
    host.ready().await;
    let behaviour = &*host.behaviour;
    let (caller, refused) =
        match answer::authorise(behaviour, E::WAY, ends.remote, request.headers()) {
            Ok(caller) => {
                let caller = Arc::new(caller);
                let checked = names::check(
                    (request.uri(), request.version(), &caller.headers),
                    ends.local,
                    host.names(),
                );
                let answered = match checked {
                    Ok(()) => endpoint.admit(request, &caller).await,
                    Err((status, why)) => Err(answer::plain(status, why)),
                };
                match answered {
                    Ok(answer) => return answer,
                    Err(refused) => (caller, refused),
                }
            }
            Err((caller, refused)) => (Arc::new(caller), answer::unauthorised(&refused)),
        };
    answer::tell(behaviour, &caller, &refused);
    refused
}

#[cfg(test)]
mod tests;
