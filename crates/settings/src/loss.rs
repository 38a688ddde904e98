//! What could not be written. Whoever writes a file, and cannot, says here which file, how much of it is
//! missing and why; reports carry the list, and commands end with exit code 2.

use std::mem::discriminant;

use crate::message::UserError;
use crate::phrase::{count, were};
use crate::prelude::*;
use crate::sync::lock;

/// A file that is not complete.
///
/// ```
/// use mcprove_settings::loss::{Loss, Missing};
///
/// let loss = Loss::of("trace.jsonl", Missing::Events(12_345), "No space left on device");
/// let text = "trace.jsonl: 12,345 events were not written: No space left on device";
/// assert_eq!(loss.to_string(), text);
/// ```
#[data(Eq)]
pub struct Loss {
    /// The file, or who else did not get something.
    pub file: String,
    /// How much is missing.
    pub missing: Missing,
    /// Why.
    pub reason: String,
    /// Whether a size limit was reached, which is not a failure.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_limit: bool,
}

/// How much of a file is missing.
#[choice(Copy, Eq)]
pub enum Missing {
    /// All of it.
    File,
    /// So many events.
    Events(u64),
    /// So many requests, and what belongs to them.
    Requests(u64),
    /// So many bytes.
    Bytes(u64),
    /// So many rows.
    Rows(u64),
    /// So many stretches of time.
    Intervals(u64),
    /// So many messages, which a handler panicked on.
    Messages(u64),
}

impl Loss {
    /// A part of a file that could not be written.
    pub fn of(file: impl Into<String>, missing: Missing, reason: impl Into<String>) -> Self {
        Self {
            file: file.into(),
            missing,
            reason: reason.into(),
            is_limit: false,
        }
    }

    /// A file that could not be written at all.
    pub fn of_file(path: &Path, error: &io::Error) -> Self {
        Self::of(path.display().to_string(), Missing::File, error.to_string())
    }

    /// What came after the size limit of a file.
    pub fn over_limit(file: impl Into<String>, missing: Missing) -> Self {
        Self {
            is_limit: true,
            ..Self::of(file, missing, "its size limit was reached")
        }
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, reason, .. } = self;
        let mut missing = self.missing;
        let Some((number, noun)) = missing.counted() else {
            return write!(formatter, "{file} was not written: {reason}");
        };
        let verb = match self.missing {
            Missing::Messages(_) => "handled",
            _ => "written",
        };
        let number = *number;
        let (what, were) = (count(number, noun), were(number));
        write!(formatter, "{file}: {what} {were} not {verb}: {reason}")
    }
}

impl UserError for Loss {
    fn hint(&self) -> Message {
        if self.is_limit {
            return Message::default();
        }
        "free disk space, check the permissions, or write elsewhere, and run it again".into()
    }
}

impl Missing {
    /// How many are missing, of what.
    fn counted(&mut self) -> Option<(&mut u64, &'static str)> {
        Some(match self {
            Self::File => return None,
            Self::Events(count) => (count, "event"),
            Self::Requests(count) => (count, "request"),
            Self::Bytes(count) => (count, "byte"),
            Self::Rows(count) => (count, "row"),
            Self::Intervals(count) => (count, "interval"),
            Self::Messages(count) => (count, "message"),
        })
    }

    /// Adds what is of the same kind; false if it is not.
    fn add(&mut self, mut more: Self) -> bool {
        let is_same = discriminant(self) == discriminant(&more);
        if let (true, Some((count, _)), Some((more, _))) = (is_same, self.counted(), more.counted())
        {
            *count += *more;
        }
        is_same
    }
}

/// Losses, noted from any thread as they happen. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Losses(Arc<Mutex<Vec<Loss>>>);

impl Losses {
    /// Adds one. What goes on missing in the same file, whatever the later reasons, is one loss.
    pub fn add(&self, loss: Loss) {
        let mut all = lock(&self.0);
        let mut known = all
            .iter_mut()
            .filter(|known| known.file == loss.file && known.is_limit == loss.is_limit);
        if !known.any(|known| known.missing.add(loss.missing)) {
            all.push(loss);
        }
    }

    /// Notes a file that could not be written.
    pub fn check(&self, path: &Path, written: io::Result<()>) {
        if let Err(error) = written {
            self.add(Loss::of_file(path, &error));
        }
    }

    /// All so far, which are forgotten.
    pub fn take(&self) -> Vec<Loss> {
        std::mem::take(&mut lock(&self.0))
    }

    /// All so far.
    pub fn all(&self) -> Vec<Loss> {
        lock(&self.0).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_on_missing_is_one_loss() {
        let losses = Losses::default();
        for (file, missing) in [
            ("log", Missing::Bytes(1)),
            ("other", Missing::Bytes(7)),
            ("log", Missing::Bytes(2)),
        ] {
            losses.add(Loss::of(file, missing, "disk full"));
        }
        losses.add(Loss::over_limit("log", Missing::Bytes(4)));
        let told: Vec<String> = losses.all().iter().map(Loss::to_string).collect();
        assert_eq!(
            told,
            [
                "log: 3 bytes were not written: disk full",
                "other: 7 bytes were not written: disk full",
                "log: 4 bytes were not written: its size limit was reached",
            ]
        );
    }
}
