//! No committed file names the machine or the package registry it was written with: such names
//! slip in with lock files and recorded output, and are wrong everywhere else.

use anyhow::{Context, Result};

use crate::step::{announce, describe};
use crate::workspace::Workspace;

/// Folders of one machine, where a path starts with them. In two parts, or this file would be found.
const FOLDERS: [&str; 4] = [
    concat!("/ro", "ot/"),
    concat!("/wo", "rk/"),
    concat!("/ho", "me/"),
    concat!("/Us", "ers/"),
];
/// Hosts that packages come from.
const HOSTS: [&str; 6] = [
    concat!("artifac", "tory"),
    concat!("jfr", "og"),
    concat!("registry.", "npmjs"),
    concat!("python", "hosted"),
    concat!("pypi.org", "/simple"),
    concat!("static.", "crates.io"),
];

/// The published schemas and examples of the protocol are not ours to change.
const PUBLISHED: &str = "testing/spec/";

/// What is wrong, one line each.
pub fn check(workspace: &Workspace) -> Result<Vec<String>> {
    let mut list = workspace.command("git");
    list.args(["ls-files", "-z"]);
    let output = list
        .output()
        .with_context(|| format!("cannot start {}", describe(&list)))?;
    if !output.status.success() {
        announce("docs", "not a git checkout: names of machines not checked");
        return Ok(Vec::new());
    }
    let mut problems = Vec::new();
    for name in output.stdout.split(|byte| *byte == 0) {
        let Ok(name) = std::str::from_utf8(name) else {
            continue;
        };
        if name.starts_with(PUBLISHED) {
            continue;
        }
        // Listed and deleted, or not a text: nothing to search.
        let Ok(text) = std::fs::read_to_string(workspace.root().join(name)) else {
            continue;
        };
        for (index, line) in text.lines().enumerate() {
            if let Some(trace) = trace(line) {
                problems.push(format!("{name}:{}: names `{trace}`", index + 1));
            }
        }
    }
    Ok(problems)
}

fn trace(line: &str) -> Option<&'static str> {
    let lower = line.to_lowercase();
    let host = HOSTS.into_iter().find(|host| lower.contains(host));
    host.or_else(|| {
        FOLDERS
            .into_iter()
            .find(|folder| names_folder(line, folder))
    })
}

/// Whether a path in `line` starts with `folder`; in `src/folder/` it does not.
fn names_folder(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(position, _)| {
        let before = line[..position].chars().next_back();
        !before.is_some_and(|character| {
            character.is_alphanumeric() || matches!(character, '.' | '_' | '-' | '*' | '}' | '~')
        })
    })
}

#[cfg(test)]
mod tests {
    use super::{FOLDERS, HOSTS, trace};

    #[test]
    fn folders_count_only_where_a_path_starts() {
        let folder = FOLDERS[0];
        assert_eq!(trace(&format!("see {folder}x")), Some(folder));
        assert_eq!(trace(&format!("file://{folder}x")), Some(folder));
        assert_eq!(trace(&format!("src{folder}x")), None);
        assert_eq!(trace(&format!("../..{folder}x")), None);
    }

    #[test]
    fn hosts_count_everywhere() {
        for host in HOSTS {
            assert_eq!(
                trace(&format!("https://{}.example", host.to_uppercase())),
                Some(host)
            );
        }
    }
}
