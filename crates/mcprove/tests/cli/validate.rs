//! `mcprove validate`: everything that is wrong with files, and nothing is run.

use std::io::ErrorKind;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use crate::schema::validator;
use crate::support::{assert_transcript, finish, mcprove, run};

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

fn example(name: &str) -> String {
    examples().join(name).display().to_string()
}

#[test]
fn files_of_every_kind_are_told_by_what_is_in_them() {
    let outputs = [
        "fault-injection-recovery.yml",
        "offline-trace-validation.yml",
        "agent-stability.yml",
        "narrative.yml",
        "oracle.yml",
        "negative-path.yml",
        "suites/suite.yml",
        "load/soak.yml",
        "load/gate.toml",
        "score/gates.yml",
        "proxy/faults.yml",
        "mock/tools.yml",
        "suites/search.yml",
        "score/recorded.jsonl",
    ]
    .map(|name| run(&["validate", &example(name)]));
    assert!(outputs.iter().all(|output| output.code == Some(0)));
    assert_transcript!("validate_examples", &outputs);
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
    assert_transcript!("validate_errors", [&output]);
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
    assert!(problem["message"].is_string() && problem["hint"].is_string());
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
    assert_transcript!("validate_variable", [&output]);
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
    let outputs = [run(&["validate"]), run(&["validate", "--explain"])];
    assert_transcript!("validate_without_file", &outputs);
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
    let mut outputs = vec![run(&["validate", &path])];
    // A folder with nothing in it hides no other file, and programs are told of it too.
    std::fs::create_dir(folder.path().join("empty")).unwrap();
    let empty = folder.path().join("empty").display().to_string();
    let output = finish(mcprove(&["validate", "--json", &empty, &path]));
    assert_eq!(output.code, Some(2), "{output:?}");
    let told: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(told["files"][0]["valid"], false);
    outputs.push(run(&["validate", &empty]));
    assert_eq!(told["files"][1]["valid"], true);
    write("suite.yml", &suite.replace("servers", "severs"));
    outputs.push(run(&["validate", &path]));
    let workflow = folder.path().join("ci.yml").display().to_string();
    outputs.push(run(&["validate", &workflow]));
    assert_transcript!("validate_folder", &outputs);
}

/// A file that says nothing is not in order: whoever names it expects something of it.
#[test]
fn nothing_is_not_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let outputs = ["[]\n", "", "faults: []\n", "# nothing\n"].map(|text| {
        let path = folder.path().join("file.yml");
        std::fs::write(&path, text).unwrap();
        run(&["validate", path.to_str().unwrap()])
    });
    assert!(outputs.iter().all(|output| output.code == Some(2)));
    assert_transcript!("validate_nothing", &outputs);
}
