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
    /// Every level, mildest first.
    pub const ALL: [Self; 8] = [
        Self::Debug,
        Self::Info,
        Self::Notice,
        Self::Warning,
        Self::Error,
        Self::Critical,
        Self::Alert,
        Self::Emergency,
    ];

    /// The name in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Alert => "alert",
            Self::Emergency => "emergency",
        }
    }
}

impl FromStr for LogLevel {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|level| level.name() == text);
        known.ok_or_else(|| format!("unknown log level {text:?}"))
    }
}
