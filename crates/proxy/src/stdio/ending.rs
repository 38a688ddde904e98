//! How long things pass, and how what is still open ends.

use super::prelude::*;

/// How long the output of a server that has exited may be silent before it counts as over: something else
/// may hold it open. Also, how long a server whose output is over may take to exit before it counts as one
/// that only hung up.
const EXIT_WAIT: Duration = Duration::from_secs(1);

/// Why nothing passes any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The client closed its end, and the server, which owed no answers, took too long over that.
    ClientLeft,
    /// The server closed its end.
    ServerLeft,
    /// The server's process ended.
    ServerExited,
    Stopped,
    Disconnected,
    Crashed,
}

/// Both directions, until both sides have ended theirs, or the server is gone.
pub async fn both(
    upwards: impl Future<Output = ()>,
    downwards: impl Future<Output = ()>,
    exited: impl Future<Output = ()>,
    (flow, patience): (&Flow, Duration),
) -> End {
    let mut downwards = std::pin::pin!(downwards);
    let mut exited = std::pin::pin!(exited);
    let mut upwards = std::pin::pin!(upwards);
    tokio::select! {
        () = &mut downwards => {
            // A server that says nothing more may still listen.
            tokio::select! {
                () = upwards => {}
                () = &mut exited => return End::ServerExited,
            }
            return left_or_exited(exited).await;
        }
        () = &mut upwards => tokio::select! {
            () = &mut downwards => return left_or_exited(exited).await,
            () = flow.silence(patience, true) => return End::ClientLeft,
            () = &mut exited => {}
        },
        () = &mut exited => {}
    }
    // What it wrote last is still in the pipe, however late the client takes it.
    tokio::select! {
        () = downwards => {}
        () = flow.silence(EXIT_WAIT, false) => {}
    }
    End::ServerExited
}

/// Whether a server whose output is over ends too.
async fn left_or_exited(exited: impl Future<Output = ()>) -> End {
    match tokio::time::timeout(EXIT_WAIT, exited).await {
        Ok(()) => End::ServerExited,
        Err(_) => End::ServerLeft,
    }
}

impl End {
    /// Ends what is still open, as what it ended with.
    pub fn conclude(self, watch: &Watch) {
        let (category, message) = match self {
            Self::ServerExited => (ErrorCategory::Crash, "the server exited"),
            Self::Crashed => (ErrorCategory::Crash, "the server was ended by a fault"),
            Self::ServerLeft => (
                ErrorCategory::Disconnected,
                "the server closed its output before it answered",
            ),
            Self::Disconnected => (
                ErrorCategory::Disconnected,
                "the connection was closed by a fault",
            ),
            Self::ClientLeft | Self::Stopped => {
                watch.end_open(RecordedRequest::cancel);
                return;
            }
        };
        if matches!(self, Self::Crashed | Self::Disconnected) {
            watch.journal.ended_by_fault();
        }
        watch.end_open(|recorded| {
            if !recorded.has_ended() {
                recorded.fail(category, message);
            }
        });
    }
}
