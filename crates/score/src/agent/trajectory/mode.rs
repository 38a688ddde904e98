//! The modes of a trajectory.

use mcprove_settings::kind::Kind;
use mcprove_settings::setting::SettingType;
use mcprove_settings::tree::{Data, Node};
use serde::{Deserialize, Serialize};

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
        Self::NAMES
            .into_iter()
            .find_map(|(known, mode)| (known == name).then_some(mode))
    }

    /// The name.
    pub fn name(self) -> &'static str {
        Self::NAMES
            .into_iter()
            .find_map(|(name, mode)| (mode == self).then_some(name))
            .unwrap_or("strict")
    }
}

impl SettingType for Mode {
    const KIND: Kind = Kind::OneOf(&[
        "strict",
        "exact_sequence",
        "subsequence",
        "unordered",
        "superset",
        "subset",
    ]);

    fn from_data(data: Data) -> Option<Self> {
        Self::parse(Node::new(data).text()?)
    }
}
