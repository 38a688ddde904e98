//! `cargo xtask schema`: the files in `schema/` are what `mcprove schema NAME` prints, and the words of our formats, which
//! are never redacted, are those of the schemas.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use serde_json::Value;

use crate::step::{describe, run as run_command, step};
use crate::workspace::Workspace;

const SUFFIX: &str = ".v1.json";
/// The words of the formats that hold what others said.
const WORDS: &str = "crates/settings/src/secret/words_of_formats.txt";
const WITH_WORDS: [&str; 5] = ["agent-trace", "metrics", "suite-report", "summary", "trace"];

#[derive(Args, Default)]
pub struct Options {
    /// Write the files instead of comparing them
    #[arg(long)]
    write: bool,
    /// Schemas to take besides those that have a file already
    #[arg(value_name = "NAME")]
    names: Vec<String>,
}

/// Compares, or writes with `--write`.
pub fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let what = if options.write { "write" } else { "compare" };
    step("schema", &format!("{what} schema/*{SUFFIX}"), || {
        compare_or_write(workspace, options)
    })
}

fn compare_or_write(workspace: &Workspace, options: &Options) -> Result<()> {
    let folder = workspace.root().join("schema");
    let mut names = committed(&folder)?;
    names.extend(options.names.iter().cloned());
    if names.is_empty() {
        return Ok(());
    }
    run_command(&mut workspace.cargo(["build", "--quiet", "--package", "mcprove"]))?;
    let mut files = Vec::new();
    let mut words = BTreeSet::new();
    for name in names {
        let printed = print(workspace, &name)?;
        if WITH_WORDS.contains(&name.as_str()) {
            add_words(&serde_json::from_slice(&printed)?, &mut words);
        }
        files.push((format!("schema/{name}{SUFFIX}"), printed));
    }
    let words: String = words.iter().flat_map(|word| [word, "\n"]).collect();
    files.push((WORDS.to_owned(), words.into_bytes()));
    let mut stale = Vec::new();
    for (name, text) in files {
        let path = workspace.root().join(&name);
        if options.write {
            std::fs::create_dir_all(&folder)
                .and_then(|()| std::fs::write(&path, text))
                .with_context(|| format!("cannot write {}", path.display()))?;
        } else if std::fs::read(&path).ok().as_ref() != Some(&text) {
            stale.push(name);
        }
    }
    if !stale.is_empty() {
        bail!(
            "not what the program prints: {}; `cargo xtask schema --write` updates them",
            stale.join(", ")
        );
    }
    Ok(())
}

/// Every name of a field and every fixed text of a schema.
fn add_words(schema: &Value, words: &mut BTreeSet<String>) {
    match schema {
        Value::Object(fields) => {
            for (name, value) in fields {
                match (name.as_str(), value) {
                    ("properties", Value::Object(properties)) => {
                        words.extend(properties.keys().cloned());
                        properties.values().for_each(|it| add_words(it, words));
                    }
                    ("enum", Value::Array(texts)) => {
                        words.extend(texts.iter().filter_map(Value::as_str).map(str::to_owned));
                    }
                    ("const", Value::String(text)) => {
                        words.insert(text.clone());
                    }
                    ("default" | "examples", _) => {}
                    (_, value) => add_words(value, words),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|it| add_words(it, words)),
        _ => {}
    }
}

/// The names that have a file in `folder`.
fn committed(folder: &Path) -> Result<BTreeSet<String>> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
        entries => entries.with_context(|| format!("cannot read {}", folder.display()))?,
    };
    let mut names = BTreeSet::new();
    for entry in entries {
        let file = PathBuf::from(entry?.file_name());
        if let Some(name) = file.to_str().and_then(|name| name.strip_suffix(SUFFIX)) {
            names.insert(name.to_owned());
        }
    }
    Ok(names)
}

fn print(workspace: &Workspace, name: &str) -> Result<Vec<u8>> {
    let mut command = workspace.command(workspace.binary("mcprove"));
    command
        .args(["schema", name])
        .stdin(Stdio::null())
        .stderr(Stdio::inherit());
    let output = command
        .output()
        .with_context(|| format!("cannot start {}", describe(&command)))?;
    if !output.status.success() {
        bail!("`{}` ended with {}", describe(&command), output.status);
    }
    ensure!(
        !output.stdout.is_empty(),
        "`{}` printed nothing",
        describe(&command)
    );
    Ok(output.stdout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_names_of_fields_and_fixed_texts() {
        let schema = serde_json::json!({
            "title": "Title", "default": { "const": "not" },
            "properties": { "one": { "enum": ["two", 2] }, "enum": { "items": { "const": "three" } } },
        });
        let mut words = BTreeSet::new();
        add_words(&schema, &mut words);
        assert_eq!(
            words.into_iter().collect::<Vec<_>>(),
            ["enum", "one", "three", "two"]
        );
    }
}
