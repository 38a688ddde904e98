//! What a proxy is told that an agent starts. It holds the server's secrets, so it is in no file: the file that the
//! agent's configuration names has an address and a token, and whoever brings the token is told. Clients that pass no
//! environment on make no difference.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::run::draw;
use crate::whole_file::write_private;

/// How long the other side may take to say what it has to.
const PATIENCE: Duration = Duration::from_secs(10);
/// How many may ask at once.
const CALLERS_MAX: usize = 64;
/// No setup is larger.
const SETUP_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// What `mcprove proxy --setup FILE` is told.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProxySetup {
    /// The name of the server, at which faults can be aimed.
    pub server_name: String,
    /// The program of the server.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables added to the environment.
    pub env: BTreeMap<String, String>,
    /// The folder that it starts in.
    pub working_dir: Option<PathBuf>,
    /// How long it may take to exit, in milliseconds.
    pub shutdown_timeout_ms: u64,
    /// The faults, as after `--fault`.
    pub faults: Vec<String>,
    /// What decides for faults that have no seed of their own.
    pub seed: u64,
    /// Where the traffic is written down; what is there is gone on with.
    pub record: PathBuf,
    /// What must not be written down.
    pub secrets: Vec<String>,
}

impl fmt::Debug for ProxySetup {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ProxySetup")
            .field("server_name", &self.server_name)
            .finish_non_exhaustive()
    }
}

/// What the file has.
#[derive(Serialize, Deserialize)]
struct Place {
    address: SocketAddr,
    token: String,
}

impl ProxySetup {
    /// Asks the one who wrote the file.
    pub async fn fetch(file: &Path) -> io::Result<Self> {
        let place: Place = serde_json::from_slice(&std::fs::read(file)?)?;
        let told = async {
            let mut stream = TcpStream::connect(place.address).await?;
            stream.write_all(place.token.as_bytes()).await?;
            let mut text = Vec::new();
            stream.take(SETUP_BYTES_MAX).read_to_end(&mut text).await?;
            Ok(serde_json::from_slice(&text)?)
        };
        tokio::time::timeout(PATIENCE, told).await?
    }

    /// Writes the file, and tells whoever brings its token until what is returned is dropped.
    pub(super) async fn offer(&self, file: &Path) -> io::Result<JoinSet<()>> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let place = Place {
            address: listener.local_addr()?,
            token: format!("{:016x}{:016x}", draw(), draw()),
        };
        write_private(file, serde_json::to_vec(&place)?)?;
        let told = Arc::new((place.token.into_bytes(), serde_json::to_vec(self)?));
        let room = Arc::new(tokio::sync::Semaphore::new(CALLERS_MAX));
        let mut task = JoinSet::new();
        task.spawn(async move {
            while let Ok(place) = Arc::clone(&room).acquire_owned().await {
                // Out of descriptors: the next one may have more luck.
                let Ok((stream, _)) = listener.accept().await else {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                };
                let told = Arc::clone(&told);
                tokio::spawn(async move {
                    let _place = place;
                    let _ = tokio::time::timeout(PATIENCE, tell(stream, &told)).await;
                });
            }
        });
        Ok(task)
    }
}

async fn tell(mut stream: TcpStream, told: &(Vec<u8>, Vec<u8>)) -> io::Result<()> {
    let (token, setup) = told;
    let mut given = vec![0; token.len()];
    stream.read_exact(&mut given).await?;
    if given == *token {
        stream.write_all(setup).await?;
    }
    stream.shutdown().await
}
