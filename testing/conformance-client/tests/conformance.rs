//! Runs the official MCP conformance suite against the client of the library.
//!
//! A scenario in which the client does nothing passes too, so the exit code is not enough: the
//! number of checks that succeeded and the revision that was spoken are asserted as well.

#![allow(clippy::unwrap_used, reason = "the helpers of tests are tests")]

mod suite;

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use suite::Suite;

/// How many scenarios run at the same time; each is two processes.
const WORKERS: usize = 2;
/// The revision that is agreed on when the client asks for the newest handshake.
const NEWEST_HANDSHAKE: &str = "2025-11-25";
const STATELESS: &str = "2026-07-28";

/// A scenario at a revision, and how many of its checks succeed.
struct Case {
    scenario: &'static str,
    revision: &'static str,
    successes: usize,
}

const fn case(scenario: &'static str, revision: &'static str, successes: usize) -> Case {
    Case {
        scenario,
        revision,
        successes,
    }
}

/// Every applicable scenario at every revision that it has.
const CASES: [Case; 15] = [
    case("initialize", "2025-06-18", 1),
    case("initialize", "2025-11-25", 1),
    case("tools_call", "2025-06-18", 2),
    case("tools_call", "2025-11-25", 2),
    case("tools_call", "2026-07-28", 2),
    case("elicitation-sep1034-client-defaults", "2025-11-25", 5),
    case("sse-retry", "2025-11-25", 3),
    case("request-metadata", "2026-07-28", 8),
    case("sep-2322-client-request-state", "2026-07-28", 5),
    case("http-standard-headers", "2026-07-28", 9),
    case("http-custom-headers", "2026-07-28", 18),
    case("http-invalid-tool-headers", "2026-07-28", 12),
    case("json-schema-ref-no-deref", "2026-07-28", 1),
    case("json-schema-2020-12-preservation", "2025-11-25", 9),
    case("json-schema-2020-12-preservation", "2026-07-28", 9),
];

#[test]
fn the_client_conforms_at_every_revision() {
    let Some(suite) = Suite::find() else { return };
    run_all(&suite, "", |case| case.revision);
}

#[test]
fn the_client_conforms_when_it_finds_out_the_revision_itself() {
    let Some(suite) = Suite::find() else { return };
    run_all(&suite, "--auto", |case| match case.revision {
        STATELESS => STATELESS,
        _ => NEWEST_HANDSHAKE,
    });
}

#[test]
fn every_scenario_of_the_suite_is_accounted_for() {
    let Some(suite) = Suite::find() else { return };
    let page = include_str!("../../../docs/conformance.md");
    let mut applicable = BTreeSet::new();
    for (scenario, revisions) in suite.client_scenarios() {
        assert!(
            page.contains(&format!("`{scenario}`")),
            "docs/conformance.md lacks {scenario}"
        );
        let is_extension = revisions == ["extension"];
        if !scenario.starts_with("auth/") && !is_extension {
            applicable.extend(
                revisions
                    .into_iter()
                    .map(|revision| (scenario.clone(), revision)),
            );
        }
    }
    let covered: BTreeSet<(String, String)> = CASES
        .iter()
        .map(|case| (case.scenario.to_owned(), case.revision.to_owned()))
        .collect();
    assert_eq!(covered, applicable);
}

/// Runs every case with the client started with `flag`, and reports all that went wrong.
fn run_all(suite: &Suite, flag: &str, spoken: fn(&Case) -> &'static str) {
    let next = AtomicUsize::new(0);
    let problems = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some(case) = CASES.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(problem) = run(suite, flag, case, spoken(case)) {
                        problems.lock().unwrap().push(problem);
                    }
                }
            });
        }
    });
    let problems = problems.into_inner().unwrap();
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
}

fn run(suite: &Suite, flag: &str, case: &Case, spoken: &str) -> Result<(), String> {
    let outcome = suite.run(case.scenario, case.revision, flag);
    let successes = outcome
        .statuses
        .iter()
        .filter(|status| *status == "SUCCESS")
        .count();
    let has_spoken = outcome.client_said.contains(&format!("speaking {spoken} "));
    if outcome.passed && successes == case.successes && has_spoken {
        return Ok(());
    }
    Err(format!(
        "{} at {} {flag}: {successes} of {} checks succeeded, revision {spoken} spoken: {has_spoken}\n{}\n{}",
        case.scenario, case.revision, case.successes, outcome.suite_said, outcome.client_said,
    ))
}
