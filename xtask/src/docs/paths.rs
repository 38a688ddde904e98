//! Every path in ARCHITECTURE.md exists. They are written as that document explains: under `crates/`, without `src`, and
//! after another path of the same section or row from one of its folders on.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

const DOCUMENT: &str = "ARCHITECTURE.md";

/// What looks like a path and is a method of the protocol.
const METHODS: [&str; 2] = ["tools/call", "tools/list"];

/// What is wrong, one line each.
pub fn check(root: &Path) -> Result<Vec<String>> {
    let text = std::fs::read_to_string(root.join(DOCUMENT))
        .with_context(|| format!("cannot read {DOCUMENT}"))?;
    let folders = crate_folders(root)?;
    let mut problems = Vec::new();
    // Where paths before this one led.
    let mut known: Vec<PathBuf> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.starts_with('#') || line.starts_with('|') {
            known.clear();
        }
        for name in line.split('`').skip(1).step_by(2).filter(|it| is_path(it)) {
            match find(root, &folders, &known, name) {
                Some(path) => known.push(path),
                None => problems.push(format!("{DOCUMENT}:{number}: there is no `{name}`")),
            }
        }
    }
    Ok(problems)
}

/// The sources of every crate.
fn crate_folders(root: &Path) -> Result<Vec<PathBuf>> {
    let crates = std::fs::read_dir(root.join("crates")).context("cannot read crates")?;
    crates.map(|it| Ok(it?.path().join("src"))).collect()
}

fn is_path(name: &str) -> bool {
    let is_name = name
        .chars()
        .all(|it| it.is_ascii_alphanumeric() || "_-./*…".contains(it));
    let has_form = name.contains('/') || Path::new(name).extension().is_some_and(|it| it == "rs");
    is_name && has_form && !METHODS.contains(&name)
}

/// Where a path leads; a file has an extension, anything else is a folder.
fn find(root: &Path, folders: &[PathBuf], known: &[PathBuf], name: &str) -> Option<PathBuf> {
    // Of what stands for many, the folder.
    let is_one =
        |part: &&str| !part.is_empty() && !part.contains(['*', '…']) && !part.starts_with("NAME");
    let path: PathBuf = name.split('/').take_while(is_one).collect();
    let of_crate = path.iter().next().map(|first| {
        let rest = path.strip_prefix(first).unwrap_or(&path);
        root.join("crates").join(first).join("src").join(rest)
    });
    let above = |it: &'_ PathBuf| -> Vec<PathBuf> {
        let folders = it.ancestors().take_while(|it| *it != root);
        folders.map(|it| it.join(&path)).collect()
    };
    let nearby = known.iter().rev().flat_map(above);
    let is_file_alone = path.extension().is_some() && path.components().count() == 1;
    let anywhere = folders.iter().filter(|_| !is_file_alone);
    let anywhere = anywhere.map(|it| it.join(&path));
    let mut places = std::iter::once(root.join(&path))
        .chain(of_crate)
        .chain(nearby)
        .chain(anywhere);
    places.find(|place| match path.extension() {
        Some(_) => place.is_file(),
        None => place.is_dir(),
    })
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn paths_that_lead_nowhere_are_found() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("crates/load/src/drive/scenario");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::create_dir_all(root.path().join("docs")).unwrap();
        std::fs::write(folder.join("soak.rs"), "").unwrap();
        std::fs::write(folder.join("../driver.rs"), "").unwrap();
        let text = "# A\n`load/drive/scenario`, `docs/*.md`, `crates/`, `drive/driver.rs`, `tools/call`, `f(a/b)`, `drive/…`\n\
                    `soak.rs` `load/soak.rs`\n| `drive/scenario/soak.rs`, `driver.rs` | `load/drive/scenario.rs` |\n\
                    | `soak.rs` | `load/NAME.rs`\n# B\n`driver.rs`\n";
        std::fs::write(root.path().join("ARCHITECTURE.md"), text).unwrap();
        let expected = [
            (3, "load/soak.rs"),
            (4, "load/drive/scenario.rs"),
            (5, "soak.rs"),
            (7, "driver.rs"),
        ]
        .map(|(line, name)| format!("ARCHITECTURE.md:{line}: there is no `{name}`"));
        assert_eq!(check(root.path()).unwrap(), expected);
    }
}
