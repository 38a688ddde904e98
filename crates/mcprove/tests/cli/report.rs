//! `mcprove report` and `mcprove runs`.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::proxy::proxy;
use crate::samples::{copy, samples};
use crate::schema::validator;
use crate::support::{MCPROVE, Output, assert_transcript, finish, mcprove, run};

/// Makes a run under `base` and gives its directory.
pub fn make_run(base: &Path, arguments: &[&str], mode: &[&str]) -> (PathBuf, Output) {
    let before = directories(base);
    let out = base.to_str().unwrap();
    let all = [
        &["run"],
        arguments,
        &["--out", out, "--", "mcprove", "fixture"],
        mode,
    ]
    .concat();
    let output = run(&all);
    let mut new = directories(base);
    new.retain(|path| !before.contains(path));
    let [directory] = &new[..] else {
        panic!("{new:?}: {output:?}");
    };
    (directory.clone(), output)
}

/// The directories in a directory, by name.
pub fn directories(base: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(base)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    found.sort();
    found
}

fn report(directory: &Path) -> Output {
    run(&["report", directory.to_str().unwrap()])
}

const SHORT: &[&str] = &["--concurrent", "4", "--duration", "300ms"];
/// What a report writes.
const FILES: [&str; 4] = ["metrics.json", "summary.json", "report.md", "report.html"];

#[test]
fn a_trace_gives_the_same_files_and_the_same_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let open = &["--rate", "200", "--sessions", "3", "--duration", "500ms"];
    let iterations = &["--scenario", "cold_start", "--iterations", "3"];
    let threshold = &["--p50", "1ms", "--calls", "30"];
    let cases: [(&[&str], &[&str], i32); 6] = [
        (SHORT, &["normal"], 0),
        (&[SHORT, &["--sessions", "3"]].concat(), &["normal"], 0),
        (open, &["normal"], 0),
        (iterations, &["normal"], 0),
        (SHORT, &["tool_error"], 1),
        (threshold, &["slow", "--set", "delay_ms=5"], 1),
    ];
    for (arguments, mode, code) in cases {
        let (directory, live) = make_run(folder.path(), arguments, mode);
        assert_eq!(live.code, Some(code), "{arguments:?} {mode:?}: {live:?}");
        let written = FILES.map(|file| std::fs::read_to_string(directory.join(file)).unwrap());
        for file in FILES {
            std::fs::write(directory.join(file), "").unwrap();
        }
        let again = report(&directory);
        assert_eq!(again.code, live.code, "{again:?}");
        assert_eq!(again.stdout, live.stdout);
        assert_eq!(again.stderr, "");
        for (file, text) in FILES.iter().zip(written) {
            let now = std::fs::read_to_string(directory.join(file)).unwrap();
            assert_eq!(now, text, "{file} of {arguments:?} {mode:?}");
        }
    }
}

#[test]
fn a_gate_without_evidence_ends_with_2_both_times() {
    let folder = tempfile::tempdir().unwrap();
    // Ten calls say nothing of p99, and one of them is slower than the limit.
    let arguments = ["--calls", "10", "--concurrent", "1", "--p99", "1ms"];
    let mode = ["slow", "--set", "delay_ms=5"];
    let (directory, live) = make_run(folder.path(), &arguments, &mode);
    assert_eq!(live.code, Some(2), "{live:?}");
    assert_eq!(report(&directory).code, Some(2));
}

#[test]
fn without_a_whole_trace_the_report_is_that_of_metrics_json() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = [SHORT, &["--no-trace"]].concat();
    let (directory, live) = make_run(folder.path(), &arguments, &["normal"]);
    let read = || FILES.map(|file| std::fs::read_to_string(directory.join(file)).unwrap());
    let written = read();
    assert!(written[3].contains("<code>echo</code>"), "{}", written[3]);
    let output = report(&directory);
    assert_eq!(output.code, Some(0));
    assert_eq!(output.stdout, live.stdout);
    for (now, text) in read().iter().zip(&written) {
        assert_eq!(now, text);
    }
    let mut outputs = vec![output.without_stdout()];

    let (directory, live) = make_run(folder.path(), SHORT, &["normal"]);
    let written = std::fs::read_to_string(directory.join("metrics.json")).unwrap();
    let trace = directory.join("trace.jsonl");
    let whole = std::fs::read(&trace).unwrap();
    std::fs::write(&trace, &whole[..whole.len() / 2]).unwrap();
    let output = report(&directory);
    assert_eq!((output.code, &output.stdout), (Some(0), &live.stdout));
    outputs.push(output.without_stdout());
    assert_transcript!("report_incomplete", &outputs);
    let now = std::fs::read_to_string(directory.join("metrics.json")).unwrap();
    assert_eq!(now, written);
}

#[test]
fn a_changed_line_is_told_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let (directory, _) = make_run(folder.path(), SHORT, &["normal"]);
    let trace = directory.join("trace.jsonl");
    let whole = std::fs::read_to_string(&trace).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    let wrong = ["{\"ts\":0.1", "{\"ts\":0.1,\"kind\":\"request\"}", "\u{1}"];
    let outputs = wrong.map(|line| {
        let mut changed = lines.clone();
        changed[4] = line;
        std::fs::write(&trace, changed.join("\n") + "\n").unwrap();
        report(&directory)
    });
    assert_transcript!("report_changed_line", &outputs);
}

#[test]
fn files_of_another_version_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (directory, _) = make_run(folder.path(), SHORT, &["normal"]);
    let (path, base) = (directory.to_str().unwrap(), folder.path().to_str().unwrap());
    let change = |file: &str, from: &str, to: &str| {
        let file = directory.join(file);
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains(from), "{}", &text[..200]);
        std::fs::write(&file, text.replacen(from, to, 1)).unwrap();
    };
    change("metrics.json", "metrics.v1", "metrics.v9");
    let mut outputs = vec![
        run(&["report", path]),
        run(&["runs", "--dir", base]).without_stdout(),
        run(&["compare", path, path]),
        run(&["compare", base, base]),
    ];
    change("metrics.json", "metrics.v9", "metrics.v1");
    change(
        "trace.jsonl",
        "\"schema\":\"trace.v1\"",
        "\"schema\":\"trace.v2\"",
    );
    outputs.push(run(&["report", path]));
    assert_transcript!("report_another_version", &outputs);
    // One from before there was a version is of the first.
    change("trace.jsonl", "\"schema\":\"trace.v2\",", "");
    assert_eq!(report(&directory).code, Some(0));
}

#[test]
fn what_is_no_run_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let mut outputs = vec![report(folder.path())];
    std::fs::write(folder.path().join("metrics.json"), "{}").unwrap();
    outputs.push(report(folder.path()));
    assert_transcript!("report_no_run", &outputs);
}

#[test]
fn json_is_that_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let (directory, _) = make_run(folder.path(), SHORT, &["normal"]);
    let output = run(&["report", "--json", directory.to_str().unwrap()]);
    let written = std::fs::read_to_string(directory.join("metrics.json")).unwrap();
    assert_eq!(output.stdout, written);
}

#[test]
fn runs_are_listed_newest_first() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().to_str().unwrap();
    let (first, _) = make_run(folder.path(), SHORT, &["normal"]);
    // Names tell seconds.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let (second, _) = make_run(folder.path(), SHORT, &["tool_error"]);
    let broken = folder.path().join("1999-01-01T00-00-00-BROKEN");
    std::fs::create_dir(&broken).unwrap();
    std::fs::write(broken.join("metrics.json"), "{").unwrap();
    std::fs::create_dir(folder.path().join("something-else")).unwrap();

    let output = run(&["runs", "--dir", base, "--json"]);
    assert_eq!(output.code, Some(0), "{output:?}");
    let list: Value = serde_json::from_str(&output.stdout).unwrap();
    let problems: Vec<String> = validator("runs.v1")
        .iter_errors(&list)
        .map(|error| error.to_string())
        .collect();
    assert_eq!(problems, Vec::<String>::new());
    let names: Vec<&str> = list["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["directory"].as_str().unwrap())
        .collect();
    let expected = [&second, &first, &broken].map(|path| path.to_str().unwrap());
    assert_eq!(names, expected);
    assert_eq!(list["runs"][0]["summary"]["outcome"], "failed");
    assert_eq!(list["runs"][1]["summary"]["outcome"], "passed");
    assert!(list["runs"][2]["summary"].is_null());
    assert!(list["runs"][2]["problem"].is_string());

    let mut command = mcprove(&["runs", "--dir", ".", "--limit", "1"]);
    command.current_dir(folder.path());
    let text = finish(command).stdout;
    let name = second.file_name().unwrap().to_str().unwrap();
    assert!(text.contains(name), "{text}");
    assert!(!text.contains("BROKEN"), "{text}");
    assert!(text.contains("--limit"), "{text}");
}

#[test]
fn no_runs_yet_is_no_mistake_and_a_wrong_directory_is() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = mcprove(&["runs"]);
    command.current_dir(folder.path());
    let outputs = [
        finish(command),
        run(&["runs", "--dir", "/no/such/directory"]),
    ];
    assert_transcript!("runs_none", &outputs);
}

/// Every report can be had as Markdown, HTML and JSON, in files, beside what is printed.
#[test]
#[allow(clippy::too_many_lines, reason = "one list of reports")]
fn every_report_has_every_format() {
    let folder = tempfile::tempdir().unwrap();
    copy(&samples(""), folder.path());
    let server = &["--", "mcprove", "fixture", "normal"][..];
    let short = &["--concurrent", "2", "--duration", "200ms"][..];
    let cases: [(&[&str], &[&str], &str); 15] = [
        (
            &["report", "runs/sustained"],
            &[],
            "PASS: mcprove-fixture · Sustained",
        ),
        (
            &["report", "traces/proxy.jsonl"],
            &[],
            "RECORDED: mcprove fixture normal · traces/proxy.jsonl",
        ),
        (
            &["compare", "runs/sustained", "runs/sustained"],
            &[],
            "INCONCLUSIVE: mcprove fixture normal · mcprove fixture normal · sustained",
        ),
        (&["runs"], &[], " runs passed: runs"),
        (
            &["score", "traces/truthful.json"],
            &[],
            "SCORED: traces/truthful.json",
        ),
        (
            &["lab", "audit", "audit/lab.db"],
            &[],
            " failed - audit/lab.db",
        ),
        (
            &["lab", "audit", "audit/lab.db", "show", "1"],
            &[],
            "row 1: ",
        ),
        (&["doctor"], &[], ": this machine · doctor"),
        (&["probe"], server, "PASS: mcprove-fixture · probe"),
        (
            &["deadlock-probe", "--concurrent", "2"],
            server,
            "PASS: mcprove-fixture · Deadlock probe",
        ),
        (
            &[&["run"], short].concat(),
            server,
            "PASS: mcprove-fixture · Sustained",
        ),
        (
            &[
                &[
                    "run",
                    "-s",
                    "mcprove fixture normal",
                    "-s",
                    "mcprove fixture slow",
                ],
                short,
            ]
            .concat(),
            &[],
            "PASS: mcprove fixture normal · mcprove fixture slow · Sustained",
        ),
        (&["run", "suites/oracle.yml"], &[], ": suites/oracle.yml"),
        (
            &["run", "suites/oracle.yml", "--list"],
            &[],
            " in suites/oracle.yml",
        ),
        (
            &["validate", "suites/oracle.yml"],
            &[],
            "PASS: suites/oracle.yml · validate",
        ),
    ];
    for (command, rest, title) in cases {
        let formats = [
            "markdown=r.md",
            "html=r.html",
            "json=r.json",
            "terminal=r.txt",
        ];
        let flags = formats.map(|format| ["--report", format]).concat();
        let perform = |flags: &[&str]| {
            let mut all = mcprove(&[command, flags, rest].concat());
            all.current_dir(folder.path());
            finish(all)
        };
        let output = perform(&flags);
        // A run compared with itself decides nothing.
        let is_undecided = command[0] == "compare";
        let is_expected = |code| if is_undecided { code == 2 } else { code < 2 };
        assert!(output.code.is_some_and(is_expected), "{output:?}");
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
        assert!(read("r.md").starts_with("# "), "{command:?}");
        let page = read("r.html");
        assert!(
            page.starts_with("<!DOCTYPE html>") && !page.contains("http://"),
            "{command:?}"
        );
        let found = page
            .split("<title>")
            .nth(1)
            .and_then(|rest| rest.split('<').next());
        assert!(
            found.is_some_and(|found| found.contains(title)),
            "{command:?}: {found:?}"
        );
        serde_json::from_str::<Value>(&read("r.json")).unwrap();
        assert!(
            !output.stdout.is_empty() && !read("r.txt").is_empty(),
            "{command:?}"
        );
        let output = perform(&["--report", "html=no/such/folder/r.html"]);
        assert_eq!(output.code, Some(2), "{command:?}: {output:?}");
    }
}

/// What ended a command is in every report that was asked for, in place of what an earlier run left there.
#[test]
fn every_report_says_what_ended_the_command() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("broken.toml"), "[scenario]\ntypo = 1\n").unwrap();
    let missing = &["--", "no-such-server"][..];
    let load = &["run", "--concurrent", "2", "--duration", "200ms"][..];
    let cases: [(&[&str], &[&str]); 12] = [
        (&["run", "broken.toml"], &[]),
        (&["run", "missing.toml"], &[]),
        (&["run", "missing.yml"], &[]),
        (load, missing),
        (&["run", "--scenario", "nothing"], missing),
        (&["probe"], missing),
        (&["deadlock-probe", "--concurrent", "2"], missing),
        (&["compare", "no", "runs"], &[]),
        (&["score", "missing.json"], &[]),
        (&["report", "no/run"], &[]),
        (&["runs", "--dir", "no/runs"], &[]),
        (&["lab", "audit", "missing.db"], &[]),
    ];
    let mut told = Vec::new();
    for (command, rest) in cases {
        let formats = ["markdown=r.md", "html=r.html", "json=r.json"];
        for name in ["r.md", "r.html", "r.json"] {
            std::fs::write(folder.path().join(name), "of an earlier run").unwrap();
        }
        let flags = formats.map(|format| ["--report", format]).concat();
        let mut all = mcprove(&[command, &flags, rest].concat());
        all.current_dir(folder.path());
        let output = finish(all);
        assert!(output.code.is_some_and(|code| code > 0), "{output:?}");
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
        let (page, json) = (read("r.html"), read("r.json"));
        let title = page
            .split(&['<', '>'])
            .skip_while(|it| *it != "title")
            .nth(1);
        let title = title.unwrap();
        let json: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json["outcome"], "error", "{command:?}");
        let (command, text) = (command.join(" "), read("r.md"));
        told.push(format!("$ mcprove {command}\ntitle: {title}\n{text}"));
    }
    insta::assert_snapshot!("report_error", told.join("\n"));
}

/// What passes through a proxy has standard output, so its reports go to files.
#[test]
fn a_proxy_reports_to_files_only() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("r.html");
    let flag = format!("html={}", page.display());
    let server = ["--", MCPROVE, "fixture", "normal"];
    let ping = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
    let (code, _, err) = proxy(&[&["--report", &flag][..], &server].concat(), ping);
    assert_eq!(code, Some(0), "{err}");
    let text = std::fs::read_to_string(page).unwrap();
    assert!(text.contains("<title>PROXY: "), "{text}");
    let (code, out, err) = proxy(&[&["--report", "json"][..], &server].concat(), ping);
    assert_eq!((code, out.is_empty()), (Some(2), true), "{err}");
}
