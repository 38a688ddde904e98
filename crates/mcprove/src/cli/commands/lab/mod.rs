//! `mcprove lab`: the server that fails on purpose, where its API keys come from, and the record of what it was asked.

mod audit;

use std::num::NonZero;

use mcprove_lab as lab;
use mcprove_lab::audit::{AuditOptions, AuditStore};
use mcprove_lab::{ApiKeys, KEY_FORM, LabOptions};

use crate::prelude::*;

/// The variable with keys, so that they need not be in the arguments, which others can see.
const KEYS_VARIABLE: &str = "MCPROVE_LAB_API_KEYS";

/// The largest file of keys.
const KEYS_BYTES_MAX: u64 = 1024 * 1024;

/// Arguments of `mcprove lab`.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "It ends when its client closes stdin, or with Ctrl-C: exit code 0 both times."
)]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<LabCommand>,

    #[command(flatten)]
    listen: ListenArguments,

    /// Accept this API key, as NAME=KEY or KEY; repeatable
    #[arg(long = "api-key", value_name = "KEY")]
    api_keys: Vec<String>,

    /// Accept the API keys in this file, one per line
    #[arg(long, value_name = "FILE")]
    api_keys_file: Option<PathBuf>,

    /// How many tools, resources or prompts a page of their list has [default: all]
    #[arg(long, value_name = "COUNT", value_parser = reads::<usize>("page_size", kind::limit(1)))]
    page_size: Option<usize>,

    /// Write a row for every request to this SQLite file; existing rows are kept
    #[arg(long, value_name = "FILE")]
    audit: Option<PathBuf>,

    /// Keep no more than this many rows, the latest [default: all in a file, 10000 in memory]
    #[arg(long, value_name = "COUNT", value_parser = reads::<u64>("audit_rows", kind::CALLS))]
    audit_rows: Option<u64>,

    /// Also offer what the official conformance suite expects
    #[arg(long)]
    conformance_fixtures: bool,
}

/// What to do beside serving.
#[derive(Debug, Subcommand)]
enum LabCommand {
    /// Look into what the lab was asked: list, follow, export, show, replay, compare
    Audit(Box<audit::Arguments>),
}

/// Runs the command.
pub async fn run(arguments: &Arguments) -> Result {
    match &arguments.command {
        Some(LabCommand::Audit(arguments)) => audit::run(arguments).await,
        None => serve(arguments).await,
    }
}

/// Serves the lab.
async fn serve(arguments: &Arguments) -> Result {
    let address = arguments.listen.given()?;
    let keys_file = arguments.api_keys_file.as_ref();
    let api_keys = read_keys(&arguments.api_keys, keys_file, address.is_some())?;
    let is_open = api_keys.is_empty();
    let store = open(arguments.audit.as_ref(), arguments.audit_rows)?;
    let store = Arc::new(store.with_secrets(api_keys.secrets()));
    store.on_loss(|error| terminal::warn(&format!("{error}; the lab goes on")));
    let options = LabOptions {
        eras: arguments.listen.address.era,
        page_size: arguments.page_size.and_then(NonZero::new),
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

fn open(path: Option<&PathBuf>, rows: Option<u64>) -> Result<AuditStore> {
    let options = AuditOptions {
        rows,
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
        AuditError::Lost { count, reason } => {
            Loss::of(file, Missing::Rows(*count), reason.to_string())
        }
        error => Loss::of(file, Missing::File, error.to_string()),
    }
}

/// The keys of the arguments, of a file and of the environment, where a network needs them.
fn read_keys(given: &[String], file: Option<&PathBuf>, over_network: bool) -> Result<ApiKeys> {
    if !over_network {
        if given.is_empty() && file.is_none() {
            // The variable may be there for another lab.
            return Ok(ApiKeys::default());
        }
        return refuse(
            "API keys have no effect over stdio: the only client is the process that started the server",
            "serve over the network: --http 127.0.0.1:0",
        );
    }
    let mut keys = ApiKeys::default();
    for key in given {
        keys.add(key)
            .map_err(|problem| unusable_key("--api-key", &problem))?;
    }
    if let Some(path) = file {
        let place = format!("--api-keys-file {}", path.display());
        keys.add_lines(&read_keys_file(path)?)
            .map_err(|problem| unusable_key(&place, &problem))?;
        if keys.is_empty() {
            // Letting everybody in is not what a file of keys is for.
            return Err(unusable_key(&place, &"there is no key in it"));
        }
    }
    let Some(text) = std::env::var_os(KEYS_VARIABLE) else {
        return Ok(keys);
    };
    let Some(text) = text.to_str() else {
        return refuse(format!("{KEYS_VARIABLE} is not UTF-8"), KEY_FORM);
    };
    let before = keys.names().count();
    keys.add_lines(&text.replace(',', "\n"))
        .map_err(|error| unusable_key(KEYS_VARIABLE, &error.problem))?;
    if keys.names().count() == before {
        // As a file of keys: who sets it wants a closed door, also when a script left it empty.
        return refuse(
            format!("{KEYS_VARIABLE} is set, and there is no key in it"),
            format!("{KEY_FORM}, separated by commas; or unset it to accept everyone"),
        );
    }
    Ok(keys)
}

fn unusable_key(place: &str, problem: &dyn std::fmt::Display) -> Failure {
    Failure::new(format!("{place}: {problem}"), KEY_FORM)
}

fn read_keys_file(path: &Path) -> Result<String> {
    let cannot = |problem: String| {
        let text = format!("cannot read the API keys in {}: {problem}", path.display());
        Failure::new(text, "a line for each key: NAME=KEY or KEY")
    };
    let bytes = input::read(path, KEYS_BYTES_MAX).map_err(|error| cannot(error.to_string()))?;
    String::from_utf8(bytes).map_err(|_| cannot("it is not UTF-8".to_owned()))
}
