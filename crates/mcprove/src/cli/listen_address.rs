//! Addresses to listen on, as people write them.

use crate::prelude::*;

/// An address, `localhost:8080`, or a port alone (`8080`, `:8080`), which is one of this machine.
pub fn parse(text: &str) -> Option<SocketAddr> {
    let local = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
    let port = text.strip_prefix("localhost:").unwrap_or(text);
    let port = port.strip_prefix(':').unwrap_or(port);
    text.parse().ok().or_else(|| port.parse().ok().map(local))
}

/// The same, for an argument.
pub fn parse_argument(text: &str) -> Result<SocketAddr, String> {
    parse(text).ok_or_else(|| "write 127.0.0.1:8080, or port 0 for any free one".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_one_of_this_machine() {
        for text in ["8080", ":8080", "localhost:8080", "127.0.0.1:8080"] {
            assert_eq!(parse(text), "127.0.0.1:8080".parse().ok(), "{text}");
        }
        assert_eq!(parse("[::1]:0"), "[::1]:0".parse().ok());
        for text in ["", "example.com", "example.com:80", "70000", "::"] {
            assert!(parse_argument(text).is_err(), "{text}");
        }
    }
}
