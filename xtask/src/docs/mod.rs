//! `cargo xtask docs`: links, paths and diffs of the documents are true, the table of crates is right, and no committed file
//! names the machine or the registry it was written with.

pub mod diffs;
mod layers;
mod links;
mod markdown;
mod paths;
mod traces;

use anyhow::{Result, bail};

use crate::step::step;
use crate::workspace::Workspace;

pub fn run(workspace: &Workspace) -> Result<()> {
    step(
        "docs",
        "links, paths and diffs of the documents, table of crates, names of machines",
        || {
            let mut problems = links::check(workspace.root())?;
            problems.extend(traces::check(workspace)?);
            problems.extend(layers::check(workspace)?);
            problems.extend(diffs::check(workspace.root())?);
            problems.extend(paths::check(workspace.root())?);
            problems.extend(crate::rules::check(workspace.root())?);
            if !problems.is_empty() {
                bail!("{} problems:\n{}", problems.len(), problems.join("\n"));
            }
            Ok(())
        },
    )
}
