//! A symbolic link among the input files may lead to a secret: what is wrong with it is told with its place, and
//! without a word of it.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::support::{MCPROVE, Output, assert_transcript, finish, mcprove, run};

/// What must not be seen, and files of each kind that have it where an error would quote it.
const SECRET: &str = "hunter2secret";

struct Place {
    folder: tempfile::TempDir,
    secrets: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            secrets: tempfile::tempdir().unwrap(),
        }
    }

    /// A link in the folder to a file elsewhere.
    fn link(&self, name: &str, text: &str) -> PathBuf {
        let secret = self.secrets.path().join(name);
        std::fs::write(&secret, text).unwrap();
        let link = self.folder.path().join(name);
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(secret, &link).unwrap();
        link
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[track_caller]
fn assert_hidden(output: &Output, place: &str) {
    assert_eq!(output.code, Some(2), "{output:?}");
    let all = format!("{}{}", output.stdout, output.stderr);
    assert!(!all.contains(SECRET), "{output:?}");
    assert!(all.contains(place), "{output:?}");
}

#[test]
fn every_reader_shows_the_place_alone() {
    let place = Place::new();
    let unknown = format!("servers: {{}}\n{SECRET}: {SECRET}\n");
    let broken = format!("servers: [ {SECRET}: {SECRET}\n{SECRET}: [\n");
    for (number, contents) in [&unknown, &broken].into_iter().enumerate() {
        let yaml = place.link(&format!("suite{number}.yml"), contents);
        for command in [
            &["run"][..],
            &["validate"],
            &["validate", "--json"],
            &["run", "--list"],
        ] {
            let output = run(&[command, &[text(&yaml)]].concat());
            assert_hidden(&output, "suite");
        }
    }
    let suite = place.link("suite.yml", &unknown);
    let output = run(&["run", text(&suite)]);
    assert_hidden(&output, "suite.yml:2:1");
    assert_transcript!("linked_file", [&output]);
    let toml = place.link(
        "load.toml",
        &format!("[scenario]\n{SECRET} = \"{SECRET}\"\n"),
    );
    assert_hidden(&run(&["run", text(&toml)]), "load.toml:2:1");
    let gates = place.link("gates.yml", &format!("{SECRET}: {SECRET}\n"));
    let trace = place.write(
        "good.json",
        r#"{"prompt":"p","tool_calls":[],"final_response":"x"}"#,
    );
    let output = run(&["score", text(&trace), "--gates", text(&gates)]);
    assert_hidden(&output, "gates.yml:1:1");
    let faults = place.link("faults.yml", &format!("faults:\n  - {{ {SECRET}: 1 }}\n"));
    let tools = place.write(
        "tools.yml",
        "name: m\ntools: [{ name: echo, response: hello }]\n",
    );
    let mock = [
        "mock",
        "--tools-from",
        text(&tools),
        "--faults",
        text(&faults),
    ];
    assert_hidden(&run(&mock), "faults.yml:2:");
    let proxy = [
        "proxy",
        "--faults",
        text(&faults),
        "--",
        MCPROVE,
        "fixture",
        "normal",
    ];
    assert_hidden(&run(&proxy), "faults.yml:2:");
    let tools = place.link(
        "linked.yml",
        &format!("name: m\ntools: [{{ {SECRET}: 1 }}]\n"),
    );
    assert_hidden(
        &run(&["mock", "--tools-from", text(&tools)]),
        "linked.yml:2:",
    );
    let traces = [
        format!("{{\"tool_calls\": \"{SECRET}\"}}"),
        format!("{{\"prompt\": 1, \"{SECRET}\": {SECRET}}}"),
        format!("root:{SECRET}"),
    ];
    for (number, contents) in traces.iter().enumerate() {
        let trace = place.link(&format!("trace{number}.json"), contents);
        assert_hidden(&run(&["score", text(&trace)]), "trace");
    }
}

#[test]
fn so_do_files_that_a_suite_names() {
    let place = Place::new();
    place.link(
        "tools.yml",
        &format!("name: m\ntools: [{{ {SECRET}: 1 }}]\n"),
    );
    let suite = "name: s\nservers: { m: { mock: tools.yml } }\ntools: [{ name: t, tool: echo }]\n";
    let suite = place.write("suite.yml", suite);
    let output = run(&["run", text(&suite)]);
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(!output.stderr.contains(SECRET), "{output:?}");
    assert!(output.stderr.contains("tools.yml:2:"), "{output:?}");
}

#[test]
fn a_folder_on_the_way_may_be_the_link() {
    let place = Place::new();
    let secret = place.secrets.path().join("suite.yml");
    std::fs::write(secret, format!("servers: {{}}\n{SECRET}: 1\n")).unwrap();
    symlink(place.secrets.path(), place.folder.path().join("tests")).unwrap();
    let mut command = mcprove(&["run", "tests/suite.yml"]);
    command.current_dir(place.folder.path());
    assert_hidden(&finish(command), "tests/suite.yml:2:1");
}

#[test]
fn what_is_no_link_is_quoted_as_before() {
    let place = Place::new();
    let suite = place.write("suite.yml", "servers: {}\nmisspelt: 1\n");
    let output = run(&["run", text(&suite)]);
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(output.stderr.contains("misspelt: 1"), "{output:?}");
}
