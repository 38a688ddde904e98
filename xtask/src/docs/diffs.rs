//! Every diff in CONTRIBUTING.md applies to the files that it names, so that what it teaches is true.
//!
//! A diff is as git writes it, without numbers of lines: `--- a/FILE`, `+++ b/FILE`, and for each hunk `@@`, with the line
//! that it comes after where that helps to find it. Context and removed lines of a hunk stand together in the file, and
//! hunks in order.

use std::path::Path;

use anyhow::{Context, Result};

const DOCUMENT: &str = "CONTRIBUTING.md";
const NO_FILE: &str = "/dev/null";

/// What a diff changes in one file.
struct FileDiff<'d> {
    path: &'d str,
    is_new: bool,
    hunks: Vec<Hunk<'d>>,
}

struct Hunk<'d> {
    /// Where it is in the document, counted from 1.
    line: usize,
    heading: &'d str,
    /// What the file has now.
    old: Vec<&'d str>,
}

/// What is wrong, one line each.
pub fn check(root: &Path) -> Result<Vec<String>> {
    let text = std::fs::read_to_string(root.join(DOCUMENT))
        .with_context(|| format!("cannot read {DOCUMENT}"))?;
    let mut problems = Vec::new();
    let files = parse(&text, &mut problems);
    for file in files {
        compare(root, &file, &mut problems);
    }
    let named = problems.into_iter();
    Ok(named
        .map(|(line, problem)| format!("{DOCUMENT}:{line}: {problem}"))
        .collect())
}

type Problems = Vec<(usize, String)>;

fn parse<'d>(text: &'d str, problems: &mut Problems) -> Vec<FileDiff<'d>> {
    let mut files: Vec<FileDiff<'d>> = Vec::new();
    let (mut is_diff, mut is_new) = (false, false);
    for (number, line) in (1..).zip(text.lines()) {
        if line.starts_with("```") {
            is_diff = line == "```diff";
            continue;
        }
        if !is_diff {
            continue;
        }
        if let Some(path) = line.strip_prefix("--- ") {
            is_new = path == NO_FILE;
            continue;
        }
        if let Some(path) = line.strip_prefix("+++ ") {
            files.push(FileDiff {
                path: path.strip_prefix("b/").unwrap_or(path),
                is_new,
                hunks: Vec::new(),
            });
            continue;
        }
        let Some(file) = files.last_mut() else {
            problems.push((number, "a diff of no file".to_owned()));
            continue;
        };
        if let Some(heading) = line.strip_prefix("@@") {
            file.hunks.push(Hunk {
                line: number,
                heading: heading.trim(),
                old: Vec::new(),
            });
            continue;
        }
        let Some(hunk) = file.hunks.last_mut() else {
            problems.push((number, "a line before the first `@@`".to_owned()));
            continue;
        };
        match line.split_at_checked(1) {
            None => hunk.old.push(""),
            Some((" " | "-", old)) => hunk.old.push(old),
            Some(("+", _)) => {}
            Some(_) => problems.push((number, format!("no line of a diff: {line}"))),
        }
    }
    files
}

fn compare(root: &Path, file: &FileDiff<'_>, problems: &mut Problems) {
    let FileDiff { path, hunks, .. } = file;
    let first = hunks.first().map_or(0, |hunk| hunk.line);
    let text = std::fs::read_to_string(root.join(path));
    if file.is_new {
        if text.is_ok() {
            problems.push((first, format!("{path} is not new")));
        }
        let old = hunks.iter().filter(|hunk| !hunk.old.is_empty());
        problems.extend(old.map(|hunk| (hunk.line, format!("{path}: a new file had no lines"))));
        return;
    }
    let Ok(text) = text else {
        problems.push((first, format!("there is no {path}")));
        return;
    };
    let lines: Vec<&str> = text.lines().collect();
    let mut at = 0;
    for hunk in hunks {
        match place(&lines, at, hunk) {
            Some(end) => at = end,
            None => problems.push((
                hunk.line,
                format!("{path} has not, in this order: {:?}", hunk.old),
            )),
        }
    }
}

/// Where a hunk ends in the file, searched from this line on.
fn place(lines: &[&str], from: usize, hunk: &Hunk<'_>) -> Option<usize> {
    if hunk.old.is_empty() {
        return None;
    }
    let rest = lines.get(from..)?;
    let heading = rest.iter().position(|line| line.contains(hunk.heading))?;
    let after = rest.get(heading..)?;
    let found = after
        .windows(hunk.old.len())
        .position(|window| window == hunk.old)?;
    Some(from + heading + found + hunk.old.len())
}

#[cfg(test)]
mod tests {
    use super::check;

    fn problems(diff: &str) -> Vec<String> {
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(root.path().join(name), text).unwrap();
        write(
            "a.rs",
            "mod one;\nmod two;\n\nfn f() {\n    1\n}\nfn g() {\n    1\n}\n",
        );
        write("CONTRIBUTING.md", &format!("# How\n\n```diff\n{diff}```\n"));
        check(root.path()).unwrap()
    }

    #[test]
    fn diffs_that_apply() {
        let applies = "--- a/a.rs\n+++ b/a.rs\n@@\n mod one;\n+mod new;\n mod two;\n@@ fn g() {\n-    1\n+    2\n }\n\
                       --- /dev/null\n+++ b/new.rs\n@@\n+//! New.\n";
        assert_eq!(problems(applies), Vec::<String>::new());
        assert_eq!(
            problems(&applies.replace("mod two;\n@@", "mod two;\n\n fn f() {\n@@")),
            Vec::<String>::new()
        );
    }

    #[test]
    fn diffs_that_do_not_apply() {
        for (diff, expected) in [
            (
                "--- a/a.rs\n+++ b/a.rs\n@@\n mod one;\n+mod x;\n fn f() {\n",
                ":6: a.rs has not, in this order: [\"mod one;\", \"fn f() {\"]",
            ),
            (
                "--- a/a.rs\n+++ b/a.rs\n@@\n fn f() {\n@@\n-mod two;\n",
                ":8: a.rs has not, in this order: [\"mod two;\"]",
            ),
            (
                "--- a/a.rs\n+++ b/a.rs\n@@ fn h() {\n     1\n",
                ":6: a.rs has not, in this order: [\"    1\"]",
            ),
            (
                "--- a/a.rs\n+++ b/a.rs\n@@\n+mod x;\n",
                ":6: a.rs has not, in this order: []",
            ),
            (
                "--- a/b.rs\n+++ b/b.rs\n@@\n mod x;\n",
                ":6: there is no b.rs",
            ),
            (
                "--- /dev/null\n+++ b/a.rs\n@@\n+mod x;\n",
                ":6: a.rs is not new",
            ),
            (
                "--- /dev/null\n+++ b/b.rs\n@@\n mod x;\n",
                ":6: b.rs: a new file had no lines",
            ),
            (
                "--- a/a.rs\n+++ b/a.rs\n mod one;\n",
                ":6: a line before the first `@@`",
            ),
            (
                "--- a/a.rs\n+++ b/a.rs\n@@\n mod one;\nmod two;\n",
                ":8: no line of a diff: mod two;",
            ),
            (" mod one;\n", ":4: a diff of no file"),
        ] {
            assert_eq!(
                problems(diff),
                [format!("CONTRIBUTING.md{expected}")],
                "{diff}"
            );
        }
    }
}
