//! Suites good and bad.

mod bad;
mod files;
mod fragments;
mod hostile;
mod launchers;
mod plans;
mod safety;
mod schema;
mod variables;

use std::path::Path;

use mcprove_settings::error::ConfigErrors;

use super::parse_yaml;
use crate::plan::SuitePlan;

fn plan(text: &str) -> SuitePlan {
    parse_yaml(text, "suite.yml", Path::new("")).unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

fn errors(text: &str) -> ConfigErrors {
    match parse_yaml(text, "suite.yml", Path::new("")) {
        Err(errors) => errors,
        Ok(_) => panic!("was taken:\n{text}"),
    }
}
