//! The server behind the proxy: connections to it, kept while they are good.

use http::header::HOST;
use http::uri::Authority;
use http::{Uri, Version};
use hyper::client::conn::http1;
use mcprove_client::transport::http::HttpOptions;
use mcprove_client::transport::http::address::Address;

use super::HEADERS_MAX;
use super::prelude::*;

/// How many connections are kept that nobody uses.
const IDLE_MAX: usize = 1024;

/// The server behind the proxy.
pub struct Upstream {
    address: Address,
    options: HttpOptions,
    /// Headers for every request.
    headers: Vec<(HeaderName, HeaderValue)>,
    idle: Mutex<Vec<SendRequest<ProxyBody>>>,
    /// What this process ran out of.
    pub limits: LimitWatch,
}

impl Upstream {
    pub fn new(url: &str, headers: Vec<(HeaderName, HeaderValue)>) -> Result<Arc<Self>, Failure> {
        let options = HttpOptions::default();
        Ok(Arc::new(Self {
            address: Address::parse(url, ("http", "https"), &options)?,
            options,
            headers,
            idle: Mutex::default(),
            limits: LimitWatch::default(),
        }))
    }

    /// The path of the endpoint.
    pub fn path(&self) -> &str {
        self.address.path.path()
    }

    /// The name that it has in addresses: host and port.
    pub fn authority(&self) -> Option<Authority> {
        self.address.host_header.to_str().ok()?.parse().ok()
    }

    /// Sends a request on, to the same path. The body of the response gives the connection back.
    pub async fn send(
        self: &Arc<Self>,
        mut request: Request<ProxyBody>,
    ) -> Result<Response<ProxyBody>, Failure> {
        *request.uri_mut() = self.target(request.uri());
        *request.version_mut() = Version::HTTP_11;
        let headers = request.headers_mut();
        headers.insert(HOST, self.address.host_header.clone());
        for (name, value) in &self.headers {
            headers.insert(name.clone(), value.clone());
        }
        loop {
            let kept = lock(&self.idle).pop();
            let is_kept = kept.is_some();
            let mut sender = match kept {
                Some(sender) => sender,
                None => self.connect().await?,
            };
            if sender.ready().await.is_err() {
                if is_kept {
                    continue;
                }
                return Err(self.address.unreachable("the connection closed at once"));
            }
            match sender.try_send_request(request).await {
                Ok(response) => {
                    let home = Arc::clone(self);
                    return Ok(
                        response.map(|body: Incoming| ProxyBody::upstream(body, sender, home))
                    );
                }
                Err(mut error) => match error.take_message() {
                    // It was never sent, for the server had closed a connection that was kept.
                    Some(unsent) if is_kept => request = unsent,
                    _ => return Err(self.address.unreachable(&error.into_error().to_string())),
                },
            }
        }
    }

    /// Keeps a connection whose response is over.
    pub fn give_back(&self, sender: SendRequest<ProxyBody>) {
        let mut idle = lock(&self.idle);
        if idle.len() < IDLE_MAX && !sender.is_closed() {
            idle.push(sender);
        }
    }

    async fn connect(&self) -> Result<SendRequest<ProxyBody>, Failure> {
        let wire = self.address.dial(&self.options).await;
        let wire = wire.inspect_err(|failure| {
            failure.own_limit().map(|limit| self.limits.meet(limit));
        })?;
        let shaken = http1::Builder::new()
            .preserve_header_case(true)
            .max_headers(HEADERS_MAX)
            .handshake(TokioIo::new(wire))
            .await;
        let (sender, connection) =
            shaken.map_err(|error| self.address.unreachable(&error.to_string()))?;
        tokio::spawn(async move {
            // Whoever waits for a response hears of it.
            let _ = connection.await;
        });
        Ok(sender)
    }

    /// The same path and query; the query of the endpoint where the client gives none.
    fn target(&self, uri: &Uri) -> Uri {
        let own = &self.address.path;
        let asked = uri.path_and_query().map_or("/", PathAndQuery::as_str);
        if asked == own.path() {
            return own.clone();
        }
        asked.parse().unwrap_or_else(|_| Uri::from_static("/"))
    }
}
