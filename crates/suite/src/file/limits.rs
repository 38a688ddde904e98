//! What tests have that is not said in the file, and how far what is said may go.

use std::time::Duration;

/// How many tests may use a server at once.
pub(super) const PARALLEL: u32 = 8;
/// The most answers of a model in one run.
pub(super) const TURNS: u32 = 10;
/// The most tokens of one answer.
pub(super) const MAX_TOKENS: u32 = 1024;
/// The longest time of one run.
pub(super) const RUN_TIME: Duration = Duration::from_mins(5);
/// How long a bad request may take before it counts as hung.
pub(super) const NEGATIVE_PATH_TIMEOUT: Duration = Duration::from_secs(10);

/// The most tests at once that can be asked for.
pub(super) const PARALLEL_MAX: u64 = 1_000;
/// The most answers that can be asked for.
pub(super) const TURNS_MAX: u64 = 1_000;
/// The most tokens of one answer that can be asked for.
pub(super) const MAX_TOKENS_MAX: u64 = 1_000_000;
/// The most runs that can be asked for: all of them are kept.
pub(super) const RUNS_MAX: u64 = 1_000;
/// The largest budget of tokens.
pub(super) const TOKENS_MAX: u64 = 1_000_000_000;
/// The largest budget of calls.
pub(super) const TOOL_CALLS_MAX: u64 = 1_000_000;
/// The longest time that can be given, in milliseconds: a leap year.
pub(super) const TIME_MS_MAX: u64 = 366 * 24 * 60 * 60 * 1000;
/// The most tests of one suite.
pub(super) const TESTS_MAX: usize = 100_000;
/// The most servers of one suite.
pub(super) const SERVERS_MAX: usize = 1_000;
/// The longest name of a server.
pub(super) const SERVER_NAME_MAX: usize = 64;
/// The most that variables may add to a file, in bytes.
pub(super) const FILLED_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The most variables of one suite.
pub(super) const VARIABLES_MAX: usize = 1_000;
