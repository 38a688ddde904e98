//! The proxies before the servers of one run.

use mcprove_settings::message::sentence;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use mcprove_client::server::{Server, Transport};
use mcprove_fault::FaultSpec;
use mcprove_proxy::{Settings, http};
use mcprove_recording::{Origin, Recording};
use mcprove_servers::mock::{Kind, Listening};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::setup::{Kept, Offer, ProxySetup};
use super::{CommandContext, of_file};
use crate::error::{SET_VARIABLE, TestError};
use crate::plan::{self, Reach, ServerPlan};

/// Any free port of this machine.
const ANY_PORT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// A proxy before one server.
pub(super) struct Proxy {
    /// The name of the server.
    pub name: String,
    /// How the agent reaches it, as in `mcpServers`.
    pub entry: Value,
    record: PathBuf,
    process: ProxyProcess,
}

/// Where a proxy runs.
enum ProxyProcess {
    /// It listens in this process.
    Own {
        stop: oneshot::Sender<()>,
        task: JoinHandle<http::Ended>,
        /// The mock behind it, which goes when this is dropped.
        _mock: Option<Listening>,
    },
    /// The agent starts it: this tells it what to do, and hears of its recording.
    OfAgent(Offer),
}

/// What the proxy of one server wrote down.
pub(super) struct Written {
    pub path: PathBuf,
    pub kept: Kept,
}

/// Puts a proxy before each server.
pub(super) async fn start(
    servers: &[&ServerPlan],
    faults: &[FaultSpec],
    context: CommandContext<'_>,
    folder: &Path,
) -> Result<Vec<Proxy>, TestError> {
    let mut proxies = Vec::with_capacity(servers.len());
    for (index, plan) in servers.iter().enumerate() {
        let name = &plan.name;
        // Not after the server: its name may be anything.
        let record = folder.join(format!("{index}.jsonl"));
        let (server, mock) = match &plan.reach {
            Reach::Server(server) => {
                let filled = context.environment.fill_server(server);
                let server = filled.map_err(|error| {
                    TestError::new(format!("the server {name:?}: {error}"), SET_VARIABLE)
                })?;
                (server, None)
            }
            Reach::Mock { spec, faults } => {
                let mock = plan::mock((**spec).clone(), faults, context.seed);
                let mock = mock.map_err(|error| {
                    TestError::new(
                        format!("the mock {name:?} cannot be made: {error}"),
                        sentence!("check the tools of the mock with `mcprove validate`"),
                    )
                })?;
                let listening = mock.listen(Kind::Http, ANY_PORT).await.map_err(|error| {
                    TestError::new(
                        format!("the mock {name:?} cannot be reached: {error}"),
                        "check that 127.0.0.1 can be listened on",
                    )
                })?;
                let url = format!("http://{}/mcp", listening.addr);
                (Server::http(url), Some(listening))
            }
        };
        let (entry, process) = if server.transport == Transport::Stdio {
            let setup = folder.join(format!("{index}.json"));
            before_process(name, server, faults, context, &setup, &record).await?
        } else {
            before_address(name, &server, faults, context, &record, mock).await?
        };
        proxies.push(Proxy {
            name: name.clone(),
            entry,
            record,
            process,
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
) -> Result<(Value, ProxyProcess), TestError> {
    let Some(program) = context.proxy_program else {
        return Err(TestError::new(
            format!("there is no program that could stand before the server {name:?} as a proxy"),
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
        faults: faults.iter().map(ToString::to_string).collect(),
        seed: context.seed,
        record: record.to_owned(),
        secrets: secrets.into_iter().collect(),
    };
    let offered = told.offer(setup).await;
    let offered =
        offered.map_err(|error| of_file("the settings of a proxy cannot be offered", &error))?;
    let entry = json!({ "command": program, "args": ["proxy", "--setup", setup] });
    Ok((entry, ProxyProcess::OfAgent(offered)))
}

async fn before_address(
    name: &str,
    reached: &Server,
    faults: &[FaultSpec],
    context: CommandContext<'_>,
    record: &Path,
    mock: Option<Listening>,
) -> Result<(Value, ProxyProcess), TestError> {
    let transport = &reached.transport;
    let is_websocket = matches!(transport, Transport::WebSocket { .. });
    let Some((url, headers)) = transport.address().filter(|_| !is_websocket) else {
        return Err(TestError::new(
            format!("no proxy can stand before the server {name:?}: it speaks WebSocket"),
            "give the server an http:// address, or a command",
        ));
    };
    let mut origin = Origin::new("proxy", name);
    origin.seed = Some(context.seed);
    origin.faults = faults.iter().map(ToString::to_string).collect();
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
    let proxy = http::listen(ANY_PORT, url, headers, settings).await;
    let proxy = proxy.map_err(|error| {
        let message = format!("the proxy of the server {name:?} cannot listen: {error}");
        TestError::new(message, error.hint())
    })?;
    let entry = json!({ "type": transport.name(), "url": proxy.url() });
    let (stop, stopped) = oneshot::channel();
    let task = tokio::spawn(proxy.run(async move {
        // Dropped is stopped too.
        let _ = stopped.await;
    }));
    let process = ProxyProcess::Own {
        stop,
        task,
        _mock: mock,
    };
    Ok((entry, process))
}

/// Ends the proxies, so that what they wrote down is whole.
pub(super) async fn stop(proxies: Vec<Proxy>) -> Vec<Written> {
    let mut written = Vec::with_capacity(proxies.len());
    for proxy in proxies {
        let kept = match proxy.process {
            ProxyProcess::OfAgent(offer) => offer.end().await,
            ProxyProcess::Own { stop, task, _mock } => {
                let _ = stop.send(());
                let failure = match task.await {
                    Ok(ended) => ended.summary.recording.and_then(|it| it.failure),
                    Err(error) => Some(error.to_string()),
                };
                failure.map_or(Kept::All, Kept::Lost)
            }
        };
        let path = proxy.record;
        written.push(Written { path, kept });
    }
    written
}
