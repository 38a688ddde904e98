//! Lists of words that the rules look at, by the names that they have in `words.txt`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use mcprove_trace::word_lists::WordLists;
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error, StrDeserializer};

use super::prelude::*;

/// Every list.
static WORDS: LazyLock<WordLists> = LazyLock::new(|| WordLists::parse(include_str!("words.txt")));

/// A function for each list, which says whether it has a word.
macro_rules! lists {
    ($($name:ident)*) => {
        $(pub fn $name(word: &str) -> bool {
            WORDS.has(stringify!($name), word)
        })*

        #[cfg(test)]
        const NAMES: &[&str] = &[$(stringify!($name)),*];
    };
}

lists! {
    begins_instruction
    changes_parts
    heads_done
    is_abbreviation
    is_actor
    is_change
    is_choice
    is_common_name
    is_comparative
    is_condition
    is_currency
    is_day
    is_department
    is_filler
    is_finite
    is_first_name
    is_foreign
    is_heading
    hedges
    is_hypothetical
    is_judgement
    is_month
    is_no_adverb
    is_nonfactive
    is_not_inflected
    is_nothing
    is_particle
    is_pointing
    is_quantity
    is_report
    is_short_english
    tells_of_before
    is_telling
    is_time_word
    is_to_come
    is_unreal
    is_unreal_heading
    is_vague
    keeps_no_mark
    may_stand_before_hyphen
    names_finding
    says_done
    takes_choice
    tells_content
}

/// The rows of a table, of so many columns each.
pub fn rows<const COLUMNS: usize>(table: &str) -> impl Iterator<Item = [&'static str; COLUMNS]> {
    WORDS
        .words(table)
        .filter_map(|row| row.split(':').collect::<Vec<_>>().try_into().ok())
}

/// Every contraction without a rule.
static CONTRACTIONS: LazyLock<BTreeMap<&str, (&str, &str)>> = LazyLock::new(|| {
    let rows = rows("contractions");
    rows.map(|[whole, first, second]| (whole, (first, second)))
        .collect()
});

/// `I've` is `i have`, `won't` is `will not`, `it's` is `it 's`: `is`, `has` or a possessive.
pub fn contraction(lower: &str) -> Option<(&str, &str)> {
    if let Some(parts) = CONTRACTIONS.get(lower) {
        return Some(*parts);
    }
    if let Some(first) = lower.strip_suffix("n't") {
        return Some((first, "not"));
    }
    let (first, ending) = lower.rsplit_once('\'')?;
    let [_, second] = rows("endings").find(|[short, _]| *short == ending)?;
    Some((first, second))
}

/// The class of every word of the file: every word of every text is looked up.
static CLASSES: LazyLock<BTreeMap<&str, Class>> = LazyLock::new(|| {
    WORDS
        .names()
        .filter_map(|list| {
            let name: StrDeserializer<'_, Error> = list.strip_prefix("class ")?.into_deserializer();
            Some((list, Class::deserialize(name).ok()?))
        })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_has_every_list_and_no_other() {
        let tables = [
            "contractions",
            "endings",
            "irregular",
            "numbers",
            "plurals",
            "short",
            "units",
        ];
        let is_known = |name: &&str| NAMES.contains(name) || tables.contains(name);
        let lists: Vec<&str> = WORDS
            .names()
            .filter(|name| !name.starts_with("class "))
            .collect();
        assert!(lists.iter().all(is_known), "{lists:?}");
        assert_eq!(lists.len(), NAMES.len() + tables.len());
    }
}
