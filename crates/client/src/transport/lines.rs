//! One message per line over any pair of byte streams: what stdio and in-memory channels share.
//!
//! Writing goes through one shared buffer. Whoever sends appends to it; the writer task takes it
//! whole, so a thousand messages sent in one turn leave in one system call.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::prelude::*;

/// How many unsent bytes are kept for a server that does not read.
const UNSENT_BYTES_MAX: usize = 8 * 1024 * 1024;
/// How much is read at once, from a server that writes little.
const READ_BYTES_MIN: usize = 16 * 1024;
/// How much is read at once, from a server that writes much.
const READ_BYTES_MAX: usize = 256 * 1024;
/// How much of a line over the limit is kept, to find the id in.
const HEAD_BYTES: usize = 4096;

/// Lines waiting to be written.
#[derive(Default)]
pub struct Outbox {
    state: Mutex<Unsent>,
    filled: Notify,
    emptied: Notify,
}

#[derive(Default)]
struct Unsent {
    bytes: Vec<u8>,
    /// Bytes that the writer has taken and not yet got rid of.
    in_writing: usize,
    is_closing: bool,
    failure: Option<Failure>,
}

impl Outbox {
    fn lock(&self) -> MutexGuard<'_, Unsent> {
        lock(&self.state)
    }

    /// Appends a message and its line break.
    pub fn push(&self, message: &[u8]) -> Result<(), SendError> {
        let mut unsent = self.lock();
        if let Some(failure) = &unsent.failure {
            return Err(SendError::Closed(failure.clone()));
        }
        // A single message may be larger than the limit, but never join a queue.
        let queued = unsent.bytes.len() + unsent.in_writing;
        if queued > 0 && queued + message.len() > UNSENT_BYTES_MAX {
            return Err(SendError::Full);
        }
        let was_empty = unsent.bytes.is_empty();
        unsent.bytes.extend_from_slice(message);
        unsent.bytes.push(b'\n');
        drop(unsent);
        if was_empty {
            self.filled.notify_one();
        }
        Ok(())
    }

    /// Resolves when something was written, or nothing will be any more.
    pub async fn room(&self) {
        let emptied = self.emptied.notified();
        let is_waiting = {
            let unsent = self.lock();
            unsent.failure.is_none() && unsent.in_writing + unsent.bytes.len() > 0
        };
        if is_waiting {
            emptied.await;
        }
    }

    /// Lets the writer end once everything is written; nothing more is taken.
    pub fn close(&self, failure: Failure) {
        let mut unsent = self.lock();
        unsent.is_closing = true;
        unsent.failure.get_or_insert(failure);
        drop(unsent);
        self.filled.notify_one();
        self.emptied.notify_waiters();
    }

    /// The writer task: ends when closed or when the other side is gone.
    pub async fn write_to(self: Arc<Self>, mut output: impl AsyncWrite + Unpin) {
        let mut batch = Vec::new();
        loop {
            let is_closing = {
                let mut unsent = self.lock();
                std::mem::swap(&mut unsent.bytes, &mut batch);
                unsent.in_writing = batch.len();
                unsent.is_closing
            };
            if batch.is_empty() {
                if is_closing {
                    let _ = output.shutdown().await;
                    return;
                }
                self.filled.notified().await;
                continue;
            }
            let written = async {
                output.write_all(&batch).await?;
                output.flush().await
            };
            if let Err(error) = written.await {
                let message = format!("the server closed its input: {error}");
                let failure = Failure::disconnected(message);
                self.close(failure.of_limit(OwnLimit::of(&error)));
                return;
            }
            batch.clear();
            self.lock().in_writing = 0;
            self.emptied.notify_waiters();
        }
    }
}

/// Reads lines until the end of the stream, or an error, and delivers each. Returns the failure of
/// a message that was cut short, for the caller to report together with the end of the channel:
/// whoever waits for that message must not think that the channel still works.
pub async fn read_lines(
    mut input: impl AsyncRead + Unpin,
    line_bytes_max: usize,
    inbox: &dyn Inbox,
) -> Option<Failure> {
    let mut splitter = LineSplitter::new(line_bytes_max);
    let mut read_bytes = READ_BYTES_MIN;
    loop {
        let room = make_room(&mut splitter.buffer, read_bytes);
        let length = match input.read_buf(&mut splitter.buffer).await {
            Ok(length) if length > 0 => length,
            _ => return splitter.finish().map(|rest| unfinished(&rest)),
        };
        if length == room {
            read_bytes = (read_bytes * 2).min(READ_BYTES_MAX);
        }
        let held = inbox.held();
        let inbox = held.as_deref().unwrap_or(inbox);
        while let Some(line) = splitter.next_line() {
            match line {
                Ok(line) => inbox.deliver(line),
                Err(too_long) => inbox.fail(None, too_long),
            }
        }
    }
}

/// Makes room for a read of about `wanted` bytes, and tells how much there is. Lines that were
/// delivered keep their block of memory for as long as they live, so a new one is needed now and
/// then; what is left of the old one is used up first, for a large block per small reply costs more
/// than the call.
fn make_room(buffer: &mut BytesMut, wanted: usize) -> usize {
    if buffer.capacity() - buffer.len() < wanted / 4 {
        buffer.reserve(wanted);
    }
    buffer.capacity() - buffer.len()
}

/// A stream that ends within a line leaves a message that is cut short.
fn unfinished(rest: &Bytes) -> Failure {
    let head = rest.slice(..rest.len().min(HEAD_BYTES));
    let message = format!(
        "the server stopped in the middle of a message, after {} bytes",
        rest.len()
    );
    let size = rest.len() as u64;
    Failure::malformed(message).with(Detail::Oversized { size, head })
}

/// Cuts a stream of bytes into lines, with bounded memory.
struct LineSplitter {
    buffer: BytesMut,
    /// Bytes at the start of the buffer known to hold no line break.
    searched: usize,
    limit: usize,
    /// A line over the limit was reported, and its end has not come yet.
    is_skipping: bool,
}

impl LineSplitter {
    fn new(limit: usize) -> Self {
        Self {
            buffer: BytesMut::new(),
            searched: 0,
            limit,
            is_skipping: false,
        }
    }

    /// The next line, or the failure of one that is longer than the limit.
    fn next_line(&mut self) -> Option<Result<Bytes, Failure>> {
        loop {
            let rest = self.buffer.get(self.searched..).unwrap_or_default();
            let Some(position) = memchr::memchr(b'\n', rest) else {
                self.searched = self.buffer.len();
                return self.skip_if_too_long();
            };
            let end = self.searched + position;
            let mut line = self.buffer.split_to(end + 1).freeze();
            self.searched = 0;
            if std::mem::take(&mut self.is_skipping) {
                continue;
            }
            line.truncate(end);
            if end > self.limit {
                return Some(Err(self.too_long(&line)));
            }
            if line.last() == Some(&b'\r') {
                line.truncate(end - 1);
            }
            return Some(Ok(line));
        }
    }

    /// Drops what is buffered of a line over the limit, whose end may never come. The first time
    /// it is reported.
    fn skip_if_too_long(&mut self) -> Option<Result<Bytes, Failure>> {
        if self.is_skipping {
            self.buffer.clear();
            self.searched = 0;
            return None;
        }
        if self.buffer.len() <= self.limit {
            return None;
        }
        self.is_skipping = true;
        self.searched = 0;
        // Give back the memory that the line had grown to.
        let line = std::mem::take(&mut self.buffer);
        Some(Err(self.too_long(&line)))
    }

    /// What is left at the end of the stream, if it is more than white space.
    fn finish(&mut self) -> Option<Bytes> {
        if self.is_skipping {
            return None;
        }
        let rest = self.buffer.split().freeze();
        (!rest.trim_ascii().is_empty()).then_some(rest)
    }

    fn too_long(&self, line: &[u8]) -> Failure {
        let head = Bytes::copy_from_slice(line.get(..HEAD_BYTES).unwrap_or(line));
        Failure::oversized(line.len() as u64, self.limit, head)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn split(chunks: &[&[u8]], limit: usize) -> (Vec<Result<Bytes, Failure>>, Option<Bytes>) {
        let mut splitter = LineSplitter::new(limit);
        let mut lines = Vec::new();
        for chunk in chunks {
            splitter.buffer.extend_from_slice(chunk);
            while let Some(line) = splitter.next_line() {
                lines.push(line);
            }
        }
        (lines, splitter.finish())
    }

    #[test]
    fn lines_are_cut_at_line_breaks_only() {
        let (lines, rest) = split(&[b"ab", b"c\r\nd\n\n", b"tail"], 10);
        let whole = |text: &'static str| Ok(Bytes::from_static(text.as_bytes()));
        assert_eq!(lines, [whole("abc"), whole("d"), whole("")]);
        assert_eq!(rest.unwrap(), "tail");
    }

    #[test]
    fn a_line_over_the_limit_is_reported_at_once_and_skipped() {
        let chunk = [b'x'; 1000];
        let mut chunks: Vec<&[u8]> = vec![&chunk; 50];
        chunks.push(b"\nnext\n");
        let (lines, _) = split(&chunks, 1024);
        let too_long = lines[0].as_ref().unwrap_err();
        assert!(
            matches!(too_long.detail, Detail::Oversized { size: 2000, .. }),
            "{too_long:?}"
        );
        assert_eq!(lines[1], Ok(Bytes::from_static(b"next")));
    }

    proptest! {
        #[test]
        fn chunks_do_not_matter(
            bytes in proptest::collection::vec(prop_oneof![4 => any::<u8>(), 1 => Just(b'\n')], 0..400),
            cuts in proptest::collection::vec(0usize..400, 0..10),
        ) {
            let whole = split(&[&bytes], 64);
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.sort_unstable();
            let mut chunks = Vec::new();
            let mut start = 0;
            for cut in cuts {
                chunks.push(&bytes[start..cut]);
                start = cut;
            }
            chunks.push(&bytes[start..]);
            let parts = split(&chunks, 64);
            let sizes = |lines: &[Result<Bytes, Failure>]| lines.iter().map(|line| match line {
                Ok(line) => (true, line.to_vec()),
                Err(_) => (false, Vec::new()),
            }).collect::<Vec<_>>();
            prop_assert_eq!(sizes(&whole.0), sizes(&parts.0));
        }
    }
}
