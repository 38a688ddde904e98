//! Secrets in what arrives piece by piece: the stderr and the noise of servers.
//!
//! What may be the beginning of a secret waits until the rest of it has come, or until the stream ends: then a
//! part of four characters or more is redacted too. Known secrets may reach over lines; what only looks like
//! one is whole within its line.

use super::Redactor;
use super::known::{merged, replaced_bytes};
use super::redactor::plain;

/// A longer line is passed on in pieces.
const LINE_BYTES_MAX: usize = 64 * 1024;

/// Redacts a stream.
///
/// ```
/// use mcprove_settings::secret::{Redactor, StreamRedactor};
///
/// let mut stream = StreamRedactor::new(Redactor::new(["hunter22".to_owned()]));
/// assert_eq!(stream.push(b"one\nkey hun"), b"one\n");
/// assert_eq!(stream.push(b"ter22!\nhunt"), b"key <redacted>!\n");
/// assert_eq!(stream.finish(), b"<redacted>");
/// ```
#[derive(Debug, Clone, Default)]
pub struct StreamRedactor {
    redactor: Redactor,
    /// What waits for its end.
    held: Vec<u8>,
}

impl StreamRedactor {
    /// At the beginning of a stream.
    pub const fn new(redactor: Redactor) -> Self {
        Self {
            redactor,
            held: Vec::new(),
        }
    }

    /// Adds a piece; returns what can be written: whole lines, except of very long ones.
    pub fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(piece);
        let end = self.decided();
        if end == 0 {
            return Vec::new();
        }
        let rest = self.held.split_off(end);
        let ready = std::mem::replace(&mut self.held, rest);
        redacted(&self.redactor, ready, false)
    }

    /// The rest: the stream is over.
    pub fn finish(&mut self) -> Vec<u8> {
        redacted(&self.redactor, std::mem::take(&mut self.held), true)
    }

    /// What waits, as it would be written if the stream were over.
    pub fn rest(&self) -> Vec<u8> {
        redacted(&self.redactor, self.held.clone(), true)
    }

    /// How much can be written: nothing in it depends on what comes next.
    fn decided(&self) -> usize {
        let held = self.held.as_slice();
        let mut end = match memchr::memrchr(b'\n', held) {
            Some(newline) => newline + 1,
            None if held.len() < LINE_BYTES_MAX => return 0,
            // Not within a word, unless it is longer than any secret.
            None => match plain::pending(held) {
                begin if held.len() - begin < LINE_BYTES_MAX => begin,
                _ => held.len(),
            },
        };
        end = end.min(self.redactor.known.pending(held));
        // Nor within a secret that already exists.
        for range in merged(self.redactor.ranges(held, false)).into_iter().rev() {
            if range.start < end && end < range.end {
                end = range.start;
            }
        }
        let most = LINE_BYTES_MAX + self.redactor.known.span_max;
        if held.len() - end > most {
            // No spelling of a secret is that long.
            held.len()
        } else {
            end
        }
    }
}

fn redacted(redactor: &Redactor, bytes: Vec<u8>, is_end: bool) -> Vec<u8> {
    match redactor.ranges(&bytes, is_end) {
        ranges if ranges.is_empty() => bytes,
        ranges => replaced_bytes(&bytes, ranges),
    }
}

#[cfg(test)]
mod tests;
