//! The proxies before the servers of one run.

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
    listening: Option<ListeningProxy>,
    /// Tells the proxies of a process what to do, and hears of their recordings.
    setup: Option<Offer>,
}

/// A proxy that listens in this process.
struct ListeningProxy {
    stop: oneshot::Sender<()>,
    task: JoinHandle<http::Ended>,
    /// The mock behind it, which goes when this is dropped.
    _mock: Option<Listening>,
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
        // Not after the server: its name may be anything.
        let record = folder.join(format!("{index}.jsonl"));
        let started = match &plan.reach {
            Reach::Server(server) => {
                let server = context.environment.fill_server(server).map_err(|error| {
                    let message = format!("the server {:?}: {error}", plan.name);
                    TestError::new(message, SET_VARIABLE)
                })?;
                if server.transport == Transport::Stdio {
                    let setup = folder.join(format!("{index}.json"));
                    before_process(plan, server, faults, context, (setup, record)).await?
                } else {
                    before_address(plan, &server, faults, context, record, None).await?
                }
            }
            Reach::Mock {
                spec,
                faults: own_faults,
            } => {
                let mock =
                    plan::mock((**spec).clone(), own_faults, context.seed).map_err(|error| {
                        TestError::new(
                            format!("the mock {:?} cannot be made: {error}", plan.name),
                            "check the tools of the mock with `mcprove validate`",
                        )
                    })?;
                let listening = mock.listen(Kind::Http, ANY_PORT).await.map_err(|error| {
                    TestError::new(
                        format!("the mock {:?} cannot be reached: {error}", plan.name),
                        "check that 127.0.0.1 can be listened on",
                    )
                })?;
                let server = Server::http(format!("http://{}/mcp", listening.addr));
                before_address(plan, &server, faults, context, record, Some(listening)).await?
            }
        };
        proxies.push(started);
    }
    Ok(proxies)
}

async fn before_process(
    plan: &ServerPlan,
    server: Server,
    faults: &[FaultSpec],
    context: CommandContext<'_>,
    (setup, record): (PathBuf, PathBuf),
) -> Result<Proxy, TestError> {
    let Some(program) = context.proxy_program else {
        return Err(TestError::new(
            format!(
                "there is no program that could stand before the server {:?} as a proxy",
                plan.name
            ),
            "set `proxy_program` of the options to the program `mcprove`",
        ));
    };
    let shutdown = server.shutdown_timeout.as_millis();
    let mut secrets = context.environment.secrets();
    secrets.extend(server.secrets());
    let told = ProxySetup {
        server_name: plan.name.clone(),
        program: server.command,
        args: server.args,
        env: server.env,
        // The proxy starts where the agent does, from where a relative folder would lead elsewhere.
        working_dir: std::path::absolute(server.working_dir.unwrap_or_else(|| ".".into())).ok(),
        shutdown_timeout_ms: u64::try_from(shutdown).unwrap_or(u64::MAX),
        faults: faults.iter().map(ToString::to_string).collect(),
        seed: context.seed,
        record: record.clone(),
        secrets: secrets.into_iter().collect(),
    };
    let offered = told.offer(&setup).await;
    let offered =
        offered.map_err(|error| of_file("the settings of a proxy cannot be offered", &error))?;
    Ok(Proxy {
        name: plan.name.clone(),
        entry: json!({ "command": program, "args": ["proxy", "--setup", setup] }),
        record,
        listening: None,
        setup: Some(offered),
    })
}

async fn before_address(
    plan: &ServerPlan,
    reached: &Server,
    faults: &[FaultSpec],
    context: CommandContext<'_>,
    record: PathBuf,
    mock: Option<Listening>,
) -> Result<Proxy, TestError> {
    let transport = &reached.transport;
    let (Transport::Http { url, headers } | Transport::Sse { url, headers }) = transport else {
        return Err(TestError::new(
            format!(
                "no proxy can stand before the server {:?}: it speaks WebSocket",
                plan.name
            ),
            "give the server an http:// address, or a command",
        ));
    };
    let mut origin = Origin::new("proxy", &plan.name);
    origin.seed = Some(context.seed);
    origin.faults = faults.iter().map(ToString::to_string).collect();
    let secrets = reached.secrets();
    let redactor = context.environment.redactor().with_secrets(secrets);
    let recording = Recording::create(&record, &origin, &redactor);
    let recording =
        recording.map_err(|error| of_file("the recording of a proxy cannot be written", &error))?;
    let settings = Settings {
        server_name: plan.name.clone(),
        faults: faults.to_vec(),
        seed: context.seed,
        recording: Some(recording),
        counts_calls: false,
    };
    let headers = headers.clone().into_iter().collect();
    let proxy = http::listen(ANY_PORT, url, headers, settings)
        .await
        .map_err(|error| {
            let name = &plan.name;
            let message = format!("the proxy of the server {name:?} cannot listen: {error}");
            TestError::new(message, error.hint())
        })?;
    let kind = match transport {
        Transport::Sse { .. } => "sse",
        _ => "http",
    };
    let entry = json!({ "type": kind, "url": proxy.url() });
    let (stop, stopped) = oneshot::channel();
    let task = tokio::spawn(proxy.run(async move {
        // Dropped is stopped too.
        let _ = stopped.await;
    }));
    Ok(Proxy {
        name: plan.name.clone(),
        entry,
        record,
        listening: Some(ListeningProxy {
            stop,
            task,
            _mock: mock,
        }),
        setup: None,
    })
}

/// Ends the proxies, so that what they wrote down is whole.
pub(super) async fn stop(proxies: Vec<Proxy>) -> Vec<Written> {
    let mut written = Vec::with_capacity(proxies.len());
    for started in proxies {
        let mut kept = Kept::All;
        if let Some(proxy) = started.listening {
            let _ = proxy.stop.send(());
            let failure = match proxy.task.await {
                Ok(ended) => ended.summary.recording.and_then(|it| it.failure),
                Err(error) => Some(error.to_string()),
            };
            kept = failure.map_or(kept, Kept::Lost);
        }
        if let Some(setup) = started.setup {
            kept = setup.end().await;
        }
        let path = started.record;
        written.push(Written { path, kept });
    }
    written
}
