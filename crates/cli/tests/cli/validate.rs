//! `mcprove validate`: everything that is wrong with files, and nothing is run.

use std::io::ErrorKind;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use crate::schema::validator;
use crate::support::{finish, mcprove, run};

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

fn example(name: &str) -> String {
    examples().join(name).display().to_string()
}

#[test]
fn files_of_every_kind_are_told_by_what_is_in_them() {
    for (name, expected) in [
        (
            "fault-injection-recovery.yml",
            "ok, a suite (1 server, 1 agent, 1 fault)",
        ),
        (
            "offline-trace-validation.yml",
            "ok, a suite (1 server, 2 agents)",
        ),
        ("agent-stability.yml", "ok, a suite (1 server, 2 agents)"),
        ("narrative.yml", "ok, a suite (1 server, 2 agents)"),
        ("oracle.yml", "ok, a suite (1 server, 1 agent)"),
        ("negative-path.yml", "ok, a suite (1 server, 1 tool test)"),
        (
            "suites/suite.yml",
            "ok, a suite (2 servers, 2 tool tests, 1 agent, 1 load)",
        ),
        ("load/soak.yml", "ok, a load configuration"),
        ("load/gate.toml", "ok, a load configuration"),
        ("score/gates.yml", "ok, gates (7 blocks)"),
        ("proxy/faults.yml", "ok, faults ("),
        (
            "mock/tools.yml",
            "ok, a tools file (3 tools, 1 resource, 1 prompt)",
        ),
        ("suites/search.yml", "ok, a tools file (4 tools)"),
        ("score/recorded.jsonl", "ok, a tools file ("),
    ] {
        let file = example(name);
        let output = run(&["validate", &file]);
        assert_eq!(output.code, Some(0), "{name}: {output:?}");
        assert!(
            output.stdout.starts_with(&format!("{file}: {expected}")),
            "{output:?}"
        );
        assert_eq!(output.stderr, "", "{name}");
    }
}

#[test]
fn all_errors_of_all_files_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let suite = write(
        "suite.yml",
        "servers: { a: { command: x } }\ntols: []\ntools: [{ name: t, tool: x, srver: a }]\n",
    );
    let load = write(
        "load.toml",
        "[server]\ncommand = \"x\"\n[scenario]\ntype = \"sustaned\"\n",
    );
    let good = example("oracle.yml");
    let missing = folder.path().join("missing.yml").display().to_string();
    let output = run(&["validate", &suite, &good, &load, &missing]);
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(
        output.stdout.contains("oracle.yml: ok, a suite"),
        "{output:?}"
    );
    for expected in [
        "suite.yml:2:1: unknown key \"tols\" in the suite",
        "hint: did you mean \"tools\"?",
        "suite.yml:3:29: unknown key \"srver\" in a test of `tools`",
        " 3 | tools: [{ name: t, tool: x, srver: a }]",
        "load.toml:4:8: `type` does not know \"sustaned\"",
        "missing.yml: cannot be read",
    ] {
        assert!(output.stderr.contains(expected), "{expected}: {output:?}");
    }
}

#[test]
fn the_json_is_of_its_format() {
    let folder = tempfile::tempdir().unwrap();
    let bad = folder.path().join("suite.yml");
    let text = "servers: { a: { command: x, env: { T: \"${MCPROVE_NOWHERE}\" } } }\ntools: [{ name: t, tool: x, arg: 1 }]\n";
    std::fs::write(&bad, text).unwrap();
    let bad = bad.display().to_string();
    let output = run(&["validate", "--json", &bad, &example("suites/suite.yml")]);
    assert_eq!(output.code, Some(2), "{output:?}");
    assert_eq!(output.stderr, "");
    let value = serde_json::from_str(&output.stdout).unwrap();
    let problems: Vec<String> = validator("validation.v1")
        .iter_errors(&value)
        .map(|error| error.to_string())
        .collect();
    assert!(problems.is_empty(), "{problems:?}");
    assert_eq!(value["valid"], false);
    let [first, second] = &value["files"].as_array().unwrap()[..] else {
        panic!("{value}");
    };
    let problem = &first["problems"][0];
    assert_eq!(
        (&problem["line"], &problem["column"]),
        (&2.into(), &29.into())
    );
    assert_eq!(
        problem["message"],
        "unknown key \"arg\" in a test of `tools`"
    );
    assert_eq!(problem["hint"], "did you mean \"args\"?");
    assert_eq!(
        (&second["valid"], &second["kind"]),
        (&true.into(), &"suite".into())
    );
    assert_eq!(second["contents"]["tools"], 2);
}

#[test]
fn variables_that_are_not_set_are_warnings() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("suite.yml");
    let text = "servers: { a: { command: x, env: { T: \"${MCPROVE_TOKEN}\" } } }\ntools: [{ name: t, tool: x }]\n";
    std::fs::write(&file, text).unwrap();
    let file = file.display().to_string();
    let output = run(&["validate", &file]);
    assert_eq!(output.code, Some(0), "{output:?}");
    let expected = "suite.yml:1:39: the variable \"MCPROVE_TOKEN\" is neither under `variables` nor in the environment";
    assert!(
        output.stderr.starts_with("warning: ") && output.stderr.contains(expected),
        "{output:?}"
    );
    let mut command = mcprove(&["validate", &file]);
    command.env("MCPROVE_TOKEN", "hunter2");
    let output = finish(command);
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
    assert!(!output.stdout.contains("hunter2"), "{output:?}");
}

/// A suite from a stranger can be looked at.
#[test]
fn nothing_is_started_and_nobody_is_spoken_to() {
    let folder = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let mark = folder.path().join("started");
    // Where it is a program at all, it leaves a file behind.
    let touch = format!("touch '{}'", mark.display());
    let text = format!(
        "servers:\n  a: {{ command: [sh, -c, {touch:?}] }}\n  b: {{ url: \"http://127.0.0.1:{port}/mcp\" }}\n\
         tools:\n  - {{ name: t1, server: a, tool: x }}\n  - {{ name: t2, server: b, tool: x }}\n\
         agents:\n  - {{ name: a1, model: m, servers: [a, b], prompt: p, provider: {{ base_url: \"http://127.0.0.1:{port}\" }} }}\n  - {{ name: a2, command: [sh, -c, {touch:?}], servers: [a], prompt: p }}\n\
         load:\n  - {{ name: l1, server: b, scenario: {{ type: sustained }} }}\n"
    );
    let file = folder.path().join("suite.yml");
    std::fs::write(&file, text).unwrap();
    let file = file.display().to_string();
    for arguments in [
        &["validate", &file][..],
        &["validate", "--json", &file],
        &["validate", "--explain", &file],
    ] {
        let output = run(arguments);
        assert_eq!(output.code, Some(0), "{output:?}");
    }
    assert!(!mark.exists());
    let spoken = listener.accept().map(|_| ()).unwrap_err();
    assert_eq!(spoken.kind(), ErrorKind::WouldBlock);
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn a_file_must_be_given() {
    let output = run(&["validate"]);
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(
        run(&["validate", "--explain"])
            .stdout
            .contains("Nothing is started")
    );
}

#[test]
fn a_folder_stands_for_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("ci.yml", "name: CI\non: push\njobs: {}\n");
    write("tools.yml", "tools: [{ name: search }]\n");
    let suite = "servers: { a: { mock: tools.yml } }\ntools: [{ name: t, tool: search }]\n";
    write("suite.yml", suite);
    let path = folder.path().display().to_string();
    let output = finish(mcprove(&["validate", &path]));
    assert_eq!(output.code, Some(0), "{output:?}");
    assert!(
        output.stdout.contains("suite.yml: ok, a suite"),
        "{output:?}"
    );
    assert!(output.stdout.contains("ok, a tools file"), "{output:?}");
    assert!(
        output.stderr.contains("ci.yml is passed over"),
        "{output:?}"
    );
    // A folder with nothing in it hides no other file, and programs are told of it too.
    std::fs::create_dir(folder.path().join("empty")).unwrap();
    let empty = folder.path().join("empty").display().to_string();
    let output = finish(mcprove(&["validate", "--json", &empty, &path]));
    assert_eq!(output.code, Some(2), "{output:?}");
    let told: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
    let problem = &told["files"][0]["problems"][0]["message"];
    assert_eq!(problem, "there is no file of mcprove in this folder");
    assert_eq!(told["files"][1]["valid"], true);
    write("suite.yml", &suite.replace("servers", "severs"));
    let output = finish(mcprove(&["validate", &path]));
    assert_eq!(output.code, Some(2), "{output:?}");
    let workflow = folder.path().join("ci.yml").display().to_string();
    let output = finish(mcprove(&["validate", &workflow]));
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(
        output
            .stderr
            .contains("is no suite: it is a workflow of GitHub Actions"),
        "{output:?}"
    );
}

/// A file that says nothing is not in order: whoever names it expects something of it.
#[test]
fn nothing_is_not_in_order() {
    let folder = tempfile::tempdir().unwrap();
    for text in ["[]\n", "", "faults: []\n", "# nothing\n"] {
        let path = folder.path().join("file.yml");
        std::fs::write(&path, text).unwrap();
        let output = run(&["validate", path.to_str().unwrap()]);
        assert_eq!(output.code, Some(2), "{text:?}: {output:?}");
        assert!(
            output.stderr.contains("there is nothing in it")
                || output.stderr.contains("there are no tests in it"),
            "{text:?}: {output:?}"
        );
    }
}
