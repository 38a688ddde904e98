//! The standard streams of this program, as the ends of a proxy.
//!
//! Pipes are waited for by the system; anything else (a terminal, a file, a socket) is served by threads,
//! for which nothing has to be changed that other programs see.

use crate::prelude::*;

/// What our client says.
pub fn standard_input() -> Box<dyn AsyncRead + Send + Unpin> {
    #[cfg(target_os = "linux")]
    {
        // Opened anew, so that only this description of the pipe does not block.
        let pipe = tokio::net::unix::pipe::OpenOptions::new().open_receiver("/proc/self/fd/0");
        if let Ok(pipe) = pipe {
            return Box::new(pipe);
        }
    }
    Box::new(tokio::io::stdin())
}

/// What our client hears. Shutting it down closes standard output for good, where the system lets us.
pub fn standard_output() -> Box<dyn AsyncWrite + Send + Unpin> {
    #[cfg(target_os = "linux")]
    {
        let pipe = tokio::net::unix::pipe::OpenOptions::new().open_sender("/proc/self/fd/1");
        if let Ok(pipe) = pipe {
            return Box::new(Closing(Some(pipe)));
        }
    }
    Box::new(Closing(Some(tokio::io::stdout())))
}

/// Closes standard output when it is shut down.
struct Closing<W>(Option<W>);

impl<W: AsyncWrite + Unpin> AsyncWrite for Closing<W> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.0 {
            Some(output) => Pin::new(output).poll_write(context, bytes),
            None => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.0 {
            Some(output) => Pin::new(output).poll_flush(context),
            None => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(output) = &mut self.0 {
            let _ = ready!(Pin::new(output).poll_flush(context));
            self.0 = None;
            close_standard_output();
        }
        Poll::Ready(Ok(()))
    }
}

/// The client hears the end; what is printed later goes nowhere.
fn close_standard_output() {
    #[cfg(unix)]
    if let Ok(nowhere) = std::fs::OpenOptions::new().write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdout(nowhere);
    }
}
