//! Which files are the product: the same that count for its size.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result};

use crate::workspace;

/// Whether a path is of a test, an example, or what people type while developing.
pub fn is_test(path: &str) -> bool {
    let (folders, file) = path.rsplit_once('/').unwrap_or(("", path));
    let folders_of_tests = [
        "test",
        "tests",
        "benches",
        "examples",
        "snapshots",
        "testing",
        "xtask",
    ];
    let is_of_tests = |folder| folders_of_tests.contains(&folder);
    folders.split('/').any(is_of_tests)
        || matches!(file, "test.rs" | "tests.rs")
        || file.ends_with("_test.rs")
        || file.ends_with("_tests.rs")
}

/// Whether an item is only there in tests.
pub fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let list = attribute.meta.require_list();
        let given = list.map_or_else(|_| String::new(), |list| list.tokens.to_string());
        attribute.path().is_ident("cfg")
            && (given == "test" || given.replace(' ', "").starts_with("all(test"))
    })
}

/// The sources under `crates/`, parsed, without the modules that are only there in tests.
pub fn read(root: &Path) -> Result<BTreeMap<String, syn::File>> {
    let mut sources = BTreeMap::new();
    let mut dropped = BTreeSet::new();
    for path in workspace::files(root, "crates")? {
        let is_source = Path::new(&path).extension().is_some_and(|it| it == "rs");
        if !is_source || is_test(&path) {
            continue;
        }
        let text = std::fs::read_to_string(root.join(&path))
            .with_context(|| format!("cannot read {path}"))?;
        let tree = syn::parse_file(&text).with_context(|| path.clone())?;
        dropped.extend(test_modules(&path, &tree));
        sources.insert(path, tree);
    }
    sources.retain(|path, _| {
        let is_in = |module: &String| {
            let rest = path.strip_prefix(module.as_str());
            rest.is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
        };
        !dropped.iter().any(is_in)
    });
    Ok(sources)
}

/// The modules in files of their own that a file declares for tests, each without its `.rs`.
fn test_modules(path: &str, tree: &syn::File) -> Vec<String> {
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    let base = match file {
        "mod.rs" | "lib.rs" | "main.rs" => folder,
        _ => path.trim_end_matches(".rs"),
    };
    let modules = tree.items.iter().filter_map(|item| match item {
        syn::Item::Mod(it) if it.content.is_none() && is_for_tests(&it.attrs) => {
            Some(format!("{base}/{}", it.ident))
        }
        _ => None,
    });
    modules.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_known_by_their_paths() {
        for path in [
            "crates/a/tests/b.rs",
            "crates/a/src/x/tests/mod.rs",
            "crates/a/src/test/b.rs",
            "crates/a/src/tests.rs",
            "crates/a/src/wire_tests.rs",
            "crates/a/benches/b.rs",
            "testing/harness/src/lib.rs",
            "xtask/src/main.rs",
        ] {
            assert!(is_test(path), "{path}");
        }
        for path in ["crates/a/src/testify.rs", "crates/a/src/protests/b.rs"] {
            assert!(!is_test(path), "{path}");
        }
    }

    #[test]
    fn modules_of_tests_are_known_by_their_declaration() {
        let text = "#[cfg(test)] mod support; #[cfg(all(test, unix))] #[path] mod more;
                    #[cfg(test)] mod inside {} #[cfg(unix)] mod product;";
        let tree = syn::parse_file(text).unwrap();
        let found = test_modules("crates/a/src/lib.rs", &tree);
        assert_eq!(found, ["crates/a/src/support", "crates/a/src/more"]);
        let found = test_modules("crates/a/src/b.rs", &tree);
        assert_eq!(found, ["crates/a/src/b/support", "crates/a/src/b/more"]);
    }
}
