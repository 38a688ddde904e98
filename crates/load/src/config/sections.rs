//! The tables of a load configuration, each with its settings. The reader, the JSON Schema, the flags and the
//! tables in the documents are made from these.

use mcprove_settings::setting::Fallback;

use super::server::ServerSettings;
use super::{OutputSettings, SessionSettings};
use crate::drive::scenario::ENTRIES;
use crate::prelude::*;

/// A table of the file.
#[derive(Debug)]
pub struct SectionKeys {
    /// Its name.
    pub name: &'static str,
    /// What it is for.
    pub about: &'static str,
    /// What is in it.
    pub settings: fn() -> Vec<&'static Setting>,
}

/// The tables of the file, in order.
pub const SECTIONS: &[SectionKeys] = &[
    SectionKeys {
        name: "server",
        about: "the server under test: a command to start, or an address",
        settings: || ServerSettings::declared().iter().collect(),
    },
    SectionKeys {
        name: "scenario",
        about: "what is done to it",
        settings: scenario_settings,
    },
    SectionKeys {
        name: "thresholds",
        about: "what it must keep to; what is not given is not checked",
        settings: || Thresholds::declared().iter().collect(),
    },
    SectionKeys {
        name: "session",
        about: "settings of the session",
        settings: || SessionSettings::declared().iter().collect(),
    },
    SectionKeys {
        name: "output",
        about: "what is written and shown",
        settings: || OutputSettings::declared().iter().collect(),
    },
];

/// What stands at the top of the file.
pub fn top_names() -> impl Iterator<Item = &'static str> {
    let tables = SECTIONS.iter().map(|it| it.name);
    tables.chain(["faults", ServerSettings::PROTOCOL.name])
}

/// Which scenario it is.
pub static TYPE: Setting = Setting {
    name: "type",
    about: "What to do: one of those of `list-scenarios`",
    kind: Kind::Other("name of a scenario", || Kind::Text.schema()),
    fallback: Fallback::Required,
    flag: Some("scenario"),
    ..Setting::BARE
};

/// What is called.
pub static TOOL_CALL: Setting = Setting {
    name: "tool_call",
    about: "What is called, chosen by weight",
    kind: <Vec<ToolCall>>::KIND,
    fallback: Fallback::Words("every tool that only reads or computes"),
    flag: Some("tool"),
    ..Setting::BARE
};

/// Everything that may stand in `[scenario]`, each name once, as the first scenario declares it.
pub fn scenario_settings() -> Vec<&'static Setting> {
    let own = ENTRIES.iter().flat_map(|entry| (entry.settings)());
    let mut known: Vec<&'static Setting> = vec![&TYPE];
    for setting in own.chain(LoadSettings::declared()) {
        // Of cold_start, `warmup` is something else than of all others, which stand for it here.
        let is_other = LoadSettings::declared()
            .iter()
            .any(|it| it.name == setting.name && !std::ptr::eq(it, setting));
        if !is_other && !known.iter().any(|it| it.has_name(setting.name)) {
            known.push(setting);
        }
    }
    known.push(&TOOL_CALL);
    known
}

/// The scenarios that have a setting of this name; none if all have.
pub fn owners(name: &str) -> Vec<&'static str> {
    let has =
        |entry: &&crate::drive::scenario::Entry| entry.all_settings().any(|it| it.has_name(name));
    let owners: Vec<&str> = ENTRIES.iter().filter(has).map(|entry| entry.name).collect();
    if owners.len() == ENTRIES.len() {
        Vec::new()
    } else {
        owners
    }
}

/// What a setting is when it is not given, in words: of scenarios that differ from the first, theirs too.
pub fn defaults(name: &str) -> String {
    let mut words: Vec<(&str, Vec<&str>)> = Vec::new();
    for entry in ENTRIES {
        if let Some(setting) = entry.all_settings().find(|it| it.name == name) {
            let default = setting.default_words();
            match words.iter_mut().find(|(known, _)| *known == default) {
                Some((_, entries)) => entries.push(entry.name),
                None => words.push((default, vec![entry.name])),
            }
        }
    }
    words.sort_by_key(|(_, entries)| std::cmp::Reverse(entries.len()));
    let is_only = words.len() == 1;
    let words = words
        .iter()
        .enumerate()
        .filter(|(_, (default, _))| !default.is_empty());
    let words = words.map(|(place, (default, entries))| {
        if place == 0 && (is_only || entries.len() > 1) {
            (*default).to_owned()
        } else {
            format!("{} {default}", entries.join(", "))
        }
    });
    words.collect::<Vec<String>>().join("; ")
}
