//! Every diff in CONTRIBUTING.md applies to the files that it names, and the changes that it shows whole take few files.
//! `cargo xtask additions` builds them.
//!
//! A diff is as git writes it, without numbers of lines: `--- a/FILE`, `+++ b/FILE`, and for each hunk `@@`, with the line
//! that it comes after where that helps to find it. Context and removed lines of a hunk stand together in the file, and
//! hunks in order.

use std::path::Path;

use anyhow::{Context, Result};

const DOCUMENT: &str = "CONTRIBUTING.md";
const NO_FILE: &str = "/dev/null";

/// What is added by a change that is shown whole: the heading, and the most files besides tests and documents.
const FILES_MAX: [(&str, usize); 4] = [
    ("Adding a setting to a scenario", 1),
    ("Adding a scenario", 2),
    ("Adding a fault", 3),
    ("Adding a metric", 2),
];

/// What a diff changes in one file.
pub struct FileDiff<'d> {
    /// The heading that it stands under.
    change: &'d str,
    pub path: &'d str,
    is_new: bool,
    hunks: Vec<Hunk<'d>>,
}

struct Hunk<'d> {
    /// Where it is in the document, counted from 1.
    line: usize,
    heading: &'d str,
    /// What the file has now.
    old: Vec<&'d str>,
    /// What it has then.
    new: Vec<&'d str>,
}

/// A line of the document, and what is wrong there.
type Problem = (usize, String);

/// What is wrong, one line each.
pub fn check(root: &Path) -> Result<Vec<String>> {
    let text = read(root)?;
    let mut problems = Vec::new();
    let files = parse(&text, &mut problems);
    let applied = files.iter().map(|file| file.applied(root));
    problems.extend(applied.filter_map(Result::err));
    let mut lines: Vec<String> = problems.into_iter().map(problem_line).collect();
    lines.extend(too_many_files(&files));
    Ok(lines)
}

fn problem_line((line, problem): Problem) -> String {
    format!("{DOCUMENT}:{line}: {problem}")
}

pub fn read(root: &Path) -> Result<String> {
    std::fs::read_to_string(root.join(DOCUMENT)).with_context(|| format!("cannot read {DOCUMENT}"))
}

/// The changes that are shown whole.
pub fn whole_changes(text: &str) -> impl Iterator<Item = FileDiff<'_>> {
    let files = parse(text, &mut Vec::new()).into_iter();
    files.filter(|file| FILES_MAX.iter().any(|(change, _)| file.change == *change))
}

fn too_many_files(files: &[FileDiff<'_>]) -> Vec<String> {
    let mut problems = Vec::new();
    for (change, limit) in FILES_MAX {
        let paths = files.iter().filter(|file| file.change == change);
        let paths: Vec<&str> = paths
            .map(|file| file.path)
            .filter(|path| !path.starts_with("docs/") && !crate::sources::is_test(path))
            .collect();
        if paths.is_empty() {
            problems.push(format!("{DOCUMENT}: no diff under \"{change}\""));
        } else if paths.len() > limit {
            let (count, all) = (paths.len(), paths.join(", "));
            problems.push(format!(
                "{DOCUMENT}: \"{change}\" takes {count} files, at most {limit}: {all}"
            ));
        }
    }
    problems
}

fn parse<'d>(text: &'d str, problems: &mut Vec<Problem>) -> Vec<FileDiff<'d>> {
    let mut files: Vec<FileDiff<'d>> = Vec::new();
    let (mut is_code, mut is_diff, mut is_new) = (false, false, false);
    let mut change = "";
    let mut is_in_file = false;
    for (number, line) in (1..).zip(text.lines()) {
        if line.starts_with("```") {
            is_code = !is_code;
            is_diff = line == "```diff";
            is_in_file = false;
            continue;
        }
        if !is_diff {
            if let Some(heading) = line.strip_prefix("## ").filter(|_| !is_code) {
                change = heading;
            }
            continue;
        }
        if let Some(path) = line.strip_prefix("--- ") {
            is_new = path == NO_FILE;
            continue;
        }
        if let Some(path) = line.strip_prefix("+++ ") {
            is_in_file = true;
            files.push(FileDiff {
                change,
                path: path.strip_prefix("b/").unwrap_or(path),
                is_new,
                hunks: Vec::new(),
            });
            continue;
        }
        let Some(file) = files.last_mut().filter(|_| is_in_file) else {
            problems.push((number, "a diff of no file".to_owned()));
            continue;
        };
        if let Some(heading) = line.strip_prefix("@@") {
            file.hunks.push(Hunk {
                line: number,
                heading: heading.trim(),
                old: Vec::new(),
                new: Vec::new(),
            });
            continue;
        }
        let Some(hunk) = file.hunks.last_mut() else {
            problems.push((number, "a line before the first `@@`".to_owned()));
            continue;
        };
        let (sign, rest) = line.split_at_checked(1).unwrap_or((" ", ""));
        match sign {
            " " | "-" | "+" => {
                hunk.old.extend((sign != "+").then_some(rest));
                hunk.new.extend((sign != "-").then_some(rest));
            }
            _ => problems.push((number, format!("no line of a diff: {line}"))),
        }
    }
    files
}

impl FileDiff<'_> {
    /// The file as it is after the change.
    pub fn applied(&self, root: &Path) -> Result<String, Problem> {
        let Self { path, hunks, .. } = self;
        let first = hunks.first().map_or(0, |hunk| hunk.line);
        let text = std::fs::read_to_string(root.join(path));
        let text = match (self.is_new, text) {
            (true, Ok(_)) => return Err((first, format!("{path} is not new"))),
            (true, Err(_)) => return self.written(),
            (false, Err(_)) => return Err((first, format!("there is no {path}"))),
            (false, Ok(text)) => text,
        };
        let mut lines: Vec<&str> = text.lines().collect();
        let mut at = 0;
        for hunk in hunks {
            let Some(found) = place(&lines, at, hunk) else {
                let what = format!("{path} has not, in this order: {:?}", hunk.old);
                return Err((hunk.line, what));
            };
            lines.splice(found..found + hunk.old.len(), hunk.new.iter().copied());
            at = found + hunk.new.len();
        }
        Ok(joined(&lines))
    }

    /// A new file.
    fn written(&self) -> Result<String, Problem> {
        let mut lines = Vec::new();
        for hunk in &self.hunks {
            if !hunk.old.is_empty() {
                let path = self.path;
                return Err((hunk.line, format!("{path}: a new file had no lines")));
            }
            lines.extend(&hunk.new);
        }
        Ok(joined(&lines))
    }

    /// The same, with the problem as a line.
    pub fn applied_or_told(&self, root: &Path) -> Result<String> {
        self.applied(root)
            .map_err(|problem| anyhow::anyhow!(problem_line(problem)))
    }
}

fn joined(lines: &[&str]) -> String {
    lines.iter().flat_map(|line| [line, "\n"]).collect()
}

/// Where a hunk begins in the file, searched from this line on.
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
    Some(from + heading + found)
}

#[cfg(test)]
mod tests {
    use super::{check, whole_changes};

    /// Of a folder with one file, and a document with this diff and the four changes.
    fn folder(diff: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(root.path().join(name), text).unwrap();
        write(
            "a.rs",
            "mod one;\nmod two;\n\nfn f() {\n    1\n}\nfn g() {\n    1\n}\n",
        );
        let mut text = format!("# How\n\n```diff\n{diff}```\n");
        for (number, (change, _)) in super::FILES_MAX.into_iter().enumerate() {
            let new = format!("--- /dev/null\n+++ b/{number}.rs\n@@\n+//! New.\n");
            text = format!("{text}\n## {change}\n\n```diff\n{new}```\n");
        }
        write("CONTRIBUTING.md", &text);
        root
    }

    fn problems(diff: &str) -> Vec<String> {
        check(folder(diff).path()).unwrap()
    }

    #[test]
    fn whole_changes_are_applied_and_counted() {
        let root = folder("");
        let edit = "--- a/a.rs\n+++ b/a.rs\n@@\n mod one;\n+mod new;\n mod two;\n@@ fn g() {\n-    1\n+    2\n }\n";
        let file = root.path().join("CONTRIBUTING.md");
        let text = std::fs::read_to_string(&file).unwrap();
        let text = text.replacen("```diff\n--- /dev", &format!("```diff\n{edit}--- /dev"), 1);
        std::fs::write(&file, &text).unwrap();
        let applied: Vec<String> = whole_changes(&text)
            .take(2)
            .map(|file| file.applied_or_told(root.path()).unwrap())
            .collect();
        let first = "mod one;\nmod new;\nmod two;\n\nfn f() {\n    1\n}\nfn g() {\n    2\n}\n";
        assert_eq!(applied, [first, "//! New.\n"]);
        let expected = "CONTRIBUTING.md: \"Adding a setting to a scenario\" takes 2 files, at most 1: a.rs, 0.rs";
        assert_eq!(check(root.path()).unwrap(), [expected]);
        std::fs::write(&file, text.replace("## Adding a metric", "## Metrics")).unwrap();
        let without = "CONTRIBUTING.md: no diff under \"Adding a metric\"";
        assert_eq!(check(root.path()).unwrap(), [expected, without]);
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
