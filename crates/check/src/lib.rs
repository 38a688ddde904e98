//! Checks of one server: does it answer at all, and does it keep to the protocol.

pub mod diagnosis;
pub mod health;
pub mod negative_path;
mod prelude;
pub mod pulse;
pub mod report;
pub mod tool_result;

/// Lines of a server's stderr that are shown.
const STDERR_LINES: usize = 10;

/// The last lines of a server's stderr.
fn last_lines(stderr: &str) -> impl Iterator<Item = &str> {
    let count = stderr.trim_end().lines().count();
    stderr
        .trim_end()
        .lines()
        .skip(count.saturating_sub(STDERR_LINES))
}
