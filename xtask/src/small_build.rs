//! The library without the program: each feature by itself builds without a warning, and the smallest build takes few
//! crates.

use std::collections::BTreeSet;

use anyhow::{Result, bail};

use crate::step::{run_step, step};
use crate::workspace::Workspace;

/// How many crates of others the smallest build may take.
const CRATES_MAX: usize = 120;
/// The features of the library; the first has none.
const FEATURES: [&str; 9] = [
    "", "schema", "eval", "tls", "ws", "html", "suite", "agent", "lab",
];

pub fn run(workspace: &Workspace) -> Result<()> {
    step("small build", "crates without any feature", || {
        count(workspace)
    })?;
    for feature in FEATURES {
        let library = ["clippy", "-p", "mcprove", "--lib", "--no-default-features"];
        let mut clippy = workspace.cargo(library);
        clippy.args(["--features", feature, "--", "-D", "warnings"]);
        run_step("small build", clippy)?;
    }
    Ok(())
}

fn count(workspace: &Workspace) -> Result<()> {
    let tree = ["tree", "-p", "mcprove", "--no-default-features"];
    let mut tree = workspace.cargo(tree);
    tree.args([
        "--edges",
        "normal,build",
        "--prefix",
        "none",
        "--format",
        "{p}",
    ]);
    let output = tree.output()?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr));
    }
    let lines = String::from_utf8_lossy(&output.stdout);
    // What was listed before has a mark behind it.
    let crates = lines.lines().map(|line| line.trim_end_matches(" (*)"));
    let crates = crates.filter(|line| !line.is_empty() && !line.starts_with("mcprove"));
    let count = crates.collect::<BTreeSet<&str>>().len();
    if count > CRATES_MAX {
        bail!(
            "the smallest build of the library takes {count} crates, more than {CRATES_MAX}; make what pulls them a feature (`cargo tree -i`)"
        );
    }
    eprintln!("xtask: small build: {count} crates of at most {CRATES_MAX}");
    Ok(())
}
