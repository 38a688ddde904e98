//! Secrets given on the command line or in a file are in nothing that is written or printed.

use std::path::Path;

use super::support::{Fixture, MCPROVE, Output, finish, mcprove, run};

const SECRET: &str = "Jw4Zx8-Qv6Ky3Xj9-Wz5Kq7";

/// Every file under `folder` that has a part of the secret.
fn leaks(folder: &Path) -> Vec<(String, String)> {
    parts_left(folder, SECRET)
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
    assert_eq!(leaks(folder.path()), []);
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
            assert_eq!(leaks(folder.path()), []);
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
    assert_eq!(leaks(folder.path()), []);
}

/// Every file under a folder.
fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let all = paths.flat_map(|path| {
        if path.is_dir() {
            [vec![path.clone()], files(&path)].concat()
        } else {
            vec![path]
        }
    });
    all.collect()
}

/// Four characters of a secret in a row that a file has, and which file.
fn parts_left(folder: &Path, secret: &str) -> Vec<(String, String)> {
    let mut left = Vec::new();
    for path in files(folder).into_iter().filter(|path| path.is_file()) {
        let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
        let letters: Vec<char> = secret.chars().collect();
        let parts = letters.windows(4).map(String::from_iter);
        let found = parts.filter(|part| text.contains(part.as_str()));
        left.extend(found.map(|part| (part, path.display().to_string())));
    }
    left
}

/// A secret of which no four characters stand in anything else.
#[cfg(unix)]
const RARE: &str = "Zq7Xw9Kv3Jx8Yz5Qk2";

#[cfg(unix)]
#[test]
fn an_inherited_key_is_in_no_file() {
    let Some(servers) = crate::probe_real::servers() else {
        return;
    };
    let target = crate::probe_real::command(&servers, harness::ServerKind::Everything);
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("probe.jsonl").display().to_string();
    let out = folder.path().join("runs").display().to_string();
    let run = words(&[
        "run",
        "--tool",
        "get-env",
        "--duration",
        "500ms",
        "--out",
        &out,
    ]);
    let probe = words(&["probe", "--all", "--call-timeout", "3s", "--trace", &trace]);
    for arguments in [run, probe] {
        let mut command = mcprove(&[arguments, target.clone()].concat());
        command
            .env("DEPLOY_API_KEY", RARE)
            .env("DATABASE", format!("postgres://me:{RARE}@db/x"))
            .current_dir(folder.path());
        let output = finish(command);
        assert!(
            output.code == Some(0) || output.code == Some(1),
            "{output:?}"
        );
        assert!(!output.stdout.contains(RARE), "{output:?}");
        assert_eq!(parts_left(folder.path(), RARE), []);
    }
    let text = std::fs::read_to_string(&trace).unwrap();
    // The server told them.
    assert!(
        text.contains("DEPLOY_API_KEY") && text.contains("<redacted>"),
        "{text}"
    );
}

#[cfg(unix)]
#[test]
fn given_values_are_in_no_file_however_a_server_repeats_them() {
    // In two halves on stderr, with a pause between; then a part of it, and no end of the line.
    let script = format!(
        "k=$A_NAME; printf 'key: %s' \"${{k%?????????}}\" >&2; sleep 0.3; \
         printf '%s\\n' \"${{k#?????????}}\" >&2; printf '%s' \"${{k%????}}\" >&2; exec {MCPROVE} fixture normal"
    );
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().display().to_string();
    let message =
        serde_json::json!({ "message": format!("{}{RARE}{}", "-".repeat(980), "-".repeat(2000)) });
    let mut shown = 0;
    // The value reaches over every place where the trace is cut.
    for before in [0, 4, 9, 14] {
        let message = message["message"].as_str().unwrap().get(before..).unwrap();
        let arguments = serde_json::json!({ "message": message }).to_string();
        let given = format!("A_NAME={RARE}");
        let output = run(&[
            "run",
            "--duration",
            "200ms",
            "--tool",
            "echo",
            "--args",
            &arguments,
            "--tee-stderr",
            "--out",
            &out,
            "--env",
            &given,
            "--",
            "sh",
            "-c",
            &script,
        ]);
        assert_eq!(output.code, Some(0), "{output:?}");
        assert!(
            !output.stderr.contains("Zq7X") && !output.stdout.contains("Zq7X"),
            "{output:?}"
        );
        assert_eq!(parts_left(folder.path(), RARE), []);
        shown += output.stderr.matches("key: <redacted>").count();
    }
    assert!(shown >= 4, "{shown}");
    let log = files(folder.path())
        .into_iter()
        .find(|path| path.ends_with("server.stderr.log"));
    let log = std::fs::read_to_string(log.unwrap()).unwrap();
    assert!(log.contains("key: <redacted>\n<redacted>"), "{log}");
}

#[cfg(unix)]
#[test]
fn arguments_with_names_of_secrets_are_in_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let arguments = serde_json::json!({ "message": format!("it is {RARE}"), "password": RARE });
    let load = ["run", "--duration", "200ms", "--tool", "echo", "--args"];
    let arguments = arguments.to_string();
    let rest = [
        &arguments,
        "--out",
        &at("runs"),
        "--",
        MCPROVE,
        "fixture",
        "normal",
    ];
    let output = run(&[&load[..], &rest].concat());
    assert_eq!(output.code, Some(0), "{output:?}");
    assert_eq!(parts_left(folder.path(), RARE), []);
    assert!(!output.stdout.contains("Zq7X"), "{output:?}");
}

#[cfg(unix)]
#[test]
fn keys_of_the_lab_are_not_in_its_audit() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (audit, out, key) = (at("a.db"), at("runs"), format!("bob={RARE}"));
    let lab = [
        "lab",
        "--http",
        "127.0.0.1:0",
        "--audit",
        &audit,
        "--api-key",
        &key,
    ];
    let server = Fixture::start_command(mcprove(&lab));
    let header = format!("X-Api-Key: {RARE}");
    let arguments = serde_json::json!({ "message": format!("before {RARE} after") }).to_string();
    let load = [
        "run",
        "--url",
        &server.url,
        "--header",
        &header,
        "--duration",
        "300ms",
    ];
    let rest = ["--tool", "echo", "--args", &arguments, "--out", &out];
    let output = run(&[&load[..], &rest].concat());
    assert_eq!(output.code, Some(0), "{output:?}");
    drop(server);
    assert_eq!(parts_left(folder.path(), RARE), []);
    let rows = run(&["lab", "audit", &audit, "--export", "jsonl"]);
    assert!(rows.stdout.contains("before <redacted> after"), "{rows:?}");
}

/// What servers of ours and the proxy keep of calls that carry a secret.
#[cfg(unix)]
#[test]
fn logs_audits_and_recordings_have_no_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(
        at("tools.yml"),
        "tools:\n  - { name: echo, inputSchema: { type: object }, response: \"it is ${args.message}\" }\n",
    )
    .unwrap();
    let (tools, log, record, audit) = (at("tools.yml"), at("m.jsonl"), at("r.jsonl"), at("a.db"));
    let mock = [MCPROVE, "mock", "--tools-from", &tools, "--log", &log];
    let proxy = [MCPROVE, "proxy", "--quiet", "--record", &record, "--"];
    let fixture = [&proxy[..], &[MCPROVE, "fixture", "normal"]].concat();
    let lab = [MCPROVE, "lab", "--audit", &audit];
    let message = serde_json::json!({ "message": format!("before {RARE} after") }).to_string();
    let call = [
        "run",
        "--tool",
        "echo",
        "--args",
        &message,
        "--duration",
        "300ms",
        "--out",
    ];
    for (name, target) in [("m", &mock[..]), ("r", &fixture), ("a", &lab)] {
        let out = at("runs");
        let arguments = [&call[..], &[&out, "--"], target].concat();
        let mut command = mcprove(&arguments);
        command.env("DEPLOY_API_KEY", RARE);
        let output = finish(command);
        assert_eq!(output.code, Some(0), "{name}: {output:?}");
    }
    assert_eq!(parts_left(folder.path(), RARE), []);
    // The calls are there.
    for path in [&log, &record] {
        let text = std::fs::read_to_string(path).unwrap();
        assert!(text.contains("before <redacted> after"), "{path}: {text}");
    }
    let rows = run(&["lab", "audit", &audit, "--export", "jsonl"]);
    assert!(rows.stdout.contains("echo"), "{rows:?}");
}

#[cfg(unix)]
#[test]
fn only_the_owner_may_read_what_a_run_leaves() {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (out, trace, record, log, audit) = (
        at("runs"),
        at("t.jsonl"),
        at("r.jsonl"),
        at("s.log"),
        at("a.db"),
    );
    // Those that are there already.
    for path in [&trace, &audit] {
        std::fs::write(path, "").unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o644)).unwrap();
    }
    let server = ["--", MCPROVE, "fixture", "normal"];
    let load = [
        &[
            "run",
            "--duration",
            "200ms",
            "--out",
            &out,
            "--stderr-log",
            &log,
        ][..],
        &server,
    ]
    .concat();
    let probe = [&["probe", "--trace", &trace][..], &server].concat();
    let proxied = [
        MCPROVE, "proxy", "--quiet", "--record", &record, "--", MCPROVE, "fixture", "normal",
    ];
    let proxied = [&["probe", "--"][..], &proxied].concat();
    let lab = ["probe", "--", MCPROVE, "lab", "--audit", &audit];
    for arguments in [&load[..], &probe, &proxied, &lab] {
        let output = run(arguments);
        assert!(
            output.code == Some(0) || output.code == Some(1),
            "{output:?}"
        );
    }
    for path in [&trace, &record, &log, &audit] {
        assert_eq!(mode(Path::new(path)), 0o600, "{path}");
    }
    let mut found = files(Path::new(&out));
    found.retain(|path| mode(path) != if path.is_dir() { 0o700 } else { 0o600 });
    assert_eq!(found, Vec::<std::path::PathBuf>::new());
    // What is for others follows the umask.
    let suite = at("mcprove.yml");
    let output = run(&[&["init", "--out", &suite][..], &server].concat());
    assert_eq!(output.code, Some(0), "{output:?}");
    std::fs::write(at("mine"), "").unwrap();
    assert_eq!(mode(Path::new(&suite)), mode(Path::new(&at("mine"))));
}

#[test]
fn a_report_of_an_old_trace_has_no_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().display().to_string();
    let output = run(&[
        "run",
        "--duration",
        "200ms",
        "--tool",
        "echo",
        "--out",
        &out,
        "--",
        MCPROVE,
        "fixture",
        "normal",
    ]);
    assert_eq!(output.code, Some(0), "{output:?}");
    let entry = std::fs::read_dir(folder.path()).unwrap().next().unwrap();
    let directory = entry.unwrap().path();
    let trace = directory.join("trace.jsonl");
    let text = std::fs::read_to_string(&trace).unwrap();
    // The target, as an older version wrote it.
    let old = text.replace("fixture normal\"", &format!("fixture normal {SECRET}\""));
    assert_ne!(old, text);
    std::fs::write(&trace, old).unwrap();
    let mut command = mcprove(&["report", &directory.display().to_string()]);
    command.env("DEPLOY_API_KEY", SECRET);
    let output = finish(command);
    assert_eq!(output.code, Some(0), "{output:?}");
    assert_silent(&output);
    std::fs::remove_file(&trace).unwrap();
    assert_eq!(leaks(folder.path()), []);
    let html = std::fs::read_to_string(directory.join("report.html")).unwrap();
    assert!(html.contains("redacted"), "{html}");
}
