//! `cargo xtask docs`: links of the documents lead somewhere, and no committed file names the
//! machine or the registry it was written with.

mod links;
mod markdown;
mod traces;

use anyhow::{Result, bail};

use crate::step::step;
use crate::workspace::Workspace;

pub fn run(workspace: &Workspace) -> Result<()> {
    step("docs", "links of the documents, names of machines", || {
        let mut problems = links::check(workspace.root())?;
        problems.extend(traces::check(workspace)?);
        if !problems.is_empty() {
            bail!("{} problems:\n{}", problems.len(), problems.join("\n"));
        }
        Ok(())
    })
}
