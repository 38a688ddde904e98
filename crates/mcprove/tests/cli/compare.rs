//! `mcprove compare`: directories and servers, exit codes, and what is told.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use crate::report::{directories, make_run};
use crate::samples::{UNFILTERED, on_samples};
use crate::schema::validator;
use crate::support::{
    Fixture, Output, assert_snapshot, assert_transcript, finish, mcprove, run, transcript, typed,
    wait,
};

/// A built-in server whose calls take so long.
fn slow(milliseconds: u32) -> String {
    format!("mcprove fixture slow --set delay_ms={milliseconds}")
}

fn server(mode: &str) -> String {
    format!("mcprove fixture {mode}")
}

/// Compares servers, with files under `base`.
fn compare(base: &Path, arguments: &[&str]) -> Output {
    let out = base.to_str().unwrap();
    run(&[&["compare", "--out", out], arguments].concat())
}

fn json(output: &Output) -> Value {
    let value =
        serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    let problems: Vec<String> = validator("comparison.v1")
        .iter_errors(&value)
        .map(|error| format!("{error} at {}", error.instance_path()))
        .collect();
    assert_eq!(problems, Vec::<String>::new());
    value
}

const SHORT: &[&str] = &["--runs", "5", "--duration", "150ms", "--tool", "echo"];

#[test]
fn a_slower_server_is_found_and_its_runs_can_be_compared_again() {
    let folder = tempfile::tempdir().unwrap();
    let servers = ["-s", &slow(5), "-s", &slow(20)];
    let output = compare(folder.path(), &[SHORT, &servers, &["--json"]].concat());
    assert_eq!(output.code, Some(1), "{output:?}");
    assert_eq!(output.stderr, "");
    let live = json(&output);
    assert_eq!(live["comparison"]["change"], "regressed");
    assert_eq!(live["comparison"]["runs"], serde_json::json!([5, 5]));
    assert_eq!(live["warnings"], serde_json::json!([]));

    let made = directories(folder.path()).remove(0);
    let name = made.file_name().unwrap().to_str().unwrap();
    assert!(name.contains("-compare-"), "{name}");
    let written = std::fs::read_to_string(made.join("comparison.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), live);
    let sides = ["baseline", "current"].map(|side| made.join(side));
    for side in &sides {
        let runs = directories(side);
        assert_eq!(runs.len(), 5);
        for run in runs {
            assert!(run.join("config.toml").exists());
            assert!(!run.join("trace.jsonl").exists());
        }
    }
    let [before, after] = sides.each_ref().map(|side| side.to_str().unwrap());
    let again = run(&["compare", before, after, "--json"]);
    assert_eq!(again.code, Some(1));
    assert_eq!(json(&again), live);
    // The other way round it is an improvement; p95 may be anything on a busy machine.
    let improved = run(&["compare", after, before, "--json"]);
    assert_eq!(improved.code, Some(0), "{improved:?}");
    assert_eq!(
        json(&improved)["comparison"]["metrics"][0]["change"],
        "improved"
    );
}

#[test]
fn failing_servers_regress_and_dead_ones_cannot_be_compared() {
    let folder = tempfile::tempdir().unwrap();
    let (healthy, failing) = (server("normal"), server("tool_error"));
    let few = ["--runs", "2", "--duration", "100ms", "--tool", "echo"];
    let output = compare(
        folder.path(),
        &[&few, ["-s", &healthy, "-s", &failing].as_slice()].concat(),
    );
    assert_eq!(output.code, Some(1), "{output:?}");
    let output = compare(
        folder.path(),
        &[&few, ["-s", &failing, "-s", &failing].as_slice()].concat(),
    );
    assert_eq!(output.code, Some(2), "{output:?}");
}

/// A server in a script that counts its starts in a file, and fails at those that match a pattern
/// of the shell.
#[cfg(unix)]
fn failing_starts(folder: &Path, name: &str, pattern: &str) -> String {
    let (script, starts) = (folder.join(format!("{name}.sh")), folder.join(name));
    let text = format!(
        "echo start >> '{0}'\ncase $(wc -l < '{0}' | tr -d ' ') in {pattern}) echo 'no port left' >&2; exit 3;; esac\nexec mcprove fixture normal\n",
        starts.display()
    );
    std::fs::write(&script, text).unwrap();
    format!("sh {}", script.display())
}

#[cfg(unix)]
#[test]
fn a_run_whose_server_does_not_start_is_made_again_and_the_others_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let healthy = server("normal");
    let few = [
        "--runs",
        "4",
        "--duration",
        "50ms",
        "--tool",
        "echo",
        "--json",
    ];
    // A server that dies of the first question is started again at once. Here both starts of the second run fail, and
    // it is made up for.
    let once = failing_starts(folder.path(), "once", "2|3");
    let servers = ["-s", &healthy, "-s", &once];
    let output = compare(folder.path(), &[few.as_slice(), &servers].concat());
    let report = json(&output);
    assert_eq!(report["comparison"]["runs"], serde_json::json!([4, 4]));
    let failed = &report["failed_runs"][0];
    assert_eq!(
        (&failed["side"], &failed["number"]),
        (&"current".into(), &2.into())
    );
    assert_eq!(failed["is_made_up"], true);
    assert_eq!(report["partial"], false);
    // The next two, too: that run is missing, and the others count.
    let twice = failing_starts(folder.path(), "twice", "[2-5]");
    let servers = ["-s", &healthy, "-s", &twice];
    let output = compare(folder.path(), &[few.as_slice(), &servers].concat());
    let report = json(&output);
    assert_eq!(report["comparison"]["runs"], serde_json::json!([4, 3]));
    assert_eq!(report["failed_runs"][0]["is_made_up"], false);
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(output.stderr.contains("1 of 8 runs failed"), "{output:?}");
    // From then on none: what there is is compared, and says why there is no more.
    let never = failing_starts(folder.path(), "never", "[2-9]|10");
    let servers = ["-s", &healthy, "-s", &never];
    let arguments = [&few[..few.len() - 1], &servers].concat();
    let output = compare(folder.path(), &arguments);
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(output.stdout.contains("(1 run)"), "{output:?}");
    assert!(
        output.stdout.contains("run 2 on the current server failed"),
        "{output:?}"
    );
}

#[test]
fn a_new_deadlock_is_worse_unless_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = [
        "--runs",
        "1",
        "--calls",
        "2",
        "--concurrent",
        "1",
        "--tool",
        "echo",
        "--hang-timeout",
        "200ms",
        "--grace-period",
        "200ms",
        "--json",
    ];
    let (healthy, stuck) = (server("normal"), server("lazy_init"));
    let servers = ["-s", &healthy, "-s", &stuck];
    let output = compare(folder.path(), &[arguments.as_slice(), &servers].concat());
    assert_eq!(output.code, Some(1), "{output:?}");
    let report = json(&output);
    assert_eq!(report["comparison"]["deadlocks"]["change"], "regressed");
    let allowed = ["--max-new-deadlocks", "1000"];
    let output = compare(
        folder.path(),
        &[arguments.as_slice(), &allowed, &servers].concat(),
    );
    assert_eq!(
        json(&output)["comparison"]["deadlocks"]["change"],
        "unchanged"
    );
}

#[test]
fn a_comparison_that_decides_nothing_is_exit_2() {
    let limits: [&[&str]; 5] = [
        &[],
        &["--require-conclusive"],
        &["--max-p99-ratio", "1.5"],
        &["--max-error-rate-increase", "0.5"],
        &["--max-new-deadlocks", "0"],
    ];
    let same = ["compare", "runs/sustained", "runs/sustained"];
    let outputs = limits.map(|limits| on_samples(&[&same, limits].concat()));
    let codes = outputs.each_ref().map(|output| output.code.unwrap());
    assert_eq!(codes, [2; 5], "one run decides nothing");
    let pairs = [
        ["runs/sustained", "runs/tool-error"],
        ["runs/tool-error", "runs/sustained"],
        ["runs/sustained", "runs/ramp"],
    ];
    let pairs = pairs.map(|[before, after]| on_samples(&["compare", before, after]));
    let seen = transcript(outputs.iter().chain(&pairs));
    assert_snapshot!("compare_samples", seen, UNFILTERED);
}

#[test]
fn runs_that_are_not_alike_are_compared_only_when_asked() {
    let folder = tempfile::tempdir().unwrap();
    let at = |concurrent| ["--duration", "100ms", "--concurrent", concurrent];
    let (before, _) = make_run(folder.path(), &at("2"), &["normal"]);
    let (after, _) = make_run(folder.path(), &at("3"), &["normal"]);
    let (before, after) = (before.to_str().unwrap(), after.to_str().unwrap());
    let output = run(&["compare", before, after, "--json"]);
    assert_eq!(json(&output)["comparison"]["change"], "inconclusive");
    assert_eq!(output.code, Some(2), "{output:?}");
    let output = run(&["compare", before, after, "--unlike", "--json"]);
    assert_eq!(json(&output)["comparison"]["unlike"], false);
    assert_eq!(json(&output)["warnings"].as_array().unwrap().len(), 1);
    let output = run(&["compare", before, before, after, "--json"]);
    assert_eq!(
        json(&output)["comparison"]["runs"],
        serde_json::json!([1, 2])
    );
}

#[test]
fn the_server_named_first_is_the_baseline() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = Fixture::start("http", &["normal"]);
    let command = server("normal");
    let (by_command, by_address) = (["-s", &command], ["--url", &fixture.url]);
    for (first, second, expected) in [
        (by_command, by_address, "fixture normal"),
        (by_address, by_command, "http://"),
    ] {
        let quick = ["--runs", "1", "--duration", "50ms", "--json"];
        let arguments = [quick.as_slice(), &first, &second].concat();
        let report = json(&compare(folder.path(), &arguments));
        let baseline = report["baseline"][0]["server"].as_str().unwrap();
        assert!(baseline.contains(expected), "{arguments:?}: {baseline}");
    }
}

#[cfg(unix)]
#[test]
fn interrupted_it_compares_what_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let healthy = server("normal");
    let mut child = mcprove(&[
        "compare",
        "--out",
        out,
        "--runs",
        "500",
        "--duration",
        "50ms",
        "--json",
        "-s",
        &healthy,
        "-s",
        &healthy,
    ])
    .stdin(Stdio::null())
    .stdout(Stdio::piped())
    .stderr(Stdio::piped())
    .spawn()
    .unwrap();
    let has_runs = || {
        directories(folder.path()).first().is_some_and(|made| {
            ["baseline", "current"].iter().all(|side| {
                let side = made.join(side);
                side.exists() && directories(&side).len() > 2
            })
        })
    };
    while !has_runs() {
        assert!(child.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(20));
    }
    let id = child.id().to_string();
    let status = std::process::Command::new("kill")
        .args(["-INT", &id])
        .status();
    assert!(status.unwrap().success());
    let mut stdout = child.stdout.take().unwrap();
    let text = std::io::read_to_string(&mut stdout).unwrap();
    let status = wait(&mut child).unwrap();
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["partial"], true);
    assert_eq!(status.code(), Some(130));
    assert!(report["baseline"].as_array().unwrap().len() >= 2);
}

#[cfg(unix)]
#[test]
fn interrupted_too_early_it_says_that_there_is_nothing_to_compare() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let healthy = server("normal");
    let mut command = mcprove(&[
        "compare",
        "--out",
        out,
        "--duration",
        "10m",
        "-s",
        &healthy,
        "-s",
        &healthy,
    ]);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let has_begun = || {
        let made = directories(folder.path());
        made.first()
            .is_some_and(|made| made.join("baseline").exists())
    };
    while !has_begun() {
        assert!(child.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(20));
    }
    let id = child.id().to_string();
    let status = std::process::Command::new("kill")
        .args(["-INT", &id])
        .status();
    assert!(status.unwrap().success());
    let stderr = std::io::read_to_string(child.stderr.take().unwrap()).unwrap();
    let output = Output {
        command: typed(&command),
        code: wait(&mut child).unwrap().code(),
        stdout: String::new(),
        stderr,
    };
    assert_transcript!("compare_interrupted", [&output]);
}

#[test]
fn what_cannot_be_compared_is_told_with_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().to_str().unwrap();
    let two = ["-s", "no-such-a", "-s", "no-such-b"];
    let cases: [&[&str]; 14] = [
        &[],
        &[empty],
        &[empty, empty],
        &["/no/such", empty],
        &[empty, empty, "--runs", "3"],
        &[empty, empty, "--tool", "x"],
        &[empty, "-s", "x"],
        &["-s", "x"],
        &["-s", "x", "-s", "y", "-s", "z"],
        &two,
        &["--max-p99-ratio", "0"],
        &["--max-p99-ratio", "nan"],
        &["--max-error-rate-increase", "2"],
        &["--runs", "0"],
    ];
    let outputs = cases.map(|arguments| {
        let mut command = mcprove(&[&["compare"], arguments].concat());
        command.current_dir(folder.path());
        finish(command)
    });
    assert!(outputs.iter().all(|output| output.code == Some(2)));
    assert_transcript!("compare_refused", &outputs);
}

#[test]
fn what_else_is_written_beside_runs_is_skipped() {
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let short = ["--tool", "echo", "--calls", "20", "--no-trace"];
        make_run(folder.path(), &short, &["normal"]);
    }
    let beside = [
        "last-failed.json",
        "2026-05-10T14-30-00-ABCDEF.side-by-side.json",
    ];
    for name in beside {
        std::fs::write(folder.path().join(name), "{}").unwrap();
    }
    let folders = ["agents", "2026-05-10T14-30-00-compare-abcdef"];
    for name in folders {
        std::fs::create_dir(folder.path().join(name)).unwrap();
    }
    let comparison = folder.path().join(folders[1]).join("comparison.json");
    std::fs::write(comparison, "{}").unwrap();
    let entries = std::fs::read_dir(folder.path()).unwrap();
    let mut all: Vec<String> = entries
        .map(|entry| entry.unwrap().path().display().to_string())
        .collect();
    all.sort();
    let given: Vec<&str> = all.iter().map(String::as_str).collect();
    let output = run(&[&["compare"], &given[..]].concat());
    assert!(output.stdout.contains("(1 run)"), "{output:?}");
    for name in beside.iter().chain(&folders) {
        assert!(output.stderr.contains(name), "{output:?}");
    }
    // What is not ours is an error, and so is too little.
    let other = folder.path().join("other.json");
    std::fs::write(&other, "{}").unwrap();
    for name in folders {
        std::fs::remove_dir_all(folder.path().join(name)).unwrap();
    }
    let run_made = directories(folder.path()).remove(0);
    let last_failed = folder.path().join("last-failed.json");
    for wrong in [&other, &last_failed] {
        let paths = [&run_made, wrong].map(|path| path.display().to_string());
        assert_eq!(run(&["compare", &paths[0], &paths[1]]).code, Some(2));
    }
}
