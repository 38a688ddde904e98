//! The server scenarios of the official conformance suite, against `mcprove lab`.
//!
//! A scenario whose checks were all skipped passes too, so the exit code is not enough: how many checks
//! succeeded is asserted as well.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use harness::{RealServers, ServerCommand, require};
use serde_json::Value;

use crate::support::{Fixture, finish, mcprove};

/// The revisions that the suite has server scenarios for, with how many scenarios each has and how many
/// of their checks succeed.
const REVISIONS: [(&str, usize, usize); 4] = [
    ("2025-03-26", 1, 3),
    ("2025-06-18", 27, 56),
    ("2025-11-25", 33, 83),
    ("2026-07-28", 40, 152),
];

/// What is not asked of the lab: extensions that it does not have. docs/lab.md says so.
const EXTENSIONS: [&str; 2] = ["tasks-", "sep-2640-"];

fn suite() -> Option<ServerCommand> {
    let servers = RealServers::locate();
    let suite = servers.map(|servers| servers.conformance());
    let suite = suite.filter(|suite| suite.args.iter().all(|script| Path::new(script).is_file()));
    let what = "the conformance suite (cargo xtask setup)";
    require(what, suite.is_some()).then_some(())?;
    suite
}

fn start(suite: &ServerCommand, arguments: &[&str]) -> Command {
    let mut command = Command::new(&suite.program);
    command.args(&suite.args).args(arguments);
    command
}

/// How every check of a run ended, by scenario.
fn statuses(folder: &Path) -> BTreeMap<String, Vec<String>> {
    std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let text = std::fs::read_to_string(path.join("checks.json")).unwrap();
            let checks: Vec<Value> = serde_json::from_str(&text).unwrap();
            let statuses = checks.iter().map(|check| {
                let (status, id) = (&check["status"], &check["id"]);
                format!("{} {}", status.as_str().unwrap(), id.as_str().unwrap())
            });
            (path.display().to_string(), statuses.collect())
        })
        .collect()
}

#[test]
fn every_scenario_passes_at_every_revision() {
    let Some(suite) = suite() else { return };
    let server = Fixture::start_command(mcprove(&[
        "lab",
        "--http",
        "127.0.0.1:0",
        "--conformance-fixtures",
    ]));
    for (revision, scenarios, successes) in REVISIONS {
        let folder = tempfile::tempdir().unwrap();
        let results = folder.path().display().to_string();
        let output = finish(start(
            &suite,
            &[
                "server",
                "--url",
                &server.url,
                "--suite",
                "all",
                "--spec-version",
                revision,
                "--output-dir",
                &results,
            ],
        ));
        assert_eq!(output.code, Some(0), "{revision}: {}", output.stdout);
        let found = statuses(folder.path());
        let checks: Vec<&String> = found.values().flatten().collect();
        let is = |check: &&&String, status: &str| check.starts_with(status);
        let bad: Vec<_> = checks
            .iter()
            .filter(|check| !is(check, "SUCCESS") && !is(check, "INFO"))
            .collect();
        assert!(bad.is_empty(), "{revision}: {bad:?}");
        let succeeded = checks.iter().filter(|check| is(check, "SUCCESS")).count();
        assert_eq!(
            (found.len(), succeeded),
            (scenarios, successes),
            "{revision}"
        );
    }
}

#[test]
fn every_server_scenario_of_the_suite_is_accounted_for() {
    let Some(suite) = suite() else { return };
    let output = finish(start(&suite, &["list", "--server"]));
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for line in output.stdout.lines() {
        let listed = line.trim().strip_prefix("- ");
        let Some((name, revisions)) = listed.and_then(|line| line.split_once(" [")) else {
            continue;
        };
        for revision in revisions.trim_end_matches(']').split(',') {
            let is_left_out = EXTENSIONS.iter().any(|prefix| name.starts_with(prefix));
            assert_eq!(revision == "extension", is_left_out, "{name}");
            if !is_left_out {
                *counts.entry(revision).or_default() += 1;
            }
        }
    }
    let expected: BTreeMap<&str, usize> = REVISIONS
        .iter()
        .map(|(revision, count, _)| (*revision, *count))
        .collect();
    assert_eq!(counts, expected);
}
