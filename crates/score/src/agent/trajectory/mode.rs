//! The modes of a trajectory.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::gate::key::{Form, spellings};

/// How expected calls line up with recorded ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// One for one.
    #[default]
    Strict,
    /// In order, with other calls between.
    Subsequence,
    /// In any order, with other calls besides.
    Unordered,
    /// As `unordered`: the reference is a lower bound.
    Superset,
    /// No call besides the reference.
    Subset,
}

impl Mode {
    /// All modes, with their names and aliases.
    pub const NAMES: [(&'static str, Self); 6] = [
        ("strict", Self::Strict),
        ("exact_sequence", Self::Strict),
        ("subsequence", Self::Subsequence),
        ("unordered", Self::Unordered),
        ("superset", Self::Superset),
        ("subset", Self::Subset),
    ];

    /// The mode of this name; `exact-sequence` is `strict`, and `-` is accepted for `_`.
    ///
    /// ```
    /// use mcprove_score::agent::trajectory::Mode;
    ///
    /// assert_eq!(Mode::parse("exact-sequence"), Some(Mode::Strict));
    /// assert_eq!(Mode::parse("sequence"), None);
    /// ```
    pub fn parse(name: &str) -> Option<Self> {
        let name = name.replace('-', "_");
        let mut names = Self::NAMES.into_iter();
        names.find_map(|(known, mode)| (known == name).then_some(mode))
    }

    /// The name.
    pub fn name(self) -> &'static str {
        let mut names = Self::NAMES.into_iter();
        names
            .find_map(|(name, mode)| (mode == self).then_some(name))
            .unwrap_or("strict")
    }
}

/// The name of a mode.
pub(super) const MODE: Form<Mode> = Form {
    takes: || format!("one of {}", names().join(", ")),
    schema: || {
        let names = names().into_iter();
        json!({ "enum": names.flat_map(spellings).collect::<Vec<_>>() })
    },
    definition: || None,
    read: |reader, section, name| Mode::parse(reader.choice(section, name, &names())?),
    written: |mode| json!(mode.name()),
};

fn names() -> Vec<&'static str> {
    Mode::NAMES.iter().map(|(name, _)| *name).collect()
}
