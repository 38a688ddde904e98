//! `cargo xtask docs` also counts, on the syntax tree, how often a thing that should be said once is said elsewhere.
//! A count may only fall: whoever lowers one lowers its limit here.

mod library;
mod names;
mod searches;

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result};
use syn::visit::Visit;

use self::library::Library;
use self::names::Names;
use crate::sources::{self, is_for_tests};
use crate::workspace;

/// The folder of the program, the only one that may name its flags.
const PROGRAM: &str = "crates/mcprove/src/cli/";

/// Settings that few files should name, with the limit of files.
const SETTINGS: [(&str, usize); 4] = [
    ("slow_share", 1),
    ("hang_threshold", 2),
    ("spike_multiplier", 1),
    ("trace_value_bytes", 3),
];

/// Enums whose variants few files should name, with the limit of files.
const VARIANTS: [(&str, usize); 2] = [("ScenarioKind", 4), ("FaultKind", 2)];

/// Texts that only look like a flag for users: what a suite starts our proxy with, and what is known of `docker`.
const OTHER_FLAGS: [(&str, &str); 2] = [
    ("crates/suite/src/agent/command/proxies.rs", "--setup"),
    (
        "crates/suite/src/file/launchers.txt",
        "docker podman: setting -v --volume -e --env --name --network -w --mount -u -p",
    ),
];

/// Folders that draw sentences.
const RENDERERS: [&str; 2] = ["crates/document/", PROGRAM];

/// Files that may look for a backtick: those that write names or sentences as text or documentation, those that take
/// templates apart when we compile, and those that read what servers, agents and parsers wrote.
const BACKTICKS: [&str; 11] = [
    "crates/settings/src/message.rs",
    "crates/settings/src/phrase.rs",
    "crates/load/src/drive/scenario/mod.rs",
    "crates/settings-derive/src/sentence.rs",
    "crates/import/src/document.rs",
    "crates/import/src/words.rs",
    "crates/client/src/permission/prose.rs",
    "crates/client/src/permission/schema.rs",
    "crates/score/src/english/quotation.rs",
    "crates/score/src/english/sentence.rs",
    "crates/score/src/english/token.rs",
];

/// What may read the text of a message: the renderers, the formats of reports, and where errors are told.
const READERS: [&str; 6] = [
    "crates/document/",
    PROGRAM,
    "crates/settings/src/",
    "crates/suite/src/junit/",
    "crates/suite/src/report/github.rs",
    "crates/suite/src/report/tap.rs",
];

/// Other files that read it, each to put it into what is a plain text: a format, an answer, an error.
const PLAIN_TEXTS_MAX: usize = 16;

/// Texts outside of the program that name one of its flags.
const FLAG_TEXTS_MAX: usize = 0;

/// Texts outside of the program that name one of its commands in backticks: users of the library have none.
const COMMAND_TEXTS_MAX: usize = 0;
/// What the program's users read: the first suite and the first config, which they then run, and schemas, which say what a
/// file is for.
const OTHER_COMMANDS: [&str; 4] = [
    "crates/suite/src/init/write.rs",
    "crates/load/src/config/example.toml",
    "crates/suite/src/file/kinds.json",
    "crates/score/src/gate/file/schema.json",
];

/// What one file says.
struct Source {
    name: String,
    names: Names,
    /// Whether it searches the text of a message of ours or takes it apart.
    is_searching: bool,
}

/// What is wrong, one line each.
pub fn check(root: &Path) -> Result<Vec<String>> {
    let mut files = Vec::new();
    let mut problems = files_beside_their_folders(root)?;
    let mut library = Library::read(root)?;
    for (name, tree) in sources::read(root)? {
        library.file.clone_from(&name);
        library.visit_file(&tree);
        files.push(Source {
            names: Names::of(&tree),
            is_searching: searches::has_search(&tree),
            name,
        });
    }
    let data = data_files(root)?;
    let flags: BTreeSet<&str> = files
        .iter()
        .flat_map(|file| file.names.flags.iter().map(String::as_str))
        .collect();
    let mut hold = |what: &str, limit: usize, found: &[String]| {
        if found.len() > limit {
            let all = found.join("\n  ");
            problems.push(format!("{what}: {}, at most {limit}\n  {all}", found.len()));
        } else if found.len() < limit {
            let now = found.len();
            problems.push(format!(
                "{what}: now {now}, so lower its limit in xtask/src/rules/mod.rs"
            ));
        }
    };
    let files_with = |is_meant: &dyn Fn(&Source) -> bool| -> Vec<String> {
        let meant = files.iter().filter(|file| is_meant(file));
        meant.map(|file| file.name.clone()).collect()
    };
    let in_sources = files
        .iter()
        .flat_map(|file| file.names.texts.iter().map(|it| (&file.name, it.as_str())));
    let in_data = data
        .iter()
        .flat_map(|(name, text)| text.lines().map(move |it| (name, it)));
    let outside: Vec<_> = in_sources
        .chain(in_data)
        .filter(|(name, _)| !name.starts_with(PROGRAM))
        .collect();
    let texts_outside = |is_meant: &dyn Fn(&str, &str) -> bool| -> Vec<String> {
        let meant = outside.iter().filter(|(name, text)| is_meant(name, text));
        meant
            .map(|(name, text)| format!("{name}: {text:?}"))
            .collect()
    };
    for (setting, limit) in SETTINGS {
        let naming = files_with(&|file| file.names.words.contains(setting));
        hold(&format!("files that name `{setting}`"), limit, &naming);
    }
    for (kind, limit) in VARIANTS {
        let naming = files_with(&|file| file.names.kinds.contains(kind));
        hold(&format!("files with `{kind}::`"), limit, &naming);
    }
    hold(
        "texts outside of the program with a flag",
        FLAG_TEXTS_MAX,
        &texts_outside(&|name, text| {
            names_a_flag(text, &flags) && !OTHER_FLAGS.contains(&(name, text))
        }),
    );
    hold(
        "texts outside of the program with a command; use `command` of crates/settings/src/message.rs",
        COMMAND_TEXTS_MAX,
        &texts_outside(&|name, text| !OTHER_COMMANDS.contains(&name) && names_a_command(text)),
    );
    let looking = files_with(&|Source { name, names, .. }| {
        names.has_backtick
            && !BACKTICKS.contains(&name.as_str())
            && !RENDERERS.iter().any(|folder| name.starts_with(folder))
    });
    hold("files that look for a backtick", 0, &looking);
    let searching = files_with(&|file| file.is_searching);
    hold("files that search a sentence of ours", 0, &searching);
    let reading = files_with(&|Source { name, names, .. }| {
        names.words.contains("rendered") && !READERS.iter().any(|folder| name.starts_with(folder))
    });
    hold("files that read a sentence", PLAIN_TEXTS_MAX, &reading);
    hold(
        "types that the library returns and has no name for",
        UNNAMED_MAX,
        &library.unnamed(),
    );
    problems.extend(library::names_without_example(root)?);
    Ok(problems)
}

/// Types that a function of the library returns, or an error of a method of its types, and that have no name in it.
const UNNAMED_MAX: usize = 0;

/// Files that belong into the folder of their name.
fn files_beside_their_folders(root: &Path) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for folder in ["crates", "testing", "xtask"] {
        for file in workspace::files(root, folder)? {
            // Cargo wants a file for each test and benchmark.
            let is_target = ["/tests/", "/benches/"].iter().any(|it| {
                let rest = file.split_once(it).map(|(_, rest)| rest);
                rest.is_some_and(|rest| !rest.contains('/'))
            }) && !file.contains("/src/");
            let Some(own) = file.strip_suffix(".rs").filter(|_| !is_target) else {
                continue;
            };
            if root.join(own).is_dir() {
                problems.push(format!("{file} has parts: move it to {own}/mod.rs"));
            }
        }
    }
    Ok(problems)
}

/// Texts and tables that are part of the crates, without those of tests: their names, and what they say.
fn data_files(root: &Path) -> Result<Vec<(String, String)>> {
    let names = workspace::files(root, "crates")?.into_iter();
    let names = names.filter(|name| {
        let is_data = [".txt", ".json", ".toml"]
            .iter()
            .any(|it| name.ends_with(it));
        is_data && name.contains("/src/") && !sources::is_test(name)
    });
    names
        .map(|name| {
            let text = std::fs::read_to_string(root.join(&name))
                .with_context(|| format!("cannot read {name}"))?;
            Ok((name, text))
        })
        .collect()
}

/// Whether an item is only there in tests.
fn is_left_out(item: &syn::Item) -> bool {
    let attributes = match item {
        syn::Item::Const(it) => &it.attrs,
        syn::Item::Enum(it) => &it.attrs,
        syn::Item::Fn(it) => &it.attrs,
        syn::Item::Impl(it) => &it.attrs,
        syn::Item::Macro(it) => &it.attrs,
        syn::Item::Mod(it) => &it.attrs,
        syn::Item::Static(it) => &it.attrs,
        syn::Item::Struct(it) => &it.attrs,
        syn::Item::Trait(it) => &it.attrs,
        syn::Item::Type(it) => &it.attrs,
        syn::Item::Use(it) => &it.attrs,
        _ => return false,
    };
    is_for_tests(attributes)
}

fn names_a_flag(text: &str, flags: &BTreeSet<&str>) -> bool {
    text.match_indices("--").any(|(at, _)| {
        let rest = text.get(at + 2..).unwrap_or_default();
        let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-');
        let flag = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        flags.contains(flag.trim_end_matches('-'))
    })
}

/// Whether a command of the program stands in backticks: `mcprove probe`.
fn names_a_command(text: &str) -> bool {
    let mut after = text.split("`mcprove ").skip(1);
    after.any(|rest| rest.starts_with(|letter: char| letter.is_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_and_commands_are_found_in_texts() {
        let flags = BTreeSet::from(["out", "tool-calls"]);
        assert!(names_a_flag("try --out", &flags) && names_a_flag("`--tool-calls=5`", &flags));
        assert!(!names_a_flag("--outer and -- out", &flags));
        assert!(names_a_command("see `mcprove list-scenarios`"));
        assert!(!names_a_command("the program `mcprove` and mcprove itself"));
    }

    #[test]
    fn a_file_does_not_stand_beside_its_folder() {
        let root = tempfile::tempdir().unwrap();
        for folder in [
            "crates/a/tests/b",
            "crates/a/src/b",
            "testing/a/src/tests/b",
            "xtask",
        ] {
            std::fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        for file in [
            "crates/a/tests/b.rs",
            "crates/a/src/b.rs",
            "testing/a/src/tests/b.rs",
        ] {
            std::fs::write(root.path().join(file), "").unwrap();
        }
        std::fs::write(root.path().join("crates/a/src/c.txt"), "--out").unwrap();
        let expected = [
            "crates/a/src/b.rs has parts: move it to crates/a/src/b/mod.rs",
            "testing/a/src/tests/b.rs has parts: move it to testing/a/src/tests/b/mod.rs",
        ];
        assert_eq!(files_beside_their_folders(root.path()).unwrap(), expected);
        let data = data_files(root.path()).unwrap();
        assert_eq!(
            data,
            [("crates/a/src/c.txt".to_owned(), "--out".to_owned())]
        );
    }
}
