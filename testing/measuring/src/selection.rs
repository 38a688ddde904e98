//! Which measurements are wanted: the arguments of a benchmark.

use crate::Outcome;

/// The arguments of a benchmark: flags, and parts of the names of what to measure.
pub struct Selection {
    flags: Vec<String>,
    parts: Vec<String>,
}

impl Selection {
    /// What this process was asked for.
    pub fn from_arguments() -> Self {
        // `--bench` is cargo's own.
        let (flags, parts) = std::env::args()
            .skip(1)
            .partition(|argument| argument.starts_with("--"));
        Self { flags, parts }
    }

    /// Whether `flag` was given.
    pub fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|given| given == flag)
    }

    /// Whether the measurement of this name is wanted.
    pub fn wants(&self, name: &str) -> bool {
        self.parts.is_empty() || self.parts.iter().any(|part| name.contains(part.as_str()))
    }
}

/// The program whose built-in servers are driven.
pub fn program() -> Outcome<String> {
    Ok(std::env::var("MCPROVE_BIN").map_err(|_| "run this by `cargo xtask bench`")?)
}
