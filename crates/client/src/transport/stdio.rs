//! One message per line: on the standard streams of a child process, or on a pair of byte streams to a server in
//! this process, behind a Unix socket or a TCP connection.

use super::lines::{Outbox, read_lines};
use crate::prelude::*;
use crate::process::Child;

/// How long a process whose stdout ended may take to exit, before it counts as still running.
const EXIT_WAIT: Duration = Duration::from_millis(500);

pub struct LineChannel {
    process: Option<Process>,
    outbox: Arc<Outbox>,
    /// The writer and the reader; each owns one of the streams.
    tasks: Mutex<Vec<JoinHandle<()>>>,
}

/// The process that was started for it.
struct Process {
    child: Arc<Child>,
    stderr: Arc<StderrLog>,
    shutdown_timeout: Duration,
}

impl LineChannel {
    /// Starts the server's process.
    pub async fn start(
        server: &Server,
        options: &SessionOptions,
        inbox: Arc<dyn Inbox>,
    ) -> Result<Arc<Self>, SpawnError> {
        let redactor = options.redactor.clone();
        let redactor = redactor.unwrap_or_else(|| server.redactor());
        let mut log = StderrLog::new()
            .with_redactor(redactor)
            .with_losses(options.losses.clone());
        if let Some(path) = &options.stderr_file {
            log = log
                .with_file(path)
                .map_err(|source| SpawnError::log_file(path, &source))?;
        }
        if let Some(tee) = &options.on_stderr {
            log = log.with_tee(Arc::clone(tee));
        }
        let stderr = Arc::new(log);
        let (child, stdin, stdout) = Child::spawn(server, Arc::clone(&stderr)).await?;
        let process = Process {
            child: Arc::new(child),
            stderr,
            shutdown_timeout: server.shutdown_timeout,
        };
        Ok(Self::over(
            stdout,
            stdin,
            options.max_frame,
            inbox,
            Some(process),
        ))
    }

    /// Reads answers from `input` and writes messages to `output`.
    pub fn open(
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
        max_frame: usize,
        inbox: Arc<dyn Inbox>,
    ) -> Arc<Self> {
        Self::over(input, output, max_frame, inbox, None)
    }

    fn over(
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
        max_frame: usize,
        inbox: Arc<dyn Inbox>,
        process: Option<Process>,
    ) -> Arc<Self> {
        let outbox = Arc::<Outbox>::default();
        let writer = tokio::spawn(Arc::clone(&outbox).write_to(output));
        let child = process.as_ref().map(|process| Arc::clone(&process.child));
        let reader = tokio::spawn({
            let outbox = Arc::clone(&outbox);
            async move {
                let unfinished = read_lines(input, max_frame, inbox.as_ref()).await;
                let failure = match child {
                    Some(child) => {
                        let exit = tokio::time::timeout(EXIT_WAIT, child.wait()).await.ok();
                        describe_end(exit).of_limit(child.lost_supervisor())
                    }
                    None => Failure::disconnected("the server closed the connection"),
                };
                outbox.close(failure.clone());
                if let Some(unfinished) = unfinished {
                    inbox.fail(None, unfinished);
                }
                inbox.closed(failure);
            }
        });
        Arc::new(Self {
            process,
            outbox,
            tasks: Mutex::new(vec![writer, reader]),
        })
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
        None => {
            Failure::disconnected("the server closed its stdout, but its process is still running")
        }
        Some(status) => {
            let category = if status.success() {
                ErrorCategory::Disconnected
            } else {
                ErrorCategory::Crash
            };
            let message = match status.code() {
                Some(code) => format!("the server exited with code {code}"),
                None => format!("the server was killed: {status}"),
            };
            Failure::new(category, message).with(Detail::Exit(status.code()))
        }
    }
}

impl Channel for LineChannel {
    fn name(&self) -> &'static str {
        if self.process.is_some() {
            "stdio"
        } else {
            "memory"
        }
    }

    fn send(&self, message: Outgoing<'_>) -> Result<(), SendError> {
        self.outbox.push(message.bytes)
    }

    fn room(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.outbox.room())
    }

    fn process(&self) -> Option<u32> {
        self.process.as_ref().map(|process| process.child.pid())
    }

    fn kill(&self) {
        if let Some(process) = &self.process {
            process.child.kill_now();
        }
    }

    fn leftovers(&self) -> Vec<u32> {
        let process = self.process.as_ref();
        process.map_or_else(Vec::new, |process| process.child.leftovers())
    }

    fn stderr_tail(&self) -> String {
        let process = self.process.as_ref();
        process.map_or_else(String::new, |process| process.stderr.tail())
    }

    fn sever(&self) {
        self.outbox
            .close(Failure::cancelled("the connection was dropped"));
        for task in lock(&self.tasks).drain(..) {
            task.abort();
        }
    }

    fn close(&self) -> BoxFuture<'_, Closing> {
        self.outbox
            .close(Failure::cancelled("the session was closed"));
        let Some(process) = &self.process else {
            return Box::pin(std::future::ready(Closing::default()));
        };
        Box::pin(async {
            // The writer ends when everything is written, and with it stdin; a server that does
            // not read would keep it, so it does not get to.
            let mut tasks = std::mem::take(&mut *lock(&self.tasks)).into_iter();
            let (writer, reader) = (tasks.next(), tasks.next());
            finish(writer).await;
            let closing = process.child.stop(process.shutdown_timeout).await;
            // The last words on stdout count too.
            finish(reader).await;
            closing
        })
    }
}

impl Drop for LineChannel {
    fn drop(&mut self) {
        self.sever();
        self.kill();
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use crate::transport::testing::RecordingInbox;

    async fn open(script: &str) -> (Arc<LineChannel>, Arc<RecordingInbox>) {
        let inbox = Arc::new(RecordingInbox::default());
        let options = SessionOptions::default();
        let server = Server::stdio("sh").args(["-c", script]);
        let recording: Arc<dyn Inbox> = Arc::<RecordingInbox>::clone(&inbox);
        let channel = LineChannel::start(&server, &options, recording)
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
