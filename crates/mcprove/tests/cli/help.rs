//! What the command says of itself.

use crate::support::{assert_snapshot, finish, mcprove};

const SHELLS: [&str; 5] = ["bash", "elvish", "fish", "powershell", "zsh"];

/// The help at a fixed width.
fn help(arguments: &[&str]) -> String {
    let mut command = mcprove(arguments);
    command.env("COLUMNS", "100");
    let output = finish(command);
    assert_eq!(output.code, Some(0), "{output:?}");
    assert_eq!(output.stderr, "");
    output.stdout
}

#[test]
fn the_help_is_as_reviewed() {
    assert_snapshot!("help", help(&["--help"]));
    assert_snapshot!("help_probe", help(&["probe", "--help"]));
    assert_snapshot!("help_doctor", help(&["doctor", "-h"]));
    assert_snapshot!("help_fixture", help(&["fixture", "--help"]));
    assert_snapshot!("help_lab", help(&["lab", "-h"]));
    assert_snapshot!("help_report", help(&["report", "-h"]));
    assert_snapshot!("help_run", help(&["run", "-h"]));
    assert_snapshot!("help_runs", help(&["runs", "-h"]));
    assert_snapshot!("help_score", help(&["score", "-h"]));
    let others = [
        &["init"][..],
        &["validate"],
        &["mock"],
        &["proxy"],
        &["compare"],
        &["deadlock-probe"],
        &["example-config"],
        &["list-scenarios"],
        &["schema"],
        &["lab", "audit"],
    ];
    let others = others.map(|command| help(&[command, &["-h"]].concat()));
    assert_snapshot!("help_others", others.join("\n\n"));
}

#[test]
fn the_version_is_one_line() {
    let expected = format!("mcprove {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(help(&["--version"]), expected);
}

#[test]
fn explain_tells_and_does_nothing() {
    // With this server anything but telling would fail, and leave a trace.
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace.jsonl").display().to_string();
    let server = ["-s", "no-such-program"];
    let probe = [
        ["probe", "--explain"].as_slice(),
        &["--trace", &trace],
        &server,
    ]
    .concat();
    assert_snapshot!("explain_probe", help(&probe));
    assert!(!std::path::Path::new(&trace).exists());
    let doctor = [["doctor", "--explain"].as_slice(), &server].concat();
    assert_snapshot!("explain_doctor", help(&doctor));
    assert_snapshot!("explain_demo", help(&["demo", "--explain"]));
    let compare = [["compare", "--explain"].as_slice(), &server, &server].concat();
    assert_snapshot!("explain_compare", help(&compare));
    assert_snapshot!("explain_lab", help(&["lab", "--explain"]));
    for command in [["lab"].as_slice(), &["lab", "audit"], &["mock"]] {
        let text = help(&[command, &["--explain"]].concat());
        let wide = text.lines().find(|line| line.chars().count() > 80);
        assert_eq!(wide, None, "{command:?}");
    }
    for (name, command) in [
        ("explain_run", "run"),
        ("explain_deadlock_probe", "deadlock-probe"),
        ("explain_example_config", "example-config"),
    ] {
        assert_snapshot!(name, help(&[command, "--explain"]));
    }
    assert_snapshot!("explain_report", help(&["report", "--explain"]));
    assert_snapshot!("explain_runs", help(&["runs", "--explain"]));
    assert_snapshot!(
        "explain_score",
        help(&["score", "--explain", "no-such-file.json"])
    );
}

#[test]
fn the_modes_are_listed() {
    assert_snapshot!("modes", help(&["fixture"]));
}

#[test]
fn every_shell_gets_its_completions() {
    for shell in SHELLS {
        let script = help(&["completions", shell]);
        assert!(script.contains("mcprove"), "{shell}");
        assert!(script.contains("probe"), "{shell}");
        assert!(script.contains("call-timeout"), "{shell}");
    }
}
