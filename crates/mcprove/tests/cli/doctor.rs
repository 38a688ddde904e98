//! `mcprove doctor`.

use harness::ServerKind;
use serde_json::Value;

use crate::probe_real::{command, servers};
use crate::support::{
    Fixture, MCPROVE, Output, assert_snapshot, in_parallel, in_parallel_real, run,
};

/// The checklist with a server.
fn examine(arguments: &[&str]) -> (Output, Vec<Value>) {
    let output = run(&[["doctor", "--json"].as_slice(), arguments].concat());
    let items = serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    (output, items)
}

/// The item of this name.
fn item<'a>(items: &'a [Value], name: &str) -> &'a Value {
    let found = items.iter().find(|item| item["name"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {items:?}"))
}

#[test]
fn a_machine_can_start_servers() {
    let (_, items) = examine(&[]);
    // What else is installed differs from machine to machine.
    assert_eq!(item(&items, "starting servers")["passed"], true);
    assert_eq!(item(&items, "open files")["passed"], true);
    let are_well = items.iter().all(|item| item["passed"] == true);
    for item in &items {
        assert_eq!(item["passed"] == false, item["fix"].is_string(), "{item}");
    }
    assert_eq!(run(&["doctor"]).code, Some(i32::from(!are_well)));
}

#[test]
fn each_fault_has_its_item() {
    let cases = [
        ("noise", "protocol"),
        ("exit_at_start", "connecting"),
        ("silent", "connecting"),
        ("deaf", "connecting"),
    ];
    let found = cases.map(|(mode, name)| {
        let server = ["--startup-timeout", "2s", "--", MCPROVE, "fixture", mode];
        let (output, items) = examine(&server);
        assert_eq!(output.code, Some(1), "{output:?}");
        format!("{mode}: {:#}", item(&items, name))
    });
    assert_snapshot!("doctor_faults", found.join("\n"));
}

#[test]
fn the_stderr_of_a_server_that_exits_is_evidence() {
    let output = run(&["doctor", "--", MCPROVE, "fixture", "exit_at_start"]);
    assert_eq!(output.code, Some(1));
    assert!(
        output.stdout.contains("| boom: missing API_KEY"),
        "{output:?}"
    );
}

#[test]
fn a_healthy_server_is_well_over_every_transport() {
    in_parallel(["stdio", "http", "sse", "ws"], |transport| {
        let running = (transport != "stdio").then(|| Fixture::start(transport, &["normal"]));
        let target = match &running {
            Some(fixture) => vec!["--url", fixture.url.as_str()],
            None => vec!["--", MCPROVE, "fixture", "normal"],
        };
        problems(transport, &target)
    });
}

#[test]
fn every_real_server_is_well() {
    let Some(servers) = servers() else { return };
    in_parallel_real(ServerKind::ALL, |kind| {
        let words = command(&servers, kind);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut found = problems(kind.name(), &words);
        if kind == ServerKind::Everything {
            // It waits a minute for the answer to a question of its own that came too late.
            found.retain(|problem| !problem.contains("\"name\":\"ending\""));
        }
        found
    });
}

/// The items about a server that failed.
fn problems(label: &str, target: &[&str]) -> Vec<String> {
    let (output, items) = examine(target);
    let about_server = items.iter().skip_while(|item| item["name"] != "connecting");
    let failed: Vec<&Value> = about_server.filter(|item| item["passed"] != true).collect();
    assert_eq!(item(&items, "tools/list")["passed"], true, "{output:?}");
    failed
        .iter()
        .map(|item| format!("{label}: {item}"))
        .collect()
}
