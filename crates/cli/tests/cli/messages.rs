//! What `mcprove run` says when something is not as it should be: what, where, what to try.

use std::path::Path;

use crate::support::{MCPROVE, Output, finish, mcprove, run};

/// `mcprove run` with these arguments on a healthy server, its runs in `folder`.
fn run_in(folder: &Path, arguments: &[&str]) -> Output {
    let mut all = vec!["run", "--duration", "200ms"];
    all.extend(arguments);
    all.extend(["--", MCPROVE, "fixture", "normal"]);
    let mut command = mcprove(&all);
    command.current_dir(folder);
    finish(command)
}

fn assert_refused(output: &Output, parts: &[&str]) {
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    for part in parts.iter().chain(&["\nhint: "]) {
        assert!(output.stderr.contains(part), "{part:?}: {output:?}");
    }
}

#[test]
fn problems_with_flags_name_the_flags() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, parts) in [
        (
            &["--scenario", "sustaned"] as &[&str],
            &["`--scenario` does not know", "did you mean \"sustained\"?"] as &[&str],
        ),
        (&["--p99", "abc"], &["`--p99` must be a duration"]),
        (&["--rate", "-1"], &["`--rate` must be", "not -1"]),
        (
            &["--memory-growth-mb", "-1"],
            &["`--memory-growth-mb` must be", "not -1"],
        ),
        (
            &["--error-rate", "-0.5"],
            &["`--error-rate` must be", "not -0.5"],
        ),
        (
            &["--max-in-flight", "5"],
            &["`--max-in-flight` does nothing without `--rate`"],
        ),
        (
            &["--scenario", "ramp", "--ramp-from", "9", "--ramp-to", "5"],
            &["let `--ramp-to` be at least `--ramp-from`"],
        ),
        (
            &["--scenario", "spike", "--spike-at", "90s"],
            &[
                "a burst at 90 s does not fit into a run of 200 ms",
                "`--duration`",
            ],
        ),
        (
            &["--tool", "ehco"],
            &["the server has no tool \"ehco\"", "did you mean \"echo\"?"],
        ),
    ] {
        assert_refused(&run_in(folder.path(), arguments), parts);
    }
}

#[test]
fn a_threshold_for_a_tool_that_does_not_exist_is_refused_before_the_load() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("load.toml");
    for (tool, hint) in [
        ("ehco", "did you mean \"echo\"?"),
        ("something_else", "`mcprove probe` lists the tools"),
    ] {
        let text = format!(
            "[server]\ncommand = [\"{MCPROVE}\", \"fixture\", \"normal\"]\n\
             [scenario]\ntype = \"sustained\"\nduration = \"10m\"\n\
             [thresholds.tools.{tool}]\np99_latency = \"1s\"\n\
             [output]\nreport_dir = \"{}\"\n",
            folder.path().join("runs").display()
        );
        std::fs::write(&file, text).unwrap();
        let output = run(&["run", file.to_str().unwrap()]);
        let what = format!("there is a threshold for the tool \"{tool}\"");
        assert_refused(&output, &[&what, hint]);
    }
}

#[cfg(unix)]
#[test]
fn a_server_without_tools_is_told_as_such() {
    const SERVER: &str = r#"
        while read -r line; do
            id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
            case "$line" in
                *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"empty","version":"1"}}' ;;
                *'"tools/list"'*) result='{"tools":[]}' ;;
                *'"ping"'*) result='{}' ;;
                *) continue ;;
            esac
            printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
        done"#;
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let output = run(&[
        "run",
        "--protocol",
        "2025-06-18",
        "--out",
        out,
        "--",
        "sh",
        "-c",
        SERVER,
    ]);
    assert_refused(
        &output,
        &["the server has no tools", "`mcprove probe` shows"],
    );
    assert!(!output.stderr.contains("--tool"), "{output:?}");
}

#[cfg(unix)]
#[test]
fn what_cannot_be_written_is_named() {
    let folder = tempfile::tempdir().unwrap();
    // A file where a directory should be: that fails for every user.
    let file = folder.path().join("occupied");
    std::fs::write(&file, "").unwrap();
    let place = file.join("runs");
    let output = run_in(folder.path(), &["--out", place.to_str().unwrap()]);
    let what = format!("error: cannot create the directory {}: ", place.display());
    assert_refused(&output, &[&what, "permissions"]);
}

#[test]
fn what_is_not_asked_for_is_neither_printed_nor_listed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("load.toml");
    for (formats, is_printed) in [(r#"["json"]"#, false), (r#"["json", "terminal"]"#, true)] {
        let text = format!(
            "[server]\ncommand = [\"{MCPROVE}\", \"fixture\", \"normal\"]\n\
             [scenario]\ntype = \"sustained\"\nduration = \"200ms\"\n\
             [output]\nformats = {formats}\ntrace = false\nreport_dir = \"{}\"\n",
            folder.path().join("runs").display()
        );
        std::fs::write(&file, text).unwrap();
        let output = run(&["run", file.to_str().unwrap()]);
        assert_eq!(output.code, Some(0), "{output:?}");
        assert_eq!(!output.stdout.is_empty(), is_printed, "{output:?}");
        for name in ["report.html", "report.md", "trace.jsonl"] {
            assert!(!output.stdout.contains(name), "{name}: {output:?}");
        }
        assert_eq!(
            output.stdout.contains("metrics.json"),
            is_printed,
            "{output:?}"
        );
    }
    let output = run_in(folder.path(), &[]);
    for name in ["report.html", "report.md", "metrics.json", "trace.jsonl"] {
        assert!(output.stdout.contains(name), "{name}: {output:?}");
    }
}
