//! Every relative link of a document points to a file that exists, and its anchor to a heading.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::markdown;

const DOCUMENTS: [&str; 4] = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
];

/// What is wrong, one line each.
pub fn check(root: &Path) -> Result<Vec<String>> {
    let mut documents: Vec<PathBuf> = DOCUMENTS
        .iter()
        .map(|name| root.join(name))
        .filter(|path| path.is_file())
        .collect();
    collect(&root.join("docs"), &mut documents)?;
    let mut problems = Vec::new();
    for document in documents {
        let name = document.strip_prefix(root).unwrap_or(&document).display();
        for link in markdown::links(&read(&document)?) {
            if let Some(problem) = problem(root, &document, &link.target)? {
                problems.push(format!("{name}:{}: {problem}", link.line));
            }
        }
    }
    Ok(problems)
}

/// Adds the documents in `folder` and below, if there is such a folder.
fn collect(folder: &Path, documents: &mut Vec<PathBuf>) -> Result<()> {
    if !folder.is_dir() {
        return Ok(());
    }
    let mut paths = Vec::new();
    for entry in
        std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?
    {
        paths.push(entry?.path());
    }
    paths.sort();
    for path in paths {
        if path.is_dir() {
            collect(&path, documents)?;
        } else if path.extension().is_some_and(|extension| extension == "md") {
            documents.push(path);
        }
    }
    Ok(())
}

fn problem(root: &Path, document: &Path, target: &str) -> Result<Option<String>> {
    if target.contains("://") || target.starts_with("mailto:") {
        return Ok(None);
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let file = if path.is_empty() {
        document.to_owned()
    } else if let Some(from_root) = path.strip_prefix('/') {
        root.join(from_root)
    } else {
        document.parent().unwrap_or(root).join(path)
    };
    if target.is_empty() || !file.exists() {
        return Ok(Some(format!("`{target}` leads to no file")));
    }
    let is_document = file.extension().is_some_and(|extension| extension == "md");
    if !anchor.is_empty()
        && is_document
        && !markdown::anchors(&read(&file)?).contains(&anchor.to_owned())
    {
        return Ok(Some(format!("`{target}` leads to no heading")));
    }
    Ok(None)
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn links_that_lead_nowhere_are_found() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("docs/more")).unwrap();
        let write = |name: &str, text: &str| std::fs::write(root.path().join(name), text).unwrap();
        write(
            "README.md",
            "# Top\n[a](docs/more/a.md#one) [b](#top) [c](https://example.com/x)\n[d](gone.md)\n",
        );
        write("docs/more/a.md", "# One\n[a](../../README.md#nowhere)\n");
        assert_eq!(
            check(root.path()).unwrap(),
            [
                "README.md:3: `gone.md` leads to no file",
                "docs/more/a.md:2: `../../README.md#nowhere` leads to no heading"
            ]
        );
    }
}
