//! A small server on `rmcp`, the official Rust SDK, which speaks the session era and the stateless era.
//!
//! Without arguments it talks over stdio. `--http ADDR` serves streamable HTTP at `/mcp` and writes one line
//! `listening on URL` to stderr once it accepts connections; with it, `--stateless` drops the sessions of the
//! session era, and `--json` answers with JSON bodies where there is no session.

// Sampling and roots are deprecated in the stateless era, and still what clients must be tested with.
#![allow(deprecated)]

mod http;
mod tools;

use rmcp::ServiceExt;

use crate::tools::Tools;

type Error = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let mut args = std::env::args().skip(1);
    let (mut address, mut stateless, mut json) = (None, false, false);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--http" => address = Some(args.next().ok_or("--http needs an address")?),
            "--stateless" => stateless = true,
            "--json" => json = true,
            other => return Err(format!("unknown argument {other}").into()),
        }
    }
    if let Some(address) = address {
        return http::serve(&address, stateless, json).await;
    }
    Tools
        .serve(rmcp::transport::stdio())
        .await?
        .waiting()
        .await?;
    Ok(())
}
