//! The section `defaults`, checked once by itself, so that what is wrong with it is told once.

use mcprove_settings::reader::Reader;
use mcprove_settings::table;
use mcprove_settings::tree::{Data, Field};

use super::entry::{self, name_nodes};
use super::keys::{self, DEFAULTS};
use super::limits::{MAX_TOKENS_MAX, RUNS_MAX};
use super::servers::{Servers, milliseconds};
use super::{budget, provider};

/// The defaults, spelled with `_`; none at all where something is wrong with them.
pub fn read(reader: &mut Reader<'_>, field: Option<&Field>, servers: &Servers) -> Vec<Field> {
    let Some(field) = field else {
        return Vec::new();
    };
    let before = reader.problem_count();
    let label = "`defaults`";
    let known = keys::names(&DEFAULTS);
    let Some(node) = table::spelled(reader, &field.value, label, &known) else {
        return Vec::new();
    };
    let section = table::section(reader, &node, label, &known);
    if let (Some(name), Some(field)) = (reader.text(&section, "server"), section.get("server")) {
        servers.check(reader, &field.value.span, name);
    }
    for (name, node) in name_nodes(reader, &section, "servers").unwrap_or_default() {
        servers.check(reader, &node.span, &name);
    }
    let _ = milliseconds(reader, &section, "timeout_ms");
    let _ = reader.text(&section, "model");
    let _ = provider::read(reader, &section);
    let _ = reader.text(&section, "system");
    let _ = reader.number(&section, "temperature", "a number from 0 to 2", |value| {
        (0.0..=2.0).contains(&value)
    });
    let _ = budget::read(reader, &section);
    let _ = reader.integer(&section, "max_tokens", 1..=MAX_TOKENS_MAX);
    let _ = reader.integer(&section, "runs", 1..=RUNS_MAX);
    let _ = entry::names(reader, &section, "tags");
    let is_sound = reader.problem_count() == before;
    match node.data {
        Data::Table(fields) if is_sound => fields,
        _ => Vec::new(),
    }
}
