//! `mcprove lab`: serves the lab.

use std::num::NonZero;

use mcprove_lab as lab;
use mcprove_lab::Options;
use mcprove_lab::audit::{AuditOptions, AuditStore};

use super::keys;
use crate::prelude::*;

/// Arguments of `mcprove lab`.
#[derive(Debug, Args)]
pub struct ServeArguments {
    #[command(flatten)]
    listen: ListenArguments,

    /// Accept this API key, as NAME=KEY or KEY; repeatable
    #[arg(long = "api-key", value_name = "KEY")]
    api_keys: Vec<String>,

    /// Accept the API keys in this file, one per line
    #[arg(long, value_name = "FILE")]
    api_keys_file: Option<PathBuf>,

    /// How many tools, resources or prompts a page of their list has [default: all]
    #[arg(long, value_name = "COUNT", value_parser = at_least_one::<NonZero<usize>>)]
    page_size: Option<NonZero<usize>>,

    /// Write a row for every request to this SQLite file; existing rows are kept
    #[arg(long, value_name = "FILE")]
    audit: Option<PathBuf>,

    /// Keep no more than this many rows, the latest [default: all in a file, 10000 in memory]
    #[arg(long, value_name = "COUNT", value_parser = at_least_one::<NonZero<u64>>)]
    audit_rows: Option<NonZero<u64>>,

    /// Also offer what the official conformance suite expects
    #[arg(long)]
    conformance_fixtures: bool,
}

fn at_least_one<T: FromStr>(text: &str) -> Result<T, String> {
    let number = text.parse();
    number.map_err(|_| "write a whole number from 1 up".to_owned())
}

/// Runs the command.
pub async fn run(arguments: &ServeArguments) -> Result {
    let address = arguments.listen.given()?;
    let keys_file = arguments.api_keys_file.as_ref();
    let api_keys = keys::read(&arguments.api_keys, keys_file, address.is_some())?;
    let is_open = api_keys.is_empty();
    let store = open(arguments.audit.as_ref(), arguments.audit_rows)?;
    let store = Arc::new(store.with_secrets(api_keys.secrets()));
    store.on_loss(|error| terminal::warn(&format!("{error}; the lab goes on")));
    let options = Options {
        eras: arguments.listen.address.era,
        page_size: arguments.page_size,
        api_keys,
        conformance_fixtures: arguments.conformance_fixtures,
        public_hosts: arguments.listen.public_hosts.clone(),
        audit: Some(Arc::clone(&store)),
    };
    let stop = interrupt::requested();
    let status = match address {
        None => {
            serving::explain_stdio();
            lab::serve(&options, stop).await
        }
        Some((kind, address)) => {
            let listening = lab::listen(&options, kind, address).await?;
            serving::announce(&listening.url(), listening.limits());
            if is_open && !address.ip().is_loopback() {
                terminal::warn(
                    &"anyone who can reach this address is accepted; --api-key requires a key",
                );
            }
            stop.await;
            listening.shutdown().await;
            0
        }
    };
    if let Err(error) = store.close() {
        losses::add([lost(&error, arguments.audit.as_deref())]);
    }
    Ok(ExitCode::of_server(status))
}

fn open(path: Option<&PathBuf>, rows: Option<NonZero<u64>>) -> Result<AuditStore> {
    let options = AuditOptions {
        rows: rows.map(NonZero::get),
        ..AuditOptions::default()
    };
    let store = match path {
        Some(path) => AuditStore::open_with(path, options),
        None => AuditStore::in_memory_with(options),
    };
    store.map_err(|error| {
        Failure::new(
            error.to_string(),
            "give another file with --audit, or none to keep the rows in memory",
        )
    })
}

fn lost(error: &AuditError, file: Option<&Path>) -> Loss {
    let file = file.map_or("the audit".into(), |file| file.display().to_string());
    match error {
        AuditError::Lost { count, reason } => Loss::of(file, Missing::Rows(*count), reason),
        error => Loss::of(file, Missing::File, error.to_string()),
    }
}
