//! Standard error that nobody may read: what is written there holds up nothing.
//!
//! A thread of its own writes. What it has not written yet waits in a queue of [`QUEUE_MAX`] pieces; what
//! comes when that is full is dropped, and how much that was is said once there is room again.

use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use mcprove_settings::sync::lock;

/// How many pieces wait; a server's stderr comes in pieces of 64 KiB at most.
const QUEUE_MAX: usize = 256;
/// How long the end waits for a reader.
const LAST_WAIT: Duration = Duration::from_secs(2);

/// Standard error, through a queue.
pub struct PatientStderr {
    queue: SyncSender<Vec<u8>>,
    dropped: AtomicU64,
    is_done: Mutex<Receiver<()>>,
}

impl PatientStderr {
    pub fn new() -> std::io::Result<Arc<Self>> {
        let (queue, pieces) = sync_channel(QUEUE_MAX);
        let (done, is_done) = sync_channel(1);
        let name = "mcprove-stderr".to_owned();
        thread::Builder::new()
            .name(name)
            .spawn(move || write(&pieces, &done))?;
        Ok(Arc::new(Self {
            queue,
            dropped: AtomicU64::new(0),
            is_done: Mutex::new(is_done),
        }))
    }

    /// Writes when there is somebody to read; never waits.
    pub fn write(&self, bytes: &[u8]) {
        let dropped = self.dropped.load(Ordering::Relaxed);
        if dropped > 0 {
            let told =
                format!("\nmcprove: {dropped} bytes of stderr were dropped: nobody read them\n");
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
    pub async fn finish(self: Arc<Self>) {
        // An empty piece is the end.
        let asked = self.queue.try_send(Vec::new()).is_ok();
        let waiting = tokio::task::spawn_blocking(move || {
            let is_done = lock(&self.is_done);
            let wait = if asked { LAST_WAIT } else { Duration::ZERO };
            let _ = is_done.recv_timeout(wait);
        });
        let _ = waiting.await;
    }
}

fn write(pieces: &Receiver<Vec<u8>>, done: &SyncSender<()>) {
    while let Ok(piece) = pieces.recv() {
        if piece.is_empty() {
            break;
        }
        // Nobody may be there to read it.
        let _ = std::io::stderr().lock().write_all(&piece);
    }
    let _ = done.try_send(());
}
