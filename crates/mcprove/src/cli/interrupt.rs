//! Ctrl-C, SIGTERM and SIGHUP: the first asks the command to finish with what it has, the second
//! ends everything at once. Server processes end either way: with us their supervisors end them.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use crate::{ExitCode, Failure};

/// How long a command may take to write what it has when it is to stop at once.
const WRITING_TIME: Duration = Duration::from_secs(5);

/// Resolves when the user asks to stop. Signals are caught from the call on, not from the first
/// poll: by then a server may run. Call once, within the runtime.
pub fn requested() -> impl Future<Output = ()> {
    let first = Arc::new(Notify::new());
    let asked = Arc::clone(&first);
    let mut signals = Signals::catch();
    tokio::spawn(async move {
        signals.next().await;
        asked.notify_one();
        signals.next().await;
        std::process::exit(i32::from(ExitCode::Interrupted.number()));
    });
    async move { first.notified().await }
}

/// What some work gives, unless the user interrupts it.
pub fn unless_requested<T>(
    work: impl Future<Output = T>,
) -> impl Future<Output = Result<T, Failure>> {
    let work = Box::pin(work);
    async move {
        tokio::select! {
            done = work => Ok(done),
            () = requested() => Err(Failure::interrupted()),
        }
    }
}

/// Resolves at the first and at the second signal; the third ends everything at once, and so does
/// a work that does not end soon after the second.
pub fn requested_twice() -> (impl Future<Output = ()>, impl Future<Output = ()>) {
    let (first, second) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (gently, at_once) = (Arc::clone(&first), Arc::clone(&second));
    let mut signals = Signals::catch();
    tokio::spawn(async move {
        signals.next().await;
        gently.notify_one();
        signals.next().await;
        at_once.notify_one();
        // Writing what there is takes no time, unless the disk hangs.
        let _ = tokio::time::timeout(WRITING_TIME, signals.next()).await;
        std::process::exit(i32::from(ExitCode::Interrupted.number()));
    });
    let wait = |signal: Arc<Notify>| async move { signal.notified().await };
    (wait(first), wait(second))
}

/// The signals that ask to stop; those that cannot be caught are missing.
#[cfg(unix)]
struct Signals(Vec<tokio::signal::unix::Signal>);

#[cfg(unix)]
impl Signals {
    fn catch() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        let kinds = [
            SignalKind::interrupt(),
            SignalKind::terminate(),
            SignalKind::hangup(),
        ];
        Self(
            kinds
                .into_iter()
                .filter_map(|kind| signal(kind).ok())
                .collect(),
        )
    }

    async fn next(&mut self) {
        std::future::poll_fn(|context| {
            // All are polled, so that each can wake us.
            let caught = self.0.iter_mut().map(|signal| signal.poll_recv(context));
            let count = caught.filter(std::task::Poll::is_ready).count();
            if count > 0 {
                std::task::Poll::Ready(())
            } else {
                std::task::Poll::Pending
            }
        })
        .await;
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn catch() -> Self {
        Self
    }

    async fn next(&mut self) {
        let _ = tokio::signal::ctrl_c().await;
    }
}
