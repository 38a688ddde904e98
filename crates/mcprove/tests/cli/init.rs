//! `mcprove init`: a suite that can be read, for any server.

use std::path::Path;

use mcprove_suite::file::parse_yaml;
use mcprove_suite::plan::SuitePlan;

use crate::probe_real::{command, servers};
use crate::support::{MCPROVE, Output, assert_transcript, cat, finish, in_parallel_real, mcprove};

fn init(folder: &Path, arguments: &[&str]) -> Output {
    let mut all = vec!["init"];
    all.extend(arguments);
    let mut command = mcprove(&all);
    command.current_dir(folder);
    finish(command)
}

fn read(folder: &Path, name: &str) -> (String, SuitePlan) {
    let text = std::fs::read_to_string(folder.join(name)).unwrap();
    let plan = parse_yaml(&text, name, folder).unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    (text, plan)
}

#[test]
fn a_file_is_written_once() {
    let folder = tempfile::tempdir().unwrap();
    let server = ["--", "mcprove", "fixture", "destructive"];
    let output = init(folder.path(), &server);
    let (text, plan) = read(folder.path(), "mcprove.yml");
    assert_eq!(plan.tools.len(), 3, "{text}");
    // The test of the other is ready for whoever takes the line away.
    let write = &plan.tools[2];
    assert_eq!(
        (write.expect.len(), write.negative_path.is_some()),
        (1, true),
        "{text}"
    );
    let file = cat(&folder.path().join("mcprove.yml"));
    let again = init(folder.path(), &server);
    assert_transcript!("init_once", [&output, &file, &again]);
    let mut forced = vec!["--force"];
    forced.extend(server);
    assert_eq!(init(folder.path(), &forced).code, Some(0));
    let printed = init(
        folder.path(),
        &["--out", "-", "--", "mcprove", "fixture", "destructive"],
    );
    assert_eq!(printed.stdout, text);
}

#[test]
fn what_cannot_be_done_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let server = ["--", "mcprove", "fixture", "exit_at_start"];
    let output = init(folder.path(), &server);
    // That is found out before anything is started.
    let nowhere = init(
        folder.path(),
        &["--out", "no/such/x.yml", "--", "no-such-program"],
    );
    assert!(!nowhere.stderr.contains("no-such-program"), "{nowhere:?}");
    let explained = init(folder.path(), &["--explain"]);
    assert_transcript!("init_refused", [&output, &nowhere, &explained]);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn secrets_are_not_written_down() {
    let folder = tempfile::tempdir().unwrap();
    // Neither what has no name of a secret, nor in the name that a server gives itself.
    let tools = folder.path().join("tools.yml");
    std::fs::write(
        &tools,
        "name: its opensesame99\ntools:\n  - { name: get_it, inputSchema: { type: object }, response: ok }\n",
    )
    .unwrap();
    let tools = tools.display().to_string();
    let given = ["--out", "other.yml", "--env", "ACCESS=opensesame99", "--"];
    let mock = [MCPROVE, "mock", "--tools-from", &tools];
    let output = init(folder.path(), &[&given[..], &mock].concat());
    assert_eq!(output.code, Some(0), "{output:?}");
    let (text, _) = read(folder.path(), "other.yml");
    assert!(!text.contains("sesame"), "{text}");
    assert!(text.contains("ACCESS: \"${ACCESS}\""), "{text}");
    let output = init(
        folder.path(),
        &[
            "--env",
            "API_TOKEN=hunter22",
            "--env",
            "MODE=x",
            "--",
            "mcprove",
            "fixture",
            "normal",
        ],
    );
    assert_eq!(output.code, Some(0), "{output:?}");
    let (text, _) = read(folder.path(), "mcprove.yml");
    assert!(
        !text.contains("hunter22") && !output.stdout.contains("hunter22"),
        "{text}"
    );
    assert!(
        text.contains("API_TOKEN: \"${API_TOKEN}\"") && text.contains("MODE: x"),
        "{text}"
    );
    assert_transcript!("init_secret", [&output]);
}

#[test]
fn commands_start_where_they_did() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("tests")).unwrap();
    let output = init(
        folder.path(),
        &["--out", "tests/s.yml", "--", MCPROVE, "fixture", "normal"],
    );
    assert_eq!(output.code, Some(0), "{output:?}");
    let text = std::fs::read_to_string(folder.path().join("tests/s.yml")).unwrap();
    assert!(text.contains("    cwd: \"..\"\n"), "{text}");
    let arguments = ["--working-dir", "tests", "--", MCPROVE, "fixture", "normal"];
    assert_eq!(init(folder.path(), &arguments).code, Some(0));
    let text = std::fs::read_to_string(folder.path().join("mcprove.yml")).unwrap();
    assert!(text.contains("    cwd: tests\n"), "{text}");
    // Beside it, and through a link, which leads elsewhere than it seems.
    std::fs::create_dir_all(folder.path().join("a/b")).unwrap();
    let mut beside = vec!["--out", "a/b/s.yml"];
    beside.extend(arguments);
    assert_eq!(init(folder.path(), &beside).code, Some(0));
    let text = std::fs::read_to_string(folder.path().join("a/b/s.yml")).unwrap();
    let up: std::path::PathBuf = ["..", "..", "tests"].iter().collect();
    let up = up.display().to_string().replace('\\', "\\\\");
    assert!(text.contains(&format!("    cwd: \"{up}\"\n")), "{text}");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(folder.path().join("a/b"), folder.path().join("link")).unwrap();
        let linked = ["--out", "link/t.yml", "--", MCPROVE, "fixture", "normal"];
        assert_eq!(init(folder.path(), &linked).code, Some(0));
        let text = std::fs::read_to_string(folder.path().join("a/b/t.yml")).unwrap();
        assert!(text.contains("    cwd: \"../..\"\n"), "{text}");
    }
}

#[test]
fn bad_requests_that_were_not_rejected_are_told_and_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let output = init(folder.path(), &["--", "mcprove", "fixture", "careless"]);
    let (text, plan) = read(folder.path(), "mcprove.yml");
    let checks = plan.tools[0]
        .negative_path
        .as_ref()
        .map(|plan| plan.checks.len());
    assert_eq!(checks, Some(1), "{text}");
    let file = cat(&folder.path().join("mcprove.yml"));
    assert_transcript!("init_not_rejected", [&output, &file]);
    assert!(
        !text.contains("content\":") && !output.stdout.contains("content\":"),
        "what the server answered is not written down: {text}"
    );
}

#[test]
fn real_servers_get_suites_too() {
    let Some(servers) = servers() else { return };
    let kinds = [
        harness::ServerKind::Everything,
        harness::ServerKind::Mcp1,
        harness::ServerKind::Mcp2,
        harness::ServerKind::Fastmcp,
        harness::ServerKind::Rmcp,
    ];
    in_parallel_real(kinds, |kind| {
        let folder = tempfile::tempdir().unwrap();
        let target = command(&servers, kind);
        let mut arguments = vec!["--call-timeout", "5s"];
        arguments.extend(target.iter().map(String::as_str));
        let output = init(folder.path(), &arguments);
        assert_eq!(output.code, Some(0), "{kind:?} {output:?}");
        let (text, plan) = read(folder.path(), "mcprove.yml");
        let run = plan
            .tools
            .iter()
            .filter(|test| test.head.skip.is_none())
            .count();
        assert!(run >= 1, "{kind:?} {text}");
        // What it wrote holds, and something is run.
        let mut command = mcprove(&["run", "mcprove.yml"]);
        command.current_dir(folder.path());
        let output = finish(command);
        assert_eq!(output.code, Some(0), "{kind:?} {output:?}\n{text}");
        assert!(
            output.stdout.contains(&format!("{run} passed")),
            "{output:?}"
        );
        Vec::new()
    });
}
