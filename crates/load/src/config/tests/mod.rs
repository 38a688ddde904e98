//! Configurations good and bad, in both formats.

mod bad;
mod bad_yaml;
mod faults;
mod files;
mod hostile;
mod knobs;
mod round_trip;
mod scenarios;
mod schema;
mod secrets;
mod settings;

use mcprove_settings::error::ConfigErrors;
use mcprove_settings::tree::Document;

use super::LoadConfig;
use crate::prelude::*;

/// The example of the specification, word for word.
const SPECIFIED: &str = include_str!("specified.toml");

/// The smallest server.
const SERVER: &str = "[server]\ncommand = \"python\"\n";

fn toml(text: &str) -> LoadConfig {
    LoadConfig::parse_toml(text, "bench.toml").unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

fn toml_errors(text: &str) -> ConfigErrors {
    match LoadConfig::parse_toml(text, "bench.toml") {
        Err(errors) => errors,
        Ok(_) => panic!("was taken:\n{text}"),
    }
}

fn yaml(text: &str) -> LoadConfig {
    LoadConfig::parse_yaml(text, "bench.yml").unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

fn yaml_errors(text: &str) -> ConfigErrors {
    match LoadConfig::parse_yaml(text, "bench.yml") {
        Err(errors) => errors,
        Ok(_) => panic!("was taken:\n{text}"),
    }
}

/// A configuration with these lines in its scenario.
fn scenario(lines: &str) -> String {
    format!("{SERVER}[scenario]\n{lines}\n")
}

impl LoadConfig {
    /// Reads YAML of the same structure as TOML; `file` is its name in messages.
    fn parse_yaml(text: &str, file: &str) -> Result<Self, ConfigErrors> {
        Self::from_document(&Document::from_yaml(text, file)?)
    }

    /// Reads a file: TOML when it ends in `.toml`, YAML when it ends in `.yml`, `.yaml` or `.json`.
    fn read(path: &Path) -> Result<Self, ConfigErrors> {
        Self::from_document(&Self::document(path)?)
    }
}
