//! What the commands that are servers share: where they listen, and what they tell whoever started them.

use std::io::IsTerminal;
use std::net::SocketAddr;

use clap::Args;
use mcprove_servers::hosting::host::Eras;
use mcprove_servers::hosting::listener::Kind;
use mcprove_servers::hosting::names::PublicHost;
use mcprove_settings::own_limits::LimitWatch;

use crate::{Failure, listen_address, terminal};

/// What to try where nobody can listen.
const LISTEN_HINT: &str =
    "check that the address is one of this machine and that its port is free; port 0 takes any";

/// What a server says on a terminal, where somebody would wait in vain for it to say anything.
const STDIO_NOTICE: &str = "\
speaking MCP on stdin and stdout, for a client that starts this command;
--http 127.0.0.1:8080 listens on the network instead; Ctrl-D ends
";

/// How a server of ours is reached.
#[derive(Debug, Args)]
pub struct ListenArguments {
    /// Serve streamable HTTP on this address, at /mcp; port 0 takes any free one
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["sse", "ws"])]
    http: Option<String>,

    /// Serve HTTP+SSE on this address, at /sse; only for protocol revisions before 2026-07-28
    #[arg(long, value_name = "ADDRESS", conflicts_with = "ws")]
    sse: Option<String>,

    /// Serve WebSocket on this address
    #[arg(long, value_name = "ADDRESS")]
    ws: Option<String>,

    /// Accept this name in Host and Origin, besides loopback names and the address that is listened on; repeatable
    #[arg(long = "public-host", value_name = "NAME")]
    pub public_hosts: Vec<PublicHost>,

    /// The eras to speak: handshake, stateless or both
    #[arg(long, default_value = "both")]
    pub era: Eras,
}

impl ListenArguments {
    /// The address that was given, if any; what does not go with it is refused.
    pub fn address(&self) -> Result<Option<(Kind, SocketAddr)>, Failure> {
        let mut given = None;
        for (flag, text, kind) in [
            ("--http", &self.http, Kind::Http),
            ("--sse", &self.sse, Kind::Sse),
            ("--ws", &self.ws, Kind::WebSocket),
        ] {
            let Some(text) = text else { continue };
            let address = listen_address::parse(text).ok_or_else(|| {
                Failure::new(
                    format!("{flag} {text:?} is not an address"),
                    format!("write {flag} 127.0.0.1:8080, or port 0 for any free one"),
                )
            });
            given = Some((kind, address?));
        }
        if given.is_none() && !self.public_hosts.is_empty() {
            return Err(Failure::new(
                "--public-host is for a server over the network",
                "add --http 127.0.0.1:8080, --sse or --ws; or leave --public-host out",
            ));
        }
        if self.sse.is_some() && self.era == Eras::Stateless {
            return Err(Failure::new(
                "--sse and --era stateless cannot be combined: HTTP+SSE is only for protocol revisions before 2026-07-28",
                "serve the stateless era with --http, or leave out --era",
            ));
        }
        Ok(given)
    }
}

/// The failure of a command that cannot listen.
pub fn cannot_listen(error: &impl ToString) -> Failure {
    Failure::new(error.to_string(), LISTEN_HINT)
}

/// Says where it listens, and when this process runs out of something; it goes on, and what needs that waits.
pub fn announce(url: &str, limits: &LimitWatch) {
    terminal::print_error(&format!("listening on {url}\n"));
    let limits = limits.clone();
    tokio::spawn(async move {
        let limit = limits.wait().await;
        let hint = limit.hint().text();
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
