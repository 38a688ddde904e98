//! The published formats.

use std::path::Path;

use harness::ServerKind;

use crate::probe_real::{command, servers};
use crate::support::{MCPROVE, in_parallel, in_parallel_real, probe, run};

const FORMATS: [&str; 22] = [
    "agent-trace.v1",
    "audit-comparison.v1",
    "audit.v1",
    "cassette.v1",
    "comparison.v1",
    "config.v1",
    "faults.v1",
    "gates.v1",
    "metrics.v1",
    "mock.v1",
    "probe.v1",
    "proxy-summary.v1",
    "recording-report.v1",
    "runs.v1",
    "score.v1",
    "side-by-side.v1",
    "suite-list.v1",
    "suite-report.v1",
    "suite.v1",
    "summary.v1",
    "trace.v1",
    "validation.v1",
];

/// The committed schema of a format.
pub fn committed(format: &str) -> String {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap();
    let file = workspace.join("schema").join(format!("{format}.json"));
    // Git may have changed the line ends.
    std::fs::read_to_string(file).unwrap().replace("\r\n", "\n")
}

/// Checks values against the committed schema of a format.
pub fn validator(format: &str) -> jsonschema::Validator {
    let schema = serde_json::from_str(&committed(format)).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

#[test]
fn the_committed_schemas_are_those_that_the_command_prints() {
    for format in FORMATS {
        let short = format.strip_suffix(".v1").unwrap();
        for name in [format, short] {
            let output = run(&["schema", name]);
            assert_eq!(output.code, Some(0), "{output:?}");
            assert_eq!(
                output.stdout,
                committed(format),
                "schema/{format}.json is out of date"
            );
        }
    }
}

#[test]
fn the_formats_are_listed() {
    let output = run(&["schema"]);
    assert_eq!(output.code, Some(0));
    let names: Vec<_> = output
        .stdout
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert_eq!(names, FORMATS);
}

#[test]
fn every_report_is_of_its_format() {
    let validator = validator("probe.v1");
    let modes: [&[&str]; 9] = [
        &["normal"],
        &["asks"],
        &["destructive"],
        &["paged"],
        &["tool_error"],
        &["noise"],
        &["lazy_init"],
        &["malformed", "--set", "every=1"],
        &["crash", "--set", "every=1"],
    ];
    in_parallel(modes, |mode| {
        let server = [["--", MCPROVE, "fixture"].as_slice(), mode].concat();
        let output = probe(&[["--call-timeout", "2s"].as_slice(), &server].concat());
        problems(&validator, mode[0], &output.stdout)
    });
}

#[test]
fn every_report_of_a_real_server_is_of_its_format() {
    let Some(servers) = servers() else { return };
    let validator = validator("probe.v1");
    let kinds = [ServerKind::Mcp1, ServerKind::Mcp2, ServerKind::Rmcp];
    in_parallel_real(kinds, |kind| {
        let output = probe(&command(&servers, kind));
        problems(&validator, kind.name(), &output.stdout)
    });
}

fn problems(validator: &jsonschema::Validator, label: &str, json: &str) -> Vec<String> {
    match serde_json::from_str(json) {
        Ok(value) => validator
            .iter_errors(&value)
            .map(|error| format!("{label}: {error} at {}", error.instance_path()))
            .collect(),
        Err(error) => vec![format!("{label}: {error}: {json}")],
    }
}
