//! The proxies before the servers of one run.

use mcprove_proxy::{Settings, http};
use mcprove_recording::{Origin, Recording};

use super::setup::{Kept, ProxySetup, ProxyTask};
use super::{CommandContext, of_file};
use crate::prelude::*;

/// A proxy before one server.
pub struct Proxy {
    /// The name of the server.
    pub name: String,
    /// How the agent reaches it, as in `mcpServers`.
    pub entry: Value,
    record: PathBuf,
    task: ProxyTask,
}

/// What the proxy of one server wrote down.
pub struct Written {
    pub name: String,
    pub path: PathBuf,
    pub kept: Kept,
}

/// Puts a proxy before each server.
pub async fn start(
    servers: &[&ServerPlan],
    faults: &[FaultSpec],
    context: CommandContext<'_>,
    folder: &Path,
) -> DiagnosticResult<Vec<Proxy>> {
    let mut proxies = Vec::with_capacity(servers.len());
    for (index, plan) in servers.iter().enumerate() {
        let name = &plan.name;
        // Not after the server: its name may be anything.
        let record = folder.join(format!("{index}.jsonl"));
        let (server, mock) = plan.listen(context.environment, context.seed).await?;
        let (entry, task) = if server.transport == Transport::Stdio {
            let setup = folder.join(format!("{index}.json"));
            before_process(name, server, faults, context, &setup, &record).await?
        } else {
            before_address(name, &server, faults, context, &record, mock).await?
        };
        proxies.push(Proxy {
            name: name.clone(),
            entry,
            record,
            task,
        });
    }
    Ok(proxies)
}

async fn before_process(
    name: &str,
    server: Server,
    faults: &[FaultSpec],
    context: CommandContext<'_>,
    setup: &Path,
    record: &Path,
) -> Result<(Value, ProxyTask), Diagnostic> {
    let Some(program) = context.proxy_program else {
        return Err(Diagnostic::new(
            format!("there is no program to run as a proxy in front of the server {name:?}"),
            sentence!("set `proxy_program` of the options to the program `mcprove`"),
        ));
    };
    let mut secrets = context.environment.secrets();
    secrets.extend(server.secrets());
    let shutdown = server.shutdown_timeout.as_millis();
    let told = ProxySetup {
        server_name: name.to_owned(),
        program: server.command,
        args: server.args,
        env: server.env,
        // The proxy starts where the agent does, from where a relative folder would lead elsewhere.
        working_dir: std::path::absolute(server.working_dir.unwrap_or_else(|| ".".into())).ok(),
        shutdown_timeout_ms: shutdown.try_into().unwrap_or(u64::MAX),
        faults: written(faults),
        seed: context.seed,
        record: record.to_owned(),
        secrets: secrets.into_iter().collect(),
    };
    let offered = told.offer(setup).await;
    let offered =
        offered.map_err(|error| of_file("the settings of a proxy cannot be offered", &error))?;
    let entry = json!({ "command": program, "args": ["proxy", "--setup", setup] });
    Ok((entry, offered))
}

async fn before_address(
    name: &str,
    reached: &Server,
    faults: &[FaultSpec],
    context: CommandContext<'_>,
    record: &Path,
    mock: Option<Listening>,
) -> Result<(Value, ProxyTask), Diagnostic> {
    let transport = &reached.transport;
    let is_websocket = matches!(transport, Transport::WebSocket { .. });
    let Some((url, headers)) = transport.address().filter(|_| !is_websocket) else {
        return Err(Diagnostic::new(
            format!("no proxy can stand before the server {name:?}: it speaks WebSocket"),
            "give the server an http:// address, or a command",
        ));
    };
    let mut origin = Origin::new("proxy", name);
    origin.seed = Some(context.seed);
    origin.faults = written(faults);
    let secrets = reached.secrets();
    let redactor = context.environment.redactor().with_secrets(secrets);
    let recording = Recording::create(record, &origin, &redactor);
    let recording =
        recording.map_err(|error| of_file("the recording of a proxy cannot be written", &error))?;
    let settings = Settings {
        server_name: name.to_owned(),
        faults: faults.to_vec(),
        seed: context.seed,
        recording: Some(recording),
        counts_calls: false,
    };
    let headers = headers.clone().into_iter().collect();
    let proxy = http::listen(ANY_PORT, url, headers).await;
    let proxy = proxy.map_err(|error| {
        let message = format!("the proxy of the server {name:?} cannot listen: {error}");
        Diagnostic::new(message, error.hint())
    })?;
    let entry = json!({ "type": transport.name(), "url": proxy.url() });
    let task = ProxyTask::spawn(|stopped| async move {
        let stopped = async {
            // Dropped is stopped too.
            let _ = stopped.await;
        };
        let ended = proxy.run(settings, stopped).await;
        // The mock behind it goes with it.
        drop(mock);
        ended
            .summary
            .recording
            .and_then(|it| it.failure)
            .map_or(Kept::All, Kept::Lost)
    });
    Ok((entry, task))
}

/// Ends the proxies, so that what they wrote down is whole.
pub async fn stop(proxies: Vec<Proxy>) -> Vec<Written> {
    let mut written = Vec::with_capacity(proxies.len());
    for proxy in proxies {
        written.push(Written {
            name: proxy.name,
            path: proxy.record,
            kept: proxy.task.end().await,
        });
    }
    written
}
