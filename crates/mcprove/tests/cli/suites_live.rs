//! `mcprove run` with suites while it runs: watching, being interrupted, progress.

#![cfg(unix)]

use std::io::Read as _;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::suites::{FAILS, Place, SUITE, TOOLS};
use crate::support::{assert_snapshot, wait};

/// Waits until a text was printed.
fn wait_for(read: impl Fn() -> String, part: &str) {
    let deadline = Instant::now() + Duration::from_mins(2);
    while !read().contains(part) {
        assert!(Instant::now() < deadline, "no {part:?} in {:?}", read());
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Starts a run whose output goes to a file.
fn start(place: &Place, arguments: &[&str], file: &str) -> Child {
    let output = std::fs::File::create(place.path(file)).unwrap();
    let mut command = place.command(arguments);
    command
        .stdin(Stdio::null())
        .stdout(output.try_clone().unwrap())
        .stderr(output);
    command.spawn().unwrap()
}

fn interrupt(child: &Child) {
    let id = child.id().to_string();
    let status = std::process::Command::new("kill")
        .args(["-INT", &id])
        .status();
    assert!(status.unwrap().success());
}

#[test]
fn watching_runs_again_on_a_change_and_outlives_a_broken_file() {
    let place = Place::new(&[SUITE]);
    let mut child = start(&place, &["suite.yml", "--watch"], "log");
    let log = || place.read("log");
    wait_for(log, "PASS  2 tests");
    wait_for(log, "waiting for changes");
    place.write("suite.yml", "servers: [");
    wait_for(log, "error: suite.yml:1");
    place.write("suite.yml", &[SUITE, FAILS].concat());
    wait_for(log, "FAIL  3 tests");
    place.write("tools.yml", &TOOLS.replace("found ", "found a zebra: "));
    wait_for(log, "PASS  3 tests");
    wait_for(log, "changed: ");
    std::thread::sleep(Duration::from_millis(100));
    interrupt(&child);
    let status = wait(&mut child).unwrap();
    assert_eq!(status.code(), Some(0), "{}", log());
}

#[test]
fn an_interrupted_run_tells_what_it_has() {
    let hangs = r"
  - name: hangs
    server: hanging
    tool: search
    args: { query: x }
    timeout_ms: 60000
";
    let hanging = "servers:\n  hanging: { mock: ./tools.yml, fault: hang }\n";
    let place = Place::new(&[&SUITE.replace("servers:\n", hanging), hangs]);
    let all = ["suite.yml", "--report", "json=report.json"];
    let mut child = start(&place, &all, "log");
    // By then the others have long ended.
    std::thread::sleep(Duration::from_secs(2));
    interrupt(&child);
    wait_for(|| place.read("log"), "stopping");
    interrupt(&child);
    let status = wait(&mut child).unwrap();
    assert_eq!(status.code(), Some(130), "{}", place.read("log"));
    let report: Value = serde_json::from_str(&place.read("report.json")).unwrap();
    assert_eq!(report["partial"], true);
    assert_eq!(report["passed"], false);
    assert_eq!(report["tests"][0]["outcome"], "passed", "{report}");
    assert_eq!(report["tests"][2]["outcome"], "skipped", "{report}");
    assert!(place.read("log").contains("INTERRUPTED"));
}

#[test]
fn progress_is_for_terminals_only() {
    let place = Place::new(&[SUITE]);
    let mut child = place
        .command(&["suite.yml"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut text = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    wait(&mut child).unwrap();
    assert_eq!(text, "");
}

#[cfg(unix)]
#[test]
fn a_load_that_is_broken_off_is_an_error_with_its_numbers() {
    let load = "load:\n  - name: long\n    server: fake\n    \
                scenario: { type: sustained, concurrent: 1, duration: 60s }\n";
    let place = Place::new(&[SUITE, load]);
    let all = ["suite.yml", "--report", "json=report.json"];
    let mut child = start(&place, &all, "log");
    // Until the load runs.
    let runs = || {
        let found = std::fs::read_dir(place.path("runs")).into_iter().flatten();
        found.count().to_string()
    };
    wait_for(runs, "1");
    std::thread::sleep(Duration::from_secs(2));
    interrupt(&child);
    let status = wait(&mut child).unwrap();
    assert_eq!(status.code(), Some(130), "{}", place.read("log"));
    let report: Value = serde_json::from_str(&place.read("report.json")).unwrap();
    let test = &report["tests"][2];
    assert_eq!(test["outcome"], "error", "{report}");
    assert_snapshot!(
        "suites_load_stopped",
        test["errors"][0]["message"].as_str().unwrap()
    );
    assert!(
        test["targets"]["throughput.total_requests"].is_u64(),
        "{report}"
    );
    assert!(
        test["details"].as_str().unwrap().contains("runs/"),
        "{report}"
    );
    assert!(place.read("log").contains("INTERRUPTED"));
}
