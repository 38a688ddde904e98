//! A built-in server on a free port.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::Outcome;

/// A built-in server that listens for HTTP until it is dropped.
pub struct Listening {
    child: Child,
    /// Where it listens.
    pub url: String,
}

impl Listening {
    /// Starts the built-in server `mode` of `program`.
    pub fn start(program: &str, mode: &str) -> Outcome<Self> {
        let mut child = Command::new(program)
            .args(["fixture", mode, "--http", "127.0.0.1:0"])
            .stderr(Stdio::piped())
            .spawn()?;
        let stderr = child.stderr.take().ok_or("no stderr")?;
        let line = BufReader::new(stderr)
            .lines()
            .next()
            .ok_or("the server ended")??;
        let url = line.trim_start_matches("listening on ").to_owned();
        Ok(Self { child, url })
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
