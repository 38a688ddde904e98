//! A file that holds nothing but faults, as `--faults FILE` takes it.

use std::io;
use std::path::Path;

use super::from_document;
use crate::fault::FaultSpec;
use crate::suite::document::{Document, FILE_BYTES_MAX, too_large};
use crate::suite::error::{ConfigError, ConfigErrors};
use crate::suite::load::{not_text, read_bounded};

/// Reads YAML: a map with `faults`, or the bare list; `file` is its name in messages.
///
/// ```
/// use mcprove::suite::faults::parse_yaml;
///
/// let text = "faults:\n  - { kind: slow, delay_ms: 500, target: { tool: search } }\n  - hang,calls=3\n";
/// let faults = parse_yaml(text, "faults.yml").unwrap();
/// assert_eq!(faults[0].to_string(), "slow:500,tool=search");
///
/// let errors = parse_yaml(&text.replace("delay", "delai"), "faults.yml").unwrap_err();
/// assert!(errors.to_string().starts_with("error: faults.yml:2:19: unknown key \"delai_ms\""));
/// assert!(errors.to_string().ends_with("hint: did you mean \"delay_ms\"?"));
/// ```
pub fn parse_yaml(text: &str, file: &str) -> Result<Vec<FaultSpec>, ConfigErrors> {
    from_document(&Document::from_yaml(text, file)?)
}

/// Reads TOML: `[[faults]]` tables, or `faults = [ … ]`; `file` is its name in messages.
pub fn parse_toml(text: &str, file: &str) -> Result<Vec<FaultSpec>, ConfigErrors> {
    from_document(&Document::from_toml(text, file)?)
}

/// Reads a faults file: TOML when it ends in `.toml`, YAML when it ends in `.yml`, `.yaml` or `.json`.
pub fn read_file(path: &Path) -> Result<Vec<FaultSpec>, ConfigErrors> {
    let file = path.display().to_string();
    let extension = path.extension().and_then(|extension| extension.to_str());
    let parse = match extension.map(str::to_ascii_lowercase).as_deref() {
        Some("toml") => parse_toml,
        // JSON is YAML.
        Some("yml" | "yaml" | "json") => parse_yaml,
        _ => {
            return Err(ConfigErrors::of(ConfigError::of_file(
                &file,
                "is neither TOML nor YAML by its name",
                "let the name end in .toml, .yml, .yaml or .json",
            )));
        }
    };
    let bytes = read_bounded(path).map_err(|error| ConfigErrors::of(unread(&file, &error)))?;
    if bytes.len() > FILE_BYTES_MAX {
        return Err(ConfigErrors::of(too_large(&file)));
    }
    match std::str::from_utf8(&bytes) {
        Ok(text) => parse(text, &file),
        Err(error) => {
            let error = not_text(&file, &bytes, error.valid_up_to());
            Err(ConfigErrors::of(error))
        }
    }
}

fn unread(file: &str, error: &io::Error) -> ConfigError {
    let hint = match error.kind() {
        io::ErrorKind::NotFound => "check the path of the faults",
        io::ErrorKind::PermissionDenied => "check who may read it",
        _ => "check that it is a file that can be read",
    };
    ConfigError::of_file(file, format!("cannot be read: {error}"), hint)
}
