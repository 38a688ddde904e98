//! That no default command changes anything, on the reference server. `cargo xtask field` checks more
//! servers, and more of what could go wrong.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use harness::ServerKind;
use serde_json::Value;

use crate::probe_real::{command, servers};
use crate::support::{finish, in_parallel_real, mcprove};

/// What real tools do, by their source.
const TABLE: &str = include_str!("../../../../testing/tools/tools.jsonl");
const PACKAGE: &str = "npm:@modelcontextprotocol/server-everything";

/// The tools of the server that write.
fn writers() -> Vec<String> {
    let rows = TABLE
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    rows.filter(|row| row["server"] == PACKAGE && row["label"] == "writes")
        .map(|row| row["tool"]["name"].as_str().unwrap().to_owned())
        .collect()
}

fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        }
        let content = std::fs::read(&path).unwrap_or_default();
        found.insert(path, content);
    }
    found
}

#[test]
fn default_commands_change_nothing() {
    let Some(servers) = servers() else { return };
    let commands: [&[&str]; 5] = [
        &["probe", "--trace", "OUT/trace.jsonl"],
        &["run", "--duration", "1s", "--out", "OUT"],
        &["deadlock-probe", "--out", "OUT"],
        &[
            "compare",
            "--trace",
            "--runs",
            "1",
            "--duration",
            "1s",
            "--out",
            "OUT",
        ],
        &["init", "--out", "OUT/suite.yml"],
    ];
    let writers = writers();
    assert!(writers.len() > 2, "{writers:?}");
    in_parallel_real(commands, |words| {
        let folder = tempfile::tempdir().unwrap();
        let [home, work, out] = ["home", "work", "out"].map(|name| folder.path().join(name));
        for each in [&home, &work, &out] {
            std::fs::create_dir(each).unwrap();
        }
        std::fs::write(work.join("notes.txt"), "kept").unwrap();
        let before = (files(&home), files(&work));
        let place = out.display().to_string();
        let mut arguments: Vec<_> = words
            .iter()
            .map(|word| word.replace("OUT", &place))
            .collect();
        let mut target = command(&servers, ServerKind::Everything);
        if words[0] == "compare" {
            let start = target.iter().position(|word| word == "--").unwrap();
            let server = target.split_off(start)[1..].join(" ");
            target.extend(["-s".into(), server.clone(), "-s".into(), server]);
        }
        arguments.extend(target);
        let mut program = mcprove(&arguments);
        program.env("HOME", &home).current_dir(&work);
        let output = finish(program);
        assert!(matches!(output.code, Some(0..=2)), "{output:?}");
        let mut problems = Vec::new();
        if (files(&home), files(&work)) != before {
            problems.push(format!("{words:?} changed a file"));
        }
        let traces: Vec<_> = files(&out)
            .into_iter()
            .filter(|(path, _)| path.ends_with("trace.jsonl"))
            .collect();
        assert_eq!(traces.is_empty(), words[0] == "init", "{output:?}");
        for (_, trace) in traces {
            let trace = String::from_utf8(trace).unwrap();
            let is_called = |tool: &&String| trace.contains(&format!("\"tool\":\"{tool}\""));
            let called = writers.iter().filter(is_called);
            problems.extend(called.map(|tool| format!("{words:?} called {tool}")));
        }
        problems
    });
}
