//! Secrets given on the command line or in a file are in nothing that is written or printed.

use std::path::Path;

use super::support::{Fixture, MCPROVE, Output, finish, mcprove, run};

const SECRET: &str = "hunter2-planted";

/// Every file under `folder` whose bytes hold the secret.
fn leaks(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(leaks(&path));
        } else if String::from_utf8_lossy(&std::fs::read(&path).unwrap()).contains(SECRET) {
            found.push(path.display().to_string());
        }
    }
    found
}

fn assert_silent(output: &Output) {
    assert!(!output.stdout.contains(SECRET), "{output:?}");
    assert!(!output.stderr.contains(SECRET), "{output:?}");
}

/// A short run with these arguments. Nothing of it tells the secret, and the target is redacted.
fn check_run(arguments: &[String]) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().display().to_string();
    let mut all = vec!["run".to_owned(), "--out".into(), out];
    all.extend(["--duration", "200ms", "--tool", "echo"].map(str::to_owned));
    all.extend_from_slice(arguments);
    let output = run(&all);
    assert_eq!(output.code, Some(0), "{output:?}");
    assert_silent(&output);
    assert!(output.stdout.contains("<redacted>"), "{output:?}");
    assert_eq!(leaks(folder.path()), Vec::<String>::new());
    let directory = std::fs::read_dir(folder.path()).unwrap().next().unwrap();
    let metrics = std::fs::read_to_string(directory.unwrap().path().join("metrics.json")).unwrap();
    assert!(metrics.contains("<redacted>"), "{metrics}");
    let listed = run(&[
        "runs",
        "--json",
        "--dir",
        &folder.path().display().to_string(),
    ]);
    assert!(listed.stdout.contains("<redacted>"), "{listed:?}");
    assert_silent(&listed);
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn secrets_in_an_address_are_in_no_file() {
    let fixture = Fixture::start("http", &["normal"]);
    let url = format!("{}?token={SECRET}&api_key={SECRET}", fixture.url);
    let header = format!("Authorization: Bearer {SECRET}");
    check_run(&words(&["--url", &url, "--header", &header]));
}

#[cfg(unix)]
#[test]
fn secrets_in_a_command_are_in_no_file() {
    let script = format!("exec {MCPROVE} fixture normal");
    for rest in [
        vec!["--api-key".to_owned(), SECRET.to_owned()],
        vec![format!("--token={SECRET}")],
        vec![
            "--header".to_owned(),
            format!("Authorization: Bearer {SECRET}"),
        ],
    ] {
        let mut all = words(&["--env", &format!("MY_TOKEN={SECRET}")]);
        all.extend(words(&["--", "sh", "-c", &script, "sh"]));
        all.extend(rest);
        check_run(&all);
    }
    for variable in [
        format!("OPENAI_API_KEY={SECRET}"),
        format!("NAME=sk-{SECRET}"),
    ] {
        check_run(&words(&[
            "--", "env", &variable, MCPROVE, "fixture", "normal",
        ]));
    }
}

#[test]
fn errors_do_not_tell_secrets() {
    let with_password = format!("http://me:{SECRET}@127.0.0.1:1/mcp");
    let bad_scheme = format!("ftp://me:{SECRET}@h/mcp?token={SECRET}");
    let header = format!("Authorization: {SECRET}\u{1}");
    let no_colon = format!("Authorization={SECRET}");
    let program = format!("no-such-program-of-mcprove --token {SECRET}");
    let open_quote = format!("x --token={SECRET} '");
    let url = "http://127.0.0.1:1/mcp";
    for arguments in [
        &["--url", &with_password] as &[&str],
        &["--url", &bad_scheme],
        &["--url", url, "--header", &header],
        &["--url", url, "--header", &no_colon],
        &["--", &program],
        &["--server", &open_quote],
    ] {
        for command in ["run", "probe"] {
            let folder = tempfile::tempdir().unwrap();
            let mut all = vec![command];
            all.extend(arguments);
            let mut command = mcprove(&all);
            command.current_dir(folder.path());
            let output = finish(command);
            assert_eq!(output.code, Some(2), "{output:?}");
            assert_silent(&output);
            assert!(output.stderr.contains("hint: "), "{output:?}");
            assert_eq!(leaks(folder.path()), Vec::<String>::new());
        }
    }
}

#[test]
fn a_comparison_tells_no_secrets() {
    let fixture = Fixture::start("http", &["normal"]);
    let folder = tempfile::tempdir().unwrap();
    let url = format!("{}?token={SECRET}", fixture.url);
    let out = folder.path().display().to_string();
    let output = run(&[
        "compare",
        "--url",
        &url,
        "--url",
        &url,
        "--runs",
        "1",
        "--duration",
        "100ms",
        "--out",
        &out,
    ]);
    assert_silent(&output);
    assert_eq!(leaks(folder.path()), Vec::<String>::new());
}
