//! `mcprove run` and `mcprove deadlock-probe`.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{Fixture, MCPROVE, Output, assert_transcript, mcprove, run, wait};

/// A folder for runs.
struct Runs(tempfile::TempDir);

impl Runs {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &str {
        self.0.path().to_str().unwrap()
    }

    /// The directories of the runs, oldest first.
    fn directories(&self) -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> = std::fs::read_dir(self.path())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_dir())
            .collect();
        found.sort();
        found
    }

    fn only(&self) -> PathBuf {
        let [directory] = &self.directories()[..] else {
            panic!("{:?}", self.directories());
        };
        directory.clone()
    }

    /// Runs the command with these arguments on a built-in server.
    fn run(&self, arguments: &[&str], mode: &str) -> Output {
        let mut all = arguments.to_vec();
        all.extend(["--out", self.path(), "--", MCPROVE, "fixture", mode]);
        run(&all)
    }
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

const SHORT: &[&str] = &[
    "run",
    "--tool",
    "echo",
    "--concurrent",
    "4",
    "--duration",
    "300ms",
];

#[test]
fn a_healthy_server_passes_and_leaves_a_whole_directory() {
    let runs = Runs::new();
    let output = runs.run(SHORT, "normal");
    assert_eq!(output.code, Some(0), "{output:?}");
    assert!(output.stdout.starts_with("PASS"), "{output:?}");
    // Nothing but the summary when nobody watches.
    assert_eq!(output.stderr, "");
    let directory = runs.only();
    for file in [
        "config.toml",
        "trace.jsonl",
        "metrics.json",
        "summary.json",
        "report.md",
        "report.html",
        "latency.hlog",
        "server.stderr.log",
        "server.stdout.log",
    ] {
        assert!(directory.join(file).exists(), "{file}");
    }
    let summary = json(&directory.join("summary.json"));
    assert_eq!(summary["passed"], true);
    assert_eq!(summary["exit_code"], 0);
    let metrics = json(&directory.join("metrics.json"));
    assert!(metrics["throughput"]["total_requests"].as_u64().unwrap() > 0);
    assert_eq!(metrics["isolation"]["crossed"], 0);
    assert!(metrics["isolation"]["checked"].as_u64().unwrap() > 0);
}

#[test]
fn a_run_can_be_repeated_from_its_config() {
    let runs = Runs::new();
    let mut arguments = SHORT.to_vec();
    arguments.extend(["--calls", "50"]);
    runs.run(&arguments, "normal");
    let config = runs.only().join("config.toml");
    let again = run(&["run", config.to_str().unwrap(), "--json"]);
    assert_eq!(again.code, Some(0), "{again:?}");
    let (first, second) = (
        json(&runs.only_first().join("metrics.json")),
        serde_json::from_str::<Value>(&again.stdout).unwrap(),
    );
    assert_eq!(first["seed"], second["seed"]);
    assert_eq!(second["throughput"]["total_requests"], 50);
}

impl Runs {
    fn only_first(&self) -> PathBuf {
        self.directories().remove(0)
    }
}

#[test]
fn a_deadlock_is_found_and_told_apart_from_a_dead_loop() {
    let arguments = [
        "deadlock-probe",
        "--tool",
        "echo",
        "--hang-threshold",
        "500ms",
        "--grace-period",
        "500ms",
    ];
    for (mode, kind) in [("lazy_init", "tool_stuck"), ("broken", "loop_dead")] {
        let runs = Runs::new();
        let began = Instant::now();
        let output = runs.run(&arguments, mode);
        // Nothing waits for a server that will not end by itself; loaded machines are slow.
        assert!(began.elapsed() < Duration::from_secs(30), "{mode}");
        assert_eq!(output.code, Some(1), "{output:?}");
        assert!(output.stdout.contains("`echo`"), "{output:?}");
        let metrics = json(&runs.only().join("metrics.json"));
        assert!(metrics["deadlock_count"].as_u64().unwrap() >= 1);
        assert_eq!(metrics["deadlock"]["kind"], kind);
        assert_eq!(metrics["deadlock"]["severity"], "CRITICAL");
    }
    let runs = Runs::new();
    let output = runs.run(&arguments, "normal");
    assert_eq!(output.code, Some(0), "{output:?}");
}

#[test]
fn silence_before_the_calls_has_a_name_of_its_own() {
    let runs = Runs::new();
    let output = runs.run(&["deadlock-probe", "--startup-timeout", "500ms"], "silent");
    assert_eq!(output.code, Some(1), "{output:?}");
    let metrics = json(&runs.only().join("metrics.json"));
    assert_eq!(metrics["deadlock"]["outcome"], "SERVER_INIT_ERROR");
}

#[test]
fn thresholds_decide_the_exit_code() {
    let runs = Runs::new();
    let mut arguments = SHORT.to_vec();
    arguments.extend(["--p50", "1h", "--error-rate", "0"]);
    assert_eq!(runs.run(&arguments, "normal").code, Some(0));
    let mut arguments = SHORT.to_vec();
    arguments.extend(["--error-rate", "0.01"]);
    let output = runs.run(&arguments, "error");
    assert_eq!(output.code, Some(1), "{output:?}");
    let mut arguments = SHORT.to_vec();
    arguments.extend(["--calls", "20", "--p999", "1ms"]);
    // 20 calls of 2 s each: far over the limit, and far too few to speak of p99.9.
    let output = runs.run(&arguments, "slow");
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(output.stdout.starts_with("INCONCLUSIVE"), "{output:?}");
}

#[test]
fn several_servers_are_put_side_by_side() {
    let runs = Runs::new();
    let mut arguments = SHORT.to_vec();
    let (good, bad) = (
        format!("{MCPROVE} fixture normal"),
        format!("{MCPROVE} fixture tool_error"),
    );
    arguments.extend(["--out", runs.path(), "--server", &good, "--server", &bad]);
    let output = run(&arguments);
    assert_eq!(output.code, Some(1), "{output:?}");
    assert_eq!(runs.directories().len(), 2);
    let mut lines = output.stdout.lines();
    let header = lines.find(|line| line.contains("normal") && line.contains("tool_error"));
    assert!(header.is_some(), "{output:?}");
    let outcome = lines.next().unwrap();
    assert!(
        outcome.contains("PASS") && outcome.contains("FAIL"),
        "{outcome}"
    );
}

#[test]
fn of_several_servers_the_json_is_one_document_and_a_dead_one_is_named() {
    let runs = Runs::new();
    let server = |mode: &str| format!("{MCPROVE} fixture {mode}");
    let (good, dead, bad) = (
        server("normal"),
        server("exit_at_start"),
        server("tool_error"),
    );
    let servers = ["-s", &good, "-s", &dead, "-s", &bad];
    let arguments = [SHORT, &["--out", runs.path()], &servers].concat();
    let output = run(&[&arguments[..], &["--json"]].concat());
    assert_eq!(output.code, Some(2), "{output:?}");
    let document: Value = serde_json::from_str(&output.stdout).unwrap();
    crate::schema::validator("side-by-side.v1")
        .validate(&document)
        .unwrap();
    let outcomes: Vec<&Value> = (0..3)
        .map(|place| &document["servers"][place]["report"]["outcome"])
        .collect();
    assert_eq!(
        outcomes,
        [&Value::from("passed"), &Value::Null, &Value::from("failed")]
    );
    assert!(output.stderr.contains(&dead), "{output:?}");
    let written: Vec<_> = std::fs::read_dir(runs.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().ends_with(".side-by-side.json"))
        .collect();
    let [written] = &written[..] else {
        panic!("{written:?}");
    };
    assert_eq!(std::fs::read_to_string(written).unwrap(), output.stdout);
    assert_transcript!("run_dead_server", [&output.without_stdout()]);
    let output = run(&arguments);
    assert!(output.stdout.contains(".side-by-side.json"), "{output:?}");
}

#[test]
fn flags_stand_in_for_the_values_of_a_file() {
    let runs = Runs::new();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bench.toml");
    let text = format!(
        "[server]\ncommand = {MCPROVE:?}\nargs = [\"fixture\", \"normal\"]\n\
         env = {{ API_TOKEN = \"secret\" }}\n\
         [scenario]\ntype = \"sustained\"\nconcurrent = 3\nduration = \"10m\"\n\
         tool_call = [{{ name = \"echo\", args = {{ message = \"hi\" }} }}]\n\
         [thresholds]\np99_latency = \"1ms\"\nerror_rate = 0.5\n"
    );
    std::fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    let common = ["run", file, "--out", runs.path(), "--json"];
    let output = run(&[&common[..], &["-d", "300ms", "--p99", "1m"]].concat());
    assert_eq!(output.code, Some(0), "{output:?}");
    let metrics: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(metrics["scenario"]["duration_secs"], 0.3);
    assert_eq!(metrics["scenario"]["concurrent"], 3);
    assert!(metrics["tools"]["echo"]["count"].as_u64().unwrap() > 0);
    let config = std::fs::read_to_string(runs.only().join("config.toml")).unwrap();
    assert!(config.contains("error_rate = 0.5"), "{config}");
    assert!(!config.contains("p99_latency = \"1ms\""), "{config}");
    let outputs = [
        ["--scenario", "ramp"],
        ["--spike-at", "3s"],
        ["--concurrent", "0"],
    ]
    .map(|flags| run(&[&common[..], &flags].concat()));
    assert_transcript!("run_refused_over_file", &outputs);
}

#[test]
fn over_http_the_server_is_found_by_its_port() {
    let fixture = Fixture::start("http", &["normal"]);
    let runs = Runs::new();
    let output = run(&[
        "run",
        "--url",
        &fixture.url,
        "--tool",
        "echo",
        "--duration",
        "600ms",
        "--rate",
        "50",
        "--sessions",
        "2",
        "--out",
        runs.path(),
        "--json",
    ]);
    assert_eq!(output.code, Some(0), "{output:?}");
    let metrics: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(metrics["model"], "open");
    assert_eq!(metrics["sessions"], 2);
    if cfg!(target_os = "linux") {
        assert!(metrics["process"]["peak_rss_mb"].as_f64().unwrap() > 1.0);
        assert!(metrics["process"]["peak_descriptors"].as_u64().unwrap() > 3);
    }
}

#[test]
fn wrong_input_is_refused_with_what_to_try() {
    let cases: [&[&str]; 9] = [
        &["run", "--scenario", "sustaned"],
        &["run", "--scenario", "ramp", "--spike-at", "3s"],
        &["run", "--tool", "echo", "--args", "{x"],
        &["run", "--args", "{}"],
        &["run", "--tool", "ecko"],
        &["run", "--concurrent", "0"],
        &["run", "--duration", "soon"],
        &["run", "no-such-file.toml"],
        &["deadlock-probe", "--tool", "ecko"],
    ];
    let mut outputs = Vec::from(cases.map(|arguments| {
        let runs = Runs::new();
        let output = runs.run(arguments, "normal");
        assert_eq!(output.code, Some(2), "{arguments:?}: {output:?}");
        assert_eq!(runs.directories(), Vec::<PathBuf>::new(), "{arguments:?}");
        output
    }));
    outputs.push(run(&["run", "--tool", "echo"]));
    assert_transcript!("run_refused", &outputs);
}

#[test]
#[cfg(unix)]
fn an_interrupt_leaves_a_whole_partial_report_and_outweighs_a_finding() {
    let runs = Runs::new();
    let mut command = mcprove(&[
        "run",
        "--tool",
        "echo",
        "--duration",
        "60s",
        "--error-rate",
        "0",
        "--out",
        runs.path(),
        "--",
        MCPROVE,
        "fixture",
        "malformed",
    ]);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let trace = || {
        let directory = std::fs::read_dir(runs.path()).unwrap().next()?.ok()?;
        let size = std::fs::metadata(directory.path().join("trace.jsonl")).ok()?;
        Some(size.len())
    };
    while trace().is_none_or(|size| size < 10_000) {
        std::thread::sleep(Duration::from_millis(20));
    }
    let interrupt = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(interrupt.unwrap().success());
    assert_eq!(wait(&mut child).and_then(|status| status.code()), Some(130));
    let metrics = json(&runs.only().join("metrics.json"));
    assert_eq!(metrics["partial"], true);
    assert_eq!(metrics["outcome"], "failed");
    assert!(
        metrics["throughput"]["successful_requests"]
            .as_u64()
            .unwrap()
            > 0
    );
    assert!(runs.only().join("report.md").exists());
}

/// An element of a list has no place in a file, and two flags of one meaning are refused.
#[test]
fn flags_with_several_values_or_names_are_refused_as_flags() {
    for (flags, message) in [
        (
            &["--scenario", "fuzzer", "--payload", "nope"][..],
            "error: unknown --payload \"nope\"\nhint: ",
        ),
        (
            &[
                "--scenario",
                "race_check",
                "--rounds",
                "2",
                "--iterations",
                "3",
            ],
            "cannot both be given",
        ),
    ] {
        let output = run(&[&["run", "-s", "unused"], flags].concat());
        assert!(output.stderr.contains(message), "{}", output.stderr);
    }
}

#[test]
fn scenarios_are_listed_with_their_knobs() {
    let output = run(&["list-scenarios", "--knobs"]);
    assert_transcript!("list_scenarios", [&output]);
    let output = run(&["list-scenarios", "--json"]);
    let list: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(list.as_array().unwrap().len(), 14);
    for entry in list.as_array().unwrap() {
        assert!(entry["settings"]["seed"].is_object(), "{entry}");
        assert_eq!(entry["settings"], entry["knobs"]);
    }
}
