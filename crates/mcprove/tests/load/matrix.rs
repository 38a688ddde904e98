//! Every scenario on every built-in server: what each pair finds, as one table.
//!
//! A cell names the critical findings. `-` is none, `?` marks what is inconclusive, `!` a run that
//! cannot be done at all.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mcprove_client::server::Server;
use mcprove_client::session::SessionOptions;
use mcprove_load::drive::scenario::ENTRIES;
use mcprove_load::run::report::{Report, RunOutcome};
use mcprove_load::run::{Run, RunError, Thresholds};
use mcprove_score::machine::Machine;
use mcprove_score::verdict::{Outcome, Severity};
use mcprove_servers::fixture;

use crate::support::{HANG, MCPROVE, scenario};

/// How many runs are made at the same time.
const AT_ONCE: usize = 4;

/// How many times longer a call may take in the second run of a cell.
const PATIENCE: u32 = 3;

/// Detectors that need more calls or time than these short runs have on a busy machine: whether
/// they come to a conclusion here says nothing.
const DEPENDS_ON_TIME: [&str; 9] = [
    "latency_drift",
    "throughput_drift",
    "descriptor_leak",
    "thread_leak",
    "process_leak",
    "head_of_line",
    "isolation",
    "leak",
    "spike_recovery",
];

/// What is true of a built-in server, and only seen if the machine is slow or the run is long.
const SEEN_LATE: [(&str, &str); 2] = [
    ("resource_leak", "descriptor_leak"),
    ("lost", "spike_recovery"),
];

const TABLE: &str = include_str!("matrix.txt");

/// A mode and, after a colon, its setting.
fn split(mode: &str) -> (&str, Option<&str>) {
    mode.split_once(':')
        .map_or((mode, None), |(mode, setting)| (mode, Some(setting)))
}

/// A built-in server.
fn server(mode: &str) -> Server {
    let (mode, setting) = split(mode);
    let server = Server::stdio(MCPROVE)
        .args(["fixture", mode])
        .shutdown_timeout(Duration::from_secs(2));
    // It never answers, however long one waits.
    let server = match mode {
        "silent" => server.startup_timeout(Duration::from_secs(1)),
        _ => server,
    };
    match setting {
        Some(setting) => server.args(["--set", setting]),
        None => server,
    }
}

async fn run(mode: &str, name: &str, hang: Duration) -> Result<Report, RunError> {
    let mut session = SessionOptions::default();
    if split(mode).0 == "huge" {
        // Too much for this client, and yet little work for the machine that runs all of these.
        session.max_frame = 50_000;
    }
    Run::new(server(mode), scenario(name).allow_writes(true))
        .with_session(session)
        .with_thresholds(Thresholds {
            hang_timeout: hang,
            grace_period: hang,
            ..Thresholds::default()
        })
        .with_calibration(false)
        .execute()
        .await
}

/// What a run found, as a cell of the table.
fn cell(outcome: &Result<Report, RunError>) -> String {
    let Ok(report) = outcome else {
        return "!".to_owned();
    };
    let mut found: Vec<String> = report
        .verdicts
        .iter()
        .filter_map(|verdict| match (verdict.outcome, verdict.severity) {
            (Outcome::Finding, Severity::Critical) => Some(verdict.detector.clone()),
            (Outcome::Inconclusive, _) if !DEPENDS_ON_TIME.contains(&&*verdict.detector) => {
                Some(format!("?{}", verdict.detector))
            }
            _ => None,
        })
        .collect();
    found.sort();
    found.dedup();
    assert_eq!(
        report.outcome() != RunOutcome::Failed,
        found.iter().all(|name| name.starts_with('?')),
        "{report:?}"
    );
    // How many of the calls in flight a crash takes with it is a matter of chance.
    found.retain(|name| name != "errors");
    if found.is_empty() {
        "-".to_owned()
    } else {
        found.join(",")
    }
}

/// Whether a run found what the table says. What depends on time may be open where other work kept the machine busy.
fn fits(mode: &str, outcome: &Result<Report, RunError>, expected: &str) -> bool {
    let found = cell(outcome);
    let Ok(report) = outcome else {
        return found == expected;
    };
    let names = |cell: &str| -> BTreeSet<String> {
        let names = cell.split(',').filter(|name| *name != "-");
        names.map(str::to_owned).collect()
    };
    let is_quiet = report
        .machine
        .is_none_or(|machine| machine.state() == Machine::Quiet);
    let is_open = |name: &String| {
        let mut verdicts = report.verdicts.iter();
        !is_quiet
            && DEPENDS_ON_TIME.contains(&name.as_str())
            && verdicts.any(|it| it.detector == *name && it.outcome == Outcome::Inconclusive)
    };
    let is_seen_late = |name: &String| SEEN_LATE.contains(&(split(mode).0, name.as_str()));
    let (found, expected) = (names(&found), names(expected));
    expected.difference(&found).all(is_open) && found.difference(&expected).all(is_seen_late)
}

/// The table: by mode, by scenario.
fn table() -> BTreeMap<&'static str, BTreeMap<&'static str, &'static str>> {
    let mut lines = TABLE.lines().filter(|line| !line.starts_with('#'));
    let header: Vec<&str> = lines.next().unwrap().split_whitespace().skip(1).collect();
    lines
        .map(|line| {
            let mut cells = line.split_whitespace();
            let mode = cells.next().unwrap();
            (mode, header.iter().copied().zip(cells).collect())
        })
        .collect()
}

/// Runs one column of the table and tells where it is not true. On a busy machine a short run may end before it has
/// seen anything, so what differs is run once more, alone and with more patience, and counts if it differs again.
async fn check(name: &'static str) {
    let rows = table();
    let mut pending: Vec<(&str, &str)> = rows
        .iter()
        .map(|(mode, cells)| (*mode, *cells.get(name).unwrap()))
        .collect();
    pending.reverse();
    let mut running = tokio::task::JoinSet::new();
    let mut doubtful = Vec::new();
    loop {
        while running.len() < AT_ONCE
            && let Some((mode, expected)) = pending.pop()
        {
            running.spawn(async move { (mode, expected, run(mode, name, HANG).await) });
        }
        let Some(joined) = running.join_next().await else {
            break;
        };
        let (mode, expected, outcome) = joined.unwrap();
        if !fits(mode, &outcome, expected) {
            doubtful.push((mode, expected));
        }
    }
    let mut wrong = Vec::new();
    for (mode, expected) in doubtful {
        let outcome = run(mode, name, HANG * PATIENCE).await;
        if !fits(mode, &outcome, expected) {
            let found = cell(&outcome);
            let detail = match &outcome {
                Ok(report) => format!("{:?} {:?}", report.verdicts, report.errors),
                Err(error) => error.to_string(),
            };
            wrong.push(format!(
                "{name} on {mode}: found {found}, not {expected}\n    {detail}"
            ));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn every_scenario_and_every_built_in_server_is_in_the_table() {
    let rows = table();
    for entry in ENTRIES {
        assert!(rows["normal"].contains_key(entry.name), "{}", entry.name);
    }
    let modes: BTreeSet<&str> = rows.keys().map(|mode| split(mode).0).collect();
    for entry in fixture::ENTRIES {
        assert!(modes.contains(entry.name), "{}", entry.name);
    }
    for (mode, cells) in &rows {
        assert_eq!(cells.len(), ENTRIES.len(), "{mode}");
    }
}

macro_rules! columns {
    ($($name:ident)*) => {
        $(
            #[tokio::test]
            async fn $name() {
                check(stringify!($name)).await;
            }
        )*
    };
}

columns! {
    cold_start sustained spike ramp soak pattern deadlock_probe race_check fuzzer slow_mix
    reconnect churn early_call interrupted_call
}
