//! How severe a log message is.

use std::str::FromStr;

/// A level of the protocol, mildest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Details for developers.
    Debug,
    /// What happens.
    Info,
    /// What happens and matters.
    Notice,
    /// What may become a problem.
    Warning,
    /// What went wrong.
    Error,
    /// A part that failed.
    Critical,
    /// What somebody must see to at once.
    Alert,
    /// Nothing works.
    Emergency,
}

impl LogLevel {
    /// Every level with its name in messages, mildest first.
    pub const ALL: [(&'static str, Self); 8] = [
        ("debug", Self::Debug),
        ("info", Self::Info),
        ("notice", Self::Notice),
        ("warning", Self::Warning),
        ("error", Self::Error),
        ("critical", Self::Critical),
        ("alert", Self::Alert),
        ("emergency", Self::Emergency),
    ];

    /// The name in messages.
    pub fn name(self) -> &'static str {
        let known = Self::ALL.into_iter().find(|(_, level)| *level == self);
        known.map_or("", |(name, _)| name)
    }
}

impl FromStr for LogLevel {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|(name, _)| *name == text);
        let known = known.map(|(_, level)| level);
        known.ok_or_else(|| format!("unknown log level {text:?}"))
    }
}
