//! A proxy between a client on a pair of streams and a server that it starts.
//!
//! Every byte passes as it is, in both directions, unless a fault strikes the call that it belongs to:
//! invalid JSON, blank lines, a last line without a line break. Answers are matched with calls by id, in
//! each direction by itself. Batches pass untouched.

mod ending;
mod ends;
mod flow;
mod hub;
mod lane;
mod outline;
mod prelude;
mod pump;

#[cfg(test)]
mod tests;

use std::process::ExitStatus;

use mcprove_client::process::{Child, SpawnError, StderrLog, Tee};
use mcprove_client::server::Server;
use tokio::process::{ChildStdin, ChildStdout};

use self::prelude::*;

pub use ends::{standard_input, standard_output};

/// How much is copied at once where nobody looks.
const COPY_BYTES: usize = 64 * 1024;
/// How long a server that was asked to end may take, if it is the user who asked.
const STOP_PATIENCE: Duration = Duration::from_millis(500);

/// A server that was started, and waits for its client.
pub struct Started {
    child: Child,
    streams: (ChildStdout, ChildStdin),
    target: String,
    patience: Duration,
}

/// Starts `server`. What it writes to stderr goes to `on_stderr`.
pub async fn start(server: &Server, on_stderr: Tee) -> Result<Started, SpawnError> {
    let stderr = Arc::new(StderrLog::new().with_raw_tee(on_stderr));
    let (child, stdin, stdout) = Child::spawn(server, stderr).await?;
    Ok(Started {
        child,
        streams: (stdout, stdin),
        target: server.describe(),
        patience: server.shutdown_timeout,
    })
}

impl Started {
    /// Stands between the server and the client at `input` and `output`, until one of them ends, or `stop`
    /// resolves.
    pub async fn run(
        self,
        settings: Settings,
        client: (
            impl AsyncRead + Send + Unpin,
            impl AsyncWrite + Send + Unpin + 'static,
        ),
        stop: impl Future<Output = ()>,
    ) -> Ended {
        let Self {
            child,
            streams,
            target,
            patience,
        } = self;
        let watch = Watch::new(settings);
        let has_client_left = AtomicBool::default();
        let outside = Outside {
            stop,
            exited: async {
                child.wait().await;
            },
            patience,
        };
        let end = relay(&watch, &has_client_left, client, streams, outside).await;
        if end == End::Crashed {
            child.kill_now();
        }
        let patience = match end {
            End::ServerLeft | End::ServerExited => patience,
            // It had its time, or nobody waits for it.
            End::ClientLeft | End::Stopped | End::Disconnected | End::Crashed => STOP_PATIENCE,
        };
        let closing = child.stop(patience).await;
        let crash = crash(end, closing.exit).filter(|_| !has_client_left.into_inner());
        if let (Some(recording), Some(how)) = (&watch.settings.recording, crash) {
            recording.crashed(&how);
        }
        Ended {
            summary: ProxySummary::new(&target, &watch),
            status: if end == End::Crashed {
                CRASHED
            } else {
                status(closing.exit)
            },
            was_stopped: end == End::Stopped,
        }
    }

    /// Ends the server, of which nobody wants anything.
    pub async fn give_up(self) {
        drop(self.streams);
        self.child.stop(STOP_PATIENCE).await;
    }
}

/// How the server crashed: it ended with a status other than 0, or by a fault.
fn crash(end: End, exit: Option<ExitStatus>) -> Option<String> {
    match (end, exit) {
        (End::Crashed, _) => Some("the server was ended by a fault".to_owned()),
        (End::ServerExited, Some(exit)) if !exit.success() => {
            Some(format!("the server process ended: {exit}"))
        }
        _ => None,
    }
}

/// What else decides how long things pass.
struct Outside<S, E> {
    /// Resolves when it is to stop.
    stop: S,
    /// Resolves when the server's process has ended.
    exited: E,
    /// How long the server may take to end once the client has left and it owes no answers.
    patience: Duration,
}

/// Passes everything between two pairs of streams until one of them ends, or something else does.
async fn relay(
    watch: &Arc<Watch>,
    has_client_left: &AtomicBool,
    (mut input, output): (
        impl AsyncRead + Send + Unpin,
        impl AsyncWrite + Send + Unpin + 'static,
    ),
    (server_output, server_input): (
        impl AsyncRead + Send + Unpin,
        impl AsyncWrite + Send + Unpin + 'static,
    ),
    outside: Outside<impl Future<Output = ()>, impl Future<Output = ()>>,
) -> End {
    let Outside {
        stop,
        exited,
        patience,
    } = outside;
    let flow = Arc::new(Flow::default());
    let server_input = Scanned::new(server_input, &flow);
    let mut server_output = Scanned::new(server_output, &flow);
    if watch.is_idle() {
        let upwards = copy(input, server_input, &watch.count.to_server);
        let downwards = copy(server_output, output, &watch.count.to_client);
        return tokio::select! {
            end = both(upwards, downwards, exited, (&flow, patience)) => end,
            () = stop => End::Stopped,
        };
    }
    let hub = Hub::new(
        Arc::clone(watch),
        Lane::new(Box::new(server_input), &watch.count.to_server),
        Lane::new(Box::new(output), &watch.count.to_client),
    );
    // The server is gone: it died if its client is still there.
    let note_death = || {
        if !has_client_left.load(Ordering::Relaxed) {
            watch.journal.server_died();
        }
    };
    let end = {
        let upwards = async {
            pump(&mut input, &hub, Peer::Client).await;
            has_client_left.store(true, Ordering::Relaxed);
            hub.client_left().await;
            hub.to_server.close().await;
        };
        let downwards = async {
            pump(&mut server_output, &hub, Peer::Server).await;
            // Now, for the client may leave while what is still under way ends.
            note_death();
            hub.server_left().await;
            hub.to_client.close().await;
        };
        tokio::select! {
            end = both(upwards, downwards, exited, (&flow, patience)) => end,
            () = stop => End::Stopped,
            end = hub.end.wait() => *end,
        }
    };
    hub.to_client.close().await;
    if end == End::Stopped
        && let Some(session) = &hub.session.recorded
    {
        session.left();
    }
    if end == End::ServerExited {
        note_death();
    }
    end.conclude(watch);
    hub.to_server.close().await;
    end
}

/// Copies bytes until `from` ends. What nobody takes any more is read all the same.
async fn copy(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, count: &Count) {
    let mut buffer = vec![0; COPY_BYTES];
    let mut is_taken = true;
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        let bytes = buffer.get(..length).unwrap_or_default();
        if is_taken {
            is_taken = to.write_all(bytes).await.is_ok() && to.flush().await.is_ok();
            count_lines(count, bytes);
        }
    }
    let _ = to.shutdown().await;
}

/// The status of a process as a shell tells it.
fn status(exit: Option<ExitStatus>) -> u8 {
    let Some(exit) = exit else { return 1 };
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt;
        if let Some(signal) = exit.signal() {
            return u8::try_from(signal).map_or(1, |signal| signal.saturating_add(128));
        }
    }
    exit.code()
        .map_or(1, |code| u8::try_from(code & 0xff).unwrap_or(1))
}
