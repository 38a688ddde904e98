//! One direction's way out, shared by what passes and by what faults say: never two of them within one
//! line.

use tokio::sync::{Mutex, MutexGuard};

use super::prelude::*;

/// Counts what passed.
pub fn count_lines(count: &Count, bytes: &[u8]) {
    let lines = memchr::memchr_iter(b'\n', bytes).count();
    count.add(bytes.len(), lines as u64);
}

/// Anything that can be written to.
pub type Output = Box<dyn AsyncWrite + Send + Unpin>;

/// A way out.
pub struct Lane {
    output: Mutex<LaneOutput>,
    is_closed: SetOnce<()>,
    count: Arc<Count>,
}

struct LaneOutput {
    output: Option<Output>,
    /// Whether what was written last has no line break at its end.
    is_within_line: bool,
}

/// The way out, held by one who is within a line.
pub struct LaneGuard<'a> {
    lane: &'a Lane,
    way: MutexGuard<'a, LaneOutput>,
}

impl Lane {
    pub fn new(output: Output, count: &Arc<Count>) -> Self {
        Self {
            output: Mutex::new(LaneOutput {
                output: Some(output),
                is_within_line: false,
            }),
            is_closed: SetOnce::new(),
            count: Arc::clone(count),
        }
    }

    /// Waits until nobody is within a line.
    pub async fn hold(&self) -> LaneGuard<'_> {
        LaneGuard {
            lane: self,
            way: self.output.lock().await,
        }
    }

    /// Writes whole lines; `false` if nobody takes them any more.
    pub async fn write(&self, lines: &[u8]) -> bool {
        self.hold().await.write(lines).await
    }

    /// Writes lines that did not follow what was written before: they begin a line of their own.
    pub async fn write_apart(&self, lines: &[u8]) -> bool {
        let mut held = self.hold().await;
        if held.way.is_within_line && !held.write(b"\n").await {
            return false;
        }
        held.write(lines).await
    }

    /// Writes one message as a line of its own.
    pub async fn write_line(&self, message: &[u8]) -> bool {
        let mut line = Vec::with_capacity(message.len() + 1);
        line.extend_from_slice(message);
        line.push(b'\n');
        self.write_apart(&line).await
    }

    /// Whether somebody writes, or waits for the other side to take it.
    pub fn is_busy(&self) -> bool {
        self.output.try_lock().is_err()
    }

    /// Ends it, whoever is writing: nothing more is written.
    pub async fn close(&self) {
        let _ = self.is_closed.set(());
        let output = self.output.lock().await.output.take();
        if let Some(mut output) = output {
            // Who is gone needs no farewell.
            let _ = output.shutdown().await;
        }
    }
}

impl LaneGuard<'_> {
    /// Writes a part of a line, or lines.
    pub async fn write(&mut self, bytes: &[u8]) -> bool {
        if bytes.is_empty() {
            return self.way.output.is_some();
        }
        let Some(output) = self.way.output.as_mut() else {
            return false;
        };
        let written = async {
            output.write_all(bytes).await?;
            output.flush().await
        };
        let is_written = tokio::select! {
            biased;
            written = written => written.is_ok(),
            () = self.lane.is_closed.wait() => false,
        };
        if is_written {
            self.way.is_within_line = bytes.last() != Some(&b'\n');
            count_lines(&self.lane.count, bytes);
        } else {
            self.way.output = None;
        }
        is_written
    }
}
