//! What the little words of English do, so that the big ones can be told apart: a word after `the` is
//! no verb, one after `I` is. Words that are in no list are nouns.

use mcprove_trace::words::MUTATING_VERBS;

use super::prelude::*;

/// What a token is in its sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Class {
    /// `I`, `we`: the agent itself.
    Agent,
    /// `you`, `he`, `someone`: somebody else.
    Person,
    /// `it`, `everything`, `both`: what was spoken of.
    Thing,
    /// `me`, `them`: never a subject.
    Object,
    /// `who`, `which`, `what`.
    Which,
    /// `that`, where it begins a clause.
    That,
    /// `the`, `your`, `all`, and the `'s` of possession.
    Determiner,
    /// `3`, `#42`, `two`.
    Number,
    /// An identifier, or what stood in quotation marks.
    Name,
    /// `new`, `open`.
    Adjective,
    /// `of`, `into`.
    Preposition,
    /// `to`.
    To,
    /// `and`, `or`, `then`.
    And,
    /// `but`, `so`.
    But,
    /// `if`, `when`, `after`, `as`, `because`.
    Subordinator,
    /// `is`, `was`, `been`.
    Be,
    /// `have`, `had`.
    Have,
    /// `do`, `did`.
    Do,
    /// `will`, `can`.
    Modal,
    /// `not`, `never`.
    Not,
    /// `just`, `successfully`.
    Adverb,
    /// Whatever may be a form of a verb.
    Verb,
    /// Everything else.
    Noun,
    Comma,
    /// Any other mark.
    Stop,
}

impl Class {
    /// `is`, `had`, `did`, `will`: what stands before a verb.
    pub const fn is_auxiliary(self) -> bool {
        matches!(self, Self::Be | Self::Have | Self::Do | Self::Modal)
    }

    /// Whether a clause may begin behind it.
    pub const fn begins_clause(self) -> bool {
        matches!(self, Self::Stop | Self::Comma | Self::And | Self::But)
    }

    /// Whether a phrase of something certain begins with it.
    pub const fn is_definite(self) -> bool {
        matches!(
            self,
            Self::Determiner | Self::Number | Self::Name | Self::Object | Self::Thing
        )
    }
}

/// A verb that a word may be a form of.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    /// The base form.
    pub base: String,
    pub form: Form,
    /// Whether it is among those that change something.
    pub is_claimable: bool,
}

/// The verbs that claim a change.
#[derive(Debug, Clone, Default)]
pub struct Verbs {
    /// Those besides the fixed list, from the names of tools that always write.
    pub extra: BTreeSet<String>,
}

impl Verbs {
    /// Whether it is the base form of a verb that claims a change.
    pub fn has(&self, base: &str) -> bool {
        MUTATING_VERBS.contains(&base) || self.extra.contains(base)
    }

    fn reading(&self, lower: &str) -> Option<Reading> {
        // `re-sent` and `bulk-deleted` are said of doing, `auto-merge` is a thing.
        let word = match lower.rsplit_once('-') {
            Some((front, word)) if may_stand_before_hyphen(front) => word,
            _ => lower,
        };
        if let Some((base, form)) = verb_form(word, |base| self.has(base)) {
            let is_claimable = word.len() == lower.len() || !form.is_base();
            return is_claimable.then_some(Reading {
                base,
                form,
                is_claimable,
            });
        }
        looks_like_verb(lower).map(|form| Reading {
            base: lower.to_owned(),
            form,
            is_claimable: false,
        })
    }
}

/// Gives every token of a sentence its class.
pub fn classify(tokens: &mut [Token], verbs: &Verbs) {
    for token in tokens.iter_mut() {
        let is_word = token.kind == Kind::Word;
        let reading = is_word.then(|| verbs.reading(&token.lower)).flatten();
        token.class = match token.kind {
            Kind::Word => word_class(&token.lower).unwrap_or_else(|| {
                if reading.is_some() {
                    Verb
                } else if is_adverb(&token.lower) {
                    Adverb
                } else {
                    Noun
                }
            }),
            Kind::Number => Number,
            Kind::Name | Kind::Quoted => Name,
            Kind::Mark(',') => Comma,
            Kind::Mark(_) => Stop,
        };
        token.verb = reading.filter(|_| token.class == Verb).unwrap_or_default();
    }
    for at in 0..tokens.len() {
        if let Some(class) = class_in_place(tokens, at)
            && let Some(token) = tokens.get_mut(at)
        {
            token.class = class;
            token.verb = Reading::default();
        }
    }
}

/// The class of a word that only its neighbours decide.
fn class_in_place(tokens: &[Token], at: usize) -> Option<Class> {
    let token = tokens.get(at)?;
    let before = at.checked_sub(1).and_then(|at| tokens.get(at));
    let after = tokens.rest(at + 1);
    // However many adverbs follow, a long row of them is looked through only so far.
    let after = after.get(..WINDOW).unwrap_or(after);
    let next = after.iter().find(|token| token.class != Adverb);
    let next_class = next.map_or(Stop, |token| token.class);
    let is_participle = next.is_some_and(|token| token.verb.form.is_participle());
    let follows_auxiliary = before.is_some_and(|token| token.class.is_auxiliary());
    match token.lower.as_str() {
        "'s" => Some(clitic_s(before, after)),
        "'d" if is_participle => Some(Have),
        "'d" => Some(Modal),
        "may" if token.is_capital() && at > 0 => Some(Noun),
        "all" | "both" | "each" | "since" if follows_auxiliary => Some(Adverb),
        word if is_pointing(word) => {
            let stands_alone = next_class.is_auxiliary()
                || matches!(next_class, Stop | Comma | Not | Preposition | And);
            stands_alone.then_some(Thing)
        }
        "that" => Some(that(before, next_class)),
        "her" if matches!(next_class, Stop | Comma | Preposition) => Some(Object),
        "got" | "gotten" | "gets" => is_participle.then_some(Be),
        "case" if before.is_some_and(|token| token.lower == "in") => Some(Subordinator),
        "yet" if before.is_none_or(|token| token.class != Comma) => Some(Adverb),
        "however" | "therefore" | "thus" | "hence" => {
            let is_inside = follows_auxiliary || before.is_some_and(|token| token.class == Agent);
            is_inside.then_some(Adverb)
        }
        "as" => match after.lower(0) {
            "of" | "per" | "for" | "part" => Some(Preposition),
            "well" => Some(And),
            _ => before
                .is_some_and(|token| token.lower == "well")
                .then_some(And),
        },
        "so" => match next.map(|token| token.lower.as_str()) {
            Some("that") => Some(Subordinator),
            Some("far") => Some(Adverb),
            _ => None,
        },
        "like" if before.is_some_and(|token| token.class == Modal) => Some(Noun),
        "one" if before.is_some_and(|token| token.class == Determiner) => Some(Noun),
        _ => None,
    }
}

/// `'s` after a pronoun, or before `been`, is an auxiliary; after a noun it mostly is a possessive.
fn clitic_s(before: Option<&Token>, after: &[Token]) -> Class {
    let is_noun = before.is_some_and(|token| matches!(token.class, Noun | Name | Verb));
    let mut rest = after.iter().skip_while(|token| token.class == Adverb);
    match rest.next() {
        Some(next) if next.lower == "been" => Have,
        _ if !is_noun => Be,
        Some(next) if next.class == Not => Be,
        Some(next) => {
            let is_participle = next.verb.form.is_participle();
            let ends = rest
                .next()
                .is_none_or(|token| matches!(token.class, Stop | Comma | Preposition | Adverb));
            if is_participle && ends {
                Be
            } else {
                Determiner
            }
        }
        None => Determiner,
    }
}

/// `that` begins a clause after a verb or noun, points at something before one, or stands for it.
fn that(before: Option<&Token>, next: Class) -> Class {
    match before.map_or(Stop, |token| token.class) {
        class if class.begins_clause() && next.is_auxiliary() => Thing,
        Stop | Preposition | To | And | But => Determiner,
        // `I closed that ticket`, but `I see that tickets were closed` is rare.
        Verb | Comma if matches!(next, Noun | Adjective) => Determiner,
        _ => That,
    }
}

/// Whether a word only ties others together.
pub fn is_function_word(lower: &str) -> bool {
    word_class(lower).is_some_and(|class| !matches!(class, Adjective | Adverb))
}
