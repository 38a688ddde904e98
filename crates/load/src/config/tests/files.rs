//! Reading from files, and the examples that come with the project.

use std::path::{Path, PathBuf};

use mcprove_settings::tree::FILE_BYTES_MAX;

use super::super::LoadConfig;
use super::SPECIFIED;

/// The only problem of a file with this name and these bytes.
fn problem(name: &str, bytes: &[u8]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    let errors = LoadConfig::read(&path).unwrap_err();
    assert_eq!(errors.0.len(), 1, "{errors}");
    errors
        .to_string()
        .replace(&folder.path().display().to_string(), "DIR")
}

#[test]
fn the_ending_decides() {
    let folder = tempfile::tempdir().unwrap();
    let json = r#"{"server":{"command":"x"},"scenario":{"type":"churn"}}"#;
    let yaml = "server: {command: x}\nscenario: {type: churn}\n";
    for (name, text) in [
        ("a.toml", SPECIFIED),
        ("a.yml", yaml),
        ("a.YAML", yaml),
        ("a.json", json),
    ] {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        LoadConfig::read(&path).unwrap();
    }
    let printed = problem("a.ini", b"{}");
    assert!(
        printed.contains("is neither TOML nor YAML by its name"),
        "{printed}"
    );
    assert!(
        printed.contains("hint: let the name end in .toml, .yml, .yaml or .json"),
        "{printed}"
    );
    assert!(problem("toml", b"").contains("neither TOML nor YAML"));
}

#[test]
fn files_that_cannot_be_read() {
    let missing = LoadConfig::read(Path::new("no/such/file.toml"))
        .unwrap_err()
        .to_string();
    assert!(
        missing.starts_with("error: no/such/file.toml: cannot be read:"),
        "{missing}"
    );
    assert!(missing.ends_with("hint: check the path"), "{missing}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.toml");
    std::fs::create_dir(&path).unwrap();
    let directory = LoadConfig::read(&path).unwrap_err().to_string();
    assert!(directory.contains("cannot be read"), "{directory}");
}

#[test]
fn files_that_are_no_text() {
    let printed = problem("a.toml", b"[server]\ncommand = \"caf\xe9\"\n");
    assert!(printed.contains("a.toml:2:15: is not UTF-8"), "{printed}");
    let printed = problem("a.yml", b"\xff\xfe");
    assert!(printed.contains("a.yml:1:1: is not UTF-8"), "{printed}");
    let large = vec![b'#'; FILE_BYTES_MAX + 1];
    let printed = problem("a.toml", &large);
    assert!(
        printed.contains("a.toml: is larger than 4 MiB"),
        "{printed}"
    );
}

/// The folder with the examples, from the sources.
fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/load")
}

#[test]
fn the_examples_are_valid() {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(examples()).unwrap() {
        let path = entry.unwrap().path();
        let config = LoadConfig::read(&path).unwrap_or_else(|errors| panic!("{errors}"));
        assert!(config.warnings.is_empty(), "{}", path.display());
        names.push(path.file_name().unwrap().to_string_lossy().into_owned());
    }
    for name in ["soak.yml", "sustained.toml"] {
        assert!(names.iter().any(|found| found == name), "{name}");
    }
}

/// The blocks of a language in a document.
fn blocks<'t>(text: &'t str, language: &str) -> Vec<&'t str> {
    text.split(&format!("```{language}\n"))
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect()
}

#[test]
fn the_document_shows_the_same_in_both_formats() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/load-config.md");
    let text = std::fs::read_to_string(path).unwrap();
    let [toml] = blocks(&text, "toml")[..] else {
        panic!("one block of TOML");
    };
    let [yaml] = blocks(&text, "yaml")[..] else {
        panic!("one block of YAML");
    };
    let toml = LoadConfig::parse_toml(toml, "x").unwrap();
    assert_eq!(LoadConfig::parse_yaml(yaml, "x"), Ok(toml));
}
