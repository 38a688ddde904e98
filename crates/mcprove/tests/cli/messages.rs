//! What `mcprove run` says when something is not as it should be: what, where, what to try.

use std::path::Path;

use crate::support::{MCPROVE, Output, assert_snapshot, assert_transcript, finish, mcprove, run};

/// `mcprove run` with these arguments on a healthy server, its runs in `folder`.
fn run_in(folder: &Path, arguments: &[&str]) -> Output {
    let mut all = vec!["run", "--duration", "200ms"];
    all.extend(arguments);
    all.extend(["--", MCPROVE, "fixture", "normal"]);
    let mut command = mcprove(&all);
    command.current_dir(folder);
    finish(command)
}

#[test]
fn problems_with_flags_name_the_flags() {
    let folder = tempfile::tempdir().unwrap();
    let outputs = [
        &["--scenario", "sustaned"] as &[&str],
        &["--p99", "abc"],
        &["--rate", "-1"],
        &["--memory-growth-mb", "-1"],
        &["--error-rate", "-0.5"],
        &["--max-in-flight", "5"],
        &["--scenario", "ramp", "--ramp-from", "9", "--ramp-to", "5"],
        &["--scenario", "spike", "--spike-at", "90s"],
        &["--tool", "ehco"],
    ]
    .map(|arguments| run_in(folder.path(), arguments));
    assert!(outputs.iter().all(|output| output.code == Some(2)));
    assert_transcript!("messages_flags", &outputs);
}

#[test]
fn a_threshold_for_a_tool_that_does_not_exist_is_refused_before_the_load() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("load.toml");
    let outputs = ["ehco", "something_else"].map(|tool| {
        let text = format!(
            "[server]\ncommand = [\"{MCPROVE}\", \"fixture\", \"normal\"]\n\
             [scenario]\ntype = \"sustained\"\nduration = \"10m\"\n\
             [thresholds.tools.{tool}]\np99_latency = \"1s\"\n\
             [output]\nreport_dir = \"{}\"\n",
            folder.path().join("runs").display()
        );
        std::fs::write(&file, text).unwrap();
        run(&["run", file.to_str().unwrap()])
    });
    assert_transcript!("messages_threshold", &outputs);
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
    assert_eq!(output.code, Some(2), "{output:?}");
    assert_snapshot!("messages_no_tools", output.stderr);
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
    assert_transcript!("messages_folder", [&output]);
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
    let output = run_in(folder.path(), &["--verbose"]);
    for name in ["report.html", "report.md", "metrics.json", "trace.jsonl"] {
        assert!(output.stdout.contains(name), "{name}: {output:?}");
    }
}
