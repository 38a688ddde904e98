//! `cargo xtask additions`: the changes that CONTRIBUTING.md shows whole are formatted and compile without a warning.
//!
//! It is made in a copy of the workspace. The copy builds into the same folder, so that the crates of others are not
//! built again; its own crates have another version, so that neither takes what the other has built.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::docs::diffs;
use crate::step::{run as run_command, step};
use crate::workspace::{self, Workspace};

/// The line of the manifest with the version of all crates, and what it is in the copy.
const VERSION: &str = "[workspace.package]\nversion = \"0.1.0\"";
const OTHER_VERSION: &str = "[workspace.package]\nversion = \"0.1.1\"";

pub fn run(workspace: &Workspace) -> Result<()> {
    step(
        "additions",
        "what CONTRIBUTING.md adds, in target/additions",
        || build(workspace),
    )
}

/// All at once: no change is in a file of another, so each is as by itself.
fn build(workspace: &Workspace) -> Result<()> {
    let copy = workspace.target().join("additions");
    let text = diffs::read(workspace.root())?;
    let mut changed = BTreeMap::new();
    for diff in diffs::whole_changes(&text) {
        let content = diff.applied_or_told(workspace.root())?;
        let other = changed.insert(diff.path.to_owned(), content.into_bytes());
        ensure!(other.is_none(), "two changes are in {}", diff.path);
    }
    bring(workspace, &copy, changed)?;
    run_command(cargo(workspace, &copy).args(["fmt", "--all", "--check"]))?;
    let lint = ["clippy", "--quiet", "--offline", "-p", "mcprove"];
    run_command(
        cargo(workspace, &copy)
            .args(lint)
            .args(["--", "-D", "warnings"]),
    )
}

fn cargo(workspace: &Workspace, copy: &Path) -> Command {
    let mut cargo = workspace.cargo([]);
    cargo
        .current_dir(copy)
        .env("CARGO_TARGET_DIR", workspace.target());
    cargo
}

/// Makes the copy what the workspace is, with these files instead. What is the same stays, so that it is not built again.
fn bring(workspace: &Workspace, copy: &Path, changed: BTreeMap<String, Vec<u8>>) -> Result<()> {
    let root = workspace.root();
    let mut files = BTreeMap::new();
    for file in workspace.listed()? {
        // What was deleted is listed until that is committed.
        let Ok(content) = std::fs::read(root.join(&file)) else {
            continue;
        };
        files.insert(file, content);
    }
    let manifest = files.get_mut("Cargo.toml").context("no Cargo.toml")?;
    let text = String::from_utf8(std::mem::take(manifest))?;
    ensure!(text.contains(VERSION), "Cargo.toml has not {VERSION:?}");
    *manifest = text.replace(VERSION, OTHER_VERSION).into_bytes();
    files.extend(changed);
    for file in workspace::files(copy, "").unwrap_or_default() {
        if !files.contains_key(&file) {
            std::fs::remove_file(copy.join(&file))
                .with_context(|| format!("cannot remove {file}"))?;
        }
    }
    for (file, content) in files {
        write(&copy.join(file), &content)?;
    }
    Ok(())
}

/// Writes a file if it is another.
fn write(path: &Path, content: &[u8]) -> Result<()> {
    if std::fs::read(path).is_ok_and(|old| old == content) {
        return Ok(());
    }
    let folder = path.parent().context("a file is in a folder")?;
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(path, content))
        .with_context(|| format!("cannot write {}", path.display()))
}
