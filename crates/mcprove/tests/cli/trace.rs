//! `--trace`: every line is a record of the published format.

use std::collections::BTreeMap;

use harness::ServerKind;
use mcprove_trace::TraceRecord;
use serde_json::Value;

use crate::probe_real::{command, servers};
use crate::schema::validator;
use crate::support::{MCPROVE, Output, in_parallel, in_parallel_real, probe};

/// Probes with a trace, and gives its lines.
fn traced(arguments: &[String]) -> (Output, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.jsonl");
    let mut all = vec!["--trace".to_owned(), path.display().to_string()];
    all.extend_from_slice(arguments);
    let output = probe(&all);
    let text = std::fs::read_to_string(path).unwrap_or_default();
    (output, text.lines().map(str::to_owned).collect())
}

/// What is wrong with the lines of a trace: each must be a record, and each request must end.
fn problems(label: &str, validator: &jsonschema::Validator, lines: &[String]) -> Vec<String> {
    let mut problems = Vec::new();
    let mut open: BTreeMap<(u64, u64), &str> = BTreeMap::new();
    let mut last = 0.0;
    for line in lines {
        if let Err(error) = serde_json::from_str::<TraceRecord>(line) {
            problems.push(format!("{label}: {error}: {line}"));
            continue;
        }
        let value: Value = serde_json::from_str(line).unwrap();
        let invalid = validator.iter_errors(&value);
        problems.extend(invalid.map(|error| format!("{label}: {error}: {line}")));
        let number = |name: &str| value[name].as_u64().unwrap_or_default();
        let key = (number("session"), number("request_id"));
        match value["kind"].as_str() {
            Some("request") => drop(open.insert(key, line)),
            Some("response" | "error") => drop(open.remove(&key)),
            _ => {}
        }
        let time = value["ts"].as_f64().unwrap_or_default();
        if time < last {
            problems.push(format!("{label}: out of order: {line}"));
        }
        last = time;
    }
    problems.extend(
        open.values()
            .map(|line| format!("{label}: never ends: {line}")),
    );
    if !lines.iter().any(|line| line.contains("\"tools/call\"")) {
        problems.push(format!("{label}: no call in {lines:?}"));
    }
    problems
}

#[test]
fn every_line_is_a_record() {
    let validator = validator("trace.v1");
    let modes: [&[&str]; 11] = [
        &["normal"],
        &["asks"],
        &["paged"],
        &["progress"],
        &["tasks"],
        &["tool_error"],
        &["error"],
        &["noise"],
        &["lazy_init"],
        &["malformed", "--set", "every=1"],
        &["crash", "--set", "every=1"],
    ];
    let jobs = modes
        .into_iter()
        .flat_map(|mode| ["2025-11-25", "2026-07-28"].map(|protocol| (mode, protocol)));
    in_parallel(jobs, |(mode, protocol)| {
        let options = [
            "--call-timeout",
            "2s",
            "--protocol",
            protocol,
            "--",
            MCPROVE,
            "fixture",
        ];
        let arguments: Vec<String> = options
            .iter()
            .chain(mode)
            .map(|&word| word.into())
            .collect();
        let (_, lines) = traced(&arguments);
        problems(&format!("{mode:?} {protocol}"), &validator, &lines)
    });
}

#[test]
fn every_line_about_a_real_server_is_a_record() {
    let Some(servers) = servers() else { return };
    let validator = validator("trace.v1");
    let kinds = [
        ServerKind::Mcp1,
        ServerKind::Mcp2,
        ServerKind::Fastmcp,
        ServerKind::Rmcp,
    ];
    in_parallel_real(kinds, |kind| {
        let (output, lines) = traced(&command(&servers, kind));
        let mut found = problems(kind.name(), &validator, &lines);
        if output.code != Some(0) {
            found.push(format!("{}: {output:?}", kind.name()));
        }
        found
    });
}

#[test]
fn a_trace_is_written_for_a_server_that_cannot_be_probed() {
    let arguments = ["--", MCPROVE, "fixture", "exit_at_start"].map(str::to_owned);
    let (output, lines) = traced(&arguments);
    assert_eq!(output.code, Some(2), "{output:?}");
    for line in lines {
        serde_json::from_str::<TraceRecord>(&line).unwrap();
    }
}
