//! Honest servers beside programs that keep every processor busy: nothing is asserted of their speed, only that nobody
//! blames them.

use std::process::{Child, Command, Stdio};

use mcprove_load::run::{RunDirectory, recompute};
use serde_json::Value;

use crate::support::MCPROVE;

/// Programs that do nothing but take the processor away; ended when dropped.
struct BusyLoops(Vec<Child>);

impl BusyLoops {
    fn start(count: usize) -> Self {
        let start = |_| {
            let mut command = Command::new("sh");
            let command = command.args(["-c", "while :; do :; done"]);
            command.stdout(Stdio::null()).spawn().unwrap()
        };
        Self((0..count).map(start).collect())
    }
}

impl Drop for BusyLoops {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The `metrics.json` of a run of the command, which is a process of its own, so that the loops are others' work.
fn metrics(folder: &std::path::Path, arguments: &[&str]) -> Value {
    let output = Command::new(MCPROVE)
        .args(["run", "--out"])
        .arg(folder)
        .args(arguments)
        .args(["--hang-timeout", "20s", "--", MCPROVE, "fixture", "normal"])
        .output()
        .unwrap();
    let runs = std::fs::read_dir(folder).unwrap();
    let run = runs.flatten().find(|entry| entry.path().is_dir());
    let run = run.unwrap_or_else(|| panic!("{output:?}"));
    let text = std::fs::read_to_string(run.path().join("metrics.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[cfg(unix)]
#[test]
fn an_honest_server_beside_busy_loops_is_not_blamed() {
    let _loops = BusyLoops::start(4);
    for arguments in [
        &["--scenario", "ramp", "--duration", "4s", "--ramp-to", "40"][..],
        &["--scenario", "soak", "--duration", "8s"],
        &["--scenario", "spike", "--duration", "5s"],
    ] {
        let folder = tempfile::tempdir().unwrap();
        let metrics = metrics(folder.path(), arguments);
        let verdicts = metrics["verdicts"].as_array().unwrap();
        let findings: Vec<_> = verdicts
            .iter()
            .filter(|verdict| verdict["outcome"] == "finding")
            .collect();
        assert!(findings.is_empty(), "{arguments:?}: {findings:?}");
        if cfg!(target_os = "linux") {
            let machine = &metrics["machine"];
            assert!(machine["noise_share"].as_f64().unwrap() > 0.0, "{machine}");
            assert!(machine["others_cores"].as_f64().unwrap() > 0.0, "{machine}");
        }
    }
}

/// The samples of the machine are facts of the trace, so that a report computed again has them.
#[cfg(target_os = "linux")]
#[test]
fn the_noise_of_the_machine_is_in_the_trace() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["--scenario", "sustained", "--duration", "2s"];
    let metrics = metrics(folder.path(), &arguments);
    let machine = &metrics["machine"];
    assert!(machine["noise_share"].is_number(), "{machine}");
    assert!(machine["cores"].as_u64().unwrap() > 0, "{machine}");
    let runs = std::fs::read_dir(folder.path()).unwrap();
    let run = runs.flatten().find(|entry| entry.path().is_dir()).unwrap();
    let directory = RunDirectory::open(&run.path()).unwrap();
    let again = recompute(&directory).unwrap().report;
    assert_eq!(serde_json::to_value(again.machine).unwrap(), *machine);
}
