//! What mcprove runs out of itself is an error of its own: exit code 2, with what to raise, and no finding about the
//! server.

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use harness::require;
use serde_json::Value;

use crate::support::{Fixture, MCPROVE, Output, assert_snapshot, assert_transcript, finish, wait};

/// The command in a shell that sets a limit first: `-n 40`, `-v 100000`.
fn limited(limit: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new("bash");
    let script = format!("ulimit {limit}; exec \"$0\" \"$@\"");
    command.args(["-c", &script, MCPROVE]).args(arguments);
    command
}

fn run_limited(limit: &str, arguments: &[&str]) -> Output {
    finish(limited(limit, arguments))
}

/// Every finding and violated limit of the runs in a folder.
fn findings(folder: &std::path::Path) -> Vec<Value> {
    let runs = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let metrics = runs.filter_map(|run| {
        let text = std::fs::read_to_string(run.path().join("metrics.json")).ok()?;
        serde_json::from_str::<Value>(&text).ok()
    });
    metrics
        .flat_map(|metrics| {
            let verdicts = metrics["verdicts"].as_array().cloned().unwrap_or_default();
            let limits = metrics["threshold_violations"].as_array().cloned();
            let found = verdicts.into_iter().filter(|it| it["outcome"] == "finding");
            found.chain(limits.unwrap_or_default()).collect::<Vec<_>>()
        })
        .collect()
}

/// Exit code 2, and what to raise.
#[track_caller]
fn assert_own_error(output: &Output, limit: &str) {
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(output.stderr.contains(limit), "{output:?}");
}

#[test]
fn descriptors_for_sessions() {
    let server = Fixture::start("http", &["normal"]);
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let load = [
        "run",
        "--tool",
        "echo",
        "--sessions",
        "100",
        "--concurrent",
        "100",
        "-d",
        "2s",
        "--out",
        out,
    ];
    let over_http = [&load[..], &["--url", &server.url]].concat();
    let over_stdio = [&load[..], &["--", MCPROVE, "fixture", "normal"]].concat();
    let outputs = [over_http, over_stdio].map(|arguments| {
        let output = run_limited("-n 40", &arguments);
        assert_own_error(&output, "ulimit -n");
        assert_eq!(findings(folder.path()), Vec::<Value>::new());
        output.without_stdout()
    });
    assert_transcript!("own_limits_sessions", &outputs);
}

#[test]
fn descriptors_in_the_middle_of_a_load() {
    let server = Fixture::start("http", &["normal"]);
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    // Every call in flight has a connection of its own.
    let load = [
        "run",
        "--tool",
        "echo",
        "--concurrent",
        "100",
        "-d",
        "20s",
        "--p99",
        "1ms",
        "--out",
        out,
        "--url",
        &server.url,
    ];
    let output = run_limited("-n 40", &load);
    assert_own_error(&output, "ulimit -n");
    assert!(output.stdout.starts_with("INCONCLUSIVE"), "{output:?}");
    assert_eq!(findings(folder.path()), Vec::<Value>::new());
    let run = std::fs::read_dir(folder.path()).unwrap().next().unwrap();
    let run = run.unwrap().path();
    let text = std::fs::read_to_string(run.join("metrics.json")).unwrap();
    let metrics: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(metrics["verdicts"][0]["detector"], "own_limit");
    // It ends when that happens, not after 20 s of failures.
    assert!(metrics["duration_secs"].as_f64().unwrap() < 15.0);
    // Computed again it is the same, and nothing to compare with.
    let run = run.to_str().unwrap();
    let again = crate::support::run(&["report", run]);
    let compared = crate::support::run(&["compare", run, run]);
    let outputs = [output, again, compared].map(Output::without_stdout);
    assert!(outputs.iter().all(|output| output.code == Some(2)));
    assert_transcript!("own_limits_load", &outputs);
}

#[test]
fn a_load_of_a_suite_is_an_error_and_no_failure() {
    let server = Fixture::start("http", &["normal"]);
    let folder = tempfile::tempdir().unwrap();
    let suite = folder.path().join("suite.yml");
    let yaml = format!(
        "name: s\nservers:\n  it: {{ url: \"{}\" }}\nload:\n  - name: busy\n    server: it\n    \
         scenario: {{ type: sustained, concurrent: 100, duration: 2s, tool_call: [{{ name: echo }}] }}\n",
        server.url
    );
    std::fs::write(&suite, yaml).unwrap();
    let out = folder.path().join("runs");
    let arguments = [
        "run",
        suite.to_str().unwrap(),
        "--json",
        "--out",
        out.to_str().unwrap(),
    ];
    let output = run_limited("-n 40", &arguments);
    assert_eq!(output.code, Some(2), "{output:?}");
    let report: Value = serde_json::from_str(&output.stdout).unwrap();
    let test = &report["tests"][0];
    assert_eq!(test["outcome"], "error", "{report}");
    assert_eq!(test["failures"], serde_json::json!([]), "{report}");
    let message = test["errors"][0]["message"].as_str().unwrap();
    assert_snapshot!("own_limits_suite", message);
}

#[test]
fn however_few_descriptors_there_are_it_is_never_a_finding() {
    let server = Fixture::start("http", &["normal"]);
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let mut errors = 0;
    for limit in 6..20 {
        let limit = format!("-n {limit}");
        for arguments in [
            &["probe", "--", MCPROVE, "fixture", "normal"][..],
            &["probe", "--url", &server.url],
            &[
                "deadlock-probe",
                "--tool",
                "echo",
                "--out",
                out,
                "--url",
                &server.url,
            ],
            &[
                "compare",
                "--runs",
                "1",
                "-d",
                "100ms",
                "--tool",
                "echo",
                "--out",
                out,
                "--url",
                &server.url,
                "--url",
                &server.url,
            ],
        ] {
            let output = run_limited(&limit, arguments);
            if output.code == Some(2) && output.stderr.contains("ulimit -n") {
                errors += 1;
            } else {
                let is_fine = output.code == Some(0) || arguments[0] == "compare";
                assert!(is_fine, "{limit} {arguments:?}: {output:?}");
            }
        }
    }
    assert!(errors >= 8, "{errors}");
    assert_eq!(findings(folder.path()), Vec::<Value>::new());
}

#[test]
fn memory_that_cannot_be_had() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let load = |concurrent| {
        [
            "run",
            "--tool",
            "echo",
            "--concurrent",
            concurrent,
            "-d",
            "1s",
            "--out",
            out,
            "--",
            MCPROVE,
            "fixture",
            "normal",
        ]
    };
    let output = run_limited("-v 200000", &load("100000"));
    assert_own_error(&output, "ulimit -v");
    let need = (r"need \d+ MiB", "need [size]");
    assert_transcript!("own_limits_memory", [&output], need);
    // Rust aborts when it gets no memory, after it said so.
    let output = run_limited("-v 110000", &load("30000"));
    assert_own_error(&output, "ulimit -v");
    assert_eq!(findings(folder.path()), Vec::<Value>::new());
}

#[test]
fn threads_that_cannot_be_started() {
    let folder = tempfile::tempdir().unwrap();
    let is_root = || {
        let id = Command::new("id").arg("-u").output();
        id.is_ok_and(|id| id.stdout == b"0\n")
    };
    let tools = ["setpriv", "prlimit"].iter().all(|tool| {
        let version = Command::new(tool).arg("--version").output();
        version.is_ok_and(|version| version.status.success())
    });
    // The limit does not hold for root, and counts all processes of a user.
    if !require("root, setpriv and prlimit", tools && is_root()) {
        return;
    }
    let program = folder.path().join("mcprove");
    std::fs::copy(MCPROVE, &program).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let all = std::fs::Permissions::from_mode(0o777);
        std::fs::set_permissions(folder.path(), all).unwrap();
    }
    let program = program.to_str().unwrap();
    let limited = |processes: u32, arguments: &[&str]| {
        let mut command = Command::new("setpriv");
        command
            .args(["--reuid=64321", "--clear-groups", "prlimit"])
            .args([&format!("--nproc={processes}"), program])
            .args(arguments)
            .current_dir(folder.path());
        finish(command)
    };
    let runs = folder.path().join("runs").display().to_string();
    let load = [
        "run",
        "--tool",
        "echo",
        "--sessions",
        "40",
        "--concurrent",
        "40",
    ];
    let rest = [
        "-d", "1s", "--out", &runs, "--", program, "fixture", "normal",
    ];
    let output = limited(8, &[&load[..], &rest].concat());
    assert_own_error(&output, "ulimit -u");
    assert_eq!(findings(&folder.path().join("runs")), Vec::<Value>::new());
    // A suite has threads of its own: to read it, and for each test.
    let suite = format!(
        "servers:\n  own: {{ command: [{program:?}, fixture, normal] }}\n\
         tools:\n  - {{ name: echoes, server: own, tool: echo, args: {{ message: x }} }}\n"
    );
    std::fs::write(folder.path().join("suite.yml"), suite).unwrap();
    for processes in 1..=14 {
        let output = limited(processes, &["run", "suite.yml"]);
        let told = format!("{}{}", output.stdout, output.stderr);
        // A supervisor without its second thread ends after the server began, and cannot say why.
        let is_told = told.contains("ulimit -u") || told.contains("supervises");
        let is_own = output.code == Some(2) && is_told;
        assert!(is_own || output.code == Some(0), "{processes}: {output:?}");
        assert!(!told.contains("please report"), "{processes}: {output:?}");
    }
}

#[test]
fn a_checklist_that_could_not_be_made_is_no_finding() {
    let output = run_limited("-n 14", &["doctor", "--", MCPROVE, "fixture", "normal"]);
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(output.stdout.contains("ulimit -n"), "{output:?}");
}

#[test]
fn servers_of_ours_report_it_and_go_on() {
    let upstream = Fixture::start("http", &["normal"]);
    let folder = tempfile::tempdir().unwrap();
    let tools = folder.path().join("tools.yml");
    std::fs::write(
        &tools,
        "name: m\ntools: [{ name: echo, response: hello }]\n",
    )
    .unwrap();
    for arguments in [
        &["lab", "--http", "127.0.0.1:0"][..],
        &[
            "mock",
            "--tools-from",
            tools.to_str().unwrap(),
            "--http",
            "127.0.0.1:0",
        ],
        &["proxy", "--listen", "127.0.0.1:0", "--url", &upstream.url],
    ] {
        let mut child = limited("-n 24", arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let url = lines.next().unwrap().unwrap();
        let url = url.strip_prefix("listening on ").unwrap().to_owned();
        let address = url.split('/').nth(2).unwrap();
        let connections: Vec<TcpStream> = (0..40)
            .map(|_| TcpStream::connect(address).unwrap())
            .collect();
        let warning: Vec<String> = lines.by_ref().take(2).map(Result::unwrap).collect();
        assert_snapshot!("own_limits_server", warning.join("\n"));
        drop(connections);
        let output = crate::support::run(&["probe", "--url", &url, "--call-timeout", "60s"]);
        assert!(output.stdout.contains("echo"), "{arguments:?}: {output:?}");
        let _ = Command::new("kill")
            .args(["-INT", &child.id().to_string()])
            .status();
        std::thread::spawn(move || lines.for_each(drop));
        assert!(wait(&mut child).is_some(), "{arguments:?}");
    }
}

/// What the server runs out of is a finding about it.
#[test]
fn what_the_server_runs_out_of_stays_a_finding() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let server = limited("-n 20", &["fixture", "normal", "--http", "127.0.0.1:0"]);
    let server = Fixture::start_command(server);
    let output = crate::support::run(&[
        "run",
        "--tool",
        "echo",
        "--concurrent",
        "60",
        "-d",
        "3s",
        "--hang-timeout",
        "500ms",
        "--grace-period",
        "500ms",
        "--call-timeout",
        "3s",
        "--out",
        out,
        "--url",
        &server.url,
    ]);
    assert_eq!(output.code, Some(1), "{output:?}");
    assert!(!findings(folder.path()).is_empty(), "{output:?}");
}
