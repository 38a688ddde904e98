//! Comparing runs that were made before, by their directories.

use mcprove_score::compare::CompareLimits;

use super::Gathered;
use crate::prelude::*;

/// The most runs that are taken from one directory, the newest.
const RUNS_PER_DIRECTORY_MAX: usize = 256;

/// Compares recorded runs. Each path is the directory of a run, or one that holds several; all
/// paths of a side are taken together.
///
/// ```no_run
/// use std::path::PathBuf;
/// use mcprove_load::run::compare_recorded;
///
/// let report = compare_recorded(
///     &[PathBuf::from("runs/before")],
///     &[PathBuf::from("runs/after")],
///     &Default::default(),
/// ).unwrap();
/// println!("{:?}", report.change());
/// ```
pub fn compare_recorded(
    baseline: &[PathBuf],
    current: &[PathBuf],
    limits: &CompareLimits,
) -> Result<ComparisonReport, CompareError> {
    let mut sides = <[Gathered; 2]>::default();
    let mut warnings = Vec::new();
    for (paths, side) in [baseline, current].into_iter().zip(&mut sides) {
        for path in paths {
            gather(path, side, &mut warnings)?;
        }
        // A ULID begins with the time.
        side.runs
            .sort_by(|one, other| one.run_id.cmp(&other.run_id));
    }
    let [before, now] = sides.each_ref().map(|side| -> BTreeSet<&str> {
        side.runs.iter().map(|run| run.run_id.as_str()).collect()
    });
    let both: Vec<&str> = before.intersection(&now).copied().collect();
    if !both.is_empty() {
        warnings.push(format!(
            "on both sides: {}; a run compared with itself is always unchanged",
            both.join(", ")
        ));
    }
    Ok(ComparisonReport::new(sides, warnings, limits))
}

/// Adds the runs at `path`.
fn gather(
    path: &Path,
    side: &mut Gathered,
    warnings: &mut Vec<String>,
) -> Result<(), CompareError> {
    let shown = path.display().to_string();
    if let Ok(directory) = RunDirectory::open(path) {
        let report = read(&directory).map_err(|error| refused(error, &shown))?;
        side.add(&report, Some(path.to_owned()));
        return Ok(());
    }
    let mut entries =
        list_runs(path, RUNS_PER_DIRECTORY_MAX + 1).map_err(|source| CompareError::Io {
            path: shown.clone(),
            source,
        })?;
    if entries.is_empty() {
        return Err(CompareError::NoRun { path: shown });
    }
    if entries.len() > RUNS_PER_DIRECTORY_MAX {
        entries.truncate(RUNS_PER_DIRECTORY_MAX);
        warnings.push(format!(
            "{shown} holds more than {RUNS_PER_DIRECTORY_MAX} runs: only the newest count"
        ));
    }
    let mut last_problem = None;
    let before = side.runs.len();
    for RunEntry { directory, report } in entries {
        let report = report.map_or_else(|_| read(&directory), |report| judged(*report));
        match report {
            // Compared without it, the rest would be another question than was asked.
            Err(error @ FormatError::Other { .. }) => return Err(CompareError::Format(error)),
            Ok(report) => {
                side.add(&report, Some(directory.path().to_owned()));
            }
            Err(error) => {
                let reason = error.to_string();
                let path = directory.path().display();
                warnings.push(format!("left out: {path}: {reason}"));
                last_problem = Some(reason);
            }
        }
    }
    match last_problem {
        Some(reason) if side.runs.len() == before => Err(CompareError::Unreadable {
            path: shown,
            reason,
        }),
        _ => Ok(()),
    }
}

fn refused(error: FormatError, path: &str) -> CompareError {
    match error {
        FormatError::Other { .. } => CompareError::Format(error),
        FormatError::Unreadable(reason) => CompareError::Unreadable {
            path: path.to_owned(),
            reason,
        },
    }
}

/// The report of a run: `metrics.json`, or computed again from a trace without one.
fn read(directory: &RunDirectory) -> Result<Report, FormatError> {
    if directory.metrics().exists() {
        return read_metrics(directory).and_then(judged);
    }
    match recompute(directory) {
        Ok(recomputed) => judged(recomputed.report),
        Err(RecomputeError::Read(TraceReadError::Format(error))) => Err(error),
        Err(error) => Err(FormatError::Unreadable(error.to_string())),
    }
}

/// Refuses a run in which this process ran out of something: it says nothing about the server.
fn judged(report: Report) -> Result<Report, FormatError> {
    match report.own_limit() {
        Some(limit) => Err(FormatError::Unreadable(limit.to_string())),
        None => Ok(report),
    }
}
