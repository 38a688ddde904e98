//! The Python servers: one virtual environment per lock file.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use harness::Layout;

use super::stamp::Stamp;
use crate::step::{advise, announce, run, step, succeeds};
use crate::workspace::Workspace;

const ADVICE: &str = "check that pip reaches its package index (`python3 -m pip download mcp`), \
                      that the venv module is installed (Debian: python3-venv), and that the disk \
                      has 1 GB free";
/// Succeeds with an interpreter that the servers run on and that can make environments.
const CAN_INSTALL: &str = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))";

pub fn install(workspace: &Workspace, layout: &Layout, source: &Path) -> Result<()> {
    for lock in lock_files(source)? {
        let name = lock.file_stem().unwrap_or_default().to_string_lossy();
        install_one(workspace, layout, &name, &lock)?;
    }
    Ok(())
}

fn lock_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let context = || format!("cannot read {}", folder.display());
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(context)? {
        let path = entry.with_context(context)?.path();
        if path.extension().is_some_and(|extension| extension == "txt") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn install_one(workspace: &Workspace, layout: &Layout, name: &str, lock: &Path) -> Result<()> {
    let folder = layout.environment(name);
    let stamp = Stamp::new(&folder, &[lock.to_owned()])?;
    let label = format!("python {name}");
    // An environment whose interpreter was removed from the system is a dangling link.
    if stamp.is_current() && layout.python(name).is_file() {
        announce(&label, "installed");
        return Ok(());
    }
    let what = format!("pip install -r {name}.txt");
    step(&label, &what, || {
        stamp.clear()?;
        let mut create = workspace.command(interpreter(workspace)?);
        create.args(["-m", "venv", "--clear"]).arg(&folder);
        advise(run(&mut create), ADVICE)?;
        let mut install = workspace.command(layout.python(name));
        install
            .args(["-m", "pip", "install", "--quiet", "--no-input"])
            .args(["--disable-pip-version-check", "-r"])
            .arg(lock);
        advise(run(&mut install), ADVICE)?;
        stamp.write()
    })
}

fn interpreter(workspace: &Workspace) -> Result<&'static str> {
    for name in ["python3", "python"] {
        if succeeds(workspace.command(name).args(["-c", CAN_INSTALL])) {
            return Ok(name);
        }
    }
    bail!("needs Python 3.10 or later with the venv module (Debian: python3 python3-venv) on PATH")
}
