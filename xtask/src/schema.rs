//! `cargo xtask schema`: the files in `schema/` are what `mcprove schema NAME` prints.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use crate::step::{describe, run as run_command, step};
use crate::workspace::Workspace;

const SUFFIX: &str = ".v1.json";

#[derive(Args, Default)]
pub struct Options {
    /// Write the files instead of comparing them
    #[arg(long)]
    write: bool,
    /// Schemas to take besides those that have a file already
    #[arg(value_name = "NAME")]
    names: Vec<String>,
}

/// Compares, or writes with `--write`.
pub fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let what = if options.write { "write" } else { "compare" };
    step("schema", &format!("{what} schema/*{SUFFIX}"), || {
        compare_or_write(workspace, options)
    })
}

fn compare_or_write(workspace: &Workspace, options: &Options) -> Result<()> {
    let folder = workspace.root().join("schema");
    let mut names = committed(&folder)?;
    names.extend(options.names.iter().cloned());
    if names.is_empty() {
        return Ok(());
    }
    run_command(&mut workspace.cargo(["build", "--quiet", "--package", "mcprove"]))?;
    let mut stale = Vec::new();
    for name in names {
        let path = folder.join(format!("{name}{SUFFIX}"));
        let printed = print(workspace, &name)?;
        if options.write {
            std::fs::create_dir_all(&folder)
                .and_then(|()| std::fs::write(&path, printed))
                .with_context(|| format!("cannot write {}", path.display()))?;
        } else if std::fs::read(&path).ok().as_ref() != Some(&printed) {
            stale.push(format!("schema/{name}{SUFFIX}"));
        }
    }
    if !stale.is_empty() {
        bail!(
            "not what the program prints: {}; `cargo xtask schema --write` updates them",
            stale.join(", ")
        );
    }
    Ok(())
}

/// The names that have a file in `folder`.
fn committed(folder: &Path) -> Result<BTreeSet<String>> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
        entries => entries.with_context(|| format!("cannot read {}", folder.display()))?,
    };
    let mut names = BTreeSet::new();
    for entry in entries {
        let file = PathBuf::from(entry?.file_name());
        if let Some(name) = file.to_str().and_then(|name| name.strip_suffix(SUFFIX)) {
            names.insert(name.to_owned());
        }
    }
    Ok(names)
}

fn print(workspace: &Workspace, name: &str) -> Result<Vec<u8>> {
    let mut command = workspace.command(workspace.binary("mcprove"));
    command
        .args(["schema", name])
        .stdin(Stdio::null())
        .stderr(Stdio::inherit());
    let output = command
        .output()
        .with_context(|| format!("cannot start {}", describe(&command)))?;
    if !output.status.success() {
        bail!("`{}` ended with {}", describe(&command), output.status);
    }
    ensure!(
        !output.stdout.is_empty(),
        "`{}` printed nothing",
        describe(&command)
    );
    Ok(output.stdout)
}
