//! The tools over streamable HTTP.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;

use crate::Error;
use crate::tools::Tools;

pub async fn serve(address: &str, stateless: bool, json: bool) -> Result<(), Error> {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(!stateless)
        .with_json_response(json);
    let service = StreamableHttpService::new(
        || Ok(Tools),
        Arc::new(LocalSessionManager::default()),
        config,
    );
    let listener = TcpListener::bind(address).await?;
    eprintln!("listening on http://{}/mcp", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let service = service.clone();
        let respond = hyper::service::service_fn(move |request: Request<Incoming>| {
            let service = service.clone();
            async move {
                if request.uri().path() == "/mcp" {
                    return Ok::<_, Infallible>(service.handle(request).await);
                }
                let mut missing = Response::new(Empty::<Bytes>::new().boxed());
                *missing.status_mut() = StatusCode::NOT_FOUND;
                Ok(missing)
            }
        });
        tokio::spawn(async move {
            let connection = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), respond);
            // A client that goes away in the middle of an exchange is its own business.
            let _ = connection.await;
        });
    }
}
