//! Where to connect to, and how: an address taken apart once, and the way to a socket.
//!
//! HTTP, HTTP+SSE and WebSocket all dial here; what they speak on the socket is their own.

use http::uri::Authority;

use super::prelude::*;
use crate::transport::tls::{Tls, is_no_tls, is_tls_error};

/// How long a failed address is asked whether it speaks TLS.
const TLS_ASKED_MAX: Duration = Duration::from_secs(2);

/// An address that can be dialled again and again.
#[derive(Clone)]
pub struct Address {
    host: String,
    port: u16,
    tls: Option<Tls>,
    /// The value of the `Host` header.
    pub host_header: HeaderValue,
    /// Path and query, as they stand in the request line.
    pub path: Uri,
}

impl Address {
    /// Takes `url` apart. `plain` and `secure` are the schemes it may have.
    pub fn parse(
        url: &str,
        (plain, secure): (&str, &str),
        options: &HttpOptions,
    ) -> Result<Self, Failure> {
        let refuse = |why: &str| {
            let shown = redact_urls(url);
            let message = format!("cannot use the address {shown}: {why}");
            Failure::disconnected(message)
        };
        let uri: Uri = url.parse().map_err(|error| refuse(&format!("{error}")))?;
        let scheme = uri.scheme_str().unwrap_or_default();
        let is_secure = scheme == secure;
        if !is_secure && scheme != plain {
            return Err(refuse(&format!(
                "it must start with {plain}:// or {secure}://"
            )));
        }
        let authority = uri.authority().ok_or_else(|| refuse("it names no host"))?;
        if authority.as_str().contains('@') {
            return Err(refuse(
                "it holds credentials; pass them as an Authorization header",
            ));
        }
        let host = authority.host().trim_matches(['[', ']']).to_owned();
        let tls = if is_secure {
            let tls = Tls::new(&host, options)?;
            Some(tls.ok_or_else(|| refuse("its host is not a name that a certificate can have"))?)
        } else {
            None
        };
        Ok(Self {
            port: port_of(authority, is_secure),
            host,
            tls,
            host_header: HeaderValue::from_str(authority.as_str())
                .map_err(|_| refuse("its host cannot be sent"))?,
            path: path_of(&uri),
        })
    }

    /// The address of `reference`, as seen from here: an absolute one must have this origin.
    pub fn join(&self, reference: &str) -> Result<Self, Failure> {
        let refuse = |why: &str| {
            let message = format!("the server named the endpoint {reference:?}: {why}");
            Failure::malformed(message)
        };
        let scheme = self.scheme();
        let uri: Uri = self
            .absolute(reference)
            .parse()
            .map_err(|error| refuse(&format!("{error}")))?;
        if let Some(authority) = uri.authority() {
            let port = port_of(authority, self.tls.is_some());
            let host = authority.host().trim_matches(['[', ']']);
            let same = uri.scheme_str() == Some(scheme)
                && port == self.port
                && host.eq_ignore_ascii_case(&self.host);
            if !same {
                return Err(refuse("its origin is not that of the stream"));
            }
        }
        Ok(Self {
            path: path_of(&uri),
            ..self.clone()
        })
    }

    fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    /// The whole address that `reference` means, as seen from here, wherever that is.
    pub fn absolute(&self, reference: &str) -> String {
        let is_absolute = reference.split_once("://").is_some_and(|(scheme, _)| {
            !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric())
        });
        let scheme = self.scheme();
        if is_absolute {
            reference.to_owned()
        } else if reference.starts_with("//") {
            format!("{scheme}:{reference}")
        } else {
            let host = String::from_utf8_lossy(self.host_header.as_bytes());
            format!("{scheme}://{host}{}", resolve(self.path.path(), reference))
        }
    }

    /// Opens a socket, with TLS if the address asks for it, within the connect timeout.
    pub async fn dial(&self, options: &HttpOptions) -> Result<Wire, Failure> {
        match tokio::time::timeout(options.connect_timeout, self.open()).await {
            Ok(Ok(wire)) => Ok(wire),
            Ok(Err(error)) => {
                let failure = self.unreachable(&describe(&error));
                Err(match error.kind() {
                    _ if is_no_tls(&error) => failure.with(Detail::NoTls),
                    io::ErrorKind::ConnectionRefused => failure.with(Detail::Refused),
                    _ => failure.of_limit(OwnLimit::of_connect(&error)),
                })
            }
            Err(_) => {
                let seconds = options.connect_timeout.as_secs_f64();
                Err(self.unreachable(&format!("no connection within {seconds} s")))
            }
        }
    }

    /// Whether what listens at this address, which was contacted without TLS, speaks it. Asked only once a session
    /// has failed, for a server says it in many ways: it closes the connection, sends an alert or a page of HTML.
    pub async fn is_only_tls(&self, options: &HttpOptions) -> bool {
        if self.tls.is_some() {
            return false;
        }
        let greeting = async {
            let tls = Tls::new(&self.host, options).ok().flatten()?;
            let stream = TcpStream::connect((self.host.as_str(), self.port))
                .await
                .ok()?;
            Some(match tls.connect(stream).await {
                Ok(_) => true,
                Err(error) => is_tls_error(&error),
            })
        };
        let asked = tokio::time::timeout(TLS_ASKED_MAX, greeting).await;
        asked.is_ok_and(|found| found == Some(true))
    }

    /// The failure of not getting through to this address.
    pub fn unreachable(&self, why: &str) -> Failure {
        let host = self.host_header.to_str().unwrap_or(&self.host);
        let message = format!("cannot connect to {host}: {why}");
        Failure::disconnected(message)
    }

    /// What an opening gives within the connect timeout. A server that can be reached, for all we know, and is silent
    /// is told by what is missing.
    pub async fn within<T>(
        &self,
        options: &HttpOptions,
        missing: &str,
        opening: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        tokio::time::timeout(options.connect_timeout, opening)
            .await
            .unwrap_or_else(|_| {
                let seconds = options.connect_timeout.as_secs_f64();
                Err(Failure {
                    category: ErrorCategory::Timeout,
                    ..self.unreachable(&format!("{missing} within {seconds} s"))
                })
            })
    }

    async fn open(&self) -> io::Result<Wire> {
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await?;
        stream.set_nodelay(true)?;
        Ok(match &self.tls {
            None => Box::new(stream),
            Some(tls) => Box::new(tls.connect(stream).await?),
        })
    }
}

fn port_of(authority: &Authority, is_secure: bool) -> u16 {
    authority
        .port_u16()
        .unwrap_or(if is_secure { 443 } else { 80 })
}

/// Where a reference without a host leads, seen from a path.
pub fn resolve(path: &str, reference: &str) -> String {
    if reference.starts_with('/') {
        reference.to_owned()
    } else if reference.starts_with('?') {
        format!("{path}{reference}")
    } else {
        let folder = path.rfind('/').and_then(|end| path.get(..=end));
        format!("{}{reference}", folder.unwrap_or("/"))
    }
}

fn path_of(uri: &Uri) -> Uri {
    uri.path_and_query()
        .cloned()
        .map_or_else(|| Uri::from_static("/"), Uri::from)
}

/// The kind says it in words; only where it has none, the whole error has to.
fn describe(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused
        | io::ErrorKind::ConnectionReset
        | io::ErrorKind::HostUnreachable
        | io::ErrorKind::NetworkUnreachable
        | io::ErrorKind::TimedOut => error.kind().to_string(),
        _ => error.to_string(),
    }
}

/// A socket, with or without TLS.
pub type Wire = Box<dyn ByteStream>;

/// Bytes in both directions.
pub trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for S {}
