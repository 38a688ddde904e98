//! The client that the official MCP conformance suite drives.
//!
//! The suite starts this program with the address of a server of its own as the last argument,
//! names the scenario and the revision in the environment, and judges what it received. The
//! program is a plain user of the `mcprove` library: `scenario` says what each scenario asks a
//! client to do, and everything that is judged is done by the library.

mod scenario;

use std::env;
use std::time::Duration;

use anyhow::{Context as _, bail};
use mcprove_client::server::Server;
use mcprove_client::session::{Accept, ProtocolChoice, Session, SessionOptions};
use mcprove_trace::stream::EventStream;
use serde_json::Value;

/// The suite gives up after 30 s; ending before it does leaves a reason behind.
const DEADLINE: Duration = Duration::from_secs(20);

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    match tokio::time::timeout(DEADLINE, run()).await {
        Ok(outcome) => outcome,
        Err(_) => bail!("not done within {} s", DEADLINE.as_secs()),
    }
}

async fn run() -> anyhow::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let Some((url, flags)) = arguments.split_last() else {
        bail!("usage: conformance-client [--auto] URL");
    };
    let protocol = match flags {
        [] => variable("MCP_CONFORMANCE_PROTOCOL_VERSION")?.parse()?,
        [flag] if flag == "--auto" => ProtocolChoice::Auto,
        _ => bail!("unknown arguments {flags:?}; the only flag is --auto"),
    };
    let name = variable("MCP_CONFORMANCE_SCENARIO")?;
    let context: Value = match env::var("MCP_CONFORMANCE_CONTEXT") {
        Ok(text) => serde_json::from_str(&text).context("MCP_CONFORMANCE_CONTEXT")?,
        Err(_) => Value::Null,
    };

    let server = Server::http(url);
    let mut options = SessionOptions::default().with_responder(Accept);
    options.protocol = protocol;
    let session =
        Session::connect_recorded(&server, options, EventStream::unobserved().recorder()).await?;
    eprintln!("{name}: speaking {} with {url}", session.facts().revision);
    for warning in session.warnings() {
        eprintln!("warning: {warning}");
    }
    scenario::play(&name, &context, &session).await?;
    for violation in session.violations().first {
        eprintln!(
            "the server {}: {}",
            violation.kind.explanation(),
            violation.message
        );
    }
    session.close().await;
    Ok(())
}

fn variable(name: &str) -> anyhow::Result<String> {
    env::var(name).with_context(|| format!("{name} is not set; the conformance suite sets it"))
}
