//! What the documents say is true: their commands print what stands below them, and their tables
//! are those of the program.
//!
//! A block marked `console` is run. A line that starts with `$ ` is a command, what follows is what
//! it prints; `# exit 1` at its end is the exit code, 0 without. Times, ports and paths do not
//! count, nor does where lines are wrapped; of a block marked `console measured`, whose output is all
//! numbers, only the exit code and the first word count. With `MCPROVE_UPDATE_DOCS=1` what is not
//! true any more is written anew, with `MCPROVE_UPDATE_DOCS=all` all that was measured, too.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "the helpers of tests are tests")]

mod console;
mod place;
mod tables;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use place::Place;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn is_updating() -> bool {
    std::env::var("MCPROVE_UPDATE_DOCS").is_ok_and(|value| value == "1" || value == "all")
}

fn is_measuring_anew() -> bool {
    std::env::var("MCPROVE_UPDATE_DOCS").is_ok_and(|value| value == "all")
}

/// Held by a test while it may write documents.
fn updating() -> MutexGuard<'static, ()> {
    static UPDATING: Mutex<()> = Mutex::new(());
    UPDATING.lock().unwrap_or_else(PoisonError::into_inner)
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every document that may have commands in it.
fn documents() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(root().join("docs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    found.push(root().join("README.md"));
    found.sort();
    found
}

#[test]
fn commands_print_what_the_documents_show() {
    for program in ["python3", "jq"] {
        if !harness::require(program, place::find_program(program).is_some()) {
            return;
        }
    }
    let _updating = updating();
    let problems: Vec<String> = if is_updating() {
        // One after the other, so that the times in the documents are those of a quiet machine.
        let documents = documents();
        documents
            .iter()
            .flat_map(|path| check_document(path))
            .collect()
    } else {
        let workers: Vec<_> = documents()
            .into_iter()
            .map(|path| std::thread::spawn(move || check_document(&path)))
            .collect();
        let joined = workers.into_iter().map(|worker| worker.join().unwrap());
        joined.flatten().collect()
    };
    assert!(problems.is_empty(), "\n{}", problems.join("\n\n"));
}

/// What is not true in one document.
fn check_document(path: &Path) -> Vec<String> {
    let text = read(path);
    let name = path.file_name().unwrap().to_string_lossy();
    let mut problems = Vec::new();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    // From the last to the first, so that the line numbers of the others stay right.
    for block in console::blocks(&text).into_iter().rev() {
        let place = Place::new();
        let mut servers = Vec::new();
        let mut fresh = Vec::new();
        for command in &block.commands {
            if let Some(server) = command.text.strip_suffix('&') {
                servers.push(place.start(server));
                continue;
            }
            let (output, code) = place.run(&command.text);
            if code != command.exit_code {
                problems.push(format!(
                    "{name}:{}: `{}` ended with {code}, not {}:\n{output}",
                    command.line, command.text, command.exit_code
                ));
            }
            let is_stale = block.measured && is_measuring_anew();
            if is_stale || !console::agree(&output, &command.output, block.measured) {
                fresh.push((command, output));
            }
        }
        for (command, output) in fresh.into_iter().rev() {
            if is_updating() {
                let range = command.line..command.line + command.output_lines;
                lines.splice(range, output.lines().map(str::to_owned));
            } else {
                problems.push(format!(
                    "{name}:{}: `{}` does not print what the document shows, but:\n{output}\
                     (MCPROVE_UPDATE_DOCS=1 writes it)",
                    command.line, command.text
                ));
            }
        }
    }
    if is_updating() {
        let updated = format!("{}\n", lines.join("\n"));
        if updated != text {
            std::fs::write(path, updated).unwrap();
        }
    }
    problems
}

#[test]
fn the_workflow_in_the_cookbook_is_the_example_and_its_commands_pass() {
    let workflow = read(&root().join("examples/ci.yml"));
    let cookbook = read(&root().join("docs/cookbook.md"));
    assert!(cookbook.contains(&format!("```yaml\n{workflow}```\n")));
    if !harness::require("python3", place::find_program("python3").is_some()) {
        return;
    }
    let place = Place::new();
    let mut commands = Vec::new();
    for line in workflow.lines() {
        let Some(command) = line.trim().strip_prefix("- run: mcprove ") else {
            continue;
        };
        let (output, code) = place.run(&format!("mcprove {command}"));
        assert_eq!(code, 0, "{command}: {output}");
        commands.extend(command.split(' ').next());
    }
    assert_eq!(commands, ["validate", "run", "probe"]);
    let (results, _) = place.run("cat results.xml");
    assert!(results.contains("finds the weather"), "{results}");
}
