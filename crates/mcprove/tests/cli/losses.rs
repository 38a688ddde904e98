//! What could not be written is told, and ends with exit code 2: on a full disk, over a limit on the size of
//! files, and on a standard output that takes nothing.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use harness::require;
use serde_json::{Value, json};

use crate::support::{MCPROVE, Output, assert_transcript, finish, mcprove, run, typed, wait};

/// A load on a built-in server, to whose end its arguments go.
const LOAD: [&str; 10] = [
    "run",
    "--tool",
    "echo",
    "--concurrent",
    "4",
    "--calls",
    "2000",
    "--seed",
    "1",
    "--out",
];
/// Runs a command on a disk of its own, which is copied to `kept` at the end.
const ON_DISK: &str = "\
disk=$1; kept=$2; size=$3; shift 3
mount -t tmpfs -o size=$size none \"$disk\" || exit 99
\"$@\"; code=$?
cp -r \"$disk/.\" \"$kept\"
exit $code";

/// A small disk, and what was left on it.
struct Disk {
    folder: tempfile::TempDir,
    size: &'static str,
}

impl Disk {
    /// None where no disk can be mounted.
    fn of(size: &'static str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let disk = Self { folder, size };
        fs::create_dir(disk.path()).unwrap();
        fs::create_dir(disk.kept()).unwrap();
        let mut trial = disk.command(&["true"]);
        let present = trial.output().is_ok_and(|trial| trial.status.success());
        require("root, unshare and tmpfs", present).then_some(disk)
    }

    /// Where it is, for commands that are run on it.
    fn path(&self) -> PathBuf {
        self.folder.path().join("disk")
    }

    /// What they left.
    fn kept(&self) -> PathBuf {
        self.folder.path().join("kept")
    }

    fn file(&self, name: &str) -> String {
        self.path().join(name).display().to_string()
    }

    fn command<A: AsRef<str>>(&self, command: &[A]) -> Command {
        let mut all = Command::new("unshare");
        all.args(["-m", "--", "sh", "-c", ON_DISK, "sh"]);
        all.arg(self.path()).arg(self.kept()).arg(self.size);
        all.args(command.iter().map(AsRef::as_ref));
        all.env("TMPDIR", std::env::temp_dir());
        all
    }

    fn mcprove(&self, arguments: &[&str]) -> Command {
        self.command(&[&[MCPROVE], arguments].concat())
    }

    /// The only run that was left.
    fn kept_run(&self) -> PathBuf {
        let runs = fs::read_dir(self.kept().join("runs")).unwrap();
        let mut runs: Vec<PathBuf> = runs.map(|entry| entry.unwrap().path()).collect();
        assert_eq!(runs.len(), 1, "{runs:?}");
        runs.remove(0)
    }
}

/// A command whose files may have so many KiB.
fn limited(kibibytes: u32, arguments: &[&str]) -> Command {
    let mut command = Command::new("bash");
    let script = format!("ulimit -f {kibibytes}; exec \"$@\"");
    command
        .args(["-c", &script, "bash", MCPROVE])
        .args(arguments);
    command
}

fn built_in<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [arguments, &["--", MCPROVE, "fixture", "normal"]].concat()
}

/// How many are lost, and of how many, depends on the moment; so does where a disk is full.
const COUNTS: (&str, &str) = (
    r"[\d,]+ (of [\d,]+ )?(bytes|calls|events|lines|requests|rows)",
    "[count] $2",
);

/// It may be small enough.
const HISTOGRAM: (&str, &str) = (r"error: \S+latency\.hlog.*\n", "");

/// Exit code 2, and this on stderr.
macro_rules! assert_lost {
    ($name:expr, $output:expr) => {
        assert_eq!($output.code, Some(2), "{:?}", $output);
        assert_transcript!($name, [&$output.without_stdout()], COUNTS, HISTOGRAM);
    };
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn json_of(path: &Path) -> Value {
    serde_json::from_str(&text(path)).unwrap()
}

fn lines(path: &Path) -> usize {
    text(path).matches('\n').count()
}

/// How many there are of what stands before a word in stderr.
fn number_before(output: &Output, words: &str) -> usize {
    let (before, _) = output
        .stderr
        .split_once(words)
        .unwrap_or_else(|| panic!("{words}: {output:?}"));
    let digits = before.rsplit(' ').next().unwrap().replace(',', "");
    digits.parse().unwrap()
}

#[test]
fn a_trace_that_fills_the_disk_is_counted_and_claims_no_limit() {
    let Some(disk) = Disk::of("256k") else { return };
    let runs = disk.file("runs");
    let output = finish(disk.mcprove(&built_in(&[&LOAD[..], &[&runs]].concat())));
    // The report is of all calls, whatever became of the files.
    assert!(output.stdout.starts_with("PASS"), "{output:?}");
    assert!(output.stdout.contains("2,000"), "{output:?}");
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(!output.stderr.contains("limit"), "{output:?}");
    let run = disk.kept_run();
    let lost = number_before(&output, " events were not written");
    // Two for each call, and some for what was said and done besides.
    let all = lost + lines(&run.join("trace.jsonl"));
    assert!((4000..4200).contains(&all), "{all}");
    // Nothing is there in part.
    for name in ["metrics.json", "summary.json"] {
        if run.join(name).exists() {
            json_of(&run.join(name));
        }
    }
    let parts = fs::read_dir(&run).unwrap();
    let mut names = parts.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(names.all(|name| !name.contains(".part")));
}

#[test]
fn over_a_limit_on_the_size_of_files_the_run_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let runs = folder.path().join("runs");
    let runs = runs.to_str().unwrap();
    // The signal would end the program: exit code 153, in a shell.
    let output = finish(limited(64, &built_in(&[&LOAD[..], &[runs]].concat())));
    assert!(output.stdout.starts_with("PASS"), "{output:?}");
    assert!(!output.stderr.contains("limit"), "{output:?}");
    let entry = fs::read_dir(runs).unwrap().next().unwrap().unwrap();
    let directory = entry.path();
    let lost = number_before(&output, " events were not written");
    let all = lost + lines(&directory.join("trace.jsonl"));
    assert!((4000..4200).contains(&all), "{all}");
    let metrics = json_of(&directory.join("metrics.json"));
    let first = &metrics["losses"][0];
    assert_eq!(first["missing"]["events"], lost, "{first}");
    assert_eq!(json_of(&directory.join("summary.json"))["exit_code"], 2);
    let report = text(&directory.join("report.md"));
    assert!(report.contains("**Incomplete**"), "{report}");
    // What is reported later knows why, too.
    let again = run(&["report", directory.to_str().unwrap()]);
    let outputs = [output, again].map(Output::without_stdout);
    assert_transcript!("losses_trace", &outputs, COUNTS);
}

#[test]
fn a_report_that_cannot_be_written_is_printed_whole() {
    let folder = tempfile::tempdir().unwrap();
    let runs = folder.path().join("runs");
    let arguments = [&LOAD[..], &[runs.to_str().unwrap(), "--no-trace", "--json"]].concat();
    let output = finish(limited(1, &built_in(&arguments)));
    let printed: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(printed["passed"], true, "{output:?}");
    let files: Vec<String> = printed["losses"]
        .as_array()
        .unwrap()
        .iter()
        .map(|loss| loss["file"].as_str().unwrap().to_owned())
        .collect();
    for name in ["metrics.json", "report.md", "report.html"] {
        assert!(files.iter().any(|file| file.ends_with(name)), "{files:?}");
    }
    assert_lost!("losses_report", output);
    let entry = fs::read_dir(runs).unwrap().next().unwrap().unwrap();
    assert!(!entry.path().join("metrics.json").exists());
}

#[test]
fn a_load_that_fails_on_a_full_disk_is_told_by_the_loss() {
    let folder = tempfile::tempdir().unwrap();
    let runs = folder.path().join("runs");
    let arguments = [&LOAD[..], &[runs.to_str().unwrap(), "--p99", "0.001ms"]].concat();
    let output = finish(limited(64, &built_in(&arguments)));
    assert!(output.stdout.starts_with("FAIL"), "{output:?}");
    assert_eq!(output.code, Some(2), "{output:?}");
}

#[test]
fn the_stderr_of_a_server_that_is_lost_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let runs = folder.path().join("runs");
    let loud = format!("head -c 200000 /dev/zero | tr '\\0' x >&2; exec {MCPROVE} fixture normal");
    let arguments = [
        &LOAD[..],
        &[
            runs.to_str().unwrap(),
            "--no-trace",
            "--",
            "sh",
            "-c",
            &loud,
        ],
    ];
    let output = finish(limited(128, &arguments.concat()));
    assert_lost!("losses_server_stderr", output);
}

#[test]
fn comparisons_of_servers_are_told_whole() {
    let folder = tempfile::tempdir().unwrap();
    let server = format!("{MCPROVE} fixture normal");
    let arguments = [
        "compare",
        "--server",
        &server,
        "--server",
        &server,
        "--runs",
        "1",
        "--calls",
        "20",
        "--tool",
        "echo",
        "--out",
        folder.path().to_str().unwrap(),
    ];
    let output = finish(limited(1, &arguments));
    assert!(!output.stdout.is_empty(), "{output:?}");
    assert_lost!("losses_comparison", output);
}

#[test]
fn traces_of_probes_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace.jsonl");
    let arguments = built_in(&["probe", "--trace", trace.to_str().unwrap()]);
    let output = finish(limited(1, &arguments));
    assert!(output.stdout.contains("echo"), "{output:?}");
    assert_eq!(text(&trace).len(), 1024);
    let full = run(&built_in(&["probe", "--trace", "/dev/full"]));
    let outputs = [output, full].map(Output::without_stdout);
    assert_transcript!("losses_probe", &outputs, COUNTS);
}

/// A client that makes so many calls and then leaves; gives how many were answered.
fn call(mut command: Command, calls: usize) -> (Output, usize) {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
    let stderr = child.stderr.take().unwrap();
    let stderr = std::thread::spawn(move || std::io::read_to_string(stderr).unwrap());
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "0" } });
    let mut answered = 0;
    for id in 0..=calls {
        let message = if id == 0 {
            json!({ "jsonrpc": "2.0", "id": id, "method": "initialize", "params": params })
        } else {
            let params = json!({ "name": "echo", "arguments": { "message": "x".repeat(500) } });
            json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
        };
        writeln!(input, "{message}").unwrap();
        let answer = answers.next().unwrap().unwrap();
        answered += usize::from(answer.contains("result"));
    }
    drop(input);
    let code = wait(&mut child).unwrap().code();
    let output = Output {
        command: typed(&command),
        code,
        stdout: String::new(),
        stderr: stderr.join().unwrap(),
    };
    (output, answered)
}

#[test]
fn a_proxy_passes_all_on_and_tells_what_it_could_not_record() {
    let Some(disk) = Disk::of("64k") else { return };
    let record = disk.file("calls.jsonl");
    let arguments = built_in(&["proxy", "--record", &record]);
    let (output, answered) = call(disk.mcprove(&arguments), 209);
    assert_eq!(answered, 210);
    let lost = number_before(&output, " requests were not written: No space left");
    let kept = text(&disk.kept().join("calls.jsonl"));
    let whole = kept
        .split_inclusive('\n')
        .filter(|line| line.ends_with('\n'));
    let kept = whole
        .filter(|line| line.contains("\"kind\":\"request\""))
        .count();
    assert_eq!(kept + lost, 210, "{output:?}");
    assert!(
        output.stderr.contains(&format!(" {kept} of 210 ")),
        "{output:?}"
    );
    assert_lost!("losses_proxy", output);
}

#[test]
fn a_proxy_whose_files_are_limited_ends_with_its_client() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("calls.jsonl");
    let summary = folder.path().join("summary.json");
    let arguments = built_in(&[
        "proxy",
        "--record",
        record.to_str().unwrap(),
        "--summary",
        summary.to_str().unwrap(),
    ]);
    let (output, answered) = call(limited(8, &arguments), 40);
    assert_eq!(answered, 41);
    assert_lost!("losses_proxy_limited", output);
    let summary = json_of(&summary);
    assert!(
        summary["recording"]["unrecorded"].as_u64().unwrap() > 0,
        "{summary}"
    );
}

#[test]
fn a_mock_goes_on_without_its_log() {
    let folder = tempfile::tempdir().unwrap();
    let tools = folder.path().join("tools.yml");
    fs::write(
        &tools,
        "name: demo\ntools:\n  - name: echo\n    response: ok\n",
    )
    .unwrap();
    let log = folder.path().join("log.jsonl");
    let arguments = [
        "mock",
        "--tools-from",
        tools.to_str().unwrap(),
        "--log",
        log.to_str().unwrap(),
    ];
    let (output, answered) = call(limited(8, &arguments), 40);
    assert_eq!(answered, 41);
    assert_lost!("losses_mock", output);
}

#[test]
fn a_lab_goes_on_without_its_audit() {
    let Some(disk) = Disk::of("128k") else { return };
    let audit = disk.file("audit.db");
    let command = disk.mcprove(&["lab", "--audit", &audit]);
    let (output, answered) = call(command, 300);
    assert_eq!(answered, 301);
    assert_lost!("losses_audit", output);
}

/// A suite of one tool test, and of one agent with a recorded model where one is wanted.
fn suite(folder: &Path) -> String {
    fs::write(
        folder.join("tools.yml"),
        "name: demo\ntools:\n  - name: echo\n    response: ok\n",
    )
    .unwrap();
    let suite = "servers:\n  demo: { mock: ./tools.yml }\ntools:\n  - { name: echoes, server: demo, tool: echo }\n";
    let path = folder.join("suite.yml");
    fs::write(&path, suite).unwrap();
    path.display().to_string()
}

#[test]
fn reports_of_suites_are_tried_all_and_printed() {
    let folder = tempfile::tempdir().unwrap();
    let suite = suite(folder.path());
    let out = folder.path().join("runs").display().to_string();
    let whole = folder.path().join("whole.json");
    let json = format!("json={}", whole.display());
    let arguments = [
        "run",
        &suite,
        "--out",
        &out,
        "--report",
        "junit=/dev/full",
        "--report",
        &json,
    ];
    let output = run(&arguments);
    assert!(output.stdout.contains("echoes"), "{output:?}");
    assert_lost!("losses_suite_report", output);
    assert_eq!(json_of(&whole)["passed"], true);
}

#[test]
fn an_old_report_does_not_outlive_one_that_cannot_be_written() {
    let Some(disk) = Disk::of("4k") else { return };
    let folder = tempfile::tempdir().unwrap();
    let suite = suite(folder.path());
    let out = folder.path().join("runs").display().to_string();
    let report = disk.file("junit.xml");
    let script = format!(
        "echo old > {report}; exec {MCPROVE} run {suite} --out {out} --report junit={report} \
         --report html={}",
        disk.file("report.html")
    );
    let output = finish(disk.command(&["sh", "-c", &script]));
    assert_lost!("losses_suite_reports", output);
    assert!(!disk.kept().join("junit.xml").exists());
}

#[test]
fn tests_that_failed_are_kept_or_that_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let suite = suite(folder.path());
    // A file where the folder should be.
    let out = folder.path().join("taken");
    fs::write(&out, "").unwrap();
    let output = run(&["run", &suite, "--out", out.to_str().unwrap()]);
    assert!(output.stdout.contains("echoes"), "{output:?}");
    assert_lost!("losses_last_failed", output);
}

#[test]
fn a_standard_output_that_takes_nothing_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().display().to_string();
    let load = built_in(&[
        "run", "--tool", "echo", "--calls", "5", "--json", "--out", &out,
    ]);
    let probe = built_in(&["probe"]);
    let outputs = [
        &load[..],
        &probe,
        &["list-scenarios"],
        &["schema", "metrics"],
        &["--version"],
        &["run", "--help"],
    ]
    .map(|arguments| {
        let mut command = mcprove(arguments);
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = command.stdin(Stdio::null()).stdout(full).output().unwrap();
        Output {
            command: typed(&command),
            code: output.status.code(),
            stdout: String::new(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    });
    assert!(outputs.iter().all(|output| output.code == Some(2)));
    assert_transcript!("losses_stdout", &outputs);
}

#[test]
fn a_reader_that_went_away_is_no_loss() {
    let mut command = mcprove(&["schema", "metrics"]);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = command
        .stdin(Stdio::null())
        .stdout(writer)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty());
}

#[test]
fn scores_and_first_suites_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace.json");
    let run_of = json!({ "model": "m", "prompt": "p", "final_response": "done", "tool_calls": [], "tool_results": [] });
    fs::write(&trace, run_of.to_string()).unwrap();
    let output = run(&["score", trace.to_str().unwrap(), "--junit", "/dev/full"]);
    assert!(!output.stdout.is_empty(), "{output:?}");
    assert_lost!("losses_score", output);
    let Some(disk) = Disk::of("4k") else { return };
    let out = disk.file("mcprove.yml");
    let script = format!(
        "head -c 4096 /dev/zero > {}; exec {MCPROVE} init --out {out} -- {MCPROVE} fixture normal",
        disk.file("full")
    );
    let output = finish(disk.command(&["sh", "-c", &script]));
    assert_lost!("losses_init", output);
    assert!(!disk.kept().join("mcprove.yml").exists());
}

#[test]
fn loads_of_suites_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let suite = suite(folder.path());
    let load = "load:\n  - name: holds\n    server: demo\n    scenario: { type: sustained, concurrent: 4, duration: 300ms }\n";
    fs::write(&suite, text(Path::new(&suite)) + load).unwrap();
    let out = folder.path().join("runs").display().to_string();
    let output = finish(limited(4, &["run", &suite, "--out", &out]));
    assert!(output.stdout.contains("holds"), "{output:?}");
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(output.stderr.contains("trace.jsonl"), "{output:?}");
}

#[test]
fn a_cassette_that_cannot_be_written_is_told() {
    let Some(disk) = Disk::of("64k") else { return };
    let version = Command::new("python3").arg("--version").output();
    if !require("python3", version.is_ok()) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let suite = suite(folder.path());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/agents/small_agent.py");
    let agent = format!(
        "agents:\n  - name: echoing\n    command: [python3, {script:?}]\n    servers: [demo]\n    prompt: Please echo this.\n"
    );
    fs::write(&suite, text(Path::new(&suite)) + &agent).unwrap();
    let out = folder.path().join("runs").display().to_string();
    let script = format!(
        "cp {0}/*.yml {1}; head -c 1000000 /dev/zero > {1}/full 2> /dev/null; \
         exec {MCPROVE} run {1}/suite.yml --record --out {out}",
        folder.path().display(),
        disk.path().display()
    );
    let output = finish(disk.command(&["sh", "-c", &script]));
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(output.stdout.contains("os error 28"), "{output:?}");
    let cassettes = disk.kept().join("cassettes");
    let left = fs::read_dir(cassettes).map_or(0, Iterator::count);
    assert_eq!(left, 0);
}
