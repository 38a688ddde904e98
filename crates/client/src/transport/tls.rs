//! The TLS settings that every transport over TCP shares.
//!
//! The roots are the system's (`SSL_CERT_FILE` overrides them), read once per process, plus
//! those that [`HttpOptions`](super::http::HttpOptions) adds.

use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::prelude::*;

/// A certificate that is trusted besides the system's.
pub type Root = CertificateDer<'static>;
/// A socket with TLS.
pub type Stream = TlsStream<TcpStream>;

/// How a host is contacted.
#[derive(Clone)]
pub struct Tls {
    connector: TlsConnector,
    name: ServerName<'static>,
}

impl Tls {
    /// For a host; none if no certificate can have its name.
    pub fn new(host: &str, options: &HttpOptions) -> Result<Option<Self>, Failure> {
        let Ok(name) = ServerName::try_from(host.to_owned()) else {
            return Ok(None);
        };
        let connector = client_config(&options.extra_roots)?.into();
        Ok(Some(Self { connector, name }))
    }

    pub async fn connect(&self, stream: TcpStream) -> io::Result<Stream> {
        self.connector.connect(self.name.clone(), stream).await
    }
}

/// Only HTTP/1.1 is spoken here, also by WebSocket.
const PROTOCOL: &[u8] = b"http/1.1";

/// A client configuration that trusts the system's roots and `extra_roots`.
fn client_config(extra_roots: &[Root]) -> Result<Arc<ClientConfig>, Failure> {
    static SYSTEM: OnceLock<Arc<ClientConfig>> = OnceLock::new();

    if let (true, Some(config)) = (extra_roots.is_empty(), SYSTEM.get()) {
        return Ok(Arc::clone(config));
    }
    let mut roots = RootCertStore::empty();
    // Certificates that cannot be read are as good as absent: the handshake then says which
    // issuer is unknown, and that is the message that helps.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    for root in extra_roots {
        roots.add(root.clone()).map_err(|error| {
            Failure::disconnected(format!("an extra root certificate is not usable: {error}"))
        })?;
    }
    let config = build(roots)?;
    if extra_roots.is_empty() {
        return Ok(Arc::clone(SYSTEM.get_or_init(|| config)));
    }
    Ok(config)
}

fn build(roots: RootCertStore) -> Result<Arc<ClientConfig>, Failure> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Failure::disconnected(format!("TLS cannot be set up: {error}")))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    Ok(Arc::new(config))
}

/// Whether the other side answered with something that is no TLS.
pub fn is_no_tls(error: &io::Error) -> bool {
    matches!(cause(error), Some(rustls::Error::InvalidMessage(_)))
}

/// Whether the other side spoke TLS, and something else was wrong, such as its certificate.
pub fn is_tls_error(error: &io::Error) -> bool {
    cause(error).is_some_and(|cause| !matches!(cause, rustls::Error::InvalidMessage(_)))
}

fn cause(error: &io::Error) -> Option<&rustls::Error> {
    error.get_ref()?.downcast_ref()
}
