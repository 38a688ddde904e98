//! Faults under load, from flags and from a file, on a server that is a process of ours.

use std::path::Path;

use serde_json::Value;

use crate::support::{MCPROVE, assert_transcript, run};

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

/// The report of a run with `--json`, whatever its exit code.
fn report(arguments: &[&str], out: &Path) -> (Option<i32>, Value) {
    let out = text(out);
    let mut all = vec!["run", "--json", "--out", &out];
    all.extend(arguments);
    let output = run(&all);
    let json = serde_json::from_str(&output.stdout);
    (
        output.code,
        json.unwrap_or_else(|error| panic!("{error}: {output:?}")),
    )
}

#[test]
fn the_example_tells_before_during_and_after_and_a_crash_is_the_faults_doing() {
    let folder = tempfile::tempdir().unwrap();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/load-faults.toml");
    let example = std::fs::read_to_string(example).unwrap();
    let config = example.replace("command = \"mcprove\"", &format!("command = {MCPROVE:?}"));
    let file = folder.path().join("faults.toml");
    std::fs::write(&file, config).unwrap();
    let runs = folder.path().join("runs");
    let (_, report) = report(&[&text(&file)], &runs);
    let impacts = report["faults"]["impacts"].as_array().unwrap();
    let names: Vec<_> = impacts.iter().map(|impact| &impact["fault"]).collect();
    assert_eq!(names, ["late add", "crash"]);
    let late = &impacts[0];
    assert!(late["struck"]["calls"].as_u64().unwrap() > 5, "{late}");
    for phase in ["before", "during", "after"] {
        assert!(late[phase]["calls"].as_u64().unwrap() > 20, "{late}");
    }
    let crash = &impacts[1]["struck"];
    assert_eq!(crash["calls"], 1, "{crash}");
    assert_eq!(crash["errors"]["Crash"], 1, "{crash}");
    assert_eq!(crash["connections_ended"], 1, "{crash}");
    // None of it is held against the server.
    assert_eq!(report["crash_count"], 0);
    assert_eq!(report["errors"]["total"], 0, "{}", report["errors"]);
    assert_eq!(report["reconnect_count"], 1);
    // The same again from the trace, and the same faults in config.toml.
    let directory = std::fs::read_dir(&runs)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let before = std::fs::read_to_string(directory.join("metrics.json")).unwrap();
    let output = run(&["report", &text(&directory)]);
    assert!(output.stderr.is_empty(), "{output:?}");
    let after = std::fs::read_to_string(directory.join("metrics.json")).unwrap();
    assert_eq!(before, after);
    let written = std::fs::read_to_string(directory.join("config.toml")).unwrap();
    assert_eq!(written.matches("[[faults]]").count(), 2, "{written}");
}

#[test]
fn calls_that_share_a_connection_with_a_struck_one_are_told_as_spread() {
    let folder = tempfile::tempdir().unwrap();
    let fault = "disconnect,tool=add,calls=1-40,start=2s,others-may-suffer=false";
    let load = [
        "--duration",
        "6s",
        "--concurrent",
        "16",
        "--rate-limit",
        "300",
        "--seed",
        "7",
    ];
    let server = ["--fault", fault, "--", MCPROVE, "fixture", "mixed"];
    let arguments: Vec<&str> = load.iter().chain(&server).copied().collect();
    let (code, report) = report(&arguments, folder.path());
    let impact = &report["faults"]["impacts"][0];
    assert!(
        impact["struck"]["calls_lost"].as_u64().unwrap() > 0,
        "{impact}"
    );
    let suffered = impact["suffered"].as_array().unwrap();
    assert!(
        !suffered.is_empty() && !suffered.contains(&"add".into()),
        "{impact}"
    );
    let verdicts = report["verdicts"].as_array().unwrap();
    let spread = |verdict: &&Value| verdict["detector"] == "fault_spread";
    let spread = verdicts.iter().find(spread).unwrap();
    assert_eq!(spread["severity"], "critical", "{spread}");
    assert_eq!(code, Some(1));
}

#[test]
fn what_is_wrong_with_a_fault_is_told() {
    let outputs = [
        "slwo",
        "slow:5,start=x",
        "slow:5,max-recovery=x",
        "hang,tool=ad",
        "hang,server=nosuch",
    ]
    .map(|fault| {
        let load = ["run", "--duration", "1s", "--fault", fault];
        run(&[&load[..], &["--", "mcprove", "fixture", "normal"]].concat())
    });
    assert!(outputs.iter().all(|output| output.code == Some(2)));
    assert_transcript!("load_faults_refused", &outputs);
}

#[test]
fn clients_that_sit_in_injected_hangs_are_not_the_servers_doing() {
    let folder = tempfile::tempdir().unwrap();
    let fault = "hang,tool=add,start=2s,duration=1s";
    let load = [
        "--duration",
        "9s",
        "--concurrent",
        "8",
        "--rate-limit",
        "200",
        "--hang-timeout",
        "1s",
        "--grace-period",
        "500ms",
        "--seed",
        "7",
    ];
    let server = ["--fault", fault, "--", MCPROVE, "fixture", "normal"];
    let arguments: Vec<&str> = load.iter().chain(&server).copied().collect();
    let (_, report) = report(&arguments, folder.path());
    let impact = &report["faults"]["impacts"][0];
    assert!(impact["struck"]["calls"].as_u64().unwrap() > 0, "{impact}");
    assert!(impact["released_secs"].as_f64() > impact["until_secs"].as_f64());
    assert_eq!(impact["recovery"], "back", "{impact}");
    let verdicts = report["verdicts"].as_array().unwrap();
    let recovery = |verdict: &&Value| verdict["detector"] == "fault_recovery";
    assert_eq!(verdicts.iter().find(recovery), None);
}

#[test]
fn no_proof_that_others_do_not_suffer_is_inconclusive() {
    let folder = tempfile::tempdir().unwrap();
    let fault = "slow:5,tool=add,others-may-suffer=false";
    let load = ["--duration", "1s", "--concurrent", "4", "--fault", fault];
    let server = ["--", MCPROVE, "fixture", "normal"];
    let arguments: Vec<&str> = load.iter().chain(&server).copied().collect();
    let (code, report) = report(&arguments, folder.path());
    let verdicts = report["verdicts"].as_array().unwrap();
    let gate = |verdict: &&Value| verdict["detector"] == "threshold:fault_spread";
    assert!(
        verdicts.iter().any(|verdict| gate(&verdict)),
        "{verdicts:?}"
    );
    assert_eq!(code, Some(2));
}
