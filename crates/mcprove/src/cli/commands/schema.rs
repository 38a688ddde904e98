//! `mcprove schema`: the published JSON Schemas, generated from the types.

use mcprove_check::health::ProbeReport;
use mcprove_fault::file as faults;
use mcprove_lab::audit::AuditList;
use mcprove_load::config as load;
use mcprove_load::run::{RecordingReport, Report, Summary};
use mcprove_proxy::ProxySummary;
use mcprove_score::report::ScoreDocument;
use mcprove_servers::tools_file as mock;
use mcprove_settings::schemars::{Schema, schema_for};
use mcprove_suite::agent::cassette::Cassette;
use mcprove_suite::{Validation, file};
use mcprove_trace::{AgentTraceFile, TraceRecord};

use crate::prelude::*;

/// The published formats: the name of each, and what it describes.
const FORMATS: &str = include_str!("../explain/formats.txt");

/// The schema of a format, by its name without the version.
fn schema(name: &str) -> Option<Schema> {
    Some(match name {
        "agent-trace" => schema_for!(AgentTraceFile),
        "audit-comparison" => schema_for!(RowComparison),
        "audit" => schema_for!(AuditList),
        "cassette" => schema_for!(Cassette),
        "comparison" => schema_for!(ComparisonReport),
        "config" => made(load::schema::schema()),
        "faults" => made(faults::schema()),
        "gates" => made(gates::schema()),
        "metrics" => schema_for!(Report),
        "mock" => made(mock::schema()),
        "probe" => schema_for!(ProbeReport),
        "proxy-summary" => schema_for!(ProxySummary),
        "recording-report" => schema_for!(RecordingReport),
        "runs" => schema_for!(RunList),
        "score" => schema_for!(ScoreDocument<'static>),
        "side-by-side" => schema_for!(SideBySide),
        "suite-list" => schema_for!(SuiteList),
        "suite-report" => schema_for!(SuiteReport),
        "suite" => made(file::schema()),
        "summary" => schema_for!(Summary),
        "trace" => schema_for!(TraceRecord),
        "validation" => schema_for!(Validation),
        _ => return None,
    })
}

/// A schema that is not made from a type.
fn made(schema: Value) -> Schema {
    Schema::try_from(schema).unwrap_or_default()
}

/// Arguments of `mcprove schema`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The format, with or without its version; without a name they are listed
    name: Option<String>,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result {
    let Some(name) = &arguments.name else {
        terminal::print(FORMATS);
        return Ok(ExitCode::Passed);
    };
    let wanted = name.strip_suffix(".v1").unwrap_or(name);
    let Some(schema) = schema(wanted) else {
        let known: Vec<&str> = known().collect();
        let otherwise = format!("known formats: {}", known.join(", "));
        let hint = meant(nearest(known.iter().copied(), wanted), otherwise);
        return refuse(format!("no format is called {name:?}"), hint);
    };
    terminal::print(&json(&schema)?);
    Ok(ExitCode::Passed)
}

/// The names of the formats, without their version.
fn known() -> impl Iterator<Item = &'static str> {
    FORMATS
        .lines()
        .filter_map(|line| Some(line.split_once(".v1 ")?.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_that_is_listed_has_a_schema() {
        for name in known() {
            assert!(schema(name).is_some(), "{name}");
        }
    }
}
