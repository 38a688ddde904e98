//! The proxies before the servers of one run.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use mcprove_client::server::{Server, Transport};
use mcprove_fault::FaultSpec;
use mcprove_proxy::{Settings, http};
use mcprove_recording::{Origin, Recording};
use mcprove_servers::mock::{Kind, Listening, Mock, Options};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::setup::{Kept, Offer, ProxySetup};
use super::{CommandError, Ground};
use crate::plan::{Environment, FillError, Reach, ServerPlan};

/// Any free port of this machine.
const ANY_PORT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// A proxy before one server.
pub(super) struct Stand {
    /// The name of the server.
    pub name: String,
    /// How the agent reaches it, as in `mcpServers`.
    pub entry: Value,
    record: PathBuf,
    listening: Option<Proxy>,
    /// Tells the proxies of a process what to do, and hears of their recordings.
    setup: Option<Offer>,
}

/// A proxy that listens in this process.
struct Proxy {
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
pub(super) async fn put_up(
    servers: &[&ServerPlan],
    faults: &[FaultSpec],
    ground: Ground<'_>,
    folder: &Path,
) -> Result<Vec<Stand>, CommandError> {
    let mut stands = Vec::with_capacity(servers.len());
    for (index, plan) in servers.iter().enumerate() {
        // Not after the server: its name may be anything.
        let record = folder.join(format!("{index}.jsonl"));
        let stand = match &plan.reach {
            Reach::Server(server) => {
                let server =
                    filled(server, ground.environment).map_err(|error| CommandError::Unfilled {
                        of: format!("the server {:?}", plan.name),
                        error,
                    })?;
                if server.transport == Transport::Stdio {
                    let setup = folder.join(format!("{index}.json"));
                    before_process(plan, server, faults, ground, (setup, record)).await?
                } else {
                    before_address(plan, &server, faults, ground, record, None).await?
                }
            }
            Reach::Mock {
                spec,
                faults: own_faults,
            } => {
                let options = Options {
                    faults: own_faults.clone(),
                    seed: ground.seed,
                    ..Options::default()
                };
                let server = || plan.name.clone();
                let mock =
                    Mock::new((**spec).clone(), options).map_err(|error| CommandError::Mock {
                        server: server(),
                        error: Box::new(error),
                    })?;
                let listening = mock.listen(Kind::Http, ANY_PORT).await.map_err(|error| {
                    CommandError::MockListen {
                        server: server(),
                        error,
                    }
                })?;
                let server = Server::http(format!("http://{}/mcp", listening.addr));
                before_address(plan, &server, faults, ground, record, Some(listening)).await?
            }
        };
        stands.push(stand);
    }
    Ok(stands)
}

async fn before_process(
    plan: &ServerPlan,
    server: Server,
    faults: &[FaultSpec],
    ground: Ground<'_>,
    (setup, record): (PathBuf, PathBuf),
) -> Result<Stand, CommandError> {
    let Some(program) = ground.proxy_program else {
        return Err(CommandError::NoProxy {
            server: plan.name.clone(),
        });
    };
    let shutdown = server.shutdown_timeout.as_millis();
    let mut secrets = ground.environment.secrets();
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
        seed: ground.seed,
        record: record.clone(),
        secrets: secrets.into_iter().collect(),
    };
    let offered = told.offer(&setup).await;
    let offered = offered.map_err(|source| CommandError::File {
        what: "the settings of a proxy cannot be offered".to_owned(),
        source,
    })?;
    Ok(Stand {
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
    ground: Ground<'_>,
    record: PathBuf,
    mock: Option<Listening>,
) -> Result<Stand, CommandError> {
    let server = || plan.name.clone();
    let transport = &reached.transport;
    let (Transport::Http { url, headers } | Transport::Sse { url, headers }) = transport else {
        return Err(CommandError::WebSocket { server: server() });
    };
    let mut origin = Origin::new("proxy", &plan.name);
    origin.seed = Some(ground.seed);
    origin.faults = faults.iter().map(ToString::to_string).collect();
    let secrets = reached.secrets();
    let redactor = ground.environment.redactor().with_secrets(secrets);
    let recording = Recording::create(&record, &origin, &redactor);
    let recording = recording.map_err(|source| CommandError::File {
        what: "the recording of a proxy cannot be written".to_owned(),
        source,
    })?;
    let settings = Settings {
        server_name: plan.name.clone(),
        faults: faults.to_vec(),
        seed: ground.seed,
        recording: Some(recording),
        counts_calls: false,
    };
    let headers = headers.iter();
    let headers = headers.map(|(name, value)| (name.clone(), value.clone()));
    let proxy = http::listen(ANY_PORT, url, headers.collect(), settings)
        .await
        .map_err(|error| CommandError::Listen {
            server: server(),
            error,
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
    Ok(Stand {
        name: plan.name.clone(),
        entry,
        record,
        listening: Some(Proxy {
            stop,
            task,
            _mock: mock,
        }),
        setup: None,
    })
}

/// Ends the proxies, so that what they wrote down is whole.
pub(super) async fn take_down(stands: Vec<Stand>) -> Vec<Written> {
    let mut written = Vec::with_capacity(stands.len());
    for stand in stands {
        let mut kept = Kept::All;
        if let Some(proxy) = stand.listening {
            let _ = proxy.stop.send(());
            let failure = match proxy.task.await {
                Ok(ended) => ended.summary.recording.and_then(|it| it.failure),
                Err(error) => Some(error.to_string()),
            };
            kept = failure.map_or(kept, Kept::Lost);
        }
        if let Some(setup) = stand.setup {
            kept = setup.end().await;
        }
        let path = stand.record;
        written.push(Written { path, kept });
    }
    written
}

/// The server with the variables in its texts filled in.
fn filled(server: &Server, environment: &Environment) -> Result<Server, FillError> {
    let fill_all = |texts: &mut BTreeMap<String, String>| {
        texts.values_mut().try_for_each(|text| {
            *text = environment.fill(text)?;
            Ok(())
        })
    };
    let mut server = server.clone();
    for argument in &mut server.args {
        *argument = environment.fill(argument)?;
    }
    fill_all(&mut server.env)?;
    if let Transport::Http { url, headers }
    | Transport::Sse { url, headers }
    | Transport::WebSocket { url, headers } = &mut server.transport
    {
        *url = environment.fill(url)?;
        fill_all(headers)?;
    }
    Ok(server)
}
