//! Real clients, driven by scripts: one process of a client takes all cases, a few at a time, and tells
//! what it saw.

use std::io::Write;
use std::process::{Command, Stdio};

use harness::{RealServers, require};
use serde_json::Value;

/// How long a client waits for an answer that has to come: machines are slow when they are busy.
pub const PATIENCE_MS: u64 = 60_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    Stdio,
    Http,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Client {
    Npm,
    /// Opens with `initialize`.
    Python1,
    /// Stateless.
    Python2,
}

/// Where the clients are, if they are installed.
pub fn servers() -> Option<RealServers> {
    let servers = RealServers::locate();
    require("the real servers (cargo xtask setup)", servers.is_some());
    servers
}

/// Lets the client take all cases, and reads what it saw.
pub fn observe(servers: &RealServers, client: Client, cases: &[Value]) -> Vec<Value> {
    let scripts = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testing/clients");
    let layout = servers.layout();
    let mut command = match client {
        Client::Npm => {
            let mut command = Command::new(layout.node());
            command.arg(format!("{scripts}/npm_client.cjs"));
            command.arg(layout.npm());
            command
        }
        Client::Python1 | Client::Python2 => {
            let name = if client == Client::Python1 {
                "mcp1"
            } else {
                "mcp2"
            };
            let mut command = Command::new(layout.python(name));
            // No `__pycache__` in the source tree.
            command.args(["-B", &format!("{scripts}/python_client.py")]);
            command
        }
    };
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input
        .write_all(Value::from(cases).to_string().as_bytes())
        .unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}
