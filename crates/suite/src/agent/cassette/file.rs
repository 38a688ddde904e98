//! Cassettes as files: read within limits, written whole or not at all.

use std::fs;
use std::io;
use std::path::Path;

use mcprove_settings::outside::{LINKED, is_linked};
use mcprove_settings::whole_file::write_private;
use mcprove_settings::{input, phrase};
use serde::Deserialize;

use super::error::CassetteError;
use super::format::{
    Body, CASSETTE_FORMAT, Cassette, DURATION_MAX, EXCHANGES_MAX, RUNS_MAX, RecordedRun,
};
use super::traces;

/// The largest cassette.
pub const BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Reads a cassette; `None` if there is no file.
pub fn read(path: &Path) -> Result<Option<Cassette>, CassetteError> {
    let name = shown(path);
    let cannot = |error: &io::Error| CassetteError::File {
        file: name.clone(),
        action: "cannot be read",
        message: error.to_string(),
    };
    let bytes = match input::read_file(path, BYTES_MAX) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
            return Err(CassetteError::TooLarge {
                file: name,
                bytes: fs::metadata(path).map_or(BYTES_MAX, |metadata| metadata.len()),
                most: BYTES_MAX,
            });
        }
        Err(error) => return Err(cannot(&error)),
    };
    let text = String::from_utf8(bytes).map_err(|_| CassetteError::Broken {
        place: name.clone(),
        message: "it is no UTF-8".into(),
    })?;
    parse(&text, &name).map(Some).map_err(|error| match error {
        CassetteError::Broken { place, .. }
            if is_linked(path) || path.parent().is_some_and(Path::is_symlink) =>
        {
            let message = LINKED.to_owned();
            CassetteError::Broken { place, message }
        }
        error => error,
    })
}

/// The cassette in a text.
pub(super) fn parse(text: &str, name: &str) -> Result<Cassette, CassetteError> {
    #[derive(Deserialize)]
    struct Head {
        schema: Option<String>,
    }
    let broken = |place: String, message: String| CassetteError::Broken { place, message };
    let at = |error: &serde_json::Error| {
        let text = error.to_string();
        // It tells the place itself, in other words.
        let message = text.split(" at line ").next().unwrap_or(&text).to_owned();
        broken(
            format!("{name}:{}:{}", error.line(), error.column()),
            message,
        )
    };
    let whole: Result<Cassette, _> = serde_json::from_str(text);
    let cassette = match whole {
        Ok(cassette) => cassette,
        // Of another version everything may look wrong.
        Err(error) => {
            let head: Option<Head> = serde_json::from_str(text).ok();
            return Err(match head.and_then(|head| head.schema) {
                Some(schema) if schema != CASSETTE_FORMAT => broken(
                    name.to_owned(),
                    format!("the schema is {schema:?}, not {CASSETTE_FORMAT:?}"),
                ),
                _ => at(&error),
            });
        }
    };
    check(&cassette).map_err(|message| broken(name.to_owned(), message))?;
    if cassette.fits.is_command() {
        traces::check(text).map_err(|message| broken(name.to_owned(), message))?;
    }
    Ok(cassette)
}

fn check(cassette: &Cassette) -> Result<(), String> {
    if cassette.schema != CASSETTE_FORMAT {
        let schema = &cassette.schema;
        return Err(format!("the schema is {schema:?}, not {CASSETTE_FORMAT:?}"));
    }
    let runs = cassette.runs.len();
    if runs > RUNS_MAX {
        return Err(format!("it has {runs} runs, and {RUNS_MAX} is the most"));
    }
    if u32::try_from(runs) != Ok(cassette.fits.runs) {
        let told = cassette.fits.runs;
        let runs = phrase::count(runs as u64, "run");
        return Err(format!("it has {runs} and says that it has {told}"));
    }
    let checked = cassette.runs.iter().enumerate();
    let is_command = cassette.fits.is_command();
    let mut checked = checked.map(|(index, run)| {
        check_run(run, is_command).map_err(|what| format!("runs[{index}]: {what}"))
    });
    checked.try_for_each(|checked| checked)
}

fn check_run(run: &RecordedRun, is_command: bool) -> Result<(), String> {
    if run.model.len() > EXCHANGES_MAX || run.tools.len() > EXCHANGES_MAX {
        return Err(format!("it has more than {EXCHANGES_MAX} exchanges"));
    }
    if is_command != run.trace.is_some() {
        return Err("the trace of a process belongs to a command, and to nothing else".into());
    }
    let longest = u64::try_from(DURATION_MAX.as_micros()).unwrap_or(u64::MAX);
    let durations = run
        .model
        .iter()
        .map(|exchange| exchange.duration_us)
        .chain(run.tools.iter().map(|exchange| exchange.duration_us));
    let waits = run
        .model
        .iter()
        .filter_map(|exchange| exchange.retry_after_ms)
        .map(|wait| wait.saturating_mul(1_000));
    if durations.chain(waits).any(|duration| duration > longest) {
        return Err(format!("something took longer than {DURATION_MAX:?}"));
    }
    for (index, exchange) in run.model.iter().enumerate() {
        let bodies = [Some(&exchange.request), exchange.response.as_ref()];
        if bodies
            .into_iter()
            .flatten()
            .any(|body: &Body| body.bytes().is_none())
        {
            return Err(format!("model[{index}]: a body is no base64"));
        }
        let has_answer = exchange.status.is_some() && exchange.response.is_some();
        if has_answer == exchange.failure.is_some() {
            return Err(format!(
                "model[{index}]: it needs a status and a response, or else a failure"
            ));
        }
    }
    Ok(())
}

/// Writes a cassette in the place of the one before, which stays if that fails.
pub fn write(path: &Path, cassette: &Cassette) -> Result<(), CassetteError> {
    let cannot = |message: String| CassetteError::File {
        file: shown(path),
        action: "cannot be written",
        message,
    };
    let mut text =
        serde_json::to_string_pretty(cassette).map_err(|error| cannot(error.to_string()))?;
    text.push('\n');
    if u64::try_from(text.len()).unwrap_or(u64::MAX) > BYTES_MAX {
        return Err(cannot(format!("it would be larger than {BYTES_MAX} bytes")));
    }
    // What cannot be read again is no recording.
    parse(&text, &shown(path)).map_err(|error| cannot(error.to_string()))?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let written = fs::create_dir_all(folder).and_then(|()| write_private(path, text));
    written.map_err(|error| cannot(error.to_string()))
}

/// The path as messages have it: from the folder of the cassettes on, so that it is the same everywhere.
fn shown(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let folder = path.parent().and_then(Path::file_name);
    match folder {
        Some(folder) => format!("{}/{name}", folder.to_string_lossy()),
        None => name.into_owned(),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn of_a_link_only_the_place_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("a.json"), folder.path().join("b.json"));
        let text = format!("{{\"schema\": \"{CASSETTE_FORMAT}\",\n\"fits\": \"hunter2\"}}");
        fs::write(&file, text).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let told = |path: &Path| read(path).err().unwrap().to_string();
        assert!(told(&file).contains("hunter2"), "{}", told(&file));
        assert!(told(&link).contains("b.json:2:"), "{}", told(&link));
        assert!(!told(&link).contains("hunter2"), "{}", told(&link));
    }
}
