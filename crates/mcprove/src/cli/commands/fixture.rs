//! `mcprove fixture` (hidden): runs a built-in server.

use mcprove_servers::fixture::{self, ENTRIES, Eras, Kind, Options};

use crate::prelude::*;

/// Arguments of `mcprove fixture`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The mode; without one they are listed
    mode: Option<String>,

    /// Serve streamable HTTP on this address; port 0 takes any free one
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["sse", "ws"])]
    http: Option<SocketAddr>,

    /// Serve HTTP+SSE on this address
    #[arg(long, value_name = "ADDRESS", conflicts_with = "ws")]
    sse: Option<SocketAddr>,

    /// Serve WebSocket on this address
    #[arg(long, value_name = "ADDRESS")]
    ws: Option<SocketAddr>,

    /// The eras to speak: handshake, stateless or both
    #[arg(long, default_value = "both")]
    era: Eras,

    /// A setting of the mode, as NAME=NUMBER; repeatable
    #[arg(long = "set", value_name = "SETTING")]
    settings: Vec<String>,
}

/// Runs the command.
pub async fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let Some(mode) = &arguments.mode else {
        for entry in ENTRIES {
            terminal::print(&format!("{:<14} {}\n", entry.name, entry.explanation));
        }
        return Ok(ExitCode::SUCCESS);
    };
    let options = Options {
        eras: arguments.era,
        settings: settings(&arguments.settings)?,
    };
    let address = [
        (arguments.http, Kind::Http),
        (arguments.sse, Kind::Sse),
        (arguments.ws, Kind::WebSocket),
    ]
    .into_iter()
    .find_map(|(address, kind)| address.map(|address| (address, kind)));
    let status = match address {
        None => fixture::serve(mode, &options).await.map_err(describe)?,
        Some((address, kind)) => {
            let listening = fixture::listen_as_process(mode, kind, address, &options)
                .await
                .map_err(describe)?;
            serving::announce(&listening.url(), listening.limits());
            tokio::select! {
                status = listening.ended() => status,
                () = interrupt::requested() => 0,
            }
        }
    };
    // A read of stdin may still be under way, and would keep the process.
    std::process::exit(i32::from(status))
}

fn settings(given: &[String]) -> Result<Map<String, Value>, Failure> {
    given
        .iter()
        .map(|text| {
            let pair = text.split_once('=');
            pair.and_then(|(name, value)| {
                Some((name.to_owned(), Value::from(value.parse::<u64>().ok()?)))
            })
            .ok_or_else(|| {
                Failure::new(
                    format!("--set {text:?} is not of the form NAME=NUMBER"),
                    "write --set every=10",
                )
            })
        })
        .collect()
}

// Taken by value, as `map_err` gives it.
#[allow(clippy::needless_pass_by_value)]
fn describe(error: fixture::FixtureError) -> Failure {
    match error {
        fixture::FixtureError::Listen(error) => serving::cannot_listen(&error),
        error @ fixture::FixtureError::Mode(_) => {
            Failure::new(error.to_string(), "`mcprove fixture` lists the modes")
        }
    }
}
