//! Lines of JSON on the standard streams of a child process.

use std::process::ExitStatus;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mcprove_trace::{BoxFuture, ErrorCategory};
use tokio::task::JoinHandle;

use super::lines::{Outbox, read_lines};
use super::{Channel, ChannelOptions, Closing, Detail, Failure, Inbox, Outgoing, SendError};
use crate::process::{Child, SpawnError, StderrLog};
use crate::server::Server;

/// How long a process whose stdout ended may take to exit, before it counts as still running.
const EXIT_WAIT: Duration = Duration::from_millis(500);

/// A channel to a child process.
pub struct StdioChannel {
    child: Arc<Child>,
    outbox: Arc<Outbox>,
    stderr: Arc<StderrLog>,
    shutdown_timeout: Duration,
    tasks: Mutex<Vec<JoinHandle<()>>>,
}

impl StdioChannel {
    /// Starts the server's process.
    pub async fn open(
        server: &Server,
        options: &ChannelOptions,
        inbox: Arc<dyn Inbox>,
    ) -> Result<Arc<Self>, SpawnError> {
        let redactor = options.redactor.clone();
        let redactor = redactor.unwrap_or_else(|| server.redactor());
        let mut log = StderrLog::new()
            .with_redactor(redactor)
            .with_losses(options.losses.clone());
        if let Some(path) = &options.stderr_file {
            log = log.with_file(path).map_err(|source| SpawnError::LogFile {
                path: path.clone(),
                source,
            })?;
        }
        if let Some(tee) = &options.on_stderr {
            log = log.with_tee(Arc::clone(tee));
        }
        let stderr = Arc::new(log);
        let (child, stdin, stdout) = Child::spawn(server, Arc::clone(&stderr)).await?;
        let child = Arc::new(child);
        let outbox = Outbox::new();
        let writer = tokio::spawn(Arc::clone(&outbox).write_to(stdin));
        let max_frame = options.max_frame;
        let reader = tokio::spawn({
            let (child, outbox) = (Arc::clone(&child), Arc::clone(&outbox));
            async move {
                let unfinished = read_lines(stdout, max_frame, inbox.as_ref()).await;
                let exit = tokio::time::timeout(EXIT_WAIT, child.wait()).await.ok();
                let failure = describe_end(exit).of_limit(child.lost_supervisor());
                outbox.close(failure.clone());
                if let Some(unfinished) = unfinished {
                    inbox.fail(None, unfinished);
                }
                inbox.closed(failure);
            }
        });
        Ok(Arc::new(Self {
            child,
            outbox,
            stderr,
            shutdown_timeout: server.shutdown_timeout,
            tasks: Mutex::new(vec![writer, reader]),
        }))
    }
}

/// Gives a task a moment to end by itself.
async fn finish(task: Option<JoinHandle<()>>) {
    if let Some(mut task) = task
        && tokio::time::timeout(EXIT_WAIT, &mut task).await.is_err()
    {
        task.abort();
    }
}

/// Why a process's stdout ended.
fn describe_end(exit: Option<ExitStatus>) -> Failure {
    match exit {
        None => Failure::new(
            ErrorCategory::Disconnected,
            "the server closed its stdout, but its process is still running",
        ),
        Some(status) if status.success() => Failure::new(
            ErrorCategory::Disconnected,
            "the server process exited with status 0",
        )
        .with(Detail::Exit(Some(0))),
        Some(status) => Failure::new(
            ErrorCategory::Crash,
            format!("the server process ended: {status}"),
        )
        .with(Detail::Exit(status.code())),
    }
}

impl Channel for StdioChannel {
    fn name(&self) -> &'static str {
        "stdio"
    }

    fn send(&self, message: Outgoing<'_>) -> Result<(), SendError> {
        self.outbox.push(message.bytes)
    }

    fn room(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.outbox.room())
    }

    fn process(&self) -> Option<u32> {
        Some(self.child.pid())
    }

    fn kill(&self) {
        self.child.kill_now();
    }

    fn leftovers(&self) -> Vec<u32> {
        self.child.leftovers()
    }

    fn stderr_tail(&self) -> String {
        self.stderr.tail()
    }

    fn sever(&self) {
        self.outbox.close(Failure::new(
            ErrorCategory::Cancelled,
            "the connection was dropped",
        ));
        // Each task owns one end of a pipe.
        for task in self
            .tasks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .drain(..)
        {
            task.abort();
        }
    }

    fn close(&self) -> BoxFuture<'_, Closing> {
        Box::pin(async {
            // The writer ends when everything is written, and with it stdin; a server that does
            // not read would keep it, so it does not get to.
            self.outbox.close(Failure::new(
                ErrorCategory::Cancelled,
                "the session was closed",
            ));
            let mut tasks = {
                let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
                std::mem::take(&mut *tasks).into_iter()
            };
            let (writer, reader) = (tasks.next(), tasks.next());
            finish(writer).await;
            let closing = self.child.stop(self.shutdown_timeout).await;
            // The last words on stdout count too.
            finish(reader).await;
            closing
        })
    }
}

impl Drop for StdioChannel {
    fn drop(&mut self) {
        self.sever();
        self.child.kill_now();
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use crate::transport::MAX_FRAME;
    use crate::transport::testing::RecordingInbox;
    use mcprove_settings::loss::Losses;

    async fn open(script: &str) -> (Arc<StdioChannel>, Arc<RecordingInbox>) {
        let inbox = Arc::new(RecordingInbox::default());
        let options = ChannelOptions {
            max_frame: MAX_FRAME,
            max_connections: 1,
            on_stderr: None,
            stderr_file: None,
            losses: Losses::default(),
            redactor: None,
        };
        let server = Server::stdio("sh").args(["-c", script]);
        let recording: Arc<dyn Inbox> = Arc::<RecordingInbox>::clone(&inbox);
        let channel = StdioChannel::open(&server, &options, recording)
            .await
            .unwrap();
        (channel, inbox)
    }

    #[tokio::test]
    async fn a_killed_server_crashed() {
        let (channel, inbox) = open("read line").await;
        channel.kill();
        assert_eq!(inbox.closed_with().await.category, ErrorCategory::Crash);
        assert!(!channel.close().await.forced);
        channel.kill();
        assert_eq!(channel.leftovers(), Vec::<u32>::new());
    }

    #[tokio::test]
    async fn a_severed_server_sees_the_end_of_its_input_and_is_not_forced() {
        let (channel, inbox) = open("echo ready; cat > /dev/null").await;
        inbox.delivered(1).await;
        channel.sever();
        let closing = channel.close().await;
        assert!(!closing.forced && closing.exit.unwrap().success());
    }

    #[tokio::test]
    async fn what_a_server_leaves_behind_is_told() {
        let (channel, inbox) = open("sleep 1000 > /dev/null 2>&1 & echo $!").await;
        let sleeper = inbox.delivered(1).await[0].parse::<u32>().unwrap();
        channel.close().await;
        assert_eq!(channel.leftovers(), [sleeper]);
    }
}
