//! What a cassette is held to beyond its types, when it is read and before it is written. The traces of a process are
//! held to the same as files of traces, and to more: a recording is written by nobody but us, so that there is no
//! reason for anything odd in it. What is wrong comes back in words.

use mcprove_import::{Format, import_as};

use super::format::{
    Body, CASSETTE_FORMAT, Cassette, DURATION_MAX, EXCHANGES_MAX, RUNS_MAX, RecordedRun,
};
use crate::prelude::*;

/// Checks a cassette; `text` is what it was read from.
pub(super) fn check(cassette: &Cassette, text: &str) -> Result<(), String> {
    if cassette.schema != CASSETTE_FORMAT {
        return Err(other_format(&cassette.schema));
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
    let is_command = cassette.fits.is_command();
    for (index, run) in cassette.runs.iter().enumerate() {
        check_run(run, is_command).map_err(|what| format!("runs[{index}]: {what}"))?;
    }
    if !is_command {
        return Ok(());
    }
    let outline: Outline<'_> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    for (index, run) in outline.runs.iter().enumerate() {
        check_process(run).map_err(|what| format!("runs[{index}]{what}"))?;
    }
    Ok(())
}

/// That a file is of another version.
pub(super) fn other_format(schema: &str) -> String {
    format!("the schema is {schema:?}, not {CASSETTE_FORMAT:?}")
}

fn check_run(run: &RecordedRun, is_command: bool) -> Result<(), String> {
    if run.model.len() > EXCHANGES_MAX || run.tools.len() > EXCHANGES_MAX {
        return Err(format!("it has more than {EXCHANGES_MAX} exchanges"));
    }
    if is_command != run.trace.is_some() {
        return Err("the trace of a process belongs to a command, and to nothing else".into());
    }
    let of_model = run.model.iter().flat_map(|exchange| {
        let wait = exchange.retry_after_ms.unwrap_or_default();
        [exchange.duration_us, wait.saturating_mul(1_000)]
    });
    let of_tools = run.tools.iter().map(|exchange| exchange.duration_us);
    let longest = DURATION_MAX.as_micros();
    if of_model
        .chain(of_tools)
        .any(|time| u128::from(time) > longest)
    {
        return Err(format!("something took longer than {DURATION_MAX:?}"));
    }
    for (index, exchange) in run.model.iter().enumerate() {
        let mut bodies = std::iter::once(&exchange.request).chain(&exchange.response);
        let has_answer = exchange.status.is_some() && exchange.response.is_some();
        let wrong = if bodies.any(|body: &Body| body.bytes().is_none()) {
            "a body is no base64"
        } else if has_answer == exchange.failure.is_some() {
            "it needs a status and a response, or else a failure"
        } else {
            continue;
        };
        return Err(format!("model[{index}]: {wrong}"));
    }
    Ok(())
}

/// A cassette, with its runs as they are written.
#[derive(Deserialize)]
struct Outline<'a> {
    #[serde(borrow)]
    runs: Vec<BTreeMap<String, &'a RawValue>>,
}

/// Checks the run of a process. What is wrong begins with its path in the run.
fn check_process(run: &BTreeMap<String, &RawValue>) -> Result<(), String> {
    if run.contains_key("model") || run.contains_key("tools") {
        let what = ": a run has `trace`, or else `model` and `tools`, but not both";
        return Err(what.to_owned());
    }
    let trace = run.get("trace").map_or("null", |trace| trace.get());
    let imported = import_as(trace, Format::AgentTrace).map_err(|error| {
        let path = error.path.map(|path| format!(".{path}"));
        format!(".trace{}: {}", path.unwrap_or_default(), error.message)
    })?;
    // A file of somebody else may have more than we know; what we wrote has not.
    if let Some(note) = imported.notes.first() {
        return Err(format!(".trace: {note}"));
    }
    match imported.trace.runs.as_slice() {
        [run] => check_times(run).map_err(|what| format!(".trace{what}")),
        runs => Err(format!(".trace: it has {} runs, not one", runs.len())),
    }
}

fn check_times(run: &AgentRun) -> Result<(), String> {
    let longest = DURATION_MAX.as_secs_f64() * 1e3;
    let duration = run.conversation.as_ref().and_then(|it| it.duration_ms);
    if let Some(duration) = duration
        && !(0.0..=longest).contains(&duration)
    {
        return Err(format!(
            ".conversation.duration_ms: it is {duration}, and not between 0 and {longest}"
        ));
    }
    for (index, mark) in run.faults.iter().enumerate() {
        check_mark(mark).map_err(|what| format!(".faults[{index}]{what}"))?;
    }
    Ok(())
}

fn check_mark(mark: &FaultMark) -> Result<(), String> {
    let times = [
        ("delay_ms", mark.delay_ms.map(i128::from)),
        ("detected_ms", mark.detected_ms.map(i128::from)),
        ("recovered_ms", mark.recovered_ms.map(i128::from)),
        ("watched_ms", mark.watched_ms.map(i128::from)),
        ("left_ms", mark.left_ms.map(i128::from)),
    ];
    let longest = DURATION_MAX.as_millis().cast_signed();
    for (key, time) in times {
        if time.is_some_and(|time| !(0..=longest).contains(&time)) {
            return Err(format!(".{key}: it is not between 0 and {longest}"));
        }
    }
    match mark.detected_ms.zip(mark.recovered_ms) {
        Some((detected, recovered)) if detected > recovered => Err(format!(
            ".recovered_ms: it is {recovered}, before detected_ms, which is {detected}"
        )),
        _ => Ok(()),
    }
}
