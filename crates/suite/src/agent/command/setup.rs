//! What a proxy is told that an agent starts. It holds the server's secrets, so it is in no file: the file that the
//! agent's configuration names has an address and a token, and whoever brings the token is told. Clients that pass no
//! environment on make no difference.
//!
//! The connection stays open: over it the proxy reports that it records, and at once what it cannot write. A
//! full disk cannot keep that back, and a kill closes the connection.

use std::io::Write as _;

use mcprove_load::run::draw;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};

use crate::prelude::*;

/// How long the other side may take to say what it has to.
const PATIENCE: Duration = Duration::from_secs(10);
/// How many proxies of one server may run at once.
const CALLERS_MAX: usize = 256;
/// No setup is larger.
const SETUP_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// How much of what a proxy reports is read.
const REPORT_BYTES_MAX: u64 = 64 * 1024;
/// The first line of a report: from here on each line is in the file before its message is passed on.
const BEGUN: &str = "begun";
/// How a line begins that gives the reason of a loss.
const LOST: &str = "lost ";

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
    /// Asks the one who wrote the file, who is to be told of the recording in turn.
    pub async fn fetch(file: &Path) -> io::Result<(Self, RecordingReport)> {
        let place: Place = serde_json::from_slice(&std::fs::read(file)?)?;
        let told = async {
            let mut stream = TcpStream::connect(place.address).await?;
            stream.write_all(place.token.as_bytes()).await?;
            let mut text = Vec::new();
            let mut reading = (&mut stream).take(SETUP_BYTES_MAX);
            reading.read_to_end(&mut text).await?;
            let setup = serde_json::from_slice(&text)?;
            Ok((setup, RecordingReport(stream.into_std()?)))
        };
        timeout(PATIENCE, told).await?
    }

    /// Writes the file, and tells whoever brings its token until the offer ends.
    pub async fn offer(&self, file: &Path) -> io::Result<ProxyTask> {
        let listener = TcpListener::bind(ANY_PORT).await?;
        let place = Place {
            address: listener.local_addr()?,
            token: format!("{:016x}{:016x}", draw(), draw()),
        };
        write_private(file, serde_json::to_vec(&place)?)?;
        let told = (place.token.into_bytes(), serde_json::to_vec(self)?);
        Ok(ProxyTask::spawn(|stopped| {
            serve(listener, Arc::new(told), stopped)
        }))
    }
}

/// What a proxy reports of its recording to the suite that it stands before a server for.
#[derive(Debug)]
pub struct RecordingReport(std::net::TcpStream);

impl RecordingReport {
    /// The recording is there, and each line is written before its message is passed on.
    pub fn begun(&self) {
        self.say(BEGUN);
    }

    /// Something cannot be written, for this reason.
    pub fn lost(&self, reason: &str) {
        self.say(&format!("{LOST}{}", reason.replace('\n', " ")));
    }

    fn say(&self, line: &str) {
        // Who hears nothing takes the recording for lost.
        let _ = (&self.0).write_all(format!("{line}\n").as_bytes());
    }
}

/// What this process does for a proxy, until it is told to stop, or this is dropped.
pub struct ProxyTask {
    stop: oneshot::Sender<()>,
    task: JoinHandle<Kept>,
}

impl ProxyTask {
    /// Begins what ends soon after it is told to.
    pub fn spawn<Work>(work: impl FnOnce(oneshot::Receiver<()>) -> Work) -> Self
    where
        Work: Future<Output = Kept> + Send + 'static,
    {
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(work(stopped));
        Self { stop, task }
    }

    /// Ends it, and says what was kept. A proxy that the agent started is to be ended before.
    pub async fn end(self) -> Kept {
        let _ = self.stop.send(());
        self.task
            .await
            .unwrap_or_else(|error| Kept::Lost(error.to_string()))
    }
}

/// Whether a recording has all that passed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kept {
    /// It has, or nothing passed.
    All,
    /// A proxy ended before it could record, so that nothing passed.
    Unbegun,
    /// Something is missing, for this reason.
    Lost(String),
}

async fn serve(
    listener: TcpListener,
    told: Arc<(Vec<u8>, Vec<u8>)>,
    mut stopped: oneshot::Receiver<()>,
) -> Kept {
    let mut callers = JoinSet::new();
    let mut kept = Kept::All;
    loop {
        tokio::select! {
            _ = &mut stopped => break,
            Some(one) = callers.join_next() => kept = kept.max(one.unwrap_or(Kept::Unbegun)),
            accepted = listener.accept(), if callers.len() < CALLERS_MAX => match accepted {
                Ok((stream, _)) => {
                    callers.spawn(tell(stream, Arc::clone(&told)));
                }
                // Out of descriptors: the next one may have more luck.
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            },
        }
    }
    let rest = timeout(PATIENCE, callers.join_all())
        .await
        .unwrap_or_else(|_| vec![Kept::Lost("its proxy did not end".to_owned())]);
    rest.into_iter().fold(kept, Kept::max)
}

/// Tells one caller, and hears what it reports until its end.
async fn tell(mut stream: TcpStream, told: Arc<(Vec<u8>, Vec<u8>)>) -> Kept {
    let (token, setup) = &*told;
    let telling = async {
        let mut given = vec![0; token.len()];
        stream.read_exact(&mut given).await?;
        if given != *token {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        stream.write_all(setup).await?;
        stream.shutdown().await
    };
    if !matches!(timeout(PATIENCE, telling).await, Ok(Ok(()))) {
        // Without a setup nothing passes.
        return Kept::All;
    }
    let mut report = Vec::new();
    // A process that is killed may reset the connection.
    let _ = stream.take(REPORT_BYTES_MAX).read_to_end(&mut report).await;
    let report = String::from_utf8_lossy(&report);
    let lost = report.lines().find_map(|line| line.strip_prefix(LOST));
    match lost {
        Some(reason) => Kept::Lost(reason.to_owned()),
        None if report.lines().next() == Some(BEGUN) => Kept::All,
        None => Kept::Unbegun,
    }
}
