//! The files of real runs are of the published formats.

use std::time::Duration;

use mcprove_client::server::Server;
use mcprove_load::drive::scenario::{ColdStart, DeadlockProbe};
use mcprove_load::drive::{Scenario, ScenarioKind};
use mcprove_load::run::{Run, RunDirectory, Thresholds, recompute};

use crate::schema::validator;
use crate::support::{MCPROVE, Output, finish, in_parallel, mcprove};

fn scenarios() -> [(&'static str, Scenario); 5] {
    let second = Duration::from_secs(1);
    let mut open = Scenario::sustained().concurrent(4).duration(second);
    open.load.rate = Some(200.0);
    [
        (
            "normal",
            Scenario::sustained().concurrent(4).duration(second),
        ),
        ("normal", open),
        (
            "tool_error",
            Scenario::ramp().concurrent(8).duration(second),
        ),
        (
            "lazy_init",
            ScenarioKind::DeadlockProbe(DeadlockProbe {
                concurrent: 3,
                hang_threshold: Some(Duration::from_millis(300)),
                grace_period: Some(Duration::from_millis(300)),
                max_wait: None,
                list_timeout: Some(Duration::from_secs(10)),
            })
            .into(),
        ),
        (
            "normal",
            ScenarioKind::ColdStart(ColdStart {
                iterations: 2,
                warmup: false,
            })
            .into(),
        ),
    ]
}

#[test]
fn the_files_of_a_run_are_of_their_formats() {
    let metrics = validator("metrics.v1");
    let summary = validator("summary.v1");
    in_parallel(scenarios(), |(mode, scenario)| {
        let label = format!("{} on {mode}", scenario.kind.name());
        let folder = tempfile::tempdir().unwrap();
        let thresholds = Thresholds {
            // Not even a fast server keeps to this, so there is a violation to show.
            p50_latency: Some(Duration::from_nanos(1)),
            ..Thresholds::default()
        };
        let run = Run::new(Server::stdio(MCPROVE).args(["fixture", mode]), scenario)
            .with_thresholds(thresholds)
            .with_output_dir(folder.path().to_owned());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let (report, directory) = runtime.block_on(run.execute_in_directory()).unwrap();
        let directory = directory.unwrap();
        let mut problems = Vec::new();
        for (name, validator, path) in [
            ("metrics.json", &metrics, directory.metrics()),
            ("summary.json", &summary, directory.summary()),
        ] {
            let text = std::fs::read_to_string(path).unwrap();
            let value = serde_json::from_str(&text).unwrap();
            problems.extend(
                validator
                    .iter_errors(&value)
                    .map(|error| format!("{label}, {name}: {error} at {}", error.instance_path())),
            );
        }
        problems.extend(wrong_trace_size(&label, &report, &directory));
        problems
    });
}

/// What the report says about its trace, against the file.
fn wrong_trace_size(
    label: &str,
    report: &mcprove_load::run::Report,
    directory: &RunDirectory,
) -> Vec<String> {
    let text = std::fs::read_to_string(directory.trace()).unwrap();
    let size = (text.lines().count() as u64, text.len() as u64);
    let told = report.trace.map(|trace| (trace.events, trace.bytes));
    let again = recompute(directory).unwrap().report;
    let mut problems = Vec::new();
    if told != Some(size) {
        problems.push(format!(
            "{label}: the trace has {size:?}, the report {told:?}"
        ));
    }
    if again.trace != report.trace {
        problems.push(format!("{label}: {:?} and {:?}", again.trace, report.trace));
    }
    problems
}

#[test]
fn a_file_of_another_format_is_refused() {
    for (format, json) in [
        ("metrics.v1", serde_json::json!({ "schema": "metrics.v1" })),
        ("summary.v1", serde_json::json!({ "passed": "yes" })),
    ] {
        assert!(!validator(format).is_valid(&json), "{format}");
    }
}

/// The output of `mcprove run` over a file with this scenario, and where the file is.
fn run_over(scenario: &str, flags: &[&str]) -> (Output, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("load.toml");
    let server = format!("[server]\ncommand = '{MCPROVE}'\nargs = [\"fixture\", \"lazy_init\"]\n");
    std::fs::write(&file, format!("{server}[scenario]\n{scenario}")).unwrap();
    let mut command = mcprove(&["run", "load.toml"]);
    command.args(flags).current_dir(folder.path());
    (finish(command), folder)
}

#[test]
fn a_switch_of_a_file_is_turned_back_by_its_opposite() {
    let probe = |flags: &[&str]| {
        let file = "type = \"deadlock_probe\"\nhang_threshold = \"200ms\"\ngrace_period = \"100ms\"\n[output]\ntrace = false\n";
        let (_, folder) = run_over(file, flags);
        let mut runs = std::fs::read_dir(folder.path().join("runs")).unwrap();
        runs.next()
            .unwrap()
            .unwrap()
            .path()
            .join("trace.jsonl")
            .is_file()
    };
    assert!(!probe(&[]));
    assert!(probe(&["--trace"]));
    assert!(!probe(&["--trace", "--no-trace"]));
}

#[test]
fn flags_replace_what_means_the_same_in_a_file() {
    let probe = "type = \"deadlock_probe\"\nhang_threshold = \"20s\"\ngrace_period = \"20s\"\n";
    let flags = ["--hang-timeout", "200ms", "--grace-period", "100ms"];
    let (output, _) = run_over(probe, &flags);
    let limits = "slow after 200ms, deadlocked after 300ms";
    let words: Vec<&str> = output.stdout.split_whitespace().collect();
    assert!(words.join(" ").contains(limits), "{output:?}");
    let race = "type = \"race_check\"\nrounds = 900\n";
    let flags = [
        "--iterations",
        "1",
        "--hang-timeout",
        "200ms",
        "--grace-period",
        "1ms",
    ];
    let (output, _) = run_over(race, &flags);
    assert!(output.stdout.contains("1 round"), "{output:?}");
}

#[test]
fn a_config_is_explained_and_never_written_over() {
    let probe = "type = \"deadlock_probe\"\n";
    let (output, _) = run_over(probe, &["--explain"]);
    assert!(
        output.stdout.contains("deadlock_probe: many first calls"),
        "{output:?}"
    );
    let (output, _) = run_over(probe, &["--explain", "--scenario", "nope"]);
    assert_eq!(output.code, Some(2), "{output:?}");
    let (output, folder) = run_over(probe, &["--report", "json=load.toml"]);
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(
        output.stderr.contains("and the input have the same file"),
        "{output:?}"
    );
    let kept = std::fs::read_to_string(folder.path().join("load.toml")).unwrap();
    assert!(kept.contains("[scenario]"));
    // One problem is told once.
    let (output, _) = run_over("type = \"churn\"\nslow_share = 7\n", &[]);
    assert_eq!(output.stderr.matches("error:").count(), 1, "{output:?}");
}

/// What is said of the server and of the session of a file: all of it counts, or is refused.
#[test]
fn flags_of_the_server_and_the_session_count_beside_a_file() {
    let cold = "type = \"cold_start\"\niterations = 1\nwarmup = false\n[server.env]\nA_NAME = \"file\"\nANOTHER = \"file\"\n[session]\nprotocol = \"2025-06-18\"\n";
    let flags = [
        "--startup-timeout",
        "7s",
        "--shutdown-timeout",
        "3s",
        "--max-frame",
        "1MiB",
        "--call-timeout",
        "9s",
        "--protocol",
        "2025-11-25",
        "--env",
        "A_NAME=flag",
        "--working-dir",
        ".",
    ];
    let (output, folder) = run_over(cold, &flags);
    let runs = std::fs::read_dir(folder.path().join("runs")).unwrap();
    let run = runs.map(|entry| entry.unwrap().path()).next().unwrap();
    let config = std::fs::read_to_string(run.join("config.toml")).unwrap();
    for line in [
        "startup_timeout = \"7s\"",
        "shutdown_timeout = \"3s\"",
        "max_frame = 1048576",
        "call_timeout = \"9s\"",
        "protocol = \"2025-11-25\"",
        "A_NAME = \"flag\"",
        "ANOTHER = \"file\"",
        "working_dir = \".\"",
    ] {
        assert!(config.contains(line), "{line}: {config}{output:?}");
    }
    let wrong: [(&[&str], &[&str]); 4] = [
        (
            &["--header", "A: b"],
            &["--header is for a server at an address"],
        ),
        (
            &["--header", "bad"],
            &["--header \"bad\" is not of the form"],
        ),
        (
            &[
                "--startup-timeout",
                "0",
                "--protocol",
                "x",
                "--max-frame",
                "y",
            ],
            &[
                "--startup-timeout must be",
                "unknown --protocol",
                "--max-frame must be",
            ],
        ),
        (
            &["--stderr-log", "load.toml"],
            &["and the input have the same file"],
        ),
    ];
    for (flags, messages) in wrong {
        let (output, folder) = run_over("type = \"churn\"\n", flags);
        assert_eq!(output.code, Some(2), "{output:?}");
        for message in messages {
            assert!(output.stderr.contains(message), "{output:?}");
        }
        assert!(!folder.path().join("runs").exists());
    }
}
