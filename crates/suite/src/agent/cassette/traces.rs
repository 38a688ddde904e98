//! The traces in a cassette of a process, held to the same as files of traces, and to more: a recording is written
//! by nobody but us, so that there is no reason for anything odd in it.

use mcprove_import::{Format, import_as};
use mcprove_trace::{AgentRun, FaultMark};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::format::DURATION_MAX;

/// A cassette, as far as it has traces.
#[derive(Deserialize)]
struct Outline<'a> {
    #[serde(borrow)]
    runs: Vec<RunOutline<'a>>,
}

/// A run, as it is written.
#[derive(Deserialize)]
struct RunOutline<'a> {
    #[serde(borrow, default)]
    trace: Option<&'a RawValue>,
    #[serde(borrow, default)]
    model: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tools: Option<&'a RawValue>,
}

/// Checks the traces in the text of a cassette. What is wrong comes back, with its place.
pub(super) fn check(text: &str) -> Result<(), String> {
    let outline: Outline<'_> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    for (index, run) in outline.runs.iter().enumerate() {
        check_run(run).map_err(|what| format!("runs[{index}]{what}"))?;
    }
    Ok(())
}

fn check_run(run: &RunOutline<'_>) -> Result<(), String> {
    if run.model.is_some() || run.tools.is_some() {
        let what = ": a run has `trace`, or else `model` and `tools`, but not both";
        return Err(what.to_owned());
    }
    let trace = run.trace.map_or("null", RawValue::get);
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
    let unsigned = |time: Option<i64>| time.map(|time| u64::try_from(time).unwrap_or(u64::MAX));
    let longest = u64::try_from(DURATION_MAX.as_millis()).unwrap_or(u64::MAX);
    let times = [
        ("delay_ms", mark.delay_ms),
        ("detected_ms", unsigned(mark.detected_ms)),
        ("recovered_ms", unsigned(mark.recovered_ms)),
        ("watched_ms", mark.watched_ms),
        ("left_ms", mark.left_ms),
    ];
    let is_odd = |time: &u64| *time > longest;
    if let Some((key, _)) = times
        .iter()
        .find(|(_, time)| time.as_ref().is_some_and(is_odd))
    {
        return Err(format!(".{key}: it is not between 0 and {longest}"));
    }
    match mark.detected_ms.zip(mark.recovered_ms) {
        Some((detected, recovered)) if detected > recovered => Err(format!(
            ".recovered_ms: it is {recovered}, before detected_ms, which is {detected}"
        )),
        _ => Ok(()),
    }
}
