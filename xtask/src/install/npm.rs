//! The npm packages: servers, the conformance suite, and the Node.js that runs them.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use harness::Layout;

use super::stamp::Stamp;
use crate::step::{advise, announce, run, step};
use crate::workspace::Workspace;

const FILES: [&str; 3] = ["package.json", "package-lock.json", ".npmrc"];
const ADVICE: &str = "check that Node.js 20 or later with npm 10 or later is installed, that npm \
                      reaches its registry (`npm ping`), and that the disk has 1 GB free";

pub fn install(workspace: &Workspace, layout: &Layout, source: &Path) -> Result<()> {
    let folder = layout.npm();
    let stamp = Stamp::new(&folder, &FILES.map(|file| source.join(file)))?;
    if stamp.is_current() && layout.node().is_file() {
        announce("npm", "installed");
        return Ok(());
    }
    step("npm", "npm ci", || {
        stamp.clear()?;
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        for file in FILES {
            std::fs::copy(source.join(file), folder.join(file))
                .with_context(|| format!("cannot copy {file}"))?;
        }
        let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
        let mut command = workspace.command(npm);
        command
            .args(["ci", "--no-progress", "--loglevel=error"])
            .current_dir(&folder);
        advise(run(&mut command), ADVICE)?;
        ensure!(
            layout.node().is_file(),
            "npm installed no Node.js for this system at {}",
            layout.node().display()
        );
        stamp.write()
    })
}
