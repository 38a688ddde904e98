//! Standard error that nobody may read: what is written there holds up nothing.
//!
//! A task of its own writes. What it has not written yet waits in a queue of [`QUEUE_MAX`] pieces; what
//! comes when that is full is dropped, and how much that was is said once there is room again.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::io::AsyncWriteExt as _;
use tokio::sync::mpsc;

use crate::prelude::*;

/// How many pieces wait; a server's stderr comes in pieces of 64 KiB at most.
const QUEUE_MAX: usize = 256;
/// How long the end waits for a reader.
const LAST_WAIT: Duration = Duration::from_secs(2);

/// Standard error, through a queue.
pub struct PatientStderr {
    queue: mpsc::Sender<Vec<u8>>,
    dropped: AtomicU64,
}

impl PatientStderr {
    pub fn new() -> Arc<Self> {
        let (queue, pieces) = mpsc::channel(QUEUE_MAX);
        tokio::spawn(write(pieces));
        let dropped = AtomicU64::new(0);
        Arc::new(Self { queue, dropped })
    }

    /// Writes when there is somebody to read; never waits.
    pub fn write(&self, bytes: &[u8]) {
        let dropped = self.dropped.load(Ordering::Relaxed);
        if dropped > 0 {
            let told =
                format!("\nmcprove: {dropped} bytes of stderr were dropped: stderr was not read\n");
            if self.queue.try_send(told.into_bytes()).is_ok() {
                self.dropped.fetch_sub(dropped, Ordering::Relaxed);
            }
        }
        if self.queue.try_send(bytes.to_vec()).is_err() {
            let length = bytes.len() as u64;
            self.dropped.fetch_add(length, Ordering::Relaxed);
        }
    }

    /// Waits until all is written, or nobody reads it.
    pub async fn finish(&self) {
        // An empty piece is the end.
        if self.queue.try_send(Vec::new()).is_ok() {
            let _ = tokio::time::timeout(LAST_WAIT, self.queue.closed()).await;
        }
    }
}

async fn write(mut pieces: mpsc::Receiver<Vec<u8>>) {
    let mut stderr = tokio::io::stderr();
    while let Some(piece) = pieces.recv().await.filter(|piece| !piece.is_empty()) {
        // Nobody may be there to read it.
        let _ = stderr.write_all(&piece).await;
        let _ = stderr.flush().await;
    }
}
