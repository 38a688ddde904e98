//! The standard streams of this program, as the ends of a proxy.
//!
//! Pipes are waited for by the system; anything else (a terminal, a file, a socket) is served by threads,
//! for which nothing has to be changed that other programs see.

use crate::prelude::*;

/// What our client says.
pub fn standard_input() -> Box<dyn AsyncRead + Send + Unpin> {
    #[cfg(target_os = "linux")]
    {
        // Opened again, so that only this description of the pipe does not block.
        let pipe = tokio::net::unix::pipe::OpenOptions::new().open_receiver("/proc/self/fd/0");
        if let Ok(pipe) = pipe {
            return Box::new(pipe);
        }
    }
    Box::new(tokio::io::stdin())
}

/// What our client hears. Dropping it closes standard output for good, where the system lets us.
pub fn standard_output() -> Box<dyn AsyncWrite + Send + Unpin> {
    #[cfg(target_os = "linux")]
    {
        let pipe = tokio::net::unix::pipe::OpenOptions::new().open_sender("/proc/self/fd/1");
        if let Ok(pipe) = pipe {
            return Box::new(Closing(pipe));
        }
    }
    Box::new(Closing(tokio::io::stdout()))
}

/// Closes standard output when it is dropped: the client hears the end, and what is printed later goes nowhere.
struct Closing<W>(W);

impl<W> Drop for Closing<W> {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Ok(nowhere) = std::fs::OpenOptions::new().write(true).open("/dev/null") {
            let _ = rustix::stdio::dup2_stdout(nowhere);
        }
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for Closing<W> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
