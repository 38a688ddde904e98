//! What the commands that are servers share: where they listen, and what they tell whoever started them.

use std::num::ParseIntError;

use mcprove_servers::hosting::host::Eras;
use mcprove_servers::hosting::listener::ListenerKind;
use mcprove_settings::own_limits::LimitWatch;

use crate::prelude::*;

/// What a server says on a terminal, where somebody would wait in vain for it to say anything.
const STDIO_NOTICE: &str = "\
speaking MCP on stdin and stdout, for a client that starts this command;
--http 127.0.0.1:8080 listens on the network instead; Ctrl-D ends
";

/// How a server of ours is reached.
#[derive(Debug, Args)]
pub struct AddressArguments {
    /// Serve streamable HTTP on this address, at /mcp; port 0 takes any free one
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["sse", "ws"], value_parser = parse_address)]
    http: Option<SocketAddr>,

    /// Serve HTTP+SSE on this address, at /sse; only for protocol revisions before 2026-07-28
    #[arg(long, value_name = "ADDRESS", conflicts_with = "ws", value_parser = parse_address)]
    sse: Option<SocketAddr>,

    /// Serve WebSocket on this address
    #[arg(long, value_name = "ADDRESS", value_parser = parse_address)]
    ws: Option<SocketAddr>,

    /// The eras to speak: handshake, stateless or both
    #[arg(long, default_value = "both")]
    pub era: Eras,
}

/// The same for a server that others may reach.
#[derive(Debug, Args)]
pub struct ListenArguments {
    #[command(flatten)]
    pub address: AddressArguments,

    /// Accept this name in Host and Origin, besides loopback names and the address that is listened on; repeatable
    #[arg(long = "public-host", value_name = "NAME")]
    pub public_hosts: Vec<PublicHost>,
}

impl AddressArguments {
    /// The address that was given, if any; what does not go with it is refused.
    pub fn given(&self) -> Result<Option<(ListenerKind, SocketAddr)>> {
        if self.sse.is_some() && self.era == Eras::Stateless {
            return refuse(
                "--sse and --era stateless cannot be combined: HTTP+SSE is only for protocol revisions before 2026-07-28",
                "serve the stateless era with --http, or leave out --era",
            );
        }
        let all = [
            (ListenerKind::Http, self.http),
            (ListenerKind::Sse, self.sse),
            (ListenerKind::WebSocket, self.ws),
        ];
        let mut given = all.into_iter().filter_map(|(kind, it)| Some((kind, it?)));
        Ok(given.next())
    }
}

impl ListenArguments {
    /// As [`AddressArguments::given`].
    pub fn given(&self) -> Result<Option<(ListenerKind, SocketAddr)>> {
        let given = self.address.given()?;
        if given.is_none() && !self.public_hosts.is_empty() {
            return refuse(
                "--public-host is for a server over the network",
                "add --http 127.0.0.1:8080, --sse or --ws; or leave --public-host out",
            );
        }
        Ok(given)
    }
}

/// An address, `localhost:8080`, or a port alone (`8080`, `:8080`), which is one of this machine.
pub fn parse_address(text: &str) -> DiagnosticResult<SocketAddr> {
    let port = text.strip_prefix("localhost:").unwrap_or(text);
    let port = port.strip_prefix(':').unwrap_or(port);
    let local = |_| Ok(SocketAddr::from(([127, 0, 0, 1], port.parse()?)));
    text.parse().or_else(local).map_err(|_: ParseIntError| {
        let hint = "write 127.0.0.1:8080, or port 0 for any free one";
        Diagnostic::new("it is not an address", hint)
    })
}

/// Says where it listens, and when this process runs out of something; it goes on, and what needs that waits.
pub fn announce(url: &str, limits: &LimitWatch) {
    terminal::print_error(&format!("listening on {url}\n"));
    let limits = limits.clone();
    tokio::spawn(async move {
        let limit = limits.wait().await;
        let hint = limit.hint().rendered();
        let what = "new connections wait until others are closed";
        terminal::print_error(&format!("warning: {limit}; {what}\nhint: {hint}\n"));
    });
}

/// Tells somebody who started a server by hand what it is waiting for.
pub fn explain_stdio() {
    if std::io::stdin().is_terminal() {
        terminal::print_error(STDIO_NOTICE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_one_of_this_machine() {
        for text in ["8080", ":8080", "localhost:8080", "127.0.0.1:8080"] {
            assert_eq!(
                parse_address(text),
                Ok(([127, 0, 0, 1], 8080).into()),
                "{text}"
            );
        }
        assert_eq!(parse_address("[::1]:0"), Ok("[::1]:0".parse().unwrap()));
        for text in ["", "example.com", "example.com:80", "70000", "::"] {
            assert!(parse_address(text).is_err(), "{text}");
        }
    }
}
