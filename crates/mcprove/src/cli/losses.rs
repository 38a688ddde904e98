//! What a command could not write: noted when it happens, printed at the end, and an exit code of 2.

use std::sync::LazyLock;

use crate::prelude::*;

/// The longest message that is shown whole.
const MESSAGE_MAX: usize = 2000;

/// All of this process.
static LOSSES: LazyLock<Losses> = LazyLock::new(Losses::default);

/// The list itself, for sessions to note theirs in.
pub fn list() -> Losses {
    LOSSES.clone()
}

/// Notes losses.
pub fn add(losses: impl IntoIterator<Item = Loss>) {
    losses.into_iter().for_each(|loss| LOSSES.add(loss));
}

/// Writes a whole file that tells of this run, or notes that it could not be written. What an earlier run left
/// goes then, lest it is taken for this one's.
pub fn replace(path: &Path, text: impl AsRef<[u8]>) {
    let outcome = write_whole(path, text);
    if outcome.is_err() && path.is_file() {
        // That it cannot be removed either is no worse.
        let _ = std::fs::remove_file(path);
    }
    written(path, outcome);
}

/// Notes a file that could not be written.
pub fn written(path: &Path, outcome: io::Result<()>) {
    LOSSES.check(path, outcome);
}

/// Prints what was lost, and gives the exit code: an interruption outweighs a loss, and a loss all else.
pub fn report(code: ExitCode) -> ExitCode {
    let mut all = LOSSES.take();
    all.sort_by_key(|loss| !loss.is_limit);
    for loss in &all {
        let kind = if loss.is_limit { "note" } else { "error" };
        let text = printable(&loss.to_string(), MESSAGE_MAX);
        terminal::print_error(&format!("{kind}: {text}\n"));
    }
    let Some(loss) = all.iter().find(|loss| !loss.is_limit) else {
        return code;
    };
    terminal::print_error(&format!("hint: {}\n", loss.hint().rendered()));
    code.max(ExitCode::CouldNotRun)
}
