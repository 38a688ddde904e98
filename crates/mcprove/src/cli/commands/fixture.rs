//! `mcprove fixture` (hidden): runs a built-in server.

use mcprove_servers::fixture::{self, ENTRIES, FixtureOptions};

use crate::prelude::*;
use crate::serving::AddressArguments;

/// Arguments of `mcprove fixture`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The mode; without one they are listed
    mode: Option<String>,

    #[command(flatten)]
    address: AddressArguments,

    /// A setting of the mode, as NAME=NUMBER; repeatable
    #[arg(long = "set", value_name = "SETTING")]
    settings: Vec<String>,
}

/// Runs the command.
pub async fn run(arguments: &Arguments) -> Result {
    let Some(mode) = &arguments.mode else {
        for entry in ENTRIES {
            terminal::print(&format!("{:<14} {}\n", entry.name, entry.explanation));
        }
        return Ok(ExitCode::Passed);
    };
    let options = FixtureOptions {
        eras: arguments.address.era,
        settings: settings(&arguments.settings)?,
    };
    let status = match arguments.address.given()? {
        None => fixture::serve(mode, &options).await?,
        Some((kind, address)) => {
            let listening = fixture::listen_as_process(mode, kind, address, &options).await?;
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

fn settings(given: &[String]) -> Result<Map<String, Value>> {
    given
        .iter()
        .map(|text| {
            text.split_once('=')
                .and_then(|(name, value)| {
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
