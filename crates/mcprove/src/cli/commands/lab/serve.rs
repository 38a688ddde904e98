//! `mcprove lab`: serves the lab.

use std::fmt::Write as _;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use clap::Args;
use mcprove_document::terminal::wrap;
use mcprove_lab as lab;
use mcprove_lab::audit::{AuditError, AuditOptions, AuditStore};
use mcprove_lab::{ENTRIES, Options};
use mcprove_servers::hosting::host::Eras;
use mcprove_servers::hosting::names::PublicHost;
use mcprove_settings::loss::{Loss, Missing};

use super::keys;
use crate::exit::ExitCode;
use crate::failure::Failure;
use crate::{interrupt, losses, serving, terminal};

const EXPLANATION: &str = "\
What it does:
  1. Serves an MCP server whose tools fail, wait, repeat themselves, ask back or
     count what they did, as their arguments say; and resources and prompts. It
     speaks over stdin and stdout, or with --http, --sse or --ws over the
     network, in both eras of the protocol.
  2. Over the network, with any API key, answers 401 to whoever brings none of
     them, as Authorization: Bearer KEY or as X-Api-Key: KEY.
     MCPROVE_LAB_API_KEYS holds keys too, parted by commas.
     Answers 403 to a Host or Origin that is neither a loopback name nor the
     address that it listens on, unless --public-host accepts it.
  3. Writes a row for every request to the SQLite file of --audit, with what was
     asked, by whom, what came of it and how long it took; `mcprove lab audit`
     looks into the file. Without it rows are in memory, and clients can read
     the latest as the resource lab://audit.
  4. Ends when its client closes stdin, after 500 ms for what is still being
     worked on; when nobody reads its stdout; or with Ctrl-C.
Nothing that it does has an effect outside of it, but for the file of --audit.

";

const KNOBS: &str = "
Exit code: 0 the client left or Ctrl-C; 2 if it cannot start, or if rows of the
audit were lost.
Knobs: --http, --sse, --ws, --public-host, --era, --api-key, --api-keys-file,
       --page-size, --audit, --audit-rows, --conformance-fixtures.
";

/// Arguments of `mcprove lab`.
#[derive(Debug, Args)]
pub struct ServeArguments {
    /// Serve streamable HTTP on this address, at /mcp; port 0 takes any free one
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["sse", "ws"])]
    http: Option<String>,

    /// Serve HTTP+SSE on this address, at /sse; of the handshake era alone
    #[arg(long, value_name = "ADDRESS", conflicts_with = "ws")]
    sse: Option<String>,

    /// Serve WebSocket on this address
    #[arg(long, value_name = "ADDRESS")]
    ws: Option<String>,

    /// Accept this name in Host and Origin, besides loopback names and the address that is listened on; repeatable
    #[arg(long = "public-host", value_name = "NAME")]
    public_hosts: Vec<PublicHost>,

    /// The eras to speak: handshake, stateless or both
    #[arg(long, default_value = "both")]
    era: Eras,

    /// Let in who brings this key, as NAME=KEY or KEY; repeatable
    #[arg(long = "api-key", value_name = "KEY")]
    api_keys: Vec<String>,

    /// Let in who brings a key of this file, one in each line
    #[arg(long, value_name = "FILE")]
    api_keys_file: Option<PathBuf>,

    /// How many tools, resources or prompts a page of their list has [default: all]
    #[arg(long, value_name = "COUNT", value_parser = at_least_one::<NonZero<usize>>)]
    page_size: Option<NonZero<usize>>,

    /// Write a row for every request to this SQLite file; rows that are there stay
    #[arg(long, value_name = "FILE")]
    audit: Option<PathBuf>,

    /// Keep no more than this many rows, the latest [default: all in a file, 10000 in memory]
    #[arg(long, value_name = "COUNT", value_parser = at_least_one::<NonZero<u64>>)]
    audit_rows: Option<NonZero<u64>>,

    /// Have what the official conformance suite names, too
    #[arg(long)]
    conformance_fixtures: bool,

    /// Tell what this command does, and do nothing
    #[arg(long)]
    explain: bool,
}

fn at_least_one<T: FromStr>(text: &str) -> Result<T, String> {
    let number = text.parse();
    number.map_err(|_| "write a whole number from 1 up".to_owned())
}

/// Runs the command.
pub async fn run(arguments: &ServeArguments) -> Result<ExitCode, Failure> {
    if arguments.explain {
        terminal::print(&explanation());
        return Ok(ExitCode::SUCCESS);
    }
    let ServeArguments { http, sse, ws, .. } = arguments;
    let address = serving::address(http.as_ref(), sse.as_ref(), ws.as_ref())?;
    serving::check_public_hosts(&arguments.public_hosts, address.is_some())?;
    let keys_file = arguments.api_keys_file.as_ref();
    let api_keys = keys::read(&arguments.api_keys, keys_file, address.is_some())?;
    let is_open = api_keys.is_empty();
    serving::check_era(sse.as_ref(), arguments.era)?;
    let store = open(arguments.audit.as_ref(), arguments.audit_rows)?;
    let store = Arc::new(store.with_secrets(api_keys.secrets()));
    store.on_loss(|error| {
        terminal::print_error(&format!("warning: {error}; the lab goes on\n"));
    });
    let options = Options {
        eras: arguments.era,
        page_size: arguments.page_size,
        api_keys,
        conformance_fixtures: arguments.conformance_fixtures,
        public_hosts: arguments.public_hosts.clone(),
        audit: Some(Arc::clone(&store)),
    };
    let stop = interrupt::requested();
    let status = match address {
        None => {
            serving::explain_stdio();
            lab::serve(&options, stop).await
        }
        Some((kind, address)) => {
            let listening = lab::listen(&options, kind, address)
                .await
                .map_err(|error| serving::cannot_listen(&error))?;
            serving::report_limits(listening.limits());
            terminal::print_error(&format!("listening on {}\n", listening.url()));
            if is_open && !address.ip().is_loopback() {
                terminal::print_error(
                    "warning: whoever reaches this address is let in; --api-key asks for a key\n",
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

fn open(path: Option<&PathBuf>, rows: Option<NonZero<u64>>) -> Result<AuditStore, Failure> {
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

fn explanation() -> String {
    /// The widest line.
    const COLUMNS: usize = 80;
    /// Where explanations begin.
    const INDENT: usize = 21;
    let mut text = format!("{EXPLANATION}Tools:\n");
    for entry in ENTRIES {
        let mut name = entry.name;
        for line in wrap(entry.explanation, COLUMNS - INDENT, ("", "")).lines() {
            // Writing to a text cannot fail.
            let _ = writeln!(text, "  {name:<WIDTH$}{line}", WIDTH = INDENT - 2);
            name = "";
        }
    }
    text.push_str(KNOBS);
    text
}
