//! The table of crates in ARCHITECTURE.md says what cargo says.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};

use crate::crates::{Crates, closure};
use crate::workspace::Workspace;

const DOCUMENT: &str = "ARCHITECTURE.md";

/// What is wrong, one line each.
pub fn check(workspace: &Workspace) -> Result<Vec<String>> {
    let text = std::fs::read_to_string(workspace.root().join(DOCUMENT))
        .with_context(|| format!("cannot read {DOCUMENT}"))?;
    Ok(compare(&rows(&text), &Crates::read(workspace)?))
}

/// The rows of the table, in order: a package and those that it is said to use.
fn rows(text: &str) -> Vec<(String, BTreeSet<String>)> {
    let lines = text.lines();
    let table = lines.skip_while(|line| !line.starts_with("| crate |"));
    let rows = table.skip(2).take_while(|line| line.starts_with('|'));
    rows.filter_map(|row| {
        let mut cells = row.trim_matches('|').split('|');
        let name = package(names(cells.next()?).next()?);
        let uses = names(cells.next_back()?).map(package);
        Some((name, uses.collect()))
    })
    .collect()
}

/// What stands in backticks.
fn names(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

fn package(name: &str) -> String {
    if name == "mcprove" {
        name.to_owned()
    } else {
        format!("mcprove-{name}")
    }
}

fn compare(rows: &[(String, BTreeSet<String>)], crates: &Crates) -> Vec<String> {
    let said: BTreeMap<String, BTreeSet<String>> = rows.iter().cloned().collect();
    let mut problems = Vec::new();
    let mut above = BTreeSet::new();
    for (name, uses) in rows {
        if !crates.uses.contains_key(name) {
            problems.push(format!("{DOCUMENT}: there is no crate {name}"));
            continue;
        }
        for used in uses {
            if !above.contains(used) {
                problems.push(format!(
                    "{DOCUMENT}: {name} uses {used}, which is not above it"
                ));
            }
            let implied = uses.iter().filter(|other| *other != used);
            if implied
                .into_iter()
                .any(|other| closure(&said, other).contains(used))
            {
                problems.push(format!("{DOCUMENT}: {name}: {used} is implied by another"));
            }
        }
        let (told, real) = (closure(&said, name), crates.all_uses(name));
        for missing in real.difference(&told) {
            problems.push(format!(
                "{DOCUMENT}: {name} uses {missing}, which is not said"
            ));
        }
        for wrong in told.difference(&real) {
            problems.push(format!("{DOCUMENT}: {name} does not use {wrong}"));
        }
        above.insert(name.clone());
    }
    let ours = crates
        .uses
        .keys()
        .filter(|name| name.starts_with("mcprove"));
    for missing in ours.filter(|name| !said.contains_key(*name)) {
        problems.push(format!("{DOCUMENT}: {missing} has no row"));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "| crate | holds | uses |\n|---|---|---|\n\
        | `trace` | x | – |\n| `score` | `y` | `trace` |\n| `mcprove` | z | `score` |\n\nend\n";

    fn crates(uses: &[(&str, &[&str])]) -> Crates {
        Crates::of(uses)
    }

    #[test]
    fn a_table_that_is_right_or_not() {
        let real: &[(&str, &[&str])] = &[
            ("mcprove-trace", &[]),
            ("mcprove-score", &["mcprove-trace"]),
            ("mcprove", &["mcprove-score", "mcprove-trace"]),
        ];
        assert_eq!(compare(&rows(TABLE), &crates(real)), Vec::<String>::new());
        let back: &[(&str, &[&str])] = &[
            ("mcprove-trace", &["mcprove-score"]),
            ("mcprove-score", &[]),
            ("mcprove", &["mcprove-score"]),
            ("mcprove-new", &[]),
        ];
        let problems = compare(&rows(TABLE), &crates(back)).join("\n");
        for part in [
            "mcprove-trace uses mcprove-score, which is not said",
            "mcprove-score does not use mcprove-trace",
            "mcprove-new has no row",
        ] {
            assert!(problems.contains(part), "{problems}");
        }
    }
}
