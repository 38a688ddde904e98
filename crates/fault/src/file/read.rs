//! A file that holds nothing but faults, as `--faults FILE` takes it.

use std::path::Path;

use mcprove_settings::error::ConfigErrors;
use mcprove_settings::tree::{Document, Wanted};

use super::from_document;
use crate::FaultSpec;

/// Reads YAML: a map with `faults`, or the bare list; `file` is its name in messages.
///
/// ```
/// use mcprove_fault::file::parse_yaml;
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
    let wanted = Wanted {
        when_missing: "check the path of the faults",
        when_too_large: "is it a list of faults at all? `mcprove schema faults` describes one",
    };
    from_document(&Document::read_by_name(path, wanted)?)
}
