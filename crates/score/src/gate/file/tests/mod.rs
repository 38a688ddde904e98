//! Gates good and bad.

mod bad;
mod blocks;
mod hostile;
mod schema;

use crate::gate::Gates;
use mcprove_settings::error::ConfigErrors;

use super::parse_yaml;

fn gates(text: &str) -> Gates {
    parse_yaml(text, "gates.yml").unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

fn errors(text: &str) -> ConfigErrors {
    match parse_yaml(text, "gates.yml") {
        Err(errors) => errors,
        Ok(_) => panic!("was taken:\n{text}"),
    }
}
