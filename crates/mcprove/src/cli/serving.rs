//! What the commands that are servers share: where they listen, and what they tell whoever started them.

use std::io::IsTerminal;
use std::net::SocketAddr;

use mcprove_servers::hosting::host::Eras;
use mcprove_servers::hosting::listener::Kind;
use mcprove_servers::hosting::names::PublicHost;
use mcprove_settings::own_limits::LimitWatch;

use crate::failure::Failure;
use crate::{listen_address, terminal};

/// What to try where nobody can listen.
const LISTEN_HINT: &str =
    "check that the address is one of this machine and that its port is free; port 0 takes any";

/// What a server says on a terminal, where somebody would wait in vain for it to say anything.
const STDIO_NOTICE: &str = "\
speaking MCP on stdin and stdout, for a client that starts this command;
--http 127.0.0.1:8080 listens on the network instead; Ctrl-D ends
";

/// The address that was given, if any.
pub fn address(
    http: Option<&String>,
    sse: Option<&String>,
    ws: Option<&String>,
) -> Result<Option<(Kind, SocketAddr)>, Failure> {
    let given = [
        ("--http", http, Kind::Http),
        ("--sse", sse, Kind::Sse),
        ("--ws", ws, Kind::WebSocket),
    ];
    for (flag, address, kind) in given {
        if let Some(text) = address {
            let address = listen_address::parse(text).ok_or_else(|| {
                Failure::new(
                    format!("{flag} {text:?} is no address"),
                    format!("write {flag} 127.0.0.1:8080, or port 0 for any free one"),
                )
            })?;
            return Ok(Some((kind, address)));
        }
    }
    Ok(None)
}

/// Refuses an era that the transport does not have.
pub fn check_era(sse: Option<&String>, era: Eras) -> Result<(), Failure> {
    if sse.is_some() && era == Eras::Stateless {
        return Err(Failure::new(
            "--sse and --era stateless do not go together: HTTP+SSE is of the handshake era alone",
            "serve the stateless era with --http, or leave out --era",
        ));
    }
    Ok(())
}

/// Refuses names for a server that nobody reaches by a name.
pub fn check_public_hosts(hosts: &[PublicHost], is_listening: bool) -> Result<(), Failure> {
    if hosts.is_empty() || is_listening {
        return Ok(());
    }
    Err(Failure::new(
        "--public-host is for a server over the network",
        "add --http 127.0.0.1:8080, --sse or --ws; or leave --public-host out",
    ))
}

/// The failure of a command that cannot listen.
pub fn cannot_listen(error: &impl ToString) -> Failure {
    Failure::new(error.to_string(), LISTEN_HINT)
}

/// Reports when this process runs out of something; it goes on, and what needs that waits.
pub fn report_limits(limits: &LimitWatch) {
    let limits = limits.clone();
    tokio::spawn(async move {
        let limit = limits.wait().await;
        let hint = limit.hint();
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
