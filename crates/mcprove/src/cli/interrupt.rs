//! Ctrl-C, SIGTERM and SIGHUP: the first asks the command to finish with what it has, the second
//! ends everything at once. Server processes end either way: with us their supervisors end them.

use std::future::Future;

use tokio::sync::Notify;

use crate::prelude::*;

/// How long a command may take to write what it has when it is to stop at once.
const WRITING_TIME: Duration = Duration::from_secs(5);

/// Resolves when the user asks to stop; the second signal ends everything at once. Signals are caught from the call on,
/// not from the first poll: by then a server may run. Call once, within the runtime.
pub fn requested() -> impl Future<Output = ()> {
    let [first] = signalled(Duration::MAX);
    first
}

/// What some work gives, unless the user interrupts it.
pub fn unless_requested<T>(work: impl Future<Output = T>) -> impl Future<Output = Result<T>> {
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
pub fn requested_twice() -> [impl Future<Output = ()>; 2] {
    // Writing what there is takes no time, unless the disk hangs.
    signalled(WRITING_TIME)
}

/// Resolve one after the other, each at the next signal. Everything ends at the one after them, or when it does not come
/// for so long.
fn signalled<const COUNT: usize>(patience: Duration) -> [impl Future<Output = ()>; COUNT] {
    let waiting: [Arc<Notify>; COUNT] = std::array::from_fn(|_| Arc::default());
    let asked = waiting.clone();
    let mut signals = Signals::catch();
    tokio::spawn(async move {
        for signal in asked {
            signals.next().await;
            signal.notify_one();
        }
        let _ = tokio::time::timeout(patience, signals.next()).await;
        std::process::exit(i32::from(ExitCode::Interrupted.number()));
    });
    waiting.map(|signal| async move { signal.notified().await })
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
        Self(kinds.into_iter().flat_map(signal).collect())
    }

    async fn next(&mut self) {
        use std::task::Poll;
        std::future::poll_fn(|context| {
            // All are polled, so that each can wake us.
            let caught = self.0.iter_mut().map(|signal| signal.poll_recv(context));
            match caught.filter(Poll::is_ready).count() {
                0 => Poll::Pending,
                _ => Poll::Ready(()),
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
