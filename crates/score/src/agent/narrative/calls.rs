//! The recorded calls, as a text can be held against them: which actions they are, and which of them
//! the text mentions. Built once per run; every question after that is a look into a set.

use mcprove_trace::words::{MUTATING_VERBS, is_mutating, tokens};

use super::prelude::*;

/// The length from which on a word of a tool's name must be mentioned.
const SALIENT_CHARS_MIN: usize = 3;

/// The actions that tools stand for: verbs, and verbs with things.
#[derive(Debug, Default)]
pub struct Actions {
    verbs: BTreeSet<String>,
    /// Verbs that are all of a tool's name: such a tool may be about anything.
    bare: BTreeSet<String>,
    pairs: BTreeSet<(String, String)>,
}

impl Actions {
    /// The actions of tools of these names.
    pub fn of<'n>(names: impl Iterator<Item = &'n str>, verbs: &Verbs) -> Self {
        let mut actions = Self::default();
        for name in names {
            actions.add(&tokens(name), verbs);
        }
        actions
    }

    fn add(&mut self, words: &[String], verbs: &Verbs) {
        let distinct: BTreeSet<&String> = words.iter().filter(|word| verbs.has(word)).collect();
        for verb in distinct {
            self.verbs.insert(verb.clone());
            if words.len() == 1 {
                self.bare.insert(verb.clone());
            }
            for noun in words
                .iter()
                .filter(|word| *word != verb)
                .flat_map(|word| forms(word))
                .chain(initials(words))
            {
                self.pairs.insert((verb.clone(), noun));
            }
        }
    }

    /// Whether a claim is among them: the verb, and the thing if it names one.
    pub fn has(&self, claim: &Claim) -> bool {
        if !self.verbs.contains(&claim.verb) {
            return false;
        }
        let phrase = &claim.phrase;
        phrase.nouns.is_empty()
            || phrase.is_proper
            || self.bare.contains(&claim.verb)
            || self.has_thing(claim)
    }

    /// Whether a claim names a thing, and both its verb and the thing are here. The head of the phrase
    /// says what the thing is: to delete an issue's comment is not to delete the issue. Another word
    /// will do where the head says little (`the user account`), where two do (`the pull request
    /// draft`), and for verbs that change a thing by changing its parts (`the ticket's priority`).
    pub fn has_thing(&self, claim: &Claim) -> bool {
        let phrase = &claim.phrase;
        let has = |noun: String| self.pairs.contains(&(claim.verb.clone(), noun));
        let has_noun = |noun: &String| forms(noun).into_iter().any(has);
        if phrase.head.as_ref().is_some_and(has_noun)
            || initials(&phrase.nouns).into_iter().any(has)
        {
            return true;
        }
        let is_vague = phrase.is_joined
            || phrase
                .head
                .as_deref()
                .is_some_and(|head| is_vague(&singular(head)))
            || changes_parts(&claim.verb);
        let needed = if is_vague { 1 } else { 2 };
        phrase
            .nouns
            .iter()
            .filter(|noun| has_noun(noun))
            .take(needed)
            .count()
            == needed
    }
}

/// A noun and what it may be the plural or the short form of.
fn forms(noun: &str) -> Vec<String> {
    let mut forms = vec![noun.to_owned()];
    forms.extend(singulars(noun));
    let long: Vec<String> = forms
        .iter()
        .filter_map(|form| rows("short").find(|[short, _]| short == form))
        .map(|[_, long]| long.to_owned())
        .collect();
    forms.extend(long);
    forms
}

/// `pr` of `pull request`: the first letters of two or three words in a row.
fn initials(words: &[String]) -> Vec<String> {
    let of = |size: usize| {
        words
            .windows(size)
            .map(|row| row.iter().filter_map(|word| word.chars().next()).collect())
    };
    of(2).chain(of(3)).collect()
}

/// The verbs of the names of tools that always write, where they are not on the list anyway.
pub fn extra_verbs(block: &NarrativeBlock) -> BTreeSet<String> {
    block
        .mutating_tools
        .iter()
        .filter(|name| !block.readonly_tools.contains(name))
        .filter_map(|name| {
            let last = name.rsplit(['.', '/']).next().unwrap_or(name);
            tokens(last).into_iter().next()
        })
        .filter(|verb| !MUTATING_VERBS.contains(&verb.as_str()))
        .collect()
}

/// What the text says about one tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mention {
    /// Whether every salient word of its name is in the text.
    pub is_mentioned: bool,
    /// Whether it writes.
    pub is_mutating: bool,
}

/// Which tools a text mentions, each looked at once.
pub struct Mentions<'a> {
    stems: BTreeSet<String>,
    known: BTreeMap<&'a str, Mention>,
    block: &'a NarrativeBlock,
}

impl<'a> Mentions<'a> {
    pub fn of(text: &str, block: &'a NarrativeBlock) -> Self {
        let mut words = BTreeSet::new();
        for word in text
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
        {
            words.insert(word.to_lowercase());
            words.extend(tokens(word));
        }
        Self {
            stems: words.iter().flat_map(|word| stems(word)).collect(),
            known: BTreeMap::new(),
            block,
        }
    }

    /// What the text says about the tool of a call.
    pub fn mention(&mut self, call: &'a ToolCall) -> Mention {
        let name = call.name.as_str();
        if let Some(mention) = self.known.get(name) {
            return *mention;
        }
        let words = tokens(name);
        let mut salient = words
            .iter()
            .filter(|word| word.chars().count() >= SALIENT_CHARS_MIN);
        let mention = Mention {
            is_mentioned: salient
                .all(|word| stems(word).iter().any(|stem| self.stems.contains(stem))),
            is_mutating: is_mutating(name, &self.block.mutating_tools, &self.block.readonly_tools),
        };
        self.known.insert(name, mention);
        mention
    }
}
