//! The table of verbs: which words of a tool's name or description say that it reads, computes, writes or
//! runs something, in every inflection.
//!
//! The table is data; what follows from a word is decided by whoever asks (`mcprove_client::permission`).

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::word_lists::WordLists;

/// What a verb says about a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It looks at something.
    Reads,
    /// It works something out from its arguments.
    Computes,
    /// It computes if all of its arguments are numbers, and writes otherwise (`add`).
    Adds,
    /// It changes something.
    Writes,
    /// It starts something with unknown effects: often a query, sometimes a command.
    Runs,
}

/// How a word is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// Nearly always as a verb.
    Verb,
    /// As a verb, sometimes as a noun or an adjective: `update`, `clear`.
    VerbOrNoun,
    /// As a noun, sometimes as a verb: `commit`, `order`.
    NounOrVerb,
}

/// The inflection of a verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `delete`, and `set` in any tense.
    Base,
    /// `deletes`
    Third,
    /// `deleting`
    Continuous,
    /// `deleted`
    Past,
    /// `deletion`
    Noun,
}

/// A word of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verb {
    /// The verb in its base form.
    pub lemma: &'static str,
    /// What it says.
    pub effect: Effect,
    pub used: Use,
    /// The inflection found.
    pub form: Form,
}

/// The lists of `verbs.txt`.
pub(crate) static LISTS: LazyLock<WordLists> =
    LazyLock::new(|| WordLists::parse(include_str!("verbs.txt")));

/// The verb that a word in lower case is a form of.
///
/// ```
/// use mcprove_trace::verbs::{Effect, Form, find};
///
/// let verb = find("deleting").unwrap();
/// assert_eq!((verb.lemma, verb.effect, verb.form), ("delete", Effect::Writes, Form::Continuous));
/// assert_eq!(find("lists").unwrap().effect, Effect::Reads);
/// assert_eq!(find("weather"), None);
/// ```
pub fn find(word: &str) -> Option<Verb> {
    let table = &*TABLE;
    // `delete2`
    let word = word.trim_end_matches(|character: char| character.is_ascii_digit());
    if let Some(verb) = table.get(word) {
        return Some(*verb);
    }
    let derived = LISTS
        .words("prefixes")
        .filter_map(|prefix| table.get(word.strip_prefix(prefix)?))
        .find(|verb| verb.effect == Effect::Writes && verb.used == Use::Verb);
    let run_together = || {
        let begins = |verb: &&str| word.strip_prefix(*verb).unwrap_or_default().len() > 3;
        let verb = LISTS.words("run_together").find(begins)?;
        table.get(verb)
    };
    derived.or_else(run_together).copied()
}

/// The verbs by every form that they have.
static TABLE: LazyLock<BTreeMap<String, Verb>> = LazyLock::new(|| {
    let mut table = BTreeMap::new();
    for (list, effect, used, only) in [
        ("reads", Effect::Reads, Use::Verb, None),
        ("computes", Effect::Computes, Use::Verb, None),
        ("adds", Effect::Adds, Use::Verb, None),
        ("writes", Effect::Writes, Use::Verb, None),
        ("writes_or_noun", Effect::Writes, Use::VerbOrNoun, None),
        ("nouns", Effect::Writes, Use::NounOrVerb, None),
        ("runs", Effect::Runs, Use::VerbOrNoun, None),
        ("reading_nouns", Effect::Reads, Use::Verb, Some(Form::Base)),
        ("acts", Effect::Writes, Use::Verb, Some(Form::Noun)),
    ] {
        for lemma in LISTS.words(list) {
            let forms = only.map_or_else(|| forms(lemma), |form| vec![(lemma.to_owned(), form)]);
            for (word, form) in forms {
                table.entry(word).or_insert(Verb {
                    lemma,
                    effect,
                    used,
                    form,
                });
            }
        }
    }
    table
});

/// Every form of a verb, the base first.
fn forms(lemma: &str) -> Vec<(String, Form)> {
    let mut forms = vec![(lemma.to_owned(), Form::Base)];
    let ends = |endings: &[&str]| endings.iter().any(|ending| lemma.ends_with(ending));
    let stem = |cut: usize| lemma.get(..lemma.len() - cut).unwrap_or(lemma).to_owned();
    let is_vowel = |letter: u8| b"aeiou".contains(&letter);
    let bytes = lemma.as_bytes();
    let after_consonant = bytes
        .len()
        .checked_sub(2)
        .and_then(|at| bytes.get(at))
        .is_some_and(|letter| !is_vowel(*letter));
    let (cut, third, past) = if lemma.ends_with('y') && after_consonant {
        (1, "ies", "ied")
    } else if ends(&["s", "x", "z", "ch", "sh", "o"]) {
        (0, "es", "ed")
    } else if lemma.ends_with('e') {
        (0, "s", "d")
    } else {
        (0, "s", "ed")
    };
    forms.push((stem(cut) + third, Form::Third));
    forms.push((stem(cut) + past, Form::Past));
    let is_cut = lemma.ends_with('e') && !ends(&["ee", "oe", "ye"]);
    forms.push((stem(usize::from(is_cut)) + "ing", Form::Continuous));
    // A consonant may be doubled (`dropped`, `cancelled`); a form that does not exist does no harm.
    if let [.., vowel, last] = bytes
        && is_vowel(*vowel)
        && !is_vowel(*last)
        && !b"wxy".contains(last)
    {
        let last = char::from(*last);
        forms.push((format!("{lemma}{last}ed"), Form::Past));
        forms.push((format!("{lemma}{last}ing"), Form::Continuous));
    }
    let mut irregular = LISTS
        .words("irregular")
        .filter_map(|row| row.split_once(':'));
    if let Some((_, pasts)) = irregular.find(|(base, _)| *base == lemma) {
        let pasts = pasts.split(',').filter(|past| *past != lemma);
        forms.extend(pasts.map(|past| (past.to_owned(), Form::Past)));
    }
    forms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_inflection_of_a_verb_is_found() {
        for (word, lemma) in [
            ("deletes", "delete"),
            ("deleted", "delete"),
            ("deleting", "delete"),
            ("written", "write"),
            ("cancelled", "cancel"),
            ("canceled", "cancel"),
            ("modifies", "modify"),
            ("modified", "modify"),
            ("dropping", "drop"),
            ("publishes", "publish"),
            ("resent", "resend"),
            ("replies", "reply"),
            ("destroying", "destroy"),
        ] {
            let verb = find(word).unwrap_or_else(|| panic!("{word}"));
            assert_eq!((verb.lemma, verb.effect), (lemma, Effect::Writes), "{word}");
        }
        for word in [
            "deletion",
            "removal",
            "recreates",
            "autodelete",
            "delete2",
            "deletefile",
        ] {
            assert_eq!(
                find(word).map(|verb| verb.effect),
                Some(Effect::Writes),
                "{word}"
            );
        }
        for word in ["address", "creator", "settings", "publisher", "sender", ""] {
            let found = find(word).filter(|verb| verb.effect == Effect::Writes);
            assert_eq!(found, None, "{word}");
        }
    }

    #[test]
    fn a_word_stands_in_one_list_of_verbs() {
        let lists = [
            "reads",
            "computes",
            "adds",
            "writes",
            "writes_or_noun",
            "nouns",
            "runs",
            "reading_nouns",
            "acts",
        ];
        let mut seen = std::collections::BTreeSet::new();
        for word in lists.into_iter().flat_map(|list| LISTS.words(list)) {
            assert!(seen.insert(word), "{word}");
        }
    }
}
