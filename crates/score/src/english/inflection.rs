//! Which base form a word may be of: `wrote` of `write`, `cancelled` of `cancel`, `branches` of
//! `branch`. No dictionary: the endings of English, and a table of what is irregular. A word may have
//! several candidates (`closes`: `close`, `clos`); whoever asks knows which bases exist.

use serde::de::IntoDeserializer;
use serde::de::value::{Error, StrDeserializer};

use super::prelude::*;

/// How a verb stands in a sentence, as far as its form tells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Form {
    /// No verb at all.
    #[default]
    None,
    /// `create`.
    Base,
    /// `creates`.
    Third,
    /// `wrote`.
    Past,
    /// `written`.
    Participle,
    /// `created`, `sent`.
    PastOrParticiple,
    /// `set`, `put`: base, past and participle.
    Any,
    /// `creating`.
    Ing,
}

impl Form {
    /// Whether the form can tell of the past without an auxiliary.
    pub const fn is_past(self) -> bool {
        matches!(self, Self::Past | Self::PastOrParticiple | Self::Any)
    }

    /// Whether the form can follow `have` or `be`.
    pub const fn is_participle(self) -> bool {
        matches!(self, Self::Participle | Self::PastOrParticiple | Self::Any)
    }

    /// Whether a word in this form may as well be a noun: `listing`, `update`.
    pub const fn may_be_noun(self) -> bool {
        matches!(self, Self::Base | Self::Third | Self::Ing)
    }

    /// Whether the form can follow `to` or `did`.
    pub const fn is_base(self) -> bool {
        matches!(self, Self::Base | Self::Any)
    }
}

/// Every irregular form, its base, and which form it is.
static FORMS: LazyLock<BTreeMap<&str, (&str, Form)>> = LazyLock::new(|| {
    let mut forms = BTreeMap::new();
    for [base, past, participle] in rows("irregular") {
        for word in [base, past, participle] {
            let form = match (word == base, word == past, word == participle) {
                (true, false, false) => Form::Base,
                (true, _, _) => Form::Any,
                (_, true, true) => Form::PastOrParticiple,
                (_, true, _) => Form::Past,
                _ => Form::Participle,
            };
            forms.entry(word).or_insert((base, form));
        }
    }
    forms
});

/// The irregular verb that a word is a form of.
fn irregular(word: &str) -> Option<(&'static str, Form)> {
    FORMS.get(word).copied()
}

/// The singular of a plural without a rule.
fn irregular_singular(word: &str) -> Option<&'static str> {
    rows("plurals").find_map(|[plural, singular]| (plural == word).then_some(singular))
}

/// What a regular ending may stand for: each candidate base with the form that the ending makes.
fn regular(word: &str) -> Vec<(String, Form)> {
    let mut readings = Vec::new();
    if is_not_inflected(word) {
        return readings;
    }
    if let Some(stem) = word.strip_suffix("ing") {
        push_stems(stem, Form::Ing, &mut readings);
    }
    if let Some(stem) = word.strip_suffix("ied") {
        readings.push((format!("{stem}y"), Form::PastOrParticiple));
    }
    if let Some(stem) = word.strip_suffix("ed") {
        push_stems(stem, Form::PastOrParticiple, &mut readings);
    }
    for base in singulars(word) {
        readings.push((base, Form::Third));
    }
    readings
}

/// `creat` is of `create`, `dropp` of `drop`, `add` of `add`.
fn push_stems(stem: &str, form: Form, readings: &mut Vec<(String, Form)>) {
    if !stem.contains(['a', 'e', 'i', 'o', 'u', 'y']) {
        return;
    }
    readings.push((stem.to_owned(), form));
    readings.push((format!("{stem}e"), form));
    let mut letters = stem.chars().rev();
    if let (Some(last), Some(before)) = (letters.next(), letters.next())
        && last == before
    {
        let short = stem.len() - last.len_utf8();
        readings.push((stem.get(..short).unwrap_or_default().to_owned(), form));
    }
}

/// The verb among those that `is_verb` knows that a word is a form of, and in which form.
pub fn verb_form(word: &str, is_verb: impl Fn(&str) -> bool) -> Option<(String, Form)> {
    if let Some((base, form)) = irregular(word)
        && is_verb(base)
    {
        return Some((base.to_owned(), form));
    }
    if is_verb(word) {
        return Some((word.to_owned(), Form::Base));
    }
    regular(word).into_iter().find(|(base, _)| is_verb(base))
}

/// Whether a word looks like a form of some verb that tells of the past, or its `-ing` form.
pub fn looks_like_verb(word: &str) -> Option<Form> {
    if let Some((_, form)) = irregular(word) {
        // What is also a base or a noun (`cut`, `read`) is left to the words around it.
        return (form.is_past() || form.is_participle())
            .then_some(form)
            .filter(|form| *form != Form::Any);
    }
    if is_not_inflected(word) || word.contains('-') {
        return None;
    }
    let is_long = |ending: &str, letters: usize| {
        word.strip_suffix(ending)
            .is_some_and(|stem| stem.chars().count() >= letters)
    };
    if is_long("ed", 3) || word == "used" {
        Some(Form::PastOrParticiple)
    } else {
        is_long("ing", 3).then_some(Form::Ing)
    }
}

/// What a plural may be the plural of.
pub fn singulars(word: &str) -> Vec<String> {
    let mut found = Vec::new();
    found.extend(irregular_singular(word).map(str::to_owned));
    if word.chars().count() < 3 || word.ends_with("ss") {
        return found;
    }
    if let Some(stem) = word.strip_suffix("ies") {
        found.push(format!("{stem}y"));
    }
    if let Some(stem) = word.strip_suffix("es") {
        found.push(stem.to_owned());
    }
    if let Some(stem) = word.strip_suffix('s') {
        found.push(stem.to_owned());
    }
    found
}

/// The likeliest singular, for a report: `issues` is `issue`, `branches` is `branch`.
pub fn singular(word: &str) -> String {
    let keeps_ending = ["ss", "us", "is", "news", "series"]
        .iter()
        .any(|ending| word.ends_with(ending));
    if keeps_ending {
        return word.to_owned();
    }
    let candidates = singulars(word);
    let sibilant = ["sses", "shes", "ches", "xes", "zes", "ies"]
        .iter()
        .any(|ending| word.ends_with(ending));
    let is_irregular = irregular_singular(word).is_some();
    let best = if sibilant || is_irregular {
        candidates.first()
    } else {
        candidates.last()
    };
    best.map_or_else(|| word.to_owned(), Clone::clone)
}

/// Everything that a word may be a form of, itself included: two words are forms of one another when
/// they share a stem.
pub fn stems(word: &str) -> Vec<String> {
    let mut stems = vec![word.to_owned()];
    if let Some((base, _)) = irregular(word) {
        stems.push(base.to_owned());
    }
    stems.extend(regular(word).into_iter().map(|(base, _)| base));
    stems
}

// Lists of words that the rules look at, by the names that they have in `words.txt`.

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
    rows("contractions")
        .map(|[whole, first, second]| (whole, (first, second)))
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
mod vocabulary_tests {
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
