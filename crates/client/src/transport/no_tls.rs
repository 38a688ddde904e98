//! What stands in the place of TLS in a build without it.

use std::future::Ready;

use crate::prelude::*;

/// There are no certificates to trust.
pub type Root = std::convert::Infallible;
/// A socket, which is never opened.
pub type Stream = TcpStream;

/// No host is contacted.
#[derive(Clone)]
pub enum Tls {}

impl Tls {
    pub fn new(_: &str, _: &HttpOptions) -> Result<Option<Self>, Failure> {
        let message = "this build of mcprove has no TLS; build it with the feature `tls`";
        Err(Failure::disconnected(message))
    }

    pub fn connect(&self, _: TcpStream) -> Ready<io::Result<Stream>> {
        match *self {}
    }
}

/// Nothing is contacted.
pub const fn is_no_tls(_: &io::Error) -> bool {
    false
}

/// Nothing is contacted.
pub const fn is_tls_error(_: &io::Error) -> bool {
    false
}
