//! What words are that are the same everywhere.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error, StrDeserializer};

use super::lexicon::Class;
use super::vocabulary::{WORDS, is_no_adverb};

/// The class of every word of the file: every word of every text is looked up.
static CLASSES: LazyLock<BTreeMap<&str, Class>> = LazyLock::new(|| {
    let lists = WORDS.names().filter_map(|list| {
        let name: StrDeserializer<'_, Error> = list.strip_prefix("class ")?.into_deserializer();
        Some((list, Class::deserialize(name).ok()?))
    });
    lists
        .flat_map(|(list, class)| WORDS.words(list).map(move |word| (word, class)))
        .collect()
});

/// The class of a word that is always the same.
pub fn word_class(lower: &str) -> Option<Class> {
    CLASSES.get(lower).copied()
}

/// Adverbs by their ending.
pub fn is_adverb(lower: &str) -> bool {
    lower.len() > 4 && lower.ends_with("ly") && !is_no_adverb(lower)
}
