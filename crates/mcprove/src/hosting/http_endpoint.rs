//! What both HTTP transports do with a connection: who asks is found out before anything else, and whoever
//! watches hears of what is turned away.

use std::net::SocketAddr;
use std::sync::Arc;

use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::caller::{Caller, Way};
use super::host::Host;
use super::http_answer::{self as answer, Answer};

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
pub(super) async fn serve<E: Endpoint>(endpoint: Arc<E>, stream: TcpStream, remote: SocketAddr) {
    let service = service_fn(move |request| {
        let endpoint = Arc::clone(&endpoint);
        async move { answer::or_hung_up(handle(&*endpoint, request, remote).await) }
    });
    let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    // A client that breaks off is no failure of the server.
    let _ = connection.await;
}

async fn handle<E: Endpoint>(
    endpoint: &E,
    request: Request<Incoming>,
    remote: SocketAddr,
) -> Answer {
    endpoint.host().ready().await;
    let behaviour = &*endpoint.host().behaviour;
    let (caller, refused) = match answer::authorise(behaviour, E::WAY, remote, request.headers()) {
        Ok(caller) => {
            let caller = Arc::new(caller);
            match endpoint.admit(request, &caller).await {
                Ok(answer) => return answer,
                Err(refused) => (caller, refused),
            }
        }
        Err((caller, refused)) => (Arc::new(caller), answer::unauthorised(&refused)),
    };
    answer::tell(behaviour, &caller, &refused);
    refused
}
